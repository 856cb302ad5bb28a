//! The bookmakers, all made up: how much each keeps, how fast it is, and which prices it shows.

use rust_decimal::Decimal;

/// How one bookmaker trades.
#[derive(Debug)]
pub(super) struct Bookmaker {
    pub(super) slug: &'static str,
    /// What the implied probabilities of a market add up to beyond 1. Never below 0.022: with the
    /// favourite at the lowest price, 1.01, less would leave a book that loses on every outcome.
    margin: f64,
    /// Milliseconds between two looks at its own prices in play.
    pub(super) pace_ms: (i64, i64),
    /// Milliseconds from the all-clear until it opens again.
    pub(super) reopens_ms: (i64, i64),
    /// The move of a true probability below which it leaves its prices alone.
    pub(super) sensitivity: f64,
    ladder: &'static Ladder,
}

/// The prices that a bookmaker shows, in hundredths: up to each bound in steps of that size.
#[derive(Debug)]
struct Ladder {
    steps: &'static [(u32, u32)],
    max: u32,
}

const LOWEST: u32 = 101;

/// The steps of betting exchanges.
const EXCHANGE: Ladder = Ladder {
    steps: &[(200, 1), (300, 2), (400, 5), (600, 10), (1000, 20), (2000, 50), (10_000, 100)],
    max: 10_000,
};
/// Every hundredth as long as it matters.
const FINE: Ladder = Ladder { steps: &[(500, 1), (1000, 5), (2000, 25), (5_100, 100)], max: 5_100 };
/// Fifths of a tenth at most: the prices of a shop window.
const COARSE: Ladder =
    Ladder { steps: &[(150, 1), (200, 2), (300, 5), (500, 10), (1500, 50)], max: 5_000 };

/// Slug, margin, pace, time to reopen, sensitivity, ladder.
pub(super) const BOOKMAKERS: [Bookmaker; 6] = [
    Bookmaker::new("amberline", 0.025, (2_400, 4_400), (2_000, 4_000), 0.0022, &EXCHANGE),
    Bookmaker::new("cobaltbet", 0.048, (4_000, 7_200), (3_000, 7_000), 0.003, &FINE),
    Bookmaker::new("fernwager", 0.062, (5_000, 9_000), (5_000, 12_000), 0.004, &COARSE),
    Bookmaker::new("larkodds", 0.055, (3_600, 6_400), (3_000, 8_000), 0.003, &FINE),
    Bookmaker::new("quillbook", 0.034, (2_800, 5_200), (2_000, 5_000), 0.0025, &EXCHANGE),
    Bookmaker::new("stonetick", 0.078, (6_000, 12_000), (8_000, 20_000), 0.005, &COARSE),
];

impl Bookmaker {
    const fn new(
        slug: &'static str,
        margin: f64,
        pace_ms: (i64, i64),
        reopens_ms: (i64, i64),
        sensitivity: f64,
        ladder: &'static Ladder,
    ) -> Self {
        Self { slug, margin, pace_ms, reopens_ms, sensitivity, ladder }
    }

    /// The price, in hundredths, that it shows for one of `selections` with a true probability.
    ///
    /// This is the one place where the model's floating point becomes a price. The margin is spread
    /// evenly, each selection being offered as if it were `margin / selections` likelier than it
    /// is (the additive method, which shortens outsiders most, as bookmakers do), and the price is
    /// cut down to a step of the ladder, to the bookmaker's side. Both only ever shorten a price,
    /// so a book's implied probabilities always add up to more than 1.
    pub(super) fn price(&self, probability: f64, selections: usize) -> u32 {
        let implied = probability + self.margin / selections as f64;
        // Bounded on both sides, so the conversion is exact up to its fraction.
        let hundredths = (100.0 / implied).clamp(f64::from(LOWEST), f64::from(self.ladder.max));
        self.ladder.floor(hundredths as u32)
    }
}

impl Ladder {
    fn floor(&self, hundredths: u32) -> u32 {
        let coarsest = self.steps.last().map_or(1, |(_, step)| *step);
        let found = self.steps.iter().find(|(bound, _)| hundredths < *bound);
        let step = found.map_or(coarsest, |(_, step)| *step);
        (hundredths - hundredths % step).max(LOWEST)
    }
}

/// Hundredths as an exact decimal: 210 is 2.10.
pub(super) fn decimal(hundredths: u32) -> Decimal {
    Decimal::new(i64::from(hundredths), 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_on_the_ladder() {
        let [amberline, cobaltbet, fernwager, ..] = &BOOKMAKERS;
        assert_eq!(decimal(amberline.price(0.5, 2)).to_string(), "1.95");
        assert_eq!(decimal(amberline.price(0.34, 3)).to_string(), "2.86");
        assert_eq!(decimal(cobaltbet.price(0.34, 3)).to_string(), "2.80");
        assert_eq!(decimal(fernwager.price(0.34, 3)).to_string(), "2.75");
        assert_eq!(decimal(fernwager.price(1.0, 2)).to_string(), "1.01");
    }

    #[test]
    fn every_bookmaker_has_a_margin_on_every_market() {
        for bookmaker in &BOOKMAKERS {
            for thousandth in 0..=1000 {
                let favourite = f64::from(thousandth) / 1000.0;
                let rest = 1.0 - favourite;
                let two = [favourite, rest].map(|p| 1.0 / f64::from(bookmaker.price(p, 2)));
                let three = [favourite, rest * 0.7, rest * 0.3]
                    .map(|p| 1.0 / f64::from(bookmaker.price(p, 3)));
                let [two, three] = [two.iter().sum::<f64>(), three.iter().sum::<f64>()];
                assert!(two > 0.01 && three > 0.01, "{} at {favourite}", bookmaker.slug);
            }
        }
    }
}
