//! Responses of API-Football with invalid fixtures and events.

use facts::event::FootballStatus;

use super::{Outcome, Scratch, statsbomb::shown};
use ingest::recording::Limits;

pub(crate) fn fixture(id: &str, events: &str) -> String {
    format!(
        r#"{{"fixture":{{"id":{id},"timestamp":1700000000,"status":{{"short":"AET","elapsed":120}}}},"league":{{"id":2,"name":"Cup","season":2023}},"teams":{{"home":{{"id":1,"name":"Town"}},"away":{{"id":2,"name":"City"}}}},"goals":{{"home":1,"away":0}},"score":{{"halftime":{{"home":0,"away":0}},"fulltime":{{"home":0,"away":0}},"extratime":{{"home":1,"away":0}},"penalty":{{"home":null,"away":null}}}},"events":[{events}],"statistics":[{{"team":{{"id":1}},"statistics":[{{"type":"Fouls","value":3}}]}}]}}"#
    )
}

pub(crate) fn event(elapsed: &str, team: u8, kind: &str, detail: &str) -> String {
    format!(
        r#"{{"time":{{"elapsed":{elapsed},"extra":null}},"team":{{"id":{team}}},"player":{{"id":5,"name":"Ann"}},"assist":{{"id":null,"name":null}},"type":"{kind}","detail":"{detail}","comments":null}}"#
    )
}

pub(crate) fn answer(fixtures: &[String]) -> String {
    format!(
        r#"{{"get":"fixtures","parameters":{{"ids":"1"}},"errors":[],"results":1,"paging":{{"current":1,"total":1}},"response":[{}]}}"#,
        fixtures.join(",")
    )
}

#[test]
fn fixtures_and_events_of_wrong_types_are_skipped_alone() {
    let events = [
        event("110", 1, "Goal", "Normal Goal"),
        event("\"soon\"", 1, "Goal", "Normal Goal"),
        event("20", 9, "Card", "Red Card"),
        event("30", 2, "Weather", "Rain"),
        "null".to_owned(),
        event("40", 2, "Card", "Yellow Card"),
    ];
    let fixtures = [
        "5".to_owned(),
        fixture("null", ""),
        fixture("7", &events.join(",")),
        fixture("8", "").replace("\"home\":{\"id\":1", "\"home\":{\"id\":null"),
    ];
    let outcome = Outcome::of_bytes("answer.json", answer(&fixtures));
    assert_eq!(outcome.refusals.len(), 3 + 4, "{:?}", outcome.reasons());
    assert_eq!(shown(&outcome.incidents()), ["Yellow 40 Ann -", "Goal(Regular) 110 Ann - 1-0"]);
    let score = outcome.last_score();
    assert_eq!((score.goals, score.extra_time, score.penalties), ([1, 0], Some([1, 0]), None));
    assert!(outcome.has_finished());
}

#[test]
fn answer_about_a_part_is_played_with_the_match_that_is_named_too() {
    let scratch = Scratch::new();
    let part = |fixture: u8| {
        let parameters = format!(r#""parameters":{{"fixture":"{fixture}"}}"#);
        let goal = event("110", 1, "Goal", "Normal Goal");
        answer(&[goal])
            .replace("\"fixtures\"", r#""fixtures\/events""#)
            .replace(r#""parameters":{"ids":"1"}"#, &parameters)
    };
    let image = answer(&[fixture("7", "").replace(r#","events":[]"#, "")]);
    let (path, part_path) = (scratch.file("match.json", image), scratch.file("part.json", part(7)));
    let named = [path.clone(), part_path.clone()];
    assert_eq!(ingest::recording::plan(&named).unwrap(), std::slice::from_ref(&path));
    let outcome = Outcome::with_named(&path, &named, &Limits::default()).unwrap();
    assert_eq!(outcome.reasons(), [""; 0]);
    assert_eq!(shown(&outcome.incidents()), ["Goal(Regular) 110 Ann - 1-0"]);
    let other = scratch.file("other.json", part(8));
    let outcome = Outcome::with_named(&path, &[other], &Limits::default()).unwrap();
    let reason = "a part of fixture 8, of which there was no answer of fixtures";
    assert_eq!(outcome.reasons(), [reason]);
    let alone = Outcome::read(&part_path, &Limits::default()).err().unwrap().to_string();
    assert!(alone.ends_with("name the answer of `fixtures` with the match as well"), "{alone}");
}

#[test]
fn unknown_status_is_noted_and_the_rest_decoded() {
    let text = answer(&[fixture("7", "")]).replace("AET", "ODD");
    let outcome = Outcome::of_bytes("answer.json", text);
    assert_eq!(outcome.reasons(), ["unknown status \"ODD\""]);
    assert_eq!(outcome.last_score().goals, [1, 0]);
    assert!(!super::statsbomb::statuses(&outcome).contains(&FootballStatus::Finished.as_str()));
}

#[test]
fn nulls_emit_nothing() {
    let nulls = r#"{"fixture":{"id":7,"timestamp":null,"status":{"short":null,"elapsed":null}},"league":null,"teams":{"home":{"id":1,"name":"Town"},"away":{"id":2,"name":"City"}},"goals":null,"score":null,"events":null,"statistics":null}"#;
    let outcome = Outcome::of_bytes("answer.json", answer(&[nulls.to_owned()]));
    assert_eq!((outcome.events.len(), outcome.refusals.len()), (1, 0));
}

#[test]
fn truncated_response_gives_the_fixtures_before_the_cut() {
    let text = answer(&[fixture("7", ""), fixture("8", "")]);
    let outcome = Outcome::of_bytes("answer.json", &text[..text.len() - 40]);
    assert_eq!((outcome.batches, outcome.refused()), (1, vec![("truncated", 0)]));
}

#[test]
fn provider_error_is_not_a_recording() {
    let scratch = Scratch::new();
    let text = answer(&[]).replace("\"errors\":[]", "\"errors\":{\"requests\":\"limit reached\"}");
    let path = scratch.file("answer.json", text);
    let error = Outcome::read(&path, &Limits::default()).err().unwrap();
    let reason = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(reason, "the provider answers with errors: {\"requests\":\"limit reached\"}");
}

#[test]
fn more_events_than_any_match_has_are_cut() {
    let events: Vec<_> = (0..1100).map(|_| event("40", 2, "Card", "Yellow Card")).collect();
    let outcome = Outcome::of_bytes("answer.json", answer(&[fixture("7", &events.join(","))]));
    let contradicts = "goals [0, 0] by the events, [1, 0] by the fixture";
    assert_eq!(outcome.reasons(), ["1100 events of one fixture", contradicts]);
    assert_eq!(outcome.incidents().len(), 1000);
}
