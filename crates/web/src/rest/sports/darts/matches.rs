//! `/darts/api/v2/matches/`.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    match_odds::StickOdds,
    matches,
    meetings::{self, SideMatch},
    request::NONE,
    shape,
    sport_stats::SportStats,
    team_prediction,
};
use crate::rest::{Api, CacheControl, Page, time};
use history::query::{DecidedBy, EntityKind, HeadToHead};
use record::{EntityRef, Key, MatchRecord, Vocabulary};

const SPORT: Sport = Sport::Darts;

match_lists!(TournamentParams, PlayerParams, "scheduled, live, finished, walkover");

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsMatch {
    id: Key,
    tournament: Option<DartsTournament>,
    player1: Option<DartsPlayerBrief>,
    player2: Option<DartsPlayerBrief>,
    match_date: Option<String>,
    status: &'static str,
    round_name: Option<String>,
    /// Null where it is played in legs alone.
    player1_sets: Option<u32>,
    player2_sets: Option<u32>,
    /// Of all sets together.
    player1_legs: Option<u32>,
    player2_legs: Option<u32>,
    current_set: Option<usize>,
    winner_id: Option<Key>,
    best_of_legs: Option<u8>,
    best_of_sets: Option<u8>,
    /// The legs of each set.
    sets_detail: Vec<SetLegs>,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
struct SetLegs {
    p1: u32,
    p2: u32,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsDetail {
    #[serde(flatten)]
    row: DartsMatch,
    stats: DartsStats,
}

#[derive(Debug, Default, Serialize, ToSchema)]
struct DartsStats {
    player1: DartsThrows,
    player2: DartsThrows,
}

/// No feed reports the throws.
#[derive(Debug, Default, Serialize, ToSchema)]
struct DartsThrows {
    average: Option<f64>,
    checkout_pct: Option<f64>,
    #[serde(rename = "180s")]
    maximums: Option<u32>,
    #[serde(rename = "140_plus")]
    over_140: Option<u32>,
    #[serde(rename = "100_plus")]
    over_100: Option<u32>,
    highest_checkout: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsTournament {
    id: Key,
    name: String,
    category: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsPlayerBrief {
    id: Key,
    name: String,
    short_name: Option<String>,
    country_code: Option<String>,
    country_name: String,
    /// Calculated from stored results; null if there are none.
    elo_overall: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsH2h {
    match_id: Key,
    total_matches: usize,
    player1_wins: usize,
    player2_wins: usize,
    /// No feed reports the throws.
    player1_avg: Option<f64>,
    player2_avg: Option<f64>,
    /// The latest first, ten at most.
    recent_matches: Vec<DartsMeeting>,
}

#[derive(Debug, Serialize, ToSchema)]
struct DartsMeeting {
    date: Option<String>,
    tournament: Option<String>,
    round_name: Option<String>,
    /// `player1` or `player2` of the requested match.
    winner: Option<&'static str>,
    /// Legs if the match was played in legs only.
    player1_sets: Option<u32>,
    player2_sets: Option<u32>,
}

endpoints! {
    /// Matches, the newest first; with a start date, the earliest first.
    "/darts/api/v2/matches/", params(MATCHES), answers(Page<DartsMatch>),
        |request| matches::list(&request, SPORT, DartsMatch::new).await;

    /// Matches in play.
    "/darts/api/v2/matches/live/", params(LIVE), answers(Page<DartsMatch>),
        |request| matches::live(&request, SPORT, DartsMatch::new).await;

    /// One match.
    "/darts/api/v2/matches/{id}/", params(NONE), answers(DartsDetail),
        |request| matches::one(&request, SPORT, CacheControl::LIST, DartsDetail::new).await;

    /// The prices of each bookmaker.
    "/darts/api/v2/matches/{id}/odds/", params(NONE), answers(StickOdds),
        |request| matches::odds(&request, SPORT).await;

    /// Their earlier meetings.
    "/darts/api/v2/matches/{id}/h2h/", params(NONE), answers(DartsH2h),
        |request| matches::part(&request, SPORT, CacheControl::REFERENCE, DartsH2h::new).await;
}

impl DartsMatch {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let summary = &record.summary;
        let [player1, player2] = DartsPlayerBrief::both(api, record, sport_stats);
        // Sets decide if legs are known per set, otherwise legs do.
        let in_sets = !summary.parts.is_empty();
        let sets = summary.score.filter(|_| in_sets);
        let legs = match in_sets {
            true => {
                Some([0, 1].map(|side| shape::total(summary.parts.iter().map(|legs| legs[side]))))
            }
            false => summary.score,
        };
        let best_of =
            |of_sets: bool| summary.best_of.filter(|_| legs.is_some() && in_sets == of_sets);
        Self {
            id: summary.id,
            tournament: DartsTournament::new(record),
            player1,
            player2,
            match_date: shape::start(record),
            status: summary.status.word(Vocabulary::Sport(SPORT)),
            round_name: shape::text(summary.round_name.as_ref()),
            player1_sets: shape::side_value(sets, 0),
            player2_sets: shape::side_value(sets, 1),
            player1_legs: shape::side_value(legs, 0),
            player2_legs: shape::side_value(legs, 1),
            current_set: (in_sets && summary.status.is_live()).then_some(summary.parts.len()),
            winner_id: team_prediction::winner_id(record),
            best_of_legs: best_of(false),
            best_of_sets: best_of(true),
            sets_detail: summary.parts.iter().map(|&[p1, p2]| SetLegs { p1, p2 }).collect(),
        }
    }
}

impl DartsDetail {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        Self { row: DartsMatch::new(api, record, sport_stats), stats: DartsStats::default() }
    }
}

impl DartsTournament {
    pub(super) fn new(record: &MatchRecord) -> Option<Self> {
        let EntityRef { id, name } = record.names.competition.as_ref()?;
        let category = shape::text(record.names.category.as_ref());
        Some(Self { id: *id, name: name.to_string(), category })
    }
}

impl DartsPlayerBrief {
    pub(super) fn both(
        api: &Api,
        record: &MatchRecord,
        sport_stats: &SportStats,
    ) -> [Option<Self>; 2] {
        let player = |named: &EntityRef| {
            let entity = api.history.entity(EntityKind::Player, named.id);
            let country = entity.and_then(|entity| entity.country.clone());
            Self {
                id: named.id,
                name: named.name.to_string(),
                short_name: None,
                country_code: shape::country_code(country.as_ref()),
                country_name: shape::country_name(country.as_ref()),
                elo_overall: sport_stats.elo(named.id),
            }
        };
        shape::both(record, player)
    }
}

impl DartsH2h {
    fn new(api: &Api, record: &MatchRecord) -> Self {
        let against = |[first, second]: [Key; 2]| {
            let results = meetings::results(api, record, first);
            HeadToHead::against(second, &results, DecidedBy::Winner)
        };
        let h2h = record.summary.sides.map(against).unwrap_or_default();
        let recent = h2h.meetings.iter().take(10);
        Self {
            match_id: record.summary.id,
            total_matches: h2h.meetings.len(),
            player1_wins: h2h.wins,
            player2_wins: h2h.losses,
            player1_avg: None,
            player2_avg: None,
            recent_matches: recent.map(|it| DartsMeeting::new(api, it)).collect(),
        }
    }
}

impl DartsMeeting {
    fn new(api: &Api, side_match: &SideMatch) -> Self {
        let tournament = side_match.summary.competition;
        let tournament = tournament.and_then(|id| api.history.entity(EntityKind::Competition, id));
        Self {
            date: side_match.summary.start_text(time::offset),
            tournament: tournament.map(|it| it.name.to_string()),
            round_name: shape::text(side_match.summary.round_name.as_ref()),
            winner: side_match.won().map(|won| if won { "player1" } else { "player2" }),
            player1_sets: shape::side_value(side_match.score(), 0),
            player2_sets: shape::side_value(side_match.score(), 1),
        }
    }
}
