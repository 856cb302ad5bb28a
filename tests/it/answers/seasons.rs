//! Two seasons of results and prices, as tables.

use std::collections::BTreeMap;

use rust_decimal::{Decimal, prelude::ToPrimitive};
use serde_json::{Value, json};

use super::{RecordedHub, array, number};
use crate::replay::sheet;

const SEASONS: [(&str, &str); 2] = [
    ("football-data-couk/E0-2016-2017.csv.gz", "2016/17"),
    ("football-data-couk/E0-2019-2020.csv.gz", "2019/20"),
];

/// Bookmakers by the columns of their prices, home, draw and away, and their names in the API.
pub(crate) const BOOKMAKERS: [(&str, &str); 7] = [
    ("B365", "bet365"),
    ("BW", "bwin"),
    ("IW", "interwetten"),
    ("LB", "ladbrokes_uk"),
    ("PS", "pinnacle"),
    ("VC", "betvictor"),
    ("WH", "williamhill"),
];

#[tokio::test]
async fn seasons_agree_with_their_tables() {
    let Some(hub) = RecordedHub::imported() else { return };
    for (file, name) in SEASONS {
        let sheet = sheet(file);
        let season = season(&hub, name).await;
        let rows = hub.all(&format!("/api/v2/events/?limit=200&season_id={season}")).await;
        assert_eq!(json!(rows.len()), sheet["rows"], "matches of {name}");
        check_results(&rows, &sheet, name);
        check_table(&hub, season, &rows, &sheet).await;
        check_cards(&hub, &rows, &sheet, name).await;
        check_prices(&hub, season, &sheet, name).await;
    }
}

async fn season(hub: &RecordedHub, name: &str) -> u64 {
    let leagues = hub.all("/api/v2/leagues/?include_inactive=true").await;
    let found: Vec<_> =
        leagues.iter().filter(|league| league["name"] == "Premier League").collect();
    let [league] = found[..] else { panic!("both seasons are of one league: {leagues:?}") };
    let seasons = hub.get(&format!("/api/v2/leagues/{}/seasons/", league["id"])).await;
    let found = array(&seasons["seasons"])
        .iter()
        .find(|season| season["name"].as_str().is_some_and(|full| full.ends_with(name)));
    number(&found.unwrap_or_else(|| panic!("{name} is not among {seasons}"))["id"])
}

fn check_results(rows: &[Value], sheet: &Value, name: &str) {
    let (mut goals, mut results) = ([0, 0], BTreeMap::from([("H", 0), ("D", 0), ("A", 0)]));
    for row in rows {
        assert_eq!(row["status"], "finished", "{row}");
        assert!(row["referee_id"].is_u64(), "{row}");
        let score = [number(&row["home_score"]), number(&row["away_score"])];
        goals = [goals[0] + score[0], goals[1] + score[1]];
        let result = match score[0].cmp(&score[1]) {
            std::cmp::Ordering::Greater => "H",
            std::cmp::Ordering::Equal => "D",
            std::cmp::Ordering::Less => "A",
        };
        *results.entry(result).or_default() += 1;
    }
    assert_eq!(json!({"home": goals[0], "away": goals[1]}), sheet["goals"], "goals of {name}");
    assert_eq!(json!(results), sheet["results"], "results of {name}");
    for (row, expected) in [(&rows[0], &sheet["first"]), (&rows[rows.len() - 1], &sheet["last"])] {
        let date = expected["Date"].as_str().expect("a date");
        let [day, month, year] = date.split('/').collect::<Vec<_>>()[..] else { panic!("{date}") };
        let year = if year.len() == 2 { format!("20{year}") } else { year.to_owned() };
        let is_of_day = row["event_date"]
            .as_str()
            .is_some_and(|at| at.starts_with(&format!("{year}-{month}-{day}")));
        assert!(is_of_day, "{row} is not of {date}");
    }
    // Several matches start at the same time, so the first in the file need not be the first here.
    for expected in [&sheet["first"], &sheet["last"]] {
        let is_own = |row: &&Value| {
            row["home_team"] == expected["HomeTeam"] && row["away_team"] == expected["AwayTeam"]
        };
        let row = rows.iter().find(is_own).unwrap_or_else(|| panic!("{expected} is not there"));
        let score = [row["home_score"].to_string(), row["away_score"].to_string()];
        assert_eq!(json!(score), json!([expected["FTHG"], expected["FTAG"]]), "{expected}");
    }
}

/// The sums of the table are those of the sheet, and each row agrees with the team's own matches.
async fn check_table(hub: &RecordedHub, season: u64, rows: &[Value], sheet: &Value) {
    let league = &rows[0]["league_id"];
    let path = format!("/api/v2/leagues/{league}/standings/?season_id={season}");
    let answer = hub.get(&path).await;
    assert_eq!((&answer["season"]["id"], &answer["grouped"]), (&json!(season), &json!(false)));
    let table = array(&answer["standings"]);
    assert_eq!(json!(table.len()), sheet["teams"]);
    let sum = |name: &str| table.iter().map(|row| number(&row[name])).sum::<u64>();
    let [home, draws, away] = ["H", "D", "A"].map(|result| number(&sheet["results"][result]));
    let goals = number(&sheet["goals"]["home"]) + number(&sheet["goals"]["away"]);
    assert_eq!(sum("played"), 2 * number(&sheet["rows"]));
    assert_eq!((sum("won"), sum("lost"), sum("drawn")), (home + away, home + away, 2 * draws));
    assert_eq!((sum("gf"), sum("ga")), (goals, goals));
    assert_eq!(sum("pts"), 3 * (home + away) + 2 * draws);
    let mut order = Vec::new();
    for (index, row) in table.iter().enumerate() {
        let goals = |side: &str| {
            let played = rows.iter().filter(|it| it[format!("{side}_team_id")] == row["team_id"]);
            let other = if side == "home" { "away" } else { "home" };
            played
                .map(|it| [side, other].map(|side| number(&it[format!("{side}_score")])))
                .collect::<Vec<_>>()
        };
        let all = [goals("home"), goals("away")].concat();
        let points: u64 = all
            .iter()
            .map(|[scored, conceded]| match scored.cmp(conceded) {
                std::cmp::Ordering::Greater => 3,
                std::cmp::Ordering::Equal => 1,
                std::cmp::Ordering::Less => 0,
            })
            .sum();
        let [gf, ga] = [0, 1].map(|side: usize| all.iter().map(|it| it[side]).sum::<u64>());
        assert_eq!(number(&row["position"]), index as u64 + 1);
        assert_eq!(json!([row["played"], row["pts"]]), json!([all.len(), points]), "{row}");
        assert_eq!(json!([row["gf"], row["ga"]]), json!([gf, ga]), "{row}");
        assert_eq!(row["gd"].as_i64(), Some(gf.cast_signed() - ga.cast_signed()), "{row}");
        assert_eq!(row["live"], false);
        order.push((points, row["gd"].as_i64(), gf));
    }
    assert!(order.is_sorted_by(|a, b| a >= b), "{order:?}");
}

async fn check_cards(hub: &RecordedHub, rows: &[Value], sheet: &Value, name: &str) {
    let mut cards = [0; 4];
    for row in rows {
        let stats = hub.get(&format!("/api/v2/events/{}/stats/", row["id"])).await;
        let places = [
            ("home", "yellow_cards"),
            ("away", "yellow_cards"),
            ("home", "red_cards"),
            ("away", "red_cards"),
        ];
        for (sum, (side, card)) in cards.iter_mut().zip(places) {
            *sum += number(&stats["stats"][side][card]);
        }
    }
    let expected = ["HY", "AY", "HR", "AR"].map(|column| number(&sheet["cards"][column]));
    assert_eq!(cards, expected, "cards of {name}");
}

/// The last price is the closing one if there is one, and the one before it the opening one.
async fn check_prices(hub: &RecordedHub, season: u64, sheet: &Value, name: &str) {
    for (columns, slug) in BOOKMAKERS {
        let opening = &sheet["odds_1x2"][columns];
        if opening.is_null() {
            continue;
        }
        let closing = &sheet["odds_1x2"][format!("{columns}C")];
        let last = if closing.is_null() { opening } else { closing };
        let path =
            format!("/api/v2/odds/?season_id={season}&bookmaker_slug={slug}&market=1x2&limit=200");
        let rows = hub.all(&path).await;
        let priced = number(&last["priced_matches"]);
        assert_eq!(rows.len() as u64, 3 * priced, "{slug} of {name}");
        for (column, sums) in [("opening_decimal_odds", opening), ("decimal_odds", last)] {
            let mut inverse = Decimal::ZERO;
            for (outcome, sum) in [("HOME", "sum_home"), ("DRAW", "sum_draw"), ("AWAY", "sum_away")]
            {
                let of_outcome = rows.iter().filter(|row| row["outcome"] == outcome);
                let prices: Vec<Decimal> = of_outcome.map(|row| decimal(&row[column])).collect();
                let total: Decimal = prices.iter().sum();
                assert_eq!(total, decimal(&sums[sum]), "{sum} of {column}, {slug}, {name}");
                inverse += prices.iter().map(|price| Decimal::ONE / price).sum::<Decimal>();
            }
            let mean = (inverse / Decimal::from(priced) - Decimal::ONE).to_f64().expect("a number");
            let expected = sums["mean_overround"].as_f64().expect("a number");
            assert!((mean - expected).abs() < 1e-6, "{mean} is not {expected}: {slug}, {name}");
        }
    }
}

fn decimal(value: &Value) -> Decimal {
    value.to_string().parse().unwrap_or_else(|_| panic!("no decimal: {value}"))
}
