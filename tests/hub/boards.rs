//! Matches that are followed by their scoreboard, and races: the events of a change, and how it is
//! retracted.

use facts::event::{
    Batch, Event, Fact, Fixture, Id, Participant, Race, RaceRunner, RaceStatus, RunnerStatus,
    Scoreboard, ScoreboardStatus, Side, Sport,
};
use serde_json::{Value, json};

use crate::{
    bench::{Bench, SETTINGS, START},
    json::parse,
};

fn event(sport: Sport, fact: Fact) -> Event {
    Event { sport, match_id: Id(1), fact }
}

fn bench(sport: Sport) -> Bench {
    let mut bench = Bench::new(SETTINGS);
    let fixture = Fixture {
        provider: "test".into(),
        provider_key: "1".into(),
        competition: None,
        start: None,
        date: None,
        sides: None,
        ..Fixture::default()
    };
    apply(&mut bench, 0, event(sport, Fact::Fixture(fixture)));
    bench
}

fn apply(bench: &mut Bench, second: i64, event: Event) {
    let at = Some(START + second * 1_000_000);
    let (_, errors) = bench.apply(&Batch { at, price_changes: 0, events: vec![event] });
    assert_eq!(errors, []);
    bench.check_images();
}

/// Every event of a channel as `kind eid` and its subject.
fn event_lines(bench: &Bench, channel: &str) -> Vec<String> {
    let frames = bench.readers[channel].frames.iter().map(parse);
    let events = frames.flat_map(|it| it["events"].as_array().cloned().unwrap_or_default());
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or("-").to_owned();
    events.map(|it| [text(&it, "kind"), text(&it, "eid"), text(&it, "of")].join(" ")).collect()
}

fn board(status: ScoreboardStatus, score: [u32; 2]) -> Scoreboard {
    let period = Some("p1".into());
    Scoreboard {
        status,
        score: Some(score),
        periods: vec![score],
        period,
        clock: None,
        winner: None,
    }
}

#[test]
fn score_is_published_and_retracted() {
    let mut bench = bench(Sport::Hockey);
    let live = ScoreboardStatus::Live;
    let boards = [
        board(live, [0, 0]),
        board(live, [1, 0]),
        board(live, [1, 0]),
        board(live, [2, 0]),
        board(live, [1, 0]),
        Scoreboard { score: None, ..board(live, [0, 0]) },
        board(live, [1, 0]),
        board(live, [2, 0]),
        Scoreboard { winner: Some(Side::First), ..board(ScoreboardStatus::Finished, [2, 0]) },
        board(live, [2, 0]),
        board(ScoreboardStatus::Finished, [2, 0]),
    ];
    for (second, board) in (1..).zip(boards) {
        apply(&mut bench, second, event(Sport::Hockey, Fact::Scoreboard(board)));
    }
    let expected = [
        "score score-1-0 -",
        "score score-2-0 -",
        "correct correct-1 score-2-0",
        "score score-2-0-1 -",
        "finish finish-1 -",
        "correct correct-2 finish-1",
        "finish finish-2 -",
    ];
    assert_eq!(event_lines(&bench, "hockey/1"), expected);
    let data = &bench.readers["hockey/1"].data;
    assert_eq!(data["life"], "ended");
    assert_eq!(data["status"], "finished");
    assert_eq!(data["score"], json!({"home": 2, "away": 0}));
    assert_eq!(data["periods"], json!({"1": {"home": 2, "away": 0}}));
    assert_eq!(data.get("winner"), None);
    assert_eq!(bench.readers["hockey"].data["matches"]["1"]["score"], data["score"]);
}

#[test]
fn race_is_published_and_its_order_corrected() {
    let mut bench = bench(Sport::HorseRacing);
    let runner = |id: u64, position| RaceRunner {
        participant: Participant { id: Id(id), name: format!("horse {id}").into() },
        number: Some(1),
        jockey: None,
        status: RunnerStatus::Active,
        position,
    };
    let races = [
        (RaceStatus::AtThePost, vec![runner(7, None), runner(8, None), runner(9, None)]),
        (RaceStatus::Off, vec![runner(7, None), runner(8, None)]),
        (RaceStatus::Finished, vec![runner(7, Some(1)), runner(8, Some(2))]),
        (RaceStatus::Finished, vec![runner(7, Some(2)), runner(8, Some(1))]),
    ];
    for (second, (status, runners)) in (1..).zip(races) {
        let race = Race { status, runners };
        apply(&mut bench, second, event(Sport::HorseRacing, Fact::Race(race)));
    }
    let expected = ["off off -", "finish finish -", "correct correct-1 finish"];
    assert_eq!(event_lines(&bench, "horseracing/1"), expected);
    let data = &bench.readers["horseracing/1"].data;
    assert_eq!(data["runners"]["8"]["position"], 1);
    assert_eq!(data["runners"].get("9"), None);
    assert_eq!(bench.readers["horseracing"].data["matches"]["1"]["status"], "finished");
}
