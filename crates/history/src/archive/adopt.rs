//! Migrates the data of version 0.1, whose ids were digests of 52 bits, to public ids.

use std::{collections::HashMap, sync::Arc};

use base::Micros;
use sqlx::{Row, any::AnyRow};
use tracing::info;

use super::{
    entity::{Directory, Entity},
    odds::OddsRow,
    store::{ArchiveStore, Write, move_ticks, remove_prices},
    stored_price::StoredPrice,
    write_cache::PendingRows,
};
use crate::{
    archive::Appearance,
    ids::{IdsError, NUMBERS_MAX, PublicIds},
};
use database::{Database, WriteBudget};
use record::{Key, MatchRecord, PriceRecord, odds_id};

/// Matches per transaction.
const AT_ONCE: i64 = 50;

/// Migrates everything that is stored under digests, once: matches with their entities, prices with
/// their history, players, and the decisions of identity and of the operator. Costs one query if
/// there is nothing to do. If interrupted, it continues at the next start. Signals and doubts are
/// not migrated; they are created again.
///
/// # Errors
///
/// If the database fails, or the limit of public ids is reached.
pub async fn adopt(database: &Database, ids: &PublicIds, now: Micros) -> Result<(), IdsError> {
    let store = ArchiveStore::new(database);
    let mut directory = Directory::new(store.entities().await?);
    let mut count = 0;
    loop {
        let old = sqlx::query("SELECT id FROM archive_matches WHERE id > $1 ORDER BY id LIMIT $2");
        let old = old.bind(i64::from(NUMBERS_MAX)).bind(AT_ONCE);
        let old = old.try_map(|row: AnyRow| Ok(row.try_get::<i64, _>("id")?.cast_unsigned()));
        let old: Vec<Key> = old.fetch_all(database.pool()).await?;
        if old.is_empty() {
            break;
        }
        adopt_some(database, &store, &mut directory, ids, &old, now).await?;
        count += old.len();
    }
    if count > 0 {
        info!(matches = count, "migrated the archive of version 0.1 to public ids");
    }
    adopt_decisions(database, ids).await
}

async fn adopt_some(
    database: &Database,
    store: &ArchiveStore,
    directory: &mut Directory,
    ids: &PublicIds,
    old: &[Key],
    now: Micros,
) -> Result<(), IdsError> {
    let mut records: Vec<Arc<MatchRecord>> = Vec::with_capacity(old.len());
    let mut entries = PendingRows::default();
    let mut moved: Vec<((Key, Key), HashMap<Key, Key>)> = Vec::new();
    for record in store.records(old).await? {
        let record_now = record.renumbered(ids).ok_or(IdsError::TooMany)?;
        let mut rows = HashMap::new();
        for stored in store.stored_prices(&[record.summary.id]).await? {
            let stored_now = renumbered(&stored, record_now.summary.id);
            rows.insert(stored.row.id, stored_now.row.id);
            entries.prices.push(stored_now);
        }
        moved.push(((record.summary.id, record_now.summary.id), rows));
        entries.appearances.extend(Appearance::of_record(&record_now).into_values());
        records.push(Arc::new(record_now));
    }
    // Public ids must be stored before the rows that use them.
    ids.flush().await?;
    store.number(&mut entries).await?;
    let mut entities = Vec::new();
    for entity in records.iter().flat_map(|record| Entity::of_record(record)) {
        if let Some(merged) = directory.merged(&entity) {
            directory.extend(vec![merged.clone()]);
            entities.push(merged);
        }
    }
    let mut pace = WriteBudget::default();
    let write =
        Write { records: &records, entities: &entities, bookmakers: &[], entries: &entries };
    store.put(&write, &mut pace, now).await?;
    let mut steps = database.batch_writer(&mut pace);
    let is_sqlite = steps.is_sqlite();
    for (ids, rows) in &moved {
        move_ticks(steps.next().await?, is_sqlite, *ids, rows).await?;
    }
    remove_prices(steps.next().await?, is_sqlite, old).await?;
    for id in old {
        for delete in [
            "DELETE FROM archive_appearances WHERE match_id = $1",
            "DELETE FROM archive_matches WHERE id = $1",
        ] {
            let connection = steps.same().await?;
            sqlx::query(delete).bind(id.cast_signed()).execute(connection).await?;
        }
        steps.next().await?;
    }
    Ok(steps.finish().await?)
}

/// The same row under the public id of its match.
fn renumbered(stored: &StoredPrice, match_id: Key) -> StoredPrice {
    let OddsRow { bookmaker, market, period, line, outcome, price, .. } = &stored.row;
    let price = PriceRecord {
        bookmaker: Arc::clone(bookmaker),
        market: Arc::clone(market),
        period: period.clone(),
        line: *line,
        outcome: Arc::clone(outcome),
        price: Some(*price),
        open: false,
        in_play: false,
        at: 0,
    };
    let mut adopted = stored.clone();
    adopted.row.id = odds_id(match_id, &price);
    adopted.row.public_id = None;
    adopted.row.match_id = match_id;
    adopted
}

async fn adopt_decisions(database: &Database, ids: &PublicIds) -> Result<(), IdsError> {
    let most = i64::from(NUMBERS_MAX);
    let number = |id: i64| {
        let number = ids.number(facts::event::Id(id.cast_unsigned()));
        number.map(|id| id.0.cast_signed()).ok_or(IdsError::TooMany)
    };
    let pool = database.pool();
    let bindings: Vec<(i64, i64, Option<i64>)> =
        sqlx::query_as("SELECT own, match_id, with_own FROM match_bindings WHERE own > $1")
            .bind(most)
            .fetch_all(pool)
            .await?;
    let splits: Vec<(i64, i64, i64)> =
        sqlx::query_as("SELECT one, other, split_us FROM match_splits WHERE other > $1")
            .bind(most)
            .fetch_all(pool)
            .await?;
    let orders: Vec<(i64, i64)> =
        sqlx::query_as("SELECT id, into_id FROM match_orders WHERE into_id > $1")
            .bind(most)
            .fetch_all(pool)
            .await?;
    let mut tx = database.begin().await?;
    for (local_id, match_id, with) in bindings {
        let with = with.map(number).transpose()?;
        sqlx::query(
            "UPDATE match_bindings SET own = $2, match_id = $3, with_own = $4 WHERE own = $1",
        )
        .bind(local_id)
        .bind(number(local_id)?)
        .bind(number(match_id)?)
        .bind(with)
        .execute(&mut *tx)
        .await?;
    }
    for (one, other, at) in splits {
        let (a, b) = (number(one)?, number(other)?);
        sqlx::query(
            "INSERT INTO match_splits (one, other, split_us) VALUES ($1, $2, $3) \
             ON CONFLICT (one, other) DO NOTHING",
        )
        .bind(a.min(b))
        .bind(a.max(b))
        .bind(at)
        .execute(&mut *tx)
        .await?;
    }
    for (id, into) in orders {
        sqlx::query("UPDATE match_orders SET into_id = $2 WHERE id = $1")
            .bind(id)
            .bind(number(into)?)
            .execute(&mut *tx)
            .await?;
    }
    for delete in [
        "DELETE FROM match_splits WHERE other > $1",
        "DELETE FROM match_doubts WHERE one > $1 OR other > $1",
        "DELETE FROM archive_entities WHERE id > $1",
        "DELETE FROM archive_signals WHERE match_id > $1",
    ] {
        sqlx::query(delete).bind(most).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    ids.flush().await
}

#[cfg(test)]
mod tests {
    use facts::event::Id;
    use rust_decimal::dec;

    use record::testing::{football, line_up, price, record};

    use super::*;
    use crate::{
        archive::{AppearanceFilter, Archive, EntityKind, OddsFilter, Window},
        match_query::MatchQuery,
    };
    use database::testing::on_each;
    use record::{EntityRef, PriceRecord};

    const NOW: Micros = 1_788_280_000_000_000;

    fn digest(kind: &str, key: &str) -> Key {
        Id::derive("acme", kind, key).0
    }

    #[tokio::test]
    async fn rows_stored_under_digests_are_found_under_public_ids() {
        on_each(async |database| {
            let archive = Archive::open(&database).await.unwrap();
            let (home, away) = (digest("team", "a"), digest("team", "b"));
            let player = digest("player", "p");
            let mut football = football();
            football.line_ups = [Some(line_up(&[player], &[])), None];
            let mut old = record(digest("match", "1"), football);
            old.summary_mut().competition = Some(digest("competition", "l"));
            old.summary_mut().sides = Some([home, away]);
            let named = |id| EntityRef { id, name: "x".into() };
            old.names.competition = old.summary.competition.map(named);
            old.names.sides = old.summary.sides.map(|sides| sides.map(named));
            old.prices = vec![price("acme", "home", Some(dec!(2.10)))];
            archive.put(&[Arc::new(old.clone())], NOW).await.unwrap();
            let moved = PriceRecord { price: Some(dec!(2)), at: NOW + 1, ..old.prices[0].clone() };
            old.prices = vec![moved];
            archive.put(&[Arc::new(old.clone())], NOW + 1).await.unwrap();
            drop(archive);

            let ids = PublicIds::open(&database, 1_000).await.unwrap();
            for _ in 0..2 {
                adopt(&database, &ids, NOW + 2).await.unwrap();
                let archive = Archive::open(&database).await.unwrap();
                let summaries = archive.find(&MatchQuery::default()).summaries;
                assert_eq!(summaries.len(), 1);
                let number = |id| ids.get(Id(id)).unwrap().0;
                assert_eq!(
                    summaries[0].id,
                    number(old.summary.id),
                    "as a feed's own match will have"
                );
                assert_eq!(summaries[0].sides, Some([number(home), number(away)]));
                assert!(summaries[0].season.is_some_and(|id| id <= u64::from(NUMBERS_MAX)));
                for kind in EntityKind::ALL {
                    let all = archive.entities(kind, |it| it.id > u64::from(NUMBERS_MAX));
                    assert_eq!(all, [], "{kind:?}");
                }
                assert!(archive.entity(EntityKind::Team, number(home)).is_some());
                let (count, odds) =
                    archive.odds(&OddsFilter::default(), Window::ALL, |_| None).await.unwrap();
                assert_eq!((count, odds[0].opening, odds[0].price), (1, dec!(2.10), dec!(2)));
                assert_eq!(archive.ticks(odds[0].match_id, &[odds[0].id]).await.unwrap().len(), 2);
                let players = AppearanceFilter::default();
                let (count, players) = archive.appearances(&players, Window::ALL).await.unwrap();
                assert_eq!((count, players[0].player), (1, number(player)));
            }
        })
        .await;
    }
}
