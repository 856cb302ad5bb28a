//! `/api/v2/events/{id}/odds/`: the consensus of all bookmakers, for every account. SERVICE section 3.1.

use std::collections::BTreeMap;

use rust_decimal::{Decimal, dec};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    PRICES_OF_EVENT, football_record,
    format::{FormatParams, OddsFormat},
    quote::{is_consensus, on_offer},
    quotes,
};
use crate::rest::{ApiRequest, ApiResult, CacheControl, Number, time};
use history::query::OddsRow;
use record::{MatchRecord, Status};

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct ConsensusOdds {
    event_id: u64,
    odds: MainOdds,
    /// With `odds_format`, the same as texts in that format.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    formatted: Option<BTreeMap<&'static str, String>>,
    /// When the last price in it came in.
    last_update_at: Option<String>,
    /// Prices come when bookmakers change them, so there is no moment to name: always null.
    next_update_at: Option<String>,
    update_interval_seconds: Option<u32>,
    /// Always a text.
    update_reason: &'static str,
}

/// The main markets; null where nothing is on offer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub(in crate::rest) struct MainOdds {
    pub(in crate::rest) home_win: Option<Number>,
    pub(in crate::rest) draw: Option<Number>,
    pub(in crate::rest) away_win: Option<Number>,
    pub(in crate::rest) over_15_goals: Option<Number>,
    pub(in crate::rest) under_15_goals: Option<Number>,
    pub(in crate::rest) over_25_goals: Option<Number>,
    pub(in crate::rest) under_25_goals: Option<Number>,
    pub(in crate::rest) over_35_goals: Option<Number>,
    pub(in crate::rest) under_35_goals: Option<Number>,
    pub(in crate::rest) btts_yes: Option<Number>,
    pub(in crate::rest) btts_no: Option<Number>,
}

impl MainOdds {
    /// Of the consensus on offer.
    #[must_use]
    pub(in crate::rest) fn new(record: &MatchRecord, quotes: &[OddsRow]) -> Self {
        let mut odds = Self::default();
        for quote in on_offer(record, quotes).filter(|quote| is_consensus(quote)) {
            if quote.period.is_none()
                && let Some(slot) = odds.slot(&quote.market, &quote.outcome, quote.line)
            {
                *slot = Some(Number(quote.price));
            }
        }
        odds
    }

    /// Those on offer as texts, by the names of the fields.
    fn formatted(&self, format: OddsFormat) -> BTreeMap<&'static str, String> {
        let fields = [
            ("home_win", self.home_win),
            ("draw", self.draw),
            ("away_win", self.away_win),
            ("over_15_goals", self.over_15_goals),
            ("under_15_goals", self.under_15_goals),
            ("over_25_goals", self.over_25_goals),
            ("under_25_goals", self.under_25_goals),
            ("over_35_goals", self.over_35_goals),
            ("under_35_goals", self.under_35_goals),
            ("btts_yes", self.btts_yes),
            ("btts_no", self.btts_no),
        ];
        let text = |(name, price): (_, Option<Number>)| Some((name, format.write(price?.0)?));
        fields.into_iter().filter_map(text).collect()
    }

    fn slot(
        &mut self,
        market: &str,
        outcome: &str,
        line: Option<Decimal>,
    ) -> Option<&mut Option<Number>> {
        Some(match (market, outcome, line) {
            ("match_winner", "home", None) => &mut self.home_win,
            ("match_winner", "draw", None) => &mut self.draw,
            ("match_winner", "away", None) => &mut self.away_win,
            ("over_under", "over", Some(line)) if line == dec!(1.5) => &mut self.over_15_goals,
            ("over_under", "under", Some(line)) if line == dec!(1.5) => &mut self.under_15_goals,
            ("over_under", "over", Some(line)) if line == dec!(2.5) => &mut self.over_25_goals,
            ("over_under", "under", Some(line)) if line == dec!(2.5) => &mut self.under_25_goals,
            ("over_under", "over", Some(line)) if line == dec!(3.5) => &mut self.over_35_goals,
            ("over_under", "under", Some(line)) if line == dec!(3.5) => &mut self.under_35_goals,
            ("both_teams_to_score", "yes", None) => &mut self.btts_yes,
            ("both_teams_to_score", "no", None) => &mut self.btts_no,
            _ => return None,
        })
    }
}

impl ConsensusOdds {
    pub(in crate::rest) fn new(record: &MatchRecord, quotes: &[OddsRow]) -> Self {
        let last = quotes.iter().map(|quote| quote.received_us).max();
        Self {
            event_id: record.summary.id,
            odds: MainOdds::new(record, quotes),
            formatted: None,
            last_update_at: last.and_then(time::zulu),
            next_update_at: None,
            update_interval_seconds: None,
            update_reason: reason(record.summary.status, quotes.is_empty()),
        }
    }
}

fn reason(status: Status, is_empty: bool) -> &'static str {
    match status {
        _ if status.is_over() => "no further updates scheduled",
        Status::Postponed => "match is postponed",
        _ if status.is_live() => "match is in play",
        _ if is_empty => "no bookmaker has priced the match",
        _ => "prices are passed on as bookmakers change them",
    }
}

endpoints! {
    /// Consensus odds of a match: the median of what bookmakers offer.
    "/api/v2/events/{id}/odds/", params(PRICES_OF_EVENT), answers(ConsensusOdds),
        or(status = 400, description = "Unknown parameter"),
        or(status = 404, description = "No such event"),
        |request| odds(&request).await;
}

async fn odds(request: &ApiRequest) -> ApiResult {
    let record = football_record(&request.api, request.id()?).await?;
    let quotes = quotes(&request.api, &record).await?;
    let format = FormatParams::read(&request.params)?.odds_format;
    let consensus = ConsensusOdds::new(&record, &quotes);
    let formatted = format.map(|format| consensus.odds.formatted(format));
    request.answer(CacheControl::ODDS, &ConsensusOdds { formatted, ..consensus })
}
