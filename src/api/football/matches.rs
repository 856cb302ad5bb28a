//! The football matches as they stand at one moment.
//!
//! One rule decides between two states of the same match: what the hub knows of it counts, and what is
//! kept of it counts once the hub has let go of it. Everything in this module's siblings that lists or
//! sums matches asks here, so no two answers made at one moment differ.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use fanout::Micros;
use ingest::event::Sport;
use rustc_hash::FxHashMap;

use super::{
    event::Event,
    head_to_head::{self, HeadToHead},
};
use crate::{
    api::{Api, ApiError},
    archive::{Condition, Entity, EntityKind, Filter, Found, Window},
    clock::now,
    record::{Brief, Key, MatchRecord},
};

/// A view of all matches.
#[derive(Debug)]
pub(super) struct Matches<'a> {
    pub api: &'a Api,
    pub now: Micros,
    fresh: FxHashMap<Key, Arc<MatchRecord>>,
    briefs: Vec<Arc<Brief>>,
}

impl<'a> Matches<'a> {
    pub(super) fn now(api: &'a Api) -> Self {
        let fresh = api.reader.all(Sport::Football);
        let briefs = fresh.iter().map(|record| Arc::new(record.brief.clone())).collect();
        let fresh = fresh.into_iter().map(|record| (record.brief.id, record)).collect();
        Self { api, now: now(), fresh, briefs }
    }

    /// A view in which one match is as it is handed in, so that an answer is of the state that its
    /// position says.
    pub(super) fn with(api: &'a Api, record: Option<Arc<MatchRecord>>) -> Self {
        let mut matches = Self::now(api);
        if let Some(record) = record {
            matches.briefs.retain(|brief| brief.id != record.brief.id);
            matches.briefs.push(Arc::new(record.brief.clone()));
            matches.fresh.insert(record.brief.id, record);
        }
        matches
    }

    /// The matches that a filter lets through.
    pub(super) fn find(&self, filter: &Filter, window: Window) -> Found {
        self.find_with(filter, window, None)
    }

    /// Those of them that one more condition lets through, if there is one.
    pub(super) fn find_with(
        &self,
        filter: &Filter,
        window: Window,
        also: Option<Condition<'_>>,
    ) -> Found {
        let filter = Filter { sport: Some(Sport::Football), ..filter.clone() };
        self.api.archive.find_under(&self.briefs, &filter, window, also)
    }

    /// All that a filter lets through.
    pub(super) fn all(&self, filter: &Filter) -> Vec<Arc<Brief>> {
        self.find(filter, Window::ALL).briefs
    }

    /// As the hub knows it now.
    pub(super) fn fresh(&self, id: Key) -> Option<&Arc<MatchRecord>> {
        self.fresh.get(&id)
    }

    /// All that the hub knows now.
    pub(super) fn all_fresh(&self) -> impl Iterator<Item = &Arc<MatchRecord>> {
        self.fresh.values()
    }

    /// All that is known of a football match.
    ///
    /// # Errors
    ///
    /// If there is no such match, or the archive fails.
    pub(super) async fn record(&self, id: Key) -> Result<Arc<MatchRecord>, ApiError> {
        let record = match self.fresh.get(&id) {
            Some(record) => Some(Arc::clone(record)),
            None => self.api.archive.record(id).await?,
        };
        record.filter(|it| it.brief.sport == Sport::Football).ok_or(ApiError::NotFound)
    }

    /// The rows of these matches, with how their sides met before.
    pub(super) fn rows(&self, briefs: &[Arc<Brief>]) -> Vec<Event> {
        let meetings = self.meetings(briefs);
        let row = |brief: &Arc<Brief>| {
            let met = brief.sides.and_then(|sides| meetings.get(&head_to_head::pair(sides)));
            let met = met.map(Vec::as_slice).unwrap_or_default();
            Event::of(self, brief, HeadToHead::of(self, brief, met))
        };
        briefs.iter().map(row).collect()
    }

    /// How the sides of one match met before.
    pub(super) fn head_to_head(&self, brief: &Arc<Brief>) -> HeadToHead {
        let meetings = self.meetings(std::slice::from_ref(brief));
        let met = meetings.into_values().next().unwrap_or_default();
        HeadToHead::of(self, brief, &met)
    }

    /// Every match with a result of the sides of these, by start and id.
    fn meetings(&self, briefs: &[Arc<Brief>]) -> HashMap<[Key; 2], Vec<Arc<Brief>>> {
        let pairs = briefs.iter().filter_map(|brief| brief.sides.map(head_to_head::pair));
        let pairs: HashSet<_> = pairs.collect();
        let mut meetings = self.api.archive.meetings(&pairs);
        for met in meetings.values_mut() {
            met.retain(|brief| !self.fresh.contains_key(&brief.id));
        }
        for brief in &self.briefs {
            if let Some(met) = brief.sides.and_then(|it| meetings.get_mut(&head_to_head::pair(it)))
            {
                met.push(Arc::clone(brief));
                met.sort_by_key(|it| (it.start.is_none(), it.start, it.id));
            }
        }
        let counts = |it: &Brief| it.sport == Sport::Football && it.status.has_result();
        meetings.values_mut().for_each(|met| met.retain(|brief| counts(brief)));
        meetings
    }

    /// A football team, a league, a player.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(super) fn entity(&self, kind: EntityKind, id: Key) -> Result<Arc<Entity>, ApiError> {
        let entity = self.api.archive.entity(kind, id);
        entity.filter(|it| it.sport == Sport::Football).ok_or(ApiError::NotFound)
    }

    /// All of a kind that a condition lets through.
    pub(super) fn entities(
        &self,
        kind: EntityKind,
        condition: impl Fn(&Entity) -> bool,
    ) -> Vec<Arc<Entity>> {
        let archive = &self.api.archive;
        archive.entities(kind, |it| it.sport == Sport::Football && condition(it))
    }

    /// What somebody or something is called, or an empty text.
    pub(super) fn name(&self, kind: EntityKind, id: Key) -> String {
        let entity = self.api.archive.entity(kind, id);
        entity.map(|it| it.name.to_string()).unwrap_or_default()
    }

    pub(super) fn team_name(&self, id: Key) -> String {
        self.name(EntityKind::Team, id)
    }
}
