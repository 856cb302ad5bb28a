//! `/api/v2/search/`: everything of football with a name.

use std::{cmp::Reverse, sync::Arc};

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    request::{self, football},
    snapshot::Matches,
};
use crate::rest::{ApiError, ApiRequest, ApiResult, CacheControl, Page, Spec, match_filter, time};
use base::{Micros, names::NamePart};
use history::query::{Entity, EntityKind, MatchQuery, Window};
use record::{Key, MatchSummary};

/// Characters of a text, at least: one is in nearly every name.
const CHARS_MIN: usize = 2;

/// Matches that are listed, at most.
const MATCHES_MAX: usize = 10;

/// Matches of a team that was found are listed if they start within this time of now.
const NEAR_US: Micros = 14 * 24 * 60 * 60 * 1_000_000;

/// Teams whose matches are listed: those that fit best.
const TEAMS_MAX: usize = 5;

/// What is searched, by its word in `type` and in results.
const KINDS: [(&str, EntityKind); 6] = [
    ("team", EntityKind::Team),
    ("league", EntityKind::Competition),
    ("player", EntityKind::Player),
    ("manager", EntityKind::Manager),
    ("referee", EntityKind::Referee),
    ("venue", EntityKind::Venue),
];

const MATCH: &str = "match";

/// Something that was found.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct SearchResult {
    /// `team`, `league`, `player`, `manager`, `referee`, `venue` or `match`.
    #[serde(rename = "type")]
    kind: &'static str,
    id: Key,
    /// Of a match `Alpha v Beta`.
    name: String,
    /// What tells it from others of its name: its country, a player's team, a match's league.
    context: Option<String>,
    /// The start of a match.
    event_date: Option<String>,
}

/// A result before it is shown: there may be thousands, of which a page shows few.
enum SearchHit {
    /// With its word in results.
    Entity(&'static str, Arc<Entity>),
    Match(Arc<MatchSummary>),
}

params! {
    struct SearchParams {
        #[required]
        q: Query = "A name or a part of it, at least two characters; `Alpha v Beta` for matches",
        kinds as "type": SearchTypes = "Only these, separated by commas: team, league, player, manager, referee, venue, match",
    }
}

const SPEC: Spec = request::spec(&[SearchParams::PARAMS]).paged();

endpoints! {
    /// Teams, leagues, people, venues and matches of football by name, the best fit first. Case, marks and spelling do not matter.
    "/api/v2/search/", params(SPEC), answers(Page<SearchResult>), |request| search(&request);
}

fn search(request: &ApiRequest) -> ApiResult {
    let expected = "q is to be a text of at least two characters.";
    let SearchParams { q, kinds } = SearchParams::read(&request.params)?;
    let text = q.filter(|text| text.chars().count() >= CHARS_MIN);
    let text = text.ok_or_else(|| ApiError::BadParameter(expected.to_owned()))?;
    let is_wanted = |kind: &str| kinds.is_empty() || kinds.contains(&kind);
    let matches = Matches::now(&request.api);
    let part = NamePart::new(&text);
    let mut entities: Vec<(_, &'static str, Arc<Entity>)> = Vec::new();
    for (kind, entity_kind) in KINDS.into_iter().filter(|(kind, _)| is_wanted(kind)) {
        let named = matches.entities(entity_kind, |entity| part.is_in(&entity.name));
        entities.extend(named.into_iter().map(|it| (part.fit(&it.name), kind, it)));
    }
    entities.sort_by_key(|(fit, _, entity)| (Reverse(*fit), entity.name.len()));
    let entities = entities.into_iter().map(|(_, kind, entity)| SearchHit::Entity(kind, entity));
    let mut found: Vec<_> = entities.collect();
    if is_wanted(MATCH) {
        // Behind the best, since there may be hundreds of others.
        let others = found.split_off(found.len().min(TEAMS_MAX));
        found.extend(found_matches(request, &matches, &text).into_iter().map(SearchHit::Match));
        found.extend(others);
    }
    request.page_of(CacheControl::LIST, found, |found| match found {
        SearchHit::Entity(kind, entity) => SearchResult::from_entity(&matches, kind, &entity),
        SearchHit::Match(summary) => SearchResult::from_match(&matches, &summary),
    })
}

/// The words of `type`.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(word, _)| *word).chain([MATCH])
}

/// The matches between two sides, the latest first; of one side, those nearest to now.
fn found_matches(
    request: &ApiRequest,
    matches: &Matches<'_>,
    text: &str,
) -> Vec<Arc<MatchSummary>> {
    let sides = |text| {
        let mut teams =
            match_filter::sides_named(&request.api.history, Some(Sport::Football), text);
        teams.truncate(TEAMS_MAX);
        teams
    };
    match match_filter::sides(text) {
        Some(pair) => {
            let latest = MatchQuery {
                meeting: Some(pair.map(sides)),
                newest_first: true,
                window: Window { offset: 0, limit: MATCHES_MAX },
                ..football()
            };
            matches.find(&latest).summaries
        }
        None => {
            let near = MatchQuery {
                teams: Some(sides(text)),
                from: Some(matches.now - NEAR_US),
                before: Some(matches.now + NEAR_US),
                ..football()
            };
            let mut near = matches.all(&near);
            near.sort_by_key(|summary| summary.start.map(|start| (start - matches.now).abs()));
            near.truncate(MATCHES_MAX);
            near
        }
    }
}

impl SearchResult {
    fn from_entity(matches: &Matches<'_>, kind: &'static str, entity: &Entity) -> Self {
        let team = entity.parent.filter(|_| entity.kind != EntityKind::Venue);
        let team = team.and_then(|team| matches.api.history.name(EntityKind::Team, team));
        let country = Some(country::name_or_empty(entity.country.as_deref()));
        Self {
            kind,
            id: entity.id,
            name: entity.name.to_string(),
            context: team.or(country).filter(|context| !context.is_empty()),
            event_date: None,
        }
    }

    fn from_match(matches: &Matches<'_>, summary: &MatchSummary) -> Self {
        let name = |side: usize| summary.sides.map(|sides| matches.team_name(sides[side]));
        let [home, away] = [name(0), name(1)].map(Option::unwrap_or_default);
        Self {
            kind: MATCH,
            id: summary.id,
            name: format!("{home} v {away}"),
            context: summary.competition.map(|it| matches.name(EntityKind::Competition, it)),
            event_date: summary.start_text(time::offset),
        }
    }
}
