//! Prices of one fixture to markets: one market for each line.
//!
//! - Markets that other bookmakers have too have our words. The others have the kind `api-football-` (in play
//!   `api-football-live-`) and the provider's number, with its name of the market.
//! - In play the provider names no bookmaker, and gives lines in whole goals only, so that a line of 2 may be one of 2.25:
//!   such a market keeps the provider's number, with the line in the id of the selection.
//! - A book is named like the bookmaker, in small letters and without what is no letter or digit. Prices in play are of
//!   the book `api-football`.
//! - A market that a bookmaker of an answer no longer has is suspended. A filtered answer says so of the lines of its bets only.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use facts::event::{
    Fact, MarketDefinition, MarketStatus, Micros, Outcome, SelectionDefinition, SelectionStatus,
};
use rust_decimal::Decimal;

use super::{
    super::reported_market::{MarketRef, MarketState},
    PROVIDER,
};
use crate::{
    decode::{
        api_football::{Bet, BetValue, BookmakerOdds, FixtureOdds},
        decimal,
    },
    error::{DecodeError, RefusalKind},
};

/// The markets of a fixture: some twenty bookmakers have a hundred each, with their lines.
pub(super) const MARKETS_MAX: usize = 5_000;

/// The selections of a market with all its lines; scorers and exact scores are some hundred.
pub(super) const VALUES_MAX: usize = 2_000;

/// The notices of an answer about a fixture.
pub(super) const NOTICES_MAX: usize = 100;

/// What the ids of markets in play begin with.
const LIVE: &str = "live-";

/// The reported markets of a fixture.
#[derive(Debug, Default)]
pub(super) struct FixtureMarkets {
    /// By book and market.
    markets: BTreeMap<BookAndId, MarketState>,
    /// The time of the last answer before and in play.
    at: [Option<Micros>; 2],
    /// The notices of the last answer, which are not repeated for the next.
    notices: Vec<DecodeError>,
}

/// A book, and the id of a market of it or of a bet.
type BookAndId = (Arc<str>, Arc<str>);

/// What an answer has.
#[derive(Debug, Default)]
struct Offered {
    books: BTreeSet<Arc<str>>,
    /// The bets, each with all its lines.
    bets: BTreeSet<BookAndId>,
    markets: BTreeSet<BookAndId>,
}

/// How the selections of a market are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Result,
    Total,
    YesNo,
    Own,
}

impl FixtureMarkets {
    /// Applies an answer. Returns its facts and the number of prices that changed. An answer older than the last changes
    /// nothing. `is_filtered`: it does not have all markets.
    pub(super) fn update(
        &mut self,
        odds: &FixtureOdds,
        is_filtered: bool,
        notices: &mut Vec<DecodeError>,
    ) -> (Vec<Fact>, u32) {
        let last = &mut self.at[usize::from(odds.is_live)];
        if odds.at.is_some_and(|at| Some(at) < *last) {
            return (Vec::new(), 0);
        }
        *last = odds.at.or(*last);
        if self.markets.len() >= MARKETS_MAX {
            self.markets.retain(|_, state| state.is_open());
        }
        let (mut facts, mut prices, mut offered) = (Vec::new(), 0, Offered::default());
        let mut wrong = odds.notices.clone();
        let mut left_out = 0_usize;
        for bookmaker in &odds.bookmakers {
            let book = book(bookmaker);
            offered.books.insert(Arc::clone(&book));
            for bet in &bookmaker.bets {
                offered.bets.extend(bet_id(bet, odds).map(|id| (Arc::clone(&book), id)));
                for (market, definition, offers) in markets(bet, odds, &mut wrong) {
                    let key = (Arc::clone(&book), market);
                    if self.markets.len() >= MARKETS_MAX && !self.markets.contains_key(&key) {
                        left_out += 1;
                        continue;
                    }
                    let market = MarketRef { book: Arc::clone(&key.0), market: Arc::clone(&key.1) };
                    offered.markets.insert(key.clone());
                    let state = self.markets.entry(key).or_default();
                    prices += state.update(&market, definition, offers, &mut facts);
                }
                wrong.truncate(NOTICES_MAX);
            }
        }
        for (key, state) in &mut self.markets {
            if offered.lacks(key, odds.is_live, is_filtered) {
                let market = MarketRef { book: Arc::clone(&key.0), market: Arc::clone(&key.1) };
                state.suspend(&market, &mut facts);
            }
        }
        if left_out > 0 {
            let reason = format!("{left_out} markets more than {MARKETS_MAX} of one fixture");
            wrong.push(DecodeError::new(RefusalKind::Unknown, reason));
        }
        if wrong != self.notices {
            notices.extend(wrong.iter().cloned());
            self.notices = wrong;
        }
        (facts, prices)
    }
}

impl Offered {
    /// Whether the answer should have a market and does not. A filter leaves out bets, never lines of a bet. An answer
    /// may leave out bookmakers, but no bets of one.
    fn lacks(&self, market: &BookAndId, is_live: bool, is_filtered: bool) -> bool {
        let (book, id) = market;
        if id.starts_with(LIVE) != is_live || self.markets.contains(market) {
            return false;
        }
        let bet = id.rsplit_once('@').map_or(&**id, |(bet, _)| bet);
        let bet: BookAndId = (Arc::clone(book), bet.into());
        let has_bet = self.bets.contains(market) || self.bets.contains(&bet);
        self.books.contains(book) && (!is_filtered || has_bet)
    }
}

fn book(bookmaker: &BookmakerOdds) -> Arc<str> {
    let name = bookmaker.name.as_deref().unwrap_or_default();
    let slug: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    if slug.is_empty() { PROVIDER.into() } else { slug.to_ascii_lowercase().into() }
}

type Offer = (Arc<str>, MarketDefinition, Vec<(Arc<str>, Decimal)>);

/// The id of a bet, which is that of its market or, for each line, the beginning of it.
fn bet_id(bet: &Bet, odds: &FixtureOdds) -> Option<Arc<str>> {
    let id = bet.id.as_ref().or(bet.name.as_ref())?;
    Some(if odds.is_live { format!("{LIVE}{id}").into() } else { Arc::clone(id) })
}

/// The markets of a bet, in the order of their lines.
fn markets(bet: &Bet, odds: &FixtureOdds, notices: &mut Vec<DecodeError>) -> Vec<Offer> {
    let Some(id) = bet_id(bet, odds) else {
        notices.push(wrong("a market without an id".to_owned()));
        return Vec::new();
    };
    let (rule, kind, period) = kind(bet.name.as_deref().unwrap_or_default(), odds.is_live);
    let mut lines: BTreeMap<Option<Decimal>, Vec<&BetValue>> = BTreeMap::new();
    for value in distinct(bet, notices) {
        let line = if rule == Rule::Total { total(value).1 } else { None };
        lines.entry(line).or_default().push(value);
    }
    let offer = |(line, values): (Option<Decimal>, Vec<&BetValue>)| {
        let (mut selections, mut prices) = (Vec::new(), Vec::new());
        for value in values {
            let price = price(value, notices);
            let name = value.value.clone();
            let id = selection_id(value);
            let status = price.map_or(SelectionStatus::Removed, |_| SelectionStatus::Active);
            let outcome = outcome(rule, value);
            selections.push(SelectionDefinition {
                id: id.clone(),
                name,
                status,
                outcome,
                terms: None,
            });
            prices.extend(price.map(|price| (id, price)));
        }
        let is_suspended = odds.is_suspended || prices.is_empty();
        let status = if is_suspended { MarketStatus::Suspended } else { MarketStatus::Open };
        let market = line.map_or_else(|| id.clone(), |line| format!("{id}@{line}").into());
        let definition = MarketDefinition {
            kind: kind.map_or_else(|| format!("{PROVIDER}-{id}").into(), Into::into),
            name: bet.name.clone().filter(|_| kind.is_none()),
            line,
            period: period.map(Into::into),
            status,
            in_play: odds.is_live,
            selections,
            terms: None,
        };
        (market, definition, prices)
    };
    lines.into_iter().map(offer).collect()
}

/// The rule, our kind and the part of the match of a market, from its name.
fn kind(name: &str, is_live: bool) -> (Rule, Option<&'static str>, Option<&'static str>) {
    match name.to_ascii_lowercase().as_str() {
        "match winner" | "fulltime result" => (Rule::Result, Some("match_winner"), None),
        "first half winner" => (Rule::Result, Some("match_winner"), Some("1h")),
        "second half winner" => (Rule::Result, Some("match_winner"), Some("2h")),
        "draw no bet" => (Rule::Result, Some("draw_no_bet"), None),
        "both teams score" | "both teams to score" => {
            (Rule::YesNo, Some("both_teams_to_score"), None)
        }
        "double chance" => (Rule::Own, Some("double_chance"), None),
        "goals over/under" if !is_live => (Rule::Total, Some("over_under"), None),
        "goals over/under first half" if !is_live => (Rule::Total, Some("over_under"), Some("1h")),
        _ => (Rule::Own, None, None),
    }
}

/// Without those that are stated twice with different prices, unless one of them is marked as the one that counts.
fn distinct<'a>(bet: &'a Bet, notices: &mut Vec<DecodeError>) -> Vec<&'a BetValue> {
    let name = bet.name.as_deref().unwrap_or_default();
    if bet.values.len() > VALUES_MAX {
        notices.push(wrong(format!("{} selections of {name:?}", bet.values.len())));
    }
    let named = bet.values.iter().take(VALUES_MAX).filter(|value| value.value.is_some());
    let mut places: HashMap<Arc<str>, usize> = HashMap::new();
    let mut values: Vec<Option<&BetValue>> = Vec::new();
    for value in named {
        let index = *places.entry(selection_id(value)).or_insert(values.len());
        let Some(kept) = values.get_mut(index) else {
            values.push(Some(value));
            continue;
        };
        match kept {
            Some(one) if one.main != Some(true) && value.main == Some(true) => *kept = Some(value),
            Some(one) if one.main == Some(true) || one.odd == value.odd => {}
            _ if value.main == Some(true) => *kept = Some(value),
            _ => *kept = None,
        }
    }
    let twice = values.iter().filter(|kept| kept.is_none()).count();
    if twice > 0 {
        notices.push(wrong(format!("{twice} selections of {name:?} are stated twice")));
    }
    values.into_iter().flatten().collect()
}

fn selection_id(value: &BetValue) -> Arc<str> {
    let name = value.value.as_deref().unwrap_or_default();
    value.handicap.as_ref().map_or_else(|| name.into(), |line| format!("{name}@{line}").into())
}

/// `Over 2.5`: the outcome and its line, if both can be read.
fn total(value: &BetValue) -> (Option<Outcome>, Option<Decimal>) {
    let text = value.value.as_deref().unwrap_or_default();
    let read = || {
        let (word, line) = text.split_once(' ')?;
        let outcome = match word.to_ascii_lowercase().as_str() {
            "over" => Outcome::Over,
            "under" => Outcome::Under,
            _ => return None,
        };
        Some((outcome, decimal::exact(line.trim())?))
    };
    read().map_or((None, None), |(outcome, line)| (Some(outcome), Some(line)))
}

fn outcome(rule: Rule, value: &BetValue) -> Option<Outcome> {
    let name = value.value.as_deref().unwrap_or_default().to_ascii_lowercase();
    match (rule, name.as_str()) {
        (Rule::Result, "home") => Some(Outcome::Home),
        (Rule::Result, "draw") => Some(Outcome::Draw),
        (Rule::Result, "away") => Some(Outcome::Away),
        (Rule::YesNo, "yes") => Some(Outcome::Yes),
        (Rule::YesNo, "no") => Some(Outcome::No),
        (Rule::Total, _) => total(value).0,
        _ => None,
    }
}

/// A price above 1. One that is suspended may be 0.
fn price(value: &BetValue, notices: &mut Vec<DecodeError>) -> Option<Decimal> {
    if value.suspended == Some(true) {
        return None;
    }
    let text = value.odd.as_deref()?;
    let price = decimal::exact(text).filter(|price| *price > Decimal::ONE);
    if price.is_none() {
        notices.push(wrong(format!("{text:?} is no price")));
    }
    price
}

fn wrong(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}
