//! What the hub has of a source, for the source itself, which goes on after a restart.

use std::sync::Arc;

use facts::event::{Fact, MarketChange, MarketDefinition, OddsFact};
use fanout::Micros;
use ingest::normalize::KnownMatch;

use super::{Hub, feeds::SourceNumber};

/// What the hub has of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceFacts {
    /// The time of its last message, if there was one.
    pub last: Option<Micros>,
    /// Its matches with their markets, in no order.
    pub matches: Vec<KnownMatch>,
}

impl Hub {
    /// What the hub has of a source, with the sides as the source has them.
    #[must_use]
    pub fn source_facts(&self, source: SourceNumber) -> SourceFacts {
        let matches = self.matches.values().filter_map(|entry| {
            let state = &entry.state;
            let member = state.members.iter().find(|member| member.source == source)?;
            let swapped = self.mapping(member.id).swapped;
            let markets = state.open_markets(source).map(|(market, definition)| {
                let definition = if swapped { swap(definition) } else { definition };
                (market, definition)
            });
            let markets: Vec<_> = markets.collect();
            let (key, sport) = (Arc::clone(&member.key), state.sport);
            (!markets.is_empty()).then_some(KnownMatch { key, sport, markets })
        });
        SourceFacts { last: self.sources[source.0].last, matches: matches.collect() }
    }
}

/// The definition with its sides swapped, as facts are.
fn swap(definition: MarketDefinition) -> MarketDefinition {
    let (book, market) = (Arc::from(""), Arc::from(""));
    let change = MarketChange::Define(definition.clone());
    match Fact::Odds(OddsFact { book, market, change }).swapped() {
        Fact::Odds(OddsFact { change: MarketChange::Define(swapped), .. }) => swapped,
        _ => definition,
    }
}
