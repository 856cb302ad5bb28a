//! `/api/leagues/{id}/standings/`: the table of a season, computed from the known results.

use std::collections::BTreeMap;

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    league::{FootballSeasons, LeagueRow, football_entity},
    request::{self, V1Query},
};
use crate::api::{ApiRequest, ApiResult, CacheControl, Param, Spec};
use history::query::{self, EntityKind, MatchQuery, StandingsRow, StandingsRule, Tally, View};
use record::{Key, Status};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = V1Standings)]
pub(super) struct Standings {
    league: LeagueRow,
    season_id: Option<u64>,
    /// Of a season without groups.
    standings: Vec<Standing>,
    /// Of one with groups, by their names.
    groups: BTreeMap<String, Vec<Standing>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = V1Standing)]
struct Standing {
    position: usize,
    team_id: u64,
    team_name: Option<String>,
    #[serde(flatten)]
    #[schema(inline)]
    total: Sum,
    pts: u32,
    /// The last five results, the newest last: `WLWWD`.
    form: String,
    home: Sum,
    away: Sum,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
struct Sum {
    played: u32,
    won: u32,
    drawn: u32,
    lost: u32,
    gf: u32,
    ga: u32,
    gd: i64,
}

impl From<Tally> for Sum {
    fn from(tally: Tally) -> Self {
        Self {
            played: tally.played,
            won: tally.won,
            drawn: tally.drawn,
            lost: tally.lost,
            gf: tally.scored,
            ga: tally.conceded,
            gd: tally.difference(),
        }
    }
}

impl Standing {
    fn ranked(query: &V1Query<'_>, mut rows: Vec<StandingsRow>) -> Vec<Self> {
        let name = |team: Key| query.name(EntityKind::Team, Some(team));
        query::by_points(&mut rows, |team| name(team).unwrap_or_default());
        let row = |(position, row): (usize, StandingsRow)| Self {
            position,
            team_id: row.team,
            team_name: name(row.team),
            total: row.total.into(),
            pts: row.total.points(),
            form: row.form(),
            home: row.home.into(),
            away: row.away.into(),
        };
        (1..).zip(rows).map(row).collect()
    }
}

const STANDINGS: Spec =
    request::spec(&[Param::id("season", "The season (default: the current one)")]);

endpoints! {
    /// The table of a season.
    "/api/leagues/{id}/standings/", params(STANDINGS), answers(Standings),
        or(status = 404, description = "No such league"),
        |request| standings(&request);
}

fn standings(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let entity = football_entity(request, EntityKind::Competition)?;
    let view = View::now(&request.api.history, Some(Sport::Football));
    let league = FootballSeasons::in_view(&view, Some(entity.id)).league(&request.api, &entity);
    let season_id = query.params.id("season")?.or(league.season_id);
    let filter = MatchQuery {
        competition: Some(entity.id),
        season: season_id,
        statuses: Some(vec![Status::Finished]),
        ..MatchQuery::default()
    };
    let played = view.all(&filter);
    let rule = StandingsRule::Regulation { lists_all_teams: false };
    let mut tables = query::group_tables(played.iter().map(AsRef::as_ref), rule);
    let ungrouped = tables.remove(&None).unwrap_or_default();
    let standings = Standing::ranked(&query, ungrouped);
    let groups = tables
        .into_iter()
        .filter_map(|(group, rows)| Some((group?.to_string(), Standing::ranked(&query, rows))));
    // The table of an unknown season is empty and has no id.
    let is_known = |id: &Key| request.api.history.entity(EntityKind::Season, *id).is_some();
    let season_id = season_id.filter(is_known);
    let answer = Standings { league, season_id, standings, groups: groups.collect() };
    request.answer(CacheControl::LIST, &answer)
}
