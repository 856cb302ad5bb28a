//! `/csgo/api/v2/matches/`.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    form::{self, HeadToHead, Report},
    match_odds::StickOdds,
    matches,
    meetings::SideMatch,
    request::NONE,
    shape::{self, NamedRow, TeamBrief},
    sport_stats::SportStats,
};
use crate::rest::{Api, CacheControl, Page};
use record::{Key, MatchRecord, Vocabulary};

const SPORT: Sport = Sport::Cs2;

match_lists!(TournamentParams, TeamParams, "notstarted, inprogress, finished");

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoMatch {
    id: Key,
    tournament: Option<NamedRow>,
    stage: Option<String>,
    home_team: Option<TeamBrief>,
    away_team: Option<TeamBrief>,
    start_time: Option<String>,
    status: &'static str,
    best_of: Option<u8>,
    /// Maps won.
    home_score: Option<u32>,
    away_score: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoDetail {
    #[serde(flatten)]
    row: CsgoMatch,
    maps: Vec<CsgoMap>,
}

#[derive(Debug, Serialize, ToSchema)]
struct CsgoMap {
    /// By its number, `map 1`: no feed names the map.
    map: String,
    map_name: Option<String>,
    home_rounds: u32,
    away_rounds: u32,
}

/// Counted from the results of both teams before the match.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoStats {
    match_id: Key,
    teams: Vec<CsgoTeamStats>,
    head_to_head: HeadToHead,
}

#[derive(Debug, Serialize, ToSchema)]
struct CsgoTeamStats {
    team: NamedRow,
    /// 0 to 1.
    map_winrate: Option<f64>,
    round_winrate_all: Option<f64>,
    /// What no feed provides.
    round_winrate_t: Option<f64>,
    round_winrate_ct: Option<f64>,
    pistol_winrate: Option<f64>,
    kd_ratio: Option<f64>,
    avg_damage: Option<f64>,
    /// The last five, `W`, `D`, `L`, the latest first.
    form_results: Vec<String>,
}

/// No feed reports what players do: the list is empty.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoPlayerStats {
    match_id: Key,
    count: usize,
    player_stats: Vec<NamedRow>,
}

endpoints! {
    /// Matches, the newest first; with a start date, the earliest first.
    "/csgo/api/v2/matches/", params(MATCHES), answers(Page<CsgoMatch>),
        |request| matches::list(&request, SPORT, CsgoMatch::new).await;

    /// Matches in play.
    "/csgo/api/v2/matches/live/", params(LIVE), answers(Page<CsgoMatch>),
        |request| matches::live(&request, SPORT, CsgoMatch::new).await;

    /// One match.
    "/csgo/api/v2/matches/{id}/", params(NONE), answers(CsgoDetail),
        |request| matches::one(&request, SPORT, CacheControl::LIST, CsgoDetail::new).await;

    /// The prices of each bookmaker.
    "/csgo/api/v2/matches/{id}/odds/", params(NONE), answers(StickOdds),
        |request| matches::odds(&request, SPORT).await;

    /// The statistics of each player, if a feed reports them.
    "/csgo/api/v2/matches/{id}/player-stats/", params(NONE), answers(CsgoPlayerStats),
        |request| matches::part(&request, SPORT, CacheControl::LIST, CsgoPlayerStats::new).await;

    /// The form of both teams before the match, calculated from stored results.
    "/csgo/api/v2/matches/{id}/stats/", params(NONE), answers(CsgoStats),
        |request| matches::part(&request, SPORT, CacheControl::REFERENCE, CsgoStats::new).await;
}

impl CsgoMatch {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let summary = &record.summary;
        let [home_team, away_team] = TeamBrief::both(api, record, sport_stats);
        Self {
            id: summary.id,
            tournament: record.names.competition.as_ref().map(NamedRow::new),
            stage: shape::text(summary.round_name.as_ref().or(summary.group.as_ref())),
            home_team,
            away_team,
            start_time: shape::start(record),
            status: summary.status.word(Vocabulary::Sport(SPORT)),
            best_of: summary.best_of,
            home_score: shape::side_value(summary.score, 0),
            away_score: shape::side_value(summary.score, 1),
        }
    }
}

impl CsgoDetail {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let maps = record.summary.parts.iter().zip(1..).map(|([home, away], number)| CsgoMap {
            map: format!("map {number}"),
            map_name: None,
            home_rounds: *home,
            away_rounds: *away,
        });
        Self { maps: maps.collect(), row: CsgoMatch::new(api, record, sport_stats) }
    }
}

impl CsgoPlayerStats {
    fn new(_: &Api, record: &MatchRecord) -> Self {
        Self { match_id: record.summary.id, count: 0, player_stats: Vec::new() }
    }
}

impl CsgoStats {
    fn new(api: &Api, record: &MatchRecord) -> Self {
        let Report { head_to_head, results, .. } = Report::new(api, record);
        let sides = record.names.sides.iter().flatten().zip(&results);
        let teams = sides.map(|(team, results)| CsgoTeamStats::new(NamedRow::new(team), results));
        Self { match_id: record.summary.id, teams: teams.collect(), head_to_head }
    }
}

impl CsgoTeamStats {
    fn new(team: NamedRow, results: &[SideMatch]) -> Self {
        let maps = share(results.iter().filter_map(SideMatch::score));
        let rounds = share(results.iter().flat_map(SideMatch::parts));
        let form = results.iter().take(5).filter_map(form::letter).map(String::from);
        Self {
            team,
            map_winrate: maps,
            round_winrate_all: rounds,
            round_winrate_t: None,
            round_winrate_ct: None,
            pistol_winrate: None,
            kd_ratio: None,
            avg_damage: None,
            form_results: form.collect(),
        }
    }
}

/// The first values' share of the sum of all pairs.
fn share(pairs: impl Iterator<Item = [u32; 2]>) -> Option<f64> {
    let [won_sum, all] = pairs.fold([0_u32, 0_u32], |[won_sum, all], [won, lost]| {
        [won_sum.saturating_add(won), all.saturating_add(won).saturating_add(lost)]
    });
    form::ratio(f64::from(won_sum), usize::try_from(all).ok()?)
}
