//! Stats Perform documents with parts that are wrong, deleted, missing or contradict the result.

use facts::event::{Fact, FootballScore, GoalKind, IncidentKind};
use ingest::recording::Limits;

use super::{
    Outcome, Scratch, check_cut,
    fixtures::gz,
    statsbomb::{shown, statuses},
};

/// An event of team `h`, the home team, or of `a`; `clock` is the match clock.
pub(crate) fn event(
    id: u32,
    kind: u16,
    period: u8,
    clock: &str,
    team: &str,
    qualifiers: &str,
) -> String {
    let (minute, second) = clock.split_once(':').unwrap();
    let qualifiers: Vec<_> = qualifiers
        .split_terminator(' ')
        .map(|it| match it.split_once('=') {
            Some((id, value)) => format!(r#"{{"id":1,"qualifierId":{id},"value":"{value}"}}"#),
            None => format!(r#"{{"id":1,"qualifierId":{it}}}"#),
        })
        .collect();
    format!(
        r#"{{"id":{id},"eventId":{id},"typeId":{kind},"periodId":{period},"timeMin":{minute},"timeSec":{second},"contestantId":"{team}","playerId":"{team}{id}","playerName":"P{id}","outcome":1,"x":50.5,"y":20,"timeStamp":"2024-05-01T18:00:00.000Z","qualifier":[{}]}}"#,
        qualifiers.join(",")
    )
}

/// A goal with its assist and a disallowed one, an own goal, a deleted goal, a coach's card, a
/// substitution, a missed penalty; extra time, and a shoot-out.
pub(crate) fn long_match() -> Vec<String> {
    vec![
        event(1, 34, 16, "0:0", "h", "30=x"),
        event(2, 32, 1, "0:0", "h", ""),
        event(3, 32, 1, "0:0", "a", ""),
        event(4, 1, 1, "9:58", "h", "210=16"),
        event(5, 16, 1, "10:2", "h", "29 55=4"),
        event(6, 16, 1, "20:0", "h", "").replace("\"outcome\":1", "\"outcome\":0"),
        event(7, 43, 1, "21:0", "h", "29"),
        event(8, 16, 1, "46:30", "h", "28"),
        event(9, 30, 1, "47:0", "h", ""),
        event(10, 30, 1, "47:0", "a", ""),
        event(11, 32, 2, "45:0", "a", ""),
        event(12, 17, 2, "50:0", "a", "31")
            .replace("\"playerId\":\"a12\",\"playerName\":\"P12\",", ""),
        event(13, 18, 2, "60:0", "a", "55=14"),
        event(14, 19, 2, "60:0", "a", "55=13"),
        event(15, 15, 2, "70:0", "a", "9"),
        event(16, 16, 3, "91:0", "a", "9"),
        event(17, 16, 4, "119:59", "h", ""),
        event(18, 16, 5, "120:0", "h", "9"),
        event(19, 13, 5, "120:30", "a", "9"),
        event(20, 30, 14, "0:0", "a", ""),
    ]
}

const INFO: &str = r#"{"id":"m1","date":"2024-05-01Z","time":"18:00:00Z","competition":{"id":"c","name":"Cup"},"tournamentCalendar":{"name":"2023/2024"},"contestant":[{"id":"a","name":"City","position":"away"},{"id":"h","name":"Town","position":"home"}]}"#;

pub(crate) fn document(details: &str, lists: &str) -> String {
    format!(r#"{{"matchInfo":{INFO},"liveData":{{"matchDetails":{details},{lists}}}}}"#)
}

pub(crate) fn events(events: &[String]) -> String {
    format!("\"event\":[{}]", events.join(","))
}

const DETAILS: &str = r#"{"matchStatus":"Played","period":[{"id":1,"start":"2024-05-01T18:00:00Z","lengthMin":47,"lengthSec":0},{"id":2,"start":"2024-05-01T19:07:00Z","lengthMin":48,"lengthSec":30}],"scores":{"ht":{"home":1,"away":1},"ft":{"home":1,"away":1},"et":{"home":2,"away":2},"pen":{"home":1,"away":0},"total":{"home":3,"away":2}}}"#;

fn played(details: &str, lists: &str) -> Outcome {
    Outcome::of_bytes("m.ma3.json", document(details, lists))
}

#[test]
fn long_match_is_decoded() {
    let outcome = played(DETAILS, &events(&long_match()));
    assert_eq!(outcome.reasons(), [""; 0]);
    let expected = [
        "Goal(Regular) 11 P5 P4 1-0",
        "Goal(OwnGoal) 45+2 P8 - 1-1",
        "Yellow 51 - -",
        "Substitution 61 P13 P14",
        "PenaltyMissed 71 P15 -",
        "Goal(Penalty) 92 P16 - 1-2",
        "Goal(Regular) 120 P17 - 2-2",
        "Kick(true) 120 P18 - 1-0",
        "Kick(false) 120 P19 - 1-0",
    ];
    assert_eq!(shown(&outcome.incidents()), expected);
    let score = FootballScore {
        goals: [2, 2],
        half_time: Some([1, 1]),
        extra_time: Some([1, 1]),
        penalties: Some([1, 0]),
    };
    assert_eq!(outcome.last_score(), score);
    assert!(outcome.has_finished());
}

#[test]
fn fixture_is_that_of_the_match() {
    let outcome = played(DETAILS, &events(&long_match()));
    let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
    assert_eq!((&*fixture.provider_key, fixture.start), ("m1", Some(1_714_586_400_000_000)));
    let competition = fixture.competition.as_ref().unwrap();
    assert_eq!((&*competition.name, competition.season.as_deref()), ("Cup", Some("2023/2024")));
    assert_eq!(&*fixture.sides.as_ref().unwrap()[0].name, "Town");
}

#[test]
fn start_that_is_not_stated_is_not_known() {
    let text = document(DETAILS, &events(&long_match()));
    for (from, to, has_date) in [
        (r#""time":"18:00:00Z","#, "", true),
        (r#""date":"2024-05-01Z","time":"18:00:00Z","#, "", false),
    ] {
        let outcome = Outcome::of_bytes("m.ma3.json", text.replacen(from, to, 1));
        let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
        assert_eq!((fixture.start, fixture.date.is_some()), (None, has_date), "without {from}");
    }
}

#[test]
fn documents_of_a_list_before_its_cut_are_whole() {
    let text = document(DETAILS, &events(&long_match()));
    let list = format!("[{text},{},", text.replace("\"m1\"", "\"m2\""));
    let packed = gz(list.as_bytes());
    // Without the checksum all of the text is there, and the file still ends early.
    let outcome = Outcome::of_bytes("m.ma3.json", &packed[..packed.len() - 8]);
    assert_eq!(outcome.refused(), [("truncated", 0)]);
    let finished = statuses(&outcome).into_iter().filter(|status| *status == "finished");
    assert_eq!(finished.count(), 2);
}

#[test]
fn result_prevails_over_the_events() {
    let details = r#"{"matchStatus":"Played","scores":{"total":{"home":3,"away":1}}}"#;
    let outcome = played(details, &events(&long_match()[..10]));
    let expected = "score [1, 1] by the events, [3, 1] by the match record";
    assert_eq!(outcome.reasons(), [expected]);
    assert_eq!(outcome.last_score().goals, [3, 1]);
}

#[test]
fn match_ends_with_the_stated_result() {
    let last = |status: &str| {
        let details = format!(r#"{{"matchStatus":{status}}}"#);
        let outcome = played(&details, &events(&long_match()[..10]));
        statuses(&outcome).last().copied()
    };
    assert_eq!(last("\"Abandoned\""), Some("abandoned"));
    assert_eq!(last("\"Suspended\""), Some("half_time"));
    assert_eq!(last("\"Playing\""), Some("half_time"));
    assert_eq!(last("null"), Some("half_time"));
    assert_eq!(last(r#"null,"periodId":14"#), Some("finished"));
}

/// Without a status a match is over once its last half is.
#[test]
fn match_without_a_status_ends_if_its_data_does() {
    let end = event(16, 30, 2, "94:0", "h", "");
    let mut whole = long_match()[..15].to_vec();
    whole.push(end);
    for (events_of, last) in [
        (&whole[..], "finished"),
        (&whole[..15], "second_half"),
        (&long_match()[..17], "extra_second"),
    ] {
        let outcome = played("{}", &events(events_of));
        assert_eq!(statuses(&outcome).last(), Some(&last));
    }
    for (halves, last) in [
        (r#"[{"id":1,"lengthMin":47},{"id":2,"lengthMin":48}]"#, "finished"),
        (r#"[{"id":1,"lengthMin":47},{"id":2}]"#, "second_half"),
        (r#"[{"id":1,"lengthMin":47}]"#, "first_half"),
    ] {
        let outcome = played(&format!(r#"{{"period":{halves}}}"#), r#""goal":[]"#);
        assert_eq!(statuses(&outcome).last(), Some(&last), "{halves}");
    }
}

#[test]
fn side_without_a_name_is_refused_and_one_position_is_enough() {
    let text = document(DETAILS, &events(&long_match()));
    let read = |text: String| {
        let scratch = Scratch::new();
        Outcome::read(&scratch.file("m.json", text), &Limits::default())
    };
    for position in [r#","position":"away""#, r#","position":"home""#] {
        let outcome = read(text.replacen(position, "", 1)).unwrap();
        let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
        assert_eq!(&*fixture.sides.as_ref().unwrap()[0].name, "Town", "without {position}");
    }
    assert!(read(text.replacen(r#","name":"City""#, "", 1)).is_err());
    let outcome = read(text.replacen(r#","name":"Cup""#, "", 1)).unwrap();
    let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
    assert_eq!(fixture.competition, None);
}

#[test]
fn events_of_wrong_types_are_skipped_alone() {
    let mut all = long_match();
    all[2] = all[2].replace("\"periodId\":1", "\"periodId\":[]");
    all[3] = all[3].replace("\"timeMin\":9", "\"timeMin\":null");
    all[14] = all[14].replace("\"timeMin\":70", "\"timeMin\":7");
    all.push("null".to_owned());
    all.push(all[4].clone());
    all.push(event(40, 1, 5, "121:0", "x", ""));
    let outcome = played(DETAILS, &events(&all));
    assert_eq!(outcome.refusals.len(), 6, "{:?}", outcome.reasons());
    assert_eq!(outcome.last_score().goals, [2, 2]);
}

#[test]
fn invalid_optional_values_are_unknown() {
    let mut all = long_match();
    all[4] = all[4]
        .replace("\"x\":50.5", "\"x\":\"left\"")
        .replace("\"eventId\":5", "\"eventId\":null")
        .replace("2024-05-01T18", "yesterday")
        .replace("\"timeSec\":2", "\"timeSec\":\"2\"");
    let outcome = played("[]", &events(&all));
    assert_eq!(outcome.reasons(), [""; 0]);
    assert_eq!(outcome.last_score().goals, [2, 2]);
}

#[test]
fn cards_after_the_match_count_and_shootouts_may_follow_on_full_time() {
    let mut all = long_match()[..15].to_vec();
    all.push(event(16, 30, 2, "94:0", "h", ""));
    all.push(event(17, 16, 5, "90:0", "h", "9"));
    all.push(event(18, 17, 14, "0:0", "h", "33"));
    all.push(event(19, 16, 14, "0:0", "h", ""));
    all.push(event(20, 79, 2, "50:0", "x", "").replace("\"contestantId\":\"x\",", ""));
    let outcome = played("{}", &events(&all));
    assert_eq!(outcome.reasons(), [""; 0]);
    let last = &shown(&outcome.incidents())[5..];
    assert_eq!(last, ["Kick(true) 90 P17 - 1-0", "Red 90 P18 -"]);
    assert_eq!(outcome.last_score().goals, [1, 1]);
}

#[test]
fn cut_document_is_played_to_the_cut_and_has_no_final_whistle() {
    let text = document(DETAILS, &events(&long_match()));
    let cut = text.find("\"id\":12,").unwrap();
    check_cut("m.json", &text.as_bytes()[..cut]);
}

/// A summary of two goals, of which the second is an own goal of the side that trails.
pub(crate) fn lists() -> String {
    let goal = |clock: &str, team: &str, kind: &str, score: &str, id: u8| {
        format!(
            r#"{{"contestantId":"{team}","periodId":2,"timeMin":1,"timeMinSec":"{clock}","type":"{kind}","scorerId":"p{id}","scorerName":"S{id}","optaEventId":"{id}",{score}}}"#
        )
    };
    format!(
        r#""goal":[{},{},7],"card":[{{"contestantId":"a","periodId":1,"timeMin":47,"type":"RC","playerId":"p3","playerName":"S3"}},{{"contestantId":"a","type":"BLUE","timeMin":3}}],"substitute":[{{"contestantId":"h","periodId":1,"timeMinSec":"44:10","playerOnId":"p4","playerOnName":"S4","playerOffId":"p5","playerOffName":"S5"}}],"VAR":[{{"contestantId":"a","periodId":2,"timeMin":60,"type":"Goal not awarded","decision":"Cancelled"}}],"missedPen":[{{"contestantId":"a","periodId":2,"timeMinSec":"80:00","playerId":"p6","playerName":"S6"}}],"penaltyShot":[{{"contestantId":"h","playerId":"p7","playerName":"S7","outcome":"scored","timestamp":"2024-05-01T20:01:00Z"}},{{"contestantId":"a","playerId":"p8","playerName":"S8","outcome":"saved","timestamp":"2024-05-01T20:00:00Z"}}]"#,
        goal("73:39", "h", "PG", r#""homeScore":1,"awayScore":0"#, 1),
        goal("95:22", "h", "OG", r#""homeScore":2,"awayScore":0"#, 2),
    )
}

#[test]
fn summary_is_built_from_its_lists() {
    let outcome = played(
        r#"{"matchStatus":"Played","period":[{"id":1,"lengthMin":48},{"id":2,"lengthMin":51}],"scores":{"total":{"home":2,"away":0}}}"#,
        &lists(),
    );
    assert_eq!(outcome.refusals.len(), 2, "{:?}", outcome.reasons());
    let expected = [
        "Substitution 45 S5 S4",
        "Red 45+2 S3 -",
        "Var(Overturned) 60 - -",
        "Goal(Penalty) 74 S1 - 1-0",
        "PenaltyMissed 81 S6 -",
        "Goal(OwnGoal) 90+6 S2 - 2-0",
        "Kick(false) 90 S8 - 0-0",
        "Kick(true) 90 S7 - 1-0",
    ];
    assert_eq!(shown(&outcome.incidents()), expected);
    let goal = outcome.incidents().into_iter().find(|it| &*it.eid == "2").unwrap();
    assert_eq!(goal.kind, IncidentKind::Goal(GoalKind::OwnGoal));
    assert_eq!(outcome.last_score().half_time, Some([0, 0]));
}

#[test]
fn summary_that_lists_little_has_its_result() {
    let details = r#"{"matchStatus":"Played","scores":{"ht":{"home":1,"away":0},"ft":{"home":1,"away":1},"pen":{"home":4,"away":3},"total":{"home":1,"away":1}}}"#;
    let outcome = played(details, "\"goal\":[]");
    let expected = [
        "score [0, 0] by the events, [1, 1] by the match record",
        "half-time score [0, 0] by the events, [1, 0] by the match record",
        "shoot-out [0, 0] by the events, [4, 3] by the match record",
    ];
    assert_eq!(outcome.reasons(), expected);
    let score = FootballScore {
        goals: [1, 1],
        half_time: Some([1, 0]),
        extra_time: None,
        penalties: Some([4, 3]),
    };
    assert_eq!(outcome.last_score(), score);
}

#[test]
fn unplayed_match_has_no_kick_off() {
    let outcome = played(r#"{"matchStatus":"Postponed"}"#, "\"goal\":null");
    assert_eq!(outcome.reasons(), [""; 0]);
    assert_eq!(statuses(&outcome), ["postponed"]);
    let outcome = played(r#"{"matchStatus":"Fixture"}"#, "\"goal\":[]");
    assert_eq!(statuses(&outcome), ["not_started"]);
}

#[test]
fn summary_of_another_match_is_ignored() {
    let scratch = Scratch::new();
    let other = document(DETAILS, &lists()).replace("\"m1\"", "\"m2\"");
    scratch.file("m.ma1.json", other);
    let path = scratch.file("m.ma3.json", document(DETAILS, &events(&long_match())));
    let outcome = Outcome::read(&path, &Limits::default()).unwrap();
    assert_eq!(outcome.reasons(), [""; 0]);
    assert_eq!(outcome.last_score().goals, [2, 2]);
}

#[test]
fn document_without_teams_is_not_a_recording() {
    let scratch = Scratch::new();
    let text = document(DETAILS, &events(&long_match())).replace("\"position\"", "\"contestant\"");
    let path = scratch.file("m.json", text.replace("\"id\":\"a\"", "\"id\":null"));
    assert!(Outcome::read(&path, &Limits::default()).is_err());
}
