//! Where decisions and orders are kept: tables beside the accounts', and all the SQL for them.
//!
//! It decides nothing. Every value is bound, none is written into a statement.

use std::sync::Arc;

use ingest::event::{Id, Micros};
use sqlx::{
    ConnectOptions, FromRow, Row, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnection as Connection, SqliteRow},
};

use super::{
    Binding, Bound, DOUBTS_MAX, Decision, Doubt, Numbered, Order, Place, Remembered, Told,
    decision::pair,
};
use crate::accounts::Accounts;

/// A handle on the tables; clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    pool: SqlitePool,
}

/// A match of a provider as `list` shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub told: Told,
    pub place: Place,
    pub by: String,
    /// Provider and key of what it was found to be.
    pub with: Option<(String, String)>,
}

/// An order that has not been followed.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfollowed {
    pub numbered: Numbered,
    /// Why not; `None` if no hub has taken it up yet.
    pub refused: Option<String>,
}

impl Store {
    /// In the same file as the accounts, whose opening has brought the tables up to date.
    #[must_use]
    pub fn of(accounts: &Accounts) -> Self {
        Self { pool: accounts.pool() }
    }

    /// All that was decided, to begin with.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn load(&self) -> Result<Remembered, sqlx::Error> {
        let bindings = sqlx::query("SELECT * FROM match_bindings ORDER BY own");
        let bindings = bindings.try_map(|row| binding(&row)).fetch_all(&self.pool).await?;
        let pairs = |rows: Vec<(i64, i64)>| {
            rows.into_iter().map(|(one, other)| (id_of(one), id_of(other))).collect()
        };
        let splits = sqlx::query_as("SELECT one, other FROM match_splits");
        let splits = pairs(splits.fetch_all(&self.pool).await?);
        let doubts = sqlx::query_as("SELECT one, other FROM match_doubts ORDER BY id");
        let doubts = pairs(doubts.fetch_all(&self.pool).await?);
        Ok(Remembered { bindings, splits, doubts })
    }

    /// Writes decisions in their order, all or none.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn write(&self, decisions: &[Decision], now: Micros) -> Result<(), sqlx::Error> {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        for decision in decisions {
            write(&mut tx, decision, now).await?;
        }
        if decisions.iter().any(|decision| matches!(decision, Decision::Doubt(_))) {
            drop_oldest_doubts(&mut tx).await?;
        }
        tx.commit().await
    }

    /// Writes down what the operator wants, and gives its number.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn order(&self, order: &Order, now: Micros) -> Result<i64, sqlx::Error> {
        let (kind, provider, key, into, swapped, with) = match order {
            Order::Join { provider, key, into, swapped, with } => {
                ("join", provider, key, Some(number(*into)), *swapped, with.as_ref())
            }
            Order::Split { provider, key } => ("split", provider, key, None, false, None),
        };
        sqlx::query_scalar(
            "INSERT INTO match_orders (kind, provider, key, into_id, swapped, with_provider, \
             with_key, ordered_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
        )
        .bind(kind)
        .bind(provider)
        .bind(key)
        .bind(into)
        .bind(swapped)
        .bind(with.map(|(provider, _)| provider))
        .bind(with.map(|(_, key)| key))
        .bind(now)
        .fetch_one(&self.pool)
        .await
    }

    /// The orders after this number that nobody has taken up, the earliest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn orders_after(&self, number: i64) -> Result<Vec<Numbered>, sqlx::Error> {
        let orders = sqlx::query(
            "SELECT * FROM match_orders WHERE done_us IS NULL AND id > $1 ORDER BY id LIMIT 1000",
        );
        orders.bind(number).try_map(|row| numbered(&row)).fetch_all(&self.pool).await
    }

    /// The latest hundred orders that wait or were refused, the earliest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn unfollowed(&self) -> Result<Vec<Unfollowed>, sqlx::Error> {
        let orders = sqlx::query(
            "SELECT * FROM match_orders WHERE done_us IS NULL OR refused IS NOT NULL \
             ORDER BY id DESC LIMIT 100",
        );
        let unfollowed = |row: SqliteRow| {
            Ok(Unfollowed { numbered: numbered(&row)?, refused: row.try_get("refused")? })
        };
        let mut orders = orders.try_map(unfollowed).fetch_all(&self.pool).await?;
        orders.reverse();
        Ok(orders)
    }

    /// All that goes by another id than its own, match by match.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn bindings(&self) -> Result<Vec<Listed>, sqlx::Error> {
        sqlx::query_as("SELECT * FROM match_bindings ORDER BY match_id, own")
            .fetch_all(&self.pool)
            .await
    }

    /// The doubts that nobody has decided since, the likeliest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn doubts(&self) -> Result<Vec<Doubt>, sqlx::Error> {
        sqlx::query_as(
            "SELECT d.* FROM match_doubts d \
             LEFT JOIN match_bindings a ON a.own = d.one \
             LEFT JOIN match_bindings b ON b.own = d.other \
             WHERE coalesce(a.match_id, d.one) <> coalesce(b.match_id, d.other) \
             AND NOT EXISTS (SELECT 1 FROM match_splits s \
                 WHERE s.one = min(d.one, d.other) AND s.other = max(d.one, d.other)) \
             ORDER BY d.score DESC, d.id DESC",
        )
        .fetch_all(&self.pool)
        .await
    }

    /// Under which match this one is followed, if that is not its own id.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn place(&self, own: Id) -> Result<Option<Place>, sqlx::Error> {
        let row: Option<(i64, bool)> =
            sqlx::query_as("SELECT match_id, swapped FROM match_bindings WHERE own = $1")
                .bind(number(own))
                .fetch_optional(&self.pool)
                .await?;
        Ok(row.map(|(id, swapped)| Place { id: id_of(id), swapped }))
    }

    /// Provider and key of the match of this own id, where they were ever written down.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn key_of(&self, own: Id) -> Result<Option<(String, String)>, sqlx::Error> {
        sqlx::query_as(
            "SELECT provider, key FROM match_bindings WHERE own = $1 \
             UNION ALL SELECT with_provider, with_key FROM match_bindings WHERE with_own = $1 \
             UNION ALL SELECT one_provider, one_key FROM match_doubts WHERE one = $1 \
             UNION ALL SELECT other_provider, other_key FROM match_doubts WHERE other = $1 LIMIT 1",
        )
        .bind(number(own))
        .fetch_optional(&self.pool)
        .await
    }

    /// A connection beside the pool, for who must always be asking the same one.
    pub(super) async fn connect(&self) -> Result<Connection, sqlx::Error> {
        self.pool.connect_options().connect().await
    }
}

async fn write(
    connection: &mut SqliteConnection,
    decision: &Decision,
    now: Micros,
) -> Result<(), sqlx::Error> {
    let query = match decision {
        Decision::Bind(bound) => return bind(connection, bound, now).await,
        Decision::Doubt(doubt) => return doubted(connection, doubt, now).await,
        Decision::Rebind(own, place) => sqlx::query(
            "UPDATE match_bindings SET match_id = $2, swapped = $3, bound_by = 'operator', \
             with_own = NULL, with_provider = NULL, with_key = NULL, bound_us = $4 WHERE own = $1",
        )
        .bind(number(*own))
        .bind(number(place.id))
        .bind(place.swapped)
        .bind(now),
        Decision::Unbind(own) => {
            sqlx::query("DELETE FROM match_bindings WHERE own = $1").bind(number(*own))
        }
        Decision::Split(one, other) => sqlx::query(
            "INSERT INTO match_splits (one, other, split_us) VALUES ($1, $2, $3) \
             ON CONFLICT (one, other) DO NOTHING",
        )
        .bind(number(*one))
        .bind(number(*other))
        .bind(now),
        Decision::Done { order, refused } => {
            sqlx::query("UPDATE match_orders SET done_us = $2, refused = $3 WHERE id = $1")
                .bind(*order)
                .bind(now)
                .bind(*refused)
        }
    };
    query.execute(connection).await.map(|_| ())
}

async fn bind(
    connection: &mut SqliteConnection,
    Bound { told, place, with, by }: &Bound,
    now: Micros,
) -> Result<(), sqlx::Error> {
    let with = with.as_ref();
    sqlx::query(
        "INSERT OR REPLACE INTO match_bindings (own, provider, key, match_id, swapped, bound_by, \
         sides, start, competition, with_own, with_provider, with_key, bound_us) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind(number(told.own))
    .bind(&*told.provider)
    .bind(&*told.key)
    .bind(number(place.id))
    .bind(place.swapped)
    .bind(by.as_str())
    .bind(&told.sides)
    .bind(&told.start)
    .bind(&told.competition)
    .bind(with.map(|with| number(with.own)))
    .bind(with.map(|with| &*with.provider))
    .bind(with.map(|with| &*with.key))
    .bind(now)
    .execute(connection)
    .await
    .map(|_| ())
}

async fn doubted(
    connection: &mut SqliteConnection,
    Doubt { one, other, swapped, score, why }: &Doubt,
    now: Micros,
) -> Result<(), sqlx::Error> {
    // The smaller id first, so that the pair is there once.
    let [one, other] =
        if pair(one.own, other.own).0 == one.own { [one, other] } else { [other, one] };
    let mut query = sqlx::query(
        "INSERT OR REPLACE INTO match_doubts (one, other, swapped, score, why, doubted_us, \
         one_provider, one_key, one_sides, one_start, one_competition, \
         other_provider, other_key, other_sides, other_start, other_competition) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
    )
    .bind(number(one.own))
    .bind(number(other.own))
    .bind(*swapped)
    .bind(*score)
    .bind(why)
    .bind(now);
    for told in [one, other] {
        query = query
            .bind(&*told.provider)
            .bind(&*told.key)
            .bind(&told.sides)
            .bind(&told.start)
            .bind(&told.competition);
    }
    query.execute(connection).await.map(|_| ())
}

async fn drop_oldest_doubts(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query(
        "DELETE FROM match_doubts WHERE id <= \
         (SELECT id FROM match_doubts ORDER BY id DESC LIMIT 1 OFFSET $1)",
    )
    .bind(i64::try_from(DOUBTS_MAX).unwrap_or(i64::MAX))
    .execute(connection)
    .await
    .map(|_| ())
}

/// An id has 52 bits, so it fits.
fn number(id: Id) -> i64 {
    id.0.cast_signed()
}

fn id_of(number: i64) -> Id {
    Id(number.cast_unsigned())
}

fn binding(row: &SqliteRow) -> Result<Binding, sqlx::Error> {
    let with_own: Option<i64> = row.try_get("with_own")?;
    let with_provider: Option<String> = row.try_get("with_provider")?;
    let with = with_own.map(id_of).zip(with_provider.map(Arc::from));
    let provider: String = row.try_get("provider")?;
    Ok(Binding {
        own: id_of(row.try_get("own")?),
        provider: provider.into(),
        place: place(row)?,
        with,
    })
}

fn place(row: &SqliteRow) -> Result<Place, sqlx::Error> {
    Ok(Place { id: id_of(row.try_get("match_id")?), swapped: row.try_get("swapped")? })
}

fn numbered(row: &SqliteRow) -> Result<Numbered, sqlx::Error> {
    let (provider, key) = (row.try_get("provider")?, row.try_get("key")?);
    let into: Option<i64> = row.try_get("into_id")?;
    let order = match into.map(id_of) {
        Some(into) => {
            let with_provider: Option<String> = row.try_get("with_provider")?;
            let with = with_provider.zip(row.try_get("with_key")?);
            Order::Join { provider, key, into, swapped: row.try_get("swapped")?, with }
        }
        None => Order::Split { provider, key },
    };
    Ok(Numbered { number: row.try_get("id")?, order })
}

impl FromRow<'_, SqliteRow> for Listed {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let with_provider: Option<String> = row.try_get("with_provider")?;
        let with_key: Option<String> = row.try_get("with_key")?;
        Ok(Self {
            told: told(row, "own", "")?,
            place: place(row)?,
            by: row.try_get("bound_by")?,
            with: with_provider.zip(with_key),
        })
    }
}

impl FromRow<'_, SqliteRow> for Doubt {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            one: told(row, "one", "one_")?,
            other: told(row, "other", "other_")?,
            swapped: row.try_get("swapped")?,
            score: row.try_get("score")?,
            why: row.try_get("why")?,
        })
    }
}

fn told(row: &SqliteRow, own: &str, prefix: &str) -> Result<Told, sqlx::Error> {
    let text = |name: &str| row.try_get::<String, _>(format!("{prefix}{name}").as_str());
    Ok(Told {
        own: id_of(row.try_get(own)?),
        provider: text("provider")?.into(),
        key: text("key")?.into(),
        sides: text("sides")?,
        start: text("start")?,
        competition: text("competition")?,
    })
}

#[cfg(test)]
mod tests;
