//! A price in an answer: its row in the archive, and its value in the hub now.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use rust_decimal::{Decimal, RoundingStrategy};

use super::market::{self, Market};
use crate::rest::Number;
use history::query::{Movement, OddsRow};
use record::{CONSENSUS, Key, MatchRecord, PriceRecord, odds_id};

/// A price that the archive does not have yet. Its history begins with this.
fn new(record: &MatchRecord, current: &PriceRecord) -> Option<OddsRow> {
    let price = current.price?;
    let match_id = record.summary.id;
    Some(OddsRow {
        id: odds_id(match_id, current),
        public_id: None,
        match_id,
        bookmaker: Arc::clone(&current.bookmaker),
        market: Arc::clone(&current.market),
        period: current.period.clone(),
        line: current.line.map(|line| line.normalize()),
        outcome: Arc::clone(&current.outcome),
        opening: price,
        opening_us: current.at,
        previous: None,
        price,
        price_us: current.at,
        received_us: record.summary.updated,
        is_open: current.open,
        in_play: current.in_play,
        updated_us: record.summary.updated,
    })
}

/// The direction of a price change; empty if it has not moved.
#[must_use]
pub(in crate::rest) fn movement(row: &OddsRow) -> &'static str {
    match row.movement() {
        Some(Movement::Shortening) => "SHORTENING",
        Some(Movement::Drifting) => "DRIFTING",
        None => "",
    }
}

/// 1/price, to four decimal places.
#[must_use]
pub(in crate::rest) fn implied(price: Decimal) -> Option<Number> {
    let rounding = RoundingStrategy::MidpointAwayFromZero;
    let implied = Decimal::ONE.checked_div(price)?;
    Some(Number(implied.round_dp_with_strategy(4, rounding)))
}

#[must_use]
pub(in crate::rest) fn is_consensus(row: &OddsRow) -> bool {
    &*row.bookmaker == CONSENSUS
}

/// What the market and the outcome are called in the football interface; as we call them, where they
/// have no name there.
#[must_use]
pub(in crate::rest) fn football(row: &OddsRow) -> (Cow<'static, str>, Cow<'static, str>) {
    let market = Market::recorded(&row.market, row.period.as_deref(), row.line);
    let owned = |text: &str| Cow::Owned(text.to_owned());
    let outcome = market.and_then(|market| market.outcome(&row.outcome));
    match (market, outcome) {
        (Some(market), Some(outcome)) => (market.name.into(), outcome.into()),
        (Some(_) | None, _) => (owned(&row.market), owned(&row.outcome)),
    }
}

#[must_use]
pub(in crate::rest) fn outcome_name(row: &OddsRow) -> String {
    market::outcome_name(&row.outcome, row.line)
}

/// What can be bet on, at any bookmaker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::rest) struct OutcomeKey {
    pub(in crate::rest) match_id: Key,
    pub(in crate::rest) market: Arc<str>,
    pub(in crate::rest) period: Option<Arc<str>>,
    pub(in crate::rest) line: Option<Decimal>,
    pub(in crate::rest) outcome: Arc<str>,
}

impl OutcomeKey {
    /// By which prices of the same thing are put together.
    #[must_use]
    pub(in crate::rest) fn new(row: &OddsRow) -> Self {
        Self {
            match_id: row.match_id,
            market: Arc::clone(&row.market),
            period: row.period.clone(),
            line: row.line,
            outcome: Arc::clone(&row.outcome),
        }
    }
}

/// The archived prices of a match, updated with the hub's current state: by market, line, outcome and
/// bookmaker, the consensus first.
#[must_use]
pub(in crate::rest) fn up_to_date(record: &MatchRecord, archived: Vec<OddsRow>) -> Vec<OddsRow> {
    updated(record, archived, |_| true)
}

/// The same for the prices of the consensus, if only these were read.
#[must_use]
pub(in crate::rest) fn consensus(record: &MatchRecord, archived: Vec<OddsRow>) -> Vec<OddsRow> {
    updated(record, archived, |current| &*current.bookmaker == CONSENSUS)
}

fn updated(
    record: &MatchRecord,
    archived: Vec<OddsRow>,
    is_wanted: fn(&PriceRecord) -> bool,
) -> Vec<OddsRow> {
    let mut rows: HashMap<Key, OddsRow> = archived.into_iter().map(|row| (row.id, row)).collect();
    let current = record.prices.iter().filter(|current| is_wanted(current));
    let current: HashMap<Key, &PriceRecord> =
        current.map(|price| (odds_id(record.summary.id, price), price)).collect();
    for row in rows.values_mut() {
        row.bring_up_to_date(record, current.get(&row.id).copied());
    }
    for (id, price) in current {
        if let Entry::Vacant(entry) = rows.entry(id)
            && let Some(row) = new(record, price)
        {
            entry.insert(row);
        }
    }
    in_order(rows.into_values().collect())
}

/// Prices of a match by market, line, outcome and bookmaker, the consensus first.
#[must_use]
pub(super) fn in_order(mut rows: Vec<OddsRow>) -> Vec<OddsRow> {
    rows.sort_by_cached_key(|row| {
        (OutcomeKey::new(row), !is_consensus(row), Arc::clone(&row.bookmaker))
    });
    rows
}

/// Those that can be taken; of a match that is over, the last that could.
pub(in crate::rest) fn on_offer<'a>(
    record: &MatchRecord,
    rows: &'a [OddsRow],
) -> impl Iterator<Item = &'a OddsRow> {
    let over = record.summary.status.is_over();
    rows.iter().filter(move |row| row.is_open || over)
}

/// The highest price of each thing and who has it, the first by name where several have. The
/// consensus has none. What can be taken counts; where nothing can, what could last.
#[must_use]
pub(super) fn best<'a>(
    rows: impl Iterator<Item = &'a OddsRow>,
) -> HashMap<OutcomeKey, &'a OddsRow> {
    let order = |row: &OddsRow| (row.is_open, row.price, Reverse(Arc::clone(&row.bookmaker)));
    let mut best: HashMap<OutcomeKey, &OddsRow> = HashMap::new();
    for row in rows.filter(|row| !is_consensus(row)) {
        let best_row = best.entry(OutcomeKey::new(row)).or_insert(row);
        if order(row) > order(best_row) {
            *best_row = row;
        }
    }
    best
}

/// What [`best`] pays.
#[must_use]
pub(in crate::rest) fn highest(rows: &[OddsRow]) -> HashMap<OutcomeKey, Decimal> {
    best(rows.iter()).into_iter().map(|(thing, row)| (thing, row.price)).collect()
}

#[cfg(test)]
mod tests {
    use rust_decimal::dec;

    use super::*;

    fn row(bookmaker: &str, price: Decimal, is_open: bool) -> OddsRow {
        OddsRow {
            id: 1,
            public_id: Some(1),
            match_id: 7,
            bookmaker: bookmaker.into(),
            market: "over_under".into(),
            period: None,
            line: Some(dec!(2.5)),
            outcome: "over".into(),
            opening: dec!(2.00),
            opening_us: 0,
            previous: Some(dec!(2.10)),
            price,
            price_us: 0,
            received_us: 0,
            is_open,
            in_play: false,
            updated_us: 0,
        }
    }

    #[test]
    fn highest_price_that_can_be_taken_is_the_best() {
        let rows = [
            row(CONSENSUS, dec!(9), true),
            row("b", dec!(2.30), false),
            row("c", dec!(2.20), true),
            row("a", dec!(2.2), true),
        ];
        let best_of = |rows: &[OddsRow]| {
            let best = best(rows.iter());
            best.values().next().map(|row| row.bookmaker.to_string())
        };
        assert_eq!(best_of(&rows).as_deref(), Some("a"), "the first by name of equals");
        assert_eq!(best_of(&rows[..2]).as_deref(), Some("b"), "none can be taken");
        assert_eq!(best_of(&rows[..1]), None, "the consensus is no bookmaker");
    }

    #[test]
    fn price_has_its_movement_and_implied_probability() {
        assert_eq!(movement(&row("a", dec!(2.2), true)), "DRIFTING");
        assert_eq!(movement(&row("a", dec!(2.0), true)), "SHORTENING");
        assert_eq!(movement(&row("a", dec!(2.1), true)), "");
        assert_eq!(implied(dec!(3)), Some(Number(dec!(0.3333))));
        assert_eq!(implied(Decimal::ZERO), None);
        let (market, outcome) = football(&row("a", dec!(2), true));
        assert_eq!((&*market, &*outcome), ("over_under_25", "over"));
        assert_eq!(outcome_name(&row("a", dec!(2), true)), "Over 2.50");
    }
}
