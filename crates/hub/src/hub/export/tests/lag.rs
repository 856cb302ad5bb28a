//! However far the readers over HTTP are behind, they offer no price that a socket has lost.

use std::collections::BTreeSet;

use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};
use record::Withdrawals;

use super::*;

/// Id, kind and outcomes, which are the ids of selections too.
type MarketTerms = (&'static str, &'static str, &'static [&'static str]);

/// The markets of each book.
const MARKETS: [MarketTerms; 2] = [
    ("1", "match_winner", &["home", "draw", "away"]),
    ("2", "both_teams_to_score", &["yes", "no"]),
];

#[derive(Debug, Clone)]
enum Step {
    /// A fact about the match, by the source of this number.
    Fact(usize, String),
    Health(usize, FeedState),
    Restart(usize),
    Wait(Micros),
    /// The follower exports so many eighths of what it has not exported yet.
    Export(usize),
}

fn define((_, kind, outcomes): MarketTerms) -> impl Strategy<Value = String> {
    let selections = subsequence(outcomes, 0..=outcomes.len());
    let statuses = vec(select(vec!["active", "active", "active", "removed", "winner"]), 3);
    let status = select(vec!["open", "open", "open", "suspended", "inactive", "closed"]);
    (selections, statuses, status).prop_map(move |(selections, statuses, status)| {
        let selections = selections
            .iter()
            .zip(statuses)
            .map(|(id, status)| format!(r#"{{"id":"{id}","outcome":"{id}","status":"{status}"}}"#));
        let selections = selections.collect::<Vec<_>>().join(",");
        format!(
            r#"{{"define":{{"kind":"{kind}","status":"{status}","selections":[{selections}]}}}}"#
        )
    })
}

fn prices((.., outcomes): MarketTerms) -> impl Strategy<Value = String> {
    let price = prop_oneof![
        3 => (15..40_u32).prop_map(|price| format!(r#""price":"{}.{}""#, price / 10, price % 10)),
        // On an exchange the last at a price may leave.
        2 => (15..18_u32, select(vec!["0", "10"]))
            .prop_map(|(price, size)| format!(r#""back":[["{}.{}","{size}"]]"#, price / 10, price % 10)),
    ];
    let selections = subsequence(outcomes, 1..=outcomes.len());
    (selections, vec(price, 3)).prop_map(|(selections, prices)| {
        let selections = selections.iter().zip(prices);
        let selections = selections.map(|(id, price)| format!(r#"{{"id":"{id}",{price}}}"#));
        let selections = selections.collect::<Vec<_>>().join(",");
        format!(r#"{{"prices":{{"selections":[{selections}]}}}}"#)
    })
}

fn odds() -> impl Strategy<Value = Step> {
    (0..2_usize, select(MARKETS.to_vec())).prop_flat_map(|(book, market)| {
        let change = prop_oneof![
            3 => define(market),
            6 => prices(market),
            1 => Just(r#""clear""#.to_owned()),
        ];
        change.prop_map(move |change| {
            let id = market.0;
            let odds = format!(r#"{{"book":"b{book}","market":"{id}","change":{change}}}"#);
            Step::Fact(book, format!(r#"{{"odds":{odds}}}"#))
        })
    })
}

fn step() -> impl Strategy<Value = Step> {
    let feeds = vec![FeedState::Live, FeedState::Late, FeedState::Down, FeedState::Recovering];
    let play = select(vec![
        r#"{"football":{"status":"first_half"}}"#,
        r#"{"football":{"score":{"goals":[1,0]}}}"#,
        r#"{"football":{"incident":{"eid":"i","kind":{"goal":"regular"},"minute":9,"side":"home"}}}"#,
        r#"{"football":{"status":"finished"}}"#,
        r#"{"fixture":{"sides":[{"name":"A"},{"name":"B"}]}}"#,
    ]);
    prop_oneof![
        12 => odds(),
        2 => (0..2_usize, play).prop_map(|(source, fact)| Step::Fact(source, fact.to_owned())),
        1 => (0..2_usize, select(feeds)).prop_map(|(source, feed)| Step::Health(source, feed)),
        1 => (0..2_usize).prop_map(Step::Restart),
        2 => select(vec![1_000, 1_000_000, 20_000_000]).prop_map(Step::Wait),
        4 => (0..=8_usize).prop_map(Step::Export),
    ]
}

/// What can be taken: bookmaker, market and outcome.
fn offers(record: &MatchRecord) -> BTreeSet<[Arc<str>; 3]> {
    let open = record.prices.iter().filter(|it| it.open && it.price.is_some());
    open.map(|it| [&it.bookmaker, &it.market, &it.outcome].map(Arc::clone)).collect()
}

/// Applies the steps, and returns how many offers readers were shown.
fn check(steps: &[Step]) -> Result<usize, TestCaseError> {
    let (mut hub, first) = new_hub(10_000_000);
    let second = hub.source("second".into(), "events", SourcePolicy::default());
    let (sources, withdrawals) = ([first, second], Withdrawals::default());
    let mut interpreter = Interpreter::new("acme".into());
    let mut latest = ExportedRecords::default();
    // After each record of the log; the follower has exported one of them last.
    let mut states = vec![BTreeMap::new()];
    let (mut exported, mut now, mut shown) = (0, START, 0);
    for step in steps {
        let mut changes = Vec::new();
        now += 1_000;
        match step {
            Step::Fact(source, fact) => {
                let line = format!(r#"{{"sport":"football","match":"m","fact":{fact}}}"#);
                let read = interpreter.line(line.as_bytes(), now);
                let batch = read.unwrap_or_else(|error| panic!("{error}: {line}")).timed.batch;
                // Prices of what is not defined are refused.
                drop(hub.apply(sources[*source], &batch, now, now, &mut changes));
            }
            Step::Health(source, feed) => {
                let health = Health { feed: *feed, why: None };
                hub.set_source_health(sources[*source], &health, now, &mut changes);
            }
            Step::Restart(source) => hub.restart_source(sources[*source], now, &mut changes),
            Step::Wait(time) => {
                now += time;
                hub.check_feeds(now, &mut changes);
                hub.tick(now, &mut changes);
            }
            Step::Export(eighths) => {
                exported += (states.len() - 1 - exported) * eighths / 8;
                withdrawals.settle(exported as u64);
            }
        }
        latest.update(&mut hub);
        withdrawals.note(changes.iter().filter_map(withdrawn), states.len() as u64);
        states.push(latest.records.clone());
        for (id, record) in &states[exported] {
            let in_rest = offers(&withdrawals.masked(record));
            let on_sockets = latest.records.get(id).map(|it| offers(it)).unwrap_or_default();
            shown += in_rest.len();
            prop_assert!(
                in_rest.is_subset(&on_sockets),
                "after {:?}: {:?}, not {:?}",
                step,
                in_rest,
                on_sockets
            );
        }
    }
    Ok(shown)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_offer_nothing_that_sockets_have_lost(steps in vec(step(), 1..80)) {
        check(&steps)?;
    }
}

/// A reader that is up to date shows what there is.
#[test]
fn readers_offer_what_sockets_do() {
    let market = r#"{"define":{"kind":"match_winner","status":"open","selections":[{"id":"home","outcome":"home","status":"active"}]}}"#;
    let price = r#"{"prices":{"selections":[{"id":"home","price":"2.5"}]}}"#;
    let odds = |change: &str| {
        Step::Fact(0, format!(r#"{{"odds":{{"book":"b0","market":"1","change":{change}}}}}"#))
    };
    let sides = r#"{"fixture":{"sides":[{"name":"A"},{"name":"B"}]}}"#.to_owned();
    let steps = [Step::Fact(0, sides), odds(market), odds(price), Step::Export(8)];
    assert_eq!(check(&steps).expect("no other"), 2, "of the book and of the consensus");
}

/// The prices of a source that begins again are gone, though nothing else of the match changes.
#[test]
fn readers_do_not_offer_what_a_restarted_source_had() {
    let market = r#"{"define":{"kind":"match_winner","status":"open","selections":[{"id":"draw","outcome":"draw","status":"active"}]}}"#;
    let price = r#"{"prices":{"selections":[{"id":"draw","price":"1.5"}]}}"#;
    let odds = |change: &str| {
        Step::Fact(1, format!(r#"{{"odds":{{"book":"b1","market":"1","change":{change}}}}}"#))
    };
    let sides = r#"{"fixture":{"sides":[{"name":"A"},{"name":"B"}]}}"#.to_owned();
    let begin = [Step::Fact(0, sides), odds(market), odds(price)];
    let steps = begin.into_iter().chain([Step::Restart(1), Step::Export(8)]);
    assert_eq!(check(&steps.collect::<Vec<_>>()).expect("no other"), 0);
}
