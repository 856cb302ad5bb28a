//! Messages in, facts out, written as short texts.

use facts::event::{MarketChange, OddsFact};

use super::*;

const NOW: Micros = 1_711_000_000_000_000;

/// A message of `sr:match:1` with additional attributes of its root.
fn message(root: &str, attributes: &str, inside: &str) -> String {
    format!(
        r#"<{root} event_id="sr:match:1" product="1" timestamp="5000" {attributes}>{inside}</{root}>"#
    )
}

fn odds(markets: &str) -> String {
    message("odds_change", "", &format!("<odds>{markets}</odds>"))
}

const RESULT: &str = r#"<market id="1" status="1"><outcome id="1" odds="2.10"/><outcome id="2" odds="3" active="1"/><outcome id="3" odds="3.5" active="0"/></market>"#;

fn football() -> Interpreter {
    Interpreter::with_default(Sport::Football)
}

fn interpret(interpreter: &mut Interpreter, text: &str) -> Vec<String> {
    let mut played = Interpretation::default();
    interpreter.message(text.as_bytes(), NOW, &mut played).unwrap();
    assert_eq!(played.notices, [], "of {text}");
    let events = played.batches.iter().flat_map(|timed| &timed.batch.events);
    events.map(|event| fact(&event.fact)).collect()
}

fn fact(fact: &Fact) -> String {
    match fact {
        Fact::Fixture(fixture) => format!("fixture {}", fixture.provider_key),
        Fact::Odds(OddsFact { market, change, .. }) => match change {
            MarketChange::Define(it) => {
                let selection = |definition: &facts::event::SelectionDefinition| {
                    let outcome = definition.outcome.map_or("-", |outcome| outcome.as_str());
                    let factor = definition.terms.as_ref().and_then(|terms| terms.dead_heat_factor);
                    let factor = factor.map(|factor| format!("*{factor}")).unwrap_or_default();
                    format!(" {}={outcome}:{}{factor}", definition.id, definition.status.as_str())
                };
                let selections: String = it.selections.iter().map(selection).collect();
                format!("{market} is {} {}{selections}", it.kind, it.status.as_str())
            }
            MarketChange::Prices { selections, .. } => {
                let price = |change: &facts::event::SelectionChange| {
                    format!(" {}={}", change.id, change.price.unwrap())
                };
                format!("{market}{}", selections.iter().map(price).collect::<String>())
            }
            MarketChange::Clear => format!("{market} clear"),
        },
        other => format!("{other:?}"),
    }
}

#[test]
fn odds_change_updates_only_the_markets_it_names() {
    let mut feed = football();
    let expected = [
        "fixture sr:match:1",
        "1 is match_winner open 1=home:active 2=draw:active 3=away:removed",
        "1 1=2.1 2=3",
    ];
    assert_eq!(interpret(&mut feed, &odds(RESULT)), expected);
    assert_eq!(interpret(&mut feed, &odds(RESULT)), [""; 0], "a repetition is no news");
    let one = r#"<market id="1" status="1"><outcome id="1" odds="2.2"/></market>"#;
    assert_eq!(interpret(&mut feed, &odds(one)), ["1 1=2.2"]);
    let suspended = r#"<market id="1" status="-1"/>"#;
    let expected = ["1 is match_winner suspended 1=home:active 2=draw:active 3=away:removed"];
    assert_eq!(interpret(&mut feed, &odds(suspended)), expected);
    let back = r#"<market id="1"><outcome id="3" odds="4" active="1"/></market>"#;
    let expected = ["1 is match_winner open 1=home:active 2=draw:active 3=away:active", "1 3=4"];
    assert_eq!(interpret(&mut feed, &odds(back)), expected);
}

/// The text with another timestamp.
fn at(ms: u64, text: &str) -> String {
    text.replace("5000", &ms.to_string())
}

#[test]
fn older_odds_of_a_market_change_nothing() {
    let mut feed = football();
    let result = |ms: u64, price: &str| at(ms, &odds(&RESULT.replace("2.10", price)));
    interpret(&mut feed, &result(5000, "2.1"));
    assert_eq!(interpret(&mut feed, &result(6000, "2.2")), ["1 1=2.2"]);
    assert_eq!(interpret(&mut feed, &result(6000, "2.3")), ["1 1=2.3"]);
    let total =
        r#"<market id="18" specifiers="total=2.5" status="1"><outcome id="12" odds="2"/></market>"#;
    let snapshot = at(5999, &odds(&format!("{RESULT}{total}")));
    for text in [snapshot.clone(), snapshot.replace(r#"product="1""#, r#"product="3""#)] {
        let mut played = Interpretation::default();
        feed.message(text.as_bytes(), NOW, &mut played).unwrap();
        let reason = "odds of 1 markets are older than what came before";
        let notice = DecodeError::new(RefusalKind::TimeBackwards, reason);
        assert_eq!(played.notices, [notice], "{text}");
        let mut events = played.batches.iter().flat_map(|timed| &timed.batch.events);
        assert!(events.all(|event| fact(&event.fact).starts_with("18/total=2.5 ")), "{text}");
    }
    assert!(feed.events["sr:match:1"].markets["18/total=2.5"].is_open());
}

#[test]
fn odds_before_a_stop_or_a_settlement_do_not_reopen() {
    let results = r#"<outcomes><market id="1"><outcome id="1" result="1"/></market></outcomes>"#;
    for closing in [
        message("bet_stop", r#"groups="all""#, ""),
        message("bet_settlement", "", results),
        message("bet_cancel", "", r#"<market id="1"/>"#),
    ] {
        let mut feed = football();
        interpret(&mut feed, &odds(RESULT));
        assert_eq!(interpret(&mut feed, &at(7000, &closing)).len(), 1, "{closing}");
        let mut played = Interpretation::default();
        feed.message(at(6500, &odds(RESULT)).as_bytes(), NOW, &mut played).unwrap();
        assert_eq!((played.batches, played.notices.len()), (vec![], 1), "{closing}");
        assert!(!interpret(&mut feed, &at(8000, &odds(RESULT))).is_empty(), "{closing}");
    }
}

#[test]
fn timestamp_in_the_future_is_not_used() {
    let mut feed = football();
    let text = at(1_711_003_600_001, &odds(RESULT));
    let mut played = Interpretation::default();
    feed.message(text.as_bytes(), NOW, &mut played).unwrap();
    assert_eq!(played.notices[0].reason, "timestamp 1711003600001 is in the future");
    assert_eq!((played.batches[0].clock_us, played.batches[0].batch.at), (NOW, None));
    assert_eq!(interpret(&mut feed, &odds(&RESULT.replace("2.10", "2.2"))), ["1 1=2.2"]);
}

#[test]
fn competitor_without_an_id_or_a_name_is_no_side() {
    let fixture = r#"<fixtures_fixture><fixture id="sr:match:1"><tournament id="" name="T"><sport id="sr:sport:1"/></tournament><competitors><competitor id="sr:competitor:1" name="A" qualifier="home"/><competitor id="sr:competitor:2" qualifier="away"/></competitors></fixture></fixtures_fixture>"#;
    let mut played = Interpretation::default();
    Interpreter::default().message(fixture.as_bytes(), NOW, &mut played).unwrap();
    let reasons: Vec<_> = played.notices.iter().map(|it| it.reason.as_str()).collect();
    let [tournament, competitor] =
        ["tournament", "competitor"].map(|what| format!("a {what} has no id or no name"));
    assert_eq!(reasons, [tournament, competitor]);
    let Fact::Fixture(fixture) = &played.batches[0].batch.events[0].fact else { panic!() };
    assert_eq!((&fixture.competition, &fixture.sides), (&None, &None));
}

#[test]
fn phase_tells_whether_markets_are_in_play() {
    for (status, phase, expected) in [
        ("1", "0", "1"),
        ("0", "7", "0"),
        ("", "7", "1"),
        ("", "80", "1"),
        ("", "0", "0"),
        ("", "100", "0"),
    ] {
        let status = format!(r#"<sport_event_status status="{status}" match_status="{phase}"/>"#);
        let text = message("odds_change", "", &format!("{status}<odds>{RESULT}</odds>"));
        let mut played = Interpretation::default();
        football().message(text.as_bytes(), NOW, &mut played).unwrap();
        let facts = played.batches.iter().flat_map(|timed| &timed.batch.events);
        let mut in_play = facts.filter_map(|event| match &event.fact {
            Fact::Odds(OddsFact { change: MarketChange::Define(it), .. }) => Some(it.in_play),
            _ => None,
        });
        assert_eq!(in_play.next_back(), Some(expected == "1"), "{text}");
    }
}

#[test]
fn phase_that_does_not_say_it_leaves_markets_in_play() {
    let mut feed = football();
    let phase = |code: u32| {
        let status = format!(r#"<sport_event_status match_status="{code}"/>"#);
        message("odds_change", "", &format!("{status}<odds>{RESULT}</odds>"))
    };
    interpret(&mut feed, &phase(7));
    for code in [301, 501] {
        assert_eq!(interpret(&mut feed, &phase(code)), [""; 0], "phase {code}");
    }
    assert_eq!(interpret(&mut feed, &phase(100)).len(), 1, "the market");
}

#[test]
fn market_statuses_are_converted() {
    for (status, expected) in [
        ("1", "open 12=over:active"),
        ("0", "inactive 12=over:active"),
        ("-1", "suspended 12=over:active"),
        ("-2", "suspended 12=over:active"),
        ("-3", "closed 12=over:active"),
        ("-4", "closed 12=over:removed"),
        ("7", "suspended 12=over:active"),
        ("", "open 12=over:active"),
    ] {
        let market = format!(
            r#"<market id="18" specifiers="total=2.5" status="{status}"><outcome id="12" odds="2"/></market>"#
        );
        let facts = interpret(&mut football(), &odds(&market));
        assert_eq!(facts[1], format!("18/total=2.5 is over_under {expected}"), "status {status}");
    }
}

#[test]
fn producer_that_is_down_suspends_its_own_markets() {
    let mut feed = football();
    interpret(&mut feed, &odds(RESULT));
    let other = r#"<product_down product="3" timestamp="6000"/>"#;
    assert_eq!(interpret(&mut feed, other), [""; 0]);
    let product_down = r#"<product_down product="1" timestamp="6000"/>"#;
    let suspended = "1 is match_winner suspended 1=home:active 2=draw:active 3=away:removed";
    assert_eq!(interpret(&mut feed, product_down), [suspended]);
    assert_eq!(interpret(&mut feed, product_down), [""; 0], "nothing is open");
    let back = r#"<market id="1" status="1"/>"#;
    let open = "1 is match_winner open 1=home:active 2=draw:active 3=away:removed";
    assert_eq!(interpret(&mut feed, &at(7000, &odds(back))), [open]);
}

#[test]
fn bet_stop_suspends_all_open_markets() {
    let mut feed = football();
    interpret(&mut feed, &odds(&format!(r#"{RESULT}<market id="29" status="0"/>"#)));
    let stop = message("bet_stop", r#"groups="all""#, "");
    let expected = ["1 is match_winner suspended 1=home:active 2=draw:active 3=away:removed"];
    assert_eq!(interpret(&mut feed, &stop), expected);
    assert_eq!(interpret(&mut feed, &stop), [""; 0]);
}

#[test]
fn settlement_closes_and_its_rollback_suspends() {
    let mut feed = football();
    interpret(&mut feed, &odds(RESULT));
    let results = r#"<outcomes><market id="1"><outcome id="1" result="1" dead_heat_factor="0.5"/><outcome id="2" result="0" void_factor="0.5"/><outcome id="3" result="0" void_factor="1.0"/></market></outcomes>"#;
    let settled = "1 is match_winner closed 1=home:winner*0.5 2=draw:half_lost 3=away:removed";
    let settlement =
        |certainty| message("bet_settlement", &format!(r#"certainty="{certainty}""#), results);
    assert_eq!(interpret(&mut feed, &settlement(1)), [settled]);
    assert_eq!(interpret(&mut feed, &settlement(2)), [""; 0], "confirmed is no news");
    let cancel = message("rollback_bet_cancel", "", r#"<market id="1"/>"#);
    assert_eq!(interpret(&mut feed, &cancel), [""; 0], "it was not cancelled");
    let roll_back = message("rollback_bet_settlement", "", r#"<market id="1"/>"#);
    let expected = ["1 is match_winner suspended 1=home:active 2=draw:active 3=away:active"];
    assert_eq!(interpret(&mut feed, &roll_back), expected);
    interpret(&mut feed, &odds(RESULT));
    assert_eq!(interpret(&mut feed, &roll_back), [""; 0], "it is open again");
    interpret(&mut feed, &settlement(1));
    let open = "1 is match_winner open 1=home:active 2=draw:active 3=away:removed";
    assert_eq!(interpret(&mut feed, &odds(RESULT)), [open, "1 1=2.1 2=3"], "no dead heat");
}

#[test]
fn cancellation_without_a_range_voids_the_market() {
    let mut feed = football();
    interpret(&mut feed, &odds(RESULT));
    let market = r#"<market id="1" void_reason="12"/>"#;
    for range in [r#"start_time="1" end_time="2""#, r#"start_time="1""#, r#"end_time="2""#] {
        let cancel = message("bet_cancel", range, market);
        assert_eq!(interpret(&mut feed, &cancel), [""; 0], "bets of {range} are void");
    }
    let cancel = message("bet_cancel", "", market);
    let expected = ["1 is match_winner closed 1=home:removed 2=draw:removed 3=away:removed"];
    assert_eq!(interpret(&mut feed, &cancel), expected);
    let roll_back = message("rollback_bet_cancel", "", market);
    let expected = ["1 is match_winner suspended 1=home:active 2=draw:active 3=away:active"];
    assert_eq!(interpret(&mut feed, &roll_back), expected);
}

#[test]
fn sport_comes_from_a_hint_a_fixture_or_the_default() {
    let winner = odds(r#"<market id="186"><outcome id="4" odds="2"/></market>"#);
    let mut feed = Interpreter::default();
    let refused = feed.message(winner.as_bytes(), NOW, &mut Interpretation::default()).unwrap_err();
    assert_eq!(refused.reason, "the sport of sr:match:1 is not known");
    feed.hint("sr:match:1", Sport::Tennis);
    assert_eq!(interpret(&mut feed, &winner)[1], "186 is match_winner open 4=p1:active");
    let mut feed = Interpreter::default();
    interpret(&mut feed, &fixture("sr:sport:5"));
    assert_eq!(interpret(&mut feed, &winner)[0], "186 is match_winner open 4=p1:active");
    let cards = r#"<sport_event_status status="1"><statistics><yellow_cards home="1" away="1"/><corners home="0" away="3"/></statistics></sport_event_status>"#;
    let mut feed = Interpreter::with_default(Sport::Other);
    interpret(&mut feed, &message("odds_change", "", cards));
    assert_eq!(interpret(&mut feed, &odds(RESULT))[0].split(' ').nth(2), Some("match_winner"));
    let game = r#"<sport_event_status status="1" home_gamescore="15" away_gamescore="0"/>"#;
    let mut feed = Interpreter::with_default(Sport::Other);
    interpret(&mut feed, &message("odds_change", "", game));
    assert_eq!(interpret(&mut feed, &winner)[0], "186 is match_winner open 4=p1:active");
}

fn fixture(sport: &str) -> String {
    format!(
        r#"<fixtures_fixture xmlns="http://x"><fixture id="sr:match:1" start_time="2019-05-08T19:00:00+00:00"><season id="s" name="Cup 19" year="18/19"/><tournament id="sr:tournament:7" name="Cup"><sport id="{sport}" name="S"/></tournament><competitors><competitor id="b" name="Bea" qualifier="away"/><competitor id="a" name="Ann &amp; Co" qualifier="home"/></competitors><extra><competitors><competitor id="x" name="X"/></competitors></extra></fixture></fixtures_fixture>"#
    )
}

#[test]
fn fixture_names_the_sides_and_the_competition() {
    let mut feed = football();
    interpret(&mut feed, &odds(RESULT));
    let mut played = Interpretation::default();
    let text = fixture("sr:sport:1")
        .replace("<extra><competitors><competitor id=\"x\" name=\"X\"/></competitors></extra>", "");
    feed.message(text.as_bytes(), NOW, &mut played).unwrap();
    let [timed] = &played.batches[..] else { panic!("{played:?}") };
    let Fact::Fixture(fixture) = &timed.batch.events[0].fact else { panic!("{timed:?}") };
    let [home, away] = fixture.sides.as_ref().unwrap();
    assert_eq!((&*home.name, &*away.name), ("Ann & Co", "Bea"));
    let competition = fixture.competition.as_ref().unwrap();
    assert_eq!((&*competition.name, competition.season.as_deref()), ("Cup", Some("18/19")));
    assert_eq!(fixture.start, Some(1_557_342_000_000_000));
    let other = text.replace("sr:sport:1", "sr:sport:5");
    let mut played = Interpretation::default();
    feed.message(other.as_bytes(), NOW, &mut played).unwrap();
    let reason = "sr:match:1 was reported as football before its fixture";
    assert_eq!(played.notices[0].reason, reason, "a match cannot change its sport");
    let moved = message("fixture_change", r#"start_time="1557345600000""#, "");
    assert_eq!(interpret(&mut feed, &moved), ["fixture sr:match:1"]);
}

#[test]
fn control_messages_are_signals() {
    for (text, expected) in [
        (r#"<alive product="1" timestamp="5" subscribed="1"/>"#, Signal::Alive),
        (r#"<alive product="1" timestamp="5" subscribed="0"/>"#, Signal::Recovering),
        (r#"<snapshot_complete product="1" request_id="7"/>"#, Signal::Fresh),
        (r#"<product_down product="1" timestamp="5"/>"#, Signal::Recovering),
    ] {
        let mut played = Interpretation::default();
        Interpreter::default().message(text.as_bytes(), NOW, &mut played).unwrap();
        assert_eq!((played.signals, played.batches), (vec![expected], vec![]), "{text}");
    }
}

/// The facts of a status in a sport, in their `Debug` form.
#[track_caller]
fn check_status(sport: Sport, attributes: &str, inside: &str, expected: &[&str]) {
    let status = format!("<sport_event_status {attributes}>{inside}</sport_event_status>");
    let mut feed = Interpreter::with_default(sport);
    let facts = interpret(&mut feed, &message("odds_change", "", &status));
    assert_eq!(facts.len(), expected.len() + 1, "{facts:?}");
    for (fact, expected) in facts[1..].iter().zip(expected) {
        assert!(fact.contains(expected), "{fact} has not {expected}");
    }
}

#[test]
fn football_status_has_a_clock() {
    let period = |code, home, away| {
        format!(
            r#"<period_score match_status_code="{code}" number="1" home_score="{home}" away_score="{away}"/>"#
        )
    };
    let clock = r#"<clock match_time="45:00" stoppage_time="1:13" stopped="false"/>"#;
    check_status(
        Sport::Football,
        r#"status="1" match_status="6" home_score="1" away_score="0""#,
        &format!("{clock}<period_scores>{}</period_scores>", period(6, 1, 0)),
        &["Status(FirstHalf)", "goals: [1, 0], half_time: None", "second: 2773, running: true"],
    );
    let scores = [period(6, 1, 0), period(7, 0, 1), period(40, 1, 1), period(50, 4, 3)].concat();
    check_status(
        Sport::Football,
        r#"status="4" match_status="120" home_score="6" away_score="5""#,
        &format!("<period_scores>{scores}</period_scores>"),
        &[
            "Status(Finished)",
            "goals: [2, 2], half_time: Some([1, 0]), extra_time: Some([1, 1]), penalties: Some([4, 3])",
        ],
    );
    check_status(Sport::Football, r#"status="9""#, "", &[]);
    check_status(Sport::Football, r#"status="0""#, "", &["Status(NotStarted)"]);
}

#[test]
fn tennis_status_has_sets_and_games() {
    let periods = r#"<period_scores><period_score number="2" home_score="6" away_score="6"/><period_score number="1" home_score="4" away_score="6"/></period_scores>"#;
    check_status(
        Sport::Tennis,
        r#"status="1" match_status="9" home_score="0" away_score="1" home_gamescore="3" away_gamescore="5" tiebreak="true" current_server="2""#,
        periods,
        &["Status(Live)", "server: Some(Second), sets: [SetScore { games: [4, 6]"],
    );
    check_status(
        Sport::Tennis,
        r#"status="1" home_score="0" away_score="0" home_gamescore="40" away_gamescore="50""#,
        "",
        &["Status(Live)", "game: Points([3, 4])"],
    );
    check_status(Sport::Tennis, r#"status="4" match_status="95""#, "", &["Status(Retired)"]);
}

#[test]
fn scoreboard_status_has_periods() {
    check_status(
        Sport::Hockey,
        r#"status="1" match_status="2" home_score="3" away_score="1""#,
        r#"<clock remaining_time_in_period="10:30"/><period_scores><period_score number="1" home_score="2" away_score="1"/><period_score number="2" home_score="1" away_score="0"/></period_scores>"#,
        &[
            r#"status: Live, score: Some([3, 1]), periods: [[2, 1], [1, 0]], period: Some("p2"), clock: Some(MatchClock { second: 630, running: true })"#,
        ],
    );
    check_status(
        Sport::Basketball,
        r#"status="3" match_status="100" home_score="88" away_score="90""#,
        "",
        &["status: Finished, score: Some([88, 90])"],
    );
    check_status(Sport::Other, r#"status="1" home_score="1" away_score="0""#, "", &[]);
}

/// To look costs as much as all events, so that one is not looked for at each.
#[test]
fn full_table_retries_eviction_periodically() {
    let mut feed = football();
    let mut takes = |event: u64, status: i32| {
        let market = format!(r#"<odds><market id="1" status="{status}"/></odds>"#);
        let text =
            odds("").replace("<odds></odds>", &market).replace(":1\"", &format!(":{event}\""));
        feed.message(text.as_bytes(), NOW, &mut Interpretation::default()).is_ok()
    };
    assert!((0..EVENTS_MAX as u64).all(|event| takes(event, 1)), "there is room for so many");
    assert!(!takes(99_999, 1), "there is no room for one more");
    assert!(takes(7, -3), "the one that is over is known");
    let refused = (0..5_000).take_while(|_| !takes(99_999, 1)).count();
    assert_eq!(refused, REFUSALS_BETWEEN as usize - 1);
}

/// Names come with the message if they are known, and later otherwise.
#[test]
fn markets_get_the_names_of_their_descriptions() {
    const DESCRIPTIONS: &str = r#"<market_descriptions><market id="62" name="{!goalnr} goal"><outcomes><outcome id="6" name="{$competitor1}"/><outcome id="7" name="none"/></outcomes></market><market name="without an id"><outcomes><outcome id="7" name="wrong"/></outcomes></market><market id="1" name="1x2"><outcomes><outcome id="1" name="{$competitor1}"/></outcomes></market></market_descriptions>"#;
    let market = |number: u8| {
        odds(&format!(
            r#"<market id="62" specifiers="goalnr={number}" status="1"><outcome id="6" odds="2"/><outcome id="7" odds="3"/></market>"#
        ))
    };
    let names = |interpreter: &mut Interpreter, text: &str| -> Vec<String> {
        let mut played = Interpretation::default();
        interpreter.message(text.as_bytes(), NOW, &mut played).unwrap();
        let events = played.batches.iter().flat_map(|timed| &timed.batch.events);
        let named = |event: &facts::event::Event| match &event.fact {
            Fact::Odds(OddsFact { change: MarketChange::Define(it), .. }) => {
                let selections = it.selections.iter().map(|it| it.name.as_deref().unwrap_or("-"));
                let all: Vec<_> = it.name.as_deref().into_iter().chain(selections).collect();
                Some(all.join(", "))
            }
            _ => None,
        };
        events.filter_map(named).collect()
    };
    let mut feed = football();
    assert_eq!(names(&mut feed, &market(1)), ["uof-62 goalnr=1, -, -"]);
    assert_eq!(
        names(&mut feed, &odds(RESULT)),
        ["-, -, -"],
        "a market that the hub names itself keeps its names"
    );
    assert_eq!(names(&mut feed, DESCRIPTIONS), ["1st goal, -, none"], "no sides yet");
    assert_eq!(names(&mut feed, DESCRIPTIONS), [""; 0], "nothing is new");
    assert_eq!(names(&mut feed, &market(2)), ["2nd goal, -, none"]);
    let fixture = r#"<fixtures_fixture><fixture id="sr:match:1"><competitors><competitor id="a" name="Bears" qualifier="home"/><competitor id="b" name="Wolves" qualifier="away"/></competitors></fixture></fixtures_fixture>"#;
    let expected = ["1st goal, Bears, none", "2nd goal, Bears, none"];
    assert_eq!(names(&mut feed, fixture), expected);
    assert_eq!(names(&mut feed, &market(3)), ["3rd goal, Bears, none"]);
}

#[test]
fn fixture_states_what_its_competitors_have_in_common() {
    let class = |event: &str, [one, other]: [&str; 2]| {
        let text = format!(
            r#"<fixtures_fixture><fixture id="{event}"><tournament id="sr:tournament:1" name="Cup"><category id="c" name="Spain" country_code="ESP"/></tournament><competitors><competitor id="a" name="A" qualifier="home" {one}/><competitor id="b" name="B" qualifier="away" {other}/></competitors></fixture></fixtures_fixture>"#
        );
        fixture_of(&decode::decode(text.as_bytes()).unwrap().fixtures[0]).class
    };
    let spain = || Class::in_country(Some("ESP"));
    let women = || Class { gender: Some(Gender::Women), ..spain() };
    for (event, attributes, expected) in [
        ("sr:match:1", [r#"gender="female""#; 2], women()),
        (
            "sr:match:1",
            [r#"gender="female" age_group="U19""#; 2],
            Class { age: "U19".parse().ok(), ..women() },
        ),
        ("sr:match:1", [r#"gender="female""#, r#"gender="male""#], spain()),
        ("sr:match:1", ["", r#"gender="male""#], spain()),
        ("sr:match:1", [r#"virtual="true""#; 2], spain()),
        ("vf:match:1", [""; 2], Class { simulated: Some(true), ..spain() }),
    ] {
        assert_eq!(class(event, attributes), expected, "{event} {attributes:?}");
    }
}

/// After a restart of the hub only what changes is reported: the rest is known from the hub.
#[test]
fn markets_of_before_a_restart_are_stopped_and_go_on() {
    let mut before = football();
    let mut played = Interpretation::default();
    before.message(odds(RESULT).as_bytes(), NOW, &mut played).unwrap();
    let events = played.batches.into_iter().flat_map(|timed| timed.batch.events);
    let definitions = events.filter_map(|event| match event.fact {
        Fact::Odds(OddsFact { market, change: MarketChange::Define(it), .. }) => Some((market, it)),
        _ => None,
    });
    let key = "sr:match:1".into();
    let known_match = KnownMatch { key, sport: Sport::Football, markets: definitions.collect() };
    let mut after = Interpreter::default();
    after.resume(vec![known_match]);
    let stopped = interpret(&mut after, &message("bet_stop", "groups=\"all\"", ""));
    let selections = "1=home:active 2=draw:active 3=away:removed";
    let expected =
        ["fixture sr:match:1".to_owned(), format!("1 is match_winner suspended {selections}")];
    assert_eq!(stopped, expected);
    let reopened = interpret(&mut after, &odds(RESULT));
    assert_eq!(
        reopened,
        [format!("1 is match_winner open {selections}"), "1 1=2.1 2=3".to_owned()]
    );
}
