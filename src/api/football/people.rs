//! People of whom sums over their matches are told: managers and referees.

use std::{collections::HashMap, sync::Arc};

use axum::{http::Uri, response::Response};
use hyper::HeaderMap;
use serde::Serialize;

use super::{
    matches::Matches,
    request::{self, Asked, football, key, with_result},
    sheets::{Sheet, Sheets},
};
use crate::{
    api::{Api, ApiError, Kept, Params, Spec},
    archive::{Entity, EntityKind, Filter, Window},
    record::{Key, MatchSummary},
};

/// What somebody is in a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Manager,
    Referee,
}

impl Role {
    fn kind(self) -> EntityKind {
        match self {
            Self::Manager => EntityKind::Manager,
            Self::Referee => EntityKind::Referee,
        }
    }

    /// The matches of one of them.
    fn of(self, id: Key) -> Filter {
        match self {
            Self::Manager => Filter { manager: Some(id), ..football() },
            Self::Referee => Filter { referee: Some(id), ..football() },
        }
    }

    /// Those of them with a result.
    pub(super) fn results(self, id: Key) -> Filter {
        Filter { statuses: with_result().statuses, ..self.of(id) }
    }

    /// Who of them stands in a match.
    fn in_match(self, brief: &MatchSummary) -> impl Iterator<Item = Key> {
        let both = match self {
            Self::Manager => brief.coaches,
            Self::Referee => [brief.referee, None],
        };
        both.into_iter().flatten()
    }
}

/// What is told of somebody: made of their matches with a result, and of the sheets of these.
pub(super) trait Person: Serialize {
    const ROLE: Role;

    fn of(person: &Entity, own: &[Arc<MatchSummary>], sheets: &HashMap<Key, Sheet>) -> Self;
}

/// All of a role that a condition lets through, and that have the matches which a request asks for
/// by `league_id` and `min_matches`.
pub(super) async fn list<T: Person>(
    asked: &Asked<'_>,
    sheets: &Sheets,
    is_asked: impl Fn(&Entity) -> bool,
) -> Result<Response, ApiError> {
    let params = &asked.params;
    let (league, least) = (params.id("league_id")?, params.number("min_matches")?);
    let least = least.map(|least| usize::try_from(least).unwrap_or(usize::MAX));
    let matches = Matches::now(asked.api);
    let mut own: HashMap<Key, Vec<Arc<MatchSummary>>> = HashMap::new();
    for brief in matches.all(&with_result()) {
        for id in T::ROLE.in_match(&brief) {
            own.entry(id).or_default().push(Arc::clone(&brief));
        }
    }
    let of = |id: Key| own.get(&id).map(Vec::as_slice).unwrap_or_default();
    let people = matches.entities(T::ROLE.kind(), |person| {
        let own = of(person.id);
        is_asked(person)
            && least.is_none_or(|least| own.len() >= least)
            && league.is_none_or(|it| own.iter().any(|brief| brief.competition == Some(it)))
    });
    let Window { offset, limit } = asked.window;
    let shown: Vec<_> = people.iter().skip(offset).take(limit).collect();
    let needed: Vec<_> = shown.iter().flat_map(|it| of(it.id)).map(Arc::clone).collect();
    let sheets = sheets.of(&matches, &needed).await?;
    let rows = shown.into_iter().map(|it| T::of(it, of(it.id), &sheets)).collect();
    Kept::REFERENCE.answer(asked.headers, &asked.page(people.len(), rows))
}

/// One of them.
pub(super) async fn detail<T: Person>(
    api: &Api,
    sheets: &Sheets,
    id: &str,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let matches = Matches::now(api);
    let person = matches.entity(T::ROLE.kind(), key(id)?)?;
    let own = matches.all(&T::ROLE.results(person.id));
    let sheets = sheets.of(&matches, &own).await?;
    Kept::REFERENCE.answer(headers, &T::of(&person, &own, &sheets))
}

const MATCHES: Spec = request::spec(&["limit", "offset"]);

/// The matches in which somebody stands and stood, the latest first.
pub(super) fn matches(
    api: &Api,
    role: Role,
    id: &str,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(api, uri, headers, MATCHES)?;
    let matches = Matches::now(api);
    let person = matches.entity(role.kind(), key(id)?)?;
    let filter = Filter { newest_first: true, ..role.of(person.id) };
    let found = matches.find(&filter, asked.window);
    Kept::LIST.answer(headers, &asked.page(found.count, matches.rows(&found.briefs)))
}
