//! Rows as the archive has them, the state of their matches in the hub, and what is answered.

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::*;
use record::testing::{football, price, record};

const BOOKMAKERS: [&str; 3] = ["acme", "zeta", "consensus"];

/// Few distinct values, so that filters match and prices stay the same.
fn prices() -> impl Strategy<Value = Decimal> {
    (101..106_i64).prop_map(|hundredths| Decimal::new(hundredths, 2))
}

fn times() -> impl Strategy<Value = Micros> {
    1..6_i64
}

fn stored_rows() -> impl Strategy<Value = Vec<OddsRow>> {
    let row =
        (1..4_u64, select(&BOOKMAKERS[..]), prices(), option::of(prices()), times(), any::<bool>());
    let row = row.prop_map(|(match_id, bookmaker, now, previous, updated_us, is_open)| {
        let name = price(bookmaker, "home", None);
        OddsRow {
            id: name.id(match_id),
            public_id: None,
            match_id,
            bookmaker: name.bookmaker,
            market: name.market,
            period: None,
            line: None,
            outcome: name.outcome,
            opening: now,
            opening_us: 0,
            previous,
            price: now,
            price_us: 0,
            received_us: 0,
            is_open,
            in_play: false,
            updated_us,
        }
    });
    vec(row, 0..12).prop_map(|mut rows| {
        rows.sort_by_key(|row| row.id);
        rows.dedup_by_key(|row| row.id);
        rows
    })
}

/// The matches that the hub has, each with some prices.
fn current_records() -> impl Strategy<Value = Vec<Arc<MatchRecord>>> {
    let prices = vec((select(&BOOKMAKERS[..]), option::of(prices())), 0..4);
    let record = (1..4_u64, times(), prices).prop_map(|(id, updated, prices)| {
        let prices = prices.into_iter();
        let prices = prices.map(|(bookmaker, now)| price(bookmaker, "home", now)).collect();
        let mut record = MatchRecord { prices, ..record(id, football()) };
        record.brief_mut().updated = updated;
        Arc::new(record)
    });
    vec(record, 0..4)
}

fn filters() -> impl Strategy<Value = OddsFilter> {
    let movement = option::of(select(&[Movement::Shortening, Movement::Drifting][..]));
    let bounds = (option::of(prices()), option::of(prices()));
    (bounds, option::of(times()), movement, any::<bool>()).prop_map(
        |((min_price, max_price), updated_after, movement, newest_first)| OddsFilter {
            min_price,
            max_price,
            updated_after,
            movement,
            newest_first,
            ..OddsFilter::default()
        },
    )
}

/// By what a client reads in the row.
fn shows_what_is_filtered(filter: &OddsFilter, row: &OddsRow) -> bool {
    let least = filter.min_price.unwrap_or(Decimal::MIN);
    let most = filter.max_price.unwrap_or(Decimal::MAX);
    let moves = match (filter.movement, row.previous) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(Movement::Shortening), Some(previous)) => row.price < previous,
        (Some(Movement::Drifting), Some(previous)) => row.price > previous,
    };
    (least..=most).contains(&row.price)
        && filter.updated_after.is_none_or(|after| row.updated_us > after)
        && moves
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answered_rows_pass_their_filter_whatever_changed_since_they_were_written(
        stored in stored_rows(),
        records in current_records(),
        filter in filters(),
    ) {
        let mut selected = stored;
        selected.retain(|row| shows_what_is_filtered(&filter, row));
        let current =
            |id: Key| records.iter().find(|record| record.brief.id == id).map(Arc::clone);
        let answered = filter.bring_up_to_date(selected.clone(), current);
        for row in &answered {
            prop_assert!(shows_what_is_filtered(&filter, row), "{row:?}");
        }
        let is_sorted = answered.is_sorted_by_key(|row| Reverse(row.updated_us));
        prop_assert!(is_sorted || !filter.newest_first, "{answered:?}");
        // Without a filter, every row is answered as it is now.
        let now = OddsFilter::default().bring_up_to_date(selected, current);
        for row in now {
            let is_answered = answered.contains(&row);
            prop_assert_eq!(is_answered, shows_what_is_filtered(&filter, &row), "{:?}", row);
            if let Some(record) = current(row.match_id) {
                let offered = record.prices.iter().filter(|own| own.bookmaker == row.bookmaker);
                let offered: Vec<_> = offered.filter_map(|own| own.price).collect();
                prop_assert_eq!(row.is_open, !offered.is_empty(), "{:?}", row);
                prop_assert!(offered.is_empty() || offered.contains(&row.price), "{:?}", row);
            }
        }
    }
}
