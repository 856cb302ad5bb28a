//! SQL of the operator's directory of accounts.

use sqlx::{FromRow, Row, any::AnyRow};

use super::{AccountStore, AddonRow, StoredKey, gather, gather_keys};
use crate::accounts::{AccountId, AccountSummary, Addons};

/// Maximum rows read of one account's keys, one for each key and add-on.
const KEY_ROWS_MAX: i64 = 300;

/// Searches by part of the address, the public part of a key, or an id.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Lower case, as addresses are stored; empty for all.
    pub(crate) part: String,
    pub(crate) prefix: String,
    pub(crate) id: i64,
    pub(crate) before: i64,
    pub(crate) limit: i64,
}

impl AccountStore {
    /// The newest first.
    pub(crate) async fn accounts(&self, wanted: &Wanted) -> sqlx::Result<Vec<AccountSummary>> {
        let rows = sqlx::query_as(
            "SELECT page.*, addons.addon, addons.expires_us FROM ( \
                 SELECT id, email, created_us, active_us, blocked_us, deleted_us, founder_us \
                 FROM accounts \
                 WHERE id < $1 AND ($2 = '' OR email LIKE $3 ESCAPE '!' OR id = $4 \
                     OR id IN (SELECT account_id FROM keys WHERE prefix = $5)) \
                 ORDER BY id DESC LIMIT $6 \
             ) AS page \
             LEFT JOIN addons ON addons.account_id = page.id ORDER BY page.id DESC",
        )
        .bind(wanted.before)
        .bind(&wanted.part)
        .bind(containing(&wanted.part))
        .bind(wanted.id)
        .bind(&wanted.prefix)
        .bind(wanted.limit)
        .fetch_all(self.database.pool())
        .await?;
        Ok(gather_accounts(rows))
    }

    pub(crate) async fn summary_by_id(
        &self,
        account: AccountId,
    ) -> sqlx::Result<Option<AccountSummary>> {
        let rows = sqlx::query_as(
            "SELECT id, email, created_us, active_us, blocked_us, deleted_us, founder_us, \
             addon, expires_us FROM accounts \
             LEFT JOIN addons ON addons.account_id = accounts.id WHERE accounts.id = $1",
        )
        .bind(account.0)
        .fetch_all(self.database.pool())
        .await?;
        Ok(gather_accounts(rows).pop())
    }

    /// `email`: in lower case.
    pub(crate) async fn summary_by_email(
        &self,
        email: &str,
    ) -> sqlx::Result<Option<AccountSummary>> {
        let rows = sqlx::query_as(
            "SELECT id, email, created_us, active_us, blocked_us, deleted_us, founder_us, \
             addon, expires_us FROM accounts \
             LEFT JOIN addons ON addons.account_id = accounts.id WHERE accounts.email = $1",
        )
        .bind(email)
        .fetch_all(self.database.pool())
        .await?;
        Ok(gather_accounts(rows).pop())
    }
}

impl AccountStore {
    /// The keys of an account, those in force before the revoked ones, the newest first, as many as a page shows.
    pub(crate) async fn keys_of(&self, account: AccountId) -> sqlx::Result<Vec<StoredKey>> {
        let rows = sqlx::query_as(
            "SELECT * FROM key_addons WHERE account_id = $1 AND is_grant = 0 \
             ORDER BY CASE WHEN revoked_us IS NULL THEN 0 ELSE 1 END, key_id DESC LIMIT $2",
        )
        .bind(account.0)
        .bind(KEY_ROWS_MAX)
        .fetch_all(self.database.pool())
        .await?;
        Ok(gather_keys(rows))
    }
}

fn gather_accounts(rows: Vec<AddonRow<AccountSummary>>) -> Vec<AccountSummary> {
    gather(rows, |one, other| one.account == other.account, |account| &mut account.addons)
}

impl FromRow<'_, AnyRow> for AccountSummary {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        Ok(Self {
            account: AccountId(row.try_get("id")?),
            email: row.try_get("email")?,
            created: row.try_get("created_us")?,
            active: row.try_get("active_us")?,
            blocked: row.try_get("blocked_us")?,
            deleted: row.try_get("deleted_us")?,
            founder: row.try_get("founder_us")?,
            addons: Addons::default(),
        })
    }
}

/// A LIKE pattern for text that contains this. The escape character is `!`, which both databases
/// take literally in a string.
fn containing(part: &str) -> String {
    let mut pattern = String::from("%");
    for sign in part.chars() {
        if matches!(sign, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(sign);
    }
    pattern + "%"
}
