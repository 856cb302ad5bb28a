//! What sums over many matches need of each of them beyond its brief: cards, fouls, possession,
//! formations. Read from the record once, and remembered while the match stays as it is.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use fanout::Micros;

use super::matches::Matches;
use crate::{
    api::ApiError,
    record::{FootballRecord, Key, MatchRecord, MatchSummary},
};

/// Matches of which it is remembered; each takes some hundred bytes. Beyond that all is forgotten and
/// read again.
const SHEETS_MAX: usize = 100_000;

/// Of one match. `None` is what nobody told.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::api) struct Sheet {
    pub yellow: Option<[u32; 2]>,
    pub red: Option<[u32; 2]>,
    pub fouls: Option<[u32; 2]>,
    pub possession: Option<[u32; 2]>,
    pub shots: Option<[u32; 2]>,
    pub shots_on_target: Option<[u32; 2]>,
    pub corners: Option<[u32; 2]>,
    pub formations: [Option<Arc<str>>; 2],
}

/// Sheets by match, each with when the match changed last; clones share them.
#[derive(Debug, Clone, Default)]
pub(in crate::api) struct Sheets {
    known: Arc<Mutex<HashMap<Key, (Micros, Sheet)>>>,
}

impl Sheets {
    /// Of these matches.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub(super) async fn of(
        &self,
        matches: &Matches<'_>,
        briefs: &[Arc<MatchSummary>],
    ) -> Result<HashMap<Key, Sheet>, ApiError> {
        let mut sheets = HashMap::with_capacity(briefs.len());
        let mut missing = Vec::new();
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            for brief in briefs {
                match known.get(&brief.id) {
                    Some((updated, sheet)) if *updated == brief.updated => {
                        sheets.insert(brief.id, sheet.clone());
                    }
                    Some(_) | None => missing.push(Arc::clone(brief)),
                }
            }
        }
        let read = matches.records(&missing).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() + read.len() > SHEETS_MAX {
            known.clear();
        }
        for record in read {
            let sheet = Sheet::of(&record);
            known.insert(record.brief.id, (record.brief.updated, sheet.clone()));
            sheets.insert(record.brief.id, sheet);
        }
        Ok(sheets)
    }
}

impl Sheet {
    fn of(record: &MatchRecord) -> Self {
        let Some(football) = record.play.football() else { return Self::default() };
        let stat = |name: &str| match football.stats.each_ref().map(|side| side.get(name)) {
            [None, None] => None,
            told => Some(told.map(|count| count.copied().unwrap_or_default())),
        };
        let cards =
            |kinds: &[&str]| (!football.incidents.is_empty()).then(|| count(football, kinds));
        Self {
            yellow: stat("yellow_cards").or_else(|| cards(&["yellow", "second_yellow"])),
            red: stat("red_cards").or_else(|| cards(&["red", "second_yellow"])),
            fouls: stat("fouls"),
            possession: stat("ball_possession"),
            shots: stat("total_shots"),
            shots_on_target: stat("shots_on_target"),
            corners: stat("corner_kicks"),
            formations: football.line_ups.each_ref().map(|it| it.as_ref()?.formation.clone()),
        }
    }
}

fn count(football: &FootballRecord, kinds: &[&str]) -> [u32; 2] {
    let mut counts = [0; 2];
    for it in football.incidents.iter().filter(|it| it.retracted.is_none()) {
        if let (true, Some(side)) = (kinds.contains(&&*it.kind), it.side)
            && let Some(count) = counts.get_mut(usize::from(side))
        {
            *count += 1;
        }
    }
    counts
}
