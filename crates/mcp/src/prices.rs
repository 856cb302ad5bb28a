//! Prices and money in the shapes of the tools.

use std::collections::BTreeMap;

use base::time_format;
use facts::market::Market;
use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use crate::refusal::Refusal;

/// Leaves one market of a comparison, `named` or with this key: all its lines and outcomes, unless its name says one.
///
/// # Errors
///
/// If the match has prices, but not in that market; with those that it has.
pub(crate) fn keep_market(
    data: &mut Value,
    named: Option<Market>,
    asked: &str,
) -> Result<(), Refusal> {
    let Some(markets) = data.get_mut("markets").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    let market = named.map_or(asked, |market| market.name);
    let all_lines = named.filter(|market| market.line.is_none());
    let is_asked = |name: &str| {
        name.eq_ignore_ascii_case(market)
            || all_lines
                .is_some_and(|all| Market::named(name).is_some_and(|it| it.kind == all.kind))
    };
    let open: Vec<Value> = markets.keys().map(|name| name.as_str().into()).collect();
    markets.retain(|name, _| is_asked(name));
    for outcomes in markets.values_mut().filter_map(Value::as_object_mut) {
        outcomes.retain(|_, row| {
            let line = || row["line"].as_number().and_then(|line| line.to_string().parse().ok());
            let outcome = |market: Market| market.selection.and_then(|it| market.outcome(it));
            let is_at = named.and_then(|it| it.line).is_none_or(|wanted| line() == Some(wanted));
            is_at && named.and_then(outcome).is_none_or(|outcome| row["outcome"] == outcome)
        });
    }
    markets.retain(|_, outcomes| outcomes.as_object().is_none_or(|rows| !rows.is_empty()));
    if open.is_empty() || !markets.is_empty() {
        return Ok(());
    }
    Err(Refusal::bad_argument(format!("No price is open in the market {asked:?}."))
        .with("accepted", open))
}

/// Leaves the prices of some bookmakers in a comparison. Returns those of them that have none.
pub(crate) fn keep_bookmakers(data: &mut Value, slugs: &str) -> Vec<String> {
    let slugs: Vec<String> =
        slugs.split(',').map(|slug| slug.trim().to_ascii_lowercase()).collect();
    let mut unpriced = slugs.clone();
    let markets = data.get_mut("markets").and_then(Value::as_object_mut);
    for market in markets.into_iter().flat_map(Map::values_mut) {
        for outcome in market.as_object_mut().into_iter().flat_map(Map::values_mut) {
            if let Some(bookmakers) = outcome.get_mut("bookmakers").and_then(Value::as_object_mut) {
                unpriced.retain(|slug| !bookmakers.contains_key(slug));
                bookmakers.retain(|slug, _| slugs.contains(slug));
            }
        }
    }
    unpriced
}

/// A price at a moment; none while it was withdrawn.
#[derive(Debug, Clone, Copy)]
struct Tick {
    at: base::Micros,
    price: Option<Decimal>,
}

/// Price changes of REST, by bookmaker, market, line and outcome, in so many equal intervals.
pub(crate) fn series(rows: &[Value], points: usize) -> Vec<Value> {
    let mut by_price: BTreeMap<[String; 4], Vec<Tick>> = BTreeMap::new();
    for row in rows {
        let text = |name: &str| match &row[name] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let at = row["source_at"].as_str().and_then(time_format::begin);
        let key = ["bookmaker_slug", "market", "line", "outcome"].map(text);
        let price = row["price"].as_number().and_then(|price| price.to_string().parse().ok());
        if let Some(at) = at {
            by_price.entry(key).or_default().push(Tick { at, price });
        }
    }
    let one = |([bookmaker, market, line, selection], ticks): ([String; 4], Vec<Tick>)| {
        let priced = || ticks.iter().filter_map(|tick| tick.price);
        let line = (!line.is_empty()).then_some(line);
        json!({
            "bookmaker": bookmaker, "market": market, "selection": selection, "line": line,
            "opening": priced().next().map(shown), "closing": priced().next_back().map(shown),
            "points": intervals(&ticks, points),
        })
    };
    by_price.into_iter().map(one).collect()
}

fn shown(price: Decimal) -> String {
    price.normalize().to_string()
}

/// Open, high, low and close of each interval with a change.
fn intervals(ticks: &[Tick], points: usize) -> Vec<Value> {
    let (Some(first), Some(last)) = (ticks.first(), ticks.last()) else { return Vec::new() };
    let count = i64::try_from(points.max(1)).unwrap_or(1);
    let width = (last.at - first.at) / count + 1;
    let mut intervals: BTreeMap<i64, Vec<Tick>> = BTreeMap::new();
    for tick in ticks {
        intervals.entry((tick.at - first.at) / width).or_default().push(*tick);
    }
    let one = |(index, ticks): (i64, Vec<Tick>)| {
        let prices: Vec<Decimal> = ticks.iter().filter_map(|tick| tick.price).collect();
        let closing = ticks.last().and_then(|tick| tick.price);
        json!({
            "from": time_format::zulu(first.at + index * width),
            "open": prices.first().copied().map(shown),
            "high": prices.iter().max().copied().map(shown),
            "low": prices.iter().min().copied().map(shown),
            "close": closing.map(shown),
            "changes": ticks.len(),
        })
    };
    intervals.into_iter().map(one).collect()
}

/// The markets of a book with matched money.
pub(crate) fn money(bookmaker: &str, book: &Value) -> Vec<Value> {
    let markets = book["markets"].as_object().into_iter().flat_map(Map::values);
    let of_market = |market: &Value| {
        let selections = market["selections"].as_object().into_iter().flatten();
        let selections: Vec<Value> = selections
            .filter(|(_, selection)| !selection["volume"].is_null())
            .map(|(id, selection)| {
                let name = selection["outcome"].as_str().or_else(|| selection["name"].as_str());
                json!({
                    "selection": name.unwrap_or(id), "volume": selection["volume"],
                    "last_price": selection["last"],
                })
            })
            .collect();
        let has_money = !selections.is_empty() || !market["volume"].is_null();
        has_money.then(|| {
            json!({
                "bookmaker": bookmaker, "market": market["kind"], "line": market["line"],
                "volume": market["volume"], "selections": selections,
            })
        })
    };
    markets.filter_map(of_market).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(second: u32, price: &Value) -> Value {
        json!({
            "bookmaker_slug": "b", "market": "match_winner", "line": null, "outcome": "home",
            "source_at": format!("2026-11-23T18:00:{second:02}Z"), "price": price,
        })
    }

    #[test]
    fn intervals_have_open_high_low_and_close() {
        let rows = [
            tick(0, &json!(2.0)),
            tick(1, &json!(2.4)),
            tick(2, &json!(2.2)),
            tick(40, &json!(null)),
            tick(50, &json!(1.9)),
        ];
        let series = series(&rows, 2);
        let [one] = series.as_slice() else { panic!("{series:?}") };
        assert_eq!((&one["opening"], &one["closing"]), (&json!("2"), &json!("1.9")));
        let points = one["points"].as_array().unwrap();
        assert_eq!(points.len(), 2);
        assert_eq!(points[0]["high"], "2.4");
        assert_eq!(points[0]["close"], "2.2");
        assert_eq!((&points[1]["open"], &points[1]["changes"]), (&json!("1.9"), &json!(2)));
    }

    #[test]
    fn market_that_has_no_price_is_refused_with_those_that_have() {
        let kept = |asked: &str| {
            let over = |line: f64| json!({"outcome": "over", "line": line});
            let under = |line: f64| json!({"outcome": "under", "line": line});
            let mut data = json!({"markets": {
                "1x2": {"HOME": {"outcome": "HOME", "line": null}, "DRAW": {"outcome": "DRAW", "line": null}},
                "btts": {"yes": {"outcome": "yes", "line": null}},
                "over_under_25": {"over@2.5": over(2.5), "under@2.5": under(2.5)},
                "over_under": {"over@2.25": over(2.25), "over@2.75": over(2.75)},
            }});
            keep_market(&mut data, Market::named(asked), asked).map(|()| {
                let markets = data["markets"].as_object().expect("markets").clone();
                let names = markets.iter().flat_map(|(market, outcomes)| {
                    let outcomes = outcomes.as_object().expect("outcomes").keys();
                    outcomes.map(move |outcome| format!("{market} {outcome}"))
                });
                names.collect::<Vec<_>>().join(", ")
            })
        };
        for (asked, expected) in [
            ("1X2", "1x2 DRAW, 1x2 HOME"),
            ("home win", ""),
            ("1x2 home", "1x2 HOME"),
            ("over_under_25", "over_under_25 over@2.5, over_under_25 under@2.5"),
            ("over 2.5", "over_under_25 over@2.5"),
            ("over 2.25", "over_under over@2.25"),
            ("over_under@2.75", "over_under over@2.75"),
            ("btts yes", "btts yes"),
            (
                "over_under",
                "over_under over@2.25, over_under over@2.75, over_under_25 over@2.5, \
                 over_under_25 under@2.5",
            ),
        ] {
            assert_eq!(kept(asked).unwrap_or_default(), expected, "{asked}");
        }
        for asked in ["over", "over 3.5", "over_under@3.25", "btts no"] {
            let refusal = kept(asked).unwrap_err();
            let open = json!(["1x2", "btts", "over_under", "over_under_25"]);
            assert_eq!(refusal.details["accepted"], open, "{asked}");
        }
        let mut empty = json!({"markets": {}});
        assert!(keep_market(&mut empty, Market::named("over 2.5"), "over 2.5").is_ok());
    }
}
