//! What was traded on one runner, price by price, and what that comes to.
//!
//! On a live stream a runner's `tv` is the sum of its `trd` (all 9,554 of the recorded race, to the
//! cent). In PRO files it is the sum of the `trd` in the same message (all 5,535 of two
//! recordings), which is no running total of anything; the market's `tv` is not there at all. The
//! sum of the ladder is right in both, so it is the volume wherever a `tv` falls short of it.

use facts::decimal;
use rust_decimal::Decimal;

use crate::decode::betfair::PriceSize;

/// Prices of one runner. Betfair's ladder has 350; beyond this many nothing is stored, and `tv` is
/// reported as received.
const PRICES_MAX: usize = 1000;

/// By how much rounding may set `tv` and the ladder apart, in the market's money.
const ROUNDING: Decimal = Decimal::from_parts(5, 0, 0, false, 2);

/// 32 bytes a price.
#[derive(Debug, Default)]
pub(super) struct Traded {
    /// By price.
    sizes: Vec<(Decimal, Decimal)>,
    sum: Decimal,
}

impl Traded {
    pub(super) fn apply(&mut self, changes: &[PriceSize]) {
        for change in changes {
            match self.sizes.binary_search_by(|(price, _)| decimal::compare(*price, change.price)) {
                Ok(at) => {
                    self.add(change.size, self.sizes[at].1);
                    self.sizes[at].1 = change.size;
                }
                Err(at) if self.sizes.len() < PRICES_MAX => {
                    self.add(change.size, Decimal::ZERO);
                    self.sizes.insert(at, (change.price, change.size));
                }
                Err(_) => {}
            }
        }
    }

    fn add(&mut self, now: Decimal, before: Decimal) {
        let change = now.checked_sub(before);
        self.sum = change.and_then(|it| self.sum.checked_add(it)).unwrap_or(self.sum);
    }

    /// The volume of the runner, from the `tv` that came with it. 0 is reported as 0: that is the
    /// reset before the market closes.
    pub(super) fn volume(&self, tv: Decimal) -> Decimal {
        let short = self.sum.checked_sub(tv).is_some_and(|short| short > ROUNDING);
        if short && !tv.is_zero() && self.sizes.len() < PRICES_MAX { self.sum } else { tv }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(price: i64, size: i64) -> PriceSize {
        PriceSize { price: price.into(), size: size.into() }
    }

    #[test]
    fn volume_is_the_ladder_where_tv_falls_short_of_it() {
        let mut traded = Traded::default();
        traded.apply(&[rung(2, 40)]);
        assert_eq!(traded.volume(40.into()), 40.into());
        traded.apply(&[rung(3, 5)]);
        assert_eq!(
            traded.volume(5.into()),
            45.into(),
            "a PRO file has the volume of the message alone"
        );
        assert_eq!(traded.volume(45.into()), 45.into(), "a live stream has the total volume");
        assert_eq!(traded.volume(0.into()), 0.into(), "a wipe");
        traded.apply(&[rung(2, 0), rung(3, 6)]);
        assert_eq!(traded.sum, 6.into());
    }

    #[test]
    fn remembered_prices_are_limited() {
        let mut traded = Traded::default();
        let rungs: Vec<_> = (0..2000).map(|price| rung(price, 1)).collect();
        traded.apply(&rungs);
        assert_eq!(traded.sizes.len(), PRICES_MAX);
        assert_eq!(traded.volume(7.into()), 7.into());
    }
}
