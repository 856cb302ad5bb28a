//! Documents of Betfair's polls that are cut, of the wrong kind, or partly unusable.

use facts::event::Fact;
use ingest::recording::{Format, Limits, Recording};

use super::{Outcome, Scratch, fixtures::gz};

const BOARD: &str = r#"{"eventId":5,"eventTypeId":1,"score":{"home":{"name":"Ayr","score":"1",
    "halfTimeScore":""},"away":{"name":"Bute","score":"0","halfTimeScore":""}},"timeElapsed":12,
    "matchStatus":"KickOff"}"#;
const BOOK: &str = r#"{"marketId":"1.5","status":"OPEN","inplay":true,"runners":[{"selectionId":7,
    "handicap":0.0,"status":"ACTIVE","ex":{"availableToBack":[{"price":1.9,"size":3}]}}]}"#;

/// The error of opening.
#[track_caller]
fn refused(text: impl AsRef<[u8]>, reason: &str) {
    let scratch = Scratch::new();
    let path = scratch.file("answer.json", text);
    let error = Outcome::read(&path, &Limits::default()).err().unwrap();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.starts_with(reason), "{source}");
}

#[test]
fn documents_are_recognised_by_content() {
    let scratch = Scratch::new();
    for (name, text, format) in
        [("board", BOARD, Format::BetfairScores), ("book", BOOK, Format::BetfairMarketBook)]
    {
        let path = scratch.file(name, gz(text.as_bytes()));
        let recording = Recording::open(&path, &[], 0, &Limits::default()).unwrap();
        assert_eq!(recording.format(), format);
        assert_eq!(**recording.name(), format!("{}:{name}", format.as_str()));
    }
}

#[test]
fn truncated_scores_are_refused() {
    refused(&BOARD[..BOARD.len() - 1], "EOF while parsing");
    refused(BOARD.replace("\"eventId\":5,", ""), "eventId is missing");
}

#[test]
fn event_that_is_not_followed_is_refused() {
    let other = BOARD.replace("\"eventTypeId\":1", "\"eventTypeId\":7522");
    let outcome = Outcome::of_bytes("answer.json", format!("[{other},{BOARD}]"));
    assert_eq!(outcome.reasons(), ["event 5 is basketball, which is not followed"]);
    assert!(matches!(outcome.facts().next(), Some(Fact::Fixture(_))));
}

#[test]
fn books_before_the_cut_are_played() {
    let whole = format!("[{BOOK},{BOOK}]");
    let outcome = Outcome::of_bytes("book.json", &whole[..whole.len() - 9]);
    assert_eq!(outcome.refused(), [("syntax", 0)]);
    assert_eq!(outcome.facts().filter(|fact| matches!(fact, Fact::Odds(_))).count(), 3);
    refused(&BOOK[..BOOK.len() - 9], "the text ends at byte");
}

#[test]
fn unusable_values_are_left_out() {
    let strange =
        BOOK.replace("\"status\":\"OPEN\"", "\"status\":\"SLEEPING\"").replace("1.9", "1e40");
    let outcome = Outcome::of_bytes("book.json", strange);
    let expected = [
        "price 1e40 does not fit a decimal",
        "an offer lacks its price or its size",
        "market status SLEEPING is not known",
    ];
    assert_eq!(outcome.reasons(), expected);
}

#[test]
fn negative_numbers_are_neither_prices_nor_amounts() {
    let more = r#""status":"OPEN","totalMatched":-2.5"#;
    let runner = r#""selectionId":7,"lastPriceTraded":-2,"totalMatched":-1"#;
    let strange = BOOK.replace("\"status\":\"OPEN\"", more).replace("\"selectionId\":7", runner);
    let expected = [
        "totalMatched -2.5 is negative",
        "lastPriceTraded -2 is negative",
        "runner totalMatched -1 is negative",
    ];
    assert_eq!(Outcome::of_bytes("book.json", strange).reasons(), expected);
    let line = super::fixtures::market(1).replace("\"ltp\":1.5", "\"ltp\":-1.5,\"tv\":-9");
    let line = line.replace("\"img\"", "\"tv\":-0.5,\"img\"");
    let expected = ["market tv -0.5 is negative", "ltp -1.5 is negative", "tv -9 is negative"];
    assert_eq!(Outcome::of_bytes("stream", line).reasons(), expected);
}
