//! Prices of one fixture: an element of an answer of `odds` or `odds/live`.

use std::sync::Arc;

use facts::event::Micros;
use jiff::Timestamp;
use serde_json::value::RawValue;

use super::{
    super::{json, json_error},
    fixture::{League, RawLeague, moment},
    value,
};
use crate::error::{DecodeError, Result};

/// Prices of one fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixtureOdds {
    pub fixture: Arc<str>,
    pub start: Option<Micros>,
    pub league: Option<League>,
    /// When the prices were last changed.
    pub at: Option<Micros>,
    /// Whether these are prices in play. They are of no bookmaker by name.
    pub is_live: bool,
    /// Whether none of the prices can be had now: play is stopped, bets are blocked, or it is over.
    pub is_suspended: bool,
    pub bookmakers: Vec<BookmakerOdds>,
    /// What of it cannot be read.
    pub notices: Vec<DecodeError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookmakerOdds {
    /// `Bet365`; absent in play.
    pub name: Option<Arc<str>>,
    pub bets: Vec<Bet>,
}

json::lenient! {
    /// A market, with the prices of all its lines.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Bet {
        pub id: Option<Arc<str>> as "json::key",
        pub name: Option<Arc<str>> as "json::key",
        pub values: Vec<BetValue> as "json::known_all",
    }

    /// A selection and its price.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct BetValue {
        /// `Home`, `Over 2.5`, the name of a player.
        pub value: Option<Arc<str>> as "json::key",
        pub odd: Option<Arc<str>> as "json::key",
        pub handicap: Option<Arc<str>> as "json::key",
        /// Of several that are otherwise the same, the one that counts.
        pub main: Option<bool> as "json::flag",
        pub suspended: Option<bool> as "json::flag",
    }
}

impl FixtureOdds {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let raw: Raw<'_> = serde_json::from_str(text).map_err(|error| json_error(&error))?;
        let fixture = raw.fixture.ok_or_else(|| value("odds without a fixture"))?;
        let status = raw.status.unwrap_or_default();
        let is_suspended = [status.stopped, status.blocked, status.finished].contains(&Some(true));
        let mut notices = Vec::new();
        let is_live = raw.odds.is_some();
        let unnamed = raw.odds.map(|odds| bets(odds.get(), &mut notices)).transpose()?;
        let unnamed = unnamed.map(|bets| BookmakerOdds { name: None, bets });
        let named = raw.bookmakers.into_iter();
        let named = named.map(|it| BookmakerOdds { name: it.name.or(it.id), bets: it.bets });
        Ok(Self {
            fixture: fixture.id.ok_or_else(|| value("odds without the id of a fixture"))?,
            start: moment(fixture.timestamp),
            league: raw.league.and_then(RawLeague::read),
            at: raw.update.and_then(|text| text.parse().ok()).map(Timestamp::as_microsecond),
            is_live,
            is_suspended,
            bookmakers: named.chain(unnamed).collect(),
            notices,
        })
    }
}

/// The markets in play; one that cannot be read costs only itself.
fn bets(text: &str, notices: &mut Vec<DecodeError>) -> Result<Vec<Bet>> {
    let all: Vec<&RawValue> =
        serde_json::from_str(text).map_err(|_| value("the odds are no list"))?;
    let bets: Vec<Bet> =
        all.iter().filter_map(|one| serde_json::from_str(one.get()).ok()).collect();
    if bets.len() < all.len() {
        let lost = all.len() - bets.len();
        notices.push(value(format!("{lost} of {} markets cannot be read", all.len())));
    }
    Ok(bets)
}

json::lenient! {
    struct Raw<'a> {
        fixture: Option<RawFixture> as "json::known_value",
        league: Option<RawLeague> as "json::known_value",
        update: Option<String> as "json::known_value",
        bookmakers: Vec<RawBookmaker> as "json::known_all",
        status: Option<RawStatus> as "json::known_value",
        #[serde(borrow)]
        odds: Option<&'a RawValue>,
    }

    struct RawFixture {
        id: Option<Arc<str>> as "json::key",
        timestamp: Option<u64> as "json::whole",
    }

    struct RawBookmaker {
        id: Option<Arc<str>> as "json::key",
        name: Option<Arc<str>> as "json::key",
        bets: Vec<Bet> as "json::known_all",
    }

    #[derive(Default)]
    struct RawStatus {
        stopped: Option<bool> as "json::flag",
        blocked: Option<bool> as "json::flag",
        finished: Option<bool> as "json::flag",
    }
}
