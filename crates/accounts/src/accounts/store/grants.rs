//! The stored grants of connected applications. Each is also a row of `keys`.

use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::AccountStore;
use crate::{
    accounts::{
        AccountId, KeyId, Micros, Scopes,
        key::KeyHash,
        oauth::{CodeChallenge, GrantState},
    },
    products::Product,
};

/// A use is recorded at most this often.
const USED_EVERY: Micros = 60 * 1_000_000;

/// A stored grant.
#[derive(Debug)]
pub(crate) struct StoredGrant {
    pub(crate) key: KeyId,
    pub(crate) account: AccountId,
    pub(crate) created: Micros,
    pub(crate) client_id: String,
    pub(crate) client_name: String,
    pub(crate) redirect_uri: String,
    /// `None` if it is of a product that this program does not know.
    pub(crate) audience: Option<Product>,
    pub(crate) scopes: Scopes,
    pub(crate) challenge: CodeChallenge,
    pub(crate) state: GrantState,
    /// The current access token.
    pub(crate) access: Option<Vec<u8>>,
    pub(crate) access_scopes: Scopes,
    pub(crate) access_expires: Micros,
    pub(crate) used: Micros,
}

impl FromRow<'_, AnyRow> for StoredGrant {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        let text = |name: &str| row.try_get::<String, _>(name);
        let revoked: Option<Micros> = row.try_get("revoked_us")?;
        let access_expires: Option<Micros> = row.try_get("access_expires_us")?;
        Ok(Self {
            key: KeyId(row.try_get("key_id")?),
            account: AccountId(row.try_get("account_id")?),
            created: row.try_get("created_us")?,
            client_id: text("client_id")?,
            client_name: text("client_name")?,
            redirect_uri: text("redirect_uri")?,
            audience: Product::named(&text("audience")?),
            scopes: Scopes::parse(&text("scopes")?),
            challenge: CodeChallenge::from_stored(text("code_challenge")?),
            state: GrantState {
                is_revoked: revoked.is_some(),
                code: row.try_get("code_hash")?,
                code_used: row.try_get("code_used_us")?,
                refresh: row.try_get("refresh_hash")?,
                family: row.try_get("family_hash")?,
                ends: row.try_get("ends_us")?,
            },
            access: row.try_get("access_hash")?,
            access_scopes: Scopes::parse(&text("access_scopes")?),
            access_expires: access_expires.unwrap_or(Micros::MIN),
            used: row.try_get("used_us")?,
        })
    }
}

/// What is stored of a new grant.
#[derive(Debug)]
pub(crate) struct NewGrant<'a> {
    pub(crate) account: AccountId,
    /// The public part, in the table of keys.
    pub(crate) prefix: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) client_name: &'a str,
    pub(crate) redirect_uri: &'a str,
    pub(crate) audience: Product,
    pub(crate) scopes: Scopes,
    pub(crate) challenge: &'a CodeChallenge,
    pub(crate) code: KeyHash,
    pub(crate) ends: Micros,
}

/// What is stored of issued tokens.
#[derive(Debug)]
pub(crate) struct NewTokens {
    pub(crate) access: KeyHash,
    pub(crate) access_scopes: Scopes,
    pub(crate) access_expires: Micros,
    pub(crate) refresh: KeyHash,
    pub(crate) family: KeyHash,
    pub(crate) ends: Micros,
}

impl AccountStore {
    /// The grant with this public part.
    pub(crate) async fn grant(&self, prefix: &str) -> sqlx::Result<Option<StoredGrant>> {
        sqlx::query_as(BY_PREFIX).bind(prefix).fetch_optional(self.database().pool()).await
    }

    /// The grants of an account that yield tokens, the last used first.
    pub(crate) async fn live_grants(
        &self,
        account: AccountId,
        now: Micros,
    ) -> sqlx::Result<Vec<StoredGrant>> {
        sqlx::query_as(
            "SELECT oauth_grants.*, keys.account_id, keys.created_us, keys.revoked_us \
             FROM oauth_grants JOIN keys ON keys.id = oauth_grants.key_id \
             WHERE keys.account_id = $1 AND keys.revoked_us IS NULL \
             AND oauth_grants.code_used_us IS NOT NULL AND oauth_grants.ends_us > $2 \
             ORDER BY oauth_grants.used_us DESC, oauth_grants.key_id DESC",
        )
        .bind(account.0)
        .bind(now)
        .fetch_all(self.database().pool())
        .await
    }

    /// Records that a token of a grant was used, unless that was recorded a moment ago.
    pub(crate) async fn touch_grant(&self, key: KeyId, now: Micros) -> sqlx::Result<()> {
        sqlx::query("UPDATE oauth_grants SET used_us = $2 WHERE key_id = $1 AND used_us <= $3")
            .bind(key.0)
            .bind(now)
            .bind(now.saturating_sub(USED_EVERY))
            .execute(self.database().pool())
            .await?;
        Ok(())
    }
}

const BY_PREFIX: &str = "SELECT oauth_grants.*, keys.account_id, keys.created_us, keys.revoked_us \
    FROM oauth_grants JOIN keys ON keys.id = oauth_grants.key_id WHERE keys.prefix = $1";

/// The grant with this public part, inside a transaction that has locked its account.
pub(crate) async fn grant_by_prefix(
    tx: &mut AnyConnection,
    prefix: &str,
) -> sqlx::Result<Option<StoredGrant>> {
    sqlx::query_as(BY_PREFIX).bind(prefix).fetch_optional(tx).await
}

/// False if another grant has the prefix.
pub(crate) async fn insert_grant(
    tx: &mut AnyConnection,
    grant: &NewGrant<'_>,
    now: Micros,
) -> sqlx::Result<bool> {
    let key: Option<i64> = sqlx::query_scalar(
        "INSERT INTO keys (account_id, prefix, hash, created_us, is_grant) \
         VALUES ($1, $2, $3, $4, 1) ON CONFLICT (prefix) DO NOTHING RETURNING id",
    )
    .bind(grant.account.0)
    .bind(grant.prefix)
    .bind(&[][..] as &[u8])
    .bind(now)
    .fetch_optional(&mut *tx)
    .await?;
    let Some(key) = key else { return Ok(false) };
    sqlx::query(
        "INSERT INTO oauth_grants (key_id, client_id, client_name, redirect_uri, audience, scopes, \
         access_scopes, code_hash, code_challenge, ends_us, used_us) \
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9, $10)",
    )
    .bind(key)
    .bind(grant.client_id)
    .bind(grant.client_name)
    .bind(grant.redirect_uri)
    .bind(grant.audience.as_str())
    .bind(grant.scopes.to_string())
    .bind(grant.code.as_bytes())
    .bind(grant.challenge.as_str())
    .bind(grant.ends)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(true)
}

/// Stores the tokens that replace all earlier ones of a grant.
pub(crate) async fn issue_tokens(
    tx: &mut AnyConnection,
    key: KeyId,
    tokens: &NewTokens,
    now: Micros,
) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE oauth_grants SET access_hash = $2, access_scopes = $3, access_expires_us = $4, \
         refresh_hash = $5, family_hash = $6, ends_us = $7, used_us = $8, \
         code_used_us = COALESCE(code_used_us, $8) WHERE key_id = $1",
    )
    .bind(key.0)
    .bind(tokens.access.as_bytes())
    .bind(tokens.access_scopes.to_string())
    .bind(tokens.access_expires)
    .bind(tokens.refresh.as_bytes())
    .bind(tokens.family.as_bytes())
    .bind(tokens.ends)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(())
}

/// False if it was already revoked.
pub(crate) async fn revoke_grant(
    tx: &mut AnyConnection,
    account: AccountId,
    key: KeyId,
    now: Micros,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE keys SET revoked_us = $3 \
         WHERE id = $2 AND account_id = $1 AND is_grant = 1 AND revoked_us IS NULL",
    )
    .bind(account.0)
    .bind(key.0)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes all grants of an account; returns those that were valid until now.
pub(crate) async fn revoke_all_grants(
    tx: &mut AnyConnection,
    account: AccountId,
    now: Micros,
) -> sqlx::Result<Vec<KeyId>> {
    let keys: Vec<i64> = sqlx::query_scalar(
        "UPDATE keys SET revoked_us = $2 \
         WHERE account_id = $1 AND is_grant = 1 AND revoked_us IS NULL RETURNING id",
    )
    .bind(account.0)
    .bind(now)
    .fetch_all(tx)
    .await?;
    Ok(keys.into_iter().map(KeyId).collect())
}

/// Revokes the grants of an account that have ended, and beyond a maximum those that were not used
/// for the longest time. Returns the revoked ones.
pub(crate) async fn keep_newest_grants(
    tx: &mut AnyConnection,
    account: AccountId,
    grants_max: u32,
    now: Micros,
) -> sqlx::Result<Vec<KeyId>> {
    let keys: Vec<i64> = sqlx::query_scalar(
        "UPDATE keys SET revoked_us = $3 \
         WHERE account_id = $1 AND is_grant = 1 AND revoked_us IS NULL AND id NOT IN \
         (SELECT own.id FROM keys AS own JOIN oauth_grants ON oauth_grants.key_id = own.id \
          WHERE own.account_id = $1 AND own.revoked_us IS NULL AND oauth_grants.ends_us > $3 \
          ORDER BY oauth_grants.used_us DESC, own.id DESC LIMIT $2) RETURNING id",
    )
    .bind(account.0)
    .bind(i64::from(grants_max))
    .bind(now)
    .fetch_all(tx)
    .await?;
    Ok(keys.into_iter().map(KeyId).collect())
}

/// Removes grants that ended, or were revoked, before this time. None of their tokens is valid, so
/// nobody has to learn of it.
pub(crate) async fn remove_ended_grants(
    tx: &mut AnyConnection,
    before: Micros,
) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "DELETE FROM keys WHERE is_grant = 1 AND (revoked_us < $1 \
         OR id IN (SELECT key_id FROM oauth_grants WHERE ends_us < $1))",
    )
    .bind(before)
    .execute(tx)
    .await?;
    Ok(done.rows_affected())
}
