//! The fields of a record that lists of matches omit. They make up most of its size, so they are
//! stored separately.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{AnalysisRecord, LineUpRecord, MatchRecord, PlayRecord, PlayerRecord, PriceRecord};

/// The fields of a record that its summary does not have; those of football are `omitted` in the
/// table of [`FootballRecord`](super::FootballRecord).
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Detail<'a> {
    prices: Cow<'a, [PriceRecord]>,
    /// Football only.
    line_ups: Cow<'a, [Option<LineUpRecord>; 2]>,
    players: Cow<'a, [PlayerRecord]>,
    analysis: Option<Cow<'a, AnalysisRecord>>,
}

impl MatchRecord {
    /// Splits a record into its summary and its detail.
    pub fn split(&self) -> (Self, Detail<'_>) {
        let mut detail = Detail { prices: Cow::Borrowed(&self.prices), ..Detail::default() };
        let play = match &self.play {
            PlayRecord::Football(football) => {
                detail.line_ups = Cow::Borrowed(&football.line_ups);
                detail.players = Cow::Borrowed(&football.players);
                detail.analysis = football.analysis.as_deref().map(Cow::Borrowed);
                PlayRecord::Football(Box::new(football.summary()))
            }
            PlayRecord::Tennis(_)
            | PlayRecord::Scoreboard(_)
            | PlayRecord::Race(_)
            | PlayRecord::None => self.play.clone(),
        };
        let summary = Self {
            brief: Arc::clone(&self.brief),
            refs: self.refs.clone(),
            names: self.names.clone(),
            play,
            prices: Vec::new(),
            freshness: self.freshness,
        };
        (summary, detail)
    }

    /// Completes a summary with its detail.
    pub fn complete(&mut self, detail: Detail<'_>) {
        let Detail { prices, line_ups, players, analysis } = detail;
        self.prices = prices.into_owned();
        if let PlayRecord::Football(football) = &mut self.play {
            football.line_ups = line_ups.into_owned();
            football.players = players.into_owned();
            football.analysis = analysis.map(|it| Box::new(it.into_owned()));
        }
    }
}
