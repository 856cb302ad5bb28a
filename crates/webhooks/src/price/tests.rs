use proptest::prelude::*;
use rust_decimal::dec;

use super::*;
use crate::{Webhook, WebhookTerms};

const BOOK: &str = "football/7/odds";

fn subscription(conditions: &[&str], active: Micros) -> Subscription {
    let prices = conditions.iter().map(|line| PriceCondition::parse(line).unwrap()).collect();
    let terms = WebhookTerms {
        url: "https://example.org/".to_owned(),
        events: vec![EventKind::Price],
        channels: vec![BOOK.to_owned()],
        prices,
    };
    Subscription::new(Webhook { active, ..Webhook::example(1, terms) })
}

fn update(seq: u64, prices: &[(&str, Option<Decimal>)]) -> PriceUpdate {
    let price = |(selection, price): &(&str, Option<Decimal>)| SelectionPrice {
        market: "match_winner".to_owned(),
        selection: (*selection).to_owned(),
        price: *price,
        bookmaker: Some("acme".to_owned()),
    };
    PriceUpdate {
        channel: ChannelId::new(BOOK),
        epoch: Epoch(35),
        seq,
        at: 10,
        book: Some(BookPrices {
            selections: prices.iter().map(price).collect(),
            ..BookPrices::default()
        }),
    }
}

fn image(seq: u64, prices: &[(&str, Option<Decimal>)]) -> PriceUpdate {
    let update = update(seq, prices);
    PriceUpdate { book: update.book.map(|book| BookPrices { is_whole: true, ..book }), ..update }
}

fn removal(seq: u64, selection: Option<&str>) -> PriceUpdate {
    let removed = vec![("match_winner".to_owned(), selection.map(str::to_owned))];
    PriceUpdate { book: Some(BookPrices { removed, ..BookPrices::default() }), ..update(seq, &[]) }
}

#[test]
fn lines_round_trip() {
    for line in [
        "match_winner home >= 2.50",
        "over_under@2.5 over <= 1.9",
        "Match Odds x >= 3",
        "h2h \"Manchester United\" >= 3",
    ] {
        assert_eq!(PriceCondition::parse(line).unwrap().to_string(), line);
    }
    for wrong in [
        "",
        "home >= 2.5",
        "match_winner home > 2.5",
        "match_winner home >= two",
        "match_winner home >= 0",
        "match_winner home >= -1",
        "match_winner  >= 2.5",
        "h2h \" United\" >= 3",
        "h2h a\"b >= 3",
        &format!("{} home >= 2.5", "m".repeat(KEY_CHARS_MAX + 1)),
    ] {
        assert!(PriceCondition::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn event_is_a_price_that_newly_meets_a_condition() {
    let subscriptions = [subscription(&["match_winner home >= 2.5", "match_winner home <= 2"], 0)];
    let mut met = MetConditions::default();
    let mut expect = |update: &PriceUpdate, expected: &[Option<&str>]| {
        let mut crossings = Vec::new();
        check(&subscriptions, update, &mut met, &mut crossings);
        let found: Vec<_> =
            crossings.iter().map(|it| it.event.as_ref().map(|event| event.json.get())).collect();
        assert_eq!(found, expected, "{update:?}");
    };
    expect(&update(1, &[("home", Some(dec!(2.4)))]), &[]);
    expect(&update(2, &[("draw", Some(dec!(9)))]), &[]);
    let reached = r#"{"kind":"price","eid":"price-3-match_winner_home_>=_2.5","market":"match_winner","selection":"home","price":"2.50","bookmaker":"acme","at_least":"2.5"}"#;
    expect(&update(3, &[("home", Some(dec!(2.50)))]), &[Some(reached)]);
    expect(&update(4, &[("home", Some(dec!(2.6)))]), &[]);
    expect(&update(5, &[("draw", Some(dec!(1)))]), &[]);
    let low = r#"{"kind":"price","eid":"price-6-match_winner_home_<=_2","market":"match_winner","selection":"home","price":"1.95","bookmaker":"acme","at_most":"2"}"#;
    expect(&update(6, &[("home", Some(dec!(1.95)))]), &[None, Some(low)]);
    let again = |seq: u64| reached.replace("price-3", &format!("price-{seq}")).replace("2.50", "3");
    expect(&update(8, &[("home", Some(dec!(3)))]), &[Some(&again(8)), None]);
    expect(&update(9, &[("home", None)]), &[]);
    expect(&update(10, &[("home", Some(dec!(3)))]), &[]);
    expect(&image(11, &[("home", None)]), &[]);
    expect(&removal(12, Some("away")), &[]);
    expect(&removal(13, Some("home")), &[None]);
    expect(&update(14, &[("home", Some(dec!(3)))]), &[Some(&again(14))]);
    expect(&removal(15, None), &[None]);
    expect(&image(16, &[("home", Some(dec!(3)))]), &[Some(&again(16))]);
    expect(&image(17, &[("draw", Some(dec!(3)))]), &[None]);
    expect(&update(18, &[("home", Some(dec!(3)))]), &[Some(&again(18))]);
    let closed = PriceUpdate { book: None, ..update(19, &[]) };
    expect(&closed, &[None]);
    expect(&closed, &[]);
}

#[test]
fn other_channels_and_earlier_prices_change_nothing() {
    let subscriptions = [subscription(&["match_winner home >= 2.5"], 11)];
    let (mut met, mut crossings) = (MetConditions::default(), Vec::new());
    let early = update(1, &[("home", Some(dec!(3)))]);
    check(&subscriptions, &early, &mut met, &mut crossings);
    let elsewhere =
        PriceUpdate { channel: ChannelId::new("football/8/odds"), at: 12, ..early.clone() };
    check(&subscriptions, &elsewhere, &mut met, &mut crossings);
    assert!(crossings.is_empty());
    check(&subscriptions, &PriceUpdate { at: 11, ..early }, &mut met, &mut crossings);
    assert_eq!(crossings.len(), 1);
}

proptest! {
    /// Whatever the prices do, events and their ends alternate, and the last of them tells whether the condition is met.
    #[test]
    fn events_and_their_ends_alternate(prices in prop::collection::vec(prop::option::of(200..300_u32), 0..40)) {
        let subscriptions = [subscription(&["match_winner home >= 2.5"], 0)];
        let (mut met, mut crossings) = (MetConditions::default(), Vec::new());
        for (seq, price) in (1..).zip(&prices) {
            let price = price.map(|price| Decimal::new(price.into(), 2));
            check(&subscriptions, &update(seq, &[("home", price)]), &mut met, &mut crossings);
        }
        let is_met: Vec<bool> = crossings.iter().map(|it| it.event.is_some()).collect();
        prop_assert!(is_met.iter().zip([true, false].iter().cycle()).all(|(one, other)| one == other));
        let last = prices.iter().flatten().next_back().is_some_and(|price| *price >= 250);
        prop_assert_eq!(is_met.last().copied().unwrap_or(false), last);
    }
}

/// Their ends were in records that the log no longer had.
#[test]
fn conditions_are_not_met_in_channels_that_have_closed() {
    let subscriptions = [subscription(&["match_winner home >= 2.5"], 0)];
    let (mut met, mut crossings) = (MetConditions::default(), Vec::new());
    check(&subscriptions, &update(1, &[("home", Some(dec!(3)))]), &mut met, &mut crossings);
    let mut ended = |is_open| {
        let mut crossings = Vec::new();
        crate::Recorder::end_closed(|_| is_open, &mut met, &mut crossings);
        crossings.iter().filter(|crossing| crossing.event.is_none()).count()
    };
    assert_eq!([ended(true), ended(false), ended(false)], [0, 1, 0]);
}
