//! The scores of the other sports.

use serde_json::{Value, json};

use super::{Rest, by_id, check_regulation, number, seasons::pair};

/// The products, whose names the stream and the Odds API have, too.
pub(crate) const SPORTS: [&str; 5] = ["tennis", "csgo", "darts", "hockey", "basketball"];

/// REST's list of all matches, or one of them.
pub(crate) fn matches(product: &str) -> String {
    let name = if product == "basketball" { "events" } else { "matches" };
    format!("/{product}/api/v2/{name}/")
}

/// The score of a row: sets, maps, legs, goals or points, as the stream tells it.
pub(crate) fn score(product: &str, row: &Value) -> Value {
    match product {
        "tennis" => pair(row, ["player1_sets", "player2_sets"]),
        "darts" => match pair(row, ["player1_sets", "player2_sets"]) {
            Value::Null => pair(row, ["player1_legs", "player2_legs"]),
            sets => sets,
        },
        _ => pair(row, ["home_score", "away_score"]),
    }
}

/// Checks every match of a sport, and returns the rows.
pub(crate) async fn check_sport(rest: &impl Rest, product: &str) -> Vec<Value> {
    let dates = "date_from=2000-01-01&date_to=2100-01-01";
    let rows = rest.all(&format!("{}?{dates}&", matches(product))).await;
    let of_odds = rest.all(&format!("/odds/api/events/?sport={product}&")).await;
    let of_odds = by_id(of_odds, "event_id");
    for row in &rows {
        let score = score(product, row);
        let of_score = json!({"home_score": score[0], "away_score": score[1], "id": row["id"]});
        check_regulation(&of_score, &of_odds[&number(&row["id"])]);
        let detail = rest.get(&format!("{}{}/", matches(product), row["id"])).await;
        assert_eq!(self::score(product, &detail), score, "{row}");
        if product == "tennis" {
            check_sets(row);
        }
    }
    rows
}

/// The sets won are those of the games.
fn check_sets(row: &Value) {
    let sets = row["sets_detail"].as_array().expect("sets");
    let is_over = row["status"] == "finished";
    if !is_over || sets.is_empty() || row["player1_sets"].is_null() {
        return;
    }
    let won = |player: &str, other: &str| {
        sets.iter().filter(|set| number(&set[player]) > number(&set[other])).count() as u64
    };
    let reported = ["player1_sets", "player2_sets"].map(|name| number(&row[name]));
    assert_eq!([won("p1", "p2"), won("p2", "p1")], reported, "{row}");
}

/// The stream's document tells the score that REST tells.
pub(crate) fn check_document(product: &str, document: &Value, row: &Value) {
    if product == "tennis" {
        let sets = document["sets"].as_object();
        let mut sets: Vec<(u64, Value)> = sets
            .into_iter()
            .flatten()
            .map(|(number, set)| {
                (number.parse().expect("a number"), json!({"p1": set["p1"], "p2": set["p2"]}))
            })
            .collect();
        sets.sort_by_key(|(number, _)| *number);
        let sets: Vec<_> = sets.into_iter().map(|(_, set)| set).collect();
        assert_eq!(row["sets_detail"], json!(sets), "{row}");
        assert_eq!(score(product, row).is_null(), document.get("points").is_none(), "{row}");
        return;
    }
    let streamed = pair(&document["score"], ["home", "away"]);
    assert_eq!(score(product, row), streamed, "{row}");
}
