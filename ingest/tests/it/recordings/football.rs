//! Wyscout matches: goals, cards, substitutions, kicks of a shoot-out, and the result.

use std::fs;

use facts::event::{
    Fact, FootballFact, FootballScore, FootballStatus, GoalKind, Incident, IncidentKind, Pair,
    Participant, Side, Stat, Timed,
};
use serde_json::{Value, json};

use super::{batches, facts, fixture, recording, shared};

#[test]
fn world_cup_final_matches_the_answer_sheet() {
    check_football("wyscout/2058017.events.json.gz");
}

#[test]
fn extra_time_and_shootout_match_the_answer_sheet() {
    check_football("wyscout/2058009.events.json.gz");
}

#[test]
fn four_all_after_four_nil_matches_the_answer_sheet() {
    check_football("wyscout/2516847.events.json.gz");
}

fn check_football(file: &str) {
    let Some((batches, sheet)) = recording(file) else { return };
    let sides = fixture(&batches).sides.as_ref().unwrap();
    let collect_rows = |kind: fn(&Incident) -> bool, row: &dyn Fn(&Incident) -> Value| {
        let rows =
            incidents(&batches).filter(|(_, incident)| kind(incident)).map(|(second, incident)| {
                let mut row = row(incident);
                let shown = u32::from(incident.minute + incident.added.unwrap_or(0));
                assert_eq!(shown, second / 60 + 1, "minute in progress of {}", incident.eid);
                row["minute"] = json!(second / 60);
                row
            });
        Value::Array(rows.collect())
    };
    assert_eq!(json!([&*sides[0].name, &*sides[1].name]), json!([sheet["home"], sheet["away"]]));
    let goals = collect_rows(|it| matches!(it.kind, IncidentKind::Goal(_)), &|it| goal(it, sides));
    assert_eq!(goals, rows(&sheet["goals"], &["event_id", "minute", "player", "team"], goal_rest));
    check_cards(&batches, &sheet, sides);
    check_substitutions(&batches, &sheet, sides);
    check_shootout(&batches, &sheet, sides);
    check_result(&batches, &sheet);
}

/// Incidents with their match second.
pub(crate) fn incidents(batches: &[Timed]) -> impl Iterator<Item = (u32, &Incident)> {
    let mut now = 0;
    facts(batches).filter_map(move |fact| match fact {
        Fact::Football(FootballFact::Clock { second, .. }) => {
            now = *second;
            None
        }
        Fact::Football(FootballFact::Incident(incident)) => Some((now, incident)),
        _ => None,
    })
}

/// The rows of an answer sheet with the columns to compare; `rest` converts the other columns.
fn rows(sheet: &Value, columns: &[&str], rest: fn(&Value, &mut Value)) -> Value {
    let row = |from: &Value| {
        let mut row = json!({});
        for column in columns {
            row[*column] = from[*column].clone();
        }
        rest(from, &mut row);
        row
    };
    sheet.as_array().unwrap().iter().map(row).collect()
}

fn team<'a>(it: &Incident, sides: &'a Pair<Participant>) -> &'a str {
    &sides[it.side.unwrap().index()].name
}

fn player(incident: &Incident) -> &str {
    &incident.player.as_ref().unwrap().name
}

fn goal(incident: &Incident, sides: &Pair<Participant>) -> Value {
    let [home, away] = incident.score.unwrap();
    json!({
        "event_id": incident.eid.parse::<u64>().unwrap(),
        "team": team(incident, sides),
        "player": player(incident),
        "own_goal": incident.kind == IncidentKind::Goal(GoalKind::OwnGoal),
        "penalty": incident.kind == IncidentKind::Goal(GoalKind::Penalty),
        "score_after": format!("{home}-{away}"),
    })
}

fn goal_rest(from: &Value, row: &mut Value) {
    for column in ["own_goal", "penalty", "score_after"] {
        row[column] = from[column].clone();
    }
}

fn check_cards(batches: &[Timed], sheet: &Value, sides: &Pair<Participant>) {
    let card = |(second, incident): (u32, &Incident)| {
        let card = match incident.kind {
            IncidentKind::Yellow => "yellow",
            IncidentKind::SecondYellow => "second_yellow",
            IncidentKind::Red => "red",
            _ => return None,
        };
        let shown = u64::from(incident.minute + incident.added.unwrap_or(0));
        let name = player(incident);
        assert_eq!(shown, u64::from(second / 60) + 1, "minute in progress of {name}");
        let team = team(incident, sides);
        Some(json!({"minute": second / 60, "player": name, "team": team, "card": card}))
    };
    let ours: Value = incidents(batches).filter_map(card).collect();
    assert_eq!(ours, rows(&sheet["cards"], &["minute", "player", "team", "card"], |_, _| {}));
    let yellow = sheet["cards_by_team"][&*sides[0].name]["yellow"].as_u64().unwrap();
    assert_eq!(last_stat(batches, Side::First, Stat::YellowCards), Some(yellow as u32));
}

pub(crate) fn last_stat(batches: &[Timed], wanted: Side, stat: Stat) -> Option<u32> {
    let values = facts(batches).filter_map(|fact| match fact {
        Fact::Football(FootballFact::Stats { side, values }) if *side == wanted => Some(values),
        _ => None,
    });
    values.flatten().filter(|(it, _)| *it == stat).map(|(_, count)| *count).last()
}

fn check_substitutions(batches: &[Timed], sheet: &Value, sides: &Pair<Participant>) {
    let substitutions = incidents(batches).filter(|(_, it)| it.kind == IncidentKind::Substitution);
    let ours = substitutions.map(|(second, incident)| {
        let minute = incident.minute + incident.added.unwrap_or(0);
        assert_eq!(u32::from(minute), second / 60 + 1, "clock of {}", incident.eid);
        json!({
            "minute": minute,
            "team": team(incident, sides),
            "off": player(incident),
            "on": &*incident.assist.as_ref().unwrap().name,
        })
    });
    let key = |row: &Value| (row["minute"].as_u64(), row["off"].to_string());
    let mut ours: Vec<_> = ours.collect();
    assert!(ours.is_sorted_by_key(|row| row["minute"].as_u64()));
    ours.sort_by_key(key);
    let theirs = rows(&sheet["substitutions"], &["minute", "team", "off", "on"], |_, _| {});
    let mut theirs = theirs.as_array().unwrap().clone();
    theirs.sort_by_key(key);
    assert_eq!(ours, theirs);
}

fn check_shootout(batches: &[Timed], sheet: &Value, sides: &Pair<Participant>) {
    let kick = |(_, incident): (u32, &Incident)| {
        let IncidentKind::Shootout { scored } = incident.kind else { return None };
        let team = team(incident, sides);
        let player = player(incident);
        Some(json!({"team": team, "player": player, "scored": scored}))
    };
    let ours: Value = incidents(batches).filter_map(kick).collect();
    let theirs = match &sheet["shootout"] {
        Value::Null => json!([]),
        kicks => rows(kicks, &["team", "player", "scored"], |_, _| {}),
    };
    assert_eq!(ours, theirs);
}

fn check_result(batches: &[Timed], sheet: &Value) {
    let (score, status, running) = end(batches);
    let pair = |sheet: &Value| {
        let goals = |side| Some(sheet.get(side)?.as_u64()? as u16);
        Some([goals("home")?, goals("away")?])
    };
    assert_eq!(Some(score.goals), pair(&sheet["final_score"]));
    assert_eq!(score.half_time, pair(&sheet["half_time_score"]));
    assert_eq!(score.penalties, pair(&sheet["shootout_score"]));
    assert_eq!(score.extra_time.is_some(), sheet["events_by_period"].get("E1").is_some());
    assert_eq!((status, running), (Some(FootballStatus::Finished), false));
}

/// The state of the match after all facts, and whether its clock runs.
pub(crate) fn end(batches: &[Timed]) -> (FootballScore, Option<FootballStatus>, bool) {
    let football = facts(batches).filter_map(|fact| match fact {
        Fact::Football(fact) => Some(fact),
        _ => None,
    });
    let (mut score, mut status, mut running) = (FootballScore::default(), None, true);
    for fact in football {
        match fact {
            FootballFact::Score(new) => score = *new,
            FootballFact::Status(new) => status = Some(*new),
            FootballFact::Clock { running: new, .. } => running = *new,
            _ => {}
        }
    }
    (score, status, running)
}

#[test]
fn statuses_of_a_long_match_come_in_order() {
    let Some((batches, _)) = recording("wyscout/2058009.events.json.gz") else { return };
    let statuses: Vec<_> = facts(&batches)
        .filter_map(|fact| match fact {
            Fact::Football(FootballFact::Status(status)) => Some(*status),
            _ => None,
        })
        .collect();
    use FootballStatus::*;
    let expected = [
        NotStarted,
        FirstHalf,
        HalfTime,
        SecondHalf,
        ExtraFirst,
        ExtraHalf,
        ExtraSecond,
        Penalties,
        Finished,
    ];
    assert_eq!(statuses, expected);
}

#[test]
fn match_without_its_record_ends_with_the_score_of_its_goals() {
    let Some(path) = shared("wyscout/2058017.events.json.gz") else { return };
    let alone = std::env::temp_dir().join(format!("matchwire-alone-{}", std::process::id()));
    fs::create_dir_all(&alone).unwrap();
    let copy = alone.join("2058017.events.json.gz");
    fs::copy(path, &copy).unwrap();
    let batches = batches(&copy);
    fs::remove_dir_all(&alone).unwrap();
    let goals = incidents(&batches).filter_map(|(_, it)| it.score).last();
    assert_eq!(goals, Some([4, 2]));
    assert_eq!(fixture(&batches).start, None, "the events do not say it");
}
