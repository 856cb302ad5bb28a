//! Matches as they stand at one moment.
//!
//! One rule decides between two states of the same match: what the hub knows of it counts, and what is
//! kept of it counts once the hub has let go of it. A list that asks here has a match from the moment
//! at which the list of live ones has it, however long the archive takes to write it down.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ingest::event::Sport;
use rustc_hash::FxHashMap;

use super::{Api, ApiError};
use crate::{
    archive::{Condition, Filter, MatchPage, Window},
    record::{Key, MatchRecord, MatchSummary},
};

/// Two sides, whoever is at home.
pub(super) fn pair(sides: [Key; 2]) -> [Key; 2] {
    let [a, b] = sides;
    [a.min(b), a.max(b)]
}

/// Of one sport, or of all.
#[derive(Debug)]
pub(super) struct View<'a> {
    api: &'a Api,
    sport: Option<Sport>,
    fresh: FxHashMap<Key, Arc<MatchRecord>>,
    briefs: Vec<Arc<MatchSummary>>,
}

impl<'a> View<'a> {
    pub(super) fn now(api: &'a Api, sport: Option<Sport>) -> Self {
        let sports = sport.map_or_else(|| Sport::ALL.to_vec(), |sport| vec![sport]);
        let fresh: Vec<_> = sports.into_iter().flat_map(|sport| api.reader.all(sport)).collect();
        let briefs = fresh.iter().map(|record| Arc::clone(&record.brief)).collect();
        let fresh = fresh.into_iter().map(|record| (record.brief.id, record)).collect();
        Self { api, sport, fresh, briefs }
    }

    /// The same with one match as it is handed in, so that an answer is of the state that its position
    /// says.
    pub(super) fn with(mut self, record: Arc<MatchRecord>) -> Self {
        self.briefs.retain(|brief| brief.id != record.brief.id);
        self.briefs.push(Arc::clone(&record.brief));
        self.fresh.insert(record.brief.id, record);
        self
    }

    /// The matches that a filter lets through, whatever sport it names.
    pub(super) fn find(&self, filter: &Filter, window: Window) -> MatchPage {
        self.find_with(filter, window, None)
    }

    /// Those of them that one more condition lets through, if there is one.
    pub(super) fn find_with(
        &self,
        filter: &Filter,
        window: Window,
        also: Option<Condition<'_>>,
    ) -> MatchPage {
        let filter = Filter { sport: self.sport.or(filter.sport), ..filter.clone() };
        self.api.archive.find_under(&self.briefs, &filter, window, also)
    }

    /// All that a filter lets through.
    pub(super) fn all(&self, filter: &Filter) -> Vec<Arc<MatchSummary>> {
        self.find(filter, Window::ALL).briefs
    }

    /// The matches in which each two of these meet, by start and id.
    pub(super) fn meetings(
        &self,
        pairs: &HashSet<[Key; 2]>,
    ) -> HashMap<[Key; 2], Vec<Arc<MatchSummary>>> {
        let mut meetings = self.api.archive.meetings(pairs);
        for met in meetings.values_mut() {
            met.retain(|brief| !self.fresh.contains_key(&brief.id));
        }
        for brief in &self.briefs {
            if let Some(met) = brief.sides.and_then(|sides| meetings.get_mut(&pair(sides))) {
                met.push(Arc::clone(brief));
                met.sort_by_key(|it| (it.start.is_none(), it.start, it.id));
            }
        }
        let is_of = |it: &MatchSummary| self.sport.is_none_or(|sport| it.sport == sport);
        meetings.values_mut().for_each(|met| met.retain(|brief| is_of(brief)));
        meetings
    }

    /// As the hub knows it now.
    pub(super) fn fresh(&self, id: Key) -> Option<&Arc<MatchRecord>> {
        self.fresh.get(&id)
    }

    /// All that the hub knows now.
    pub(super) fn all_fresh(&self) -> impl Iterator<Item = &Arc<MatchRecord>> {
        self.fresh.values()
    }

    /// All that is known of these matches, in this order; those that are not known are left out.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub(super) async fn records(
        &self,
        briefs: &[Arc<MatchSummary>],
    ) -> Result<Vec<Arc<MatchRecord>>, ApiError> {
        let kept = self.api.archive.records(&self.parted(briefs)).await?;
        Ok(self.in_order(briefs, kept))
    }

    /// The same, of what is kept without prices, line-ups, players and shots: a fifth of the work.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub(super) async fn records_without_detail(
        &self,
        briefs: &[Arc<MatchSummary>],
    ) -> Result<Vec<Arc<MatchRecord>>, ApiError> {
        let kept = self.api.archive.records_without_detail(&self.parted(briefs)).await?;
        Ok(self.in_order(briefs, kept))
    }

    /// Those of these that the hub does not know any more.
    fn parted(&self, briefs: &[Arc<MatchSummary>]) -> Vec<Key> {
        let ids = briefs.iter().map(|brief| brief.id);
        ids.filter(|id| !self.fresh.contains_key(id)).collect()
    }

    fn in_order(
        &self,
        briefs: &[Arc<MatchSummary>],
        kept: Vec<Arc<MatchRecord>>,
    ) -> Vec<Arc<MatchRecord>> {
        let kept: FxHashMap<_, _> = kept.into_iter().map(|it| (it.brief.id, it)).collect();
        let record = |id: Key| self.fresh.get(&id).or_else(|| kept.get(&id)).map(Arc::clone);
        briefs.iter().filter_map(|brief| record(brief.id)).collect()
    }

    /// All that is known of a match.
    ///
    /// # Errors
    ///
    /// If there is no such match, or the archive fails.
    pub(super) async fn record(&self, id: Key) -> Result<Arc<MatchRecord>, ApiError> {
        let record = match self.fresh.get(&id) {
            Some(record) => Some(Arc::clone(record)),
            None => self.api.archive.record(id).await?,
        };
        let is_of = |it: &Arc<MatchRecord>| self.sport.is_none_or(|sport| it.brief.sport == sport);
        record.filter(is_of).ok_or(ApiError::NotFound)
    }
}
