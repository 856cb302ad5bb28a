//! Names of selections without a common meaning across bookmakers: correct scores, runners of a
//! race, scorers.
//!
//! An outcome that is the same everywhere has its own word ([`Outcome`](facts::event::Outcome)).
//! Others use the bookmaker's name, or its id if there is no name, so that their prices can be
//! stored, compared and queried like all others.

use std::sync::Arc;

use facts::event::Sport;

use super::super::state::{Market, Selection};

/// The market and the outcome under which the price of a selection is stored.
pub(super) fn names(sport: Sport, market: &Market, selection: &Selection) -> (Arc<str>, Arc<str>) {
    match selection.outcome {
        Some(outcome) => (Arc::clone(&market.kind), outcome.as_str().into()),
        None => (of_market(sport, market), of_selection(market, selection)),
    }
}

/// The kind alone if it is unique. A bookmaker may have several markets of one kind, one for each
/// side or scorer, and their names distinguish them: `clean_sheet: Man City Clean Sheet`. Markets
/// of races are named by their distance, which distinguishes nothing.
fn of_market(sport: Sport, market: &Market) -> Arc<str> {
    let Some(name) = market.name.as_deref().map(str::trim) else { return Arc::clone(&market.kind) };
    let kind = letters(&market.kind);
    if sport == Sport::HorseRacing || market.period.is_some() || letters(name) == kind {
        return Arc::clone(&market.kind);
    }
    // If the kind is an id, the name begins with it: `uof-62 goalnr=1`.
    if name.starts_with(&*market.kind) {
        return name.into();
    }
    format!("{}: {name}", market.kind).into()
}

fn letters(text: &str) -> String {
    let letters = text.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn of_selection(market: &Market, selection: &Selection) -> Arc<str> {
    let name = selection.name.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let Some(name) = name else {
        return match &*market.kind {
            "double_chance" => double_chance(&selection.id).unwrap_or(&selection.id).into(),
            _ => Arc::clone(&selection.id),
        };
    };
    // A selection that exists once per handicap.
    if let Some((_, handicap)) = selection.id.split_once('@') {
        return format!("{name}@{handicap}").into();
    }
    match &*market.kind {
        "double_chance" => double_chance(name).unwrap_or(name).into(),
        "correct_score" => score(name).unwrap_or_else(|| name.to_owned()).into(),
        _ => name.into(),
    }
}

/// Normalises double chance, which bookmakers only spell differently.
fn double_chance(name: &str) -> Option<&'static str> {
    Some(match &*letters(name) {
        "1x" | "homeordraw" | "draworhome" => "1x",
        "12" | "homeoraway" | "awayorhome" => "12",
        "x2" | "draworaway" | "awayordraw" => "x2",
        _ => return None,
    })
}

/// `1 - 0` as `1-0`.
fn score(name: &str) -> Option<String> {
    let (home, away) = name.split_once(['-', ':'])?;
    let goals = |text: &str| text.trim().parse::<u8>().ok();
    Some(format!("{}-{}", goals(home)?, goals(away)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_selection_get_one_name() {
        for (name, expected) in [
            ("Home or Draw", Some("1x")),
            ("1X", Some("1x")),
            ("Home or Away", Some("12")),
            ("Draw or Away", Some("x2")),
            ("Arsenal or Draw", None),
        ] {
            assert_eq!(double_chance(name), expected, "{name}");
        }
        for (name, expected) in [
            ("1 - 0", Some("1-0")),
            ("0:3", Some("0-3")),
            ("Any Other Home Win", None),
            ("2-1-1", None),
        ] {
            assert_eq!(score(name).as_deref(), expected, "{name}");
        }
        assert_eq!(letters("Half Time/Full Time"), letters("half_time_full_time"));
    }
}
