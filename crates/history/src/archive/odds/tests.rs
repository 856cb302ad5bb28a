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
        record.summary_mut().updated = updated;
        Arc::new(record)
    });
    vec(record, 0..4)
}

fn filters() -> impl Strategy<Value = OddsFilter> {
    let movement = option::of(select(&[Movement::Shortening, Movement::Drifting][..]));
    let bounds = (option::of(prices()), option::of(prices()));
    (bounds, option::of(times()), movement).prop_map(
        |((min_price, max_price), updated_after, movement)| OddsFilter {
            min_price,
            max_price,
            updated_after,
            movement,
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

#[test]
fn lists_read_a_limited_number_of_prices() {
    let counts = |match_id, updated_us| PriceCounts {
        match_id,
        total: READ_MAX / 2,
        whole: READ_MAX / 2,
        consensus: 0,
        oldest_us: 1,
        updated_us,
    };
    let matches = [counts(1, 5), counts(2, 5), counts(3, 5)];
    let market = OddsFilter { market: Some("match_winner".into()), ..OddsFilter::default() };
    let nothing = |_| None;
    assert_eq!(market.check_read(&matches, nothing), Err(TooManyPrices(READ_MAX / 2 * 3)));
    assert_eq!(market.check_read(&matches[1..], nothing), Ok(()));
    assert_eq!(OddsFilter::default().check_read(&matches, nothing), Ok(()), "counts suffice");
    let recent = OddsFilter { updated_after: Some(5), ..market };
    assert_eq!(recent.check_read(&matches, nothing), Ok(()), "none is as new");
    let error = sqlx::Error::Encode(Box::new(TooManyPrices(7)));
    assert_eq!(TooManyPrices::from_error(&error), Some(TooManyPrices(7)));
    assert_eq!(TooManyPrices::from_error(&sqlx::Error::RowNotFound), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answered_rows_are_those_that_pass_the_filter_now(
        stored in stored_rows(),
        records in current_records(),
        filter in filters(),
        window in (0..8_usize, 0..8_usize),
    ) {
        let current =
            |id: Key| records.iter().find(|record| record.summary.id == id).map(Arc::clone);
        let all = OddsFilter::default();
        let mut page = OddsPage::new(&filter, Window { offset: window.0, limit: window.1 });
        let mut now = Vec::new();
        let mut unread = BTreeMap::new();
        for id in 1..4 {
            let rows: Vec<_> = stored.iter().filter(|row| row.match_id == id).cloned().collect();
            let packed = rows.iter().cloned().map(|row| StoredPrice { row, is_offered: true, ticked_us: 0 });
            let packed: Vec<_> = packed.collect();
            if page.add(&PriceCounts::new(id, &packed), current) {
                unread.insert(id, packed);
            }
            let mut rows = all.select(rows, current(id).as_deref());
            rows.sort_by(|one, other| one.in_match().cmp(&other.in_match()));
            now.extend(rows);
        }
        page.read(unread, current);
        let passing = now.iter().filter(|row| shows_what_is_filtered(&filter, row));
        let passing: Vec<_> = passing.cloned().collect();
        let (count, answered) = page.finish();
        prop_assert_eq!(count, passing.len());
        let expected: Vec<_> = passing.into_iter().skip(window.0).take(window.1).collect();
        prop_assert_eq!(answered, expected);
        for row in now {
            if let Some(record) = current(row.match_id) {
                let offered = record.prices.iter().filter(|price| price.bookmaker == row.bookmaker);
                let offered: Vec<_> = offered.filter_map(|price| price.price).collect();
                prop_assert_eq!(row.is_open, !offered.is_empty(), "{:?}", row);
                prop_assert!(offered.is_empty() || offered.contains(&row.price), "{:?}", row);
            }
        }
    }
}
