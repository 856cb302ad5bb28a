//! Seasons of football-data.co.uk: results, cards, and the prices of each bookmaker.

use std::collections::BTreeMap;

use facts::event::{
    Fact, FootballFact, FootballScore, FootballStatus, MarketChange, OddsFact, SelectionStatus,
    Side, Stat, Timed,
};
use rust_decimal::{Decimal, prelude::ToPrimitive};
use serde_json::{Value, json};

use super::{facts, recording};

#[test]
fn season_2016_matches_the_answer_sheet() {
    check_season("E0-2016-2017", "2016/17", &["PSC"]);
}

#[test]
fn season_2019_matches_the_answer_sheet() {
    check_season("E0-2019-2020", "2019/20", &["B365C", "BWC", "IWC", "PSC", "VCC", "WHC"]);
}

/// The bookmakers of both seasons; `closing` are those with closing prices.
const BOOKS: [(&str, &str); 7] = [
    ("B365", "bet365"),
    ("BW", "bwin"),
    ("IW", "interwetten"),
    ("LB", "ladbrokes_uk"),
    ("PS", "pinnacle"),
    ("VC", "betvictor"),
    ("WH", "williamhill"),
];

fn check_season(name: &str, season: &str, closing: &[&str]) {
    let Some((batches, sheet)) = recording(&format!("football-data-couk/{name}.csv.gz")) else {
        return;
    };
    check_fixtures(&batches, &sheet, season);
    check_results(&batches, &sheet);
    check_cards(&batches, &sheet);
    let (mut compared, mut closed) = (0, Vec::new());
    for (code, book) in BOOKS {
        for (code, last) in [(code.to_owned(), false), (format!("{code}C"), true)] {
            let row = &sheet["odds_1x2"][&code];
            let sums = prices(&batches, book, last);
            if row.is_null() {
                // A book without closing prices has none.
                assert!(last || sums.matches == 0, "{code}");
                continue;
            }
            closed.extend(last.then_some(code.clone()));
            compared += 1;
            sums.compare(row, &code);
        }
    }
    assert_eq!(closed, closing);
    assert!(compared > 7, "{compared} columns compared");
    check_settlement(&batches, &sheet);
}

fn check_fixtures(batches: &[Timed], sheet: &Value, season: &str) {
    let fixtures: Vec<_> = facts(batches)
        .filter_map(|fact| match fact {
            Fact::Fixture(fixture) => Some(fixture),
            _ => None,
        })
        .collect();
    assert_eq!(json!(fixtures.len()), sheet["rows"]);
    for fixture in &fixtures {
        let competition = fixture.competition.as_ref().unwrap();
        assert_eq!(competition.season.as_deref(), Some(season), "{fixture:?}");
        assert_eq!(json!(fixture.start.is_some()), sheet["has_time_column"], "{fixture:?}");
    }
    let teams: std::collections::BTreeSet<_> =
        fixtures.iter().flat_map(|it| it.sides.iter().flatten()).map(|it| &it.name).collect();
    assert_eq!(json!(teams.len()), sheet["teams"]);
}

fn football(batches: &[Timed]) -> impl Iterator<Item = &FootballFact> {
    facts(batches).filter_map(|fact| match fact {
        Fact::Football(fact) => Some(fact),
        _ => None,
    })
}

fn check_results(batches: &[Timed], sheet: &Value) {
    let scores: Vec<&FootballScore> = football(batches)
        .filter_map(|fact| match fact {
            FootballFact::Score(score) => Some(score),
            _ => None,
        })
        .collect();
    let sum = |side: usize| scores.iter().map(|it| u32::from(it.goals[side])).sum::<u32>();
    assert_eq!(json!({"home": sum(0), "away": sum(1)}), sheet["goals"]);
    let count = |ahead| scores.iter().filter(|it| it.goals[0].cmp(&it.goals[1]) == ahead).count();
    use std::cmp::Ordering::{Equal, Greater, Less};
    assert_eq!(json!({"H": count(Greater), "D": count(Equal), "A": count(Less)}), sheet["results"]);
    assert!(scores.iter().all(|it| it.half_time.is_some()));
    let finished = FootballFact::Status(FootballStatus::Finished);
    let finished = football(batches).filter(|fact| **fact == finished).count();
    assert_eq!(json!(finished), sheet["rows"]);
}

fn check_cards(batches: &[Timed], sheet: &Value) {
    let sum = |wanted: Side, stat: Stat| -> u32 {
        let values = football(batches).filter_map(|fact| match fact {
            FootballFact::Stats { side, values } if *side == wanted => Some(values),
            _ => None,
        });
        values.flatten().filter(|(it, _)| *it == stat).map(|(_, count)| count).sum()
    };
    let cards = json!({
        "HY": sum(Side::First, Stat::YellowCards),
        "AY": sum(Side::Second, Stat::YellowCards),
        "HR": sum(Side::First, Stat::RedCards),
        "AR": sum(Side::Second, Stat::RedCards),
    });
    assert_eq!(cards, sheet["cards"]);
}

#[derive(Debug, Default)]
struct Sums {
    matches: u32,
    sums: BTreeMap<String, Decimal>,
    overround: f64,
}

/// The sums of a book's result prices when the match begins: with closing prices, or without.
fn prices(batches: &[Timed], book: &str, closing: bool) -> Sums {
    let mut books: BTreeMap<_, (bool, BTreeMap<String, Decimal>)> = BTreeMap::new();
    let mut sums = Sums::default();
    for timed in batches {
        for event in &timed.batch.events {
            let Fact::Odds(odds) = &event.fact else { continue };
            if &*odds.book != book || &*odds.market != "match_winner" {
                continue;
            }
            let (is_closing, prices) = books.entry(event.match_id).or_default();
            let opening = timed.batch.events.iter().any(|it| matches!(it.fact, Fact::Fixture(_)));
            *is_closing |= !opening && matches!(odds.change, MarketChange::Prices { .. });
            if let (MarketChange::Prices { selections, .. }, true) =
                (&odds.change, opening || closing)
            {
                prices.extend(selections.iter().map(|it| (it.id.to_string(), it.price.unwrap())));
            }
        }
    }
    for (_, (_, prices)) in books.iter().filter(|(_, (_, prices))| prices.len() == 3) {
        sums.matches += 1;
        sums.overround += prices.values().map(|it| 1.0 / it.to_f64().unwrap()).sum::<f64>() - 1.0;
        for (selection, price) in prices {
            *sums.sums.entry(selection.clone()).or_default() += price;
        }
    }
    sums
}

impl Sums {
    fn compare(&self, row: &Value, code: &str) {
        assert_eq!(json!(self.matches), row["priced_matches"], "{code}");
        for (selection, column) in
            [("home", "sum_home"), ("draw", "sum_draw"), ("away", "sum_away")]
        {
            let expected: Decimal = row[column].to_string().parse().unwrap();
            assert_eq!(self.sums[selection], expected, "{code} {column}");
        }
        let mean = self.overround / f64::from(self.matches);
        let expected = row["mean_overround"].as_f64().unwrap();
        assert!((mean - expected).abs() < 1e-6, "{code}: {mean} where {expected} is expected");
    }
}

fn check_settlement(batches: &[Timed], sheet: &Value) {
    let mut winners: BTreeMap<String, u32> = BTreeMap::new();
    for fact in facts(batches) {
        let Fact::Odds(OddsFact { book, market, change: MarketChange::Define(definition) }) = fact
        else {
            continue;
        };
        if &**book == "bet365" && &**market == "match_winner" {
            let won =
                definition.selections.iter().filter(|it| it.status == SelectionStatus::Winner);
            won.for_each(|it| *winners.entry(it.id.to_string()).or_default() += 1);
        }
    }
    let results = json!({"H": winners["home"], "D": winners["draw"], "A": winners["away"]});
    assert_eq!(results, sheet["results"]);
}
