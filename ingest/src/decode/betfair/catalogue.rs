//! Betfair's `listMarketCatalogue`: the names of markets, of their events and runners, which the stream does not have.
//!
//! The format is that of Betfair's Betting API (REST form: a bare list of `MarketCatalogue`). What a market does not have is
//! `None` or empty.

use std::{borrow::Cow, str::FromStr, sync::Arc};

use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::Number;

use super::{RunnerKey, StreamMarketDefinition};
use crate::error::{DecodeError, RefusalKind, Result};

/// The names of one market.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogueMarket {
    pub market_id: Arc<str>,
    market_name: Option<String>,
    event: Option<NamedEvent>,
    competition: Option<NamedCompetition>,
    #[serde(default)]
    runners: Vec<NamedRunner>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct NamedEvent {
    name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct NamedCompetition {
    id: String,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedRunner {
    selection_id: u64,
    runner_name: Option<String>,
    handicap: Option<Number>,
}

/// Whether this is a catalogue rather than a line of the stream: a list, and of objects if it is not empty.
#[must_use]
pub fn is_catalogue(message: &[u8]) -> bool {
    let Some(rest) = message.strip_prefix(b"[") else { return false };
    matches!(rest.trim_ascii_start().first(), Some(b'{' | b']'))
}

/// Reads a catalogue.
///
/// # Errors
///
/// When it is not one.
pub fn decode(message: &[u8]) -> Result<Vec<CatalogueMarket>> {
    serde_json::from_slice(message).map_err(|error| {
        let reason = format!("no catalogue of markets: {error}");
        DecodeError::new(RefusalKind::Value, reason)
    })
}

impl CatalogueMarket {
    /// Adds the names to a definition that has none.
    pub fn name(&self, definition: &mut StreamMarketDefinition<'_>) {
        let owned = |text: &Option<String>| text.clone().map(Cow::Owned);
        if definition.name.is_none() {
            definition.name = owned(&self.market_name);
        }
        if definition.event_name.is_none() {
            definition.event_name = self.event.as_ref().and_then(|event| owned(&event.name));
        }
        definition.competition = self
            .competition
            .as_ref()
            .map(|NamedCompetition { id, name }| [id.clone().into(), name.clone().into()]);
        for runner in definition.runners.iter_mut().filter(|runner| runner.name.is_none()) {
            let named = self.runners.iter().find(|named| named.key() == runner.key);
            runner.name = named.and_then(|named| owned(&named.runner_name));
        }
    }
}

impl NamedRunner {
    fn key(&self) -> RunnerKey {
        let handicap = self.handicap.as_ref().map(Number::to_string);
        let hc = handicap.and_then(|text| Decimal::from_str(&text).ok()).unwrap_or_default();
        RunnerKey { id: self.selection_id, hc }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::betfair::RunnerDefinition;

    #[test]
    fn names_are_added_where_there_are_none() {
        let catalogue = br#"[{"marketId":"1.2","marketName":"Match Odds","totalMatched":5.0,
            "competition":{"id":"10932509","name":"English Premier League"},
            "event":{"id":"30","name":"Arsenal v Everton","countryCode":"GB","openDate":"2026-11-28T15:00:00.000Z"},
            "runners":[{"selectionId":7,"runnerName":"Arsenal","handicap":0.0,"sortPriority":1},
                       {"selectionId":8,"runnerName":"Everton","handicap":-0.5,"sortPriority":2}]}]"#;
        assert!(is_catalogue(catalogue) && is_catalogue(b"[]"));
        assert!(!is_catalogue(b"[1,2") && !is_catalogue(b"{}"));
        let markets = decode(catalogue).expect("a catalogue");
        let runner = |id, tenths, name: Option<&'static str>| RunnerDefinition {
            key: RunnerKey { id, hc: Decimal::new(tenths, 1) },
            name: name.map(Cow::Borrowed),
            status: None,
            ..RunnerDefinition::default()
        };
        let mut definition = StreamMarketDefinition {
            runners: vec![
                runner(7, 0, None),
                runner(8, -5, None),
                runner(8, 5, None),
                runner(7, 0, Some("own")),
            ],
            ..StreamMarketDefinition::default()
        };
        markets[0].name(&mut definition);
        assert_eq!(definition.name.as_deref(), Some("Match Odds"));
        assert_eq!(definition.event_name.as_deref(), Some("Arsenal v Everton"));
        let competition = definition.competition.expect("a competition");
        assert_eq!(competition, ["10932509", "English Premier League"]);
        let names: Vec<_> = definition.runners.iter().map(|it| it.name.as_deref()).collect();
        assert_eq!(names, [Some("Arsenal"), Some("Everton"), None, Some("own")]);
    }

    #[test]
    fn other_answers_are_refused() {
        for answer in [r#"[{"marketName":"x"}]"#, "[5]", "[", r#"{"faultstring":"ANGX-0003"}"#] {
            assert!(decode(answer.as_bytes()).is_err(), "{answer}");
        }
        assert_eq!(decode(b"[]"), Ok(Vec::new()));
    }
}
