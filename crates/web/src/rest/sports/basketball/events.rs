//! `/basketball/api/v2/events/`.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    form::{HeadToHead, Report, TeamForm},
    match_odds::StickOdds,
    matches,
    request::NONE,
    shape::{self, LeagueBrief, TeamBrief},
    sport_stats::SportStats,
};
use crate::rest::{Api, CacheControl, Page};
use record::{Key, MatchRecord, Vocabulary};

const SPORT: Sport = Sport::Basketball;

match_lists!(LeagueParams, TeamParams, "scheduled, live, finished");

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BasketballEvent {
    id: Key,
    league: Option<LeagueBrief>,
    home_team: Option<TeamBrief>,
    away_team: Option<TeamBrief>,
    event_date: Option<String>,
    status: &'static str,
    home_score: Option<u32>,
    away_score: Option<u32>,
    /// The points of each quarter, and of each overtime.
    periods: Vec<QuarterPoints>,
    /// The quarter in progress, as the feed names it: `q3`.
    current_period: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
struct QuarterPoints {
    home: u32,
    away: u32,
}

/// What each player did. No feed provides it: the lists are empty.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct BoxScore {
    home: Vec<BoxLine>,
    away: Vec<BoxLine>,
}

#[derive(Debug, Serialize, ToSchema)]
struct BoxLine {
    name: String,
    minutes: Option<u32>,
    points: Option<u32>,
    rebounds: Option<u32>,
    assists: Option<u32>,
    fg: Option<String>,
    three_pt: Option<String>,
}

/// How the two teams stand before the match, by earlier results.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Pregame {
    event_id: Key,
    head_to_head: HeadToHead,
    home_form: TeamForm,
    away_form: TeamForm,
}

/// The statistics of each team: points only.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TeamStats {
    event_id: Key,
    home: TeamPoints,
    away: TeamPoints,
}

#[derive(Debug, Serialize, ToSchema)]
struct TeamPoints {
    points: Option<u32>,
    points_by_period: Vec<u32>,
}

endpoints! {
    /// Matches, the newest first; with a start date, the earliest first.
    "/basketball/api/v2/events/", params(MATCHES), answers(Page<BasketballEvent>),
        |request| matches::list(&request, SPORT, BasketballEvent::new).await;

    /// Matches in play.
    "/basketball/api/v2/events/live/", params(LIVE), answers(Page<BasketballEvent>),
        |request| matches::live(&request, SPORT, BasketballEvent::new).await;

    /// One match.
    "/basketball/api/v2/events/{id}/", params(NONE), answers(BasketballEvent),
        |request| matches::one(&request, SPORT, CacheControl::LIST, BasketballEvent::new).await;

    /// The statistics of each player, if a feed reports them.
    "/basketball/api/v2/events/{id}/box-score/", params(NONE), answers(BoxScore), |request| {
            matches::part(&request, SPORT, CacheControl::LIST, |_, _| BoxScore::default()).await
        };

    /// The prices of each bookmaker.
    "/basketball/api/v2/events/{id}/odds/", params(NONE), answers(StickOdds),
        |request| matches::odds(&request, SPORT).await;

    /// The form of both teams before a match.
    "/basketball/api/v2/events/{id}/pregame/", params(NONE), answers(Pregame),
        |request| matches::part(&request, SPORT, CacheControl::REFERENCE, Pregame::new).await;

    /// The statistics of each team.
    "/basketball/api/v2/events/{id}/team-stats/", params(NONE), answers(TeamStats),
        |request| matches::part(&request, SPORT, CacheControl::LIST, TeamStats::new).await;
}

impl Pregame {
    fn new(api: &Api, record: &MatchRecord) -> Self {
        let Report { head_to_head, forms: [home_form, away_form], .. } = Report::new(api, record);
        Self { event_id: record.summary.id, head_to_head, home_form, away_form }
    }
}

impl TeamStats {
    fn new(_: &Api, record: &MatchRecord) -> Self {
        let points = |side: usize| TeamPoints {
            points: shape::side_value(record.summary.score, side),
            points_by_period: record.summary.parts.iter().map(|part| part[side]).collect(),
        };
        Self { event_id: record.summary.id, home: points(0), away: points(1) }
    }
}

impl BasketballEvent {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let summary = &record.summary;
        let [home_team, away_team] = TeamBrief::both(api, record, sport_stats);
        let quarters = summary.parts.iter();
        let board = record.play.scoreboard().filter(|_| summary.status.is_live());
        Self {
            id: summary.id,
            league: LeagueBrief::new(record),
            home_team,
            away_team,
            event_date: shape::start(record),
            status: summary.status.word(Vocabulary::Sport(SPORT)),
            home_score: shape::side_value(summary.score, 0),
            away_score: shape::side_value(summary.score, 1),
            periods: quarters
                .map(|[home, away]| QuarterPoints { home: *home, away: *away })
                .collect(),
            current_period: shape::text(board.and_then(|board| board.period.as_ref())),
        }
    }
}
