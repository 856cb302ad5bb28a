//! Random ticks in, blocks out, the same ticks back.

use std::collections::BTreeMap;

use proptest::{collection::vec, option, prelude::*};
use rust_decimal::Decimal;

use super::*;
use crate::archive::store::pack::{compressed, pack_ticks, unpack_ticks};

const HOUR_US: Micros = 3_600_000_000;

/// Ticks of a few rows, whose times may be the same and need not increase.
fn ticks() -> impl Strategy<Value = Vec<Tick>> {
    let tick = (0..5_u64, 0..100_i64, 0..60_i64, option::of(101..999_i64));
    let tick = tick.prop_map(|(odds, at, received, price)| Tick {
        odds: odds << 40,
        at_us: at * HOUR_US / 7,
        received_us: received * HOUR_US,
        price: price.map(|price| Decimal::new(price, 2)),
    });
    vec(tick, 1..700)
}

/// The last tick of each row and time.
fn by_row<'a>(ticks: impl IntoIterator<Item = &'a Tick>) -> Vec<Tick> {
    let last: BTreeMap<_, _> =
        ticks.into_iter().map(|tick| ((tick.odds, tick.at_us), *tick)).collect();
    last.into_values().collect()
}

fn is_well_formed(block: &TrailBlock) -> bool {
    let received: Vec<_> = block.ticks.iter().map(|tick| tick.received_us).collect();
    (1..=TICKS_MAX).contains(&block.ticks.len())
        && block.until_us - block.from_us < SPAN_MAX_US
        && received.iter().all(|at| (block.from_us..=block.until_us).contains(at))
        && block.ticks.is_sorted_by_key(|tick| (tick.odds, tick.at_us))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// In any number of writes, each packed and unpacked again.
    #[test]
    fn blocks_have_the_trail_that_was_written(writes in vec(ticks(), 1..4)) {
        let mut stored: BTreeMap<i64, TrailBlock> = BTreeMap::new();
        let mut expected = Vec::new();
        for mut ticks in writes {
            // As the archive receives them.
            ticks.sort_by_key(|tick| tick.received_us);
            expected.extend(ticks.iter().copied());
            let open = stored.values().next_back().cloned();
            for block in TrailBlock::append(open, ticks) {
                prop_assert!(is_well_formed(&block), "{block:?}");
                let packed = pack_ticks(&block.ticks).unwrap();
                prop_assert_eq!(&unpack_ticks(&packed).unwrap(), &block.ticks);
                stored.insert(block.number, block);
            }
        }
        let mut trail: Vec<_> = stored.into_values().flat_map(|block| block.ticks).collect();
        sort(&mut trail);
        prop_assert_eq!(trail, by_row(&expected));
    }
}

#[test]
fn full_block_is_followed_by_the_next_number() {
    let tick = |at_us| Tick { odds: 1, at_us, received_us: at_us, price: None };
    let full: Vec<_> = (0..).take(TICKS_MAX).map(tick).collect();
    let open = TrailBlock::append(None, full).pop();
    let blocks = TrailBlock::append(open, vec![tick(1_000), tick(1_000 + SPAN_MAX_US)]);
    let sizes: Vec<_> = blocks.iter().map(|block| (block.number, block.ticks.len())).collect();
    assert_eq!(sizes, [(0, TICKS_MAX), (1, 1), (2, 1)]);
}

#[test]
fn block_of_unequal_columns_is_refused() {
    let packed = |at_us: &[i64]| {
        let columns = serde_json::json!(
            {"odds": [7, 7], "at_us": at_us, "delay_us": [5, 5], "price": ["2.10", null]}
        );
        compressed(&columns).unwrap()
    };
    let price = Some(Decimal::new(210, 2));
    let tick = |at_us, price| Tick { odds: 7, at_us, received_us: at_us + 5, price };
    assert_eq!(unpack_ticks(&packed(&[10, 20])).unwrap(), [tick(10, price), tick(20, None)]);
    assert!(unpack_ticks(&packed(&[10])).is_err() && unpack_ticks(b"x").is_err());
}
