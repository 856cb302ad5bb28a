//! Images of one fixture, one after the other.

mod names;
mod prices;

use facts::event::{
    Fact, FootballFact, FootballScore, Incident, LineUpPlayer, MarketChange, OddsFact,
    SelectionStatus,
};

use super::{
    Interpreter,
    odds::{MARKETS_MAX, NOTICES_MAX, VALUES_MAX},
};
use crate::{
    error::RefusalKind,
    normalize::{Interpret, Interpretation, Signal},
};

/// An event of the home side, team 1, or of team 2.
fn event(minute: &str, team: u8, player: &str, kind: &str, detail: &str) -> String {
    let (elapsed, extra) = minute.split_once('+').unwrap_or((minute, "null"));
    let player = match player {
        "" => r#"{"id":null,"name":null}"#.to_owned(),
        name => format!(r#"{{"id":{},"name":"{name}"}}"#, name.len()),
    };
    let comments = if extra.starts_with('k') { "\"Penalty Shootout\"" } else { "null" };
    let extra = extra.trim_start_matches('k');
    format!(
        r#"{{"time":{{"elapsed":{elapsed},"extra":{extra}}},"team":{{"id":{team},"name":"T"}},"player":{player},"assist":{{"id":null,"name":null}},"type":"{kind}","detail":"{detail}","comments":{comments}}}"#
    )
}

fn goal(minute: &str, team: u8, player: &str) -> String {
    event(minute, team, player, "Goal", "Normal Goal")
}

/// `status` is `1H 31`: the short one and the minutes played.
fn fixture(status: &str, goals: &str, rest: &str) -> String {
    let (short, elapsed) = status.split_once(' ').unwrap_or((status, "null"));
    let (home, away) = goals.split_once('-').unwrap_or(("null", "null"));
    format!(
        r#"{{"fixture":{{"id":7,"timestamp":1700000000,"status":{{"short":"{short}","elapsed":{elapsed}}}}},"league":{{"id":39,"name":"Premier League","season":2023}},"teams":{{"home":{{"id":1,"name":"Town"}},"away":{{"id":2,"name":"City"}}}},"goals":{{"home":{home},"away":{away}}}{rest}}}"#
    )
}

fn with(status: &str, goals: &str, events: &[String]) -> String {
    fixture(status, goals, &format!(r#","events":[{}]"#, events.join(",")))
}

fn answer(fixtures: &str) -> String {
    format!(
        r#"{{"get":"fixtures","parameters":{{}},"errors":[],"results":1,"paging":{{"current":1,"total":1}},"response":[{fixtures}]}}"#
    )
}

/// The facts that an image produces, each as a line.
#[derive(Default)]
struct Poll(Interpreter);

impl Poll {
    fn facts(&mut self, fixture: &str) -> Vec<String> {
        self.answer(&answer(fixture))
    }

    fn answer(&mut self, answer: &str) -> Vec<String> {
        let mut out = Interpretation::default();
        self.0.message(answer.as_bytes(), 1, &mut out).unwrap();
        assert_eq!(out.signals, [Signal::Fresh]);
        let events = out.batches.into_iter().flat_map(|timed| timed.batch.events);
        let notices = out.notices.into_iter().map(|notice| format!("! {}", notice.reason));
        events.filter_map(|event| line(&event.fact)).chain(notices).collect()
    }
}

/// `book market kind line status selections`, with `!` for one that is not offered; or `book market prices`.
fn odds(fact: &OddsFact) -> String {
    let text = match &fact.change {
        MarketChange::Define(it) => {
            let selections = it.selections.iter().map(|selection| {
                let outcome = selection.outcome.map(|outcome| format!("={}", outcome.as_str()));
                let mark = if selection.status == SelectionStatus::Active { "" } else { "!" };
                format!(" {}{}{mark}", selection.id, outcome.unwrap_or_default())
            });
            let line = it.line.map(|line| format!(" {line}")).unwrap_or_default();
            let in_play = if it.in_play { " in play" } else { "" };
            let selections: String = selections.collect();
            format!("{}{line} {}{in_play}{selections}", it.kind, it.status.as_str())
        }
        MarketChange::Prices { selections, .. } => {
            let prices = selections.iter().map(|it| format!("{} {}", it.id, it.price.unwrap()));
            prices.collect::<Vec<_>>().join(" ")
        }
        other @ MarketChange::Clear => format!("{other:?}"),
    };
    format!("{} {} {text}", fact.book, fact.market)
}

fn line(fact: &Fact) -> Option<String> {
    if let Fact::Odds(fact) = fact {
        return Some(odds(fact));
    }
    let Fact::Football(fact) = fact else { return Some("fixture".to_owned()) };
    Some(match fact {
        FootballFact::Status(status) => format!("status {}", status.as_str()),
        FootballFact::Clock { second, running } => format!("clock {second} {running}"),
        FootballFact::Score(score) => format!("score {}", shown(score)),
        FootballFact::Incident(it) => format!("new {}", incident(it)),
        FootballFact::Correct(it) => format!("correct {}", incident(it)),
        FootballFact::Retract { eid, why, score } => {
            format!("retract {eid} ({why}) {}", shown(score))
        }
        FootballFact::Stats { side, values } => format!("stats {side:?} {values:?}"),
        FootballFact::LineUp { side, line_up } => {
            let player = |listed: &LineUpPlayer| {
                format!(" {}{}", listed.player.name, if listed.captain { " (captain)" } else { "" })
            };
            let players: String = line_up.players.iter().map(player).collect();
            format!("line-up {side:?} {}{players}", line_up.formation.as_deref().unwrap_or("-"))
        }
        FootballFact::PlayerStats { side, player, values } => {
            format!("player {side:?} {} {values:?}", player.name)
        }
        FootballFact::PeriodStart { period, at } => format!("{period:?} since {at}"),
        FootballFact::Ball(_) | FootballFact::Analysis(_) => return None,
    })
}

fn shown(score: &FootballScore) -> String {
    let pair = |pair: [u16; 2]| format!("{}-{}", pair[0], pair[1]);
    let parts = [("ht", score.half_time), ("et", score.extra_time), ("pen", score.penalties)];
    let parts =
        parts.into_iter().filter_map(|(name, part)| Some(format!(" {name} {}", pair(part?))));
    pair(score.goals) + &parts.collect::<String>()
}

fn incident(incident: &Incident) -> String {
    let player = incident.player.as_ref().map_or("-", |player| &player.name);
    let score = incident.score.map_or(String::new(), |score| format!(" {}-{}", score[0], score[1]));
    let added = incident.added.map_or(String::new(), |added| format!("+{added}"));
    format!("{} {}{added} {player}{score}", incident.eid, incident.minute)
}

#[test]
fn unchanged_image_emits_nothing() {
    let mut poll = Poll::default();
    let image = with("1H 31", "1-0", &[goal("12", 1, "Ann")]);
    let first = [
        "fixture",
        "status first_half",
        "clock 1860 true",
        "new period-first-half 1 -",
        "score 1-0",
        "new goal-home-1 12 Ann 1-0",
    ];
    assert_eq!(poll.facts(&image), first);
    assert_eq!(poll.facts(&image), [""; 0]);
}

#[test]
fn scorer_and_minute_are_corrected_under_the_same_id() {
    let mut poll = Poll::default();
    poll.facts(&with("1H 31", "1-0", &[goal("31", 1, "")]));
    let named = with("1H 31", "1-0", &[goal("31", 1, "Ann")]);
    assert_eq!(poll.facts(&named), ["correct goal-home-1 31 Ann 1-0"]);
    let earlier = with("1H 31", "1-0", &[goal("30", 1, "Ann")]);
    assert_eq!(poll.facts(&earlier), ["correct goal-home-1 30 Ann 1-0"]);
    let own_goal = event("30", 1, "Bobby", "Goal", "Own Goal");
    let other = with("1H 31", "1-0", &[own_goal]);
    assert_eq!(poll.facts(&other), ["correct goal-home-1 30 Bobby 1-0"]);
}

#[test]
fn overturned_goal_is_retracted_and_its_id_not_reused() {
    let mut poll = Poll::default();
    poll.facts(&with("1H 31", "2-0", &[goal("10", 1, "Ann"), goal("30", 1, "Bob")]));
    let var = event("32", 1, "Bob", "Var", "Goal cancelled");
    let facts = poll.facts(&with("1H 33", "1-0", &[goal("10", 1, "Ann"), var.clone()]));
    let expected = [
        "clock 1980 true",
        "score 1-0",
        "retract goal-home-2 (Goal cancelled) 1-0",
        "new var-home-1 32 Bob",
    ];
    assert_eq!(facts, expected);
    let facts =
        poll.facts(&with("1H 44", "2-0", &[goal("10", 1, "Ann"), var, goal("44", 1, "Cleo")]));
    assert_eq!(facts, ["clock 2640 true", "score 2-0", "new goal-home-3 44 Cleo 2-0"]);
}

#[test]
fn earlier_goal_overturned_changes_the_score_after_the_later_one() {
    let mut poll = Poll::default();
    poll.facts(&with("1H 31", "1-1", &[goal("10", 1, "Ann"), goal("30", 2, "Bob")]));
    let facts = poll.facts(&with("1H 31", "0-1", &[goal("30", 2, "Bob")]));
    let expected = [
        "score 0-1",
        "retract goal-home-1 (no longer reported by the provider) 0-1",
        "correct goal-away-1 30 Bob 0-1",
    ];
    assert_eq!(facts, expected);
}

/// The provider writes null for a half that has not begun.
#[test]
fn starts_of_the_halves_are_reported_when_they_are_stated() {
    let mut poll = Poll::default();
    let image = |status: &str, periods: &str| {
        let periods = format!(r#""periods":{periods},"status""#);
        fixture(status, "0-0", "").replacen(r#""status""#, &periods, 1)
    };
    let mut starts = |status: &str, periods: &str| -> Vec<String> {
        let facts = poll.facts(&image(status, periods));
        facts.into_iter().filter(|line| line.contains("since")).collect()
    };
    assert!(starts("NS", r#"{"first":1700000000,"second":null}"#).is_empty(), "it has not begun");
    let first = r#"{"first":1700000060,"second":null}"#;
    assert_eq!(starts("1H 1", first), ["FirstHalf since 1700000060000000"]);
    assert!(starts("1H 2", first).is_empty(), "it is the same");
    let both = r#"{"first":1700000120,"second":1700003720}"#;
    let expected = ["FirstHalf since 1700000120000000", "SecondHalf since 1700003720000000"];
    assert_eq!(starts("2H 46", both), expected);
    assert!(starts("2H 47", "[]").is_empty(), "it is not stated any more");
}

#[test]
fn upgraded_card_has_the_same_id() {
    let mut poll = Poll::default();
    poll.facts(&with("1H 31", "0-0", &[event("30", 2, "Bob", "Card", "Yellow Card")]));
    let red = event("30", 2, "Bob", "Card", "Red Card");
    assert_eq!(poll.facts(&with("1H 31", "0-0", &[red])), ["correct card-away-1 30 Bob"]);
}

#[test]
fn empty_event_lists_retract_nothing() {
    let mut poll = Poll::default();
    poll.facts(&with("2H 50", "0-0", &[]));
    assert_eq!(poll.facts(&with("2H 50", "0-1", &[])), ["score 0-1"]);
    let facts = poll.facts(&with("2H 50", "0-1", &[goal("50", 2, "Bob")]));
    assert_eq!(facts, ["new goal-away-1 50 Bob 0-1"]);
    assert_eq!(poll.facts(&fixture("2H 50", "0-1", "")), [""; 0]);
    assert_eq!(poll.facts(&fixture("2H 50", "0-1", r#","events":null"#)), [""; 0]);
    let empty = with("2H 50", "0-1", &[]);
    assert_eq!(poll.facts(&empty), ["! a score and no events, where there were some"]);
    assert_eq!(poll.facts(&empty), [""; 0], "reported once");
}

#[test]
fn half_time_score_is_set_when_the_first_half_ends() {
    let mut poll = Poll::default();
    let at = |status: &str| {
        let score = r#","score":{"halftime":{"home":1,"away":0},"fulltime":{"home":null,"away":null},"extratime":{"home":null,"away":null},"penalty":{"home":null,"away":null}}"#;
        fixture(status, "1-0", score)
    };
    assert!(poll.facts(&at("1H 20")).contains(&"score 1-0".to_owned()));
    let half_time =
        ["status half_time", "clock 2700 false", "new period-half-time 45 -", "score 1-0 ht 1-0"];
    assert_eq!(poll.facts(&at("HT 45")), half_time);
}

#[test]
fn shootout_kicks_are_no_goals_and_ordered_by_number() {
    let mut poll = Poll::default();
    poll.facts(&with("P 120", "1-1", &[]));
    let kicks = [
        event("120+k2", 2, "Bob", "Goal", "Missed Penalty"),
        event("120+k1", 1, "Ann", "Goal", "Penalty"),
    ];
    let facts = poll.facts(&with("P 120", "1-1", &kicks));
    let expected =
        ["score 1-1 pen 1-0", "new kick-home-1 120 Ann 1-0", "new kick-away-1 120 Bob 1-0"];
    assert_eq!(facts, expected);
}

#[test]
fn final_whistle_comes_after_what_happened_before_it() {
    let mut poll = Poll::default();
    poll.facts(&with("2H 89", "0-0", &[]));
    let facts = poll.facts(&with("FT 90", "1-0", &[goal("90+4", 1, "Ann")]));
    let expected = [
        "score 1-0",
        "new goal-home-1 90+4 Ann 1-0",
        "status finished",
        "clock 5400 false",
        "new period-finished 90 -",
    ];
    assert_eq!(facts, expected);
}

#[test]
fn interrupted_match_says_so_and_stops_its_clock() {
    let mut poll = Poll::default();
    poll.facts(&with("2H 60", "0-0", &[]));
    let facts = poll.facts(&with("INT 60", "0-0", &[]));
    assert_eq!(facts, ["status interrupted", "clock 3600 false"]);
    let facts = poll.facts(&with("ABD 60", "0-0", &[]));
    assert_eq!(facts, ["status abandoned", "new period-abandoned 60 -"]);
}

#[test]
fn goal_after_a_cancelled_one_of_added_time_stands() {
    let mut poll = Poll::default();
    let cancelled = event("90+4", 1, "Ann", "Var", "Goal cancelled");
    let events = [goal("90+2", 1, "Ann"), cancelled, goal("90+7", 1, "Bea")];
    let facts = poll.facts(&with("2H 90", "1-0", &events));
    let goals: Vec<_> = facts.iter().filter(|fact| fact.contains("goal-")).collect();
    assert_eq!(goals, ["new goal-home-1 90+7 Bea 1-0"], "{facts:?}");
}

#[test]
fn statistics_are_emitted_when_they_change() {
    let mut poll = Poll::default();
    let at = |shots: &str| {
        fixture(
            "1H 9",
            "0-0",
            &format!(
                r#","statistics":[{{"team":{{"id":2}},"statistics":[{{"type":"Total Shots","value":{shots}}},{{"type":"Ball Possession","value":"47%"}},{{"type":"Offsides","value":null}}]}}]"#
            ),
        )
    };
    let stats = "stats Second [(TotalShots, 3), (BallPossession, 47)]";
    assert!(poll.facts(&at("3")).contains(&stats.to_owned()));
    assert_eq!(poll.facts(&at("4")), ["stats Second [(TotalShots, 4)]"]);
}

#[track_caller]
fn refused(answer: &str, kind: RefusalKind, reason: &str) {
    let error =
        Interpreter::default().message(answer.as_bytes(), 1, &mut Interpretation::default());
    let error = error.unwrap_err();
    assert_eq!((error.kind, error.reason.as_str()), (kind, reason));
}

#[test]
fn provider_errors_are_refused() {
    let errors = r#"{"get":"fixtures","errors":{"token":"Missing key"},"response":[]}"#;
    let reason = r#"the provider answers with errors: {"token":"Missing key"}"#;
    refused(errors, RefusalKind::Value, reason);
    refused("{}", RefusalKind::Value, "no response in the answer");
}

/// An answer of another endpoint about fixture 7.
fn part(endpoint: &str, parameters: &str, response: &str) -> String {
    format!(
        r#"{{"get":"{endpoint}","parameters":{{"fixture":"7"{parameters}}},"errors":[],"results":1,"paging":{{"current":1,"total":1}},"response":[{response}]}}"#
    )
}

#[test]
fn answers_about_a_part_of_a_fixture_belong_to_it() {
    let team = r#""team":{"id":2}"#;
    let events = part("fixtures/events", "", &goal("5", 2, "Ann"));
    let statistics = part(
        r"fixtures\/statistics",
        r#","team":"2""#,
        &format!(r#"{{{team},"statistics":[{{"type":"Total Shots","value":3}}]}}"#),
    );
    let player = r#"{"player":{"id":9,"name":"Ann"#;
    let line_ups = part(
        "fixtures/lineups",
        "",
        &format!(
            r#"{{{team},"formation":"4-4-2","startXI":[{player}","number":9,"pos":"F"}}}}]}}"#
        ),
    );
    let players = part(
        "fixtures/players",
        "",
        &format!(
            r#"{{{team},"players":[{player}"}},"statistics":[{{"games":{{"captain":true}},"shots":{{"total":2}}}}]}}]}}"#
        ),
    );
    let filtered = part("fixtures/events", r#","type":"Goal""#, "");
    refused(
        &events,
        RefusalKind::Unknown,
        "a part of fixture 7, of which there was no answer of fixtures",
    );
    let mut poll = Poll::default();
    poll.facts(&fixture("1H 9", "0-1", ""));
    let image = answer(&fixture("1H 9", "0-1", ""));
    for (answer, expected) in [
        (&events, "new goal-away-1 5 Ann 0-1"),
        (&statistics, "stats Second [(TotalShots, 3)]"),
        (&line_ups, "line-up Second 4-4-2 Ann"),
        (&players, "line-up Second 4-4-2 Ann (captain)/player Second Ann [(TotalShots, 2)]"),
        (&line_ups, ""),
        (&image, ""),
        (&events, ""),
        (&players, ""),
    ] {
        assert_eq!(poll.answer(answer).join("/"), expected, "{answer}");
    }
    let reason = "an answer of \"fixtures/events\" with the filter \"type\" lacks the others";
    refused(&filtered, RefusalKind::Value, reason);
}

#[test]
fn part_that_is_no_list_is_refused() {
    for endpoint in
        ["fixtures/events", "fixtures/lineups", "fixtures/players", "fixtures/statistics"]
    {
        for response in ["null", "{}"] {
            let answer = part(endpoint, "", "").replace("[]}", &format!("{response}}}"));
            let reason = format!("the response of {endpoint:?} is no list");
            refused(&answer, RefusalKind::Value, &reason);
        }
    }
}

#[test]
fn answer_about_one_team_leaves_the_other_as_it_was() {
    let sheet = |team: u8, name: &str| {
        format!(
            r#"{{"team":{{"id":{team}}},"formation":"4-4-2","startXI":[{{"player":{{"id":{team}0,"name":"{name}"}}}}]}}"#
        )
    };
    let players = |team: u8, captain: bool| {
        format!(
            r#"{{"team":{{"id":{team}}},"players":[{{"player":{{"id":{team}0,"name":"P"}},"statistics":[{{"games":{{"captain":{captain}}}}}]}}]}}"#
        )
    };
    let of_two = r#","team":"2""#;
    let sheets = format!("{},{}", sheet(1, "Ann"), sheet(2, "Bea"));
    let captains = format!("{},{}", players(1, true), players(2, true));
    let mut poll = Poll::default();
    poll.facts(&fixture("1H 9", "0-0", ""));
    for (endpoint, parameters, response, expected) in [
        ("lineups", "", sheets, "line-up First 4-4-2 Ann/line-up Second 4-4-2 Bea"),
        (
            "players",
            "",
            captains,
            "line-up First 4-4-2 Ann (captain)/line-up Second 4-4-2 Bea (captain)",
        ),
        ("players", of_two, players(2, true), ""),
        ("lineups", of_two, sheet(2, "Bea"), ""),
        ("players", "", players(1, false), "line-up First 4-4-2 Ann"),
    ] {
        let answer = part(&format!("fixtures/{endpoint}"), parameters, &response);
        assert_eq!(poll.answer(&answer).join("/"), expected, "{answer}");
    }
}

#[test]
fn part_of_the_world_is_no_country() {
    for (country, expected) in [("World", None), ("Europe", None), ("England", Some("England"))] {
        let league = format!(r#""season":2023,"country":"{country}""#);
        let image = fixture("NS", "", "").replace(r#""season":2023"#, &league);
        let mut out = Interpretation::default();
        Interpreter::default().message(answer(&image).as_bytes(), 1, &mut out).unwrap();
        let events = out.batches.iter().flat_map(|timed| &timed.batch.events);
        let countries = events.filter_map(|event| match &event.fact {
            Fact::Fixture(it) => Some(it.class.country.as_deref()),
            Fact::About(it) => Some(it.country.as_deref()),
            _ => None,
        });
        assert!(countries.clone().all(|it| it == expected), "{country}");
        assert!(countries.count() > 0);
    }
}

#[test]
fn partial_response_is_used_but_not_signalled_as_complete() {
    let page = answer(&with("1H 9", "0-0", &[])).replace(r#""total":1"#, r#""total":2"#);
    let mut out = Interpretation::default();
    Interpreter::default().message(page.as_bytes(), 1, &mut out).unwrap();
    assert_eq!((out.batches.len(), out.signals.len()), (1, 0));
    let mut out = Interpretation::default();
    let cut = answer(&format!("{0},{0}", with("1H 9", "0-0", &[])));
    Interpreter::default().message(&cut.as_bytes()[..cut.len() - 40], 1, &mut out).unwrap();
    assert_eq!((out.batches.len(), out.signals.len()), (1, 0));
    assert_eq!(out.notices[0].kind, RefusalKind::Truncated);
}

#[test]
fn fixtures_not_seen_for_longest_are_forgotten() {
    let mut interpreter = Interpreter::default();
    let image = |id: usize| fixture("NS", "", "").replace("\"id\":7", &format!("\"id\":{id}"));
    let many: Vec<_> = (1_000..1_000 + super::FIXTURES_MAX).map(image).collect();
    let mut counts = |fixtures: &str| {
        let mut out = Interpretation::default();
        interpreter.message(answer(fixtures).as_bytes(), 1, &mut out).unwrap();
        (out.batches.len(), interpreter.fixtures.len())
    };
    assert_eq!(counts(&image(1)), (1, 1));
    assert_eq!(counts(&many.join(",")), (super::FIXTURES_MAX, super::FIXTURES_MAX));
    assert_eq!(counts(&image(1)).0, 1, "evicted and emitted again");
    assert_eq!(counts(&many[5]).0, 0, "still known");
}
