//! The stored administrators.

use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::AccountStore;
use crate::accounts::{AdminId, Micros};

/// A stored administrator.
#[derive(Debug)]
pub(crate) struct StoredAdmin {
    pub(crate) id: AdminId,
    pub(crate) name: String,
    /// Argon2id, in PHC form.
    pub(crate) password: String,
    pub(crate) created: Micros,
}

impl FromRow<'_, AnyRow> for StoredAdmin {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: AdminId(row.try_get("id")?),
            name: row.try_get("name")?,
            password: row.try_get("password")?,
            created: row.try_get("created_us")?,
        })
    }
}

impl AccountStore {
    /// False if the name is taken.
    pub(crate) async fn insert_admin(
        &self,
        name: &str,
        password: &str,
        now: Micros,
    ) -> sqlx::Result<bool> {
        let done = sqlx::query(
            "INSERT INTO admins (name, password, created_us) VALUES ($1, $2, $3) \
             ON CONFLICT (name) DO NOTHING",
        )
        .bind(name)
        .bind(password)
        .bind(now)
        .execute(self.database.pool())
        .await?;
        Ok(done.rows_affected() == 1)
    }

    pub(crate) async fn admin_by_name(&self, name: &str) -> sqlx::Result<Option<StoredAdmin>> {
        sqlx::query_as("SELECT * FROM admins WHERE name = $1")
            .bind(name)
            .fetch_optional(self.database.pool())
            .await
    }

    pub(crate) async fn all_admins(&self) -> sqlx::Result<Vec<StoredAdmin>> {
        sqlx::query_as("SELECT * FROM admins ORDER BY name").fetch_all(self.database.pool()).await
    }

    /// False if there was none. Its sessions are removed too.
    pub(crate) async fn remove_admin(&self, name: &str) -> sqlx::Result<bool> {
        let done = sqlx::query("DELETE FROM admins WHERE name = $1")
            .bind(name)
            .execute(self.database.pool())
            .await?;
        Ok(done.rows_affected() == 1)
    }
}

/// Reads an administrator and locks the row until the transaction ends.
pub(crate) async fn lock_admin(
    tx: &mut AnyConnection,
    admin: AdminId,
) -> sqlx::Result<Option<StoredAdmin>> {
    sqlx::query_as("UPDATE admins SET id = id WHERE id = $1 RETURNING *")
        .bind(admin.0)
        .fetch_optional(tx)
        .await
}

pub(crate) async fn set_admin_password(
    tx: &mut AnyConnection,
    admin: AdminId,
    password: &str,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE admins SET password = $2 WHERE id = $1")
        .bind(admin.0)
        .bind(password)
        .execute(tx)
        .await?;
    Ok(())
}
