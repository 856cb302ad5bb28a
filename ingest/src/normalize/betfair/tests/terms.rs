//! Terms of markets and runners, and races.

use facts::event::{MarketTerms, SelectionDefinition, SelectionTerms};
use rust_decimal::Decimal;

use super::*;

/// The definition of a market with these fields of its own and this of its first runner.
fn defined_with(market: &str, runner: &str) -> MarketDefinition {
    let line = format!(
        r#"{{"op":"mcm","mc":[{{"id":"1.2","marketDefinition":{{"eventId":"30","eventTypeId":"7",
        "marketType":"PLACE","status":"CLOSED"{market},"runners":[{{"id":7,"status":"WINNER"{runner}}},
        {{"id":8,"status":"WINNER"}},{{"id":9,"status":"LOSER"}}]}}}}]}}"#
    );
    let normalized = Normalizer::default().line(line.as_bytes()).unwrap().unwrap();
    assert_eq!(normalized.notices, [], "{line}");
    let last = normalized.batch.events.into_iter().last().map(|event| event.fact);
    let Some(Fact::Odds(OddsFact { change: MarketChange::Define(it), .. })) = last else {
        panic!("{line}")
    };
    it
}

#[test]
fn every_term_of_a_market_is_emitted() {
    let terms = |field: &str| defined_with(field, "").terms.map(|terms| *terms);
    assert_eq!(terms(""), None);
    for (field, expected) in [
        (
            r#","numberOfWinners":3"#,
            MarketTerms { number_of_winners: Some(3), ..MarketTerms::default() },
        ),
        (
            r#","eachWayDivisor":4.0"#,
            MarketTerms { each_way_divisor: Some(4.into()), ..MarketTerms::default() },
        ),
        (r#","betDelay":0"#, MarketTerms { bet_delay: Some(0), ..MarketTerms::default() }),
        (
            r#","betDelayModels":["PASSIVE","DYNAMIC"]"#,
            MarketTerms {
                bet_delay_models: ["PASSIVE", "DYNAMIC"].map(Arc::from).to_vec(),
                ..MarketTerms::default()
            },
        ),
        (
            r#","marketBaseRate":5.5"#,
            MarketTerms { market_base_rate: Some(Decimal::new(55, 1)), ..MarketTerms::default() },
        ),
        (
            r#","suspendReason":"VAR""#,
            MarketTerms { suspend_reason: Some("VAR".into()), ..MarketTerms::default() },
        ),
    ] {
        assert_eq!(terms(field), Some(expected), "{field}");
    }
}

#[test]
fn every_term_of_a_runner_is_emitted() {
    let terms = |field: &str| {
        let definition = defined_with("", field);
        definition.selections.into_iter().next().unwrap().terms.map(|terms| *terms)
    };
    assert_eq!(terms(r#","bsp":"NaN""#), None);
    for (field, expected) in [
        (
            r#","adjustmentFactor":12.37"#,
            SelectionTerms {
                adjustment_factor: Some(Decimal::new(1237, 2)),
                ..SelectionTerms::default()
            },
        ),
        (
            r#","removalDate":"1970-01-01T00:00:02.000Z""#,
            SelectionTerms { removal_date: Some(2_000_000), ..SelectionTerms::default() },
        ),
        (
            r#","bsp":4.5603088365589795"#,
            SelectionTerms {
                bsp: Some("4.5603088365589795".parse().unwrap()),
                ..SelectionTerms::default()
            },
        ),
    ] {
        assert_eq!(terms(field), Some(expected), "{field}");
    }
}

#[test]
fn dead_heat_is_divided_where_the_part_is_exact() {
    let factors = |market: &str, third: &str| {
        let runner = format!(r#"}},{{"id":6,"status":"{third}""#);
        let factor = |it: SelectionDefinition| Some(it.terms?.dead_heat_factor?.to_string());
        let definition = defined_with(market, &runner);
        definition.selections.into_iter().map(factor).collect::<Vec<_>>()
    };
    let half = Some("0.5".to_owned());
    let one_winner = r#","numberOfWinners":1"#;
    assert_eq!(factors(one_winner, "LOSER"), [half.clone(), None, half, None]);
    assert_eq!(factors(one_winner, "WINNER"), [None, None, None, None], "a third has no end");
    assert_eq!(factors(r#","numberOfWinners":2"#, "LOSER"), [None, None, None, None]);
    assert_eq!(factors("", "LOSER"), [None, None, None, None]);
    assert_eq!(factors(one_winner, "PLACED"), [None, None, None, None], "each way");
}

/// A market of a race: its id, its type, its off time, and further fields.
fn of_race(market: &str, market_type: &str, off: &str, more: &str) -> String {
    format!(
        r#"{{"id":"{market}","marketDefinition":{{"eventId":"30","eventTypeId":"7",
        "eventName":"Ham 14th Jun","openDate":"1970-01-01T13:00:00.000Z","venue":"Hamilton",
        "countryCode":"GB","marketType":"{market_type}","marketTime":"1970-01-01T{off}:00.000Z",
        "bettingType":"ODDS"{more}}}}}"#
    )
}

#[test]
fn each_race_of_a_meeting_is_a_match() {
    let mut feed = Feed::default();
    let runners = |first: &str, second: &str| {
        format!(
            r#","name":"1m2f Hcap","runners":[{{"id":7,"name":"1. Ann","status":"{first}"}},
            {{"id":8,"name":"Bea","status":"{second}"}},
            {{"id":9,"name":"3. Cat","status":"REMOVED"}}]"#
        )
    };
    let win = |off: &str, more: &str| of_race("1.2", "WIN", off, more);
    let open = format!(r#","status":"OPEN"{}"#, runners("ACTIVE", "ACTIVE"));
    feed.check(
        &format!(r#""mc":[{}]"#, win("13:02", &open)),
        "horseracing 30.1302 46920000000
         about 1m2f Hcap | 1m2f | Hamilton | GB
         race not_started, Ann#1 active, Bea active, Cat#3 non_runner
         1.2 win Open 7:- 8:- 9:-",
    );
    let rest = r#","status":"OPEN","name":"To Be Placed""#;
    feed.check(&format!(r#""mc":[{}]"#, of_race("1.3", "PLACE", "13:02", rest)), "1.3 place Open");
    feed.check(
        &format!(r#""mc":[{}]"#, of_race("1.4", "PLACE", "13:35", rest)),
        "horseracing 30.1335 48900000000\nabout - | - | Hamilton | GB\n1.4 place Open",
    );
    let special = r#","status":"OPEN","name":"Top Jockey""#;
    feed.check(
        &format!(r#""mc":[{}]"#, of_race("1.5", "SPECIAL", "13:02", special)),
        "horseracing 30/1.5 46920000000\nabout Top Jockey | - | Hamilton | GB\n1.5 special Open",
    );
    // The race is late: it stays the match that it is, also for markets that come later.
    feed.check(
        &format!(r#""mc":[{}]"#, win("13:05", &open)),
        "horseracing 30.1302 47100000000\n1.2 win Open 7:- 8:- 9:-",
    );
    feed.check(
        &format!(r#""mc":[{}]"#, of_race("1.6", "EACH_WAY", "13:05", r#","status":"OPEN""#)),
        "1.6 each_way Open",
    );
    let off = format!(r#","inPlay":true,"status":"OPEN"{}"#, runners("ACTIVE", "ACTIVE"));
    feed.check(
        &format!(r#""mc":[{}]"#, win("13:05", &off)),
        "race off, Ann#1 active, Bea active, Cat#3 non_runner\n1.2 win Open 7:- 8:- 9:-",
    );
    let closed = format!(r#","inPlay":true,"status":"CLOSED"{}"#, runners("LOSER", "WINNER"));
    feed.check(
        &format!(r#""mc":[{}]"#, win("13:05", &closed)),
        "race finished, Ann#1 active, Bea finished 1, Cat#3 non_runner
         1.2 win Closed 7:- 8:- 9:-",
    );
    assert_eq!(feed.0.matches.len(), 3, "places of the first race are still open");
}

#[test]
fn race_does_not_join_a_special_of_its_time() {
    let mut feed = Feed::default();
    for (market, market_type, more, key) in [
        ("1.9", "SPECIAL", "", "30/1.9"),
        ("1.2", "WIN", "", "30.1302"),
        ("1.3", "PLACE", r#","raceId":"30.1310""#, "30.1310"),
    ] {
        let more = format!(r#","status":"OPEN"{more}"#);
        let kind = market_type.to_lowercase();
        feed.check(
            &format!(r#""mc":[{}]"#, of_race(market, market_type, "13:02", &more)),
            &format!(
                "horseracing {key} 46920000000\nabout - | - | Hamilton | GB\n{market} {kind} Open"
            ),
        );
    }
}

#[test]
fn race_that_is_closed_without_a_winner_has_no_status() {
    let lost = r#","status":"CLOSED","runners":[{"id":7,"name":"Ann","status":"LOSER"}]"#;
    Feed::default().check(
        &format!(r#""mc":[{}]"#, of_race("1.2", "WIN", "13:02", lost)),
        "horseracing 30.1302 46920000000
         about - | - | Hamilton | GB
         1.2 win Closed 7:-",
    );
}

#[test]
fn void_race_is_abandoned() {
    let void = r#","status":"CLOSED","runners":[{"id":7,"name":"Ann","status":"REMOVED"}]"#;
    Feed::default().check(
        &format!(r#""mc":[{}]"#, of_race("1.2", "WIN", "13:02", void)),
        "horseracing 30.1302 46920000000
         about - | - | Hamilton | GB
         race abandoned, Ann non_runner
         1.2 win Closed 7:-",
    );
}
