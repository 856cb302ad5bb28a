//! Matches as they are at one moment.
//!
//! One rule decides between two states of the same match: the hub's state counts as long as the hub has
//! the match, then the archived one. A list has a match as soon as the list of live matches has it,
//! however long the archive takes to write it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use facts::event::Sport;
use rustc_hash::FxHashMap;

use super::{History, MatchPage, MatchQuery, Window};
use record::{Key, MatchRecord, MatchSummary};

/// Two sides in the same order, whichever of them is at home.
#[must_use]
pub fn pair(sides: [Key; 2]) -> [Key; 2] {
    let [a, b] = sides;
    [a.min(b), a.max(b)]
}

/// The matches of one sport, or of all, at one moment.
#[derive(Debug)]
pub struct View<'a> {
    history: &'a History,
    sport: Option<Sport>,
    current: FxHashMap<Key, Arc<MatchRecord>>,
    summaries: Vec<Arc<MatchSummary>>,
}

impl<'a> View<'a> {
    /// The matches as they are now.
    #[must_use]
    pub fn now(history: &'a History, sport: Option<Sport>) -> Self {
        let sports = sport.map_or_else(|| Sport::ALL.to_vec(), |sport| vec![sport]);
        let current: Vec<_> =
            sports.into_iter().flat_map(|sport| history.reader.all(sport)).collect();
        let summaries = current.iter().map(|record| Arc::clone(&record.summary)).collect();
        let current = current.into_iter().map(|record| (record.summary.id, record)).collect();
        Self { history, sport, current, summaries }
    }

    /// The same view, with this state of one match.
    #[must_use]
    pub fn with(mut self, record: Arc<MatchRecord>) -> Self {
        self.summaries.retain(|summary| summary.id != record.summary.id);
        self.summaries.push(Arc::clone(&record.summary));
        self.current.insert(record.summary.id, record);
        self
    }

    /// The matches that a query selects, in its window.
    #[must_use]
    pub fn find(&self, query: &MatchQuery) -> MatchPage {
        let query = MatchQuery { sport: self.sport.or(query.sport), ..query.clone() };
        self.history.archive.find_under(&self.summaries, &query)
    }

    /// All matches that a query selects, ignoring its window.
    #[must_use]
    pub fn all(&self, query: &MatchQuery) -> Vec<Arc<MatchSummary>> {
        self.find(&MatchQuery { window: Window::ALL, ..query.clone() }).summaries
    }

    /// The number of matches that a query selects.
    #[must_use]
    pub fn count(&self, query: &MatchQuery) -> usize {
        self.find(&MatchQuery { window: Window::COUNT, ..query.clone() }).count
    }

    /// All matches that a query selects and that the hub no longer has.
    #[must_use]
    pub fn archived(&self, query: &MatchQuery) -> Vec<Arc<MatchSummary>> {
        let mut summaries = self.all(query);
        summaries.retain(|summary| !self.current.contains_key(&summary.id));
        summaries
    }

    /// The matches between the two sides of each pair, by start and id.
    #[must_use]
    pub fn meetings(&self, pairs: &HashSet<[Key; 2]>) -> HashMap<[Key; 2], Vec<Arc<MatchSummary>>> {
        let mut meetings = self.history.archive.meetings(pairs);
        for met in meetings.values_mut() {
            met.retain(|summary| !self.current.contains_key(&summary.id));
        }
        for summary in &self.summaries {
            if let Some(met) = summary.sides.and_then(|sides| meetings.get_mut(&pair(sides))) {
                met.push(Arc::clone(summary));
                met.sort_by_key(|it| (it.start.is_none(), it.start, it.id));
            }
        }
        let is_of = |it: &MatchSummary| self.sport.is_none_or(|sport| it.sport == sport);
        meetings.values_mut().for_each(|met| met.retain(|summary| is_of(summary)));
        meetings
    }

    /// The current record of a match that the hub has.
    #[must_use]
    pub fn fresh(&self, id: Key) -> Option<&Arc<MatchRecord>> {
        self.current.get(&id)
    }

    /// The current records of all matches that the hub has.
    pub fn all_fresh(&self) -> impl Iterator<Item = &Arc<MatchRecord>> {
        self.current.values()
    }

    /// The complete records of the matches that a query has found, in this order. Missing ones are left out, and those that the
    /// query no longer selects, because they changed meanwhile.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn records(
        &self,
        query: &MatchQuery,
        found: &[Arc<MatchSummary>],
    ) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        let ids: Vec<_> = found.iter().map(|summary| summary.id).collect();
        let archived = self.history.archived(&self.missing(&ids)).await?;
        Ok(self.in_order(query, &ids, archived))
    }

    /// Like [`Self::records`], but archived ones come without prices, line-ups, players and shots, which
    /// takes a fifth of the work.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn records_without_detail(
        &self,
        query: &MatchQuery,
        ids: &[Key],
    ) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        let archived = self.history.archive.records_without_detail(&self.missing(ids)).await?;
        Ok(self.in_order(query, ids, archived))
    }

    /// The matches of these that the hub no longer has.
    fn missing(&self, ids: &[Key]) -> Vec<Key> {
        ids.iter().copied().filter(|id| !self.current.contains_key(id)).collect()
    }

    fn in_order(
        &self,
        query: &MatchQuery,
        ids: &[Key],
        archived: Vec<Arc<MatchRecord>>,
    ) -> Vec<Arc<MatchRecord>> {
        let archived: FxHashMap<_, _> =
            archived.into_iter().map(|it| (it.summary.id, it)).collect();
        let record = |id: &Key| self.current.get(id).or_else(|| archived.get(id)).map(Arc::clone);
        ids.iter().filter_map(record).filter(|record| query.selects(&record.summary)).collect()
    }

    /// The complete record of a match of this view.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn record(&self, id: Key) -> sqlx::Result<Option<Arc<MatchRecord>>> {
        let record = match self.current.get(&id) {
            Some(record) => Some(Arc::clone(record)),
            None => self.history.archived(&[id]).await?.pop(),
        };
        let is_of =
            |it: &Arc<MatchRecord>| self.sport.is_none_or(|sport| it.summary.sport == sport);
        Ok(record.filter(is_of))
    }
}
