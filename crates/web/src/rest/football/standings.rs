//! `leagues/{id}/standings/`: the table of a season, from its results and the matches in play.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    request::{self, football},
    seasons::{Season, SeasonParams, calendar},
    snapshot::Matches,
};
use crate::rest::{ApiRequest, ApiResult, CacheControl};
use history::query::{DeductionOfTeam, EntityKind, FootballTables, MatchQuery, StandingsRow};
use record::Key;

/// SERVICE section 1.9. Either `standings` or, where the season has groups, `groups` is there.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Standings {
    league_id: Key,
    /// `null` where no feed names a season of the league; the table is empty then.
    season: Option<Season>,
    /// All seasons of the league, the latest first.
    seasons: Vec<Season>,
    /// What decides between teams with equal points: `goal_difference`, `head_to_head`, `wins_first`, `split`.
    rule: &'static str,
    points_for_win: u32,
    /// Points that the competition took from teams, which are missing in `pts`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deductions: Vec<PointsDeducted>,
    grouped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    standings: Option<Vec<Standing>>,
    /// By the name of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<BTreeMap<String, Vec<Standing>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(in crate::rest) struct PointsDeducted {
    /// `null` if no team of the table has the name, or several have; nothing is deducted then.
    team_id: Option<Key>,
    team_name: String,
    points: u32,
    /// `2020-07-14`.
    date: Option<String>,
    reason: Option<String>,
}

impl PointsDeducted {
    pub(in crate::rest) fn all(deductions: Vec<DeductionOfTeam>) -> Vec<Self> {
        let deductions = deductions.into_iter().map(|DeductionOfTeam { team, deduction }| Self {
            team_id: team,
            team_name: deduction.team,
            points: deduction.points,
            date: deduction.date,
            reason: deduction.reason,
        });
        deductions.collect()
    }
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
    /// `points_for_win` for a win, 1 for a draw, without deducted points.
    pts: i64,
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

endpoints! {
    /// The table of a season.
    "/api/v2/leagues/{id}/standings/", params(request::season_spec(&[SeasonParams::PARAMS])), answers(Standings),
        |request| standings(&request).await;
}

async fn standings(request: &ApiRequest) -> ApiResult {
    let (matches, league) = Matches::for_entity(request, EntityKind::Competition)?;
    let seasons = Season::all(&matches, &calendar(&matches, Some(league.id)), league.id);
    let season = Season::requested(&seasons, &request.params)?;
    let id = season.as_ref().map(|season| season.id);
    let played = id.map(|id| matches.all(&MatchQuery { season: Some(id), ..football() }));
    let (played, country) = (played.unwrap_or_default(), league.country.as_deref());
    let country = country::name_or_empty(country);
    let tables = request.api.history.football_tables(&league, &country, id, &played);
    let FootballTables { rule, deductions, ungrouped, groups } = tables.await?;
    let rows = |rows: Vec<StandingsRow>| Standing::all(rows, |team| matches.team_name(team));
    let grouped = !groups.is_empty();
    let groups = groups.into_iter().map(|(group, of_group)| (group.to_string(), rows(of_group)));
    let table = Standings {
        league_id: league.id,
        season,
        seasons,
        rule: rule.ranking.as_str(),
        points_for_win: rule.win,
        deductions: PointsDeducted::all(deductions),
        grouped,
        groups: grouped.then(|| groups.collect()),
        standings: (!grouped).then(|| rows(ungrouped)),
    };
    request.answer(CacheControl::LIST, &table)
}

impl Standing {
    fn all(rows: Vec<StandingsRow>, name: impl Fn(Key) -> String) -> Vec<Self> {
        (1..).zip(rows).map(|(position, row)| Self::new(position, &row, &name)).collect()
    }

    fn new(position: usize, row: &StandingsRow, name: impl Fn(Key) -> String) -> Self {
        let StandingsRow { team, total, expected, live, points, .. } = row;
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
            pts: *points,
            xgf: expected.map(|it| it.scored),
            xga: expected.map(|it| it.conceded),
            xgd: expected.map(|it| it.difference),
            xg_games: expected.map(|it| it.matches),
            form: row.form(),
            live: *live,
        }
    }
}
