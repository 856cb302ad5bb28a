//! Tennis: sets, games and points, their winners, and how they were won.

use serde_json::{Value, json};

use super::{Playback, play};

#[tokio::test]
async fn melbourne_2012() {
    check("2012-ausopen-1701", "max").await;
}

#[tokio::test]
async fn wimbledon_2012() {
    check("2012-wimbledon-1701", "max").await;
}

#[tokio::test]
async fn new_york_2013() {
    check("2013-usopen-2701", "max").await;
}

#[tokio::test]
async fn wimbledon_2011() {
    check("2011-wimbledon-2701", "max").await;
}

#[tokio::test]
async fn retirement() {
    check("2011-wimbledon-2148", "max").await;
}

#[tokio::test]
async fn doubles() {
    check("2023-usopen-4601", "max").await;
}

#[tokio::test]
async fn paced() {
    check("2011-wimbledon-2148", "2000").await;
}

async fn check(key: &str, speed: &str) {
    let file = format!("slam-pointbypoint/{key}.points.csv.gz");
    let Some(played) = play(&file, speed).await else { return };
    let Playback { sheet, .. } = &played;
    let game = played.game();
    check_players(&game.data, sheet);
    check_result(&game.data, sheet);
    check_points(&game.events, sheet);
    check_endings(&game.events, &game.data, sheet);
    played.check_end();
}

fn check_players(data: &Value, sheet: &Value) {
    for (side, player, partner) in [("p1", "player1", "partner1"), ("p2", "player2", "partner2")] {
        let player = sheet[player].as_str().expect("a name");
        let name = match sheet[partner].as_str() {
            Some(partner) => format!("{player} / {partner}"),
            None => player.to_owned(),
        };
        assert_eq!(data[side]["name"], name);
    }
}

fn is_retired(sheet: &Value) -> bool {
    sheet["status_in_match_file"] == "Retired"
}

fn check_result(data: &Value, sheet: &Value) {
    let status = if is_retired(sheet) { "retired" } else { "finished" };
    assert_eq!((&data["status"], &data["life"]), (&json!(status), &json!("ended")));
    assert_eq!(data["winner"], sheet["winner"]);
    assert_eq!(data["points"], sheet["points"]);
    let pair = |values: &Value| json!({"p1": values[0], "p2": values[1]});
    let mut sets = json!({});
    let played = sheet["sets_by_replay"].as_array().expect("a list of sets");
    for (number, set) in (1..).zip(played) {
        let mut out = pair(&set["games"]);
        if let Some(points) = set.get("tiebreak") {
            out["tb"] = pair(points);
        }
        sets[number.to_string()] = out;
    }
    if let Some(games) = sheet.get("unfinished_set_games_by_replay") {
        sets[(played.len() + 1).to_string()] = pair(games);
    }
    assert_eq!(data["sets"], sets);
    let call = |points: u64| ["0", "15", "30", "40", "A"][points as usize];
    let game = match sheet["unfinished_game_points_by_replay"].as_array() {
        Some(points) => [0, 1].map(|side| call(points[side].as_u64().expect("a count"))),
        None => ["0", "0"],
    };
    assert_eq!(data["game"], json!({"p1": game[0], "p2": game[1]}));
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

/// In doubles the sheets count four servers: 1 and 3 serve for side 1.
fn check_points(events: &[Value], sheet: &Value) {
    let points = of_kind(events, "point");
    assert_eq!(points.len(), sheet["points"]);
    assert!((1..).zip(&points).all(|(number, point)| point["point"] == number), "in order");
    let first = sheet["first_server"].as_u64().expect("a server");
    assert_eq!(points[0]["server"], (first - 1) % 2 + 1);
    let each = |kept: &dyn Fn(&Value, u64) -> bool| {
        let count = |side| points.iter().filter(|point| kept(point, side)).count();
        json!({"1": count(1), "2": count(2)})
    };
    assert_eq!(each(&|point, side| point["winner"] == side), sheet["points_won"]);
    let ace = |point: &Value, side| point["how"] == "ace" && point["winner"] == side;
    assert_eq!(each(&ace), sheet["aces"]);
    let fault = |point: &Value, side| point["how"] == "double_fault" && point["server"] == side;
    assert_eq!(each(&fault), sheet["double_faults"]);
    let served = sheet["points_by_point_server"].as_object().expect("counts by server");
    let served = |side: u64| {
        let of_side = served.iter().filter(|(server, _)| {
            let server: u64 = server.parse().expect("a number");
            (server - 1) % 2 + 1 == side
        });
        of_side.filter_map(|(_, count)| count.as_u64()).sum::<u64>()
    };
    let expected = json!({"1": served(1), "2": served(2)});
    assert_eq!(each(&|point, side| point["server"] == side), expected);
}

/// Each game, set and match has its event, right after the point that won it.
fn check_endings(events: &[Value], data: &Value, sheet: &Value) {
    let mut games = 0;
    for set in data["sets"].as_object().expect("sets are by number").values() {
        games += set["p1"].as_u64().expect("a count") + set["p2"].as_u64().expect("a count");
    }
    assert_eq!(of_kind(events, "game").len() as u64, games);
    let sets = of_kind(events, "set");
    let ended = sheet["set_ends_in_columns"].as_array().expect("a list of sets");
    assert_eq!(sets.len(), sheet["sets_by_replay"].as_array().map_or(0, Vec::len));
    for (set, end) in sets.iter().zip(ended) {
        assert_eq!((&set["set"], &set["winner"]), (&end["set"], &end["winner"]));
        let games = json!({"p1": end["games"][0], "p2": end["games"][1]});
        assert_eq!(set["games"], games);
    }
    let matches = of_kind(events, "match");
    assert_eq!(matches.len(), usize::from(!is_retired(sheet)));
    assert!(matches.iter().all(|end| end["winner"] == sheet["winner"]));
    let mut point = None;
    for event in events {
        let eid = event["eid"].as_str().expect("an event has an eid");
        match (event["kind"].as_str(), eid.split_once(':')) {
            (Some("point"), None) => point = Some(eid),
            (Some("game" | "set" | "match"), Some((point_eid, _))) => {
                assert_eq!(Some(point_eid), point)
            }
            _ => panic!("an event of no tennis match: {event}"),
        }
    }
}
