//! Signals by hand calculation, and against a brute-force search.

use ingest::normalize::the_odds_api::PriceFormat;
use proptest::prelude::*;
use rust_decimal::dec;

use super::*;

fn key() -> MarketKey {
    MarketKey { kind: "match_winner".into(), period: None, line: None }
}

fn quote(bookmaker: &str, outcome: Outcome, price: Decimal) -> Quote {
    Quote {
        bookmaker: bookmaker.into(),
        outcome,
        price: Some(price),
        commission: SignalSettings::default().commission(bookmaker, None),
        state: QuoteState::Open,
    }
}

fn of_kind(changes: Vec<SignalChange>, kind: SignalKind) -> Vec<SignalChange> {
    let is_of_kind = |change: &SignalChange| match change {
        SignalChange::Began(_, it) | SignalChange::Changed(_, it) | SignalChange::Ended(_, it) => {
            it.topic.kind == kind
        }
    };
    changes.into_iter().filter(is_of_kind).collect()
}

fn evaluate(quotes: &[Quote]) -> Vec<SignalChange> {
    SignalTracker::default().market(&key(), quotes, 5, &SignalSettings::default())
}

#[test]
fn arbitrage_stakes_pay_the_same_for_every_outcome() {
    // 1/2.10 + 1/2.05 = 0.476190 + 0.487805 = 0.963995; 1/0.963995 = 1.037349.
    let quotes = [
        quote("a", Outcome::Player1, dec!(2.10)),
        quote("a", Outcome::Player2, dec!(1.75)),
        quote("b", Outcome::Player1, dec!(1.80)),
        quote("b", Outcome::Player2, dec!(2.05)),
    ];
    let changes = of_kind(evaluate(&quotes), SignalKind::Arbitrage);
    let [SignalChange::Began(5, Signal { finding: Finding::Arbitrage { profit, legs }, .. })] =
        changes.as_slice()
    else {
        panic!("{changes:?}");
    };
    assert_eq!(*profit, dec!(0.0373));
    let stakes: Vec<_> = legs.iter().map(|leg| (&*leg.bookmaker, leg.price, leg.stake)).collect();
    assert_eq!(stakes, [("a", dec!(2.10), dec!(0.493975)), ("b", dec!(2.05), dec!(0.506025))]);
}

#[test]
fn fair_or_incomplete_book_is_no_arbitrage() {
    let fair = [quote("a", Outcome::Over, dec!(2.00)), quote("b", Outcome::Under, dec!(2.00))];
    assert_eq!(of_kind(evaluate(&fair), SignalKind::Arbitrage), []);
    let mut half = ["a", "b", "c"].map(|name| quote(name, Outcome::Home, dec!(5.00)));
    (half[1].outcome, half[2].outcome, half[2].price) = (Outcome::Away, Outcome::Draw, None);
    assert_eq!(of_kind(evaluate(&half), SignalKind::Arbitrage), []);
    let mut closed = [quote("a", Outcome::Yes, dec!(2.2)), quote("b", Outcome::No, dec!(2.2))];
    closed[1].state = QuoteState::Suspended;
    assert_eq!(of_kind(evaluate(&closed), SignalKind::Arbitrage), []);
}

#[test]
fn price_gap_and_value_use_the_best_price() {
    let book = |name: &str, home, away| {
        [quote(name, Outcome::Home, home), quote(name, Outcome::Away, away)]
    };
    let quotes = [
        book("a", dec!(2.30), dec!(1.80)),
        book("b", dec!(2.00), dec!(1.80)),
        book("c", dec!(2.00), dec!(1.80)),
    ]
    .concat();
    let changes = evaluate(&quotes);
    let gaps = of_kind(changes.clone(), SignalKind::PriceGap);
    let [SignalChange::Began(_, Signal { topic, finding: Finding::PriceGap { gap, .. }, .. })] =
        gaps.as_slice()
    else {
        panic!("{gaps:?}");
    };
    assert_eq!((topic.outcome, topic.bookmaker.as_deref()), (Some(Outcome::Home), Some("a")));
    assert_eq!(*gap, dec!(0.15));
    // Fair: (1/2.00) / (1/2.00 + 1/1.80) = 0.473684; times 2.30 = 1.089474.
    let values = of_kind(changes, SignalKind::Value);
    let [SignalChange::Began(_, Signal { finding: Finding::Value { value, fair_price, .. }, .. })] =
        values.as_slice()
    else {
        panic!("{values:?}");
    };
    assert_eq!((*value, *fair_price), (dec!(0.0894), dec!(2.1111)));
}

#[test]
fn steam_begins_at_the_third_bookmaker_and_expires() {
    let settings = SignalSettings::default();
    let mut tracker = SignalTracker::default();
    let quotes = |prices: [Decimal; 3]| {
        let names = ["a", "b", "c"].into_iter();
        names.zip(prices).map(|(name, it)| quote(name, Outcome::Home, it)).collect::<Vec<_>>()
    };
    let mut at = |prices, at| {
        of_kind(tracker.market(&key(), &quotes(prices), at, &settings), SignalKind::Steam)
    };
    assert_eq!(at([dec!(2), dec!(2), dec!(2)], 0), []);
    assert_eq!(at([dec!(1.9), dec!(2), dec!(2)], 10_000_000), []);
    assert_eq!(at([dec!(1.9), dec!(1.9), dec!(2)], 20_000_000), []);
    let changes = at([dec!(1.9), dec!(1.9), dec!(1.9)], 30_000_000);
    let [SignalChange::Began(30_000_000, Signal { finding, .. })] = changes.as_slice() else {
        panic!("{changes:?}");
    };
    let Finding::Steam { direction, change, bookmakers } = finding else { panic!("{finding:?}") };
    assert_eq!((*direction, *change, bookmakers.len()), (Direction::Shortening, dec!(-0.05), 3));
    assert_eq!(tracker.expire(69_000_000, &settings), []);
    let changes = tracker.expire(70_000_000, &settings);
    assert!(matches!(changes.as_slice(), [SignalChange::Ended(30_000_000, _)]), "{changes:?}");
}

#[test]
fn suspension_is_signalled_while_others_trade() {
    let mut quotes: Vec<_> =
        ["a", "b", "c", "d"].map(|name| quote(name, Outcome::Home, dec!(2))).into();
    quotes[3].state = QuoteState::Suspended;
    let changes = evaluate(&quotes);
    let [SignalChange::Began(_, Signal { topic, .. })] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!((topic.kind, topic.bookmaker.as_deref()), (SignalKind::Suspended, Some("d")));
    quotes[2].state = QuoteState::Unknown;
    assert_eq!(evaluate(&quotes), [], "two that trade are not enough");
}

#[test]
fn momentum_change_ends_one_signal_and_begins_another() {
    use facts::event::Side;
    let mut tracker = SignalTracker::default();
    let mut play = |side, times: i64| -> Vec<SignalChange> {
        (0..times).flat_map(|at| tracker.point(side, at)).collect()
    };
    let first = play(Side::First, 12);
    assert!(matches!(first.first(), Some(SignalChange::Began(8, _))), "{first:?}");
    let second = play(Side::Second, 12);
    assert!(second.iter().any(|change| matches!(change, SignalChange::Ended(8, _))), "{second:?}");
    let begun = second.iter().filter(|change| matches!(change, SignalChange::Began(..))).count();
    assert_eq!(begun, 1, "{second:?}");
}

/// The profit in hundredths of a percent, and each leg's price, commission and stake.
fn arbitrage(quotes: &[Quote], settings: &SignalSettings) -> Option<(Decimal, Vec<[Decimal; 3]>)> {
    let changes = SignalTracker::default().market(&key(), quotes, 5, settings);
    let changes = of_kind(changes, SignalKind::Arbitrage);
    let [SignalChange::Began(_, Signal { finding: Finding::Arbitrage { profit, legs }, .. })] =
        changes.as_slice()
    else {
        assert_eq!(changes, []);
        return None;
    };
    let legs = legs.iter().map(|leg| [leg.price, leg.commission, leg.stake]);
    Some((*profit * dec!(10_000), legs.collect()))
}

/// Without a least profit of its own.
fn any_profit() -> SignalSettings {
    SignalSettings { profit_min: 0, ..SignalSettings::default() }
}

/// The profit of two American prices in hundredths of a percent, by whole numbers: `a/b` is 1 + win / stake. Negative if
/// they are worse than fair.
fn american_profit(prices: [i64; 2]) -> i128 {
    let [(a, b), (c, d)] = prices.map(|price| match i128::from(price.abs()) {
        stake if price < 0 => (stake + 100, stake),
        win => (win + 100, 100),
    });
    // 1 / (b/a + d/c) - 1.
    (a * c - (b * c + a * d)) * 10_000 / (b * c + a * d)
}

fn american_quotes(prices: [i64; 2]) -> [Quote; 2] {
    let [first, second] = prices.map(|price| PriceFormat::American.decimal(price.into()).unwrap());
    [quote("a", Outcome::Player1, first), quote("b", Outcome::Player2, second)]
}

/// A fair pair is the best of those that are fair or worse, and the next one the worst of those that pay: with both prices
/// of every favourite tried, nothing between them is left.
#[test]
fn american_prices_are_an_arbitrage_only_where_they_pay() {
    for favourite in 100..=10_000 {
        let fair = [-favourite, favourite];
        assert_eq!(arbitrage(&american_quotes(fair), &any_profit()), None, "{fair:?} is fair");
        for outsider in [favourite + 1, favourite + 7, favourite * 11 / 10] {
            let prices = [-favourite, outsider];
            let expected = american_profit(prices);
            let found = arbitrage(&american_quotes(prices), &any_profit());
            let found = found.map_or(0, |(profit, _)| profit.normalize().mantissa());
            assert_eq!(found, expected.max(0), "{prices:?}");
        }
    }
    for prices in [[-154, 154], [-110, -110], [100, 100], [-100, 100], [-2200, 2200], [-101, 101]] {
        assert_eq!(arbitrage(&american_quotes(prices), &any_profit()), None, "{prices:?}");
    }
}

#[test]
fn profit_below_the_minimum_is_no_signal() {
    let quotes = |price| [quote("a", Outcome::Yes, dec!(2)), quote("b", Outcome::No, price)];
    let profit = |price, profit_min| {
        let settings = SignalSettings { profit_min, ..SignalSettings::default() };
        arbitrage(&quotes(price), &settings).map(|(profit, _)| profit)
    };
    // 2 and 2.004: 1 / (1/2 + 1/2.004) - 1 = 0.000999; 2 and 2.00401: 0.00100150...
    let default = SignalSettings::default().profit_min;
    assert_eq!(profit(dec!(2.004), default), None);
    assert_eq!(profit(dec!(2.00401), default), Some(dec!(10)));
    assert_eq!(profit(dec!(2.004), 9), Some(dec!(9)));
    // What would be shown as 0.0000 is none under any setting.
    assert_eq!(profit(dec!(2.0001), 0), None);
    assert_eq!(profit(dec!(2.05), 124), None, "0.012345");
}

#[test]
fn commission_is_taken_of_what_a_bet_wins() {
    let quotes = |bookmaker: &str| {
        [quote(bookmaker, Outcome::Yes, dec!(2.10)), quote("b", Outcome::No, dec!(2.00))]
    };
    // Without commission: 1 / (1/2.10 + 1/2.00) = 1.024390.
    assert_eq!(arbitrage(&quotes("a"), &any_profit()).unwrap().0, dec!(243));
    // 1 + 1.10 * 0.98 = 2.078: 1 / (1/2.078 + 1/2.00) = 1.019127, and 2.00 of 4.078 go to the first.
    let (profit, legs) = arbitrage(&quotes("smarkets"), &any_profit()).unwrap();
    assert_eq!(profit, dec!(191));
    assert_eq!(legs[0], [dec!(2.10), dec!(0.02), dec!(0.490436)]);
    assert_eq!(legs[1], [dec!(2.00), dec!(0), dec!(0.509564)]);
    // 1 + 1.10 * 0.95 = 2.045, and at 2.05 1.9975, less than fair.
    assert_eq!(arbitrage(&quotes("betfair"), &any_profit()).unwrap().0, dec!(111));
    let mut less = quotes("betfair");
    less[0].price = Some(dec!(2.05));
    assert_eq!(arbitrage(&less, &any_profit()), None);

    // A higher price that pays less is not the best one, nor a gap, nor a value.
    let book =
        |name: &str, yes| [quote(name, Outcome::Yes, yes), quote(name, Outcome::No, dec!(2))];
    let quotes = [book("betfair", dec!(2.10)), book("b", dec!(2)), book("c", dec!(2))].concat();
    let pays = |changes: Vec<SignalChange>| {
        let kinds = [SignalKind::PriceGap, SignalKind::Value];
        kinds.map(|kind| of_kind(changes.clone(), kind).len())
    };
    assert_eq!(pays(evaluate(&quotes)), [0, 0]);
    let quotes = [book("d", dec!(2.10)), book("b", dec!(2)), book("c", dec!(2))].concat();
    assert_eq!(pays(evaluate(&quotes)), [1, 1]);
}

#[test]
fn commission_is_the_set_one_else_the_market_rate_else_the_published_one() {
    let commissions = [("smarkets".into(), 0), ("betfair_ex_uk".into(), 25_000)].into();
    let settings = SignalSettings { commissions, ..SignalSettings::default() };
    for (bookmaker, market_base_rate, expected) in [
        ("betfair", None, dec!(0.05)),
        ("betfair", Some(dec!(6.5)), dec!(0.065)),
        ("betfair", Some(dec!(0)), dec!(0)),
        ("betfair", Some(dec!(100)), dec!(0.05)),
        ("betfair_ex_uk", Some(dec!(6.5)), dec!(0.025)),
        ("betfair_sb_uk", None, dec!(0)),
        ("betdaq", None, dec!(0.02)),
        ("matchbook", None, dec!(0.04)),
        ("smarkets", None, dec!(0)),
        ("pinnacle", None, dec!(0)),
    ] {
        let commission = settings.commission(bookmaker, market_base_rate);
        assert_eq!(commission, expected, "{bookmaker} {market_base_rate:?}");
    }
}

/// Whether any choice of one price for each outcome wins a hundredth of a percent or more for every outcome: tries all of them.
fn any_choice_wins(quotes: &[Quote], outcomes: &[Outcome]) -> bool {
    let prices = |outcome: &Outcome| {
        let offers = quotes.iter().filter(move |quote| quote.outcome == *outcome);
        offers
            .filter(|quote| quote.state == QuoteState::Open)
            .filter_map(|it| it.price)
            .collect::<Vec<_>>()
    };
    let mut sums = vec![Decimal::ZERO];
    for outcome in outcomes {
        let prices = prices(outcome);
        let next = |sum: &Decimal| {
            let sum = *sum;
            prices.iter().map(move |price| sum + Decimal::ONE / price).collect::<Vec<_>>()
        };
        sums = sums.iter().flat_map(next).collect();
    }
    sums.iter().any(|sum| *sum <= Decimal::ONE / dec!(1.0001))
}

proptest! {
    #[test]
    fn every_arbitrage_is_found_and_nothing_else(
        book in prop::collection::vec((0_usize..5, 0_usize..3, 101_i64..900, 0_u8..8), 0..24)
    ) {
        let outcomes = [Outcome::Home, Outcome::Draw, Outcome::Away];
        // The market has three outcomes, even if no bookmaker prices all of them.
        let unpriced = |outcome| Quote { price: None, ..quote("a", outcome, Decimal::ONE) };
        let mut quotes: Vec<Quote> = outcomes.into_iter().map(unpriced).collect();
        for (bookmaker, outcome, cents, state) in book {
            let name = ["a", "b", "c", "d", "e"][bookmaker];
            let mut quote = quote(name, outcomes[outcome], Decimal::new(cents, 2));
            if state == 0 {
                quote.state = QuoteState::Suspended;
            }
            quotes.push(quote);
        }
        let found = arbitrage(&quotes, &any_profit());
        prop_assert_eq!(found.is_some(), any_choice_wins(&quotes, &outcomes), "{:?}", quotes);
    }

    /// Of any pair of American prices: none that is fair or worse, and no profit that is overstated.
    #[test]
    fn american_prices_never_promise_too_much(prices: [(bool, i64); 2]) {
        let prices = prices.map(|(is_favourite, number)| {
            let size = 100 + number.rem_euclid(9_901);
            if is_favourite { -size } else { size }
        });
        let expected = american_profit(prices);
        let found = arbitrage(&american_quotes(prices), &any_profit());
        let found = found.map_or(0, |(profit, _)| profit.normalize().mantissa());
        // A price of eight places is less than the exact one by up to two units.
        prop_assert!(found <= expected.max(0) && found >= expected - 1, "{:?} {} {}", prices, found, expected);
    }
}
