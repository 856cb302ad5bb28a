//! Responses of API-Football: every fixture with its result, goals, cards, substitutions and kicks.

use std::collections::BTreeMap;

use facts::event::{
    Analysis, Event, Fact, Fixture, FootballFact, FootballScore, FootballStatus, GoalKind, Id,
    Incident, IncidentKind, Pair, Participant, Side, Stat, Timed,
};
use serde_json::{Value, json};

use super::recording;

/// The facts about one fixture.
#[derive(Default)]
struct ReportedMatch {
    fixture: Option<Fixture>,
    status: Option<FootballStatus>,
    score: Option<FootballScore>,
    incidents: Vec<Incident>,
    stats: BTreeMap<(Side, Stat), u32>,
}

fn reported(batches: &[Timed]) -> BTreeMap<Id, ReportedMatch> {
    let mut all = BTreeMap::<_, ReportedMatch>::new();
    for Event { match_id, fact, .. } in batches.iter().flat_map(|it| &it.batch.events) {
        let reported = all.entry(*match_id).or_default();
        match fact {
            Fact::Fixture(fixture) => reported.fixture = Some(fixture.clone()),
            Fact::Football(FootballFact::Status(status)) => reported.status = Some(*status),
            Fact::Football(FootballFact::Score(score)) => reported.score = Some(*score),
            Fact::Football(FootballFact::Incident(it)) => reported.incidents.push(it.clone()),
            Fact::Football(FootballFact::Stats { side, values }) => {
                reported.stats.extend(values.iter().map(|(stat, count)| ((*side, *stat), *count)));
            }
            Fact::Football(FootballFact::Clock { running, .. }) => assert!(!running),
            Fact::Football(FootballFact::PeriodStart { .. }) => {}
            // Every fixture of these files has a round and a venue.
            Fact::About(about) => {
                assert!(about.round_name.is_some() && about.venue.is_some(), "{about:?}");
            }
            Fact::Football(FootballFact::LineUp { line_up, .. }) => {
                let starters = line_up.players.iter().filter(|it| it.starter).count();
                assert_eq!(starters, 11, "{line_up:?}");
            }
            Fact::Football(FootballFact::PlayerStats { values, .. }) => {
                assert!(!values.is_empty());
            }
            Fact::Football(FootballFact::Analysis(
                Analysis::ExpectedGoals { .. } | Analysis::Ratings { .. },
            )) => {}
            other => panic!("{other:?}"),
        }
    }
    all
}

fn check(file: &str) -> Vec<ReportedMatch> {
    let Some((batches, sheet)) = recording(file) else { return Vec::new() };
    let all: Vec<_> = reported(&batches).into_values().collect();
    let rows = sheet["fixtures"].as_array().unwrap();
    assert_eq!(all.len(), rows.len());
    for row in rows {
        let key = row["id"].to_string();
        let of_row =
            |reported: &&ReportedMatch| *reported.fixture.as_ref().unwrap().provider_key == *key;
        check_fixture(all.iter().find(of_row).unwrap(), row);
    }
    all
}

fn check_fixture(reported: &ReportedMatch, row: &Value) {
    let fixture = reported.fixture.as_ref().unwrap();
    let sides = fixture.sides.as_ref().unwrap();
    let start = fixture.start.unwrap() / 1_000_000;
    let ours = json!([&*sides[0].name, &*sides[1].name, start]);
    assert_eq!(ours, json!([row["home"], row["away"], row["timestamp"]]));
    let status = match row["status"].as_str().unwrap() {
        "NS" => FootballStatus::NotStarted,
        "PEN" => FootballStatus::Finished,
        other => panic!("status {other}"),
    };
    assert_eq!(reported.status, Some(status));
    let pair = |score: &Value| {
        let side = |side: &str| score[side].as_u64().map(|goals| goals as u16);
        Some([side("home")?, side("away")?])
    };
    assert_eq!(reported.score.map(|score| score.goals), pair(&row["goals"]));
    let score = reported.score.unwrap_or_default();
    assert_eq!(score.half_time, pair(&row["score"]["halftime"]));
    assert_eq!(score.extra_time, pair(&row["score"]["extratime"]));
    assert_eq!(score.penalties, pair(&row["score"]["penalty"]));
    check_incidents(&reported.incidents, sides, row);
}

fn check_incidents(incidents: &[Incident], sides: &Pair<Participant>, row: &Value) {
    let rows = |list: &str| row[list].as_array().cloned().unwrap_or_default();
    let reported = |incident: &Incident| {
        json!({
            "minute": incident.minute,
            "extra": incident.added,
            "team": &*sides[incident.side.unwrap().index()].name,
            "player": &*incident.player.as_ref().unwrap().name,
            "assist": incident.assist.as_ref().map(|incident| &*incident.name),
            "detail": detail(incident.kind),
        })
    };
    let incidents_of = |wanted: fn(IncidentKind) -> bool| {
        incidents.iter().filter(move |it| wanted(it.kind)).collect::<Vec<_>>()
    };
    let columns = |row: &Value| {
        let columns = ["minute", "extra", "team", "player", "assist", "detail"];
        columns.into_iter().map(|it| (it.to_owned(), row[it].clone())).collect::<Value>()
    };
    let goals = incidents_of(|kind| matches!(kind, IncidentKind::Goal(_)));
    let ours: Vec<_> = goals.iter().map(|it| reported(it)).collect();
    assert_eq!(ours, rows("goals_list").iter().map(columns).collect::<Vec<_>>());
    if let Some(last) = goals.last() {
        assert_eq!(last.score, Some([0, 1].map(|at| goals_of(&goals, at))));
    }
    let cards = incidents_of(|kind| matches!(kind, IncidentKind::Yellow | IncidentKind::Red));
    let ours: Vec<_> = cards.iter().map(|it| reported(it)).collect();
    assert_eq!(ours, rows("cards").iter().map(columns).collect::<Vec<_>>());
    for side in sides {
        let ours = incidents_of(|kind| kind == IncidentKind::Substitution);
        let ours = ours.iter().filter(|it| sides[it.side.unwrap().index()] == *side).count();
        let theirs = row["substitutions"][&*side.name].as_u64().unwrap_or(0);
        assert_eq!(ours as u64, theirs, "substitutions of {}", side.name);
    }
    check_kicks(incidents, sides, &rows("shootout"));
}

fn goals_of(goals: &[&Incident], side: usize) -> u16 {
    goals.iter().filter(|it| it.side.unwrap().index() == side).count() as u16
}

fn detail(kind: IncidentKind) -> &'static str {
    match kind {
        IncidentKind::Goal(GoalKind::Regular) => "Normal Goal",
        IncidentKind::Goal(GoalKind::OwnGoal) => "Own Goal",
        IncidentKind::Goal(GoalKind::Penalty) => "Penalty",
        IncidentKind::Yellow => "Yellow Card",
        IncidentKind::Red => "Red Card",
        other => panic!("{other:?}"),
    }
}

/// The sheet has the kicks in the order of the response, which is not the order in which they were
/// taken: for one match it is the reverse. The decoded kicks are ordered by number, and the sides
/// alternate.
fn check_kicks(incidents: &[Incident], sides: &Pair<Participant>, rows: &[Value]) {
    let kicks: Vec<_> = incidents
        .iter()
        .filter_map(|it| match it.kind {
            IncidentKind::Shootout { scored } => Some((it.side.unwrap(), it, scored)),
            _ => None,
        })
        .collect();
    assert!(kicks.windows(2).all(|two| two[0].0 != two[1].0), "they take turns");
    let mut ours: Vec<_> = kicks
        .iter()
        .map(|(side, incident, scored)| {
            let player = &*incident.player.as_ref().unwrap().name;
            json!({"team": &*sides[side.index()].name, "player": player, "scored": scored})
        })
        .collect();
    let mut theirs = rows.to_vec();
    ours.sort_by_key(ToString::to_string);
    theirs.sort_by_key(ToString::to_string);
    assert_eq!(ours, theirs);
}

#[test]
fn matches_decided_on_penalties_match_the_answer_sheet() {
    let all = check("api-football/fixtures-cl-penalties.json");
    let Some(madrid) = all.iter().find(|it| it.stats.get(&(Side::First, Stat::Fouls)) == Some(&21))
    else {
        return;
    };
    assert_eq!(madrid.stats[&(Side::Second, Stat::BallPossession)], 53);
    assert_eq!(madrid.stats.get(&(Side::First, Stat::Offsides)), None, "null is not 0");
    let competition = madrid.fixture.as_ref().unwrap().competition.as_ref().unwrap();
    assert_eq!(&*competition.name, "UEFA Champions League");
    let kicks = madrid.incidents.iter().filter(|it| it.eid.starts_with("kick-"));
    let names: Vec<_> = kicks.map(|it| &*it.player.as_ref().unwrap().name).collect();
    assert_eq!((names[0], names[8]), ("H. Çalhanoğlu", "L. Martínez"));
}

#[test]
fn fixtures_not_begun_have_no_score() {
    let all = check("api-football/fixtures-bundes-ns-pst.json");
    assert!(all.iter().all(|it| it.score.is_none() && it.incidents.is_empty()));
}
