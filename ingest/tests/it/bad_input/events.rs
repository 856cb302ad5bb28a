//! Invalid lines of Matchwire's own format, and the format in both directions.

use facts::{
    event::{Batch, Event, Fact, Id, Sport, Timed},
    line::LineWriter,
};
use ingest::{
    normalize::{Interpret, Interpretation, events::Interpreter},
    recording::Limits,
};
use proptest::{collection::vec, prelude::*};

use super::{
    Outcome, Scratch,
    properties::{changed, changes},
};

const PROVIDER: &str = "acme";

fn read(line: &str) -> Result<Timed, String> {
    let mut played = Interpretation::default();
    let taken = Interpreter::new(PROVIDER.into()).message(line.as_bytes(), 7, &mut played);
    taken.map_err(|error| format!("{}: {}", error.kind.as_str(), error.reason))?;
    Ok(played.batches.remove(0))
}

/// A line with this fact about a match of this sport.
fn line(sport: &str, fact: &str) -> String {
    format!(r#"{{"at":1700000000000000,"sport":"{sport}","match":"m1","fact":{fact}}}"#)
}

#[track_caller]
fn check_refused(line: &str, part: &str) {
    let error = read(line).expect_err(line);
    assert!(error.contains(part), "{error:?} does not say {part:?}, of {line}");
}

#[test]
fn missing_and_extra_fields_of_a_line_are_named() {
    check_refused("", "truncated: ");
    check_refused("{", "truncated: ");
    check_refused("}", "syntax: ");
    check_refused("[]", "value: ");
    check_refused("{}", "missing field `sport`");
    check_refused(r#"{"sport":"football"}"#, "missing field `match`");
    check_refused(r#"{"sport":"chess","match":"1","fact":{}}"#, "unknown variant `chess`");
    check_refused(&line("football", r#"{"fixtur":{}}"#), "unknown variant `fixtur`");
    check_refused(&line("football", r#"{"fixture":{"home":1}}"#), "unknown field `home`");
    check_refused(&line("football", r#"{"fixture":{}}"#).replace("at", "when"), "`when`");
    check_refused(&(line("football", r#"{"fixture":{}}"#) + "{}"), "syntax: trailing");
    check_refused(r#"{"batch":[{"at":1}]}"#, "unknown field `at`");
    check_refused(r#"{"batch":{}}"#, "value: ");
}

#[test]
fn impossible_values_are_refused() {
    let fixture = line("football", r#"{"fixture":{}}"#);
    check_refused(&fixture.replace("1700000000000000", "-1"), "at -1 is no moment");
    check_refused(&fixture.replace("1700000000000000", "9223372036854775807"), "is no moment");
    check_refused(&fixture.replace("1700000000000000", "1.5"), "value: ");
    // The year 5138, and our time in nanoseconds.
    check_refused(&fixture.replace("1700000000000000", "100000000000000000"), "in another unit");
    check_refused(&fixture.replace("1700000000000000", "1700000000000000000"), "is no moment");
    for other_unit in ["1700000000", "1700000000000"] {
        check_refused(&fixture.replace("1700000000000000", other_unit), "in another unit");
        let start = format!(r#"{{"fixture":{{"start":{other_unit}}}}}"#);
        check_refused(&line("football", &start), "is before 1971");
    }
    check_refused(&fixture.replace("\"m1\"", "\"\""), "match is empty");
    check_refused(&fixture.replace("m1", &"x".repeat(201)), "match has 201 bytes");
    check_refused(&fixture.replace("\"m1\"", "17"), "names its matches by keys of its own");
    check_refused(
        &fixture.replace("\"match\"", "\"provider\":\"other\",\"match\""),
        r#"provider "other" is not this source, "acme""#,
    );
    check_refused(&line("football", r#"{"fixture":{"date":"30.8.2026"}}"#), "is not a day");
    check_refused(&line("tennis", r#"{"football":{"status":"finished"}}"#), "a match of tennis");
    check_refused(&line("cricket", r#"{"scoreboard":{"status":"live"}}"#), "a match of cricket");
    let ball = r#"{"football":{"ball":{"x":1001,"y":0,"side":"home","situation":"safe"}}}"#;
    check_refused(&line("football", ball), "beyond 1000");
    let both = r#"{"fixture":{"sides":[{"name":"A","key":"a","id":1},{"name":"B"}]}}"#;
    check_refused(&line("football", both), r#""A" has both a key and an id"#);
    check_refused(
        &line("football", &both.replace(r#""key":"a","id":1"#, r#""id":0"#)),
        "0 is no id",
    );
    check_refused(&line("football", &both.replace("\"A\"", "\"\"")), "name is empty");
    let total = r#"{"football":{"analysis":{"expected_goals":{"side":"home","goals":30.5}}}}"#;
    check_refused(&line("football", total), "expected goals 30.5 are not from 0 to 30");
    let minute = r#"{"football":{"analysis":{"momentum":{"minute":121,"value":5}}}}"#;
    check_refused(&line("football", minute), "minute 121 is not from 1 to 120");
    let game = r#"{"tennis":{"score":{"sets":[],"game":{"points":[5,0]},"points":5}}}"#;
    check_refused(&line("tennis", game), "go to 4");
    let sets = "[{\"games\":[0,0]}]".repeat(10).replace("][", ",");
    check_refused(
        &line("tennis", &format!(r#"{{"tennis":{{"score":{{"sets":{sets},"points":5}}}}}}"#)),
        "no tennis match has a score of 10 sets",
    );
}

#[test]
fn prices_are_text() {
    let prices = |price: &str| {
        let price = format!(r#"{{"id":"1","price":{price}}}"#);
        let change = format!(r#"{{"prices":{{"selections":[{price}]}}}}"#);
        line("football", &format!(r#"{{"odds":{{"book":"b","market":"m","change":{change}}}}}"#))
    };
    assert!(read(&prices("\"2.10\"")).is_ok());
    check_refused(&prices("2.1"), "a JSON number may have lost digits");
    check_refused(&prices("\"-2.10\""), "price -2.10 is not above 1");
    check_refused(&prices("\"1\""), "price 1 is not above 1");
    check_refused(&prices("\"0.5\""), "price 0.5 is not above 1");
    check_refused(&prices("\"0\""), "price 0 is not above 1");
    check_refused(&prices("\"two\""), "a decimal as text");
    check_refused(&prices("\"2.10\"").replace("\"b\"", "\"a/b\""), "book \"a/b\" is not");
    check_refused(&prices("\"2.10\"").replace("\"b\"", "\"B\""), "upper-case");
}

#[test]
fn match_id_derives_from_key_and_provider() {
    let timed =
        read(&line("hockey", r#"{"fixture":{"sides":[{"name":"A"},{"name":"B","key":"b"}]}}"#));
    let timed = timed.unwrap();
    assert_eq!(
        (timed.clock_us, timed.batch.at),
        (1_700_000_000_000_000, Some(1_700_000_000_000_000))
    );
    let Event { sport, match_id, fact: Fact::Fixture(fixture) } = &timed.batch.events[0] else {
        panic!("no fixture: {timed:?}");
    };
    assert_eq!((*sport, *match_id), (Sport::Hockey, Id::derive(PROVIDER, "match", "m1")));
    assert_eq!((&*fixture.provider, &*fixture.provider_key), (PROVIDER, "m1"));
    let sides = fixture.sides.as_ref().unwrap();
    assert_eq!(sides[0].id, Id::derive(PROVIDER, "team", "A"));
    assert_eq!(sides[1].id, Id::derive(PROVIDER, "team", "b"));
}

#[test]
fn a_batch_is_atomic() {
    let line = r#"{"sport":"football","match":"m1","fact":{"football":{"status":"first_half"}}}"#;
    let timed = read(&format!(r#"{{"id":"b1","batch":[{line},{line}]}}"#)).unwrap();
    assert_eq!((timed.clock_us, timed.batch.at, timed.batch.events.len()), (7, None, 2));
    check_refused(
        &format!(r#"{{"batch":[{line},{}]}}"#, line.replace("first", "third")),
        "third_half",
    );
}

/// The facts that the simulator does not emit. Its tests do the same with the others.
#[test]
fn rare_facts_are_written_and_read_back() {
    let facts = [
        (
            "tennis",
            r#"{"about":{"round":3,"round_name":"Final","group":"Group A","country":"GB","venue":{"name":"Court 1","id":5,"city":"London"},"referee":{"name":"R","id":6},"home_coach":{"name":"C","id":7},"away_coach":{"name":"D","id":8},"attendance":12000,"neutral":true,"surface":"grass","category":"ATP 250","best_of":3}}"#,
        ),
        (
            "football",
            r#"{"football":{"line_up":{"side":"away","formation":"4-3-3","players":[{"player":{"name":"P","id":9},"number":1,"position":"goalkeeper","starter":true,"captain":true},{"player":{"name":"Q","id":10},"starter":false,"captain":false}]}}}"#,
        ),
        (
            "football",
            r#"{"football":{"player_stats":{"side":"home","player":{"name":"P","id":9},"values":{"minutes_played":90,"goal_assist":1,"won_tackle":2}}}}"#,
        ),
        (
            "football",
            r#"{"football":{"incident":{"eid":"v1","kind":{"var":"checking"},"minute":3}}}"#,
        ),
        (
            "football",
            r#"{"football":{"incident":{"eid":"s1","kind":{"shootout":{"scored":true}},"minute":120,"side":"away","score":[1,2]}}}"#,
        ),
        (
            "football",
            r#"{"football":{"correct":{"eid":"g1","kind":{"goal":"own_goal"},"minute":45,"added":2}}}"#,
        ),
        (
            "football",
            r#"{"football":{"retract":{"of":"g1","why":"offside","score":{"goals":[0,0],"penalties":[1,0]}}}}"#,
        ),
        (
            "tennis",
            r#"{"tennis":{"retract":{"of":"p1","why":"let","score":{"server":"p2","sets":[{"games":[6,6],"tie_break":[1,0]}],"game":{"tie_break":[1,0]},"points":70,"winner":"p1"}}}}"#,
        ),
        (
            "hockey",
            r#"{"scoreboard":{"status":"live","score":[2,1],"periods":[[1,0],[1,1]],"period":"p2","clock":{"second":301,"running":true},"winner":"home"}}"#,
        ),
        (
            "horseracing",
            r#"{"race":{"status":"finished","runners":[{"runner":{"name":"Red Rum","id":4},"number":8,"jockey":"B. Fletcher","status":"finished","position":1}]}}"#,
        ),
        ("cricket", r#"{"odds":{"book":"b","market":"m","change":"clear"}}"#),
    ];
    let mut lines = LineWriter::default();
    for (sport, fact) in facts {
        let timed = read(&line(sport, fact)).unwrap_or_else(|error| panic!("{error}: {fact}"));
        let written = lines.timed(&timed);
        let mut reader = Interpreter::new(PROVIDER.into()).of_all_matches();
        let again = reader.line(written.as_bytes(), 0).unwrap().timed;
        assert_eq!(again, timed, "{written}");
        assert!(written.contains(fact), "{fact} became {written}");
    }
}

#[test]
fn file_of_lines_is_a_recording() {
    let scratch = Scratch::new();
    let lines = [
        line("football", r#"{"fixture":{}}"#),
        "garbage".to_owned(),
        line("football", r#"{"football":{"status":"first_half"}}"#),
    ];
    for (name, bytes) in [
        ("acme.ndjson", lines.join("\n").into_bytes()),
        ("acme.ndjson.gz", super::fixtures::gz(lines.join("\n").as_bytes())),
        ("acme.ndjson.zst", zstd::encode_all(lines.join("\n").as_bytes(), 3).unwrap()),
    ] {
        let outcome = Outcome::read(&scratch.file(name, bytes), &Limits::default()).unwrap();
        assert_eq!((outcome.batches, outcome.refused()), (2, vec![("syntax", 2)]), "{name}");
        assert_eq!(outcome.events[0].match_id, Id::derive("acme", "match", "m1"), "{name}");
    }
}

proptest! {
    #[test]
    fn arbitrary_lines_do_not_panic(bytes in vec(any::<u8>(), 0..200)) {
        drop(Interpreter::new(PROVIDER.into()).line(&bytes, 0));
    }

    /// A line that can be read can be written, even if it was damaged.
    #[test]
    fn changed_lines_do_not_panic(changes in changes(), which in 0..7_usize) {
        let lines = [
            line("football", r#"{"about":{"round":3,"venue":{"name":"W","city":"London"},"referee":{"name":"R"}}}"#),
            line("football", r#"{"football":{"line_up":{"side":"home","formation":"4-4-2","players":[{"player":{"name":"P"},"number":1,"starter":true}]}}}"#),
            line("football", r#"{"football":{"player_stats":{"side":"home","player":{"name":"P"},"values":{"goals":1}}}}"#),
            line("football", r#"{"football":{"score":{"goals":[1,0],"half_time":[0,0]}}}"#),
            line("tennis", r#"{"tennis":{"score":{"sets":[{"games":[1,0]}],"points":5}}}"#),
            line("basketball", r#"{"scoreboard":{"status":"live","score":[10,8],"period":"q1"}}"#),
            line("tennis", r#"{"odds":{"book":"b","market":"m","change":{"prices":{"selections":[{"id":"1","back":[["1.9","10"]]}]}}}}"#),
        ];
        let bytes = changed(&lines[which], &changes);
        if let Ok(read) = Interpreter::new(PROVIDER.into()).line(&bytes, 0) {
            let written = LineWriter::default().timed(&read.timed);
            let mut reader = Interpreter::new(PROVIDER.into()).of_all_matches();
            let again = reader.line(written.as_bytes(), 0).map(|read| read.timed);
            prop_assert_eq!(again.map(|it| it.batch.events), Ok(read.timed.batch.events));
        }
    }
}

/// An empty batch has no facts and is not an error: it shows that the sender is alive.
#[test]
fn an_empty_batch_has_no_facts() {
    assert_eq!(read(r#"{"batch":[]}"#).unwrap().batch, Batch::default());
}
