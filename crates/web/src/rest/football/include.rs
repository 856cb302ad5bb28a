//! `include=`: parts of matches in the response that has the matches, each in the shape of its own path.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    event::Event, incidents::Incidents, line_ups::LineUps, snapshot::Matches, stats::Stats,
};
use crate::rest::{
    Api, ApiError, ApiRequest, ApiResult,
    odds::{consensus::ConsensusOdds, quotes},
};
use history::query::{MatchPage, MatchQuery};
use record::MatchRecord;

params! {
    pub(super) struct IncludeParams { include: Parts = "Parts of each match, separated by commas: incidents, lineups, odds, refs, stats. Lists have at most 5 matches then" }
}

/// A part of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rest) enum Part {
    Incidents,
    LineUps,
    Odds,
    Refs,
    Stats,
}

/// By their words in `include`.
const PARTS: [(&str, Part); 5] = [
    ("incidents", Part::Incidents),
    ("lineups", Part::LineUps),
    ("odds", Part::Odds),
    ("refs", Part::Refs),
    ("stats", Part::Stats),
];

/// The words of `include`.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|(word, _)| *word)
}

/// A match with what `include` names.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EventRow {
    #[serde(flatten)]
    event: Event,
    /// As `events/{id}/incidents/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    incidents: Option<Incidents>,
    /// As `events/{id}/lineups/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    lineups: Option<LineUps>,
    /// As `events/{id}/odds/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    odds: Option<ConsensusOdds>,
    /// The match's id at each provider, by the provider's slug.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    refs: Option<BTreeMap<Arc<str>, Arc<str>>>,
    /// As `events/{id}/stats/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Stats>,
}

impl EventRow {
    /// Reads what is not in the record: the prices.
    pub(super) async fn new(
        api: &Api,
        event: Event,
        record: Option<&MatchRecord>,
        parts: &[Part],
    ) -> Result<Self, ApiError> {
        let wanted = |part: Part| record.filter(|_| parts.contains(&part));
        let odds = match wanted(Part::Odds) {
            Some(record) => Some(ConsensusOdds::new(record, &quotes(api, record).await?)),
            None => None,
        };
        Ok(Self {
            event,
            incidents: wanted(Part::Incidents).map(Incidents::new),
            lineups: wanted(Part::LineUps).map(LineUps::new),
            odds,
            refs: wanted(Part::Refs).map(|record| record.refs.clone()),
            stats: wanted(Part::Stats).map(Stats::new),
        })
    }
}

/// The part of a word in `include`.
pub(in crate::rest) fn part(word: &str) -> Option<Part> {
    PARTS.iter().find(|(name, _)| *name == word).map(|(_, part)| *part)
}

/// Responds with a page of a list of matches, with the requested parts.
pub(super) async fn page(
    request: &ApiRequest,
    matches: &Matches<'_>,
    query: &MatchQuery,
    found: &MatchPage,
) -> ApiResult {
    let parts = IncludeParams::read(&request.params)?.include;
    let events = matches.rows(&found.summaries);
    if parts.is_empty() {
        return request.match_page(query, found, events);
    }
    let records = matches.records(&MatchQuery::default(), &found.summaries).await?;
    let mut rows = Vec::with_capacity(events.len());
    for event in events {
        let record = records.iter().find(|record| record.summary.id == event.id);
        rows.push(EventRow::new(&request.api, event, record.map(AsRef::as_ref), &parts).await?);
    }
    request.match_page(query, found, rows)
}
