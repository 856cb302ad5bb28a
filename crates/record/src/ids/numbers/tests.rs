use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::prelude::*;

use super::*;

/// A prime so small that most digests find their first choice taken.
const FEW: u32 = 211;

fn digest(number: u64) -> Id {
    Id::derive("acme", "team", &number.to_string())
}

#[test]
fn choices_include_every_number_once() {
    for id in [Id(0), Id(1), digest(7), Id((1 << 52) - 1)] {
        let all: BTreeSet<u32> = choices(id, FEW).collect();
        assert_eq!(all, (1..=FEW).collect(), "{id}");
    }
    for id in (0..1_000).map(digest) {
        let mut first = choices(id, NUMBERS_MAX).take(100);
        assert!(first.all(|number| i32::try_from(number).is_ok() && number > 0));
    }
}

#[test]
fn numbers_run_out_without_duplicates() {
    let mut numbers = Numbers::with_count(FEW);
    let given: BTreeSet<u32> =
        (0..u64::from(FEW)).map(|it| numbers.take(digest(it)).expect("there is room").0).collect();
    assert_eq!(given.len(), FEW as usize);
    assert_eq!(numbers.take(digest(u64::from(FEW))), None);
    assert_eq!(numbers.get(digest(u64::from(FEW))), None);
}

/// As evenly distributed as a digest, but cheap to compute.
fn scattered(number: u64) -> Id {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    Id((mixed ^ mixed >> 31) >> 12)
}

/// As at a birthday party, some want the same first choice: some 20 of 300,000.
#[test]
fn each_digest_has_its_own_number() {
    let mut numbers = Numbers::default();
    let all = || (0..300_000).map(scattered);
    let given: HashSet<u32> = all().map(|id| numbers.take(id).expect("there is room").0).collect();
    assert_eq!(given.len(), 300_000);
    let is_moved = |id: &Id| numbers.get(*id) != choices(*id, NUMBERS_MAX).next();
    let moved = all().filter(is_moved).count();
    assert!((3..100).contains(&moved), "{moved} did not get their first choice");
}

#[derive(Debug, Clone)]
enum Step {
    Take(u64),
    /// The program restarts and reads the stored numbers, in another order.
    Restart {
        rotate: usize,
    },
    /// Another program, independent of this one, assigned a number.
    Other(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..150_u64).prop_map(Step::Take),
        1 => (0..200_usize).prop_map(|rotate| Step::Restart { rotate }),
        2 => (100..190_u64).prop_map(Step::Other),
    ]
}

proptest! {
    #[test]
    fn digest_keeps_its_number_and_no_two_digests_share_one(
        steps in prop::collection::vec(step(), 1..400)
    ) {
        let mut numbers = Numbers::with_count(FEW);
        let mut stored: BTreeMap<Id, u32> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Take(it) => {
                    let (number, is_new) = numbers.take(digest(it)).expect("there are more numbers");
                    let before = stored.insert(digest(it), number);
                    prop_assert_eq!(before.is_none(), is_new);
                    prop_assert!(before.is_none_or(|before| before == number), "{} has moved", it);
                }
                Step::Restart { rotate } => {
                    let mut rows: Vec<_> = stored.iter().collect();
                    let middle = rotate % rows.len().max(1);
                    rows.rotate_left(middle);
                    numbers = Numbers::with_count(FEW);
                    for (id, number) in rows {
                        prop_assert!(numbers.insert(*id, *number));
                    }
                }
                Step::Other(it) => {
                    // Numbers not stored by this program can conflict with the other program's choice only
                    // by the number itself, which is unique in the table.
                    if stored.contains_key(&digest(it)) {
                        continue;
                    }
                    let free = choices(digest(it), FEW).skip(1);
                    let taken: BTreeSet<u32> = stored.values().copied().collect();
                    let number = { free }.find(|number| !taken.contains(number));
                    let Some(number) = number else { continue };
                    prop_assert!(numbers.insert(digest(it), number));
                    stored.insert(digest(it), number);
                }
            }
            for (id, number) in &stored {
                prop_assert_eq!(numbers.get(*id), Some(*number));
            }
            let distinct: BTreeSet<_> = stored.values().collect();
            prop_assert_eq!(distinct.len(), stored.len());
        }
    }
}
