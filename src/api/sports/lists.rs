//! Lists of leagues, teams and people, which are alike in several sports.

use axum::response::Response;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::IntoParams;

use super::{
    asked::{self, Asked},
    digest::Digest,
    shape::{LeagueRow, NamedRow, PersonRow, TeamRow, side_kind},
};
use crate::{
    api::{ApiError, Kept, Spec},
    archive::{Entity, EntityKind},
    record::MatchRecord,
};

/// The parameters of lists of what has a name.
pub(super) const NAMED: Spec =
    asked::spec(&["country", "league", "limit", "offset", "search", "team"]);

/// The parameters of lists of leagues and tournaments.
pub(super) const LEAGUES: Spec =
    asked::spec(&["country", "include_inactive", "limit", "offset", "search"]);

/// Of what has a name.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "told of in the document alone")]
pub(super) struct Named {
    /// A part of the name, in any case.
    search: Option<String>,
    /// As ISO 3166-1 alpha-2, or as the feed names it.
    country: Option<String>,
}

/// Whether those that are over are wanted too.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "told of in the document alone")]
pub(super) struct Inactive {
    /// Those too of which nothing was played for a year.
    include_inactive: Option<bool>,
}

/// Whether the request asks for this one.
fn is_asked(asked: &Asked<'_>) -> impl Fn(&Entity) -> bool {
    let is_like = asked::search(asked.params.text("search").unwrap_or_default());
    let country = asked.params.text("country").map(str::to_owned);
    move |entity| {
        let own = entity.country.as_deref();
        let is_from = |country: &String| own.is_some_and(|own| own.eq_ignore_ascii_case(country));
        is_like(&entity.name) && country.as_ref().is_none_or(is_from)
    }
}

/// Leagues or tournaments: those of which most is played first, since no feed tells which matter.
pub(super) fn leagues(
    asked: &Asked<'_>,
    sport: Sport,
    digest: &Digest,
) -> Result<Response, ApiError> {
    let all = asked.params.flag("include_inactive")?.unwrap_or(false);
    let is_asked = is_asked(asked);
    let leagues =
        asked.api.archive.entities(EntityKind::Competition, |it| it.sport == sport && is_asked(it));
    let edition = |league: &Entity| digest.edition(league.id);
    let is_active = |league: &Entity| edition(league).is_none_or(|it| it.is_active(asked.now));
    let mut leagues: Vec<_> =
        leagues.into_iter().filter(|league| all || is_active(league)).collect();
    leagues.sort_by_key(|it| std::cmp::Reverse(edition(it).map(|edition| edition.matches)));
    asked.page(Kept::LIST, &leagues, |it| LeagueRow::of(it, is_active(it)))
}

/// The league or tournament of this id.
pub(super) fn league(
    asked: &Asked<'_>,
    sport: Sport,
    id: &str,
    digest: &Digest,
) -> Result<LeagueRow, ApiError> {
    let league = asked::entity(asked.api, EntityKind::Competition, sport, id)?;
    let active = digest.edition(league.id).is_none_or(|it| it.is_active(asked.now));
    Ok(LeagueRow::of(&league, active))
}

/// Teams, the strongest first; those without a result last, by name.
pub(super) fn teams(
    asked: &Asked<'_>,
    sport: Sport,
    digest: &Digest,
) -> Result<Response, ApiError> {
    let is_asked = is_asked(asked);
    let kind = side_kind(sport);
    let mut teams = asked.api.archive.entities(kind, |it| it.sport == sport && is_asked(it));
    teams.sort_by_key(|team| digest.position(team.id).unwrap_or(usize::MAX));
    asked.page(Kept::LIST, &teams, |team| TeamRow::of(team, digest))
}

/// People who are no side of a match: players of teams, managers.
pub(super) fn people(
    asked: &Asked<'_>,
    sport: Sport,
    kind: EntityKind,
) -> Result<Response, ApiError> {
    let is_asked = is_asked(asked);
    let team = asked.params.id("team")?;
    let people = asked.api.archive.entities(kind, |it| {
        it.sport == sport && is_asked(it) && (team.is_none() || it.parent == team)
    });
    asked.page(Kept::REFERENCE, &people, |it| PersonRow::of(asked.api, it))
}

/// Whatever has a name, by it, in a shape of the sport's own.
pub(super) fn of_kind<T: Serialize>(
    asked: &Asked<'_>,
    sport: Sport,
    kind: EntityKind,
    row: impl Fn(&Entity) -> T,
) -> Result<Response, ApiError> {
    let is_asked = is_asked(asked);
    let all = asked.api.archive.entities(kind, |it| it.sport == sport && is_asked(it));
    asked.page(Kept::REFERENCE, &all, |it| row(it))
}

/// Whatever has a name alone.
pub(super) fn named(
    asked: &Asked<'_>,
    sport: Sport,
    kind: EntityKind,
) -> Result<Response, ApiError> {
    of_kind(asked, sport, kind, NamedRow::of_entity)
}

/// The page of the matches in play that the request asks for.
pub(super) fn live<T: Serialize>(
    asked: &Asked<'_>,
    sport: Sport,
    row: impl Fn(&MatchRecord) -> T,
) -> Result<Response, ApiError> {
    let filter = asked.filter(sport)?;
    let mut live = asked.api.reader.live(sport);
    live.retain(|record| {
        let sides = record.brief.sides.unwrap_or_default();
        filter.team.is_none_or(|team| sides.contains(&team))
            && (filter.competition.is_none() || record.brief.competition == filter.competition)
            && filter
                .teams
                .as_ref()
                .is_none_or(|teams| teams.iter().any(|team| sides.contains(team)))
    });
    asked.page(Kept::LIVE, &live, |record| row(record))
}
