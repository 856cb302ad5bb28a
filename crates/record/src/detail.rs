//! The parts of a record that are stored separately: its summary, the outline that lists of whole matches need too, and the
//! detail that they omit, which is most of its size.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    AnalysisRecord, LineUpRecord, MatchRecord, MatchSummary, Names, PlayRecord, PlayerRecord,
    PriceRecord,
};

/// The fields of a record between its summary and its detail.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outline<'a> {
    refs: Cow<'a, BTreeMap<Arc<str>, Arc<str>>>,
    names: Cow<'a, Names>,
    play: Cow<'a, PlayRecord>,
}

/// The fields of a record that its outline does not have; those of football are `omitted` in the
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
    /// Splits a record into its outline and its detail.
    pub fn split(&self) -> (Outline<'_>, Detail<'_>) {
        let mut detail = Detail { prices: Cow::Borrowed(&self.prices), ..Detail::default() };
        let play = match &self.play {
            PlayRecord::Football(football) => {
                detail.line_ups = Cow::Borrowed(&football.line_ups);
                detail.players = Cow::Borrowed(&football.players);
                detail.analysis = football.analysis.as_deref().map(Cow::Borrowed);
                Cow::Owned(PlayRecord::Football(Box::new(football.summary())))
            }
            play @ (PlayRecord::Tennis(_)
            | PlayRecord::Scoreboard(_)
            | PlayRecord::Race(_)
            | PlayRecord::None) => Cow::Borrowed(play),
        };
        let (refs, names) = (Cow::Borrowed(&self.refs), Cow::Borrowed(&self.names));
        (Outline { refs, names, play }, detail)
    }

    /// The record without its detail.
    #[must_use]
    pub fn from_outline(summary: MatchSummary, outline: Outline<'_>) -> Self {
        Self {
            summary: Arc::new(summary),
            refs: outline.refs.into_owned(),
            names: outline.names.into_owned(),
            play: outline.play.into_owned(),
            prices: Vec::new(),
            freshness: None,
        }
    }

    /// Adds the detail.
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
