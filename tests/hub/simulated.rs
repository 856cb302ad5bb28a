//! The simulated day: the properties on its first minutes, and its documents compared with the
//! simulator's state.

use std::collections::HashSet;

use facts::event::{GoalKind, Id, Pair, Side, Sport};
use fanout::Micros;
use serde_json::{Value, json};
use simulator::{Ending, FootballTruth, Goal, MatchTruth, Simulator, TennisTruth};

use crate::bench::{Bench, Reader, START};

const MINUTE: Micros = 60_000_000;

/// The day's first minutes, with an hour of announcements and prices before the kick-offs.
#[test]
fn first_minutes_hold_the_properties() {
    for seed in [1, 2] {
        let mut bench = Bench::with_long_days();
        let end = START + 9 * MINUTE;
        let day = Simulator::new(seed, START).take_while(|timed| timed.clock_us < end);
        for (number, timed) in day.enumerate() {
            let (_, errors) = bench.apply(&timed.batch);
            assert_eq!(errors, []);
            if number % 4_000 == 0 {
                bench.check_images();
            }
        }
        bench.check_images();
        bench.check_some_resumes(20_000);
        bench.check_log();
    }
}

/// The matches that begin in the day's first minutes, played to the end.
#[test]
fn final_documents_match_the_simulated_truth() {
    for seed in [3, 11] {
        let truth = Simulator::truth(seed, START);
        let matches: Vec<_> =
            truth.matches.into_iter().filter(|it| it.start < START + 6 * MINUTE).collect();
        let ids: HashSet<Id> = matches.iter().map(|it| it.id).collect();
        assert!(matches.len() >= 3, "seed {seed}");
        let mut bench = Bench::with_long_days();
        let mut left = ids.clone();
        for timed in Simulator::new(seed, START) {
            let first = timed.batch.events.first().map(|event| (event.sport, event.match_id));
            let Some((sport, id)) = first.filter(|(_, id)| ids.contains(id)) else { continue };
            bench.apply(&timed.batch);
            if is_over(&bench, sport, id) {
                left.remove(&id);
            }
            if left.is_empty() {
                break;
            }
        }
        bench.check_images();
        bench.check_log();
        matches.iter().for_each(|truth| check(&bench, truth));
    }
}

/// Whether a match and all its books have ended.
fn is_over(bench: &Bench, sport: Sport, id: Id) -> bool {
    let has_ended = |reader: &Reader| reader.data["life"] == "ended";
    let name = format!("{}/{id}", sport.as_str());
    let below = format!("{name}/");
    let books = bench.readers.range(below.clone()..);
    bench.readers.get(&name).is_some_and(has_ended)
        && books.take_while(|(name, _)| name.starts_with(&below)).all(|(_, it)| has_ended(it))
}

fn check(bench: &Bench, truth: &MatchTruth) {
    let MatchTruth { sport, id, markets, .. } = truth;
    let name = format!("{}/{id}", sport.as_str());
    let reader = &bench.readers[&name];
    match &truth.ending {
        Ending::Football(truth) => check_football(&reader.data, &reader.events(), truth),
        Ending::Tennis(truth) => check_tennis(&reader.data, &reader.events(), truth),
        Ending::Scoreboard(truth) => {
            assert_eq!(
                (&reader.data["status"], &reader.data["life"]),
                (&json!("finished"), &json!("ended"))
            );
            let [home, away] = truth.score;
            assert_eq!(reader.data["score"], json!({"home": home, "away": away}));
        }
        Ending::Race(_) => assert_eq!(reader.data["status"], "finished"),
    }
    for slug in Simulator::bookmakers() {
        let book = &bench.readers[&format!("{name}/odds/{slug}")].data["markets"];
        for settled in markets {
            let market = &book[&*settled.market];
            assert_eq!(market["status"], "closed", "{name} {slug} {}", settled.market);
            let mut expected: Vec<_> = settled.winners.iter().map(|winner| &**winner).collect();
            expected.sort_unstable();
            let mut found = winners(market);
            found.sort_unstable();
            assert_eq!(found, expected, "{name} {slug}");
        }
    }
}

fn winners(market: &Value) -> Vec<&str> {
    let selections = market["selections"].as_object().expect("a market has selections");
    let won = selections.iter().filter(|(_, it)| it["status"] == "winner");
    won.map(|(id, _)| id.as_str()).collect()
}

fn check_football(data: &Value, events: &[Value], truth: &FootballTruth) {
    assert_eq!((&data["status"], &data["life"]), (&json!("finished"), &json!("ended")));
    let mut score = pair(truth.score);
    score["ht"] = pair(truth.half_time);
    assert_eq!(data["score"], score);
    let incidents = data["incidents"].as_object().expect("incidents are by eid");
    let stands = |kind: &str| {
        let mut all: Vec<_> = incidents
            .iter()
            .filter(|(_, it)| it["kind"] == kind && it["retracted"] != true)
            .map(|(eid, it)| (it["n"].as_u64(), eid.as_str(), it))
            .collect();
        all.sort_by_key(|(number, ..)| *number);
        all
    };
    let goals: Vec<Value> = stands("goal").into_iter().map(|(_, eid, it)| named(eid, it)).collect();
    assert_eq!(goals, truth.goals.iter().map(goal).collect::<Vec<_>>());
    let retracted: HashSet<&str> = events
        .iter()
        .filter(|event| event["kind"] == "retract")
        .filter_map(|event| event["of"].as_str())
        .collect();
    assert_eq!(retracted, truth.overturned.iter().map(|it| &*it.goal.eid).collect());
    assert_eq!(stands("substitution").len(), truth.substitutions.len());
    assert_eq!(stands("penalty_missed").len(), truth.penalties_missed.len());
    let cards = ["yellow", "second_yellow", "red"].map(|kind| stands(kind).len());
    assert_eq!(cards.iter().sum::<usize>(), truth.cards.len());
}

fn named(eid: &str, incident: &Value) -> Value {
    let mut out = incident.clone();
    let fields = out.as_object_mut().expect("an incident is an object");
    fields.remove("n");
    fields.insert("eid".to_owned(), eid.into());
    out
}

fn goal(goal: &Goal) -> Value {
    let Goal { eid, at, side, scorer, assist, kind, score } = goal;
    let mut out = json!({
        "eid": &**eid,
        "kind": "goal",
        "minute": at.minute,
        "side": if *side == Side::First { "home" } else { "away" },
        "player": {"id": scorer.id.0, "name": &*scorer.name},
        "type": match kind {
            GoalKind::Regular => "regular",
            GoalKind::Penalty => "penalty",
            GoalKind::OwnGoal => "own_goal",
        },
        "score": pair(*score),
    });
    if let Some(added) = at.added {
        out["added"] = added.into();
    }
    if let Some(assist) = assist {
        out["assist"] = json!({"id": assist.id.0, "name": &*assist.name});
    }
    out
}

fn pair(values: Pair<u16>) -> Value {
    json!({"home": values[0], "away": values[1]})
}

fn check_tennis(data: &Value, events: &[Value], truth: &TennisTruth) {
    assert_eq!(data["life"], "ended");
    assert_eq!(data["points"], truth.points);
    let winner = truth.winner.map(|side| side.index() + 1);
    assert_eq!(data.get("winner"), winner.map(|number| json!(number)).as_ref());
    let sets = truth.sets.iter().zip(1..).map(|(set, number)| {
        let mut out = json!({"p1": set.games[0], "p2": set.games[1]});
        if let Some([p1, p2]) = set.tie_break {
            out["tb"] = json!({"p1": p1, "p2": p2});
        }
        (number.to_string(), out)
    });
    assert_eq!(data["sets"], sets.collect::<Value>());
    let count = |kind: &str| events.iter().filter(|event| event["kind"] == kind).count();
    let points_reported = truth.points as usize + truth.retracted.len();
    assert_eq!(count("point"), points_reported);
    let taken_back: Vec<&str> = events
        .iter()
        .filter(|event| event["kind"] == "retract")
        .filter_map(|event| event["of"].as_str())
        .filter(|eid| !eid.contains(':'))
        .collect();
    assert_eq!(taken_back, truth.retracted.iter().map(|eid| &**eid).collect::<Vec<_>>());
}
