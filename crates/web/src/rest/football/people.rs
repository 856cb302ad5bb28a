//! People with statistics over their matches: managers and referees.

use std::{collections::HashMap, sync::Arc};

use serde::Serialize;

use super::{
    match_stats::{MatchStats, MatchStatsCache},
    request::{football, with_result},
    snapshot::Matches,
};
use crate::rest::{ApiError, ApiRequest, ApiResult, CacheControl, match_filter::IdFilter};
use history::query::{Entity, EntityKind, MatchQuery, Window};
use record::{Key, MatchSummary};

/// A person's role in a match.
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

    /// The matches of a person in this role.
    fn query(self, id: Key) -> MatchQuery {
        match self {
            Self::Manager => MatchQuery { manager: Some(id), ..football() },
            Self::Referee => MatchQuery { referee: Some(id), ..football() },
        }
    }

    /// Those of them with a result.
    pub(super) fn results(self, id: Key) -> MatchQuery {
        MatchQuery { statuses: with_result().statuses, ..self.query(id) }
    }

    /// The people with this role in a match.
    fn in_match(self, summary: &MatchSummary) -> impl Iterator<Item = Key> {
        let both = match self {
            Self::Manager => summary.coaches,
            Self::Referee => [summary.referee, None],
        };
        both.into_iter().flatten()
    }
}

/// A person as a row, computed from their matches with a result and the numbers of those.
pub(super) trait Person: Serialize {
    const ROLE: Role;

    fn new(
        person: &Entity,
        matches: &[Arc<MatchSummary>],
        match_stats: &HashMap<Key, MatchStats>,
    ) -> Self;
}

/// All people with a role who pass a condition, with matches in these leagues and at least so many.
pub(super) async fn list<T: Person>(
    request: &ApiRequest,
    leagues: &IdFilter,
    least: Option<u64>,
    passes_filter: impl Fn(&Entity) -> bool,
) -> ApiResult {
    let least = least.map(|least| usize::try_from(least).unwrap_or(usize::MAX));
    let matches = Matches::now(&request.api);
    let mut by_person: HashMap<Key, Vec<Arc<MatchSummary>>> = HashMap::new();
    for summary in matches.all(&with_result()) {
        for id in T::ROLE.in_match(&summary) {
            by_person.entry(id).or_default().push(Arc::clone(&summary));
        }
    }
    let matches_of = |id: Key| by_person.get(&id).map(Vec::as_slice).unwrap_or_default();
    let people = matches.entities(T::ROLE.kind(), |person| {
        let played = matches_of(person.id);
        passes_filter(person)
            && least.is_none_or(|least| played.len() >= least)
            && (!leagues.is_set() || played.iter().any(|it| leagues.passes(it.competition)))
    });
    let Window { offset, limit } = request.window;
    let page: Vec<_> = people.iter().skip(offset).take(limit).collect();
    let needed: Vec<_> = page.iter().flat_map(|it| matches_of(it.id)).map(Arc::clone).collect();
    let match_stats = request.extension::<MatchStatsCache>()?.load(&matches, &needed).await?;
    let rows = page.into_iter().map(|it| T::new(it, matches_of(it.id), &match_stats)).collect();
    request.page(CacheControl::REFERENCE, people.len(), rows)
}

/// One person, with the sums over their matches.
pub(super) async fn person<T: Person>(
    matches: &Matches<'_>,
    cache: &MatchStatsCache,
    person: &Entity,
) -> Result<T, ApiError> {
    let results = matches.all(&T::ROLE.results(person.id));
    let match_stats = cache.load(matches, &results).await?;
    Ok(T::new(person, &results, &match_stats))
}

/// The person in the path.
pub(super) async fn detail<T: Person>(request: &ApiRequest) -> ApiResult {
    let (matches, person) = Matches::for_entity(request, T::ROLE.kind())?;
    let row = self::person::<T>(&matches, request.extension()?, &person).await?;
    request.answer(CacheControl::REFERENCE, &row)
}

/// A person's matches, past and future, the latest first.
pub(super) fn matches(request: &ApiRequest, role: Role) -> ApiResult {
    let (matches, person) = Matches::for_entity(request, role.kind())?;
    let list = MatchQuery { newest_first: true, window: request.window, ..role.query(person.id) };
    let found = matches.find(&list);
    request.page(CacheControl::LIST, found.count, matches.rows(&found.summaries))
}
