//! Rows of accounts: read under a lock, and changed.

use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::{AccountStore, zone};
use crate::{
    accounts::{AccountId, Addon, Addons, KeyId, Micros, Requester, ZoneName},
    products::Country,
};

/// A stored account.
#[derive(Debug)]
pub(crate) struct StoredAccount {
    pub(crate) id: AccountId,
    pub(crate) email: Option<String>,
    /// Argon2id, in PHC form.
    pub(crate) password: Option<String>,
    pub(crate) created: Micros,
    pub(crate) active: Option<Micros>,
    pub(crate) blocked: Option<Micros>,
    pub(crate) founder: Option<Micros>,
    pub(crate) deleted: Option<Micros>,
    pub(crate) country: Option<Country>,
    pub(crate) zone: Option<ZoneName>,
}

impl StoredAccount {
    /// Whether its owner may log in.
    pub(crate) fn is_open(&self) -> bool {
        self.active.is_some() && self.blocked.is_none() && self.deleted.is_none()
    }
}

impl FromRow<'_, AnyRow> for StoredAccount {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        let country: Option<String> = row.try_get("country")?;
        Ok(Self {
            id: AccountId(row.try_get("id")?),
            email: row.try_get("email")?,
            password: row.try_get("password")?,
            created: row.try_get("created_us")?,
            active: row.try_get("active_us")?,
            blocked: row.try_get("blocked_us")?,
            founder: row.try_get("founder_us")?,
            deleted: row.try_get("deleted_us")?,
            country: country.and_then(|code| code.parse().ok()),
            zone: zone(row)?,
        })
    }
}

impl AccountStore {
    pub(crate) async fn account_by_id(
        &self,
        account: AccountId,
    ) -> sqlx::Result<Option<StoredAccount>> {
        sqlx::query_as("SELECT * FROM accounts WHERE id = $1")
            .bind(account.0)
            .fetch_optional(self.database.pool())
            .await
    }

    /// `email` in lower case.
    pub(crate) async fn account_by_email(
        &self,
        email: &str,
    ) -> sqlx::Result<Option<StoredAccount>> {
        sqlx::query_as("SELECT * FROM accounts WHERE email = $1")
            .bind(email)
            .fetch_optional(self.database.pool())
            .await
    }

    pub(crate) async fn addons(&self, account: AccountId) -> sqlx::Result<Addons> {
        let rows: Vec<(String, Micros)> =
            sqlx::query_as("SELECT addon, expires_us FROM addons WHERE account_id = $1")
                .bind(account.0)
                .fetch_all(self.database.pool())
                .await?;
        let mut addons = Addons::default();
        for (name, expiry) in rows {
            if let Ok(addon) = name.parse::<Addon>() {
                addons.set(addon, expiry);
            }
        }
        Ok(addons)
    }

    /// Runs a statement that sets what a customer has chosen: `$1` is the account, `$2` the choice.
    pub(crate) async fn choose(
        &self,
        statement: &'static str,
        account: AccountId,
        choice: Option<String>,
    ) -> sqlx::Result<()> {
        let statement = sqlx::query(statement).bind(account.0).bind(choice);
        statement.execute(self.database.pool()).await.map(drop)
    }

    /// The public part and the creation time of the newest valid main key.
    pub(crate) async fn newest_key(
        &self,
        account: AccountId,
    ) -> sqlx::Result<Option<(String, Micros)>> {
        sqlx::query_as(
            "SELECT prefix, created_us FROM keys \
             WHERE account_id = $1 AND revoked_us IS NULL AND is_grant = 0 AND name IS NULL \
             ORDER BY id DESC LIMIT 1",
        )
        .bind(account.0)
        .fetch_optional(self.database.pool())
        .await
    }
}

/// Reads and locks an account until the transaction ends. The update changes nothing; it locks.
pub(crate) async fn lock(
    tx: &mut AnyConnection,
    account: AccountId,
) -> sqlx::Result<Option<StoredAccount>> {
    sqlx::query_as("UPDATE accounts SET id = id WHERE id = $1 RETURNING *")
        .bind(account.0)
        .fetch_optional(tx)
        .await
}

/// Removes the webhooks of an account with their deliveries. Another crate owns these rows; the row of the account stays, so
/// nothing else would remove them.
pub(crate) async fn remove_webhooks(
    tx: &mut AnyConnection,
    account: AccountId,
) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM customer_webhooks WHERE account_id = $1")
        .bind(account.0)
        .execute(tx)
        .await?;
    Ok(())
}

/// Reads and locks an account by its address, in lower case.
pub(crate) async fn lock_by_email(
    tx: &mut AnyConnection,
    email: &str,
) -> sqlx::Result<Option<StoredAccount>> {
    sqlx::query_as("UPDATE accounts SET id = id WHERE email = $1 RETURNING *")
        .bind(email)
        .fetch_optional(tx)
        .await
}

/// Reads an account without a lock.
pub(crate) async fn account_of_email(
    tx: &mut AnyConnection,
    email: &str,
) -> sqlx::Result<Option<StoredAccount>> {
    sqlx::query_as("SELECT * FROM accounts WHERE email = $1").bind(email).fetch_optional(tx).await
}

/// The account with this address, locked as by [`lock`]; created, inactive, if there is none.
pub(crate) async fn lock_or_insert(
    tx: &mut AnyConnection,
    email: &str,
    now: Micros,
) -> sqlx::Result<StoredAccount> {
    sqlx::query_as(
        "INSERT INTO accounts (email, created_us) VALUES ($1, $2) \
         ON CONFLICT (email) DO UPDATE SET email = accounts.email RETURNING *",
    )
    .bind(email)
    .bind(now)
    .fetch_one(tx)
    .await
}

/// Counts a mail to the account's address by who requested it; false if there were too many within
/// an hour.
pub(crate) async fn count_mail_request(
    tx: &mut AnyConnection,
    account: AccountId,
    requester: Requester,
    requests_max: u32,
    hour_ago: Micros,
    now: Micros,
) -> sqlx::Result<bool> {
    let statement = match requester {
        Requester::Stranger => {
            "UPDATE accounts SET \
             asked = CASE WHEN asked_us > $2 THEN asked + 1 ELSE 1 END, \
             asked_us = CASE WHEN asked_us > $2 THEN asked_us ELSE $3 END \
             WHERE id = $1 AND (asked_us IS NULL OR asked_us <= $2 OR asked < $4)"
        }
        Requester::Owner => {
            "UPDATE accounts SET \
             owner_asked = CASE WHEN owner_asked_us > $2 THEN owner_asked + 1 ELSE 1 END, \
             owner_asked_us = CASE WHEN owner_asked_us > $2 THEN owner_asked_us ELSE $3 END \
             WHERE id = $1 AND (owner_asked_us IS NULL OR owner_asked_us <= $2 OR owner_asked < $4)"
        }
    };
    let done = sqlx::query(statement)
        .bind(account.0)
        .bind(hour_ago)
        .bind(now)
        .bind(i64::from(requests_max))
        .execute(tx)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Records that the owner was notified of a registration of the address; false if that happened
/// within the last hour.
pub(crate) async fn count_notice(
    tx: &mut AnyConnection,
    account: AccountId,
    hour_ago: Micros,
    now: Micros,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE accounts SET noticed_us = $3 \
         WHERE id = $1 AND (noticed_us IS NULL OR noticed_us <= $2)",
    )
    .bind(account.0)
    .bind(hour_ago)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Sets the password, and activates the account.
pub(crate) async fn activate(
    tx: &mut AnyConnection,
    account: AccountId,
    password: &str,
    now: Micros,
) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE accounts SET password = $2, active_us = COALESCE(active_us, $3) WHERE id = $1",
    )
    .bind(account.0)
    .bind(password)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(())
}

pub(crate) async fn set_password(
    tx: &mut AnyConnection,
    account: AccountId,
    password: &str,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE accounts SET password = $2 WHERE id = $1")
        .bind(account.0)
        .bind(password)
        .execute(tx)
        .await?;
    Ok(())
}

/// # Errors
///
/// A uniqueness violation if another account took the address concurrently.
pub(crate) async fn set_email(
    tx: &mut AnyConnection,
    account: AccountId,
    email: &str,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE accounts SET email = $2 WHERE id = $1")
        .bind(account.0)
        .bind(email)
        .execute(tx)
        .await?;
    Ok(())
}

/// Blocks or unblocks; false if nothing changes.
pub(crate) async fn set_blocked(
    tx: &mut AnyConnection,
    account: AccountId,
    blocked: Option<Micros>,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE accounts SET blocked_us = $2 WHERE id = $1 AND \
         CASE WHEN $3 = 1 THEN blocked_us IS NULL ELSE blocked_us IS NOT NULL END",
    )
    .bind(account.0)
    .bind(blocked)
    .bind(i64::from(blocked.is_some()))
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Anonymises the row, and removes what the account had.
pub(crate) async fn anonymise(
    tx: &mut AnyConnection,
    account: AccountId,
    now: Micros,
) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM addons WHERE account_id = $1")
        .bind(account.0)
        .execute(&mut *tx)
        .await?;
    sqlx::query("UPDATE accounts SET email = NULL, password = NULL, country = NULL, time_zone = NULL, deleted_us = $2 WHERE id = $1")
        .bind(account.0)
        .bind(now)
        .execute(&mut *tx)
        .await?;
    // They are revoked. With a name they stay named keys.
    sqlx::query(
        "UPDATE keys SET name = '', networks = '' WHERE account_id = $1 AND name IS NOT NULL",
    )
    .bind(account.0)
    .execute(tx)
    .await?;
    Ok(())
}

/// Revokes all keys of an account and its grants; returns those that were valid until now.
pub(crate) async fn revoke_all_keys(
    tx: &mut AnyConnection,
    account: AccountId,
    now: Micros,
) -> sqlx::Result<Vec<KeyId>> {
    let keys: Vec<i64> = sqlx::query_scalar(
        "UPDATE keys SET revoked_us = $2 WHERE account_id = $1 AND revoked_us IS NULL RETURNING id",
    )
    .bind(account.0)
    .bind(now)
    .fetch_all(tx)
    .await?;
    Ok(keys.into_iter().map(KeyId).collect())
}

/// All keys of an account and its grants, revoked ones too.
pub(crate) async fn all_key_ids(
    tx: &mut AnyConnection,
    account: AccountId,
) -> sqlx::Result<Vec<KeyId>> {
    let keys: Vec<i64> = sqlx::query_scalar("SELECT id FROM keys WHERE account_id = $1")
        .bind(account.0)
        .fetch_all(tx)
        .await?;
    Ok(keys.into_iter().map(KeyId).collect())
}

/// Whether the account has a valid main key.
pub(crate) async fn has_key(tx: &mut AnyConnection, account: AccountId) -> sqlx::Result<bool> {
    let key: Option<i64> = sqlx::query_scalar(
        "SELECT id FROM keys \
         WHERE account_id = $1 AND revoked_us IS NULL AND is_grant = 0 AND name IS NULL LIMIT 1",
    )
    .bind(account.0)
    .fetch_optional(tx)
    .await?;
    Ok(key.is_some())
}

/// Removes unconfirmed accounts created before `before`, and their links. One that the ledger
/// refers to, or with a valid link, stays.
pub(crate) async fn remove_unconfirmed(
    tx: &mut AnyConnection,
    before: Micros,
    now: Micros,
) -> sqlx::Result<u64> {
    // Locked first: a concurrent change of one of them is then either committed and visible to the
    // second statement, or not yet begun.
    sqlx::query("UPDATE accounts SET id = id WHERE active_us IS NULL AND created_us < $1")
        .bind(before)
        .execute(&mut *tx)
        .await?;
    let done = sqlx::query(
        "DELETE FROM accounts WHERE active_us IS NULL AND created_us < $1 \
         AND NOT EXISTS (SELECT 1 FROM links WHERE links.account_id = accounts.id \
                         AND links.expires_us > $2) \
         AND NOT EXISTS (SELECT 1 FROM ledger WHERE ledger.account_id = accounts.id) \
         AND NOT EXISTS (SELECT 1 FROM orders WHERE orders.account_id = accounts.id)",
    )
    .bind(before)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(done.rows_affected())
}
