//! Prices and money in the shapes of the tools.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use base::time_format;
use facts::market::Market;
use record::bookmaker::{canonical_slug, slug_of_name};
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
    let open: Vec<String> = market_names(data).map(ToOwned::to_owned).collect();
    let market = named.map_or(asked, |market| market.name);
    let all_lines = named.filter(|market| market.line.is_none());
    keep(data, |name, row| {
        let is_kind = |all: Market| Market::named(name).is_some_and(|it| it.kind == all.kind);
        let is_market = name.eq_ignore_ascii_case(market) || all_lines.is_some_and(is_kind);
        let outcome = |market: Market| market.selection.and_then(|it| market.outcome(it));
        let line = named.and_then(|market| market.line);
        is_market
            && line.is_none_or(|wanted| decimal(&row["line"]) == Some(wanted))
            && named.and_then(outcome).is_none_or(|outcome| row["outcome"] == outcome)
    });
    if open.is_empty() || market_names(data).next().is_some() {
        return Ok(());
    }
    Err(Refusal::bad_argument(format!("No price is open in the market {asked:?}."))
        .with("accepted", open))
}

/// The markets of a comparison.
pub(crate) fn market_names(data: &Value) -> impl Iterator<Item = &str> {
    data["markets"].as_object().into_iter().flat_map(Map::keys).map(String::as_str)
}

/// The slugs of the bookmakers in a text with commas between, which has their slugs, those of other services, or their names.
pub(crate) fn bookmaker_slugs(text: &str) -> Vec<String> {
    let words = text.split(',').map(|word| word.trim().to_ascii_lowercase());
    let slug =
        |word: String| slug_of_name(&word).unwrap_or_else(|| canonical_slug(&word)).to_owned();
    words.map(slug).collect()
}

/// Leaves the prices of some bookmakers in a comparison. Returns those of them that have none.
pub(crate) fn keep_bookmakers(data: &mut Value, slugs: &[String]) -> Vec<String> {
    let mut unpriced = slugs.to_vec();
    keep(data, |_, row| {
        let prices = row.get_mut("bookmakers").and_then(Value::as_object_mut);
        prices.is_some_and(|prices| {
            // A feed may have a book by another of its slugs.
            unpriced.retain(|slug| !prices.keys().any(|book| canonical_slug(book) == slug));
            prices.retain(|book, _| slugs.iter().any(|slug| canonical_slug(book) == slug));
            !prices.is_empty()
        })
    });
    unpriced
}

/// Leaves the outcomes of a comparison that `is_kept` accepts, by the name of the market and the row; it may reduce the row. The
/// best prices and the counts are those of what is left.
fn keep(data: &mut Value, mut is_kept: impl FnMut(&str, &mut Value) -> bool) {
    let Some(markets) = data.get_mut("markets").and_then(Value::as_object_mut) else { return };
    markets.retain(|name, outcomes| {
        let Some(rows) = outcomes.as_object_mut() else { return false };
        rows.retain(|_, row| is_kept(name, row));
        rows.values_mut().for_each(update_best);
        !rows.is_empty()
    });
    let rows = markets.values().filter_map(Value::as_object).flat_map(Map::values);
    let prices = rows.filter_map(|row| row["bookmakers"].as_object());
    let slugs: Vec<&String> = prices.flat_map(Map::keys).collect();
    let (total, bookmakers) = (slugs.len(), slugs.into_iter().collect::<BTreeSet<_>>().len());
    data["total_odds"] = total.into();
    data["bookmakers_count"] = bookmakers.into();
}

/// Writes the highest price of an outcome and its bookmaker, the first by slug among equals. The name of a bookmaker is in the
/// comparison only where it was the best.
fn update_best(row: &mut Value) {
    let prices = row["bookmakers"].as_object().into_iter().flatten();
    let prices = prices.map(|(slug, price)| (slug, &price["decimal_odds"]));
    let best = prices.max_by_key(|(slug, price)| (decimal(price), Reverse(*slug)));
    let best = best.map(|(slug, price)| (slug.clone(), price.clone()));
    if let Some((slug, price)) = best.filter(|(slug, _)| row["best_bookmaker_slug"] != *slug) {
        row["best_odds"] = price;
        row["best_bookmaker_slug"] = slug.into();
        row["best_bookmaker_name"] = Value::Null;
    }
}

/// A number of REST with exactly its digits.
fn decimal(value: &Value) -> Option<Decimal> {
    value.as_number()?.to_string().parse().ok()
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
        if let Some(at) = at {
            by_price.entry(key).or_default().push(Tick { at, price: decimal(&row["price"]) });
        }
    }
    let one = |([bookmaker, market, line, selection], ticks): ([String; 4], Vec<Tick>)| {
        let priced = || ticks.iter().filter_map(|tick| tick.price);
        let line = (!line.is_empty()).then_some(line);
        json!({
            "bookmaker": bookmaker, "market": market, "selection": selection, "line": line,
            "opening": priced().next().map(price_text), "closing": priced().next_back().map(price_text),
            "points": intervals(&ticks, points),
        })
    };
    by_price.into_iter().map(one).collect()
}

fn price_text(price: Decimal) -> String {
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
            "open": prices.first().copied().map(price_text),
            "high": prices.iter().max().copied().map(price_text),
            "low": prices.iter().min().copied().map(price_text),
            "close": closing.map(price_text),
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
    fn best_prices_and_counts_are_of_what_is_left() {
        let row = |outcome: &str, best: &str, prices: &[(&str, f64)]| {
            let best_odds = prices.iter().find(|(slug, _)| *slug == best).map(|(_, price)| price);
            let prices = prices.iter().map(|(slug, price)| (*slug, json!({"decimal_odds": price})));
            let prices: BTreeMap<&str, Value> = prices.collect();
            json!({
                "outcome": outcome, "line": null, "best_odds": best_odds, "best_bookmaker_slug": best,
                "best_bookmaker_name": best.to_uppercase(),
                "bookmakers": prices,
            })
        };
        let whole = json!({"bookmakers_count": 3, "total_odds": 6, "markets": {
            "1x2": {
                "HOME": row("HOME", "beta", &[("alpha", 2.1), ("beta", 2.3)]),
                "DRAW": row("DRAW", "alpha", &[("alpha", 3.4), ("beta", 3.4)]),
                "AWAY": row("AWAY", "ladbrokes", &[("ladbrokes", 10.5)]),
            },
            "btts": {"yes": row("yes", "beta", &[("beta", 1.8)])},
        }});
        for (market, bookmakers, expected) in [
            (
                "1x2",
                "",
                "3 bookmakers, 5 prices; AWAY 10.5 ladbrokes LADBROKES; DRAW 3.4 alpha ALPHA; HOME 2.3 beta BETA",
            ),
            ("1x2 home", "", "2 bookmakers, 2 prices; HOME 2.3 beta BETA"),
            ("1x2 home", "alpha", "1 bookmakers, 1 prices; HOME 2.1 alpha"),
            ("", "alpha", "1 bookmakers, 2 prices; DRAW 3.4 alpha ALPHA; HOME 2.1 alpha"),
            (
                "",
                "Ladbrokes, beta",
                "2 bookmakers, 4 prices; AWAY 10.5 ladbrokes LADBROKES; DRAW 3.4 beta; HOME 2.3 beta BETA; \
                 yes 1.8 beta BETA",
            ),
            ("btts", "alpha", "0 bookmakers, 0 prices"),
        ] {
            let mut data = whole.clone();
            if !market.is_empty() {
                keep_market(&mut data, Market::named(market), market).expect("the market is open");
            }
            if !bookmakers.is_empty() {
                keep_bookmakers(&mut data, &bookmaker_slugs(bookmakers));
            }
            let (count, total) = (&data["bookmakers_count"], &data["total_odds"]);
            let mut shown = format!("{count} bookmakers, {total} prices");
            let markets = data["markets"].as_object().expect("markets").values();
            for row in markets.flat_map(|rows| rows.as_object().expect("rows").values()) {
                let texts = ["outcome", "best_bookmaker_slug", "best_bookmaker_name"];
                let [outcome, slug, name] =
                    texts.map(|name| row[name].as_str().unwrap_or_default());
                let line = format!("; {outcome} {} {slug} {name}", row["best_odds"]);
                shown.push_str(line.trim_end());
            }
            assert_eq!(shown, expected, "{market:?} {bookmakers:?}");
        }
    }

    #[test]
    fn bookmakers_are_named_by_any_of_their_slugs() {
        let slugs = bookmaker_slugs("William Hill, marathon,Betfair-Exchange , alpha");
        assert_eq!(slugs, ["williamhill", "marathonbet", "betfair_ex_uk", "alpha"]);
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
