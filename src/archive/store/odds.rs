//! Prices and their history in the database.

use std::{collections::HashMap, str::FromStr, sync::Arc};

use rust_decimal::Decimal;
use sqlx::{AnyConnection, AssertSqlSafe, Row, any::AnyRow};

use super::{
    ArchiveStore, decode, signed,
    statement::{Conditions, IDS_MAX, Statement, list, rows, rows_max},
    unsigned,
};
use crate::{
    archive::{
        index::Window,
        odds::{Movement, OddsFilter, OddsRow, Period, Tick},
        stored_price::StoredPrice,
    },
    database::Steps,
    record::Key,
};

const COLUMNS: &str = "id, public_id, match_id, bookmaker, market, period, line, outcome, opening, opening_us, \
                       previous, price, price_us, received_us, is_open, is_offered, in_play, \
                       ticked_us, updated_us";

impl ArchiveStore {
    /// How many rows there are, and those in the window.
    pub(in crate::archive) async fn odds(
        &self,
        filter: &OddsFilter,
        window: Window,
    ) -> Result<(usize, Vec<OddsRow>), sqlx::Error> {
        let conditions = self.odds_conditions(filter);
        let wanted = conditions.text_of_all();
        let count = format!("SELECT count(*) AS n FROM archive_odds {wanted}");
        let count = conditions.bind(sqlx::query(AssertSqlSafe(count)));
        let count: i64 = count.fetch_one(self.database.pool()).await?.try_get("n")?;
        let count = usize::try_from(count).unwrap_or_default();
        if window.offset >= count || window.limit == 0 {
            return Ok((count, Vec::new()));
        }
        let order = if filter.newest_first {
            "updated_us DESC, id"
        } else {
            "match_id, market, CAST(line AS DOUBLE PRECISION) NULLS FIRST, outcome, bookmaker, id"
        };
        let bound = conditions.count();
        let page = format!(
            "SELECT {COLUMNS} FROM archive_odds {wanted} ORDER BY {order} LIMIT ${} OFFSET ${}",
            bound + 1,
            bound + 2
        );
        let page = conditions.bind(sqlx::query(AssertSqlSafe(page)));
        let page = page.bind(whole(window.limit)).bind(whole(window.offset));
        let page = page.try_map(|row| stored_price(&row).map(|it| it.row));
        Ok((count, page.fetch_all(self.database.pool()).await?))
    }

    fn odds_conditions(&self, filter: &OddsFilter) -> Conditions {
        let mut all = Conditions::default();
        let matches = filter.matches.as_ref().map(|ids| format!("{ids:?}"));
        all.text(&format!("match_id IN ({})", self.numbers_of()), matches);
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

    /// What a JSON array of numbers has, as rows: a list of any length is one value.
    fn numbers_of(&self) -> &'static str {
        if self.database.is_sqlite() {
            "SELECT value FROM json_each(?)"
        } else {
            "SELECT CAST(jsonb_array_elements_text(CAST(? AS jsonb)) AS BIGINT)"
        }
    }

    /// The same of texts.
    fn texts_of(&self) -> &'static str {
        if self.database.is_sqlite() {
            "SELECT value FROM json_each(?)"
        } else {
            "SELECT jsonb_array_elements_text(CAST(? AS jsonb))"
        }
    }

    /// By its public id.
    pub(in crate::archive) async fn odds_row(
        &self,
        id: Key,
    ) -> Result<Option<OddsRow>, sqlx::Error> {
        let row = format!("SELECT {COLUMNS} FROM archive_odds WHERE public_id = $1");
        let row = sqlx::query(AssertSqlSafe(row)).bind(signed(id));
        let row = row.try_map(|row| stored_price(&row).map(|it| it.row));
        row.fetch_optional(self.database.pool()).await
    }

    /// The ticks of these rows, row by row and the first first.
    pub(in crate::archive) async fn ticks(&self, rows: &[Key]) -> Result<Vec<Tick>, sqlx::Error> {
        let mut all = Vec::new();
        for chunk in rows.chunks(IDS_MAX) {
            let ticks = format!(
                "SELECT odds, at_us, received_us, price FROM archive_ticks WHERE odds IN {}
                 ORDER BY odds, at_us",
                list(1, chunk.len())
            );
            let ticks = bind_ids(sqlx::query(AssertSqlSafe(ticks)), chunk);
            all.extend(ticks.try_map(|row| tick(&row)).fetch_all(self.database.pool()).await?);
        }
        Ok(all)
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

    /// All that was written of the prices of these matches.
    pub(in crate::archive) async fn stored_prices(
        &self,
        matches: &[Key],
    ) -> Result<Vec<StoredPrice>, sqlx::Error> {
        let mut all = Vec::new();
        for chunk in matches.chunks(IDS_MAX) {
            let ids = list(1, chunk.len());
            let query = format!("SELECT {COLUMNS} FROM archive_odds WHERE match_id IN {ids}");
            let query = bind_ids(sqlx::query(AssertSqlSafe(query)), chunk);
            all.extend(
                query.try_map(|row| stored_price(&row)).fetch_all(self.database.pool()).await?,
            );
        }
        Ok(all)
    }
}

pub(super) fn bind_ids<'q>(mut query: Statement<'q>, ids: &[Key]) -> Statement<'q> {
    for id in ids {
        query = query.bind(signed(*id));
    }
    query
}

pub(super) fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Writes rows, and with each of them what it has been since: no row is ever without its last tick.
pub(super) async fn put_prices(
    steps: &mut Steps<'_>,
    prices: &[StoredPrice],
    ticks: &[Tick],
) -> Result<(), sqlx::Error> {
    let ticks: HashMap<Key, &Tick> = ticks.iter().map(|tick| (tick.odds, tick)).collect();
    for chunk in prices.chunks(rows_max(19)) {
        // How it opened stays as it was written first.
        let statement = format!(
            "INSERT INTO archive_odds ({COLUMNS}) VALUES {}
             ON CONFLICT (id) DO UPDATE SET previous = excluded.previous, price = excluded.price,
                 price_us = excluded.price_us, received_us = excluded.received_us,
                 is_open = excluded.is_open, is_offered = excluded.is_offered,
                 in_play = excluded.in_play, ticked_us = excluded.ticked_us,
                 updated_us = excluded.updated_us,
                 public_id = coalesce(archive_odds.public_id, excluded.public_id)",
            rows(19, chunk.len())
        );
        let mut query =
            sqlx::query(AssertSqlSafe(statement)).persistent(chunk.len() == rows_max(19));
        for stored in chunk {
            query = bind_price(query, stored);
        }
        query.execute(steps.next().await?).await?;
        let ticks = chunk.iter().filter_map(|stored| ticks.get(&stored.row.id).copied());
        put_ticks(steps.same().await?, &ticks.collect::<Vec<_>>()).await?;
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

async fn put_ticks(connection: &mut AnyConnection, ticks: &[&Tick]) -> Result<(), sqlx::Error> {
    if ticks.is_empty() {
        return Ok(());
    }
    let statement = format!(
        "INSERT INTO archive_ticks (odds, at_us, received_us, price) VALUES {}
         ON CONFLICT (odds, at_us) DO UPDATE SET received_us = excluded.received_us,
             price = excluded.price",
        rows(4, ticks.len())
    );
    let mut query = sqlx::query(AssertSqlSafe(statement)).persistent(ticks.len() == rows_max(19));
    for tick in ticks {
        query = query
            .bind(signed(tick.odds))
            .bind(tick.at_us)
            .bind(tick.received_us)
            .bind(tick.price.map(|price| price.to_string()));
    }
    query.execute(connection).await.map(|_| ())
}

pub(super) async fn put_bookmakers(
    connection: &mut AnyConnection,
    slugs: &[Arc<str>],
    change: i64,
) -> Result<(), sqlx::Error> {
    for slug in slugs {
        sqlx::query(
            "INSERT INTO archive_bookmakers (slug, change) VALUES ($1, $2)
             ON CONFLICT (slug) DO NOTHING",
        )
        .bind(slug.to_string())
        .bind(change)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

fn stored_price(row: &AnyRow) -> Result<StoredPrice, sqlx::Error> {
    let flag = |column: &str| row.try_get::<i64, _>(column).map(|flag| flag != 0);
    let text = |column: &str| row.try_get::<String, _>(column).map(Arc::<str>::from);
    let period: Option<String> = row.try_get("period")?;
    let price = |column| decimal(row, column)?.ok_or_else(|| decode("a row without a price"));
    let odds = OddsRow {
        id: unsigned(row.try_get("id")?),
        public_id: row.try_get::<Option<i64>, _>("public_id")?.map(unsigned),
        match_id: unsigned(row.try_get("match_id")?),
        bookmaker: text("bookmaker")?,
        market: text("market")?,
        period: period.map(Into::into),
        line: decimal(row, "line")?,
        outcome: text("outcome")?,
        opening: price("opening")?,
        opening_us: row.try_get("opening_us")?,
        previous: decimal(row, "previous")?,
        price: price("price")?,
        price_us: row.try_get("price_us")?,
        received_us: row.try_get("received_us")?,
        is_open: flag("is_open")?,
        in_play: flag("in_play")?,
        updated_us: row.try_get("updated_us")?,
    };
    Ok(StoredPrice {
        row: odds,
        is_offered: flag("is_offered")?,
        ticked_us: row.try_get("ticked_us")?,
    })
}

fn tick(row: &AnyRow) -> Result<Tick, sqlx::Error> {
    Ok(Tick {
        odds: unsigned(row.try_get("odds")?),
        at_us: row.try_get("at_us")?,
        received_us: row.try_get("received_us")?,
        price: decimal(row, "price")?,
    })
}

fn decimal(row: &AnyRow, column: &str) -> Result<Option<Decimal>, sqlx::Error> {
    let text: Option<String> = row.try_get(column)?;
    let number = text.map(|text| Decimal::from_str(&text)).transpose();
    number.map_err(|error| sqlx::Error::Decode(Box::new(error)))
}
