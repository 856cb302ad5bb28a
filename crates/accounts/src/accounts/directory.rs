//! The operator's directory of accounts, in any state, page by page.

use super::{AccountId, Accounts, Addons, KeySummary, Micros, Result, store::Wanted};

/// An account as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSummary {
    pub account: AccountId,
    /// None for an operator's key without an address, and for a deleted account.
    pub email: Option<String>,
    pub created: Micros,
    /// When the address was confirmed.
    pub active: Option<Micros>,
    pub blocked: Option<Micros>,
    pub deleted: Option<Micros>,
    /// When the Founder badge was granted.
    pub founder: Option<Micros>,
    pub addons: Addons,
}

base::words! {
    /// The state of an account; the latest event decides.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum AccountState {
        Inactive = "inactive",
        Active = "active",
        Blocked = "blocked",
        Deleted = "deleted",
    }
}

impl AccountSummary {
    #[must_use]
    pub fn state(&self) -> AccountState {
        match self {
            Self { deleted: Some(_), .. } => AccountState::Deleted,
            Self { blocked: Some(_), .. } => AccountState::Blocked,
            Self { active: None, .. } => AccountState::Inactive,
            Self { .. } => AccountState::Active,
        }
    }
}

/// A search for accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountSearch<'a> {
    /// Part of the address, the public part of a key, or an id; empty for all.
    pub text: &'a str,
    /// Only accounts created before this one: the next page.
    pub before: Option<AccountId>,
    /// The maximum number of results.
    pub limit: u32,
}

impl Accounts {
    /// The accounts that match, the newest first.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn search(&self, search: AccountSearch<'_>) -> Result<Vec<AccountSummary>> {
        let text = search.text.trim().to_ascii_lowercase();
        let wanted = Wanted {
            part: text.clone(),
            prefix: text.clone(),
            id: text.parse().unwrap_or(0),
            before: search.before.map_or(i64::MAX, |it| it.0),
            limit: search.limit.into(),
        };
        Ok(self.shared.store.accounts(&wanted).await?)
    }

    /// The account with this id, in any state.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn account(&self, account: AccountId) -> Result<Option<AccountSummary>> {
        Ok(self.shared.store.summary_by_id(account).await?)
    }

    /// The keys of an account, the newest first, at least a hundred if there are so many.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn keys_of(&self, account: AccountId) -> Result<Vec<KeySummary>> {
        let keys = self.shared.store.keys_of(account).await?;
        Ok(keys.into_iter().map(KeySummary::from).collect())
    }

    /// The account with this address or id.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn find_account_by_id_or_email(&self, text: &str) -> Result<Option<AccountSummary>> {
        let text = text.trim();
        match text.parse() {
            Ok(id) => self.account(AccountId(id)).await,
            Err(_) => Ok(self.shared.store.summary_by_email(&text.to_ascii_lowercase()).await?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{accounts::Addon, config::AccountsConfig};
    use database::{Database, testing::on_each};

    const NOW: Micros = 1_788_280_000_000_000;

    async fn with_accounts(database: Database, addresses: &[&str]) -> Accounts {
        let accounts = Accounts::new(database, &AccountsConfig::default()).await.unwrap();
        for address in addresses {
            accounts.create_key(Some(address), &[(Addon::Sports, 1)], NOW).await.unwrap();
        }
        accounts
    }

    async fn found(accounts: &Accounts, text: &str) -> Vec<String> {
        let search = AccountSearch { text, before: None, limit: 10 };
        let found = accounts.search(search).await.unwrap();
        found.into_iter().filter_map(|it| it.email).collect()
    }

    #[tokio::test]
    async fn accounts_are_found_by_part_of_the_address() {
        on_each(async |database| {
            let accounts =
                with_accounts(database, &["ann@one.org", "Bob@one.org", "c_d@two.org"]).await;
            assert_eq!(found(&accounts, "").await, ["c_d@two.org", "bob@one.org", "ann@one.org"]);
            assert_eq!(found(&accounts, " ONE.org ").await, ["bob@one.org", "ann@one.org"]);
            // Special characters of LIKE are matched literally.
            assert_eq!(found(&accounts, "c_d").await, ["c_d@two.org"]);
            for nothing in ["%", "b_b", "\\", "' OR 1=1 --", "nobody"] {
                assert_eq!(found(&accounts, nothing).await, [""; 0], "{nothing}");
            }
        })
        .await;
    }

    #[tokio::test]
    async fn accounts_are_found_by_key_and_by_id() {
        on_each(async |database| {
            let accounts = with_accounts(database, &["ann@one.org"]).await;
            let key = accounts.create_key(Some("bob@one.org"), &[], NOW).await.unwrap();
            assert_eq!(found(&accounts, key.prefix()).await, ["bob@one.org"]);
            let bob =
                accounts.find_account_by_id_or_email("BOB@one.org").await.unwrap().expect("bob");
            let id = bob.account.to_string();
            assert_eq!(found(&accounts, &id).await, ["bob@one.org"]);
            assert_eq!(accounts.find_account_by_id_or_email(&id).await.unwrap(), Some(bob));
            assert_eq!(accounts.find_account_by_id_or_email("999999").await.unwrap(), None);
            assert_eq!(accounts.find_account_by_id_or_email("nobody@one.org").await.unwrap(), None);
        })
        .await;
    }

    #[tokio::test]
    async fn pages_contain_every_account_once() {
        on_each(async |database| {
            let addresses: Vec<String> = (0..25).map(|it| format!("a{it}@x.org")).collect();
            let names: Vec<&str> = addresses.iter().map(|it| &**it).collect();
            let accounts = with_accounts(database, &names).await;
            let (mut seen, mut before) = (Vec::new(), None);
            loop {
                let search = AccountSearch { text: "x.org", before, limit: 10 };
                let page = accounts.search(search).await.unwrap();
                assert!(page.len() <= 10);
                let Some(last) = page.last() else { break };
                before = Some(last.account);
                seen.extend(page.into_iter().filter_map(|it| it.email));
            }
            assert_eq!(seen, names.iter().rev().copied().collect::<Vec<_>>());
        })
        .await;
    }

    #[tokio::test]
    async fn summary_has_the_state_and_the_addons() {
        on_each(async |database| {
            let accounts = with_accounts(database, &["ann@one.org"]).await;
            let ann =
                accounts.find_account_by_id_or_email("ann@one.org").await.unwrap().expect("ann");
            assert_eq!((ann.state(), ann.created), (AccountState::Active, NOW));
            let addons: Vec<_> = ann.addons.iter().collect();
            assert_eq!(addons, [(Addon::Sports, NOW + 86_400_000_000)]);
            let blocked = AccountSummary { blocked: Some(NOW), ..ann.clone() };
            assert_eq!(blocked.state(), AccountState::Blocked);
            let deleted = AccountSummary { deleted: Some(NOW), ..blocked };
            assert_eq!(deleted.state(), AccountState::Deleted);
            assert_eq!(AccountSummary { active: None, ..ann }.state(), AccountState::Inactive);
        })
        .await;
    }
}
