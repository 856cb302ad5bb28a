//! Prices and their history in the database.

use std::{collections::HashMap, sync::Arc};

use base::Micros;
use rust_decimal::Decimal;
use serde::Deserialize;
use sqlx::{AnyConnection, AssertSqlSafe, Row, any::AnyRow};

use super::{
    ArchiveStore, signed,
    statement::{Conditions, Statement, id_array, ids_in, packed, rows, rows_max},
    unsigned,
};
use crate::{
    archive::{
        odds::{Movement, OddsFilter, OddsRow, Period, Tick},
        stored_price::StoredPrice,
    },
    match_query::Window,
};
use database::{BatchWriter, STATEMENT_MAX, within};
use record::Key;

const COLUMNS: &str = "id, public_id, match_id, bookmaker, market, period, line, outcome, opening, opening_us, \
                       previous, price, price_us, received_us, is_open, is_offered, in_play, \
                       ticked_us, updated_us";

impl ArchiveStore {
    /// The total, and the rows in the window.
    pub(in crate::archive) async fn odds(
        &self,
        filter: &OddsFilter,
        window: Window,
    ) -> Result<(usize, Vec<OddsRow>), sqlx::Error> {
        let conditions = self.odds_conditions(filter);
        let count = match window {
            Window::ALL => None,
            Window { offset, limit } => {
                let count = self.count("archive_odds", &conditions).await?;
                if offset >= count || limit == 0 {
                    return Ok((count, Vec::new()));
                }
                Some(count)
            }
        };
        let order = if filter.newest_first {
            "updated_us DESC, id"
        } else {
            "match_id, market, CAST(line AS DOUBLE PRECISION) NULLS FIRST, outcome, bookmaker, id"
        };
        let page = self.page(COLUMNS, "archive_odds", &conditions, order, window).await?;
        let page: Vec<_> = page.map(|packed: PackedPrice| packed.stored_price().row).collect();
        Ok((count.unwrap_or(page.len()), page))
    }

    fn odds_conditions(&self, filter: &OddsFilter) -> Conditions {
        let mut all = Conditions::default();
        let matches = filter.matches.as_ref().map(|ids| id_array(ids));
        let wanted = ids_in(self.database.is_sqlite(), "?");
        all.text(&format!("match_id IN {wanted}"), matches);
        let bookmakers = filter.bookmakers.as_ref();
        let bookmakers = bookmakers.map(|slugs| serde_json::Value::from(slugs.clone()).to_string());
        all.text(&format!("bookmaker IN ({})", self.texts_of()), bookmakers);
        all.text("market = ?", filter.market.as_deref());
        match &filter.period {
            Period::WholeMatch => all.plain("period IS NULL"),
            Period::Part(part) => all.text("period = ?", Some(&**part)),
            Period::Any => {}
        }
        all.text("outcome = ?", filter.outcome.as_deref());
        all.text("line = ?", filter.line.map(|line| line.normalize().to_string()));
        let double = "CAST(price AS DOUBLE PRECISION)";
        let at_least = format!("{double} >= CAST(? AS DOUBLE PRECISION)");
        all.text(&at_least, filter.min_price.map(|price| price.to_string()));
        let at_most = format!("{double} <= CAST(? AS DOUBLE PRECISION)");
        all.text(&at_most, filter.max_price.map(|price| price.to_string()));
        all.number("updated_us > ?", filter.updated_after);
        match filter.movement {
            Some(Movement::Shortening) => {
                all.plain(&format!("{double} < CAST(previous AS DOUBLE PRECISION)"));
            }
            Some(Movement::Drifting) => {
                all.plain(&format!("{double} > CAST(previous AS DOUBLE PRECISION)"));
            }
            None => {}
        }
        all
    }

    /// Expands a JSON array of texts to rows: a list of any length is one value.
    fn texts_of(&self) -> &'static str {
        if self.database.is_sqlite() {
            "SELECT value FROM json_each(?)"
        } else {
            "SELECT jsonb_array_elements_text(CAST(? AS jsonb))"
        }
    }

    /// The row of this public id.
    pub(in crate::archive) async fn odds_row(
        &self,
        id: Key,
    ) -> Result<Option<OddsRow>, sqlx::Error> {
        let row = "FROM archive_odds WHERE public_id = $1";
        let row = packed(self.database.is_sqlite(), COLUMNS, row);
        let row = sqlx::query(AssertSqlSafe(row)).bind(signed(id));
        let mut found = self.unpacked::<PackedPrice>(row).await?;
        Ok(found.next().map(|packed| packed.stored_price().row))
    }

    /// The ticks of these rows, row by row, oldest first.
    pub(in crate::archive) async fn ticks(&self, rows: &[Key]) -> Result<Vec<Tick>, sqlx::Error> {
        let columns = "odds, at_us, received_us, price";
        // SQLite keeps the order of a subquery only if it has a limit.
        let rest = format!("ORDER BY odds, at_us LIMIT {}", i64::MAX);
        let ticks = self.rows_with(columns, "archive_ticks", ("odds", rows), &rest).await?;
        Ok(ticks.into_iter().map(PackedTick::tick).collect())
    }

    pub(in crate::archive) async fn bookmakers(&self) -> Result<Vec<Arc<str>>, sqlx::Error> {
        self.bookmakers_since(0).await
    }

    /// Those of the writes after this one.
    pub(in crate::archive) async fn bookmakers_since(
        &self,
        change: i64,
    ) -> Result<Vec<Arc<str>>, sqlx::Error> {
        let slugs =
            sqlx::query("SELECT slug FROM archive_bookmakers WHERE change > $1").bind(change);
        let slugs = slugs.try_map(|row: AnyRow| Ok(row.try_get::<String, _>("slug")?.into()));
        slugs.fetch_all(self.database.pool()).await
    }

    /// All stored prices of these matches.
    pub(in crate::archive) async fn stored_prices(
        &self,
        matches: &[Key],
    ) -> Result<Vec<StoredPrice>, sqlx::Error> {
        let prices = self.rows_with(COLUMNS, "archive_odds", ("match_id", matches), "").await?;
        Ok(prices.into_iter().map(PackedPrice::stored_price).collect())
    }
}

/// Writes rows together with their new ticks: no row is ever without its last tick.
pub(super) async fn put_prices(
    steps: &mut BatchWriter<'_>,
    prices: &[StoredPrice],
    ticks: &[Tick],
) -> Result<(), sqlx::Error> {
    let mut ticks_by_row: HashMap<Key, Vec<&Tick>> = HashMap::new();
    for tick in ticks {
        ticks_by_row.entry(tick.odds).or_default().push(tick);
    }
    for chunk in prices.chunks(rows_max(19)) {
        // The opening price stays as it was first written.
        let statement = format!(
            "INSERT INTO archive_odds ({COLUMNS}) VALUES {}
             ON CONFLICT (id) DO UPDATE SET previous = excluded.previous, price = excluded.price,
                 price_us = excluded.price_us, received_us = excluded.received_us,
                 is_open = excluded.is_open, is_offered = excluded.is_offered,
                 in_play = excluded.in_play, ticked_us = excluded.ticked_us,
                 updated_us = excluded.updated_us,
                 public_id = coalesce(archive_odds.public_id, excluded.public_id)",
            rows(steps.is_sqlite(), 19, chunk.len())
        );
        let mut query =
            sqlx::query(AssertSqlSafe(statement)).persistent(chunk.len() == rows_max(19));
        for stored in chunk {
            query = bind_price(query, stored);
        }
        within(STATEMENT_MAX, query.execute(steps.next().await?)).await?;
        let ticks = chunk.iter().filter_map(|stored| ticks_by_row.get(&stored.row.id)).flatten();
        let ticks: Vec<_> = ticks.copied().collect();
        for ticks in ticks.chunks(rows_max(4)) {
            put_ticks(steps, ticks).await?;
        }
    }
    Ok(())
}

fn bind_price<'q>(query: Statement<'q>, stored: &StoredPrice) -> Statement<'q> {
    let row = &stored.row;
    query
        .bind(signed(row.id))
        .bind(row.public_id.map(signed))
        .bind(signed(row.match_id))
        .bind(row.bookmaker.to_string())
        .bind(row.market.to_string())
        .bind(row.period.as_ref().map(|period| period.to_string()))
        .bind(row.line.map(|line| line.to_string()))
        .bind(row.outcome.to_string())
        .bind(row.opening.to_string())
        .bind(row.opening_us)
        .bind(row.previous.map(|price| price.to_string()))
        .bind(row.price.to_string())
        .bind(row.price_us)
        .bind(row.received_us)
        .bind(i64::from(row.is_open))
        .bind(i64::from(stored.is_offered))
        .bind(i64::from(row.in_play))
        .bind(stored.ticked_us)
        .bind(row.updated_us)
}

/// Writes ticks in one transaction with what was written last.
async fn put_ticks(steps: &mut BatchWriter<'_>, ticks: &[&Tick]) -> Result<(), sqlx::Error> {
    let statement = format!(
        "INSERT INTO archive_ticks (odds, at_us, received_us, price) VALUES {}
         ON CONFLICT (odds, at_us) DO UPDATE SET received_us = excluded.received_us,
             price = excluded.price",
        rows(steps.is_sqlite(), 4, ticks.len())
    );
    let mut query = sqlx::query(AssertSqlSafe(statement)).persistent(ticks.len() == rows_max(19));
    for tick in ticks {
        query = query
            .bind(signed(tick.odds))
            .bind(tick.at_us)
            .bind(tick.received_us)
            .bind(tick.price.map(|price| price.to_string()));
    }
    within(STATEMENT_MAX, query.execute(steps.same().await?)).await.map(|_| ())
}

pub(super) async fn put_bookmakers(
    connection: &mut AnyConnection,
    slugs: &[Arc<str>],
    change: i64,
) -> Result<(), sqlx::Error> {
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

/// A row as the database packs it: an array of [`COLUMNS`], in this order.
#[derive(Debug, Deserialize)]
struct PackedPrice {
    id: i64,
    public_id: Option<i64>,
    match_id: i64,
    bookmaker: Arc<str>,
    market: Arc<str>,
    period: Option<Arc<str>>,
    line: Option<Decimal>,
    outcome: Arc<str>,
    opening: Decimal,
    opening_us: Micros,
    previous: Option<Decimal>,
    price: Decimal,
    price_us: Micros,
    received_us: Micros,
    is_open: i64,
    is_offered: i64,
    in_play: i64,
    ticked_us: Micros,
    updated_us: Micros,
}

impl PackedPrice {
    fn stored_price(self) -> StoredPrice {
        let row = OddsRow {
            id: unsigned(self.id),
            public_id: self.public_id.map(unsigned),
            match_id: unsigned(self.match_id),
            bookmaker: self.bookmaker,
            market: self.market,
            period: self.period,
            line: self.line,
            outcome: self.outcome,
            opening: self.opening,
            opening_us: self.opening_us,
            previous: self.previous,
            price: self.price,
            price_us: self.price_us,
            received_us: self.received_us,
            is_open: self.is_open != 0,
            in_play: self.in_play != 0,
            updated_us: self.updated_us,
        };
        StoredPrice { row, is_offered: self.is_offered != 0, ticked_us: self.ticked_us }
    }
}

/// A tick as the database packs it: an array of its columns, in this order.
#[derive(Debug, Deserialize)]
struct PackedTick {
    odds: i64,
    at_us: Micros,
    received_us: Micros,
    price: Option<Decimal>,
}

impl PackedTick {
    fn tick(self) -> Tick {
        let Self { odds, at_us, received_us, price } = self;
        Tick { odds: unsigned(odds), at_us, received_us, price }
    }
}
