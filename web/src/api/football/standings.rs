//! `leagues/{id}/standings/`: the table of a season, from its results and the matches in play.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    matches::Matches,
    request::{self, football},
    seasons::{Season, calendar},
};
use crate::api::{ApiRequest, ApiResult, CacheControl, Param, Spec};
use history::query::{self, EntityKind, MatchQuery, StandingsRow, StandingsRule};
use record::{Key, MatchSummary};

/// SERVICE section 1.9. Either `standings` or, where the season has groups, `groups` is there.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Standings {
    league_id: Key,
    /// `null` where no feed names a season of the league; the table is empty then.
    season: Option<Season>,
    grouped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    standings: Option<Vec<Standing>>,
    /// By the name of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<BTreeMap<String, Vec<Standing>>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Standing {
    position: usize,
    team_id: Key,
    team_name: String,
    played: u32,
    won: u32,
    drawn: u32,
    lost: u32,
    gf: u32,
    ga: u32,
    gd: i64,
    /// 3 for a win, 1 for a draw; no feed reports deducted points.
    pts: u32,
    /// Expected goals for and against, of the matches that have them; `xg_games` counts these.
    xgf: Option<f64>,
    xga: Option<f64>,
    xgd: Option<f64>,
    xg_games: Option<u32>,
    /// `W`, `D` and `L` of the last five, the newest last.
    form: String,
    /// A match that is in play is counted as it stands.
    live: bool,
}

const SPEC: Spec =
    request::spec(&[Param::id("season_id", "The season (default: the current one)")]);

endpoints! {
    /// The table of a season.
    "/api/v2/leagues/{id}/standings/", params(SPEC), answers(Standings),
        |request| standings(&request);
}

fn standings(request: &ApiRequest) -> ApiResult {
    let params = &request.params;
    let (matches, league) = Matches::for_entity(request, EntityKind::Competition)?;
    let calendar = calendar(&matches, Some(league.id));
    let season = Season::requested(&matches, &calendar, league.id, params.id("season_id")?)?;
    let played = season
        .as_ref()
        .map(|season| matches.all(&MatchQuery { season: Some(season.id), ..football() }));
    let name = |team: Key| matches.team_name(team);
    let body = Standings::of(league.id, season, &played.unwrap_or_default(), name);
    request.answer(CacheControl::LIST, &body)
}

impl Standings {
    /// `played` are the season's matches, in order.
    fn of(
        league_id: Key,
        season: Option<Season>,
        played: &[Arc<MatchSummary>],
        name: impl Fn(Key) -> String,
    ) -> Self {
        let rule = StandingsRule::Regulation { lists_all_teams: true };
        let mut tables = query::group_tables(played.iter().map(AsRef::as_ref), rule);
        let ungrouped = tables.remove(&None).unwrap_or_default();
        let grouped = !tables.is_empty();
        let standings = (!grouped).then(|| Standing::ranked(ungrouped, &name));
        let groups = tables
            .into_iter()
            .filter_map(|(group, rows)| Some((group?.to_string(), Standing::ranked(rows, &name))));
        let groups = grouped.then(|| groups.collect());
        Self { league_id, season, grouped, standings, groups }
    }
}

impl Standing {
    fn ranked(mut rows: Vec<StandingsRow>, name: &impl Fn(Key) -> String) -> Vec<Self> {
        query::by_points(&mut rows, name);
        (1..).zip(rows).map(|(position, row)| Self::of(position, &row, name)).collect()
    }

    fn of(position: usize, row: &StandingsRow, name: &impl Fn(Key) -> String) -> Self {
        let StandingsRow { team, total, expected, live, .. } = row;
        Self {
            position,
            team_id: *team,
            team_name: name(*team),
            played: total.played,
            won: total.won,
            drawn: total.drawn,
            lost: total.lost,
            gf: total.scored,
            ga: total.conceded,
            gd: total.difference(),
            pts: total.points(),
            xgf: expected.map(|it| it.scored),
            xga: expected.map(|it| it.conceded),
            xgd: expected.map(|it| it.difference),
            xg_games: expected.map(|it| it.matches),
            form: row.form(),
            live: *live,
        }
    }
}
