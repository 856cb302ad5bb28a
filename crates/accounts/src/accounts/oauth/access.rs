//! Access tokens on MCP paths: who calls, and with which scopes.

use std::net::IpAddr;

use super::token::{PresentedToken, grant_prefix};
use crate::{
    accounts::{Accounts, Caller, Micros, Networks, Result, caller::Access, key::KeyHash},
    products::Product,
};

impl Accounts {
    /// Returns the caller of a key or an access token on the MCP server of this product; `None` if
    /// it is malformed, unknown, expired or revoked, or if the token is for another server. Usually
    /// answered from the cache.
    ///
    /// # Errors
    ///
    /// As [`Accounts::authenticate`].
    pub async fn authenticate_for_mcp(
        &self,
        credential: &str,
        product: Product,
        from: IpAddr,
        now: Micros,
    ) -> Result<Option<Caller>> {
        let Some(token) = PresentedToken::access(credential) else {
            return self.authenticate(credential, from, now).await;
        };
        let hash = self.shared.pepper.hash_token(token.as_str());
        let caller = match self.shared.cache.get(&hash, now) {
            Some((caller, _)) => Some(caller),
            None => self.look_up_token(token, hash, now).await?,
        };
        Ok(caller.filter(|caller| caller.access.audience == Some(product) && caller.lasts(now)))
    }

    async fn look_up_token(
        &self,
        token: PresentedToken<'_>,
        hash: KeyHash,
        now: Micros,
    ) -> Result<Option<Caller>> {
        let (generation, store) = (self.shared.cache.generation(), &self.shared.store);
        let Some(grant) = store.grant(&grant_prefix(token.digits())).await? else {
            return Ok(None);
        };
        let is_current = grant.access.as_ref().is_some_and(|stored| hash.matches(stored));
        let Some(audience) = grant.audience.filter(|_| is_current && now < grant.access_expires)
        else {
            return Ok(None);
        };
        let access = Access {
            scopes: grant.access_scopes,
            audience: Some(audience),
            ends: Some(grant.access_expires),
        };
        let stored = store.key_by_id(grant.key).await?;
        let caller = stored.and_then(|stored| Caller::from_stored(&stored, generation));
        let Some(caller) = caller.map(|caller| Caller { access, ..caller }) else {
            return Ok(None);
        };
        self.shared.cache.insert(hash, caller, Networks::default(), now);
        // A database that takes no writes must not lock applications out.
        if let Err(error) = store.touch_grant(grant.key, now).await {
            base::log_limited!(warn, error, "the use of a grant is not recorded");
        }
        Ok(Some(caller))
    }
}
