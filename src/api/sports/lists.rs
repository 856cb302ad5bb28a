//! Lists of leagues, teams and people, which are alike in several sports.

use std::{cmp::Reverse, sync::Arc};

use ingest::event::Sport;
use serde::Serialize;
use utoipa::IntoParams;

use super::{
    asked::{self, Answer, Asked, Request},
    digest::Digest,
    shape::{self, LeagueRow, NamedRow, PersonRow, TeamRow, side_kind},
};
use crate::{
    api::{Kept, Spec},
    archive::{Entity, EntityKind},
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
    /// Part of the name, case-insensitive.
    search: Option<String>,
    /// Country code (ISO 3166-1 alpha-2), or the country as the feed names it.
    country: Option<String>,
}

/// Whether those that are over are wanted too.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "told of in the document alone")]
pub(super) struct Inactive {
    /// Include those without a match in the last year.
    include_inactive: Option<bool>,
}

/// Whether the request asks for this one.
fn is_asked(asked: &Asked<'_>) -> impl Fn(&Entity) -> bool {
    let is_like = asked::search(asked.params.text("search").unwrap_or_default());
    let country = asked.params.text("country").map(str::to_owned);
    move |entity| {
        let own = entity.country.as_deref();
        let is_from = |country: &String| shape::is_country(own, country);
        is_like(&entity.name) && country.as_ref().is_none_or(is_from)
    }
}

/// Leagues or tournaments: those of which most is played first, since no feed tells which matter.
pub(super) async fn leagues(request: &Request, sport: Sport) -> Answer {
    let asked = request.read(LEAGUES)?;
    let digest = request.digest(sport).await?;
    let all = asked.params.flag("include_inactive")?.unwrap_or(false);
    let edition = |league: &Entity| digest.edition(league.id);
    let is_active = |league: &Entity| edition(league).is_none_or(|it| it.is_active(asked.now));
    let mut leagues = of_kind(&asked, sport, EntityKind::Competition);
    leagues.retain(|league| all || is_active(league));
    leagues.sort_by_key(|it| Reverse(edition(it).map(|edition| edition.matches)));
    asked.page(Kept::LIST, &leagues, |it| LeagueRow::of(it, is_active(it)))
}

/// The league or tournament of this id.
pub(super) async fn league(request: &Request, sport: Sport, id: &str) -> Answer {
    let asked = request.read(asked::NONE)?;
    let digest = request.digest(sport).await?;
    let league = asked::entity(asked.api, EntityKind::Competition, sport, id)?;
    let active = digest.edition(league.id).is_none_or(|it| it.is_active(asked.now));
    request.answer(Kept::REFERENCE, &LeagueRow::of(&league, active))
}

/// Teams, the strongest first; those without a result last, by name.
pub(super) async fn teams(request: &Request, sport: Sport) -> Answer {
    let asked = request.read(NAMED)?;
    let digest = request.digest(sport).await?;
    let mut teams = of_kind(&asked, sport, side_kind(sport));
    teams.sort_by_key(|team| digest.position(team.id).unwrap_or(usize::MAX));
    asked.page(Kept::LIST, &teams, |team| TeamRow::of(team, &digest))
}

/// Teams or players, whoever plays matches of the sport, by name and in a shape of its own.
pub(super) async fn sides<T: Serialize>(
    request: &Request,
    sport: Sport,
    row: impl Fn(&Entity, &Digest) -> T,
) -> Answer {
    let asked = request.read(NAMED)?;
    let digest = request.digest(sport).await?;
    let sides = of_kind(&asked, sport, side_kind(sport));
    asked.page(Kept::REFERENCE, &sides, |side| row(side, &digest))
}

/// One of them.
pub(super) async fn side<T: Serialize>(
    request: &Request,
    sport: Sport,
    id: &str,
    row: impl Fn(&Entity, &Digest) -> T,
) -> Answer {
    request.read(asked::NONE)?;
    let side = asked::entity(&request.api, side_kind(sport), sport, id)?;
    let digest = request.digest(sport).await?;
    request.answer(Kept::REFERENCE, &row(&side, &digest))
}

/// People who are no side of a match: players of teams, managers.
pub(super) fn people(request: &Request, sport: Sport, kind: EntityKind) -> Answer {
    let asked = request.read(NAMED)?;
    let team = asked.params.id("team")?;
    let mut people = of_kind(&asked, sport, kind);
    people.retain(|it| team.is_none() || it.parent == team);
    asked.page(Kept::REFERENCE, &people, |it| PersonRow::of(asked.api, it))
}

/// One of them.
pub(super) fn person(request: &Request, sport: Sport, kind: EntityKind, id: &str) -> Answer {
    request.read(asked::NONE)?;
    let person = asked::entity(&request.api, kind, sport, id)?;
    request.answer(Kept::REFERENCE, &PersonRow::of(&request.api, &person))
}

/// Whatever has a name alone.
pub(super) fn named(request: &Request, sport: Sport, kind: EntityKind) -> Answer {
    let asked = request.read(NAMED)?;
    asked.page(Kept::REFERENCE, &of_kind(&asked, sport, kind), |it| NamedRow::of_entity(it))
}

/// One of that.
pub(super) fn name(request: &Request, sport: Sport, kind: EntityKind, id: &str) -> Answer {
    request.read(asked::NONE)?;
    let named = asked::entity(&request.api, kind, sport, id)?;
    request.answer(Kept::REFERENCE, &NamedRow::of_entity(&named))
}

/// All of a kind that a request asks for, by name.
fn of_kind(asked: &Asked<'_>, sport: Sport, kind: EntityKind) -> Vec<Arc<Entity>> {
    let is_asked = is_asked(asked);
    asked.api.archive.entities(kind, |it| it.sport == sport && is_asked(it))
}
