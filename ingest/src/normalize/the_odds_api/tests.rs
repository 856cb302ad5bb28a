//! Answers in, facts out, written as short texts.

use facts::event::{Fact, MarketChange, OddsFact};

use super::*;

const NOW: Micros = 1_711_000_000_000_000;

fn event(id: &str, sport_key: &str, bookmakers: &str) -> String {
    format!(
        r#"{{"id":"{id}","sport_key":"{sport_key}","sport_title":"T","commence_time":"2024-03-22T00:00:00Z","home_team":"Ann","away_team":"Bea","bookmakers":[{bookmakers}]}}"#
    )
}

fn book(key: &str, markets: &str) -> String {
    format!(r#"{{"key":"{key}","last_update":"2024-03-21T00:00:00Z","markets":[{markets}]}}"#)
}

/// A market of outcomes written `name price point`.
fn market(key: &str, outcomes: &[&str]) -> String {
    let outcome = |text: &&str| {
        let words: Vec<_> = text.split(' ').collect();
        let point = words.get(2).map(|point| format!(r#","point":{point}"#)).unwrap_or_default();
        format!(r#"{{"name":"{}","price":{}{point}}}"#, words[0], words[1])
    };
    let outcomes: Vec<_> = outcomes.iter().map(outcome).collect();
    format!(r#"{{"key":"{key}","outcomes":[{}]}}"#, outcomes.join(","))
}

fn interpret(interpreter: &mut Interpreter, body: &str) -> Vec<String> {
    let mut played = Interpretation::default();
    interpreter.message(body.as_bytes(), NOW, &mut played).unwrap();
    assert_eq!(played.notices, [], "of {body}");
    assert_eq!(played.signals, [Signal::Fresh], "of {body}");
    let events = played.batches.iter().flat_map(|timed| &timed.batch.events);
    events.map(|event| text(&event.fact)).collect()
}

fn text(fact: &Fact) -> String {
    match fact {
        Fact::Fixture(fixture) => format!("fixture {}", fixture.provider_key),
        Fact::Odds(OddsFact { book, market, change }) => match change {
            MarketChange::Define(it) => {
                let outcome = |definition: &facts::event::SelectionDefinition| {
                    let outcome = definition.outcome.map_or("-", |outcome| outcome.as_str());
                    format!("{}={outcome}", definition.id)
                };
                let selections: Vec<_> = it.selections.iter().map(outcome).collect();
                let period = it.period.as_deref().map(|it| format!(":{it}")).unwrap_or_default();
                let line = it.line.map(|it| format!("@{it}")).unwrap_or_default();
                format!(
                    "{book} {market} is {}{period}{line} {} {}",
                    it.kind,
                    it.status.as_str(),
                    selections.join(" ")
                )
            }
            MarketChange::Prices { selections, .. } => {
                let price =
                    |it: &facts::event::SelectionChange| format!("{}={}", it.id, it.price.unwrap());
                let prices: Vec<_> = selections.iter().map(price).collect();
                format!("{book} {market} {}", prices.join(" "))
            }
            MarketChange::Clear => format!("{book} {market} clear"),
        },
        other => format!("{other:?}"),
    }
}

/// The facts about one bookmaker's market in an event of the sport.
#[track_caller]
fn check(sport_key: &str, market: &str, expected: &[&str]) {
    let body = event("e", sport_key, &book("b", market));
    let facts = interpret(&mut Interpreter::default(), &body);
    assert_eq!(facts[1..], *expected);
}

#[test]
fn results_are_assigned_by_team_name() {
    check(
        "soccer_epl",
        &market("h2h", &["Bea 3.1", "Ann 2.10", "Draw 3"]),
        &["b h2h is match_winner open Bea=away Ann=home Draw=draw", "b h2h Bea=3.1 Ann=2.1 Draw=3"],
    );
    check(
        "tennis_atp_x",
        &market("h2h", &["Ann 2.1", "Bea 1.8"]),
        &["b h2h is match_winner open Ann=p1 Bea=p2", "b h2h Ann=2.1 Bea=1.8"],
    );
    check(
        "icehockey_nhl",
        &market("h2h_3_way_p1", &["Ann 2.1", "Bea 3", "Draw 3"]),
        &[
            "b h2h_3_way_p1 is regular_time_winner:p1 open Ann=home Bea=away Draw=draw",
            "b h2h_3_way_p1 Ann=2.1 Bea=3 Draw=3",
        ],
    );
}

#[test]
fn older_answer_moves_no_start() {
    let mut feed = Interpreter::default();
    let body = |hour: &str, day: &str| {
        let body = event("e", "soccer_epl", &book("b", &market("h2h", &["Ann 2", "Bea 3"])));
        body.replace("2024-03-21T00", hour).replace("2024-03-22", day)
    };
    let (before, moved) =
        (body("2024-03-21T02", "2024-03-22"), body("2024-03-21T03", "2024-03-29"));
    assert_eq!(interpret(&mut feed, &before)[0], "fixture e");
    assert_eq!(interpret(&mut feed, &moved), ["fixture e"]);
    assert_eq!(interpret(&mut feed, &before), [""; 0]);
    // Another bookmaker's prices are older than those of the last answer. The answer is not.
    let other = body("2024-03-21T02", "2024-03-30").replace(r#""key":"b""#, r#""key":"c""#);
    assert_eq!(interpret(&mut feed, &other)[0], "fixture e");
}

#[test]
fn american_prices_are_emitted_as_decimal() {
    check(
        "americanfootball_nfl",
        &market("h2h", &["Ann -150", "Bea 130"]),
        &["b h2h is match_winner open Ann=home Bea=away", "b h2h Ann=1.66666667 Bea=2.3"],
    );
}

#[test]
fn every_line_is_a_market() {
    let totals = ["Over 1.9 2.5", "Over 3.0 3.50", "Under 1.8 2.5", "Under 1.3 3.5"];
    check(
        "soccer_epl",
        &market("alternate_totals_h1", &totals),
        &[
            "b alternate_totals_h1@2.5 is over_under:1h@2.5 open Over=over Under=under",
            "b alternate_totals_h1@2.5 Over=1.9 Under=1.8",
            "b alternate_totals_h1@3.5 is over_under:1h@3.5 open Over=over Under=under",
            "b alternate_totals_h1@3.5 Over=3 Under=1.3",
        ],
    );
    let spreads = ["Ann 1.9 -1.5", "Bea 1.8 1.5", "Ann 2 0", "Bea 2.1 0.0"];
    check(
        "basketball_nba",
        &market("spreads", &spreads),
        &[
            "b spreads@-1.5 is asian_handicap@-1.5 open Ann=home Bea=away",
            "b spreads@-1.5 Ann=1.9 Bea=1.8",
            "b spreads@0 is asian_handicap@0 open Ann=home Bea=away",
            "b spreads@0 Ann=2 Bea=2.1",
        ],
    );
}

#[test]
fn other_markets_keep_their_key() {
    check(
        "soccer_epl",
        &market("btts", &["Yes 1.9", "No 1.8"]),
        &["b btts is both_teams_to_score open Yes=yes No=no", "b btts Yes=1.9 No=1.8"],
    );
    check(
        "soccer_epl",
        &market("h2h_lay", &["Ann 1.9"]),
        &["b h2h_lay is match_winner_lay open Ann=-", "b h2h_lay Ann=1.9"],
    );
    check(
        "soccer_epl",
        &market("Player_Shots", &["Over 1.9 1.5", "Over 3.9 2.5"]),
        &[
            "b Player_Shots is player_shots open Over@1.5=- Over@2.5=-",
            "b Player_Shots Over@1.5=1.9 Over@2.5=3.9",
        ],
    );
}

#[test]
fn only_changes_are_emitted() {
    let mut interpreter = Interpreter::default();
    let body = |price: &str| {
        let h2h = market("h2h", &[&format!("Ann {price}"), "Bea 1.8"]);
        format!("[{}]", event("e", "tennis_x", &book("b", &h2h)))
    };
    assert_eq!(interpret(&mut interpreter, &body("2.1")).len(), 3);
    assert_eq!(interpret(&mut interpreter, &body("2.10")), [""; 0]);
    assert_eq!(interpret(&mut interpreter, &body("2.2")), ["b h2h Ann=2.2"]);
}

#[test]
fn missing_markets_are_suspended_until_they_return() {
    let mut interpreter = Interpreter::default();
    let h2h = market("h2h", &["Ann 2.1", "Bea 1.8"]);
    let suspended = |book: &str| format!("{book} h2h is match_winner suspended Ann=p1 Bea=p2");
    let open = "a h2h is match_winner open Ann=p1 Bea=p2";
    let event_with = |books: &[&str]| {
        let books: Vec<_> = books.iter().map(|key| book(key, &h2h)).collect();
        event("e", "tennis_x", &books.join(","))
    };
    let other = event("other", "tennis_x", "");
    interpret(&mut interpreter, &format!("[{},{other}]", event_with(&["a", "b"])));
    assert_eq!(
        interpret(&mut interpreter, &format!("[{},{other}]", event_with(&["b"]))),
        [suspended("a")]
    );
    let back = interpret(&mut interpreter, &format!("[{},{other}]", event_with(&["a", "b"])));
    assert_eq!(back, [open, "a h2h Ann=2.1 Bea=1.8"]);
    assert_eq!(
        interpret(&mut interpreter, &format!("[{other}]")),
        [suspended("a"), suspended("b")]
    );
    interpret(&mut interpreter, &format!("[{}]", event_with(&["a"])));
    assert_eq!(
        interpret(&mut interpreter, "[]"),
        [suspended("a")],
        "the only sport has nothing left"
    );
}

#[test]
fn event_listed_twice_is_one() {
    let mut interpreter = Interpreter::default();
    let h2h = market("h2h", &["Ann 2.1", "Bea 1.8"]);
    let [one, other] = ["a", "b"].map(|key| event("e", "tennis_x", &book(key, &h2h)));
    assert_eq!(interpret(&mut interpreter, &format!("[{one},{other}]")).len(), 5);
    assert_eq!(interpret(&mut interpreter, &format!("[{other},{one}]")), [""; 0]);
}

#[test]
fn response_of_one_kind_suspends_nothing_of_another() {
    let mut interpreter = Interpreter::default();
    let h2h = book("b", &market("h2h", &["Ann 2.1", "Bea 1.8"]));
    interpret(&mut interpreter, &format!("[{}]", event("e", "tennis_x", &h2h)));
    let quiet = [
        format!("[{}]", event("f", "soccer_x", "")),
        format!("[{},{}]", event("g", "soccer_y", ""), event("h", "cricket_x", "")),
        event("i", "tennis_x", ""),
        "[]".to_owned(),
    ];
    for body in quiet {
        let facts = interpret(&mut interpreter, &body);
        assert!(facts.iter().all(|fact| fact.starts_with("fixture")), "{facts:?} of {body}");
    }
}

#[test]
fn event_that_has_commenced_is_in_play() {
    let h2h = book("b", &market("h2h", &["Ann 2.1", "Bea 1.8"]));
    let body = event("e", "tennis_x", &h2h);
    for (timestamp, expected) in [("2024-03-21T23:59:59Z", false), ("2024-03-22T00:00:00Z", true)] {
        let mut played = Interpretation::default();
        let body = format!(r#"{{"timestamp":"{timestamp}","data":[{body}]}}"#);
        Interpreter::default().message(body.as_bytes(), NOW, &mut played).unwrap();
        let events = played.batches.iter().flat_map(|it| &it.batch.events);
        let in_play = events.filter_map(|event| match &event.fact {
            Fact::Odds(OddsFact { change: MarketChange::Define(it), .. }) => Some(it.in_play),
            _ => None,
        });
        assert_eq!(in_play.collect::<Vec<_>>(), [expected], "at {timestamp}");
    }
}

#[test]
fn scores_are_emitted_in_the_form_of_the_sport() {
    let body = |sport_key: &str, completed: bool, scores: &str| {
        format!(
            r#"[{{"id":"e","sport_key":"{sport_key}","completed":{completed},"home_team":"Ann","away_team":"Bea","scores":{scores},"last_update":null}}]"#
        )
    };
    let two_one = r#"[{"name":"Bea","score":"1"},{"name":"Ann","score":"2"}]"#;
    let check = |sport_key: &str, completed, scores: &str, expected: &[&str]| {
        let facts = interpret(&mut Interpreter::default(), &body(sport_key, completed, scores));
        assert_eq!(facts.len(), expected.len() + 1, "{facts:?}");
        for (fact, expected) in facts[1..].iter().zip(expected) {
            assert!(fact.contains(expected), "{fact} has not {expected}");
        }
    };
    check("icehockey_nhl", true, two_one, &["status: Finished, score: Some([2, 1])"]);
    check("icehockey_nhl", false, "null", &["status: NotStarted, score: None"]);
    check("basketball_nba", false, two_one, &["status: Live, score: Some([2, 1])"]);
    check("soccer_epl", true, two_one, &["goals: [2, 1]", "Status(Finished)"]);
    check("soccer_epl", false, "null", &["Status(NotStarted)"]);
    check("tennis_x", false, two_one, &["Status(Live)"]);
    check("baseball_mlb", true, two_one, &[]);
}
