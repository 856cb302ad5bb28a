//! The same match from two providers, in two recordings, is one match.

use serde_json::json;

use crate::support::{Client, Hub, ended, shared};

#[tokio::test]
async fn betfair_and_season_results_join_in_one_match() {
    let files = [
        "football-data-couk/E0-2016-2017.csv.gz",
        "betfair-stream/football-1-event-77-markets.basic.bz2",
    ];
    let Some(paths) = files.map(shared).into_iter().collect::<Option<Vec<_>>>() else { return };
    // In either order: the id is that of the first, and everything else is the same.
    for order in [[0, 1], [1, 0]] {
        check(&order.map(|index| paths[index].to_str().expect("a path of text"))).await;
    }
}

async fn check(files: &[&str; 2]) {
    let args = [&["replay", "--speed", "max"][..], files].concat();
    let hub = Hub::start(&args);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    client.subscribe("feeds").await;
    client.until(ended).await;
    client.subscribe("football").await;
    client.until(|client| client.channels.contains_key("football")).await;
    let board = client.channels["football"].data["matches"].clone();
    let board = board.as_object().expect("a board has matches");
    assert_eq!(board.len(), 380, "the season's matches and no other");
    let is_it = |line: &&serde_json::Value| {
        line["home"]["name"] == "Middlesbrough" && line["away"]["name"] == "Man City"
    };
    let (id, line) = board.iter().find(|(_, line)| is_it(line)).expect("it is on the board");
    assert_eq!(line["score"], json!({ "home": 2, "away": 2, "ht": { "home": 1, "away": 0 } }));
    let [game, odds] = [format!("football/{id}"), format!("football/{id}/odds/*")];
    for channel in [&game, &odds] {
        client.subscribe(channel).await;
    }
    let book = format!("football/{id}/odds/betfair");
    client
        .until(|client| client.channels.contains_key(&book) && client.channels.contains_key(&game))
        .await;
    assert_eq!(
        client.channels[&game].data["refs"],
        json!({ "betfair": "28202626", "football-data-couk": "E0/2017-04-30/Middlesbrough/Man City" }),
    );
    assert_eq!(client.channels[&game].data["status"], "finished");
    let markets = client.channels[&book].data["markets"].as_object().expect("a book has markets");
    assert_eq!(markets.len(), 77);
}

/// All shared recordings, one file of each kind in the order in which folders list them.
const EVERYTHING: [&str; 28] = [
    "api-football/fixtures-bundes-ns-pst.json",
    "api-football/fixtures-cl-penalties.json",
    "betfair-rest/list_market_book.json",
    "betfair-scores/eventtimeline.json",
    "betfair-scores/incidents.json",
    "betfair-scores/score.json",
    "betfair-scores/scores.json",
    "betfair-stream/football-1-event-77-markets.basic.bz2",
    "betfair-stream/football-200-markets.live.bz2",
    "betfair-stream/racing-1.241629436.live.jsonl.gz",
    "betfair-stream/tennis-1.223716976.basic.bz2",
    "betfair-stream/tennis-29788105.pro.jsonl.gz",
    "football-data-couk/E0-2016-2017.csv.gz",
    "football-data-couk/E0-2019-2020.csv.gz",
    "pointbypoint-strings/matches.csv",
    "slam-pointbypoint/2012-wimbledon-1701.points.csv.gz",
    "slam-pointbypoint/2013-usopen-2701.points.csv.gz",
    "sportradar-uof/bet_cancel.xml",
    "sportradar-uof/bet_settlement.xml",
    "sportradar-uof/fixture-0.xml",
    "sportradar-uof/odds_change-0.xml",
    "statsbomb/15986.events.json.gz",
    "statsbomb/3788741.events.json.gz",
    "statsperform/hsv-svs-2021-09-11.ma3.json.gz",
    "the-odds-api/event-odds.json",
    "the-odds-api/sport-odds.json",
    "the-odds-api/sport-scores.json",
    "wyscout/2058017.events.json.gz",
];

#[tokio::test]
async fn all_shared_recordings_play_together_without_refused_lines() {
    let paths = EVERYTHING.map(shared);
    let Some(paths) = paths.into_iter().collect::<Option<Vec<_>>>() else { return };
    let mut args = vec!["replay", "--speed", "max"];
    args.extend(paths.iter().map(|path| path.to_str().expect("a path of text")));
    let hub = Hub::start(&args);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    client.subscribe("feeds").await;
    client.until(ended).await;
    let sources = client.channels["feeds"].data["sources"].as_object().expect("it has its sources");
    assert_eq!(sources.len(), EVERYTHING.len());
    for (name, source) in sources {
        assert_eq!(source["quarantined"], 0, "{name}");
        assert!(source["messages"].as_u64().is_some_and(|count| count > 0), "{name}: {source}");
    }
}
