//! The filters of lists of matches, as football of version 2, odds and predictions name them, and what every list of matches of
//! any sport but version 1 takes.
//!
//! Version 1 and the other sports have names of their own: `v1::request` and `sports::request` read theirs. All of
//! them make the same `MatchQuery`.

use base::names::{self, Name, NamePart};
use facts::event::Sport;

use super::{
    Api, ApiError, Param, Params,
    params::{CURSOR, INCLUDED_MAX},
};
use crate::clock::now;
use history::query::{EntityKind, History, MatchQuery, Window};
use record::{Key, Status};

pub(super) const IDS: Param =
    Param::ids("ids", "These matches: at most 50, separated by commas; 5 with `include`");
pub(super) const LAST: Param = Param::number(
    "last",
    "The latest so many matches with a result, the newest first: 1 to 200; with `status`, of those",
);
pub(super) const NEXT: Param = Param::number(
    "next",
    "The next so many matches that have not started: 1 to 200; with `status`, of those",
);
pub(super) const SORT: Param =
    Param::text("sort", "`date` for the earliest first, `-date` for the latest first");
pub(super) const UPDATED_SINCE: Param =
    Param::text("updated_since", "Changed at this day or timestamp, or later");
pub(super) const H2H: Param = Param::text(
    "h2h",
    "Matches between two sides: their IDs or names with a comma between, `12,57` or `Alpha v Beta`",
);

/// The values of [`SORT`].
pub(crate) const SORTS: [&str; 2] = ["date", "-date"];

/// Ids in one filter, at most.
pub(super) const IDS_MAX: usize = 50;

/// Matches of `last` and `next`, at most.
const COUNT_MAX: usize = 200;

/// Reads `league_id`, `season_id` and `team_id`, each with one id or several, `date_from` and `date_to`. An endpoint that does
/// not accept one of them has refused it before.
///
/// # Errors
///
/// If a value is not valid.
pub(super) fn read(params: &Params, sport: Option<Sport>) -> Result<MatchQuery, ApiError> {
    let (competition, competitions) = one_or_several(params, "league_id")?;
    let (season, seasons) = one_or_several(params, "season_id")?;
    let (team, teams) = one_or_several(params, "team_id")?;
    Ok(MatchQuery {
        sport,
        from: params.from("date_from")?,
        before: params.before("date_to")?,
        zone: params.zone().cloned(),
        competition,
        competitions,
        season,
        seasons,
        team,
        teams,
        ..MatchQuery::default()
    })
}

/// A filter by one id or several, for lists of anything but matches.
#[derive(Debug)]
pub(super) struct IdFilter(Option<Vec<Key>>);

impl IdFilter {
    /// Reads a parameter.
    ///
    /// # Errors
    ///
    /// If a part of it is not an id, or if they are too many.
    pub(super) fn read(params: &Params, name: &str) -> Result<Self, ApiError> {
        params.ids_up_to(name, IDS_MAX).map(Self)
    }

    /// Whether it lets an id through; without ids it lets everything through, also what has no id.
    pub(super) fn passes(&self, id: Option<Key>) -> bool {
        self.0.as_ref().is_none_or(|ids| id.is_some_and(|id| ids.contains(&id)))
    }

    /// Whether it names ids.
    pub(super) fn is_set(&self) -> bool {
        self.0.is_some()
    }
}

/// The id of a filter, or its ids if it has several.
///
/// # Errors
///
/// If one of them is not an id, or if they are too many.
pub(super) fn one_or_several(
    params: &Params,
    name: &str,
) -> Result<(Option<Key>, Option<Vec<Key>>), ApiError> {
    let ids = params.ids_up_to(name, IDS_MAX)?;
    Ok(match ids.as_deref() {
        Some([id]) => (Some(*id), None),
        _ => (None, ids),
    })
}

/// Adds what every list of matches takes: [`IDS`], [`UPDATED_SINCE`], [`H2H`], [`SORT`], [`LAST`] and [`NEXT`].
///
/// # Errors
///
/// If a value is not valid, or if two of the parameters exclude each other.
pub(super) fn choose(
    api: &Api,
    params: &Params,
    mut query: MatchQuery,
) -> Result<MatchQuery, ApiError> {
    let has = |name: &str| params.text(name).is_some();
    query.ids = params.ids_up_to("ids", if has("include") { INCLUDED_MAX } else { IDS_MAX })?;
    query.updated_since = params.from("updated_since")?;
    if let Some(text) = params.text("h2h") {
        let expected = "h2h is to be two sides with a comma between, by id or name.";
        let sides = sides(text).ok_or_else(|| ApiError::BadParameter(expected.to_owned()))?;
        let [first, second] = sides.map(|side| sides_named(&api.history, query.sport, side));
        if first.len().max(second.len()) > IDS_MAX {
            let detail = format!("h2h takes names that at most {IDS_MAX} sides have.");
            return Err(ApiError::BadParameter(detail));
        }
        query.meeting = Some([first, second]);
    }
    query.newest_first = is_newest_first(params)?.unwrap_or(query.newest_first);
    let count = |name: &str| {
        params.parsed(name, "a whole number from 1 to 200", |text| {
            text.parse::<usize>().ok().filter(|count| (1..=COUNT_MAX).contains(count))
        })
    };
    let (last, next) = (count("last")?, count("next")?);
    let Some(limit) = last.or(next) else { return Ok(query) };
    if ["last", "next", "sort", "offset", CURSOR].iter().filter(|name| has(name)).count() > 1 {
        let detail = "last and next go neither together nor with sort, offset or cursor.";
        return Err(ApiError::BadParameter(detail.to_owned()));
    }
    let is_limited = has("limit") || has("include");
    let limit = if is_limited { limit.min(query.window.limit) } else { limit };
    query.window = Window { offset: 0, limit };
    query.newest_first = last.is_some();
    if last.is_some() {
        query.statuses.get_or_insert_with(|| Status::RESULTS.to_vec());
    } else {
        query.statuses.get_or_insert_with(|| Status::UPCOMING.to_vec());
        query.from = query.from.max(Some(now()));
    }
    Ok(query)
}

/// Whether [`SORT`] has the latest first; `None` without it.
///
/// # Errors
///
/// If its value is not one of [`SORTS`].
pub(super) fn is_newest_first(params: &Params) -> Result<Option<bool>, ApiError> {
    let parse = |text: &str| SORTS.contains(&text).then_some(text == "-date");
    params.choice("sort", SORTS, parse)
}

/// Whether a request says which matches it wants, so that a default range of days would hide some of them.
pub(super) fn is_chosen(params: &Params) -> bool {
    let names = ["ids", "last", "next", "h2h", "updated_since"];
    names.iter().any(|name| params.text(name).is_some())
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
