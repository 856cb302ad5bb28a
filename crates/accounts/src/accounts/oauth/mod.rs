//! Applications that customers connect to the MCP servers by OAuth 2.1: grants and their tokens.
//!
//! A grant is the consent of a customer: which client, which MCP server, which [`Scopes`]. It is a
//! row of the table of keys, so Regenerate, blocking and deletion end it as they end keys, and a
//! change of its account reaches the caches as a change of a key does. The states of its code and
//! its tokens are the plain values of `grant`; every exchange takes place in one transaction that
//! has locked the account.
//!
//! In reading order: [`Scopes`], `token`, [`CodeChallenge`], `grant`, then the consent below,
//! `exchange` and `access`. It does not know HTTP; [`crate::clients`] reads what clients publish of
//! themselves.

mod access;
mod challenge;
mod exchange;
mod grant;
mod token;

use tracing::info;

pub(super) use self::grant::GrantState;
pub use self::{
    challenge::CodeChallenge,
    exchange::{CodeRedemption, IssuedTokens, RefreshRequest, TokenRefusal},
    token::Token,
};
use super::{
    AccountId, Accounts, AccountsError, KeyId, Micros, Result, Scopes,
    store::{self, NewGrant, StoredGrant},
};
use crate::{clients::ClientId, config::OAuthConfig, products::Product};

/// A handle to the grants; clones share the accounts.
#[derive(Debug, Clone)]
pub struct OAuth {
    accounts: Accounts,
    config: OAuthConfig,
}

/// What a customer agrees to.
#[derive(Debug)]
pub struct Consent<'a> {
    pub account: AccountId,
    pub client_id: &'a str,
    pub client_name: &'a str,
    pub redirect_uri: &'a str,
    /// The product whose MCP server the tokens are for.
    pub audience: Product,
    pub scopes: Scopes,
    pub challenge: &'a CodeChallenge,
}

/// An application that is connected to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedApp {
    pub key: KeyId,
    pub client_id: String,
    /// As it called itself when it was connected.
    pub name: String,
    /// Where the code was sent.
    pub redirect_uri: String,
    pub audience: Option<Product>,
    pub scopes: Scopes,
    pub since: Micros,
    /// When it was last used, to the minute.
    pub used: Micros,
}

impl ConnectedApp {
    /// The host that publishes the document of the application.
    #[must_use]
    pub fn host(&self) -> String {
        // It was parsed before it was stored, whatever the settings were then.
        ClientId::parse(&self.client_id, true).map(|id| id.host()).unwrap_or_default()
    }
}

impl OAuth {
    /// The grants of these accounts.
    #[must_use]
    pub fn new(accounts: Accounts, config: OAuthConfig) -> Self {
        Self { accounts, config }
    }

    /// Records a consent, and returns the code for the client. Beyond the maximum of grants, the one
    /// that was not used for the longest time is revoked.
    ///
    /// # Errors
    ///
    /// [`AccountsError::Gone`] if the account is not active, blocked, or deleted. If the store fails.
    pub async fn grant(&self, consent: &Consent<'_>, now: Micros) -> Result<Token> {
        let shared = &self.accounts.shared;
        let mut tx = shared.store.begin().await?;
        let locked = store::lock(&mut tx, consent.account).await?;
        if !locked.is_some_and(|account| account.is_open()) {
            return Err(AccountsError::Gone);
        }
        let others_max = self.config.grants_max_per_account.saturating_sub(1);
        let revoked = store::keep_newest_grants(&mut tx, consent.account, others_max, now).await?;
        // Few of four thousand million prefixes are taken: a taken one is generated again.
        let code = loop {
            let digits = token::new_digits()?;
            let code = Token::code(&digits)?;
            let grant = NewGrant {
                account: consent.account,
                prefix: &token::grant_prefix(&digits),
                client_id: consent.client_id,
                client_name: consent.client_name,
                redirect_uri: consent.redirect_uri,
                audience: consent.audience,
                scopes: consent.scopes,
                challenge: consent.challenge,
                code: shared.pepper.hash_token(code.expose()),
                ends: now.saturating_add(self.config.code_age_max()),
            };
            if store::insert_grant(&mut tx, &grant, now).await? {
                break code;
            }
        };
        tx.commit().await?;
        self.accounts.broadcast_grants(revoked).await;
        info!(account = %consent.account, client = consent.client_id, "an application was authorised");
        Ok(code)
    }

    /// The applications that are connected to an account, the last used first.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn connected_apps(
        &self,
        account: AccountId,
        now: Micros,
    ) -> Result<Vec<ConnectedApp>> {
        let grants = self.accounts.shared.store.live_grants(account, now).await?;
        Ok(grants.into_iter().map(ConnectedApp::from).collect())
    }

    /// Disconnects an application. When this returns, its tokens no longer work. False if the
    /// account has no such grant.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn disconnect(&self, account: AccountId, key: u64, now: Micros) -> Result<bool> {
        let Ok(key) = i64::try_from(key).map(KeyId) else { return Ok(false) };
        let mut tx = self.accounts.shared.store.begin().await?;
        store::lock(&mut tx, account).await?;
        let revoked = store::revoke_grant(&mut tx, account, key, now).await?;
        tx.commit().await?;
        self.accounts.broadcast_keys(vec![key]).await;
        Ok(revoked)
    }
}

impl Accounts {
    /// Evicts an access token that was replaced.
    fn forget_access(&self, hash: Option<&[u8]>) {
        if let Some(hash) = hash {
            self.shared.cache.remove(hash);
        }
    }

    /// Evicts grants that were revoked in a transaction that has committed.
    pub(super) async fn broadcast_grants(&self, revoked: Vec<KeyId>) {
        if !revoked.is_empty() {
            self.broadcast_keys(revoked).await;
        }
    }
}

impl From<StoredGrant> for ConnectedApp {
    fn from(grant: StoredGrant) -> Self {
        Self {
            key: grant.key,
            client_id: grant.client_id,
            name: grant.client_name,
            redirect_uri: grant.redirect_uri,
            audience: grant.audience,
            scopes: grant.scopes,
            since: grant.created,
            used: grant.used,
        }
    }
}
