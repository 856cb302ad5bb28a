//! The tables of decisions and orders, and all the SQL for them.
//!
//! It makes no decisions. Every value is bound, none is written into a statement.

use std::sync::Arc;

use facts::event::{Id, Micros};
use sqlx::{AnyConnection, FromRow, Row, any::AnyRow};

use super::{
    Alias, Binding, CompetitionsOrder, DOUBTS_MAX, DecidedRelation, Decision, Doubt,
    MatchDescription, MatchMapping, MatchOrder, NewBinding, NumberedOrder, ProviderCompetition,
    StoredDecisions, decision::pair,
};
use database::Database;

/// The kind of an order that takes back what was said of two competitions.
const UNDO: &str = "undo";

/// A handle on the tables; clones share it.
#[derive(Debug, Clone)]
pub struct IdentityStore {
    database: Database,
}

/// A bound match as shown by `list`.
#[derive(Debug, Clone, PartialEq)]
pub struct BindingRow {
    pub description: MatchDescription,
    pub mapping: MatchMapping,
    pub by: String,
    /// Provider and key of the match that it was joined with.
    pub with: Option<(String, String)>,
}

/// An order that is pending or was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingOrder {
    pub numbered: NumberedOrder,
    /// The reason of a refusal; `None` if no hub has processed it yet.
    pub refused: Option<String>,
}

impl IdentityStore {
    #[must_use]
    pub fn new(database: &Database) -> Self {
        Self { database: database.clone() }
    }

    /// Loads all decisions.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn load(&self) -> sqlx::Result<StoredDecisions> {
        let bindings = sqlx::query("SELECT * FROM match_bindings ORDER BY own");
        let bindings =
            bindings.try_map(|row| binding(&row)).fetch_all(self.database.pool()).await?;
        let pairs = |rows: Vec<(i64, i64)>| {
            rows.into_iter().map(|(one, other)| (id_of(one), id_of(other))).collect()
        };
        let splits = sqlx::query_as("SELECT one, other FROM match_splits");
        let splits = pairs(splits.fetch_all(self.database.pool()).await?);
        let doubts = sqlx::query_as("SELECT one, other FROM match_doubts ORDER BY id");
        let doubts = pairs(doubts.fetch_all(self.database.pool()).await?);
        let competitions = self.competitions().await?;
        let competitions = competitions.iter().filter_map(|row| Some((row.pair(), row.relation?)));
        Ok(StoredDecisions { bindings, splits, competitions: competitions.collect(), doubts })
    }

    /// Writes decisions in order, in one transaction.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn write(&self, decisions: &[Decision], now: Micros) -> sqlx::Result<()> {
        let mut tx = self.database.begin().await?;
        for decision in decisions {
            write(&mut tx, decision, now).await?;
        }
        if decisions.iter().any(|decision| matches!(decision, Decision::Doubt(_))) {
            drop_oldest_doubts(&mut tx).await?;
        }
        tx.commit().await
    }

    /// Stores an order, and returns its number.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn order(&self, order: &MatchOrder, now: Micros) -> sqlx::Result<i64> {
        let (kind, provider, key, into, swapped, with) = match order {
            MatchOrder::Join { provider, key, into, swapped, with } => {
                ("join", provider, key, Some(number(*into)), *swapped, with.as_ref())
            }
            MatchOrder::Split { provider, key } => ("split", provider, key, None, false, None),
            MatchOrder::Competitions(order) => return self.order_competitions(order, now).await,
        };
        sqlx::query_scalar(
            "INSERT INTO match_orders (kind, provider, key, into_id, swapped, with_provider, \
             with_key, ordered_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
        )
        .bind(kind)
        .bind(provider)
        .bind(key)
        .bind(into)
        .bind(i64::from(swapped))
        .bind(with.map(|(provider, _)| provider))
        .bind(with.map(|(_, key)| key))
        .bind(now)
        .fetch_one(self.database.pool())
        .await
    }

    async fn order_competitions(
        &self,
        CompetitionsOrder { one, other, relation }: &CompetitionsOrder,
        now: Micros,
    ) -> sqlx::Result<i64> {
        sqlx::query_scalar(
            "INSERT INTO match_orders (kind, provider, key, competition_id, swapped, \
             with_provider, with_key, with_competition_id, ordered_us) \
             VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8) RETURNING id",
        )
        .bind(relation.map_or(UNDO, DecidedRelation::as_str))
        .bind(&one.provider)
        .bind(&one.name)
        .bind(number(one.id))
        .bind(&other.provider)
        .bind(&other.name)
        .bind(number(other.id))
        .bind(now)
        .fetch_one(self.database.pool())
        .await
    }

    /// What the operator said of competitions, the latest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn competitions(&self) -> sqlx::Result<Vec<CompetitionsOrder>> {
        let rows =
            sqlx::query("SELECT * FROM match_competitions ORDER BY decided_us DESC, one, other");
        let read = |row: AnyRow| {
            let competition = |id: &str, prefix: &str| {
                Ok::<_, sqlx::Error>(ProviderCompetition {
                    id: id_of(row.try_get(id)?),
                    provider: row.try_get(format!("{prefix}_provider").as_str())?,
                    name: row.try_get(format!("{prefix}_name").as_str())?,
                })
            };
            let relation = DecidedRelation::from_word(row.try_get("decision")?);
            let (one, other) = (competition("one", "one")?, competition("other", "other")?);
            Ok(CompetitionsOrder { one, other, relation })
        };
        rows.try_map(read).fetch_all(self.database.pool()).await
    }

    /// The unprocessed orders after this number, the earliest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn orders_after(&self, number: i64) -> sqlx::Result<Vec<NumberedOrder>> {
        let orders = sqlx::query(
            "SELECT * FROM match_orders WHERE done_us IS NULL AND id > $1 ORDER BY id LIMIT 1000",
        );
        orders.bind(number).try_map(|row| numbered(&row)).fetch_all(self.database.pool()).await
    }

    /// The latest hundred pending or refused orders, the earliest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn unfollowed(&self) -> sqlx::Result<Vec<PendingOrder>> {
        let orders = sqlx::query(
            "SELECT * FROM match_orders WHERE done_us IS NULL OR refused IS NOT NULL \
             ORDER BY id DESC LIMIT 100",
        );
        let unfollowed = |row: AnyRow| {
            Ok(PendingOrder { numbered: numbered(&row)?, refused: row.try_get("refused")? })
        };
        let mut orders = orders.try_map(unfollowed).fetch_all(self.database.pool()).await?;
        orders.reverse();
        Ok(orders)
    }

    /// All matches that are mapped to another id than their local one, by match.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn bindings(&self) -> sqlx::Result<Vec<BindingRow>> {
        sqlx::query_as("SELECT * FROM match_bindings ORDER BY match_id, own")
            .fetch_all(self.database.pool())
            .await
    }

    /// So many of the matches that were last mapped to another id than their local one, the latest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn last_bindings(&self, limit: u32) -> sqlx::Result<Vec<BindingRow>> {
        let query = "SELECT * FROM match_bindings ORDER BY bound_us DESC, own LIMIT $1";
        let rows = sqlx::query_as(query).bind(i64::from(limit));
        rows.fetch_all(self.database.pool()).await
    }

    /// The open doubts, the likeliest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn doubts(&self) -> sqlx::Result<Vec<Doubt>> {
        self.likeliest_doubts(u32::MAX).await
    }

    /// So many of the open doubts, the likeliest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn likeliest_doubts(&self, limit: u32) -> sqlx::Result<Vec<Doubt>> {
        sqlx::query_as(
            "SELECT d.* FROM match_doubts d \
             LEFT JOIN match_bindings a ON a.own = d.one \
             LEFT JOIN match_bindings b ON b.own = d.other \
             WHERE coalesce(a.match_id, d.one) <> coalesce(b.match_id, d.other) \
             AND NOT EXISTS (SELECT 1 FROM match_splits s \
                 WHERE s.one = d.one AND s.other = d.other) \
             AND NOT EXISTS (SELECT 1 FROM match_competitions c \
                 WHERE (c.one = d.one_competition_id AND c.other = d.other_competition_id \
                     OR c.one = d.other_competition_id AND c.other = d.one_competition_id) \
                 AND (c.decision = 'apart' OR d.doubted_us < c.decided_us)) \
             ORDER BY d.score DESC, d.id DESC LIMIT $1",
        )
        .bind(i64::from(limit))
        .fetch_all(self.database.pool())
        .await
    }

    /// The mapping of a match, unless it is mapped to its local id.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn mapping(&self, local_id: Id) -> sqlx::Result<Option<MatchMapping>> {
        let row: Option<(i64, i64)> =
            sqlx::query_as("SELECT match_id, swapped FROM match_bindings WHERE own = $1")
                .bind(number(local_id))
                .fetch_optional(self.database.pool())
                .await?;
        Ok(row.map(|(id, swapped)| MatchMapping { id: id_of(id), swapped: swapped != 0 }))
    }

    /// Provider and key of the match of this local id, if they were ever stored.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn key_of(&self, local_id: Id) -> sqlx::Result<Option<(String, String)>> {
        sqlx::query_as(
            "SELECT provider, key FROM match_bindings WHERE own = $1 \
             UNION ALL SELECT with_provider, with_key FROM match_bindings WHERE with_own = $1 \
             UNION ALL SELECT one_provider, one_key FROM match_doubts WHERE one = $1 \
             UNION ALL SELECT other_provider, other_key FROM match_doubts WHERE other = $1 LIMIT 1",
        )
        .bind(number(local_id))
        .fetch_optional(self.database.pool())
        .await
    }

    /// The database of the tables.
    pub(super) fn database(&self) -> &Database {
        &self.database
    }
}

async fn write(
    connection: &mut AnyConnection,
    decision: &Decision,
    now: Micros,
) -> sqlx::Result<()> {
    let query = match decision {
        Decision::Bind(bound) => return bind(connection, bound, now).await,
        Decision::Doubt(doubt) => return doubted(connection, doubt, now).await,
        Decision::Competitions(order) => return decided(connection, order, now).await,
        Decision::Rebind(local_id, mapping) => sqlx::query(
            "UPDATE match_bindings SET match_id = $2, swapped = $3, bound_by = 'operator', \
             with_own = NULL, with_provider = NULL, with_key = NULL, bound_us = $4, \
             aliases = '[]' WHERE own = $1",
        )
        .bind(number(*local_id))
        .bind(number(mapping.id))
        .bind(i64::from(mapping.swapped))
        .bind(now),
        Decision::Unbind(local_id) => {
            sqlx::query("DELETE FROM match_bindings WHERE own = $1").bind(number(*local_id))
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
    connection: &mut AnyConnection,
    NewBinding { description, mapping, with, by, aliases }: &NewBinding,
    now: Micros,
) -> sqlx::Result<()> {
    let with = with.as_ref();
    sqlx::query(
        "INSERT INTO match_bindings (own, provider, key, match_id, swapped, bound_by, \
         sides, start, competition, with_own, with_provider, with_key, bound_us, aliases) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) \
         ON CONFLICT (own) DO UPDATE SET provider = $2, key = $3, match_id = $4, swapped = $5, \
         bound_by = $6, sides = $7, start = $8, competition = $9, with_own = $10, \
         with_provider = $11, with_key = $12, bound_us = $13, aliases = $14",
    )
    .bind(number(description.id))
    .bind(&*description.provider)
    .bind(&*description.key)
    .bind(number(mapping.id))
    .bind(i64::from(mapping.swapped))
    .bind(by.as_str())
    .bind(&description.sides)
    .bind(&description.start)
    .bind(&description.competition)
    .bind(with.map(|with| number(with.id)))
    .bind(with.map(|with| &*with.provider))
    .bind(with.map(|with| &*with.key))
    .bind(now)
    .bind(pairs_text(aliases))
    .execute(connection)
    .await
    .map(|_| ())
}

async fn doubted(
    connection: &mut AnyConnection,
    Doubt { one, other, swapped, score, why }: &Doubt,
    now: Micros,
) -> sqlx::Result<()> {
    // The smaller id first, so that the pair is there once.
    let [one, other] = if pair(one.id, other.id).0 == one.id { [one, other] } else { [other, one] };
    // Not updated in place: a recurring doubt counts as new, and goes last.
    sqlx::query("DELETE FROM match_doubts WHERE one = $1 AND other = $2")
        .bind(number(one.id))
        .bind(number(other.id))
        .execute(&mut *connection)
        .await?;
    let mut query = sqlx::query(
        "INSERT INTO match_doubts (one, other, swapped, score, why, doubted_us, \
         one_provider, one_key, one_sides, one_start, one_competition, \
         one_competition_id, other_provider, other_key, other_sides, other_start, \
         other_competition, other_competition_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, \
         $11, $12, $13, $14, $15, $16, $17, $18)",
    )
    .bind(number(one.id))
    .bind(number(other.id))
    .bind(i64::from(*swapped))
    .bind(*score)
    .bind(why)
    .bind(now);
    for description in [one, other] {
        query = query
            .bind(&*description.provider)
            .bind(&*description.key)
            .bind(&description.sides)
            .bind(&description.start)
            .bind(&description.competition)
            .bind(description.competition_id.map(number));
    }
    query.execute(connection).await.map(|_| ())
}

async fn decided(
    connection: &mut AnyConnection,
    order: &CompetitionsOrder,
    now: Micros,
) -> sqlx::Result<()> {
    // The smaller id first, as the pair is looked up.
    let (low, high) = order.pair();
    sqlx::query("DELETE FROM match_competitions WHERE one = $1 AND other = $2")
        .bind(number(low))
        .bind(number(high))
        .execute(&mut *connection)
        .await?;
    let Some(relation) = order.relation else { return Ok(()) };
    let in_order = order.one.id == low;
    let [one, other] =
        if in_order { [&order.one, &order.other] } else { [&order.other, &order.one] };
    sqlx::query(
        "INSERT INTO match_competitions (one, other, one_provider, one_name, other_provider, \
         other_name, decision, decided_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(number(low))
    .bind(number(high))
    .bind(&one.provider)
    .bind(&one.name)
    .bind(&other.provider)
    .bind(&other.name)
    .bind(relation.as_str())
    .bind(now)
    .execute(connection)
    .await
    .map(|_| ())
}

async fn drop_oldest_doubts(connection: &mut AnyConnection) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM match_doubts WHERE id <= \
         (SELECT id FROM match_doubts ORDER BY id DESC LIMIT 1 OFFSET $1)",
    )
    .bind(i64::try_from(DOUBTS_MAX).unwrap_or(i64::MAX))
    .execute(connection)
    .await
    .map(|_| ())
}

/// Pairs of ids as JSON: `[[1,2],[3,4]]`.
fn pairs_text(aliases: &[Alias]) -> String {
    let pairs: Vec<[u64; 2]> = aliases.iter().map(|(local, shown)| [local.0, shown.0]).collect();
    serde_json::to_string(&pairs).expect("numbers are JSON")
}

fn pairs_of(text: &str) -> sqlx::Result<Vec<Alias>> {
    let pairs: Vec<[u64; 2]> =
        serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    Ok(pairs.into_iter().map(|[local, shown]| (Id(local), Id(shown))).collect())
}

/// An id has 31 bits.
fn number(id: Id) -> i64 {
    id.0.cast_signed()
}

fn id_of(number: i64) -> Id {
    Id(number.cast_unsigned())
}

fn binding(row: &AnyRow) -> sqlx::Result<Binding> {
    let with_own: Option<i64> = row.try_get("with_own")?;
    let with_provider: Option<String> = row.try_get("with_provider")?;
    let with = with_own.map(id_of).zip(with_provider.map(Arc::from));
    let provider: String = row.try_get("provider")?;
    Ok(Binding {
        local_id: id_of(row.try_get("own")?),
        provider: provider.into(),
        mapping: mapping(row)?,
        with,
        aliases: pairs_of(&row.try_get::<String, _>("aliases")?)?,
    })
}

/// Whether it has the sides in the other order.
fn flag(row: &AnyRow) -> sqlx::Result<bool> {
    Ok(row.try_get::<i64, _>("swapped")? != 0)
}

fn mapping(row: &AnyRow) -> sqlx::Result<MatchMapping> {
    Ok(MatchMapping { id: id_of(row.try_get("match_id")?), swapped: flag(row)? })
}

fn numbered(row: &AnyRow) -> sqlx::Result<NumberedOrder> {
    let number = row.try_get("id")?;
    let (provider, key) = (row.try_get("provider")?, row.try_get("key")?);
    if let Some(id) = row.try_get::<Option<i64>, _>("competition_id")? {
        let one = ProviderCompetition { id: id_of(id), provider, name: key };
        let other = ProviderCompetition {
            id: id_of(row.try_get("with_competition_id")?),
            provider: row.try_get("with_provider")?,
            name: row.try_get("with_key")?,
        };
        let relation = DecidedRelation::from_word(row.try_get("kind")?);
        let order = MatchOrder::Competitions(Box::new(CompetitionsOrder { one, other, relation }));
        return Ok(NumberedOrder { number, order });
    }
    let into: Option<i64> = row.try_get("into_id")?;
    let order = match into.map(id_of) {
        Some(into) => {
            let with_provider: Option<String> = row.try_get("with_provider")?;
            let with = with_provider.zip(row.try_get("with_key")?);
            MatchOrder::Join { provider, key, into, swapped: flag(row)?, with }
        }
        None => MatchOrder::Split { provider, key },
    };
    Ok(NumberedOrder { number, order })
}

impl FromRow<'_, AnyRow> for BindingRow {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        let with_provider: Option<String> = row.try_get("with_provider")?;
        let with_key: Option<String> = row.try_get("with_key")?;
        Ok(Self {
            description: description(row, "own", "")?,
            mapping: mapping(row)?,
            by: row.try_get("bound_by")?,
            with: with_provider.zip(with_key),
        })
    }
}

impl FromRow<'_, AnyRow> for Doubt {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        Ok(Self {
            one: description(row, "one", "one_")?,
            other: description(row, "other", "other_")?,
            swapped: flag(row)?,
            score: row.try_get("score")?,
            why: row.try_get("why")?,
        })
    }
}

fn description(row: &AnyRow, column: &str, prefix: &str) -> sqlx::Result<MatchDescription> {
    let text = |name: &str| row.try_get::<String, _>(format!("{prefix}{name}").as_str());
    Ok(MatchDescription {
        id: id_of(row.try_get(column)?),
        provider: text("provider")?.into(),
        key: text("key")?.into(),
        sides: text("sides")?,
        start: text("start")?,
        competition: text("competition")?,
        // Bindings do not have it.
        competition_id: row
            .try_get::<Option<i64>, _>(format!("{prefix}competition_id").as_str())
            .ok()
            .flatten()
            .map(id_of),
    })
}

#[cfg(test)]
mod tests;
