//! Answers in, facts out, written down in short.

use std::fmt::Write;

use facts::event::{FootballFact, GameScore, Incident, Pair, TennisFact, TennisScore};
use proptest::prelude::*;

use super::*;

/// Polls one source and compares the facts, a batch on each line, then the notices.
#[derive(Default)]
struct Poll(Interpreter);

impl Poll {
    #[track_caller]
    fn check(&mut self, answer: &str, expected: &str) {
        let mut played = Interpretation::default();
        self.0.message(answer.as_bytes(), 0, &mut played).expect("the answer is usable");
        assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
        let batches = played.batches.iter().map(|it| batch(&it.batch));
        let notices = played.notices.iter().map(|it| format!("! {}", it.reason));
        let facts: Vec<_> = batches.chain(notices).collect();
        let expected: Vec<_> =
            expected.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        assert_eq!(facts, expected, "after {answer}");
    }
}

/// Without the starts of periods, which are the times of their updates.
fn batch(batch: &Batch) -> String {
    let facts = batch.events.iter().map(|event| &event.fact);
    let shown =
        facts.filter(|fact| !matches!(fact, Fact::Football(FootballFact::PeriodStart { .. })));
    shown.map(fact).collect::<Vec<_>>().join(" | ")
}

fn fact(fact: &Fact) -> String {
    match fact {
        Fact::Fixture(fixture) => format!("match {}", fixture.provider_key),
        Fact::Football(fact) => football(fact),
        Fact::Tennis(fact) => tennis(fact),
        other => panic!("neither football nor tennis: {other:?}"),
    }
}

fn football(fact: &FootballFact) -> String {
    match fact {
        FootballFact::Status(status) => status.as_str().to_owned(),
        FootballFact::Clock { second, running } => {
            format!("{}:{:02}{}", second / 60, second % 60, if *running { "" } else { " stands" })
        }
        FootballFact::Score(score) => {
            let mut text = pair(score.goals);
            for (name, part) in [("et", score.extra_time), ("pen", score.penalties)] {
                part.iter().for_each(|it| write!(text, " {name} {}", pair(*it)).expect("text"));
            }
            text
        }
        FootballFact::Incident(it) => incident(it),
        FootballFact::Retract { eid, score, .. } => format!("-{eid} {}", pair(score.goals)),
        FootballFact::Stats { side, values } => format!("{side:?} {values:?}"),
        other => panic!("not emitted for Betfair: {other:?}"),
    }
}

fn incident(incident: &Incident) -> String {
    let added = incident.added.map(|added| format!("+{added}")).unwrap_or_default();
    let score = incident.score.map(|score| format!(" {}", pair(score))).unwrap_or_default();
    format!("{} {:?} {}{added}{score}", incident.eid, incident.kind, incident.minute)
}

fn pair(pair: Pair<u16>) -> String {
    format!("{}-{}", pair[0], pair[1])
}

fn tennis(fact: &TennisFact) -> String {
    match fact {
        TennisFact::Status(status) => status.as_str().to_owned(),
        TennisFact::Score(it) => score(it),
        TennisFact::Point(it) => {
            format!(
                "{}:{}/{} {}",
                it.eid,
                it.winner.index() + 1,
                it.server.index() + 1,
                score(&it.score)
            )
        }
        TennisFact::Retract { eid, score: it, .. } => format!("-{eid} {}", score(it)),
    }
}

fn score(score: &TennisScore) -> String {
    let sets: Vec<_> =
        score.sets.iter().map(|set| format!("{}-{}", set.games[0], set.games[1])).collect();
    let game = match score.game {
        GameScore::Points([first, second]) => format!("{first}:{second}"),
        GameScore::TieBreak([first, second]) => format!("tb{first}:{second}"),
    };
    let won = score.winner.map(|side| format!(" won {}", side.index() + 1)).unwrap_or_default();
    format!("{} {game}{won}", sets.join(","))
}

/// A timeline: updates written `id type team minute+added`, and its score.
fn timeline(updates: &str, home: u16, away: u16) -> String {
    let update = |text: &str| {
        let [id, kind, team, minute] = text.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        let (regular, added) = minute.split_once('+').unwrap_or((minute, "0"));
        let all =
            regular.parse::<u16>().expect("a minute") + added.parse::<u16>().expect("minutes");
        format!(
            r#"{{"updateId":{id},"type":"{kind}","team":"{team}","matchTime":{all},
            "elapsedRegularTime":{regular},"elapsedAddedTime":{added}}}"#
        )
    };
    let updates: Vec<_> =
        updates.lines().map(str::trim).filter(|it| !it.is_empty()).map(update).collect();
    format!(
        r#"{{"eventId":5,"eventTypeId":1,"score":{{"home":{{"score":"{home}"}},
        "away":{{"score":"{away}"}}}},"updateDetails":[{}],"status":"IN_PLAY"}}"#,
        updates.join(",")
    )
}

#[test]
fn goal_missing_from_the_timeline_is_retracted() {
    let mut poll = Poll::default();
    let start = "1 KickOff - 1\n4 Goal home 10";
    poll.check(
        &timeline(start, 1, 0),
        "match 5 | first_half | 0:00 | 0-0 | u1 Period(FirstHalf) 1
         1-0 | u4 Goal(Regular) 10 1-0",
    );
    poll.check(&timeline("1 KickOff - 1", 0, 0), "-u4 0-0");
    poll.check(&timeline("1 KickOff - 1\n9 Goal away 12", 0, 1), "0-1 | u9 Goal(Regular) 12 0-1");
    poll.check(&timeline("1 KickOff - 1", 0, 1), "! timeline of goals [0, 0] lacks some");
    poll.check(&timeline("", 0, 1), "! timeline of goals [0, 0] lacks some");
    let disallowed = "1 KickOff - 1\n9 Goal away 12\n11 GoalDisallowed away 13";
    poll.check(&timeline(disallowed, 0, 0), "-u9 0-0");
}

#[test]
fn score_of_the_image_prevails() {
    let mut poll = Poll::default();
    poll.check(
        &timeline("1 KickOff - 1", 2, 1),
        "match 5 | first_half | 0:00 | 0-0 | u1 Period(FirstHalf) 1
         2-1",
    );
    poll.check(&timeline("1 KickOff - 1", 2, 1), "");
}

#[test]
fn timeline_behind_a_scoreboard_adds_no_goals() {
    let mut poll = Poll::default();
    let board = r#"{"eventId":5,"eventTypeId":1,"score":{"home":{"score":"2"},
        "away":{"score":"0"}},"matchStatus":"KickOff"}"#;
    poll.check(board, "match 5 | first_half | 2-0");
    poll.check(
        &timeline("1 KickOff - 1\n2 Goal home 5\n3 Goal home 9", 2, 0),
        "first_half | 0:00 | 2-0 | u1 Period(FirstHalf) 1
         2-0 | u2 Goal(Regular) 5 1-0
         2-0 | u3 Goal(Regular) 9 2-0",
    );
    poll.check(&board.replace("\"2\"", "\"1\""), "1-0");
    poll.check(&timeline("1 KickOff - 1\n2 Goal home 5", 1, 0), "-u3 1-0");
}

#[test]
fn match_goes_through_extra_time_to_kicks() {
    let updates = "1 KickOff - 1
        2 FirstHalfEnd - 45+2
        3 SecondHalfKickOff - 46
        4 YellowRedCard home 90+4
        5 SecondHalfEnd - 90+5
        6 ExtraTimeKickOff - 91
        7 Goal away 95
        8 ExtraTimeFirstHalfEnd - 105+1
        9 ExtraTimeSecondHalfKickOff - 106
        10 PenaltyGoal home 119
        11 ExtraTimeSecondHalfEnd - 120
        12 PenaltyShootout - 120
        13 Goal home 120
        14 PenaltyMissed away 120
        15 PenaltyShootoutEnd - 120";
    Poll::default().check(
        &timeline(updates, 1, 1),
        "match 5 | first_half | 0:00 | 0-0 | u1 Period(FirstHalf) 1
         half_time | 46:00 stands | 0-0 | u2 Period(HalfTime) 45+2
         second_half | 45:00 | 0-0 | u3 Period(SecondHalf) 46
         u4 SecondYellow 90+4
         94:00 stands
         extra_first | 90:00 | 0-0 et 0-0 | u6 Period(ExtraFirst) 91
         0-1 et 0-1 | u7 Goal(Regular) 95 0-1
         extra_half | 105:00 stands | 0-1 et 0-1 | u8 Period(ExtraHalf) 105+1
         extra_second | 105:00 | 0-1 et 0-1 | u9 Period(ExtraSecond) 106
         1-1 et 1-1 | u10 Goal(Penalty) 119 1-1
         119:00 stands
         penalties | 119:00 stands | 1-1 et 1-1 pen 0-0 | u12 Period(Penalties) 120
         1-1 et 1-1 pen 1-0 | u13 Shootout { scored: true } 120 1-0
         1-1 et 1-1 pen 1-0 | u14 Shootout { scored: false } 120 1-0
         finished | 119:00 stands | 1-1 et 1-1 pen 1-0 | u15 Period(Finished) 120",
    );
}

#[test]
fn end_of_the_second_half_ends_the_match() {
    let mut poll = Poll::default();
    poll.check(
        &timeline("7 SecondHalfEnd - 90+3", 0, 0),
        "match 5 | finished | 92:00 stands | 0-0 | u7 Period(Finished) 90+3",
    );
    poll.check(
        &timeline("7 SecondHalfEnd - 90+3\n8 ExtraTimeKickOff - 91", 0, 0),
        "extra_first | 90:00 | 0-0 et 0-0 | u8 Period(ExtraFirst) 91",
    );
}

#[test]
fn minute_alone_is_split_at_the_end_of_its_period() {
    let goal = r#"{"updateId":2,"type":"Goal","team":"home","matchTime":48}"#;
    let start = r#"{"updateId":1,"type":"KickOff","matchTime":1}"#;
    let answer = format!(r#"{{"eventId":5,"eventTypeId":1,"updateDetails":[{start},{goal}]}}"#);
    Poll::default().check(
        &answer,
        "match 5 | first_half | 0:00 | 0-0 | u1 Period(FirstHalf) 1
         1-0 | u2 Goal(Regular) 45+3 1-0",
    );
}

#[test]
fn minute_that_is_not_stated_is_that_of_the_clock_or_none() {
    let answer =
        |updates: &str| format!(r#"{{"eventId":5,"eventTypeId":1,"updateDetails":[{updates}]}}"#);
    Poll::default().check(
        &answer(
            r#"{"updateId":1,"type":"KickOff","updateTime":"2017-05-07T15:30:00.000Z"},
            {"updateId":2,"type":"Goal","team":"home","updateTime":"2017-05-07T15:42:30.000Z"}"#,
        ),
        "match 5 | first_half | 0:00 | 0-0 | u1 Period(FirstHalf) 1
         1-0 | u2 Goal(Regular) 13 1-0",
    );
    Poll::default().check(
        &answer(
            r#"{"updateId":1,"type":"KickOff"},{"updateId":2,"type":"Goal","team":"home"},
            {"updateId":3,"type":"FirstHalfEnd"}"#,
        ),
        "match 5 | first_half | 0:00 | 0-0 | u1 Period(FirstHalf) 1
         1-0
         half_time | 1-0
         ! update \"Goal\" without a minute
         ! update \"FirstHalfEnd\" without a minute",
    );
    // It counts until it is disallowed.
    Poll::default().check(
        &answer(
            r#"{"updateId":1,"type":"KickOff"},{"updateId":2,"type":"Goal","team":"home"},
            {"updateId":3,"type":"GoalDisallowed","team":"home"}"#,
        ),
        "match 5 | first_half | 0:00 | 0-0 | u1 Period(FirstHalf) 1
         1-0
         0-0
         ! update \"Goal\" without a minute",
    );
}

#[test]
fn kicks_need_no_minute_and_can_be_retracted() {
    let answer =
        |updates: &str| format!(r#"{{"eventId":5,"eventTypeId":1,"updateDetails":[{updates}]}}"#);
    let start = r#"{"updateId":1,"type":"PenaltyShootout"}"#;
    let mut poll = Poll::default();
    poll.check(
        &answer(&format!(r#"{start},{{"updateId":2,"type":"Goal","team":"home"}}"#)),
        "match 5 | penalties | 0-0 pen 0-0 | u1 Period(Penalties) 120
         0-0 pen 1-0 | u2 Shootout { scored: true } 120 1-0",
    );
    poll.check(&answer(start), "-u2 0-0");
    let missed = format!(r#"{start},{{"updateId":3,"type":"PenaltyMissed","team":"away"}}"#);
    poll.check(&answer(&missed), "0-0 pen 0-0 | u3 Shootout { scored: false } 120 0-0");
}

#[test]
fn scoreboards_emit_changes_only() {
    let board = |status: &str, minute: u16, second: u8, home: u16| {
        format!(
            r#"[{{"eventId":5,"eventTypeId":1,"score":{{"home":{{"score":"{home}"}},
            "away":{{"score":"0"}}}},"timeElapsed":{minute},"timeElapsedSeconds":{second},
            "matchStatus":"{status}"}}]"#
        )
    };
    let mut poll = Poll::default();
    poll.check(&board("KickOff", 12, 5, 0), "match 5 | first_half | 11:05 | 0-0");
    poll.check(&board("KickOff", 12, 5, 0), "");
    poll.check(&board("KickOff", 12, 45, 1), "11:45 | 1-0");
    poll.check(&board("FirstHalfEnd", 47, 0, 1), "half_time | 46:00 stands");
    poll.check(&board("FirstHalfEnd", 48, 0, 1), "");
    poll.check(&board("Tea", 47, 0, 1), "! status \"Tea\" of a match is not known");
    poll.check(&board("SecondHalfEnd", 94, 0, 0), "finished | 0-0");
}

#[test]
fn goals_of_one_side_are_no_score() {
    let board = r#"[{"eventId":5,"eventTypeId":1,"score":{"home":{"score":"1"},"away":{}},
        "timeElapsed":12,"timeElapsedSeconds":5,"matchStatus":"KickOff"}]"#;
    Poll::default().check(board, "match 5 | first_half | 11:05");
}

#[test]
fn final_status_prevails_over_the_last_phase() {
    let start = "1 KickOff - 1";
    let finished = timeline(start, 0, 0)
        .replace(r#""status":"IN_PLAY""#, r#""status":"FINISHED","inPlayMatchStatus":"KickOff""#);
    Poll::default().check(
        &finished,
        "match 5 | first_half | 0:00 | 0-0 | u1 Period(FirstHalf) 1
         finished",
    );
}

/// Incidents of a tennis match, written `number type server winner points games sets`, with `-`
/// for unknown values; a point that wins a game shows no points.
fn strokes(strokes: &str, status: &str) -> String {
    let stroke = |text: &str| {
        let fields: Vec<_> = text.split_whitespace().collect();
        let [number, kind, server, winner, points, games, sets] = fields[..7] else {
            panic!("{text}")
        };
        let mut values =
            format!(r#""server":"{server}","wonBy":"{winner}","eventTypeStatus":"inPlay""#);
        for (path, keys) in [
            (points, ["team1PointsAfter", "team2PointsAfter"]),
            (games, ["player1GamesWon", "player2GamesWon"]),
            (sets, ["player1SetsWon", "player2SetsWon"]),
        ] {
            let Some((first, second)) = path.split_once(':') else { continue };
            write!(values, r#","{}":"{first}","{}":"{second}""#, keys[0], keys[1]).expect("text");
        }
        for more in &fields[7..] {
            let (key, value) = more.split_once('=').expect("key=value");
            write!(values, r#","{key}":"{value}""#).expect("text");
        }
        format!(r#""{number}":{{"updateContext":{{"updateType":"{kind}"}},"values":{{{values}}}}}"#)
    };
    let strokes: Vec<_> =
        strokes.lines().map(str::trim).filter(|it| !it.is_empty()).map(stroke).collect();
    format!(
        r#"[{{"eventId":"7","eventTypeId":"2","eventStatus":"{status}","incidents":{{{}}}}}]"#,
        strokes.join(",")
    )
}

#[test]
fn strokes_are_applied_once_in_order_of_number() {
    let mut poll = Poll::default();
    let first = "10 ace 1 1 30:0 0:0 0:0\n2 point 1 1 15:0 0:0 0:0\n11 fault 1 1 30:0 0:0 0:0";
    poll.check(
        &strokes(first, "IN_PROGRESS"),
        "match 7 | live | p2:1/1 0-0 1:0
         p10:1/1 0-0 2:0",
    );
    let more = format!("{first}\n13 doublefault 1 2 30:15 0:0 0:0");
    poll.check(&strokes(&more, "IN_PROGRESS"), "p13:2/1 0-0 2:1");
    poll.check(&strokes("14 point - - - - -", "IN_PROGRESS"), "! point 14 has no winner");
}

#[test]
fn undo_retracts_the_last_point() {
    let start = "1 point 1 1 15:0 0:0 0:0\n2 point 1 1 30:0 0:0 0:0";
    let played = "match 7 | live | p1:1/1 0-0 1:0
         p2:1/1 0-0 2:0";
    let mut poll = Poll::default();
    poll.check(&strokes(start, "IN_PROGRESS"), played);
    // As an incident of its own, with the score that stands then.
    let undone = "3 point 1 1 15:0 0:0 0:0 undo=1";
    poll.check(&strokes(undone, "IN_PROGRESS"), "-p2 0-0 1:0");
    poll.check(&strokes(undone, "IN_PROGRESS"), "");
    poll.check(&strokes("4 point 1 2 15:15 0:0 0:0", "IN_PROGRESS"), "p4:2/1 0-0 1:1");
    // As a mark on the incident that was published.
    poll.check(&strokes("4 point 1 2 15:15 0:0 0:0 undo=1", "IN_PROGRESS"), "-p4 0-0 1:0");
    // A point that was undone before it was published.
    poll.check(&strokes("5 point 1 1 30:0 0:0 0:0 undo=1", "IN_PROGRESS"), "");
    poll.check(&strokes("6 point 1 2 15:15 0:0 0:0", "IN_PROGRESS"), "p6:2/1 0-0 1:1");
}

#[test]
fn columns_prevail_over_the_rules() {
    Poll::default().check(
        &strokes("1 point 1 1 15:0 0:0 0:0\n2 point 1 1 40:30 3:2 0:0", "IN_PROGRESS"),
        "match 7 | live | p1:1/1 0-0 1:0
         p2:1/1 3-2 3:2
         ! score after point 2 is not by the rules",
    );
}

#[test]
fn set_ends_whichever_games_are_shown_with_it() {
    for games in ["6:0", "0:0"] {
        let last = format!("2 point 1 1 - {games} 1:0 winsGame=true");
        let start = "1 point 1 1 40:0 5:0 0:0";
        Poll::default().check(
            &strokes(&format!("{start}\n{last}\n3 point 2 1 15:0 0:0 1:0"), "IN_PROGRESS"),
            "match 7 | live | p1:1/1 5-0 3:0
             p2:1/1 6-0,0-0 0:0
             p3:1/2 6-0,0-0 1:0
             ! score after point 1 is not by the rules",
        );
    }
}

#[test]
fn tie_break_may_be_longer_than_expected() {
    Poll::default().check(
        &strokes(
            "1 point 1 1 6:3 6:6 0:0\n2 point 1 1 7:3 6:6 0:0\n3 point 2 1 - 7:6 1:0 winsGame=true",
            "IN_PROGRESS",
        ),
        "match 7 | live | p1:1/1 6-6 tb6:3
         p2:1/1 6-6 tb7:3
         p3:1/2 7-6,0-0 0:0
         ! score after point 1 is not by the rules
         ! score after point 2 is not by the rules",
    );
}

#[test]
fn match_ends_when_betfair_reports_it() {
    let mut poll = Poll::default();
    let last =
        "1 point 1 1 40:0 5:0 1:0 currentSet=2\n2 point 1 1 - 6:0 2:0 winsGame=true currentSet=2";
    poll.check(
        &strokes(last, "IN_PROGRESS"),
        "match 7 | live | p1:1/1 0-0,5-0 3:0
         p2:1/1 0-0,6-0,0-0 0:0
         ! score after point 1 is not by the rules
         ! score after point 2 is not by the rules",
    );
    poll.check(&strokes(last, "FINISHED"), "0-0,6-0 0:0 won 1 | finished");
    poll.check(&strokes(last, "FINISHED"), "");
}

#[test]
fn older_score_images_emit_nothing() {
    let image = |sequence: u64, points: [&str; 2]| {
        format!(
            r#"[{{"eventId":"7","eventTypeId":"2","updateContext":{{"updateSequence":{sequence},
            "updateType":"score"}},"values":{{"player1PointsWon":"{}","player2PointsWon":"{}",
            "player1GamesWon":"3","player2GamesWon":"2","player1SetsWon":"1","player2SetsWon":"0",
            "player1SetScores":"6,3","player2SetScores":"4,2","eventTypeStatus":"inPlay"}},
            "eventStatus":"IN_PROGRESS","responseCode":"OK"}}]"#,
            points[0], points[1]
        )
    };
    let mut poll = Poll::default();
    poll.check(&image(9, ["30", "40"]), "match 7 | live | 6-4,3-2 2:3");
    poll.check(&image(9, ["30", "40"]), "");
    poll.check(&image(8, ["15", "40"]), "");
    poll.check(&image(12, ["40", "Av"]), "6-4,3-2 3:4");
    poll.check(&strokes("13 point 1 1 40:40 3:2 1:0", "IN_PROGRESS"), "p13:1/1 6-4,3-2 3:3");
}

#[test]
fn tennis_scoreboard_is_decoded() {
    let board = r#"{"eventId":7,"eventTypeId":2,"score":{
        "home":{"name":"Ann","score":"30","games":"2","sets":"1","gameSequence":["6"],"isServing":true},
        "away":{"name":"Bea","score":"15","games":"1","sets":"0","gameSequence":["4"],"isServing":false}},
        "matchStatus":"InPlay"}"#;
    Poll::default().check(board, "match 7 | live | 6-4,2-1 2:1");
    let without = board.replace(r#""matchStatus":"InPlay""#, r#""bestOfSets":3"#);
    Poll::default().check(&without, "match 7 | 6-4,2-1 2:1");
    Poll::default().check(
        &board.replace("InPlay", "Tea"),
        "match 7 | 6-4,2-1 2:1
         ! status \"Tea\" of a match is not known",
    );
}

#[test]
fn all_events_of_a_response_are_applied() {
    let football = timeline("1 KickOff - 1", 0, 0);
    let tennis = strokes("1 point 1 1 15:0 0:0 0:0", "IN_PROGRESS");
    let tennis = &tennis[1..tennis.len() - 1];
    let other = r#"{"eventId":9,"eventTypeId":7522,"score":{}}"#;
    let nothing = r#"{"eventId":"8","eventTypeId":"2","responseCode":"NO_NEW_UPDATES"}"#;
    Poll::default().check(
        &format!("[{football},{tennis},{other},{nothing}]"),
        "match 5 | first_half | 0:00 | 0-0 | u1 Period(FirstHalf) 1
         match 7 | live | p1:1/1 0-0 1:0
         ! event 9 is basketball, which is not followed",
    );
}

#[test]
fn ids_are_those_of_the_stream() {
    let line = r#"{"op":"mcm","mc":[{"id":"1.2","marketDefinition":{"eventId":"7",
        "eventTypeId":"2","status":"OPEN","runners":[]}}]}"#;
    let mut stream = crate::normalize::betfair::Normalizer::default();
    let streamed = stream.line(line.as_bytes()).expect("it is usable").expect("it says something");
    let mut played = Interpretation::default();
    let answer = strokes("1 point 1 1 15:0 0:0 0:0", "IN_PROGRESS");
    Interpreter::default().message(answer.as_bytes(), 0, &mut played).expect("it is usable");
    let polled = &played.batches[0].batch.events[0];
    let streamed = &streamed.batch.events[0];
    assert_eq!((polled.sport, polled.match_id), (streamed.sport, streamed.match_id));
    let [Fact::Fixture(polled), Fact::Fixture(streamed)] = [&polled.fact, &streamed.fact] else {
        panic!("the fixture comes first")
    };
    assert_eq!(
        (&polled.provider, &polled.provider_key),
        (&streamed.provider, &streamed.provider_key)
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(Interpreter::default().message(&bytes, 0, &mut Interpretation::default()));
    }

    #[test]
    fn damaged_input_does_not_panic(at in 0..1000_usize, with in "[\\[\\]{},:0-9\"a-z-]{0,4}", kind in 0..2) {
        let mut text = if kind == 0 {
            timeline("1 KickOff - 1\n2 Goal home 7\n3 FirstHalfEnd - 45+2\n4 RedCard away 60", 1, 0)
        } else {
            strokes("1 point 1 1 15:0 0:0 0:0\n2 ace 1 1 - 6:0 1:0 winsGame=true undo=0", "FINISHED")
        };
        let at = at % text.len();
        text.replace_range(at..=at, &with);
        let mut interpreter = Interpreter::default();
        for _ in 0..2 {
            let mut played = Interpretation::default();
            drop(interpreter.message(text.as_bytes(), 0, &mut played));
            prop_assert!(played.batches.is_sorted_by_key(|it| it.clock_us));
        }
    }

    /// Numbers that fit their fields, in any order and any combination.
    #[test]
    fn arbitrary_strokes_do_not_panic(
        rows in prop::collection::vec((0..40_u8, 0..4_u8, 0..60_u8, 0..60_u8, 0..9_u8, 0..9_u8,
            0..4_u8, 0..4_u8, 0..2_u8), 1..40),
    ) {
        let rows: Vec<_> = rows.iter().enumerate().map(|(at, row)| {
            let (number, who, p1, p2, g1, g2, s1, s2, undo) = *row;
            let number = if number < 30 { at } else { usize::from(number) };
            let (server, winner) = (who / 2 + 1, who % 2 + 1);
            format!("{number} point {server} {winner} {p1}:{p2} {g1}:{g2} {s1}:{s2} undo={undo}")
        }).collect();
        let mut interpreter = Interpreter::default();
        for end in [rows.len() / 2, rows.len()] {
            let text = strokes(&rows[..end].join("\n"), "IN_PROGRESS");
            interpreter.message(text.as_bytes(), 0, &mut Interpretation::default()).expect("it is usable");
        }
    }
}

#[test]
fn event_that_comes_twice_in_an_answer_is_introduced_first() {
    let answer = r#"[{"eventId":"7","eventTypeId":"2","eventStatus":"IN_PROGRESS","incidents":{"1":{
        "updateContext":{"updateType":"point","updateSequence":1,
        "lastUpdated":"2025-05-01T18:00:00.000Z"},"values":{"server":"1","wonBy":"1",
        "firstToServe":"1","currentSet":"1","team1PointsAfter":"15","team2PointsAfter":"0",
        "player1GamesWon":"0","player2GamesWon":"0","player1SetsWon":"0","player2SetsWon":"0"}}}},
        {"eventId":7,"eventTypeId":2,"score":{"home":{"name":"Ann","score":"40","games":"3",
        "sets":"1","gameSequence":["6"],"isServing":true},"away":{"name":"Bea","score":"A",
        "games":"2","sets":"0","gameSequence":["4"]}},"currentSet":2,"status":"IN_PLAY"}]"#;
    let mut played = Interpretation::default();
    Interpreter::default().message(answer.as_bytes(), 0, &mut played).expect("it is an answer");
    assert!(played.batches.is_sorted_by_key(|timed| timed.clock_us));
    assert!(played.batches.len() > 1, "{:?}", played.batches);
    let first = &played.batches[0].batch.events[0].fact;
    assert!(matches!(first, Fact::Fixture(_)), "{first:?}");
}
