//! Prices and their history in the database: a row for all prices of a match, and blocks of its ticks.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use base::Micros;
use sqlx::{AnyConnection, AssertSqlSafe, Row, any::AnyRow};

use super::{
    ArchiveStore, decode,
    pack::{pack_prices, pack_ticks, unpack_prices, unpack_ticks},
    signed,
    statement::{Conditions, id_array, ids_in, rows, rows_max, whole},
    trail::{self, TrailBlock},
    unsigned,
};
use crate::{
    archive::{
        odds::{
            OddsFilter, OddsPage, OddsRow, PUBLIC_BASE_MAX, PUBLIC_IDS, PriceCounts, Tick,
            public_base, public_choices,
        },
        stored_price::StoredPrice,
    },
    match_query::Window,
};
use database::{BatchWriter, STATEMENT_MAX, within};
use record::{Key, MatchRecord};

/// The columns of [`PriceCounts`].
const COUNTS: &str = "match_id, total, whole, consensus, oldest_us, updated_us";
/// Matches whose prices are in memory at a time, packed and unpacked.
const MATCHES_AT_ONCE: usize = 50;
/// Matches that are written by one statement. A transaction on SQLite ends only between them.
const MATCHES_WRITTEN: usize = 10;

/// The changes of a match.
#[derive(Debug, Default)]
struct MatchChanges<'a> {
    prices: Vec<&'a StoredPrice>,
    ticks: Vec<Tick>,
}

impl ArchiveStore {
    /// The total, and the rows in the window, as they are now. `current`: a match in the hub.
    pub(in crate::archive) async fn odds(
        &self,
        filter: &OddsFilter,
        window: Window,
        current: impl Fn(Key) -> Option<Arc<MatchRecord>>,
    ) -> sqlx::Result<(usize, Vec<OddsRow>)> {
        let mut page = OddsPage::new(filter, window);
        let matches = filter.matches.as_ref();
        if let Some(few) = matches.filter(|matches| matches.len() <= MATCHES_AT_ONCE) {
            let prices = self.prices(few).await?;
            page.add_uncounted(prices.keys().copied());
            page.read(prices, &current);
            return Ok(page.finish());
        }
        let (table, all) = ("archive_prices", Conditions::default());
        let mut counts: Vec<PriceCounts> = match matches {
            Some(matches) => self.rows_with(COUNTS, table, ("match_id", matches), "").await?,
            None => self.page(COUNTS, table, &all, "match_id", Window::ALL).await?.collect(),
        };
        counts.sort_unstable_by_key(|counts| counts.match_id);
        counts.dedup_by_key(|counts| counts.match_id);
        let checked = filter.check_read(&counts, &current);
        checked.map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        let mut unread = Vec::with_capacity(MATCHES_AT_ONCE);
        for counts in &counts {
            if page.add(counts, &current) {
                unread.push(counts.match_id);
            }
            if unread.len() == MATCHES_AT_ONCE {
                page.read(self.prices(&unread).await?, &current);
                unread.clear();
            }
        }
        page.read(self.prices(&unread).await?, &current);
        Ok(page.finish())
    }

    /// The prices of up to [`MATCHES_AT_ONCE`] matches.
    async fn prices(&self, matches: &[Key]) -> sqlx::Result<BTreeMap<Key, Vec<StoredPrice>>> {
        if matches.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (_slot, mut connection) = self.pool().acquire().await?;
        prices_in(&mut connection, self.database.is_sqlite(), matches).await
    }

    /// The row of this public id.
    pub(in crate::archive) async fn odds_row(&self, id: Key) -> sqlx::Result<Option<OddsRow>> {
        let found = sqlx::query(
            "SELECT match_id, prices FROM archive_prices WHERE match_id >= $1 AND match_id < $2",
        );
        let until = if id > PUBLIC_BASE_MAX { i64::MAX } else { signed(id) };
        let found = found.bind(signed(id.saturating_sub(PUBLIC_IDS))).bind(until);
        let found = found.try_map(|row: AnyRow| prices_of(&row)).fetch_all(self.pool()).await?;
        let prices = found.into_iter().flat_map(|(_, prices)| prices);
        let mut rows = prices.map(|stored| stored.row);
        Ok(rows.find(|row| row.public_id == Some(id)))
    }

    /// The ticks of these rows of a match, row by row, oldest first.
    pub(in crate::archive) async fn ticks(
        &self,
        match_id: Key,
        rows: &[Key],
    ) -> sqlx::Result<Vec<Tick>> {
        let rows: HashSet<_> = rows.iter().collect();
        let blocks =
            sqlx::query("SELECT ticks FROM archive_trails WHERE match_id = $1 ORDER BY number");
        let blocks = blocks.bind(signed(match_id)).try_map(|row: AnyRow| {
            let mut ticks = unpack_ticks(&row.try_get::<Vec<u8>, _>("ticks")?)?;
            ticks.retain(|tick| rows.contains(&tick.odds));
            Ok(ticks)
        });
        let blocks = within(STATEMENT_MAX, blocks.fetch_all(self.pool())).await?;
        let mut ticks: Vec<_> = blocks.into_iter().flatten().collect();
        trail::sort(&mut ticks);
        Ok(ticks)
    }

    pub(in crate::archive) async fn bookmakers(&self) -> sqlx::Result<Vec<Arc<str>>> {
        self.bookmakers_since(0).await
    }

    /// Those of the writes after this one.
    pub(in crate::archive) async fn bookmakers_since(
        &self,
        change: i64,
    ) -> sqlx::Result<Vec<Arc<str>>> {
        let slugs =
            sqlx::query("SELECT slug FROM archive_bookmakers WHERE change > $1").bind(change);
        let slugs = slugs.try_map(|row: AnyRow| Ok(row.try_get::<String, _>("slug")?.into()));
        slugs.fetch_all(self.database.pool()).await
    }

    /// All stored prices of these matches.
    pub(in crate::archive) async fn stored_prices(
        &self,
        matches: &[Key],
    ) -> sqlx::Result<Vec<StoredPrice>> {
        let mut all = Vec::new();
        for some in matches.chunks(MATCHES_AT_ONCE) {
            all.extend(self.prices(some).await?.into_values().flatten());
        }
        Ok(all)
    }
}

/// Writes the changed rows of each match together with their new ticks: no row is ever without its last tick.
///
/// What is stored is read in the same transaction, so that rows that another program has written stay.
pub(super) async fn put_prices(
    steps: &mut BatchWriter<'_>,
    prices: &[StoredPrice],
    ticks: &[Tick],
) -> sqlx::Result<()> {
    let mut changes: BTreeMap<Key, MatchChanges<'_>> = BTreeMap::new();
    for stored in prices {
        changes.entry(stored.row.match_id).or_default().prices.push(stored);
    }
    let matches: HashMap<Key, Key> =
        prices.iter().map(|stored| (stored.row.id, stored.row.match_id)).collect();
    for tick in ticks {
        // A tick changes its row, which is among those.
        if let Some(changes) = matches.get(&tick.odds).and_then(|id| changes.get_mut(id)) {
            changes.ticks.push(*tick);
        }
    }
    let mut changes: Vec<_> = changes.into_iter().collect();
    let is_sqlite = steps.is_sqlite();
    for some in changes.chunks_mut(MATCHES_WRITTEN) {
        let connection = steps.next().await?;
        let ids: Vec<Key> = some.iter().map(|(id, _)| *id).collect();
        let mut stored = prices_in(connection, is_sqlite, &ids).await?;
        let mut taken = HashSet::new();
        for (id, changes) in &*some {
            let prices = stored.entry(*id).or_default();
            merge(prices, &changes.prices);
            if prices.iter().any(|stored| stored.row.public_id.is_none()) {
                taken.extend(public_ids_near(connection, *id).await?);
                number(prices, &mut taken)?;
            }
        }
        put_rows(connection, is_sqlite, &stored).await?;
        let mut open = open_blocks(connection, is_sqlite, &ids).await?;
        let mut blocks = Vec::new();
        for (id, changes) in some.iter_mut().filter(|(_, changes)| !changes.ticks.is_empty()) {
            let ticks = std::mem::take(&mut changes.ticks);
            let written = TrailBlock::append(open.remove(id), ticks);
            blocks.extend(written.into_iter().map(|block| (*id, block)));
        }
        put_blocks(connection, is_sqlite, &blocks).await?;
    }
    Ok(())
}

/// Puts changed rows over those that are stored, whose opening and public id stay.
fn merge(stored: &mut Vec<StoredPrice>, changed: &[&StoredPrice]) {
    let indexes = stored.iter().enumerate().map(|(index, stored)| (stored.row.id, index));
    let indexes: HashMap<Key, usize> = indexes.collect();
    for new in changed {
        let mut next = StoredPrice::clone(new);
        match indexes.get(&next.row.id).and_then(|index| stored.get_mut(*index)) {
            Some(before) => {
                next.row.public_id = before.row.public_id;
                next.row.opening = before.row.opening;
                next.row.opening_us = before.row.opening_us;
                *before = next;
            }
            None => stored.push(next),
        }
    }
}

/// Gives each row of a match without a public id the first of its choices that is not taken.
fn number(prices: &mut [StoredPrice], taken: &mut HashSet<Key>) -> sqlx::Result<()> {
    for StoredPrice { row, .. } in prices.iter_mut().filter(|stored| stored.row.public_id.is_none())
    {
        let free = public_choices(row.match_id, row.id).find(|number| taken.insert(*number));
        let all_taken =
            || sqlx::Error::Encode("a match has as many prices as there are ids".into());
        row.public_id = Some(free.ok_or_else(all_taken)?);
    }
    Ok(())
}

/// The public ids that prices of this match and of others have, among those that a price of this match may have. Each
/// transaction that gives ids waits for the one before.
async fn public_ids_near(
    connection: &mut AnyConnection,
    match_id: Key,
) -> sqlx::Result<HashSet<Key>> {
    let base = public_base(match_id);
    let before = base + PUBLIC_IDS;
    let until = if before > PUBLIC_BASE_MAX { i64::MAX } else { signed(before) };
    let near = sqlx::query(
        "SELECT match_id, prices FROM archive_prices WHERE match_id >= $1 AND match_id < $2",
    );
    let near = near.bind(signed(base.saturating_sub(PUBLIC_IDS))).bind(until);
    let near = near.try_map(|row: AnyRow| prices_of(&row));
    let near = within(STATEMENT_MAX, near.fetch_all(connection)).await?;
    let near = near.into_iter().flat_map(|(_, prices)| prices);
    Ok(near.filter_map(|stored| stored.row.public_id).collect())
}

/// Closes all prices of these matches.
pub(super) async fn close(
    steps: &mut BatchWriter<'_>,
    matches: &[Key],
    now: Micros,
) -> sqlx::Result<()> {
    let is_sqlite = steps.is_sqlite();
    for some in matches.chunks(MATCHES_WRITTEN) {
        let connection = steps.next().await?;
        let mut stored = prices_in(connection, is_sqlite, some).await?;
        stored.retain(|_, prices| prices.iter().any(|stored| stored.row.is_open));
        for price in stored.values_mut().flatten().filter(|stored| stored.row.is_open) {
            price.row.is_open = false;
            price.row.updated_us = now;
        }
        put_rows(connection, is_sqlite, &stored).await?;
    }
    Ok(())
}

/// Deletes all prices of these matches, and their history.
pub(in crate::archive) async fn remove(
    connection: &mut AnyConnection,
    is_sqlite: bool,
    matches: &[Key],
) -> sqlx::Result<()> {
    for some in matches.chunks(MATCHES_AT_ONCE) {
        let wanted = ids_in(is_sqlite, "$1");
        for table in ["archive_trails", "archive_prices"] {
            let delete = format!("DELETE FROM {table} WHERE match_id IN {wanted}");
            let delete = sqlx::query(AssertSqlSafe(delete)).bind(id_array(some));
            within(database::DELETION_MAX, delete.execute(&mut *connection)).await?;
        }
    }
    Ok(())
}

fn prices_of(row: &AnyRow) -> sqlx::Result<(Key, Vec<StoredPrice>)> {
    let id = unsigned(row.try_get("match_id")?);
    Ok((id, unpack_prices(id, &row.try_get::<Vec<u8>, _>("prices")?)?))
}

fn block_of(row: &AnyRow) -> sqlx::Result<(Key, TrailBlock)> {
    let ticks = unpack_ticks(&row.try_get::<Vec<u8>, _>("ticks")?)?;
    let block = TrailBlock::new(row.try_get("number")?, ticks);
    let block = block.ok_or_else(|| decode("a block without ticks"))?;
    Ok((unsigned(row.try_get("match_id")?), block))
}

async fn prices_in(
    connection: &mut AnyConnection,
    is_sqlite: bool,
    matches: &[Key],
) -> sqlx::Result<BTreeMap<Key, Vec<StoredPrice>>> {
    let wanted = ids_in(is_sqlite, "$1");
    let found = format!("SELECT match_id, prices FROM archive_prices WHERE match_id IN {wanted}");
    let found = sqlx::query(AssertSqlSafe(found))
        .bind(id_array(matches))
        .try_map(|row: AnyRow| prices_of(&row));
    Ok(within(STATEMENT_MAX, found.fetch_all(connection)).await?.into_iter().collect())
}

/// The last block of each of these matches.
async fn open_blocks(
    connection: &mut AnyConnection,
    is_sqlite: bool,
    matches: &[Key],
) -> sqlx::Result<HashMap<Key, TrailBlock>> {
    let wanted = ids_in(is_sqlite, "$1");
    let found = format!(
        "SELECT match_id, number, ticks FROM archive_trails
         WHERE (match_id, number) IN (SELECT match_id, max(number) FROM archive_trails
             WHERE match_id IN {wanted} GROUP BY match_id)"
    );
    let found = sqlx::query(AssertSqlSafe(found))
        .bind(id_array(matches))
        .try_map(|row: AnyRow| block_of(&row));
    Ok(within(STATEMENT_MAX, found.fetch_all(connection)).await?.into_iter().collect())
}

pub(in crate::archive) async fn put_rows(
    connection: &mut AnyConnection,
    is_sqlite: bool,
    prices: &BTreeMap<Key, Vec<StoredPrice>>,
) -> sqlx::Result<()> {
    if prices.is_empty() {
        return Ok(());
    }
    let statement = format!(
        "INSERT INTO archive_prices ({COUNTS}, prices) VALUES {}
         ON CONFLICT (match_id) DO UPDATE SET total = excluded.total, whole = excluded.whole,
             consensus = excluded.consensus, oldest_us = excluded.oldest_us,
             updated_us = excluded.updated_us, prices = excluded.prices",
        rows(is_sqlite, 7, prices.len())
    );
    let mut query = sqlx::query(AssertSqlSafe(statement)).persistent(false);
    for (id, prices) in prices {
        let counts = PriceCounts::new(*id, prices);
        query = query.bind(signed(*id)).bind(whole(counts.total)).bind(whole(counts.whole));
        query = query.bind(whole(counts.consensus)).bind(counts.oldest_us).bind(counts.updated_us);
        query = query.bind(pack_prices(prices)?);
    }
    within(STATEMENT_MAX, query.execute(connection)).await.map(|_| ())
}

/// A block that is there keeps its `from_us`, which an index has: not later than `until_us` in any case, by which it is deleted.
async fn put_blocks(
    connection: &mut AnyConnection,
    is_sqlite: bool,
    blocks: &[(Key, TrailBlock)],
) -> sqlx::Result<()> {
    for some in blocks.chunks(rows_max(5)) {
        let statement = format!(
            "INSERT INTO archive_trails (match_id, number, from_us, until_us, ticks) VALUES {}
             ON CONFLICT (match_id, number) DO UPDATE SET until_us = excluded.until_us, ticks = excluded.ticks",
            rows(is_sqlite, 5, some.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(statement)).persistent(false);
        for (id, block) in some {
            query = query.bind(signed(*id)).bind(block.number).bind(block.from_us);
            query = query.bind(block.until_us).bind(pack_ticks(&block.ticks)?);
        }
        within(STATEMENT_MAX, query.execute(&mut *connection)).await?;
    }
    Ok(())
}

pub(super) async fn put_bookmakers(
    connection: &mut AnyConnection,
    slugs: &[Arc<str>],
    change: i64,
) -> sqlx::Result<()> {
    for slug in slugs {
        let put = sqlx::query(
            "INSERT INTO archive_bookmakers (slug, change) VALUES ($1, $2)
             ON CONFLICT (slug) DO NOTHING",
        );
        let put = put.bind(slug.to_string()).bind(change);
        within(STATEMENT_MAX, put.execute(&mut *connection)).await?;
    }
    Ok(())
}
