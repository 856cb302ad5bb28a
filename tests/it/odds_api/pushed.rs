//! Prices and predictions of matches that a test pushes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::rows;
use crate::{
    football_v1::shape,
    support::{Hub, QUIET},
};

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;

/// A hub without its own sources, and a pushing source.
struct Stage {
    hub: Hub,
    key: String,
    feed: String,
    now: i64,
    offset: i64,
    lines: Vec<String>,
}

impl Stage {
    fn new(settings: &[(&'static str, &'static str)]) -> Self {
        let hub =
            Hub::start_with(&["serve"], &[&[QUIET, ("ARCHIVE_WRITE_MS", "50")], settings].concat());
        let (key, feed) = (hub.key(&["odds", "sports"]), hub.feed_key("acme", &[]));
        let now = Timestamp::now().as_microsecond();
        Self { hub, key, feed, now, offset: 0, lines: Vec::new() }
    }

    fn add_fact(&mut self, sport: &str, name: &str, fact: &Value) {
        self.offset += 1;
        let at = self.now - HOUR + self.offset;
        let line = json!({"at": at, "sport": sport, "match": name, "fact": fact});
        self.lines.push(line.to_string());
    }

    /// A match of the league between two sides, relative to now.
    fn fixture(&mut self, name: &str, [home, away]: [&str; 2], from_now: i64) {
        let fixture = json!({
            "competition": {"name": "League", "key": "l", "season": "2026"},
            "start": self.now + from_now,
            "sides": [{"name": home, "key": home}, {"name": away, "key": away}],
        });
        self.add_fact("football", name, &json!({"fixture": fixture}));
    }

    fn result(&mut self, name: &str, sides: [&str; 2], days_ago: i64, goals: [u32; 2]) {
        self.fixture(name, sides, -days_ago * DAY);
        self.add_fact("football", name, &json!({"football": {"score": {"goals": goals}}}));
        self.add_fact("football", name, &json!({"football": {"status": "finished"}}));
    }

    /// A market with the name and price of each selection.
    fn market(&mut self, sport: &str, name: &str, book: &str, kind: &str, prices: &[(&str, &str)]) {
        let selection = |(index, (name, _)): (usize, &(&str, &str))| json!({"id": format!("s{index}"), "name": name, "status": "active"});
        let selections: Vec<_> = prices.iter().enumerate().map(selection).collect();
        let define =
            json!({"kind": kind, "status": "open", "in_play": false, "selections": selections});
        let odds = json!({"book": book, "market": kind, "change": {"define": define}});
        self.add_fact(sport, name, &json!({"odds": odds}));
        self.prices(sport, name, book, kind, prices);
    }

    fn prices(&mut self, sport: &str, name: &str, book: &str, kind: &str, prices: &[(&str, &str)]) {
        let price = |(index, (_, price)): (usize, &(&str, &str))| json!({"id": format!("s{index}"), "price": price});
        let selections: Vec<_> = prices.iter().enumerate().map(price).collect();
        let change = json!({"prices": {"selections": selections}});
        let odds = json!({"book": book, "market": kind, "change": change});
        self.add_fact(sport, name, &json!({"odds": odds}));
    }

    async fn push(&mut self) {
        self.hub.push(&self.feed, &self.lines).await;
        self.lines.clear();
    }

    async fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        self.hub.json_until(&self.key, path, is_so).await
    }
}

/// SERVICE section 1.9: 503 until there are enough results, then consistent numbers.
#[tokio::test]
async fn with_enough_results_there_is_a_prediction() {
    const MIN: usize = 18;
    let mut stage = Stage::new(&[("PREDICTIONS_MATCHES_MIN", "18")]);
    let teams = ["Strong", "Middle", "Weak"];
    let pairs: Vec<_> = (0..9)
        .flat_map(|_| [[0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]])
        .map(|pair: [usize; 2]| (pair.map(|team| teams[team]), pair.map(|team| [3, 1, 0][team])))
        .take(MIN)
        .collect();
    for (day, (sides, goals)) in (1..).zip(&pairs[1..]) {
        stage.result(&format!("m{day}"), *sides, day, *goals);
    }
    stage.fixture("next", ["Strong", "Weak"], HOUR);
    stage.push().await;
    let finished = "/api/v2/events/?status=finished&limit=1";
    stage.until(finished, |page| page["count"] == MIN - 1).await;
    let next = rows(&stage.hub, "/api/v2/events/?status=notstarted", &stage.key).await;
    let id = &next["results"][0]["id"];
    let path = format!("/api/v2/events/{id}/prediction/");
    assert_eq!(stage.hub.get_as(&stage.key, &path).await.status, 503, "one result is missing");

    let (sides, goals) = pairs[0];
    stage.result("m0", sides, 40, goals);
    stage.push().await;
    // Without a model it is 503.
    let row = stage.until(&path, |row| row["markets"].is_object()).await;
    let markets = &row["markets"];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number in {row}"));
    let result = &markets["match_result"];
    let [home, draw, away] =
        ["home", "draw", "away"].map(|it| number(&result[format!("prob_{it}")]));
    assert!((home + draw + away - 100.0).abs() < 0.2, "{row}");
    assert!(home > 60.0 && away < 20.0, "the strong at home against the weak: {row}");
    assert_eq!(
        (&result["predicted"], &row["recommendations"]["favorite"]),
        (&json!("H"), &json!("H"))
    );
    let over = [15, 25, 35].map(|it| number(&markets["over_under"][format!("prob_over_{it}")]));
    assert!(over[0] >= over[1] && over[1] >= over[2] && over[2] > 0.0 && over[0] <= 100.0, "{row}");
    let goals = ["home", "away"].map(|side| number(&markets["expected_goals"][side]));
    assert!(goals[0] > goals[1] && goals[1] > 0.0, "{row}");
    let btts = number(&markets["btts"]["prob_yes"]);
    assert!((0.0..=100.0).contains(&btts), "{row}");
    let confidence = number(&row["model"]["confidence"]);
    assert!((confidence - home / 100.0).abs() < 0.001, "{row}");

    let one = stage.hub.json(&stage.key, &format!("/api/v2/predictions/{id}/")).await;
    assert_eq!(one, row);
    for list in ["/api/v2/predictions/?upcoming=true", "/api/v2/predictions/", "/api/predictions/"]
    {
        let page = stage.hub.json(&stage.key, list).await;
        assert_eq!((&page["count"], &page["results"][0]["event"]["id"]), (&json!(1), id), "{list}");
    }
    // Version 1 has the members of version 2, and flat ones beside them.
    let flat = stage.hub.json(&stage.key, &format!("/api/predictions/{id}/?tz=UTC")).await;
    assert_eq!(shape::differences("prediction", &flat), [""; 0]);
    assert_eq!(flat["prob_home_win"], row["markets"]["match_result"]["prob_home"], "{flat}");
    for name in ["markets", "recommendations", "model"] {
        assert_eq!(flat[name], row[name], "{name}");
    }
    for name in
        ["id", "league_id", "league_name", "home_team_id", "away_team", "event_date", "status"]
    {
        assert_eq!(flat["event"][name], row["event"][name], "{name} of {flat}");
    }
    // SERVICE section 8, row 8: a client requests one UTC day, and expects only the rows of that
    // day.
    let day = row["event"]["event_date"].as_str().expect("a moment")[..10].to_owned();
    let league = &row["event"]["league_id"];
    for (query, count) in [
        (format!("date_from={day}&date_to={day}&tz=UTC"), 1),
        (format!("date_from={day}&date_to={day}&tz=UTC&upcoming=true"), 1),
        ("date_from=2020-01-01&date_to=2020-01-02".to_owned(), 0),
        ("date_from=2100-01-01".to_owned(), 0),
        (format!("league={league},7"), 1),
        ("league=7,8".to_owned(), 0),
    ] {
        let page = stage.hub.json(&stage.key, &format!("/api/predictions/?{query}")).await;
        assert_eq!(page["count"], count, "{query}");
    }

    // How good the model is stands beside it. Prices make a second figure for those who may see them.
    let quality = &row["model"]["quality"];
    let [log_loss, closing] =
        ["log_loss", "closing_odds_log_loss"].map(|field| number(&quality[field]));
    assert!(
        closing < log_loss && log_loss < 1.0 && quality["matches"].as_u64() > Some(1_000),
        "{row}"
    );
    assert_eq!(row.get("blend"), None, "without prices");
    let selection =
        |(id, outcome): (&str, &str)| json!({"id": id, "status": "active", "outcome": outcome});
    let selections = [("h", "home"), ("d", "draw"), ("a", "away")].map(selection);
    let define = json!({"kind": "match_winner", "status": "open", "in_play": false, "selections": selections});
    let price = |(id, price): (&str, &str)| json!({"id": id, "price": price});
    let prices = [("h", "2.00"), ("d", "4.00"), ("a", "4.00")].map(price);
    for book in ["one", "two"] {
        for change in [json!({"define": define}), json!({"prices": {"selections": prices}})] {
            let odds = json!({"book": book, "market": "w", "change": change});
            stage.add_fact("football", "next", &json!({"odds": odds}));
        }
    }
    stage.push().await;
    let row = stage.until(&path, |row| row["blend"].is_object()).await;
    let blend = &row["blend"];
    // A twentieth of the model, and of the chances 1/2, 1/4 and 1/4 the rest.
    for (field, model, chance) in [("home", home, 50.0), ("draw", draw, 25.0), ("away", away, 25.0)]
    {
        let found = number(&blend[format!("prob_{field}")]);
        assert!((found - 0.05 * model - 0.95 * chance).abs() < 0.1, "{field}: {row}");
    }
    assert_eq!((&blend["model_weight"], &blend["prices"]), (&json!(0.05), &json!("consensus")));
    assert!(number(&blend["quality"]["log_loss"]) < log_loss, "{row}");
    let page = stage.hub.json(&stage.key, "/api/v2/predictions/").await;
    assert_eq!(page["results"][0]["blend"], *blend, "{page}");
    let free = stage.hub.key(&[]);
    let page = stage.hub.json(&free, "/api/v2/predictions/").await;
    for row in [&stage.hub.json(&free, &path).await, &page["results"][0]] {
        assert_eq!((row.get("blend"), &row["model"]["quality"]), (None, quality), "{row}");
    }
}

/// Two of three results have the names that clients know; scores have the names that bookmakers
/// use.
#[tokio::test]
async fn markets_whose_outcomes_bookmakers_name_themselves() {
    let mut stage = Stage::new(&[]);
    stage.fixture("derby", ["Home FC", "Away FC"], HOUR);
    let double = [("Home or Draw", "1.30"), ("Home or Away", "1.25"), ("Draw or Away", "1.80")];
    stage.market("football", "derby", "one", "double_chance", &double);
    let double = [("1X", "1.32"), ("12", "1.22"), ("X2", "1.78")];
    stage.market("football", "derby", "two", "double_chance", &double);
    stage.market(
        "football",
        "derby",
        "one",
        "correct_score",
        &[("1 - 0", "7.00"), ("2 - 1", "9.50")],
    );
    stage.market(
        "football",
        "derby",
        "two",
        "correct_score",
        &[("1-0", "7.50"), ("Any Other", "12")],
    );
    stage.push().await;

    let page = stage.until("/api/v2/odds/?limit=200", |page| page["count"] == 10).await;
    let event = &page["results"][0]["event_id"];
    let list = format!("/api/v2/odds/?event_id={event}&market=double_chance&outcome=1x");
    let page = stage.hub.json(&stage.key, &list).await;
    assert_eq!(page["count"], 2, "{page}");
    for (row, slug, max) in [(0, "one", false), (1, "two", true)] {
        let row = &page["results"][row];
        let named = [&row["market"], &row["outcome"], &row["outcome_name"], &row["bookmaker_slug"]];
        assert_eq!(named, ["double_chance", "1X", "Home or Draw", slug]);
        assert_eq!((&row["is_max_quote"], &row["line"]), (&json!(max), &Value::Null), "{row}");
    }
    let score = format!("/api/v2/odds/?event_id={event}&market=correct_score&outcome=1-0");
    assert_eq!(stage.hub.json(&stage.key, &score).await["count"], 2);
    let wrong = format!("/api/v2/odds/?event_id={event}&market=double_chance&outcome=HOME");
    assert_eq!(stage.hub.get_as(&stage.key, &wrong).await.status, 400);

    let compared = format!("/api/v2/events/{event}/odds/comparison/");
    let compared = stage.hub.json(&stage.key, &compared).await;
    assert_eq!((&compared["bookmakers_count"], &compared["total_odds"]), (&json!(2), &json!(10)));
    let markets = &compared["markets"];
    let best = |market: &str, outcome: &str| {
        let outcome_row = &markets[market][outcome];
        (
            outcome_row["best_odds"].to_string(),
            outcome_row["best_bookmaker_slug"].as_str().map(ToOwned::to_owned),
        )
    };
    assert_eq!(best("double_chance", "1X"), ("1.32".to_owned(), Some("two".to_owned())));
    assert_eq!(best("double_chance", "12"), ("1.25".to_owned(), Some("one".to_owned())));
    assert_eq!(best("correct_score", "1-0"), ("7.5".to_owned(), Some("two".to_owned())));
    assert_eq!(best("correct_score", "2-1"), ("9.5".to_owned(), Some("one".to_owned())));
    let path = "/api/v2/odds/best/?market=double_chance";
    let page = stage.hub.json(&stage.key, path).await;
    let highest: Vec<_> =
        page["results"].as_array().unwrap().iter().map(|row| &row["outcome"]).collect();
    assert_eq!(json!(highest), json!(["1X", "12", "X2"]), "{page}");

    // A price change is published, and appears in the history.
    stage.offset += HOUR / 2;
    stage.prices("football", "derby", "one", "double_chance", &[("", "1.27")]);
    stage.push().await;
    let of_one =
        format!("/odds/api/events/{event}/?market=double_chance&bookmaker=one&history=true");
    let price = |odds: &Value| {
        let outcomes = odds["markets"][0]["outcomes"].as_array()?;
        let home_or_draw = outcomes.iter().find(|it| it["outcome"] == "1x")?;
        Some(home_or_draw["bookmakers"][0].clone())
    };
    let has_moved = |odds: &Value| price(odds).is_some_and(|it| it["history"][1].is_object());
    let quote = price(&stage.until(&of_one, has_moved).await).expect("the outcome");
    assert_eq!(
        (quote["price"].to_string(), quote["previous"].to_string()),
        ("1.27".into(), "1.3".into())
    );
    assert_eq!(quote["movement"], "SHORTENING");
    let history = quote["history"].as_array().unwrap();
    let history: Vec<_> = history.iter().map(|tick| tick["price"].to_string()).collect();
    assert_eq!(history, ["1.3", "1.27"]);
}

#[tokio::test]
async fn prices_of_runners_have_their_history() {
    let mut stage = Stage::new(&[]);
    let start = stage.now + HOUR;
    stage.add_fact("horseracing", "r", &json!({"fixture": {"start": start}}));
    stage.market("horseracing", "r", "one", "win", &[("Swift", "3.50"), ("Steady", "4.00")]);
    stage.push().await;
    let page = rows(&stage.hub, "/odds/api/events/?sport=horseracing", &stage.key).await;
    let path = format!("/odds/api/events/{}/?history=true", page["results"][0]["event_id"]);
    stage.until(&path, |odds| odds["prices_count"] == 2).await;
    stage.offset += HOUR / 2;
    stage.prices("horseracing", "r", "one", "win", &[("", "3.75")]);
    stage.push().await;
    let outcome = |odds: &Value, name: &str| {
        let outcomes = odds["markets"][0]["outcomes"].as_array().cloned().unwrap_or_default();
        outcomes.into_iter().find(|it| it["outcome"] == name).unwrap_or_default()["bookmakers"][0]
            .clone()
    };
    let odds = stage.until(&path, |odds| outcome(odds, "Swift")["history"][1].is_object()).await;
    assert_eq!(odds["markets"][0]["market"], "win");
    let swift = outcome(&odds, "Swift");
    assert_eq!(
        (swift["price"].to_string(), &swift["movement"]),
        ("3.75".into(), &json!("DRIFTING"))
    );
    assert_eq!(outcome(&odds, "Steady")["price"].to_string(), "4.0");
}
