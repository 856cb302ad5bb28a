//! Answers in, facts out, written down in short.

use facts::event::{Id, Level, Sport};

use super::*;

fn book(status: &str, runner: &str) -> String {
    format!(
        r#"[{{"marketId":"1.5","status":"{status}","inplay":false,"totalMatched":10,"runners":[
        {{"selectionId":7,"handicap":0.0,"status":"ACTIVE",{runner}}}]}}]"#
    )
}

const PRICES: &str = r#""lastPriceTraded":2,"ex":{"availableToBack":[{"price":1.9,"size":3},
    {"price":1.8,"size":5}],"availableToLay":[],"tradedVolume":[{"price":2,"size":10}]}"#;

fn poll(interpreter: &mut Interpreter, text: &str) -> Interpretation {
    let mut played = Interpretation::default();
    interpreter.message(text.as_bytes(), 9, &mut played).unwrap();
    assert_eq!(played.signals.first(), Some(&Signal::Fresh));
    played
}

/// The odds facts of a poll, in short form.
#[track_caller]
fn check(interpreter: &mut Interpreter, text: &str, expected: &[&str]) {
    let played = poll(interpreter, text);
    let facts = played.batches.iter().flat_map(|timed| &timed.batch.events);
    let changes: Vec<_> = facts.filter_map(changes).collect();
    assert_eq!(changes, expected);
}

fn changes(event: &Event) -> Option<String> {
    let Fact::Odds(odds) = &event.fact else { return None };
    Some(match &odds.change {
        MarketChange::Clear => "clear".to_owned(),
        MarketChange::Define(it) => format!("{} {:?}", it.kind, it.status),
        MarketChange::Prices { selections, volume } => {
            let rungs = |levels: &[Level]| {
                levels.iter().map(|it| format!(" {}x{}", it.price, it.size)).collect::<String>()
            };
            let selection = |change: &SelectionChange| {
                format!(
                    "{} {:?}{}|{}|{}",
                    change.id,
                    change.last,
                    rungs(&change.back),
                    rungs(&change.lay),
                    rungs(&change.traded)
                )
            };
            let all: Vec<_> = selections.iter().map(selection).collect();
            format!("{volume:?} {}", all.join(" "))
        }
    })
}

#[test]
fn first_response_is_an_image_and_a_repeat_emits_nothing() {
    let mut interpreter = Interpreter::default();
    let image = ["clear", "unknown Open", "Some(10) 7 Some(2) 1.8x5 1.9x3|| 2x10"];
    check(&mut interpreter, &book("OPEN", PRICES), &image);
    check(&mut interpreter, &book("OPEN", PRICES), &[]);
    interpreter.restart();
    check(&mut interpreter, &book("OPEN", PRICES), &image);
}

#[test]
fn later_responses_emit_the_difference() {
    let mut interpreter = Interpreter::default();
    poll(&mut interpreter, &book("OPEN", PRICES));
    let other = PRICES.replace("1.8,\"size\":5", "1.7,\"size\":5").replace("3}", "4}");
    let change = ["None 7 None 1.8x0 1.7x5 1.9x4||"];
    check(&mut interpreter, &book("OPEN", &other), &change);
    check(&mut interpreter, &book("SUSPENDED", &other), &["unknown Suspended"]);
    check(&mut interpreter, &book("SUSPENDED", r#""ex":null"#), &[]);
    let empty = r#""ex":{"availableToBack":[]}"#;
    check(&mut interpreter, &book("SUSPENDED", empty), &["None 7 None 1.7x0 1.9x0||"]);
}

#[test]
fn listed_market_equals_that_of_the_stream() {
    let listing = Listing {
        event_id: "30".into(),
        event_type_id: Some("2".into()),
        market_type: Some("MATCH_ODDS".into()),
        betting_type: Some("ODDS".into()),
        ..Listing::default()
    };
    let mut polled = Interpreter::new(HashMap::from([("1.5".to_owned(), listing)]));
    let played = poll(&mut polled, &book("OPEN", PRICES));
    let mut stream = super::super::Normalizer::default();
    let line = r#"{"op":"mcm","mc":[{"id":"1.5","img":true,"marketDefinition":{"eventId":"30",
        "eventTypeId":"2","marketType":"MATCH_ODDS","bettingType":"ODDS","status":"OPEN",
        "runners":[{"id":7,"hc":0,"status":"ACTIVE"}]},"tv":10,"rc":[{"id":7,"ltp":2,
        "atb":[[1.8,5],[1.9,3]],"trd":[[2,10]]}]}]}"#;
    let streamed = stream.line(line.as_bytes()).unwrap().unwrap();
    assert_eq!(played.batches[0].batch, streamed.batch);
}

#[test]
fn market_without_a_listing_becomes_its_own_match() {
    let played = poll(&mut Interpreter::default(), &book("OPEN", PRICES));
    let event = &played.batches[0].batch.events[0];
    let expected = Id::derive("betfair", "match", "market/1.5");
    assert_eq!((event.sport, event.match_id), (Sport::Other, expected));
}

#[test]
fn delayed_data_is_late() {
    let delayed = r#"[{"isMarketDataDelayed":true,"marketId""#;
    let text = book("OPEN", PRICES).replace(r#"[{"marketId""#, delayed);
    let played = poll(&mut Interpreter::default(), &text);
    assert_eq!(played.signals, [Signal::Fresh, Signal::Late]);
}

#[test]
fn markets_of_a_race_that_was_moved_follow_it() {
    let mut interpreter = Interpreter::default();
    let mut match_of = |market: &str, market_type: &str, off: &str| {
        let listing = Listing {
            event_id: "30".to_owned(),
            event_type_id: Some("7".to_owned()),
            market_type: Some(market_type.to_owned()),
            market_start_time: Some(format!("1970-01-01T{off}:00.000Z")),
            ..Listing::default()
        };
        interpreter.list(market.to_owned(), listing);
        let played = poll(&mut interpreter, &book("OPEN", PRICES).replace("1.5", market));
        played.batches[0].batch.events[0].match_id
    };
    let id = |key: &str| Id::derive("betfair", "match", key);
    for (market, market_type, off, key) in [
        ("1.9", "SPECIAL", "13:02", "30/1.9"),
        ("1.2", "WIN", "13:02", "30.1302"),
        ("1.2", "WIN", "13:05", "30.1302"),
        ("1.3", "PLACE", "13:05", "30.1302"),
    ] {
        assert_eq!(match_of(market, market_type, off), id(key), "{market} at {off}");
    }
}
