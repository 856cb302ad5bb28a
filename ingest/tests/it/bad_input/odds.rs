//! Odds of three formats with parts that are wrong, missing, cut or far too large.

use facts::event::{Fact, MarketChange, OddsFact};
use ingest::recording::Limits;

use super::{
    Outcome, Scratch,
    fixtures::{answer, gz, odds_change, season},
};

impl Outcome {
    /// Prices by bookmaker, market and selection: `b h2h Ann 2.1`.
    fn prices(&self) -> Vec<String> {
        let mut prices = Vec::new();
        for fact in self.facts() {
            let Fact::Odds(OddsFact { book, market, change }) = fact else { continue };
            let MarketChange::Prices { selections, .. } = change else { continue };
            let price = |change: &facts::event::SelectionChange| {
                format!("{book} {market} {} {}", change.id, change.price.unwrap())
            };
            prices.extend(selections.iter().map(price));
        }
        prices
    }
}

#[test]
fn whole_response_is_played() {
    let outcome = Outcome::of_bytes("odds.json", answer());
    assert_eq!(outcome.reasons(), [""; 0]);
    assert_eq!(outcome.prices(), ["b h2h Ann 1.90909091", "b h2h Bea 2.2", "c totals@5.5 Over 2"]);
}

#[test]
fn invalid_prices_and_items_are_skipped_alone() {
    let text = answer().replace("-110", "1e99").replace("\"key\":\"c\"", "\"key\":7");
    let outcome = Outcome::of_bytes("odds.json", text);
    let expected = [
        "invalid type: integer `7`, expected a string at line 1 column 8",
        "price 1e99 is no number that fits",
    ];
    assert_eq!(outcome.reasons(), expected);
    assert_eq!(outcome.prices(), ["b h2h Bea 2.2"], "what is left is still American");
}

#[test]
fn truncated_response_is_refused() {
    let text = answer();
    let scratch = Scratch::new();
    for bytes in [text.as_bytes()[..300].to_vec(), gz(text.as_bytes())[..150].to_vec()] {
        let path = scratch.file("odds.json", bytes);
        let error = Outcome::read(&path, &Limits::default()).err().unwrap();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.starts_with("EOF while parsing"), "{source}");
    }
}

#[test]
fn nested_lists_are_limited() {
    let deep =
        answer().replace("-110", &format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)));
    let outcome = Outcome::of_bytes("odds.json", deep);
    assert_eq!(outcome.refused(), [("value", 0)]);
    assert_eq!(outcome.prices().len(), 2);
}

#[test]
fn truncated_message_is_played_to_its_last_complete_market() {
    let text = odds_change();
    let whole = Outcome::of_bytes("message.xml", &text);
    assert_eq!(whole.reasons(), [""; 0]);
    assert_eq!(whole.prices().len(), 4);
    let cut = Outcome::of_bytes("message.xml", &text[..text.find("id=\"13\"").unwrap()]);
    assert_eq!(cut.prices(), ["sportradar 186 4 1.5", "sportradar 186 5 2.5"]);
    assert!(!cut.refusals.is_empty());
}

#[test]
fn entities_do_not_grow() {
    let entities: String =
        (1..40).map(|at| format!("<!ENTITY e{at} \"&e{0};&e{0};\">", at - 1)).collect();
    let text = odds_change().replace("2.5\"/>", "&e39;\"/>");
    let outcome = Outcome::of_bytes(
        "message.xml",
        format!("<!DOCTYPE odds_change [<!ENTITY e0 \"ha\">{entities}]>{text}"),
    );
    assert_eq!(outcome.refused(), [("syntax", 0)]);
    assert_eq!(outcome.prices().len(), 3);
}

#[test]
fn nesting_and_attributes_are_limited() {
    let deep = format!("<odds_change event_id=\"e\">{}", "<a>".repeat(200_000));
    let outcome = Outcome::of_bytes("message.xml", deep);
    assert_eq!(outcome.reasons(), ["nested deeper than 64"]);
    let long = odds_change().replace("total=9.5", &"t".repeat(1 << 20));
    let outcome = Outcome::of_bytes("message.xml", long);
    assert_eq!(outcome.reasons(), ["an attribute has more than 4096 bytes"]);
    assert_eq!(outcome.prices().len(), 4);
}

#[test]
fn invalid_rows_are_skipped_alone() {
    let whole = Outcome::of_bytes("season.csv", season());
    assert_eq!((whole.reasons(), whole.batches), (vec![], 6));
    let broken = season().replace("13/08/2019", "13/13/2019");
    let outcome = Outcome::of_bytes("season.csv", broken);
    assert_eq!(outcome.reasons(), ["row 3: date \"13/13/2019\" is none"]);
    assert_eq!(outcome.batches, 3);
    let cut = season();
    let cut = &cut[..cut.rfind("2.1").unwrap()];
    let outcome = Outcome::of_bytes("season.csv", cut);
    assert_eq!(outcome.batches, 6);
    assert_eq!(
        outcome.prices().len() + 1,
        whole.prices().len(),
        "only the last price is not there"
    );
}
