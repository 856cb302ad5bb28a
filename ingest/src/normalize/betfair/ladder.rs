//! One side (back or lay) of one runner: ladders of three forms to rungs by price.
//!
//! A stream brings a whole ladder by price, or its best levels, raw or as displayed (with virtual
//! bets), or several of these at once. Only one form is reported, the best received so far for that
//! side of the runner: by price over displayed over raw. When a better form arrives, the levels of
//! the worse one are removed first.

use facts::{decimal::is_equal, event::Level};

use crate::decode::betfair::{LevelPriceSize, PriceSize};

use rust_decimal::Decimal;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    RawLevels,
    DisplayedLevels,
    ByPrice,
}

#[derive(Debug, Default)]
pub(super) struct Ladder {
    form: Option<Form>,
    table: LevelTable,
}

impl Ladder {
    /// Takes the lists of one change; gives the rungs that changed, to be applied in order.
    pub(super) fn apply(
        &mut self,
        by_price: Vec<PriceSize>,
        displayed: &[LevelPriceSize],
        raw: &[LevelPriceSize],
    ) -> Vec<Level> {
        let form = match (by_price.is_empty(), displayed.is_empty(), raw.is_empty()) {
            (false, _, _) => Form::ByPrice,
            (_, false, _) => Form::DisplayedLevels,
            (_, _, false) => Form::RawLevels,
            (true, true, true) => return Vec::new(),
        };
        if self.form > Some(form) {
            return Vec::new();
        }
        let mut rungs = if self.form < Some(form) { self.table.empty() } else { Vec::new() };
        self.form = Some(form);
        match form {
            Form::ByPrice if rungs.is_empty() => return self::rungs(by_price),
            Form::ByPrice => rungs.extend(self::rungs(by_price)),
            Form::DisplayedLevels => rungs.extend(self.table.apply(displayed)),
            Form::RawLevels => rungs.extend(self.table.apply(raw)),
        }
        rungs
    }
}

/// The same list in our words; the compiler reuses its memory.
pub(super) fn rungs(list: Vec<PriceSize>) -> Vec<Level> {
    list.into_iter().map(|PriceSize { price, size }| Level { price, size }).collect()
}

/// What stands at each level, the best first.
#[derive(Debug, Default)]
struct LevelTable(Vec<Option<Level>>);

impl LevelTable {
    /// Sets levels, then compares the prices that were there with those that are.
    fn apply(&mut self, changes: &[LevelPriceSize]) -> Vec<Level> {
        let before = self.rungs();
        for &LevelPriceSize { level, price, size } in changes {
            if level >= self.0.len() {
                self.0.resize(level + 1, None);
            }
            self.0[level] = (!size.is_zero()).then_some(Level { price, size });
        }
        difference(&before, &self.rungs())
    }

    /// Empties the table; gives the removal of each of its rungs.
    fn empty(&mut self) -> Vec<Level> {
        let before = self.rungs();
        self.0 = Vec::new();
        difference(&before, &[])
    }

    /// The rungs by price. Should two levels have one price, which the format does not foresee, the
    /// better level counts.
    fn rungs(&self) -> Vec<Level> {
        let mut rungs: Vec<Level> = Vec::with_capacity(self.0.len());
        for level in self.0.iter().flatten() {
            if !rungs.iter().any(|rung| is_equal(rung.price, level.price)) {
                rungs.push(*level);
            }
        }
        rungs
    }
}

fn difference(before: &[Level], after: &[Level]) -> Vec<Level> {
    let has_price =
        |levels: &[Level], price| levels.iter().any(|level| is_equal(level.price, price));
    let gone = before.iter().filter(|old| !has_price(after, old.price));
    let removals = gone.map(|old| Level { size: Decimal::ZERO, ..*old });
    let is_unchanged = |new: &&Level| {
        before.iter().any(|old| is_equal(old.price, new.price) && is_equal(old.size, new.size))
    };
    removals.chain(after.iter().filter(|new| !is_unchanged(new)).copied()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn by_price(text: &str) -> Vec<PriceSize> {
        let number = |text: &str| text.parse().expect("a decimal");
        let rung = |(price, size)| PriceSize { price: number(price), size: number(size) };
        text.split_whitespace().filter_map(|rung| rung.split_once('x')).map(rung).collect()
    }

    /// Levels written `0:2.5x10`.
    fn levels(text: &str) -> Vec<LevelPriceSize> {
        let level = |text: &str| {
            let (level, rung) = text.split_once(':').expect("a level");
            let PriceSize { price, size } = by_price(rung)[0];
            LevelPriceSize { level: level.parse().expect("a number"), price, size }
        };
        text.split_whitespace().map(level).collect()
    }

    fn check(ladder: &mut Ladder, lists: [&str; 3], expected: &str) {
        let [price, displayed, raw] = lists;
        let rungs = ladder.apply(by_price(price), &levels(displayed), &levels(raw));
        let text: Vec<_> = rungs.iter().map(|l| format!("{}x{}", l.price, l.size)).collect();
        assert_eq!(text.join(" "), expected, "after {lists:?}");
    }

    #[test]
    fn levels_become_prices() {
        let mut ladder = Ladder::default();
        check(&mut ladder, ["", "", "0:2.5x10 1:2.4x20"], "2.5x10 2.4x20");
        check(&mut ladder, ["", "", "0:2.6x5 1:2.5x10 2:2.4x20"], "2.6x5");
        check(&mut ladder, ["", "", "0:2.5x10 1:2.4x21 2:0x0"], "2.6x0 2.4x21");
        check(&mut ladder, ["", "", "7:0x0"], "");
        check(&mut ladder, ["", "", "0:0x0 1:0x0"], "2.5x0 2.4x0");
    }

    #[test]
    fn better_ladder_form_replaces_the_worse_permanently() {
        let mut ladder = Ladder::default();
        check(&mut ladder, ["", "", "0:2.5x10"], "2.5x10");
        check(&mut ladder, ["", "0:2.6x4", ""], "2.5x0 2.6x4");
        check(&mut ladder, ["", "", "0:2.5x11"], "");
        check(&mut ladder, ["2.6x9 1.5x1", "0:2.6x9", "0:2.5x9"], "2.6x0 2.6x9 1.5x1");
        check(&mut ladder, ["", "0:2.7x9", ""], "");
        check(&mut ladder, ["2.6x0", "", ""], "2.6x0");
    }

    proptest! {
        #[test]
        fn emitted_prices_equal_the_prices_of_the_table(
            changes in vec(vec((0..6_usize, 1..8_i64, 0..4_i64), 0..6), 0..30),
        ) {
            let mut table = LevelTable::default();
            let mut applied = BTreeMap::new();
            for change in changes {
                let rows = change.iter().map(|&(level, price, size)| LevelPriceSize {
                    level,
                    price: price.into(),
                    size: size.into(),
                });
                for rung in table.apply(&rows.collect::<Vec<_>>()) {
                    if rung.size.is_zero() {
                        prop_assert!(applied.remove(&rung.price).is_some(), "it was there");
                    } else {
                        applied.insert(rung.price, rung.size);
                    }
                }
                let seen = table.rungs().into_iter().map(|rung| (rung.price, rung.size));
                prop_assert_eq!(&applied, &seen.collect());
            }
        }
    }
}
