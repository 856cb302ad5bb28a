//! `/api/leagues/{id}/standings/`: the table of a season, computed from the known results.

use std::sync::Arc;

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    league::{FootballSeasons, LeagueRow, football_entity},
    request::{self, V1Query},
};
use crate::rest::{ApiRequest, ApiResult, CacheControl, football::standings::PointsDeducted};
use history::query::{EntityKind, FootballTables, MatchQuery, StandingsRow, Tally, View};
use record::Key;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = V1Standings)]
pub(super) struct Standings {
    league: LeagueRow,
    /// `null` of several seasons.
    season_id: Option<u64>,
    /// What decides between teams with equal points, as in version 2.
    rule: &'static str,
    /// Points that the competition took from teams, which are missing in `pts`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deductions: Vec<PointsDeducted>,
    /// Of a season without groups.
    standings: Vec<Standing>,
    /// Of one with groups, by their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<Group>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = V1StandingsGroup)]
struct Group {
    name: String,
    standings: Vec<Standing>,
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
    pts: i64,
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
    fn all(query: &V1Query<'_>, rows: Vec<StandingsRow>) -> Vec<Self> {
        let row = |(position, row): (usize, StandingsRow)| Self {
            position,
            team_id: row.team,
            team_name: query.name(EntityKind::Team, Some(row.team)),
            total: row.total.into(),
            pts: row.points,
            form: row.form(),
            home: row.home.into(),
            away: row.away.into(),
        };
        (1..).zip(rows).map(row).collect()
    }
}

params! {
    struct SeasonParams { season: Ids = "The season (default: the current one), or several for one table of all their matches" }
}

endpoints! {
    /// The table of a season.
    "/api/leagues/{id}/standings/", params(request::spec(&[SeasonParams::PARAMS])), answers(Standings),
        or(status = 404, description = "No such league"),
        |request| standings(&request).await;
}

async fn standings(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let entity = football_entity(request, EntityKind::Competition)?;
    let view = View::now(&request.api.history, Some(Sport::Football));
    let league = FootballSeasons::in_view(&view, Some(entity.id)).league(&request.api, &entity);
    let seasons = SeasonParams::read(query.params)?.season.ids();
    let seasons = seasons.or_else(|| league.season_id.map(|id| vec![id]));
    let one = seasons.as_ref().filter(|ids| ids.len() == 1);
    let season_id = one.and_then(|ids| ids.first().copied());
    let filter = MatchQuery { competition: Some(entity.id), seasons, ..MatchQuery::default() };
    let matches = view.all(&filter);
    let tables = request.api.history.football_tables(&entity, &league.country, season_id, &matches);
    let FootballTables { rule, deductions, ungrouped, groups } = tables.await?;
    let group = |(name, rows): (Arc<str>, Vec<StandingsRow>)| Group {
        name: name.to_string(),
        standings: Standing::all(&query, rows),
    };
    let groups: Vec<Group> = groups.into_iter().map(group).collect();
    let rows = if groups.is_empty() { ungrouped } else { Vec::new() };
    // The table of an unknown season is empty and has no id.
    let is_known = |id: &Key| request.api.history.entity(EntityKind::Season, *id).is_some();
    let answer = Standings {
        season_id: season_id.filter(is_known),
        rule: rule.ranking.as_str(),
        deductions: PointsDeducted::all(deductions),
        standings: Standing::all(&query, rows),
        groups,
        league,
    };
    request.answer(CacheControl::LIST, &answer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn groups_are_a_list_or_absent() {
        let answer = |groups| Standings {
            league: LeagueRow::default(),
            season_id: None,
            rule: "goal_difference",
            deductions: Vec::new(),
            standings: Vec::new(),
            groups,
        };
        let json = |groups| serde_json::to_value(answer(groups)).expect("it is JSON");
        assert_eq!(json(Vec::new()).get("groups"), None);
        let group = Group { name: "A".to_owned(), standings: Vec::new() };
        assert_eq!(json(vec![group])["groups"], json!([{"name": "A", "standings": []}]));
    }
}
