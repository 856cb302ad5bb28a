//! StatsBomb and Stats Perform matches: goals, cards and substitutions to the second, and the result.

use std::io::Read as _;

use facts::event::{
    FootballStatus, GoalKind, Incident, IncidentKind, Pair, Participant, Side, Stat, Timed,
};
use ingest::recording::{Limits, Recording, Step, plan};
use serde_json::{Value, json};

use super::{
    START, batches, fixture,
    football::{end, incidents, last_stat},
    recording, shared,
};

const RED_CARD: &str = "statsbomb/15986.events.json.gz";
const MA1: &str = "statsperform/hsv-svs-2021-09-11.ma1.json.gz";
const MA3: &str = "statsperform/hsv-svs-2021-09-11.ma3.json.gz";
const OWN_GOAL: &str = "statsbomb/3788741.events.json.gz";

#[test]
fn two_all_with_a_red_card_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording(RED_CARD) else { return };
    check(&batches, &sheet);
    assert_eq!(&*fixture(&batches).provider_key, "15986");
    assert_eq!(end(&batches).0.half_time, Some([1, 1]));
    assert_eq!(last_stat(&batches, Side::First, Stat::RedCards), Some(1));
    assert_eq!(last_stat(&batches, Side::Second, Stat::YellowCards), Some(5));
}

#[test]
fn xml_has_the_facts_of_the_json() {
    for (json, xml) in [(MA1, "hsv-svs.ma1.xml"), (MA3, "hsv-svs.ma3.xml.gz")] {
        let Some(json) = shared(json) else { return };
        let Some(xml) = shared(&format!("../feeds-2/statsperform/{xml}")) else { return };
        let (json, xml) = (batches(&json), batches(&xml));
        assert_eq!(json.len(), xml.len());
        for (json, xml) in json.iter().zip(&xml) {
            assert_eq!(json, xml);
        }
    }
}

#[test]
fn list_has_the_facts_of_its_documents() {
    let Some(path) = shared(MA1) else { return };
    let mut document = String::new();
    let file = std::fs::File::open(&path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut document).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list.json");
    std::fs::write(&list, format!("[{document},{document},{{")).unwrap();
    let steps = Recording::open(&list, &[], START, &Limits::default()).unwrap();
    let (played, refused): (Vec<_>, Vec<_>) =
        steps.partition(|step| matches!(step, Step::Batch(_)));
    let one: Vec<_> = batches(&path).into_iter().map(Step::Batch).collect();
    assert_eq!(played, [one.clone(), one].concat());
    assert_eq!(refused.len(), 1, "the cut");
}

#[test]
fn own_goal_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording(OWN_GOAL) else { return };
    check(&batches, &sheet);
    assert_eq!(end(&batches).0.half_time, Some([0, 0]));
}

#[test]
fn late_penalty_and_coach_booked_match_the_answer_sheet() {
    let Some((batches, sheet)) = recording(MA3) else { return };
    check(&batches, &sheet);
    let fixture = fixture(&batches);
    assert_eq!(fixture.provider_key.as_ref(), sheet["provider_match_id"].as_str().unwrap());
    assert_eq!(fixture.start, Some(1_631_385_000_000_000));
    assert_eq!(&*fixture.competition.as_ref().unwrap().name, "2. Bundesliga");
    assert_eq!(end(&batches).0.half_time, Some([0, 0]));
    assert_eq!(last_stat(&batches, Side::Second, Stat::YellowCards), Some(4));
    assert_eq!(last_stat(&batches, Side::Second, Stat::RedCards), Some(1));
}

#[test]
fn summary_alone_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording(MA1) else { return };
    check(&batches, &sheet);
    assert_eq!(end(&batches).0.half_time, Some([0, 0]));
}

#[test]
fn events_and_summary_have_the_same_goals() {
    let Some((events, _)) = recording(MA3) else { return };
    let (summary, _) = recording(MA1).unwrap();
    assert_eq!(fixture(&events), fixture(&summary));
    let goals = |batches: &[Timed]| {
        let goals = incidents(batches).filter(|(_, it)| matches!(it.kind, IncidentKind::Goal(_)));
        goals.map(|(_, it)| it.clone()).collect::<Vec<_>>()
    };
    assert_eq!(goals(&events), goals(&summary));
}

#[test]
fn summary_is_played_unless_its_match_is_played_in_full() {
    let Some(events) = shared(MA3) else { return };
    let summary = shared(MA1).unwrap();
    assert_eq!(plan(&[summary.clone(), events.clone()]).unwrap(), [events]);
    assert_eq!(plan(std::slice::from_ref(&summary)).unwrap(), [summary]);
}

/// The rows of the sheet in the form of the decoded ones.
fn rows(sheet: &Value, row: impl Fn(&Value) -> Value) -> Vec<Value> {
    sheet.as_array().unwrap().iter().map(row).collect()
}

/// The match second: `minute` and `second`, or `clock` as `MM:SS`.
fn second(row: &Value) -> u64 {
    let part = |text: &str| text.parse::<u64>().unwrap();
    match row["clock"].as_str().and_then(|clock| clock.split_once(':')) {
        Some((minute, second)) => part(minute) * 60 + part(second),
        None => row["minute"].as_u64().unwrap() * 60 + row["second"].as_u64().unwrap(),
    }
}

pub(crate) fn check(batches: &[Timed], sheet: &Value) {
    let sides = fixture(batches).sides.as_ref().unwrap();
    assert_eq!(json!([&*sides[0].name, &*sides[1].name]), json!([sheet["home"], sheet["away"]]));
    let collect_rows = |row: &dyn Fn(&Incident) -> Option<Value>| {
        let rows = incidents(batches).filter_map(|(second, incident)| {
            let mut row = row(incident)?;
            let shown = u32::from(incident.minute + incident.added.unwrap_or(0));
            assert_eq!(shown, second / 60 + 1, "minute in progress of {}", incident.eid);
            row["second"] = json!(second);
            row["team"] = json!(incident.side.map(|side| &*sides[side.index()].name));
            row["player"] = name(incident.player.as_ref());
            Some(row)
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(collect_rows(&goal), rows(&sheet["goals"], goal_row));
    assert_eq!(collect_rows(&card), rows(&sheet["cards"], card_row));
    assert_eq!(collect_rows(&substitution), rows(&sheet["substitutions"], substitution_row));
    let (score, status, running) = end(batches);
    let expected = ["home", "away"].map(|side| sheet["final_score"][side].as_u64().unwrap());
    assert_eq!(score.goals.map(u64::from), expected);
    assert_eq!((status, running), (Some(FootballStatus::Finished), false));
}

fn name(player: Option<&Participant>) -> Value {
    json!(player.map(|it| &*it.name))
}

fn goal(incident: &Incident) -> Option<Value> {
    let IncidentKind::Goal(kind) = incident.kind else { return None };
    let [home, away]: Pair<u16> = incident.score.unwrap();
    let (own_goal, penalty) = (kind == GoalKind::OwnGoal, kind == GoalKind::Penalty);
    let score = format!("{home}-{away}");
    Some(json!({"own_goal": own_goal, "penalty": penalty, "score_after": score}))
}

fn goal_row(row: &Value) -> Value {
    json!({
        "second": second(row),
        "team": row["team"],
        "player": row["player"],
        "own_goal": row["own_goal"],
        "penalty": row["penalty"],
        "score_after": row["score_after"],
    })
}

fn card(incident: &Incident) -> Option<Value> {
    let card = match incident.kind {
        IncidentKind::Yellow => "yellow",
        IncidentKind::SecondYellow => "second_yellow",
        IncidentKind::Red => "red",
        _ => return None,
    };
    Some(json!({"card": card}))
}

fn card_row(row: &Value) -> Value {
    let card = match row["card"].as_str().unwrap() {
        "Yellow Card" => "yellow",
        "Second Yellow" => "second_yellow",
        "Red Card" => "red",
        other => other,
    };
    json!({"second": second(row), "team": row["team"], "player": row["player"], "card": card})
}

fn substitution(incident: &Incident) -> Option<Value> {
    (incident.kind == IncidentKind::Substitution)
        .then(|| json!({"on": name(incident.assist.as_ref())}))
}

fn substitution_row(row: &Value) -> Value {
    json!({
        "second": second(row),
        "team": row["team"],
        "player": row["off"],
        "on": row["on"],
    })
}

#[test]
fn line_ups_named_are_not_recordings() {
    let Some(events) = shared(RED_CARD) else { return };
    let line_ups = shared("statsbomb/15986.lineups.json").unwrap();
    assert_eq!(plan(&[line_ups.clone(), events.clone()]).unwrap(), [events]);
    assert!(Recording::open(&line_ups, &[], START, &Limits::default()).is_err());
}
