//! The prices that came and went between two writes.

use std::{cmp::max_by_key, collections::HashMap};

use base::Micros;

use super::stored_price::by_row;
use record::{Key, MatchChange, PriceRecord};

const SECOND_US: Micros = 1_000_000;
/// Prices kept between two writes, about 200 bytes each. Beyond it, prices that came and went are left out.
const PRICES_MAX: usize = 600_000;

/// The changes of prices between two writes: the first of each price, then the last of each second by the source's clock.
#[derive(Debug, Clone, Default)]
pub struct PriceTrail {
    /// By match, then by row.
    matches: HashMap<Key, RowTrails>,
    len: usize,
}

/// The prices of each row, oldest first.
pub(super) type RowTrails = HashMap<Key, Vec<PassedPrice>>;

/// A price as it was reported.
#[derive(Debug, Clone)]
pub(super) struct PassedPrice {
    pub(super) reported: PriceRecord,
    pub(super) received: Micros,
}

impl PriceTrail {
    /// Adds the prices of these changes, which are later than those before.
    pub fn add(&mut self, changes: &[MatchChange]) {
        for change in changes {
            let MatchChange::Updated(update) = change else { continue };
            let (id, received) = (update.summary.id, update.summary.updated);
            let prices = update.markets.iter().flat_map(|market| &market.prices);
            for (row, price) in by_row(id, prices) {
                self.push(id, row, PassedPrice { reported: price.clone(), received });
            }
        }
    }

    /// Appends a trail that is later than this one.
    pub(super) fn append(&mut self, later: Self) {
        for (id, rows) in later.matches {
            for (row, prices) in rows {
                prices.into_iter().for_each(|price| self.push(id, row, price));
            }
        }
    }

    /// Whether half of what is kept is there.
    pub(super) fn is_filling(&self) -> bool {
        self.len >= PRICES_MAX / 2
    }

    /// What was reported of a match.
    pub(super) fn rows(&self, id: Key) -> Option<&RowTrails> {
        self.matches.get(&id)
    }

    fn push(&mut self, id: Key, row: Key, price: PassedPrice) {
        let is_full = self.len >= PRICES_MAX;
        if is_full && self.matches.get(&id).is_none_or(|rows| !rows.contains_key(&row)) {
            return;
        }
        let passed = self.matches.entry(id).or_default().entry(row).or_default();
        let only_one = passed.len() == 1;
        match passed.last_mut() {
            Some(last) if last.reported.price == price.reported.price => {}
            // At one moment by both clocks: the one on offer counts, then the later one. In a quick replay seconds of the
            // source are received at once.
            Some(last)
                if last.received == price.received
                    && last.reported.at.abs_diff(price.reported.at) < SECOND_US.unsigned_abs() =>
            {
                *last = max_by_key(last.clone(), price, PassedPrice::preference);
            }
            Some(last) if !only_one && last.second() == price.second() => *last = price,
            _ if self.len < PRICES_MAX => {
                self.len += 1;
                // A vector would make room for four, and most prices have one or two.
                if passed.len() == passed.capacity() {
                    passed.reserve_exact(passed.len().max(1));
                }
                passed.push(price);
            }
            _ => {}
        }
    }
}

impl PassedPrice {
    fn preference(&self) -> (bool, Micros) {
        (self.reported.price.is_some(), self.reported.at)
    }

    /// By both clocks: a consensus is as old as its oldest price, and a replay is received at once.
    fn second(&self) -> (Micros, Micros) {
        (self.reported.at.div_euclid(SECOND_US), self.received.div_euclid(SECOND_US))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rust_decimal::dec;

    use super::*;
    use crate::archive::{Archive, OddsFilter, Window};
    use database::testing::on_each;
    use record::{
        MarketPlace, MarketUpdate, MatchRecord, MatchSummary, MatchUpdate,
        testing::{MATCH, NOW, football, price, record},
    };

    const SECOND: Micros = SECOND_US;

    /// An update of the match with these prices, which was received then.
    fn update(prices: &[PriceRecord], received: Micros) -> MatchChange {
        let whole = record(MATCH, football());
        let mut summary = MatchSummary::clone(&whole.summary);
        summary.updated = received;
        let position = MarketPlace::Book(0, 0);
        let market = MarketUpdate { position, prices: prices.to_vec(), runners: Vec::new() };
        MatchChange::Updated(Box::new(MatchUpdate {
            summary,
            refs: whole.refs.clone(),
            names: whole.names,
            play: None,
            is_complete: false,
            markets: vec![market],
            freshness: None,
        }))
    }

    /// Prices that came and went between two writes: the first is the opening, and each second keeps its last. A trail that is
    /// written again adds nothing.
    #[tokio::test]
    async fn history_has_prices_between_two_writes_one_a_second() {
        on_each(async |database| {
            let archive = Archive::open(&database).await.unwrap();
            let reports = [
                (0, Some(dec!(1.35))),
                (200_000, Some(dec!(1.40))),
                (900_000, Some(dec!(1.41))),
                (SECOND, Some(dec!(1.41))),
                (61 * SECOND, Some(dec!(1.50))),
                (61 * SECOND + 1, Some(dec!(1.51))),
                (90 * SECOND, None),
                (95 * SECOND, Some(dec!(1.53))),
            ];
            let mut trail = PriceTrail::default();
            let mut last = price("acme", "home", None);
            for (after, to) in reports {
                last = PriceRecord { price: to, open: to.is_some(), at: NOW + after, ..last };
                trail.add(&[update(&[last.clone()], NOW + after)]);
            }
            // An outcome that one message reports twice is not a price that goes back and forth.
            let other = price("acme", "away", Some(dec!(3)));
            let twice = [other.clone(), PriceRecord { price: Some(dec!(4)), at: NOW + 1, ..other }];
            trail.add(&[update(&twice, NOW + SECOND), update(&twice, NOW + 2 * SECOND)]);
            let mut record = record(MATCH, football());
            record.summary_mut().updated = NOW + 100 * SECOND;
            let away = twice[1].clone();
            let record = Arc::new(MatchRecord { prices: vec![last.clone(), away], ..record });
            for _ in 0..2 {
                archive.replace(&[Arc::clone(&record)], &trail, NOW).await.unwrap();
                let row = row_of(&archive, &last).await;
                assert_eq!((row.opening, row.opening_us), (dec!(1.35), NOW));
                assert_eq!((row.previous, row.price), (Some(dec!(1.51)), dec!(1.53)));
                let ticks = archive.ticks(MATCH, &[row.id]).await.unwrap();
                let ticks: Vec<_> =
                    ticks.iter().map(|tick| (tick.at_us - NOW, tick.price)).collect();
                let expected = [0, 2, 5, 6, 7].map(|number| reports[number]);
                assert_eq!(ticks, expected);
                assert_eq!(archive.ticks(MATCH, &[twice[0].id(MATCH)]).await.unwrap().len(), 1);
            }
        })
        .await;
    }

    /// In a quick replay, exports of one turn were received at once.
    #[test]
    fn prices_that_are_seconds_apart_by_the_source_stay_in_a_quick_replay() {
        let mut trail = PriceTrail::default();
        let mut last = price("acme", "home", None);
        let reports = [(0, dec!(1.35)), (2 * SECOND, dec!(1.40)), (4 * SECOND, dec!(1.50))];
        for (after, to) in reports {
            last = PriceRecord { price: Some(to), at: NOW + after, ..last };
            trail.add(&[update(&[last.clone()], NOW)]);
        }
        let passed = &trail.rows(MATCH).unwrap()[&last.id(MATCH)];
        let prices: Vec<_> = passed.iter().map(|it| it.reported.price).collect();
        assert_eq!(prices, reports.map(|(_, to)| Some(to)));
    }

    #[test]
    fn outcome_that_a_message_reports_twice_has_one_price() {
        let mut trail = PriceTrail::default();
        let first = price("acme", "away", Some(dec!(3)));
        let second = PriceRecord { price: Some(dec!(4)), at: NOW + 5 * SECOND, ..first.clone() };
        let twice = [first, second];
        trail.add(&[update(&twice, NOW + 6 * SECOND), update(&twice, NOW + 7 * SECOND)]);
        let passed = &trail.rows(MATCH).unwrap()[&twice[0].id(MATCH)];
        let prices: Vec<_> = passed.iter().map(|it| it.reported.price).collect();
        assert_eq!(prices, [Some(dec!(4))]);
    }

    #[test]
    fn full_trail_has_no_new_rows() {
        let mut full = PriceTrail { len: PRICES_MAX, ..PriceTrail::default() };
        full.add(&[update(&[price("acme", "home", Some(dec!(2)))], NOW)]);
        assert!(full.matches.is_empty() && full.is_filling());
        assert!(!PriceTrail::default().is_filling());
    }

    /// The row of a price.
    async fn row_of(archive: &Archive, price: &PriceRecord) -> crate::archive::OddsRow {
        let rows = archive.odds(&OddsFilter::default(), Window::ALL, |_| None).await.unwrap().1;
        rows.into_iter().find(|row| row.id == price.id(MATCH)).unwrap()
    }
}
