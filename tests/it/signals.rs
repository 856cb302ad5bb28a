//! Signals of pushed prices, on their channel and over HTTP.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
};

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::{
    answers::seasons::BOOKMAKERS,
    support::{Client, Hub, QUIET, ended, shared},
};

const ADDONS: [&str; 2] = ["websocket", "odds"];

fn line(number: u32, fact: &Value) -> String {
    let at = 1_788_280_000_000_000_u64 + u64::from(number) * 1_000_000;
    json!({ "at": at, "sport": "tennis", "match": "m1", "fact": fact }).to_string()
}

fn defined(number: u32, book: &str, status: &str) -> String {
    let selection =
        |id: &str, outcome: &str| json!({ "id": id, "status": "active", "outcome": outcome });
    let selections = [selection("1", "p1"), selection("2", "p2")];
    let market = json!({ "kind": "match_winner", "status": status, "selections": selections });
    line(
        number,
        &json!({ "odds": { "book": book, "market": "m", "change": { "define": market } } }),
    )
}

fn priced(number: u32, book: &str, first: &str, second: &str) -> String {
    let selections = [json!({ "id": "1", "price": first }), json!({ "id": "2", "price": second })];
    let change = json!({ "prices": { "selections": selections } });
    line(number, &json!({ "odds": { "book": book, "market": "m", "change": change } }))
}

#[tokio::test]
async fn arbitrage_begins_and_ends_on_channel_and_over_http() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET]);
    let (feed, key) = (hub.feed_key("acme", &[]), hub.key(&ADDONS));
    let fixture = json!({ "fixture": { "sides": [{ "name": "Ana" }, { "name": "Bea" }] } });
    let first = [
        line(0, &fixture),
        defined(1, "alpha", "open"),
        priced(2, "alpha", "2.10", "1.75"),
        defined(3, "beta", "open"),
    ];
    hub.push(&feed, &first).await;
    let kinds = hub.json(&key, "/signals/api/kinds/").await;
    assert_eq!(kinds["count"], 6, "{kinds}");
    hub.push(&feed, &[priced(4, "beta", "1.80", "2.05")]).await;

    let list = hub.json_until(&key, "/signals/api/?active=true", |it| it["count"] == 1).await;
    let signal = &list["results"][0];
    assert_eq!(signal["kind"], "arbitrage");
    assert_eq!((&signal["home"]["name"], &signal["sport"]), (&json!("Ana"), &json!("tennis")));
    // 1/2.10 + 1/2.05 = 0.963995, and 1/0.963995 = 1.037349.
    assert_eq!(signal["details"]["profit"], json!(0.0373));
    let bets = signal["details"]["legs"].as_array().expect("the bets");
    let stakes: Vec<_> = bets.iter().map(|bet| (&bet["bookmaker_slug"], &bet["stake"])).collect();
    let expected = [("alpha", 0.493_975), ("beta", 0.506_025)];
    let expected = expected.map(|(slug, stake)| (json!(slug), json!(stake)));
    assert_eq!(stakes, expected.iter().map(|(slug, stake)| (slug, stake)).collect::<Vec<_>>());
    let id = signal["id"].as_u64().expect("an id");
    assert_eq!(hub.json(&key, &format!("/signals/api/{id}/")).await["id"], id);

    // A free account sees the signal, but no bookmaker and no price.
    let free = hub.json(&hub.key(&[]), "/signals/api/?active=true").await["results"][0].clone();
    assert_eq!((&free["id"], &free["strength"]), (&signal["id"], &signal["strength"]), "{free}");
    let bet = |outcome: &str| json!({"outcome": outcome, "bookmaker_slug": null, "decimal_odds": null, "commission": null, "stake": null});
    assert_eq!(
        free["details"],
        json!({"profit": 0.0373, "legs": [bet("p1"), bet("p2")]}),
        "{free}"
    );
    let text = free.to_string();
    for sold in ["alpha", "beta", "2.1", "2.05"] {
        assert!(!text.contains(sold), "{sold} is shown to a free account: {text}");
    }

    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("signals").await;
    let image = client.next_of("image").await;
    let published = &image["data"]["signals"][id.to_string()];
    assert_eq!((&published["kind"], &published["profit"]), (&json!("arbitrage"), &json!("0.0373")));

    hub.push(&feed, &[defined(5, "beta", "suspended")]).await;
    let update = client.next_of("update").await;
    assert_eq!(update["patch"]["signals"][id.to_string()], Value::Null, "{update}");
    assert_eq!(update["events"][0]["kind"], "signal_end", "{update}");
    let list = hub.json_until(&key, "/signals/api/?active=false", |it| it["count"] == 1).await;
    assert_eq!(list["results"][0]["ended_at"], "2026-09-01T16:26:45Z");

    let several = format!("event_id=1,{}", list["results"][0]["event_id"]);
    for (filter, count) in [
        (&*several, 1),
        ("event_id=1", 0),
        ("kind=arbitrage&sport=tennis", 1),
        ("kind=steam", 0),
        ("sport=football", 0),
        ("min_strength=100", 0),
        ("date_from=2026-09-02", 0),
        ("date_to=2026-09-01", 1),
    ] {
        let list = hub.json(&key, &format!("/signals/api/?{filter}")).await;
        assert_eq!(list["count"], count, "{filter}");
    }
    assert_eq!(hub.stop(), Some(0));
}

#[tokio::test]
async fn invalid_requests_are_reported() {
    let hub = Hub::quiet();
    let key = hub.key(&[]);
    let token = format!("Token {key}");
    for (path, status) in [
        ("/signals/api/?kind=luck", 400),
        ("/signals/api/?min_strength=101", 400),
        ("/signals/api/?colour=red", 400),
        ("/signals/api/7/", 404),
        ("/signals/api/seven/", 404),
    ] {
        let answer = hub.request("GET", path, &[("authorization", &token)]).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert!(answer.json()["detail"].is_string(), "{path}: {}", answer.body);
    }
}

/// A price in hundredths, the finest resolution in the file.
fn hundredths(price: &str) -> Option<u64> {
    let (whole, part) = price.split_once('.').unwrap_or((price, ""));
    let part: u64 = if part.is_empty() { 0 } else { format!("{part:0<2}").parse().ok()? };
    Some(whole.parse::<u64>().ok()? * 100 + part)
}

/// The highest guaranteed profit over all choices of bookmakers, in hundredths of a percent,
/// rounded down, if it is at least the 0.1 % from which one is reported. Prices of a, b and c hundredths pay abc / (100 (ab + bc + ca)).
fn most_won(books: &BTreeMap<&str, [u64; 3]>) -> Option<u64> {
    let choices = books.values().flat_map(|[a, ..]| {
        books.values().flat_map(move |[_, b, _]| books.values().map(move |[.., c]| (a, b, c)))
    });
    let gains = choices.filter_map(|(a, b, c)| {
        let (paid, staked) = (a * b * c, 100 * (a * b + b * c + c * a));
        (paid > staked).then(|| (paid - staked) * 10_000 / staked)
    });
    gains.max().filter(|gain| *gain >= 10)
}

/// By home and away: the profit of the match's last arbitrage, computed from the file alone.
fn won_by_hand(file: &str) -> BTreeMap<(String, String), u64> {
    let mut rows = file.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("a head");
    let column = |name: &str| head.iter().position(|title| *title == name).expect("a column");
    let triple = |row: &[&str], name: &str| {
        let price = |letter: &str| hundredths(row.get(column(&format!("{name}{letter}")))?);
        Some([price("H")?, price("D")?, price("A")?])
    };
    let rows = rows.filter(|row| row.len() > column("PSCA"));
    let won = rows.filter_map(|row| {
        let opening_prices = |(name, slug): (&str, &'static str)| Some((slug, triple(&row, name)?));
        let mut books: BTreeMap<_, _> = BOOKMAKERS.into_iter().filter_map(opening_prices).collect();
        let opened = most_won(&books);
        // One bookmaker's closing prices replace its first prices.
        books.extend(triple(&row, "PSC").map(|closing| ("pinnacle", closing)));
        let teams = (row[column("HomeTeam")].to_owned(), row[column("AwayTeam")].to_owned());
        Some((teams, most_won(&books).or(opened)?))
    });
    won.collect()
}

/// The API and the channel report each arbitrage of a season of real prices, and no other.
#[tokio::test]
async fn arbitrages_of_a_recording_match_an_independent_calculation() {
    let Some(path) = shared("football-data-couk/E0-2016-2017.csv.gz") else { return };
    let mut file = Vec::new();
    let bytes = std::fs::read(&path).expect("the recording is read");
    GzDecoder::new(&*bytes).read_to_end(&mut file).expect("it is whole");
    let expected = won_by_hand(&String::from_utf8_lossy(&file));
    assert!(expected.len() > 10, "{} matches could be won", expected.len());

    let path = path.to_str().expect("a path of text");
    let hub = Hub::start_with(
        &["replay", "--speed", "max", "--hold", path],
        &[("HUB_TAIL_BYTES", "67108864")],
    );
    let key = hub.key(&ADDONS);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("signals").await;
    client.subscribe("feeds").await;
    // The recording starts when its channels are followed.
    client.subscribe("football").await;
    client.until(ended).await;

    let all = "/signals/api/?kind=arbitrage&limit=100";
    let wanted = expected.len();
    let list = hub.json_until(&key, all, |it| it["count"].as_u64() >= Some(wanted as u64)).await;
    let mut listed = Vec::new();
    for offset in (0..list["count"].as_u64().expect("a number")).step_by(100) {
        let page = hub.json(&key, &format!("{all}&offset={offset}")).await;
        listed.extend(page["results"].as_array().expect("results").clone());
    }
    let mut found = BTreeMap::new();
    for signal in &listed {
        let name = |side: &str| signal[side]["name"].as_str().expect("a name").to_owned();
        let details = &signal["details"];
        let profit = details["profit"].as_f64().expect("a number");
        let gain = format!("{:.0}", profit * 10_000.0).parse().expect("a whole number");
        found.insert((name("home"), name("away")), gain);
        // The payout of each bet for a total stake of one.
        for bet in details["legs"].as_array().expect("the bets") {
            let number = |field: &str| bet[field].as_f64().expect("a number");
            let pays = number("decimal_odds") * number("stake");
            // Three stakes are rounded to a millionth, and the profit is rounded down.
            let tolerance = number("decimal_odds") * 3e-6 + 1e-4;
            assert!(pays >= 1.0 && (pays - 1.0 - profit).abs() <= tolerance, "{signal}");
        }
    }
    assert_eq!(found, expected);
    assert_eq!(listed.len(), expected.len(), "a continuing arbitrage is listed once");

    let ids = listed.iter().map(|it| it["id"].to_string()).collect::<BTreeSet<_>>();
    let channel = &client.channels["signals"];
    let ids_of = |kind: &str, field: &str| {
        let events = channel.events.iter().filter(|it| it["kind"] == kind);
        let events =
            events.filter(|it| kind == "signal_end" || it["signal"]["kind"] == "arbitrage");
        events.map(|it| it[field].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    let mut began = ids_of("signal", "id");
    began.sort();
    assert_eq!(began, ids.iter().cloned().collect::<Vec<_>>(), "each begins once on the channel");
    let over = ids_of("signal_end", "of");
    assert!(ids.iter().all(|id| over.contains(id)), "each ends with its match, if not before");
    assert_eq!(channel.data["signals"], json!({}), "nothing stands of matches that are over");
}
