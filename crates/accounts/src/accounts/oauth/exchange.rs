//! Exchanges: a code for tokens, a refresh token for new ones, and revocation by the client.

use sqlx::{Any, AnyConnection, Transaction};

use super::{
    OAuth, Scopes, Token,
    grant::TokenUse,
    token::{self, PresentedRefresh, PresentedToken},
};
use crate::{
    accounts::{
        Micros, Result,
        store::{self, NewTokens, StoredGrant},
    },
    products::Product,
};

/// A request to exchange a code.
#[derive(Debug)]
pub struct CodeRedemption<'a> {
    pub code: &'a str,
    pub client_id: &'a str,
    /// The same one that the code was sent to.
    pub redirect_uri: &'a str,
    /// Of the PKCE challenge.
    pub verifier: &'a str,
    /// The audience that the client names, if it does.
    pub audience: Option<Product>,
}

/// A request to exchange a refresh token.
#[derive(Debug)]
pub struct RefreshRequest<'a> {
    pub token: &'a str,
    pub client_id: &'a str,
    /// The audience that the client names, if it does.
    pub audience: Option<Product>,
    /// Fewer scopes for the access token; `None` for all that were granted.
    pub scopes: Option<Scopes>,
}

/// The result of an exchange.
#[derive(Debug)]
pub struct IssuedTokens {
    pub access: Token,
    /// Seconds for which it is valid.
    pub access_s: i64,
    pub scopes: Scopes,
    pub refresh: Token,
}

/// Why an exchange is refused. The client's fault, and no error of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRefusal {
    /// The code or refresh token is not valid, or not of this client.
    InvalidGrant,
    /// The grant is for another MCP server.
    InvalidTarget,
    /// The grant does not have the requested scopes.
    InvalidScope,
}

impl OAuth {
    /// Exchanges a code for the first tokens of its grant. A second use revokes the grant.
    ///
    /// # Errors
    ///
    /// If the store fails; the code is as good as before then.
    pub async fn redeem(
        &self,
        request: &CodeRedemption<'_>,
        now: Micros,
    ) -> Result<Result<IssuedTokens, TokenRefusal>> {
        let Some(code) = PresentedToken::code(request.code) else {
            return Ok(Err(TokenRefusal::InvalidGrant));
        };
        let Some((mut tx, grant)) = self.lock_grant(code.digits()).await? else {
            return Ok(Err(TokenRefusal::InvalidGrant));
        };
        let hash = self.accounts.shared.pepper.hash_token(code.as_str());
        match grant.state.judge_code(&hash, now) {
            TokenUse::Current => {}
            TokenUse::Reused => {
                self.revoke_reused(tx, &grant, now).await?;
                return Ok(Err(TokenRefusal::InvalidGrant));
            }
            TokenUse::Expired | TokenUse::Unknown => return Ok(Err(TokenRefusal::InvalidGrant)),
        }
        // The code stays valid for the client that can prove that it requested it.
        let is_of_client = grant.client_id == request.client_id
            && grant.redirect_uri == request.redirect_uri
            && grant.challenge.matches(request.verifier);
        if !is_of_client {
            return Ok(Err(TokenRefusal::InvalidGrant));
        }
        if !grant.is_for(request.audience) {
            return Ok(Err(TokenRefusal::InvalidTarget));
        }
        let refresh = Token::first_refresh(code.digits())?;
        let scopes = grant.scopes;
        let issued = self.issue(&mut tx, &grant, (code.digits(), refresh, scopes), now).await?;
        tx.commit().await?;
        Ok(Ok(issued))
    }

    /// Exchanges a refresh token for new tokens, which replace all earlier ones of the grant. The
    /// use of a replaced refresh token revokes the grant.
    ///
    /// # Errors
    ///
    /// If the store fails; the token is as good as before then.
    pub async fn refresh(
        &self,
        request: &RefreshRequest<'_>,
        now: Micros,
    ) -> Result<Result<IssuedTokens, TokenRefusal>> {
        let Some(presented) = PresentedRefresh::parse(request.token) else {
            return Ok(Err(TokenRefusal::InvalidGrant));
        };
        let Some((mut tx, grant)) = self.lock_grant(presented.digits()).await? else {
            return Ok(Err(TokenRefusal::InvalidGrant));
        };
        let pepper = &self.accounts.shared.pepper;
        let hash = pepper.hash_token(presented.as_str());
        let family = pepper.hash_token(presented.family());
        match grant.state.judge_refresh(&hash, &family, now) {
            TokenUse::Current => {}
            TokenUse::Reused => {
                self.revoke_reused(tx, &grant, now).await?;
                return Ok(Err(TokenRefusal::InvalidGrant));
            }
            TokenUse::Expired | TokenUse::Unknown => return Ok(Err(TokenRefusal::InvalidGrant)),
        }
        if grant.client_id != request.client_id {
            return Ok(Err(TokenRefusal::InvalidGrant));
        }
        if !grant.is_for(request.audience) {
            return Ok(Err(TokenRefusal::InvalidTarget));
        }
        let scopes = request.scopes.unwrap_or(grant.scopes);
        if scopes.is_empty() || !scopes.is_within(grant.scopes) {
            return Ok(Err(TokenRefusal::InvalidScope));
        }
        let next = Token::next_refresh(presented)?;
        let issued = self.issue(&mut tx, &grant, (presented.digits(), next, scopes), now).await?;
        tx.commit().await?;
        self.accounts.forget_access(grant.access.as_deref());
        Ok(Ok(issued))
    }

    /// Revokes the grant of a token, at the request of its holder. Has no effect if it
    /// is not valid, or if `client_id` is not that of its client.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn revoke(&self, token: &str, client_id: Option<&str>, now: Micros) -> Result<()> {
        let pepper = &self.accounts.shared.pepper;
        let (access, refresh) = (PresentedToken::access(token), PresentedRefresh::parse(token));
        let digits = access.map(PresentedToken::digits);
        let Some(digits) = digits.or_else(|| refresh.map(PresentedRefresh::digits)) else {
            return Ok(());
        };
        let Some((mut tx, grant)) = self.lock_grant(digits).await? else { return Ok(()) };
        let is_ours = match refresh {
            // A replaced one as well: its holder wants the connection to end.
            Some(refresh) => {
                let family = pepper.hash_token(refresh.family());
                grant.state.family.as_ref().is_some_and(|stored| family.matches(stored))
            }
            None => {
                let hash = pepper.hash_token(token);
                grant.access.as_ref().is_some_and(|stored| hash.matches(stored))
            }
        };
        if !is_ours || client_id.is_some_and(|client| client != grant.client_id) {
            return Ok(());
        }
        store::revoke_grant(&mut tx, grant.account, grant.key, now).await?;
        tx.commit().await?;
        self.accounts.broadcast_grants(vec![grant.key]).await;
        Ok(())
    }

    /// Begins a transaction, locks the account of a grant, and reads the grant. `None` if there is
    /// none, or if its account is not open.
    async fn lock_grant(
        &self,
        digits: &str,
    ) -> Result<Option<(Transaction<'static, Any>, StoredGrant)>> {
        let (store, prefix) = (&self.accounts.shared.store, token::grant_prefix(digits));
        // Read first to learn the account: it must be locked before its rows.
        let Some(StoredGrant { account, .. }) = store.grant(&prefix).await? else {
            return Ok(None);
        };
        let mut tx = store.begin().await?;
        let locked = store::lock(&mut tx, account).await?;
        if !locked.is_some_and(|account| account.is_open()) {
            return Ok(None);
        }
        let grant = store::grant_by_prefix(&mut tx, &prefix).await?;
        Ok(grant.map(|grant| (tx, grant)))
    }

    async fn revoke_reused(
        &self,
        mut tx: Transaction<'static, Any>,
        grant: &StoredGrant,
        now: Micros,
    ) -> Result<()> {
        store::revoke_grant(&mut tx, grant.account, grant.key, now).await?;
        tx.commit().await?;
        self.accounts.broadcast_grants(vec![grant.key]).await;
        let (account, client) = (grant.account, &*grant.client_id);
        base::log_limited!(warn, %account, client, "a code or refresh token was used twice: the grant was revoked");
        Ok(())
    }

    async fn issue(
        &self,
        tx: &mut AnyConnection,
        grant: &StoredGrant,
        (digits, refresh, scopes): (&str, Token, Scopes),
        now: Micros,
    ) -> Result<IssuedTokens> {
        let pepper = &self.accounts.shared.pepper;
        let access = Token::access(digits)?;
        let family = refresh.as_refresh().map_or("", PresentedRefresh::family);
        let tokens = NewTokens {
            access: pepper.hash_token(access.expose()),
            access_scopes: scopes,
            access_expires: now.saturating_add(self.config.access_age_max()),
            refresh: pepper.hash_token(refresh.expose()),
            family: pepper.hash_token(family),
            ends: now.saturating_add(self.config.refresh_idle_max()),
        };
        store::issue_tokens(tx, grant.key, &tokens, now).await?;
        let access_s = self.config.access_age_max() / 1_000_000;
        Ok(IssuedTokens { access, access_s, scopes, refresh })
    }
}

impl StoredGrant {
    /// Whether it is for the audience that the client names; a client may name none.
    fn is_for(&self, audience: Option<Product>) -> bool {
        audience.is_none_or(|audience| self.audience == Some(audience))
    }
}
