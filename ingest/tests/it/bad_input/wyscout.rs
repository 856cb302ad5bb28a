//! Wyscout documents with parts that are wrong, missing or contradict the match record.

use facts::event::{Fact, FootballFact, FootballScore, FootballStatus, Incident, IncidentKind};
use ingest::recording::Limits;

use super::{
    Outcome, Scratch, check_cut,
    fixtures::{document, event, gz, match_events, record},
};

impl Outcome {
    fn football(&self) -> impl Iterator<Item = &FootballFact> {
        self.facts().filter_map(|fact| match fact {
            Fact::Football(fact) => Some(fact),
            _ => None,
        })
    }

    pub(crate) fn last_score(&self) -> FootballScore {
        let scores = self.football().filter_map(|fact| match fact {
            FootballFact::Score(score) => Some(*score),
            _ => None,
        });
        scores.last().unwrap()
    }

    pub(crate) fn has_finished(&self) -> bool {
        self.football().any(|fact| *fact == FootballFact::Status(FootballStatus::Finished))
    }

    pub(crate) fn incidents(&self) -> Vec<&Incident> {
        let incidents = self.football().filter_map(|fact| match fact {
            FootballFact::Incident(incident) => Some(incident),
            _ => None,
        });
        incidents.filter(|it| !matches!(it.kind, IncidentKind::Period(_))).collect()
    }
}

fn with_record(record: &str) -> Outcome {
    let scratch = Scratch::new();
    scratch.file("matches.json", record);
    let path = scratch.file("5.events.json", document(&match_events()));
    Outcome::read(&path, &Limits::default()).unwrap()
}

#[test]
fn whole_match_is_decoded() {
    let outcome = with_record(&record("2", "1"));
    assert_eq!(outcome.reasons(), [""; 0]);
    let line = |incident: &&Incident| {
        let player = incident.player.as_ref().unwrap();
        let assist = incident.assist.as_ref().map_or("-", |incident| &incident.name);
        format!(
            "{:?} {}+{:?} {} {assist}",
            incident.kind, incident.minute, incident.added, player.name
        )
    };
    let expected = [
        "Goal(Regular) 11+None A. One A. One",
        "Goal(Regular) 45+Some(2) B. Two -",
        "Substitution 46+None A. One player 72",
        "Goal(OwnGoal) 46+None B. Two -",
        "Yellow 54+None A. One -",
        "PenaltyMissed 54+None B. Two -",
    ];
    assert_eq!(outcome.incidents().iter().map(line).collect::<Vec<_>>(), expected);
    let score = FootballScore { goals: [2, 1], half_time: Some([1, 1]), ..Default::default() };
    assert_eq!(outcome.last_score(), score);
}

#[test]
fn substituted_player_has_no_later_touches() {
    let scratch = Scratch::new();
    scratch.file("matches.json", record("2", "1").replace("\"46\"", "\"54\""));
    let path = scratch.file("5.events.json", document(&match_events()));
    let outcome = Outcome::read(&path, &Limits::default()).unwrap();
    let kinds: Vec<_> = outcome.incidents().iter().map(|it| it.kind).collect();
    assert_eq!(kinds[3..5], [IncidentKind::Yellow, IncidentKind::Substitution]);
}

#[test]
fn fixture_is_that_of_the_record() {
    let outcome = with_record(&record("2", "1"));
    let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
    assert_eq!(fixture.start, Some(1_531_666_800_000_000));
    assert_eq!(&*fixture.competition.as_ref().unwrap().name, "World Cup");
    assert_eq!(&*fixture.sides.as_ref().unwrap()[0].name, "Café FC");
}

#[test]
fn start_without_a_record_is_not_known() {
    let outcome = Outcome::of_bytes("5.events.json", document(&match_events()));
    let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
    assert_eq!(fixture.start, None);
}

#[test]
fn goals_of_a_whole_match_prevail_over_the_record() {
    let outcome = with_record(&record("3", "1"));
    let expected = "score [2, 1] by the events, [3, 1] by the match record";
    assert_eq!(outcome.reasons(), [expected]);
    assert_eq!(outcome.last_score().goals, [2, 1]);
}

/// A part of the events has neither an end nor, without the record, a result.
#[test]
fn match_ends_only_if_its_data_does() {
    let all = match_events();
    let unplayed = record("0", "0").replace("\"wyId\":5,", "\"wyId\":5,\"status\":\"Suspended\",");
    for (events, record, score) in [
        (&all[..], None, Some([2, 1])),
        (&all[..8], None, None),
        (&all[..5], None, None),
        (&all[..8], Some(&unplayed), None),
        (&all[..], Some(&unplayed), Some([2, 1])),
        (&all[..5], Some(&record("2", "1")), Some([2, 1])),
    ] {
        let scratch = Scratch::new();
        record.into_iter().for_each(|record| drop(scratch.file("matches.json", record)));
        let path = scratch.file("5.events.json", document(events));
        let outcome = Outcome::read(&path, &Limits::default()).unwrap();
        let ended = outcome.has_finished().then(|| outcome.last_score().goals);
        assert_eq!(ended, score, "{} events, {record:?}", events.len());
    }
}

#[test]
fn team_without_a_name_is_no_side() {
    let text = document(&match_events()).replace(r#"{"team":{"name":"Old Mill"}}"#, "{}");
    let outcome = Outcome::of_bytes("5.events.json", text);
    let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
    assert_eq!(fixture.sides, None);
    assert_eq!(outcome.last_score().goals, [2, 1]);
    assert!(outcome.reasons().contains(&"a team without a name"), "{:?}", outcome.reasons());
}

#[test]
fn broken_record_is_refused_and_the_match_played() {
    let outcome = with_record("[{\"teamsData\"");
    assert_eq!(outcome.refused(), [("truncated", 0)]);
    assert!(outcome.refusals[0].location.file.ends_with("matches.json"));
    assert_eq!(outcome.last_score().goals, [2, 1]);
}

#[test]
fn events_of_wrong_types_are_skipped_alone() {
    let mut events = match_events();
    events[1] = events[1].replace("600.5", "\"soon\"");
    events[6] = events[6].replace("500", "-4");
    events.insert(3, "17".to_owned());
    events.insert(4, event(20, "3H", 1.0, 7, ("Pass", ""), &[]));
    let outcome = Outcome::of_bytes("5.json", document(&events));
    assert_eq!(outcome.refused(), [("value", 0); 4]);
    assert_eq!(outcome.last_score().goals, [2, 1]);
}

#[test]
fn unknown_teams_repeats_and_old_periods_are_refused() {
    let mut events = match_events();
    events.push(events[2].clone());
    events.push(event(21, "2H", 2801.0, 9, ("Pass", ""), &[]));
    events.push(event(22, "1H", 10.0, 7, ("Shot", "Shot"), &[101]));
    events.push(event(23, "2H", 2801.0, 7, ("Pass", ""), &[]).replace(":5,", ":6,"));
    let outcome = Outcome::of_bytes("5.json", document(&events));
    let expected = [
        "event 3 comes twice",
        "team 9 does not play in this match",
        "event 22 of a period that is over",
        "event of match 6 in match 5",
    ];
    assert_eq!(outcome.reasons(), expected);
    assert_eq!(outcome.last_score().goals, [2, 1]);
}

#[test]
fn decreasing_time_is_reported_and_the_event_used() {
    let mut events = match_events();
    events[2] = events[2].replace("602", "599");
    let outcome = Outcome::of_bytes("5.json", document(&events));
    assert_eq!(outcome.refused(), [("time_backwards", 0)]);
    assert_eq!(outcome.last_score().goals, [2, 1]);
}

#[test]
fn cut_document_is_played_to_the_cut_and_has_no_final_whistle() {
    let text = document(&match_events());
    let cut = text.find("\"id\":6").unwrap();
    check_cut("5.json", &text.as_bytes()[..cut]);
    check_cut("5.json", &gz(&text.as_bytes()[..cut]));
}
