//! `teams/{id}/figures/` and `players/{id}/figures/`: sums and means of a season, or of any other matches.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::PlayerStat;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    manager_stats::ManagerStats,
    match_stats::MatchStatsCache,
    players::{DateParams, chosen},
    request::{self, DATE_FROM, DATE_TO, with_result},
    snapshot::Matches,
    tenure::side_of,
};
use crate::rest::{ApiRequest, ApiResult, CacheControl, match_filter::MatchParams};
use history::query::{Appearance, EntityKind, MatchQuery};
use record::{Key, MatchSummary};

params! {
    struct TeamFiguresParams for MatchParams {
        season_id: Ids = "One or more seasons",
        league_id: Ids = "One or more leagues",
        date_from: Begin = DATE_FROM,
        date_to: End = DATE_TO,
    }
    struct PlayerFiguresParams for MatchParams {
        season_id: Ids = "One or more seasons",
        league_id: Ids = "One or more leagues",
        team_id: Ids = "One or more teams",
    }
}

endpoints! {
    /// What a team did in its matches with a result, in all of them, at home and away.
    "/api/v2/teams/{id}/figures/", params(request::spec(&[TeamFiguresParams::PARAMS])), answers(TeamFigures),
        |request| team(&request).await;

    /// What a player did in the matches in which the player was on the pitch: the sum of every counter, and per 90 minutes.
    "/api/v2/players/{id}/figures/", params(request::spec(&[PlayerFiguresParams::PARAMS, DateParams::PARAMS])), answers(PlayerFigures),
        |request| player(&request).await;
}

/// In the manner of the endpoints below a team.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct TeamFigures {
    team_id: Key,
    total: Figures,
    home: Figures,
    away: Figures,
}

/// Shares are in percent, means per match; `null` where no feed counts it.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = FiguresOfMatches)]
struct Figures {
    matches: usize,
    wins: usize,
    draws: usize,
    losses: usize,
    win_pct: Option<f64>,
    clean_sheet_pct: Option<f64>,
    fail_to_score_pct: Option<f64>,
    btts_pct: Option<f64>,
    over_15_pct: Option<f64>,
    over_25_pct: Option<f64>,
    avg_goals_scored: Option<f64>,
    avg_goals_conceded: Option<f64>,
    avg_goals_scored_1h: Option<f64>,
    avg_goals_conceded_1h: Option<f64>,
    avg_xg_for: Option<f64>,
    avg_xg_against: Option<f64>,
    avg_possession: Option<f64>,
    avg_shots: Option<f64>,
    avg_shots_on_target: Option<f64>,
    avg_corners: Option<f64>,
    avg_yellow_cards: Option<f64>,
    avg_red_cards: Option<f64>,
    avg_fouls: Option<f64>,
    /// How often each formation was in a known line-up.
    formations_used: BTreeMap<String, u32>,
}

impl From<ManagerStats> for Figures {
    fn from(sums: ManagerStats) -> Self {
        Self {
            matches: sums.matches,
            wins: sums.wins,
            draws: sums.draws,
            losses: sums.losses,
            win_pct: sums.win_pct,
            clean_sheet_pct: sums.clean_sheet_pct,
            fail_to_score_pct: sums.fail_to_score_pct,
            btts_pct: sums.both_scored_pct,
            over_15_pct: sums.over_15_pct,
            over_25_pct: sums.over_25_pct,
            avg_goals_scored: sums.goals_scored,
            avg_goals_conceded: sums.goals_conceded,
            avg_goals_scored_1h: sums.goals_scored_first_half,
            avg_goals_conceded_1h: sums.goals_conceded_first_half,
            avg_xg_for: sums.expected_goals,
            avg_xg_against: sums.expected_goals_conceded,
            avg_possession: sums.possession,
            avg_shots: sums.shots,
            avg_shots_on_target: sums.shots_on_target,
            avg_corners: sums.corners,
            avg_yellow_cards: sums.yellow_cards,
            avg_red_cards: sums.red_cards,
            avg_fouls: sums.fouls,
            formations_used: sums.formations,
        }
    }
}

async fn team(request: &ApiRequest) -> ApiResult {
    let (matches, team) = Matches::for_entity(request, EntityKind::Team)?;
    let query =
        TeamFiguresParams::read(&request.params)?.query(&request.params, with_result().sport);
    let statuses = with_result().statuses;
    let summaries = matches.all(&MatchQuery { team: Some(team.id), statuses, ..query });
    let match_stats = request.extension::<MatchStatsCache>()?.load(&matches, &summaries).await?;
    let sided = summaries.iter().filter_map(|it| Some((it, side_of(&it.sides?, &team.id)?)));
    let sided: Vec<(&Arc<MatchSummary>, usize)> = sided.collect();
    let of_side = |wanted: usize| {
        let at_side: Vec<_> = sided.iter().copied().filter(|(_, side)| *side == wanted).collect();
        ManagerStats::from_sides(&at_side, &match_stats).into()
    };
    let figures = TeamFigures {
        team_id: team.id,
        total: ManagerStats::from_sides(&sided, &match_stats).into(),
        home: of_side(0),
        away: of_side(1),
    };
    request.answer(CacheControl::REFERENCE, &figures)
}

/// In the manner of the endpoints below a player.
#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct PlayerFigures {
    player_id: Key,
    matches: usize,
    starts: usize,
    /// By the names of `player-stats/`; what no feed counted in any of the matches is absent.
    #[schema(value_type = BTreeMap<String, u32>)]
    totals: BTreeMap<&'static str, u32>,
    /// The same per 90 minutes, over the matches whose minutes are known.
    #[schema(value_type = BTreeMap<String, f64>)]
    per_90: BTreeMap<&'static str, f64>,
}

async fn player(request: &ApiRequest) -> ApiResult {
    let (player, rows) = chosen(request, &PlayerFiguresParams::read(&request.params)?).await?;
    request.answer(CacheControl::REFERENCE, &PlayerFigures::new(player.id, &rows))
}

impl PlayerFigures {
    fn new(player_id: Key, played: &[Appearance]) -> Self {
        let mut figures = Self {
            player_id,
            matches: played.iter().filter(|row| row.played).count(),
            starts: played.iter().filter(|row| row.starter).count(),
            ..Self::default()
        };
        let minutes = |row: &Appearance| count(row, PlayerStat::MinutesPlayed);
        for counter in PlayerStat::ALL {
            let counts: Vec<(u32, Option<u32>)> = played
                .iter()
                .filter_map(|row| Some((count(row, counter)?, minutes(row))))
                .collect();
            if counts.is_empty() {
                continue;
            }
            let total = counts.iter().fold(0_u32, |sum, (count, _)| sum.saturating_add(*count));
            figures.totals.insert(counter.as_str(), total);
            let timed = counts.iter().filter_map(|(count, minutes)| Some((*count, (*minutes)?)));
            let [count, time] = timed.fold([0.0_f64; 2], |[sum, time], (count, minutes)| {
                [sum + f64::from(count), time + f64::from(minutes)]
            });
            if time > 0.0 && counter != PlayerStat::MinutesPlayed {
                let per_90 = (90.0 * count / time * 100.0).round() / 100.0;
                figures.per_90.insert(counter.as_str(), per_90);
            }
        }
        figures
    }
}

/// What was counted of a player in a match, by the rule of [`PlayerStats`](super::player_stats::PlayerStats): goals, assists and
/// cards are always known.
fn count(row: &Appearance, counter: PlayerStat) -> Option<u32> {
    match counter {
        PlayerStat::Goals => Some(row.goals),
        PlayerStat::Assists => Some(row.assists),
        PlayerStat::YellowCards => Some(row.yellow),
        PlayerStat::RedCards => Some(row.red),
        other => row.stats.get(other.as_str()).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_means_are_of_the_matches_that_have_the_counter() {
        let appearance = |goals: u32, stats: &[(&str, u32)]| Appearance {
            public_id: None,
            match_id: 1,
            player: 7,
            team: 3,
            season: None,
            start: None,
            starter: goals > 0,
            played: true,
            position: None,
            number: None,
            goals,
            assists: 0,
            yellow: 1,
            red: 0,
            fouls: 0,
            stats: stats.iter().map(|(name, count)| ((*name).into(), *count)).collect(),
        };
        let played = [
            appearance(2, &[("minutes_played", 90), ("total_shots", 4)]),
            appearance(0, &[("minutes_played", 45)]),
            appearance(1, &[]),
        ];
        let figures = PlayerFigures::new(7, &played);
        assert_eq!((figures.matches, figures.starts), (3, 2));
        let totals = |name: &str| figures.totals.get(name).copied();
        assert_eq!(
            (totals("goals"), totals("yellow_card"), totals("red_card")),
            (Some(3), Some(3), Some(0))
        );
        assert_eq!((totals("total_shots"), totals("minutes_played")), (Some(4), Some(135)));
        assert_eq!(totals("key_pass"), None, "no feed counts it");
        let per_90 = |name: &str| figures.per_90.get(name).copied();
        assert_eq!((per_90("goals"), per_90("total_shots")), (Some(1.33), Some(4.0)));
        assert_eq!((per_90("minutes_played"), per_90("key_pass")), (None, None));
        assert_eq!(PlayerFigures::new(7, &[]).matches, 0);
    }
}
