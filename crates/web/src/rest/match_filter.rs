//! The filters of lists of matches, as football of version 2, odds and predictions name them, and what every list of matches of
//! any sport but version 1 takes.
//!
//! Version 1 and the other sports have names of their own: `v1::request` and `sports::request` read theirs. All of
//! them make the same `MatchQuery`.

use base::names::{self, Name, NamePart};
use facts::event::Sport;
use fanout::Micros;

use super::{ApiError, ApiRequest, Params, params::CURSOR};
use crate::clock::now;
use history::query::{EntityKind, History, MatchQuery, Window};
use record::{Key, Status};

pub(super) const IDS: &str = "These matches: at most 50, separated by commas; 5 with `include`";

params! {
    /// The matches with these ids.
    pub(super) struct IdParams { ids: MatchIds = IDS }
    /// What every list of matches takes beside its filters.
    pub(super) struct MatchListParams {
        h2h: Sides = "Matches between two sides: their IDs or names with a comma between, `12,57` or `Alpha v Beta`",
        last: Count = "The latest so many matches with a result, the newest first: 1 to 200; with `status`, of those",
        next: Count = "The next so many matches that have not started: 1 to 200; with `status`, of those",
        sort: Sort = SORT,
        updated_since: Begin = "Changed at this day or timestamp, or later",
    }
}

pub(super) const SORT: &str = "`date` for the earliest first, `-date` for the latest first";

/// The values of `sort`.
pub(crate) const SORTS: [&str; 2] = ["date", "-date"];

/// Ids in one filter, at most.
pub(super) const IDS_MAX: usize = 50;

/// The filters of lists of matches of football, predictions and odds, of which each endpoint takes some.
#[derive(Debug, Default)]
pub(super) struct MatchParams {
    pub(super) ids: IdFilter,
    pub(super) event_id: IdFilter,
    pub(super) league_id: IdFilter,
    pub(super) season_id: IdFilter,
    pub(super) team_id: IdFilter,
    pub(super) date: [Option<Micros>; 2],
    pub(super) date_from: Option<Micros>,
    pub(super) date_to: Option<Micros>,
    pub(super) sport: Option<Sport>,
    pub(super) status: Option<String>,
    pub(super) round: Option<String>,
    pub(super) stage: Option<String>,
}

impl MatchParams {
    /// The matches of these ids, leagues, seasons, teams and days.
    pub(super) fn query(&self, params: &Params, sport: Option<Sport>) -> MatchQuery {
        let (competition, competitions) = self.league_id.one_or_several();
        let (season, seasons) = self.season_id.one_or_several();
        let (team, teams) = self.team_id.one_or_several();
        MatchQuery {
            sport,
            from: self.date_from,
            before: self.date_to,
            zone: params.zone().cloned(),
            competition,
            competitions,
            season,
            seasons,
            team,
            teams,
            ids: self.event_id.ids(),
            ..MatchQuery::default()
        }
    }
}

/// A filter by one id or several.
#[derive(Debug, Default)]
pub(super) struct IdFilter(Option<Vec<Key>>);

impl IdFilter {
    /// Reads a parameter.
    ///
    /// # Errors
    ///
    /// If a part of it is not an id, or if they are more than `max`.
    pub(super) fn read(params: &Params, name: &str, max: usize) -> Result<Self, ApiError> {
        params.ids_up_to(name, max).map(Self)
    }

    /// Whether it lets an id through; without ids it lets everything through, also what has no id.
    pub(super) fn passes(&self, id: Option<Key>) -> bool {
        self.0.as_ref().is_none_or(|ids| id.is_some_and(|id| ids.contains(&id)))
    }

    /// Whether it names ids.
    pub(super) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn ids(&self) -> Option<Vec<Key>> {
        self.0.clone()
    }

    /// The id, or the ids if it has several.
    pub(super) fn one_or_several(&self) -> (Option<Key>, Option<Vec<Key>>) {
        match self.0.as_deref() {
            Some([id]) => (Some(*id), None),
            _ => (None, self.ids()),
        }
    }
}

impl MatchListParams {
    /// Adds these parameters and `ids` to a query.
    ///
    /// # Errors
    ///
    /// If a value is not valid, or if two of the parameters exclude each other.
    pub(super) fn narrow(
        &self,
        request: &ApiRequest,
        ids: &IdFilter,
        mut query: MatchQuery,
    ) -> Result<MatchQuery, ApiError> {
        let ApiRequest { api, params, .. } = request;
        query.ids = ids.ids();
        query.updated_since = self.updated_since;
        if let Some(text) = &self.h2h {
            let expected = "h2h is to be two sides with a comma between, by id or name.";
            let sides = sides(text).ok_or_else(|| ApiError::BadParameter(expected.to_owned()))?;
            let [first, second] = sides.map(|side| sides_named(&api.history, query.sport, side));
            if first.len().max(second.len()) > IDS_MAX {
                let detail = format!("h2h takes names that at most {IDS_MAX} sides have.");
                return Err(ApiError::BadParameter(detail));
            }
            query.meeting = Some([first, second]);
        }
        query.newest_first = self.sort.unwrap_or(query.newest_first);
        let Some(limit) = self.last.or(self.next) else { return Ok(query) };
        let has = |name: &str| params.text(name).is_some();
        let (last, next) = (self.last.is_some(), self.next.is_some());
        let excluding = [last, next, self.sort.is_some(), has("offset"), has(CURSOR)];
        if excluding.into_iter().filter(|is_set| *is_set).count() > 1 {
            let detail = "last and next go neither together nor with sort, offset or cursor.";
            return Err(ApiError::BadParameter(detail.to_owned()));
        }
        let is_limited = has("limit") || params.has_include();
        let limit = if is_limited { limit.min(query.window.limit) } else { limit };
        query.window = Window { offset: 0, limit };
        query.newest_first = last;
        if last {
            query.statuses.get_or_insert_with(|| Status::RESULTS.to_vec());
        } else {
            query.statuses.get_or_insert_with(|| Status::UPCOMING.to_vec());
            query.from = query.from.max(Some(now()));
        }
        Ok(query)
    }

    /// Whether a request says which matches it wants, so that a default range of days would hide some of them.
    pub(super) fn is_set(&self, ids: &IdFilter) -> bool {
        let counts = self.last.or(self.next).is_some();
        ids.is_set() || counts || self.h2h.is_some() || self.updated_since.is_some()
    }
}

/// The sides of `12,57`, `12-57`, `Alpha,Beta` and [`names::sides`].
pub(super) fn sides(text: &str) -> Option<[&str; 2]> {
    let is_ids = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let mut words = [","].into_iter().chain(is_ids.then_some("-"));
    let Some((one, other)) = words.find_map(|between| text.split_once(between)) else {
        return names::sides(text);
    };
    let sides = [one.trim(), other.trim()];
    sides.iter().all(|side| !side.is_empty()).then_some(sides)
}

/// The side with this id, else those with this name, else those with it in their names.
pub(super) fn sides_named(history: &History, sport: Option<Sport>, text: &str) -> Vec<Key> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().into_iter().collect();
    }
    let part = NamePart::new(text);
    let kinds = [EntityKind::Team, EntityKind::Player].into_iter();
    let is_side =
        |kind: &EntityKind| *kind == EntityKind::Team || sport.is_some_and(Sport::is_of_players);
    let kinds = kinds.filter(is_side);
    let found: Vec<_> = kinds
        .flat_map(|kind| {
            history.entities(kind, |entity| {
                sport.is_none_or(|sport| entity.sport == sport) && part.is_in(&entity.name)
            })
        })
        .collect();
    let name = Name::new(text);
    let exact: Vec<_> = found.iter().filter(|entity| name.is(&entity.name)).collect();
    match exact.as_slice() {
        [] => found.iter().map(|entity| entity.id).collect(),
        exact => exact.iter().map(|entity| entity.id).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sides_are_told_apart() {
        for text in ["12,57", "12-57", " 12 , 57 "] {
            assert_eq!(sides(text.trim()), Some(["12", "57"]), "{text}");
        }
        for text in ["Alpha,Beta", "Alpha v Beta", "Alpha vs. Beta", "Alpha vs Beta"] {
            assert_eq!(sides(text), Some(["Alpha", "Beta"]), "{text}");
        }
        assert_eq!(sides("Saint-Étienne,Red-Star"), Some(["Saint-Étienne", "Red-Star"]));
        for text in ["12", "Alpha", "Saint-Étienne", "12,", ",", "v"] {
            assert_eq!(sides(text), None, "{text}");
        }
    }
}
