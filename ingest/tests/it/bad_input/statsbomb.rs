//! StatsBomb documents with parts that are wrong, missing or out of order.

use facts::event::{Fact, FootballFact, FootballScore, Incident, IncidentKind};
use ingest::recording::Limits;

use super::{Outcome, Scratch, check_cut, fixtures::gz};

/// An event of team 7, the home team, or of team 8.
pub(crate) fn event(
    index: u32,
    period: u8,
    time: &str,
    team: u8,
    kind: &str,
    rest: &str,
) -> String {
    format!(
        r#"{{"id":"e{index}","index":{index},"period":{period},"timestamp":"{time}","minute":0,"second":0,"type":{{"id":1,"name":"{kind}"}},"possession":1,"possession_team":{{"id":7,"name":"Town"}},"play_pattern":{{"id":1,"name":"Regular Play"}},"team":{{"id":{team},"name":"Team {team}"}},"player":{{"id":{team}1,"name":"Player {team}"}},"location":[60.0,40.0],"duration":0.0{rest}}}"#
    )
}

fn shot(outcome: &str, kind: &str) -> String {
    format!(
        r#","shot":{{"outcome":{{"name":"{outcome}"}},"type":{{"name":"{kind}"}},"key_pass_id":"e5"}}"#
    )
}

/// A goal with its pass, an own goal, a missed penalty, a second yellow card and a substitution;
/// extra time with a goal, and a shoot-out.
pub(crate) fn long_match() -> Vec<String> {
    let assist = r#","pass":{"goal_assist":true,"recipient":{"id":1,"name":"x"}}"#;
    let card = |name: &str| format!(r#","foul_committed":{{"card":{{"name":"{name}"}}}}"#);
    let on = r#","substitution":{"replacement":{"id":79,"name":"Fresh"}}"#;
    let goal = shot("Goal", "Open Play");
    vec![
        event(1, 1, "00:00:00.000", 7, "Starting XI", ""),
        event(2, 1, "00:00:00.000", 8, "Starting XI", ""),
        event(3, 1, "00:00:00.000", 8, "Half Start", ""),
        event(4, 1, "00:00:00.000", 7, "Half Start", ""),
        event(5, 1, "00:10:00.000", 7, "Pass", assist),
        event(6, 1, "00:10:02.500", 7, "Shot", &goal),
        event(7, 1, "00:46:30.000", 7, "Own Goal Against", r#","related_events":["e8"]"#),
        event(8, 1, "00:46:30.000", 8, "Own Goal For", r#","related_events":["e7"]"#),
        event(9, 1, "00:47:00.000", 7, "Half End", ""),
        event(10, 1, "00:47:00.000", 8, "Half End", ""),
        event(11, 2, "00:00:00.000", 7, "Substitution", on),
        event(12, 2, "00:05:00.000", 8, "Foul Committed", &card("Yellow Card")),
        event(13, 2, "00:06:00.000", 8, "Foul Committed", &card("Second Yellow")),
        event(14, 2, "00:07:00.000", 7, "Shot", &shot("Saved", "Penalty")),
        event(15, 2, "00:48:00.000", 7, "Half End", ""),
        event(16, 3, "00:01:00.000", 8, "Shot", &shot("Goal", "Penalty")),
        event(17, 3, "00:15:00.000", 8, "Half End", ""),
        event(18, 4, "00:14:00.000", 7, "Shot", &shot("Goal", "Free Kick")),
        event(19, 5, "00:00:10.000", 7, "Shot", &shot("Goal", "Penalty")),
        event(20, 5, "00:01:00.000", 8, "Shot", &shot("Off T", "Penalty")),
        event(21, 5, "00:01:30.000", 8, "Half End", ""),
    ]
}

pub(crate) fn document(events: &[String]) -> String {
    format!("[{}]", events.join(",\n"))
}

fn played(events: &[String]) -> Outcome {
    Outcome::of_bytes("5.events.json", document(events))
}

pub(crate) fn shown(incidents: &[&Incident]) -> Vec<String> {
    let shown = |incident: &&Incident| {
        let name = |player: &Option<facts::event::Participant>| {
            player.as_ref().map_or("-", |incident| &*incident.name).to_owned()
        };
        let added = incident.added.map_or(String::new(), |added| format!("+{added}"));
        let kind = format!("{:?}", incident.kind)
            .replace("Shootout { scored: ", "Kick(")
            .replace(" }", ")");
        let score =
            incident.score.map_or(String::new(), |score| format!(" {}-{}", score[0], score[1]));
        format!(
            "{kind} {}{added} {} {}{score}",
            incident.minute,
            name(&incident.player),
            name(&incident.assist)
        )
    };
    incidents.iter().map(shown).collect()
}

pub(crate) fn statuses(outcome: &Outcome) -> Vec<&'static str> {
    let statuses = outcome.facts().filter_map(|fact| match fact {
        Fact::Football(FootballFact::Status(status)) => Some(status.as_str()),
        _ => None,
    });
    statuses.collect()
}

#[test]
fn long_match_is_decoded() {
    let outcome = played(&long_match());
    assert_eq!(outcome.reasons(), [""; 0]);
    let expected = [
        "Goal(Regular) 11 Player 7 Player 7 1-0",
        "Goal(OwnGoal) 45+2 Player 7 - 1-1",
        "Substitution 46 Player 7 Fresh",
        "Yellow 51 Player 8 -",
        "SecondYellow 52 Player 8 -",
        "PenaltyMissed 53 Player 7 -",
        "Goal(Penalty) 92 Player 8 Player 7 1-2",
        "Goal(Regular) 120 Player 7 Player 7 2-2",
        "Kick(true) 120 Player 7 - 1-0",
        "Kick(false) 120 Player 8 - 1-0",
    ];
    assert_eq!(shown(&outcome.incidents()), expected);
    let expected = [
        "not_started",
        "first_half",
        "half_time",
        "second_half",
        "extra_first",
        "extra_half",
        "extra_second",
        "penalties",
        "finished",
    ];
    assert_eq!(statuses(&outcome), expected);
    let score = FootballScore {
        goals: [2, 2],
        half_time: Some([1, 1]),
        extra_time: Some([1, 1]),
        penalties: Some([1, 0]),
    };
    assert_eq!(outcome.last_score(), score);
}

#[test]
fn fixture_is_named_by_its_file_and_its_first_eleven() {
    let mut events = long_match();
    events.swap(0, 1);
    let outcome = played(&events);
    let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
    assert_eq!(&*fixture.provider_key, "5");
    let sides = fixture.sides.as_ref().unwrap();
    assert_eq!([&*sides[0].name, &*sides[1].name], ["Team 7", "Team 8"], "index 1 comes first");
}

#[test]
fn order_is_that_of_the_index() {
    let mut events = long_match();
    events.reverse();
    assert_eq!(played(&events).last_score(), played(&long_match()).last_score());
}

#[test]
fn events_of_wrong_types_are_skipped_alone() {
    let mut events = long_match();
    events[4] = events[4].replace("\"00:10:00.000\"", "5");
    events[11] = events[11].replace("\"period\":2", "\"period\":9");
    events[13] = events[13].replace("\"team\"", "\"teem\"");
    events.push("17".to_owned());
    events.push(events[0].clone());
    events.push(event(30, 5, "00:02:00.000", 9, "Pass", ""));
    let outcome = played(&events);
    assert_eq!(outcome.refusals.len(), 6, "{:?}", outcome.reasons());
    assert_eq!(outcome.last_score().goals, [2, 2]);
}

#[test]
fn invalid_optional_values_are_unknown() {
    let mut events = long_match();
    events[5] = events[5]
        .replace("\"location\":[60.0,40.0]", "\"location\":\"here\"")
        .replace("\"player\":{", "\"player\":null,\"plaer\":{")
        .replace("\"index\":6", "\"index\":\"6\"");
    let outcome = played(&events);
    assert_eq!(outcome.reasons(), [""; 0]);
    assert_eq!(outcome.incidents()[0].player, None);
    assert_eq!(outcome.last_score().goals, [2, 2]);
}

#[test]
fn event_clock_never_goes_back() {
    let mut events = long_match();
    events[5] = events[5].replace("00:10:02.500", "00:09:58.000");
    let outcome = played(&events);
    assert_eq!(outcome.reasons(), [""; 0]);
    assert_eq!(outcome.incidents()[0].minute, 11);
}

#[test]
fn cut_document_is_played_to_the_cut_and_has_no_final_whistle() {
    let text = document(&long_match());
    let cut = text.find("\"e12\"").unwrap();
    check_cut("5.json", &text.as_bytes()[..cut]);
    check_cut("5.json", &gz(&text.as_bytes()[..cut]));
}

/// An end that no event reports is not made up: the state stays that of the last event.
#[test]
fn match_ends_only_if_its_data_does() {
    let all = long_match();
    let without = |name: &str| -> Vec<String> {
        all.iter().filter(|event| !event.contains(name)).cloned().collect()
    };
    let cases = [
        ("the first half", all[..10].to_vec(), "half_time"),
        ("until the penalty", all[..14].to_vec(), "second_half"),
        ("until the end of 90 minutes", all[..15].to_vec(), "finished"),
        ("until extra time", all[..16].to_vec(), "extra_first"),
        ("no end of a half", without("Half End"), "penalties"),
        ("all", all.clone(), "finished"),
    ];
    for (what, events, expected) in cases {
        assert_eq!(statuses(&played(&events)).last(), Some(&expected), "{what}");
    }
    // A part of the events, by their indexes, has a part of the goals.
    let mut part = all[..5].to_vec();
    part.push(event(1700, 1, "00:47:00.000", 7, "Half End", ""));
    part.push(event(1701, 2, "00:00:00.000", 7, "Pass", ""));
    part.push(event(3400, 2, "00:48:00.000", 7, "Half End", ""));
    part.push(event(3401, 2, "00:48:00.000", 8, "Half End", ""));
    let scratch = Scratch::new();
    let path = scratch.file("5.events.json", document(&part));
    let outcome = || Outcome::read(&path, &Limits::default()).unwrap();
    assert!(!outcome().has_finished());
    let goal = |period: u8, kind: &str, outcome: &str| {
        format!(r#"{{"period":{period},"type":"{kind}","outcome":"{outcome}"}}"#)
    };
    let (first, own_goal) = (goal(1, "Shot", "Goal"), goal(2, "Own Goal Against", ""));
    let line_ups = format!(
        r#"[{{"team_id":7,"lineup":[],"events":[{first}]}},{{"team_id":8,"lineup":[],"events":[{own_goal}]}}]"#
    );
    scratch.file("5.lineups.json", line_ups);
    let listed = outcome();
    assert!(listed.has_finished());
    let score = listed.last_score();
    assert_eq!((score.goals, score.half_time), ([2, 0], Some([1, 0])));
    let players =
        r#","tactics":{"formation":442,"lineup":[{"player":{"id":71,"name":"Player 7"}}]}"#;
    part[0] = event(1, 1, "00:00:00.000", 7, "Starting XI", players);
    scratch.file("5.events.json", document(&part));
    assert!(!outcome().has_finished(), "the line-ups are of another match");
}

/// The first `Starting XI` is the home team's: without it, its place says so, and without both nothing does.
#[test]
fn home_is_not_guessed() {
    let all = long_match();
    let sides = |events: &[String]| {
        let outcome = played(events);
        let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
        fixture.sides.as_ref().unwrap().each_ref().map(|side| side.name.to_string())
    };
    for left_out in [0, 1] {
        let mut events = all.clone();
        events.remove(left_out);
        assert_eq!(sides(&events), ["Team 7", "Team 8"], "without {left_out}");
    }
    let scratch = Scratch::new();
    for (file, text) in [
        ("6.json", document(&all[2..])),
        ("7.json", document(&all).replace(r#""name":"Team 8""#, r#""nickname":"Team 8""#)),
    ] {
        assert!(Outcome::read(&scratch.file(file, text), &Limits::default()).is_err(), "{file}");
    }
    let unnamed = document(&all).replacen(r#""name":"Team 8""#, r#""nickname":"Team 8""#, 3);
    let outcome = Outcome::of_bytes("8.json", unnamed);
    assert_eq!((outcome.reasons(), outcome.last_score().goals), (Vec::new(), [2, 2]));
}

#[test]
fn match_with_one_team_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.file("5.json", document(&long_match()[..1]));
    assert!(Outcome::read(&path, &Limits::default()).is_err());
}

#[test]
fn periods_have_their_whistles() {
    let outcome = played(&long_match());
    let whistles = outcome.facts().filter_map(|fact| match fact {
        Fact::Football(FootballFact::Incident(it)) => match it.kind {
            IncidentKind::Period(_) => Some((&*it.eid, it.minute, it.added)),
            _ => None,
        },
        _ => None,
    });
    let expected = [
        ("period-first-half", 1, None),
        ("period-half-time", 45, Some(3)),
        ("period-second-half", 46, None),
        ("period-extra-first", 91, None),
        ("period-extra-half", 105, Some(1)),
        ("period-extra-second", 106, None),
        ("period-penalties", 120, None),
        ("period-finished", 120, None),
    ];
    assert_eq!(whistles.collect::<Vec<_>>(), expected);
}

fn matches(key: u32, teams: [u8; 2], goals: [u8; 2]) -> String {
    let [home, away] = teams;
    format!(
        r#"[{{"match_id":{key},"match_date":"2018-08-18","kick_off":"22:15:00.000","competition":{{"competition_id":11,"country_name":"Spain","competition_name":"La Liga"}},"season":{{"season_id":4,"season_name":"2018/2019"}},"home_team":{{"home_team_id":{home}}},"away_team":{{"away_team_id":{away}}},"home_score":{},"away_score":{},"match_week":1}}]"#,
        goals[0], goals[1]
    )
}

#[test]
fn list_of_matches_adds_what_the_events_lack() {
    let cases = [
        (matches(5, [7, 8], [2, 2]), ["Team 7", "Team 8"], Some("La Liga"), None),
        (matches(5, [8, 7], [2, 2]), ["Team 8", "Team 7"], Some("La Liga"), None),
        (
            matches(5, [7, 8], [3, 2]),
            ["Team 7", "Team 8"],
            Some("La Liga"),
            Some("score [2, 2] by the events, [3, 2] by the match record"),
        ),
        (
            matches(5, [7, 9], [2, 2]),
            ["Team 7", "Team 8"],
            None,
            Some("the match record has other teams than the events"),
        ),
        (matches(6, [7, 8], [3, 2]), ["Team 7", "Team 8"], None, None),
    ];
    for (list, sides, competition, reason) in cases {
        let scratch = Scratch::new();
        scratch.file("matches.json", &list);
        let path = scratch.file("5.events.json", document(&long_match()));
        let outcome = Outcome::read(&path, &Limits::default()).unwrap();
        let Some(Fact::Fixture(fixture)) = outcome.facts().next() else { panic!("no fixture") };
        assert_eq!(fixture.sides.as_ref().unwrap().each_ref().map(|side| &*side.name), sides);
        let named = fixture.competition.as_ref().map(|it| (&*it.name, it.season.as_deref()));
        assert_eq!(named, competition.map(|name| (name, Some("2018/2019"))), "{list}");
        let date = fixture.date.map(|date| date.to_string());
        assert_eq!(date.as_deref(), competition.map(|_| "2018-08-18"), "{list}");
        assert_eq!(fixture.start, None, "the list names no time zone");
        assert_eq!(outcome.last_score().goals, [2, 2]);
        assert_eq!(outcome.reasons(), reason.into_iter().collect::<Vec<_>>());
    }
}

/// An own goal is two events, and counts once for the side that gets it.
#[test]
fn own_goal_counts_once() {
    let whole = long_match();
    let unrelated = whole.iter().map(|event| event.replace("related_events", "relatives"));
    let without = |name: &str| -> Vec<String> {
        whole.iter().filter(|event| !event.contains(name)).cloned().collect()
    };
    let cases = [
        ("one without the other", without("Own Goal For"), "Player 7"),
        ("the other without the one", without("Own Goal Against"), "-"),
        ("two that do not name each other", unrelated.collect(), "Player 7"),
    ];
    for (what, events, scorer) in cases {
        let outcome = played(&events);
        assert_eq!(outcome.last_score().goals, [2, 2], "{what}");
        let expected = format!("Goal(OwnGoal) 45+2 {scorer} - 1-1");
        assert_eq!(shown(&outcome.incidents())[1], expected, "{what}");
    }
}

#[test]
fn own_goal_of_the_side_that_gets_it_is_refused() {
    let mut events = long_match();
    let players =
        r#","tactics":{"formation":442,"lineup":[{"player":{"id":71,"name":"Player 7"}}]}"#;
    events[1] = event(2, 1, "00:00:00.000", 8, "Starting XI", players);
    let both = played(&events);
    events.retain(|it| !it.contains("Own Goal For"));
    for outcome in [both, played(&events)] {
        assert_eq!(outcome.reasons(), ["an own goal of Player 7 that his own team gets"]);
        assert_eq!(outcome.last_score().goals, [2, 1]);
    }
}

#[test]
fn half_without_its_end_and_cards_without_a_foul_are_read() {
    let mut events = long_match();
    events[11] = events[11]
        .replace("Foul Committed", "Bad Behaviour")
        .replace("foul_committed", "bad_behaviour");
    events.retain(|event| !event.contains("Half End"));
    events.push(event(22, 1, "00:20:00.000", 7, "Tactical Shift", ""));
    let outcome = played(&events);
    assert_eq!(outcome.reasons(), [""; 0]);
    let whole = played(&long_match());
    let (last, before) = (statuses(&whole).pop(), statuses(&outcome));
    assert_eq!((last, &statuses(&whole)[..before.len()]), (Some("finished"), &before[..]));
    assert_eq!(shown(&outcome.incidents()), shown(&whole.incidents()));
}
