//! The documents and events of odds: one bookmaker's [book](super::book), and the [consensus](super::consensus) of all.

use super::{
    DocumentHeader,
    declare::Value,
    values::{
        Decimal, HoldReason, List, Map, MarketStatus, Outcome, SelectionStatus, Seq, Text,
        Timestamp,
    },
};
use crate::document::Object;

wire! {
    /// The fields of every document of odds.
    document OddsHeader {
        /// No market is open, but one may reopen; or the hub holds the whole book, whatever the status of its markets.
        suspended: bool,
        /// The sequence of the match's channel when these prices were applied: a price with a smaller one than that of a
        /// goal is from before the goal. Absent if the match has no channel.
        match_seq: Option<Seq>,
    }

    /// The book of one bookmaker on a match: the document of `{sport}/{id}/odds/{bookmaker}`.
    document Odds {
        #[schemars(flatten)] header: @shared DocumentHeader,
        #[schemars(flatten)] odds: @shared OddsHeader,
        /// The markets by the bookmaker's own id.
        markets: Map<Market>,
    }

    /// A market of a bookmaker.
    document Market {
        /// `match_winner`, `over_under`, `both_teams_to_score`, `asian_handicap` and others, else the source's name of the
        /// kind in lower case.
        kind: Text,
        /// The source's name of the market.
        name: Option<Text>,
        /// The line, if the market has one: `"2.5"` goals.
        line: Option<Decimal>,
        /// The part of the match; absent for the whole match.
        period: Option<Text>,
        /// The bookmaker's status of the market.
        status: MarketStatus,
        /// Whether the market takes bets while the match is played.
        in_play: bool,
        /// Amount matched so far, if the source reports it.
        volume: Option<Decimal>,
        /// The selections by id; one that exists once per handicap is `id@handicap`: `"56323@-1.5"`. Absent if there
        /// are none.
        selections: Option<Map<Selection>>,
        /// How many selections win; 0 if it depends on the result, as in handicaps.
        number_of_winners: Option<u32>,
        /// The part of the odds that a place pays: `"4"` is a quarter.
        each_way_divisor: Option<Decimal>,
        /// How long a bet waits before it is accepted, in seconds.
        bet_delay: Option<u32>,
        /// `PASSIVE`, `DYNAMIC`: the source's own words.
        bet_delay_models: Option<List<Text>>,
        /// The commission on winnings, in percent.
        market_base_rate: Option<Decimal>,
        /// Why it is suspended, in the source's own words.
        suspend_reason: Option<Text>,
        /// Each change of `status` or `in_play`, by its number from `"1"`; the last 64 are kept.
        transitions: Map<Transition>,
    }

    /// A selection of a market: what one can bet on.
    document Selection {
        /// The source's name.
        name: Option<Text>,
        /// The status.
        status: SelectionStatus,
        /// Its meaning, the same with every bookmaker; absent if the hub knows none.
        outcome: Option<Outcome>,
        /// The best price to back: decimal odds.
        price: Option<Decimal>,
        /// The previous value of `price`.
        prev: Option<Decimal>,
        /// On an exchange, the best price to lay.
        lay: Option<Decimal>,
        /// On an exchange, the last traded price.
        last: Option<Decimal>,
        /// Amount matched on the selection.
        volume: Option<Decimal>,
        /// On an exchange, the projected starting price of all bets.
        near_price: Option<Decimal>,
        /// On an exchange, the projected starting price of the bets at starting price alone.
        far_price: Option<Decimal>,
        /// The starting price of the exchange, once it is settled.
        bsp: Option<Decimal>,
        /// By how much the prices of the others are reduced if it is removed, in percent.
        adjustment_factor: Option<Decimal>,
        /// When it was removed.
        removal_date: Option<Timestamp>,
        /// The part of the stake that wins in a dead heat: `"0.5"` of two.
        dead_heat_factor: Option<Decimal>,
        /// On an exchange, what is offered to back.
        back: Option<Ladder>,
        /// On an exchange, what is offered to lay.
        lays: Option<Ladder>,
        /// On an exchange, what was traded.
        traded: Option<Ladder>,
    }
}

/// A ladder of an exchange: the size by price. A rung whose size becomes 0 is deleted.
#[derive(Debug)]
pub struct Ladder;

wire! {
    /// A change of the status of a market, or of its being in play.
    object Transition {
        /// When it changed.
        at: Timestamp,
        /// The status from then on.
        status: MarketStatus,
        /// Whether the market takes bets while the match is played, from then on.
        in_play: bool,
    }

    /// The consensus of all bookmakers on a match: the document of `{sport}/{id}/odds`. It has the markets that have the same
    /// meaning with every bookmaker.
    document ConsensusOdds {
        #[schemars(flatten)] header: @shared DocumentHeader,
        #[schemars(flatten)] odds: @shared OddsHeader,
        /// The markets by the hub's own id: the kind, `:` and the period if it is not the whole match, `@` and the line if
        /// there is one (`over_under@2.5`).
        markets: Map<ConsensusMarket>,
    }

    /// A market of the consensus.
    document ConsensusMarket {
        /// `match_winner`, `over_under`, `both_teams_to_score`, `asian_handicap` and others.
        kind: Text,
        /// The line, if the market has one.
        line: Option<Decimal>,
        /// The part of the match; absent for the whole match.
        period: Option<Text>,
        /// `open` while any bookmaker's is.
        status: MarketStatus,
        /// Whether the market takes bets while the match is played.
        in_play: bool,
        /// How far the best prices exceed a fair book: the sum of 1/price, less 1, to four decimal places. `"0.0213"` is 2.13
        /// %; below 0 it is an arbitrage. Absent unless every outcome has a price.
        overround: Option<Decimal>,
        /// The selections by `Outcome`.
        selections: Option<Map<ConsensusSelection>>,
    }

    /// A selection of the consensus. All fields but `status` are absent while no bookmaker offers a price.
    document ConsensusSelection {
        /// The status.
        status: SelectionStatus,
        /// The best price among open markets: decimal odds.
        price: Option<Decimal>,
        /// The median price.
        median: Option<Decimal>,
        /// The number of bookmakers with a price.
        bookmakers: Option<u32>,
        /// The bookmaker with the best price.
        best: Option<Text>,
        /// When the oldest price among them was reported.
        oldest: Option<Timestamp>,
    }

    /// An event of one bookmaker's book.
    union OddsEvent {
        MarketOpen, MarketSuspend, MarketResume, MarketReopen, MarketInPlay, MarketSettle,
        SettlementCorrect, Hold, HoldEnd,
    }

    /// An event of the consensus.
    union ConsensusEvent { MarketOpen, MarketSuspend, MarketResume, MarketSettle, SettlementCorrect }

    /// The fields of an event of a market.
    group MarketEvent {
        /// The id of the market.
        market: Text,
        /// The status of the market now.
        status: MarketStatus,
        /// Of a book: whether the market takes bets while the match is played.
        in_play: Option<bool>,
        /// Of a book: when it happened.
        at: Option<Timestamp>,
    }

    /// A market that was not known opens.
    event MarketOpen = "open" {
        #[schemars(flatten)] event: MarketEvent,
    }

    /// A market is suspended. Its prices no longer count.
    event MarketSuspend = "suspend" {
        #[schemars(flatten)] event: MarketEvent,
    }

    /// A market opens again.
    event MarketResume = "resume" {
        #[schemars(flatten)] event: MarketEvent,
    }

    /// A market that was settled is not any more: it takes bets, or it is suspended. Its next settlement is a `correct`.
    event MarketReopen = "reopen" {
        #[schemars(flatten)] event: MarketEvent,
    }

    /// A market of a book takes bets while the match is played from now on, or no longer does. Its status is as before.
    event MarketInPlay = "in_play" {
        #[schemars(flatten)] event: MarketEvent,
    }

    /// A market is closed and settled.
    event MarketSettle = "settle" {
        #[schemars(flatten)] event: MarketEvent,
        /// The selections that won at least half of the stake: ids in a book, outcomes in the consensus.
        winners: List<Text>,
        /// Of a book: the result of each selection by its id, if one is `half_won`, `half_lost` or `push`.
        results: Option<Map<SelectionStatus>>,
        /// Of a book: the part of the stake that wins, by the id of the winner, in a dead heat.
        dead_heat_factors: Option<Map<Decimal>>,
    }

    /// A market is settled again.
    event SettlementCorrect = "correct" {
        #[schemars(flatten)] target: CorrectedMarket,
        /// The selections that have won at least half of the stake now: ids in a book, outcomes in the consensus.
        winners: List<Text>,
        /// As in `settle`.
        results: Option<Map<SelectionStatus>>,
        /// As in `settle`.
        dead_heat_factors: Option<Map<Decimal>>,
    }
}

/// What is settled again. A book names the settlement first, the consensus last.
#[derive(Debug)]
pub enum CorrectedMarket {
    Book { of: Text, market: Text },
    Consensus { market: Text, status: MarketStatus, of: Option<Text> },
}

described! {
    CorrectedMarket,
    /// What is settled again.
    struct {
        /// The `eid` of the earlier `settle`.
        of: Option<Text>,
        /// The id of the market.
        market: Text,
        /// Of the consensus: the status of the market.
        status: Option<MarketStatus>,
    }
}

impl Value for CorrectedMarket {
    fn put(self, out: &mut Object, _: &'static str, _: bool) {
        match self {
            Self::Book { of, market } => {
                out.set("of", of);
                out.set("market", market);
            }
            Self::Consensus { market, status, of } => {
                out.set("market", market);
                out.set("status", status);
                out.set_some("of", of);
            }
        }
    }
}

wire! {
    /// The hub suspends a whole book.
    event Hold = "suspend" {
        /// Why.
        why: HoldReason,
        /// The `eid` of the incident in the match, if one is the reason.
        of: Option<Text>,
    }

    /// The hub no longer suspends a whole book.
    event HoldEnd = "resume" {
        /// The `eid` of its `suspend`.
        of: Text,
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Ladder {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ladder".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A ladder of an exchange: the size by price. A rung whose size becomes 0 is deleted.",
            "type": "object",
            "additionalProperties": generator.subschema_for::<Decimal>(),
        })
    }
}
