//! Odds: one bookmaker's book, and the consensus of all.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::Header;
use crate::words::{Decimal, MarketStatus, Outcome, SelectionStatus, Seq, Timestamp};

/// The fields of every document of odds.
#[derive(Debug, JsonSchema)]
pub struct OddsHeader {
    /// No market is open, but one may reopen; or the hub holds the whole book, whatever the status of its markets.
    pub suspended: bool,
    /// The sequence of the match's channel when these prices were applied: a price with a smaller one than that of a
    /// goal is from before the goal. Absent if the match has no channel.
    pub match_seq: Option<Seq>,
}

/// The book of one bookmaker on a match: the document of `{sport}/{id}/odds/{bookmaker}`.
#[derive(Debug, JsonSchema)]
pub struct Odds {
    #[serde(flatten)]
    pub header: Header,
    #[serde(flatten)]
    pub odds: OddsHeader,
    /// The markets by the bookmaker's own id.
    pub markets: BTreeMap<String, Market>,
}

/// A market of a bookmaker.
#[derive(Debug, JsonSchema)]
pub struct Market {
    /// `match_winner`, `over_under`, `both_teams_to_score`, `asian_handicap` and others, else the source's name of the
    /// kind in lower case.
    pub kind: String,
    /// The source's name of the market.
    pub name: Option<String>,
    /// The line, if the market has one: `"2.5"` goals.
    pub line: Option<Decimal>,
    /// The part of the match; absent for the whole match.
    pub period: Option<String>,
    /// The bookmaker's status of the market.
    pub status: MarketStatus,
    /// Whether the market takes bets while the match is played.
    pub in_play: bool,
    /// Amount matched so far, if the source reports it.
    pub volume: Option<Decimal>,
    /// The selections by id; one that exists once per handicap is `id@handicap`: `"56323@-1.5"`. Absent if there
    /// are none.
    pub selections: Option<BTreeMap<String, Selection>>,
    /// How many selections win; 0 if it depends on the result, as in handicaps.
    pub number_of_winners: Option<u32>,
    /// The part of the odds that a place pays: `"4"` is a quarter.
    pub each_way_divisor: Option<Decimal>,
    /// How long a bet waits before it is accepted, in seconds.
    pub bet_delay: Option<u32>,
    /// `PASSIVE`, `DYNAMIC`: the source's own words.
    pub bet_delay_models: Option<Vec<String>>,
    /// The commission on winnings, in percent.
    pub market_base_rate: Option<Decimal>,
    /// Why it is suspended, in the source's own words.
    pub suspend_reason: Option<String>,
    /// Each change of `status` or `in_play`, by its number from `"1"`; the last 64 are kept.
    pub transitions: BTreeMap<String, Transition>,
}

/// A selection of a market: what one can bet on.
#[derive(Debug, JsonSchema)]
pub struct Selection {
    /// The source's name.
    pub name: Option<String>,
    /// The status.
    pub status: SelectionStatus,
    /// Its meaning, the same with every bookmaker; absent if the hub knows none.
    pub outcome: Option<Outcome>,
    /// The best price to back: decimal odds.
    pub price: Option<Decimal>,
    /// The previous value of `price`.
    pub prev: Option<Decimal>,
    /// On an exchange, the best price to lay.
    pub lay: Option<Decimal>,
    /// On an exchange, the last traded price.
    pub last: Option<Decimal>,
    /// Amount matched on the selection.
    pub volume: Option<Decimal>,
    /// On an exchange, the projected starting price of all bets.
    pub near_price: Option<Decimal>,
    /// On an exchange, the projected starting price of the bets at starting price alone.
    pub far_price: Option<Decimal>,
    /// The starting price of the exchange, once it is settled.
    pub bsp: Option<Decimal>,
    /// By how much the prices of the others are reduced if it is removed, in percent.
    pub adjustment_factor: Option<Decimal>,
    /// When it was removed.
    pub removal_date: Option<Timestamp>,
    /// The part of the stake that wins in a dead heat: `"0.5"` of two.
    pub dead_heat_factor: Option<Decimal>,
    /// On an exchange, what is offered to back.
    pub back: Option<Ladder>,
    /// On an exchange, what is offered to lay.
    pub lays: Option<Ladder>,
    /// On an exchange, what was traded.
    pub traded: Option<Ladder>,
}

/// A ladder of an exchange: the size by price. A rung whose size becomes 0 is deleted.
#[derive(Debug)]
pub struct Ladder;

impl JsonSchema for Ladder {
    fn schema_name() -> Cow<'static, str> {
        "Ladder".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A ladder of an exchange: the size by price. A rung whose size becomes 0 is deleted.",
            "type": "object",
            "additionalProperties": generator.subschema_for::<Decimal>(),
        })
    }
}

/// A change of the status of a market, or of its being in play.
#[derive(Debug, JsonSchema)]
pub struct Transition {
    /// When it changed.
    pub at: Timestamp,
    /// The status from then on.
    pub status: MarketStatus,
    /// Whether the market takes bets while the match is played, from then on.
    pub in_play: bool,
}

/// The consensus of all bookmakers on a match: the document of `{sport}/{id}/odds`. It has the markets that have the same
/// meaning with every bookmaker.
#[derive(Debug, JsonSchema)]
pub struct ConsensusOdds {
    #[serde(flatten)]
    pub header: Header,
    #[serde(flatten)]
    pub odds: OddsHeader,
    /// The markets by the hub's own id: the kind, `:` and the period if it is not the whole match, `@` and the line if
    /// there is one (`over_under@2.5`).
    pub markets: BTreeMap<String, ConsensusMarket>,
}

/// A market of the consensus.
#[derive(Debug, JsonSchema)]
pub struct ConsensusMarket {
    /// `match_winner`, `over_under`, `both_teams_to_score`, `asian_handicap` and others.
    pub kind: String,
    /// The line, if the market has one.
    pub line: Option<Decimal>,
    /// The part of the match; absent for the whole match.
    pub period: Option<String>,
    /// `open` while any bookmaker's is.
    pub status: MarketStatus,
    /// Whether the market takes bets while the match is played.
    pub in_play: bool,
    /// How far the best prices exceed a fair book: the sum of 1/price, less 1, to four decimal places. `"0.0213"` is 2.13
    /// %; below 0 it is an arbitrage. Absent unless every outcome has a price.
    pub overround: Option<Decimal>,
    /// The selections by `Outcome`.
    pub selections: Option<BTreeMap<String, ConsensusSelection>>,
}

/// A selection of the consensus. All fields but `status` are absent while no bookmaker offers a price.
#[derive(Debug, JsonSchema)]
pub struct ConsensusSelection {
    /// The status.
    pub status: SelectionStatus,
    /// The best price among open markets: decimal odds.
    pub price: Option<Decimal>,
    /// The median price.
    pub median: Option<Decimal>,
    /// The number of bookmakers with a price.
    pub bookmakers: Option<u32>,
    /// The bookmaker with the best price.
    pub best: Option<String>,
    /// When the oldest price among them was reported.
    pub oldest: Option<Timestamp>,
}
