//! The tables of the archive, and all the SQL for them. Every value is bound.
//!
//! The statements of the worker have a time limit each, and so have those that it shares with requests: if the machine of
//! PostgreSQL vanishes, it fails and tries again. A whole transaction has none, since it may write any number of prices.

mod appearances;
mod deletion;
mod numbers;
mod odds;
mod pack;
mod statement;
mod trail;

use std::{collections::HashMap, sync::Arc};

use base::Micros;
use facts::event::Sport;
use serde::de::DeserializeOwned;
use sqlx::{AnyConnection, AssertSqlSafe, Row, any::AnyRow};

#[cfg(test)]
pub(super) use self::odds::put_rows;
pub(super) use self::pack::compressed;
use self::statement::{Conditions, Statement, id_array, ids_in, whole};
use super::{
    entity::{Entity, EntityKind},
    write_cache::PendingRows,
};
use crate::match_query::Window;
use database::{Database, STATEMENT_MAX, SharedPool, WriteBudget, within};
use record::{Key, MatchRecord, MatchSummary};

#[derive(Debug, Clone)]
pub(super) struct ArchiveStore {
    database: Database,
}

impl ArchiveStore {
    pub(super) fn new(database: &Database) -> Self {
        Self { database: database.clone() }
    }

    pub(super) fn pool(&self) -> &SharedPool {
        self.database.pool()
    }

    /// The term in which this node of a cluster leads, if it does.
    pub(super) fn term(&self) -> Option<u64> {
        self.database.term()
    }

    /// Stores that term. From then on no node that led before can write.
    pub(super) async fn store_term(&self) -> sqlx::Result<()> {
        within(STATEMENT_MAX, self.database.store_term()).await
    }

    pub(super) async fn yield_to_writers(&self) {
        self.database.yield_to_writers().await;
    }

    /// The number of the last write.
    pub(super) async fn last_change(&self) -> sqlx::Result<i64> {
        let change = sqlx::query_scalar("SELECT change FROM archive_counter WHERE id = 1");
        within(STATEMENT_MAX, change.fetch_one(self.database.pool())).await
    }

    pub(super) async fn summaries(&self) -> sqlx::Result<Vec<MatchSummary>> {
        let summaries = sqlx::query("SELECT packed_summary FROM archive_matches");
        summaries.try_map(|row| summary(&row)).fetch_all(self.database.pool()).await
    }

    /// Those of the writes after this one.
    pub(super) async fn newer_than(&self, change: i64) -> sqlx::Result<Vec<MatchSummary>> {
        let summaries = "SELECT packed_summary FROM archive_matches WHERE change > $1";
        let summaries = sqlx::query(summaries).bind(change);
        summaries.try_map(|row| summary(&row)).fetch_all(self.database.pool()).await
    }

    pub(super) async fn entities(&self) -> sqlx::Result<Vec<Entity>> {
        self.entities_since(0).await
    }

    /// Those of the writes after this one.
    pub(super) async fn entities_since(&self, change: i64) -> sqlx::Result<Vec<Entity>> {
        let entities = sqlx::query("SELECT * FROM archive_entities WHERE change > $1").bind(change);
        entities.try_map(|row| entity(&row)).fetch_all(self.database.pool()).await
    }

    /// The records without their detail, in this order; unknown ones are left out.
    pub(super) async fn records_without_detail(
        &self,
        ids: &[Key],
    ) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        self.read(ids, "id, packed_summary, packed_outline", outline).await
    }

    /// The records in this order; unknown ones are left out.
    pub(super) async fn records(&self, ids: &[Key]) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        // Not `*`: PostgreSQL refuses a prepared `*` once a migration has added a column.
        let columns = "id, packed_summary, packed_outline, packed_detail";
        self.read(ids, columns, |row| {
            let mut record = outline(row)?;
            record.complete(document(row, "packed_detail")?);
            Ok(record)
        })
        .await
    }

    /// The rows of a [`packed`](statement::packed) query, each made of an array of its columns.
    async fn unpacked<R: DeserializeOwned>(
        &self,
        query: Statement<'_>,
    ) -> sqlx::Result<impl Iterator<Item = R> + use<R>> {
        let found = within(STATEMENT_MAX, query.fetch_one(self.database.pool())).await?;
        json::<Vec<R>>(&found, "packed").map(Vec::into_iter)
    }

    /// The rows of a table that satisfy these conditions, in this order and window.
    async fn page<R: DeserializeOwned>(
        &self,
        columns: &str,
        table: &str,
        conditions: &Conditions,
        order: &str,
        window: Window,
    ) -> sqlx::Result<impl Iterator<Item = R> + use<R>> {
        let bound = conditions.count();
        let rows = format!(
            "FROM {table} {} ORDER BY {order} LIMIT ${} OFFSET ${}",
            conditions.text_of_all(),
            bound + 1,
            bound + 2
        );
        let rows = statement::packed(self.database.is_sqlite(), columns, &rows);
        let rows = conditions.bind(sqlx::query(AssertSqlSafe(rows)));
        self.unpacked(rows.bind(whole(window.limit)).bind(whole(window.offset))).await
    }

    /// The rows of a table that have one of these ids in this column; `rest` is the end of the query.
    async fn rows_with<R: DeserializeOwned>(
        &self,
        columns: &str,
        table: &str,
        (column, ids): (&str, &[Key]),
        rest: &str,
    ) -> sqlx::Result<Vec<R>> {
        let mut all = Vec::new();
        for chunk in ids.chunks(statement::IDS_MAX) {
            let wanted = ids_in(self.database.is_sqlite(), "$1");
            let rows = format!("FROM {table} WHERE {column} IN {wanted} {rest}");
            let rows = statement::packed(self.database.is_sqlite(), columns, &rows);
            let rows = sqlx::query(AssertSqlSafe(rows)).bind(id_array(chunk));
            all.extend(self.unpacked(rows).await?);
        }
        Ok(all)
    }

    /// The number of rows of a table that satisfy these conditions.
    async fn count(&self, table: &str, conditions: &Conditions) -> sqlx::Result<usize> {
        let count = format!("SELECT count(*) AS n FROM {table} {}", conditions.text_of_all());
        let count = conditions.bind(sqlx::query(AssertSqlSafe(count)));
        let count: i64 = count.fetch_one(self.database.pool()).await?.try_get("n")?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Sorts matches as SQLite stores them, so that those that are written in one transaction share pages; new ones are the last.
    pub(super) async fn sort_as_stored(
        &self,
        records: &mut [Arc<MatchRecord>],
    ) -> sqlx::Result<()> {
        // Writers of PostgreSQL, who do not wait for one another, need one order.
        if !self.database.is_sqlite() {
            return Ok(());
        }
        let ids: Vec<Key> = records.iter().map(|record| record.summary.id).collect();
        let rows = self.rows_with::<(Key, i64)>("id, rowid", "archive_matches", ("id", &ids), "");
        let rows: HashMap<Key, i64> = rows.await?.into_iter().collect();
        records.sort_by_key(|record| rows.get(&record.summary.id).copied().unwrap_or(i64::MAX));
        Ok(())
    }

    async fn read(
        &self,
        ids: &[Key],
        columns: &'static str,
        record: impl Fn(&AnyRow) -> sqlx::Result<MatchRecord> + Copy + Send,
    ) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        let mut found = HashMap::with_capacity(ids.len());
        for chunk in ids.chunks(statement::IDS_MAX) {
            let wanted = ids_in(self.database.is_sqlite(), "$1");
            let rows = format!("SELECT {columns} FROM archive_matches WHERE id IN {wanted}");
            let rows = sqlx::query(AssertSqlSafe(rows)).bind(id_array(chunk));
            let rows = rows.try_map(move |row: AnyRow| {
                Ok((unsigned(row.try_get("id")?), Arc::new(record(&row)?)))
            });
            found.extend(within(STATEMENT_MAX, rows.fetch_all(self.database.pool())).await?);
        }
        Ok(ids.iter().filter_map(|id| found.get(id).map(Arc::clone)).collect())
    }

    /// Writes everything and returns the number of the write: matches and their entities in one
    /// transaction, then prices and players in as many as necessary. If it fails, any number of these
    /// may be committed, and they have to be written again.
    pub(super) async fn put(
        &self,
        write: &Write<'_>,
        pace: &mut WriteBudget,
        now: Micros,
    ) -> sqlx::Result<i64> {
        // Before the transaction, because serialising takes longer than writing.
        let records = write.records.iter().map(|record| RecordRow::from_record(record));
        let records = records.collect::<Result<Vec<_>, _>>()?;
        let mut steps = self.database.batch_writer(pace);
        let connection = steps.next().await?;
        let change = next_change(connection).await?;
        for entity in write.entities {
            put_entity(connection, entity, change).await?;
        }
        for record in records {
            put_match(connection, record, now, change).await?;
        }
        odds::put_bookmakers(connection, write.bookmakers, change).await?;
        odds::put_prices(&mut steps, &write.entries.prices, &write.entries.ticks).await?;
        appearances::remove(&mut steps, &write.entries.gone).await?;
        appearances::put(&mut steps, &write.entries.appearances).await?;
        steps.finish().await?;
        Ok(change)
    }
}

/// The contents of one write.
#[derive(Debug)]
pub(super) struct Write<'a> {
    pub(super) records: &'a [Arc<MatchRecord>],
    pub(super) entities: &'a [Entity],
    pub(super) bookmakers: &'a [Arc<str>],
    pub(super) entries: &'a PendingRows,
}

/// Increments the counter, which blocks all other writers until this transaction commits.
async fn next_change(connection: &mut AnyConnection) -> sqlx::Result<i64> {
    let next = "UPDATE archive_counter SET change = change + 1 WHERE id = 1 RETURNING change";
    within(STATEMENT_MAX, sqlx::query_scalar(next).fetch_one(connection)).await
}

/// A match in the form in which it is written.
struct RecordRow<'a> {
    summary: &'a MatchSummary,
    status: String,
    /// The summary, the outline and the detail.
    packed: [Vec<u8>; 3],
}

impl<'a> RecordRow<'a> {
    fn from_record(record: &'a MatchRecord) -> sqlx::Result<Self> {
        let summary = &record.summary;
        let status = serde_json::to_value(summary.status).map_err(encode)?;
        let (outline, detail) = record.split();
        Ok(Self {
            summary,
            status: status.as_str().unwrap_or_default().to_owned(),
            packed: [compressed(&**summary)?, compressed(&outline)?, compressed(&detail)?],
        })
    }
}

async fn put_match(
    connection: &mut AnyConnection,
    RecordRow { summary, status, packed: [packed_summary, outline, detail] }: RecordRow<'_>,
    now: Micros,
    change: i64,
) -> sqlx::Result<()> {
    let put = sqlx::query(
        "INSERT INTO archive_matches (id, sport, start_us, status, packed_summary, packed_outline,
             packed_detail, seen_us, change)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (id) DO UPDATE SET sport = excluded.sport, start_us = excluded.start_us,
             status = excluded.status, packed_summary = excluded.packed_summary,
             packed_outline = excluded.packed_outline, packed_detail = excluded.packed_detail,
             seen_us = excluded.seen_us, change = excluded.change",
    )
    .bind(signed(summary.id))
    .bind(summary.sport.as_str())
    .bind(summary.start)
    .bind(status)
    .bind(packed_summary)
    .bind(outline)
    .bind(detail)
    .bind(now)
    .bind(change);
    within(STATEMENT_MAX, put.execute(connection)).await?;
    Ok(())
}

async fn put_entity(
    connection: &mut AnyConnection,
    entity: &Entity,
    change: i64,
) -> sqlx::Result<()> {
    let put = sqlx::query(
        "INSERT INTO archive_entities (kind, id, sport, name, parent, country, about, change)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (kind, id) DO UPDATE SET sport = excluded.sport, name = excluded.name,
             parent = excluded.parent, country = excluded.country, about = excluded.about,
             change = excluded.change",
    )
    .bind(entity.kind.as_str())
    .bind(signed(entity.id))
    .bind(entity.sport.as_str())
    .bind(entity.name.to_string())
    .bind(entity.parent.map(signed))
    .bind(entity.country.as_ref().map(|country| country.to_string()))
    .bind(serde_json::to_string(&entity.about).map_err(encode)?)
    .bind(change);
    within(STATEMENT_MAX, put.execute(connection)).await?;
    Ok(())
}

fn entity(row: &AnyRow) -> sqlx::Result<Entity> {
    let (kind, sport): (String, String) = (row.try_get("kind")?, row.try_get("sport")?);
    let kinds = EntityKind::ALL.into_iter();
    let kind = kinds.into_iter().find(|candidate| candidate.as_str() == kind);
    let sport = Sport::from_word(&sport);
    let id: i64 = row.try_get("id")?;
    let parent: Option<i64> = row.try_get("parent")?;
    let name: String = row.try_get("name")?;
    let country: Option<String> = row.try_get("country")?;
    Ok(Entity {
        id: unsigned(id),
        kind: kind.ok_or_else(|| decode("an entity of no kind that is known"))?,
        sport: sport.ok_or_else(|| decode("an entity of no sport that is known"))?,
        name: name.into(),
        parent: parent.map(unsigned),
        country: country.map(Into::into),
        about: json(row, "about")?,
    })
}

fn summary(row: &AnyRow) -> sqlx::Result<MatchSummary> {
    document(row, "packed_summary")
}

/// A record without its detail.
fn outline(row: &AnyRow) -> sqlx::Result<MatchRecord> {
    Ok(MatchRecord::from_outline(summary(row)?, document(row, "packed_outline")?))
}

/// The compressed document of a column.
pub(super) fn document<T: DeserializeOwned>(row: &AnyRow, column: &str) -> sqlx::Result<T> {
    pack::expanded(&row.try_get::<Vec<u8>, _>(column)?)
}

fn json<T: DeserializeOwned>(row: &AnyRow, column: &str) -> sqlx::Result<T> {
    let text: &str = row.try_get(column)?;
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

fn decode(why: &'static str) -> sqlx::Error {
    sqlx::Error::Decode(why.into())
}

fn encode(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Encode(Box::new(error))
}

/// Ids have 52 bits at most.
fn signed(id: Key) -> i64 {
    id.cast_signed()
}

fn unsigned(id: i64) -> Key {
    id.cast_unsigned()
}
