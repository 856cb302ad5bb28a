//! A snapshot of the football matches, with the earlier meetings of their sides and all names. All
//! sibling modules that list or sum matches use it, so responses of one moment agree.

use std::{
    collections::{HashMap, HashSet},
    ops::Deref,
    sync::Arc,
};

use facts::event::Sport;
use fanout::Micros;

use super::{event::Event, head_to_head::HeadToHead, leg};
use crate::{
    clock::now,
    rest::{Api, ApiError, ApiRequest, time},
};
use history::query::{Entity, EntityKind, View, pair};
use record::{Key, MatchRecord, MatchSummary};

/// The [`View`] of football.
#[derive(Debug)]
pub(in crate::rest) struct Matches<'a> {
    pub api: &'a Api,
    pub now: Micros,
    view: View<'a>,
}

impl<'a> Deref for Matches<'a> {
    type Target = View<'a>;

    fn deref(&self) -> &View<'a> {
        &self.view
    }
}

impl<'a> Matches<'a> {
    pub(in crate::rest) fn now(api: &'a Api) -> Self {
        Self { api, now: now(), view: View::now(&api.history, Some(Sport::Football)) }
    }

    /// The same, and the entity in the path of a request.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(super) fn for_entity(
        request: &'a ApiRequest,
        kind: EntityKind,
    ) -> Result<(Self, Arc<Entity>), ApiError> {
        let matches = Self::now(&request.api);
        let entity = matches.entity(kind, request.id()?)?;
        Ok((matches, entity))
    }

    /// A view in which one match is as it is handed in, so that an answer is of the state that its
    /// position says.
    pub(in crate::rest) fn with(api: &'a Api, record: Option<Arc<MatchRecord>>) -> Self {
        let Self { api, now, view } = Self::now(api);
        let view = match record {
            Some(record) => view.with(record),
            None => view,
        };
        Self { api, now, view }
    }

    /// The rows of these matches, with how their sides met before.
    pub(super) fn rows(&self, summaries: &[Arc<MatchSummary>]) -> Vec<Event> {
        let meetings = self.meetings(summaries);
        let row = |summary: &Arc<MatchSummary>| {
            let met = summary.sides.and_then(|sides| meetings.get(&pair(sides)));
            self.row_of(summary, met.map(Vec::as_slice).unwrap_or_default())
        };
        summaries.iter().map(row).collect()
    }

    /// The row of one match.
    pub(super) fn row(&self, summary: &Arc<MatchSummary>) -> Event {
        let meetings = self.meetings(std::slice::from_ref(summary));
        self.row_of(summary, &meetings.into_values().next().unwrap_or_default())
    }

    fn row_of(&self, summary: &MatchSummary, met: &[Arc<MatchSummary>]) -> Event {
        let event = Event::new(self, summary, HeadToHead::new(self, summary, met, date));
        Event { previous_leg_event_id: leg::previous(summary, met), ..event }
    }

    /// How the sides of one match met before. `date`: how the starts of the meetings are shown.
    pub(in crate::rest) fn head_to_head(
        &self,
        summary: &Arc<MatchSummary>,
        date: impl Fn(&MatchSummary) -> Option<String>,
    ) -> HeadToHead {
        let meetings = self.meetings(std::slice::from_ref(summary));
        let met = meetings.into_values().next().unwrap_or_default();
        HeadToHead::new(self, summary, &met, date)
    }

    /// Every match with a result of the sides of these, by start and id.
    fn meetings(&self, listed: &[Arc<MatchSummary>]) -> HashMap<[Key; 2], Vec<Arc<MatchSummary>>> {
        let pairs = listed.iter().filter_map(|summary| summary.sides.map(pair));
        let pairs: HashSet<_> = pairs.collect();
        let mut meetings = self.view.meetings(&pairs);
        meetings.values_mut().for_each(|met| met.retain(|summary| summary.status.has_result()));
        meetings
    }

    /// A football team, a league, a player.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(super) fn entity(&self, kind: EntityKind, id: Key) -> Result<Arc<Entity>, ApiError> {
        let entity = self.api.history.entity(kind, id);
        entity.filter(|it| it.sport == Sport::Football).ok_or(ApiError::NotFound)
    }

    /// All of a kind that a condition lets through.
    pub(super) fn entities(
        &self,
        kind: EntityKind,
        condition: impl Fn(&Entity) -> bool,
    ) -> Vec<Arc<Entity>> {
        self.api.history.entities(kind, |it| it.sport == Sport::Football && condition(it))
    }

    /// The name of an entity, or an empty text.
    pub(super) fn name(&self, kind: EntityKind, id: Key) -> String {
        self.api.history.name(kind, id).unwrap_or_default()
    }

    pub(super) fn team_name(&self, id: Key) -> String {
        self.name(EntityKind::Team, id)
    }
}

/// The start of a match as version 2 shows it.
pub(super) fn date(summary: &MatchSummary) -> Option<String> {
    summary.start_text(time::offset)
}
