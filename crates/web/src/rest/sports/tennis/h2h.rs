//! `/tennis/api/v2/matches/{id}/h2h/`.

use std::collections::BTreeMap;

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        matches,
        meetings::{self, SideMatch},
        request::NONE,
        sport_stats::SportStats,
    },
    row::{PlayerBrief, SetGames, TournamentBrief},
};
use crate::rest::{Api, CacheControl, time};
use history::query::{DecidedBy, EntityKind, HeadToHead};
use record::{EntityRef, Key, MatchRecord};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TennisH2h {
    match_id: Key,
    player1: Option<PlayerBrief>,
    player2: Option<PlayerBrief>,
    /// Null where they never met.
    h2h: Option<TennisMeetings>,
    /// Results before this match, the latest first.
    player1_last5: Vec<TennisResult>,
    player2_last5: Vec<TennisResult>,
}

#[derive(Debug, Serialize, ToSchema)]
struct TennisMeetings {
    total_matches: usize,
    player1_wins: usize,
    player2_wins: usize,
    /// By the surface, where the tournament's is known.
    by_surface: BTreeMap<String, SurfaceWins>,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
struct SurfaceWins {
    player1_wins: usize,
    player2_wins: usize,
}

/// SERVICE section 8, row 13.
#[derive(Debug, Serialize, ToSchema)]
struct TennisResult {
    /// Of the match.
    id: Key,
    date: Option<String>,
    tournament: Option<TournamentBrief>,
    surface: Option<String>,
    round: Option<String>,
    opponent: Option<PlayerBrief>,
    /// The games of each set, as `sets_detail` of that match has them: `p1` is its first player.
    score: Vec<SetGames>,
    won: Option<bool>,
    sets_won: Option<u32>,
    sets_lost: Option<u32>,
}

endpoints! {
    /// Their earlier meetings, and the recent form of both.
    "/tennis/api/v2/matches/{id}/h2h/", params(NONE), answers(TennisH2h), |request| {
            matches::one(&request, Sport::Tennis, CacheControl::REFERENCE, TennisH2h::new).await
        };
}

impl TennisH2h {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let [player1, player2] = PlayerBrief::both(api, record, sport_stats);
        let mut answer = Self {
            match_id: record.summary.id,
            player1,
            player2,
            h2h: None,
            player1_last5: Vec::new(),
            player2_last5: Vec::new(),
        };
        if let Some([first, second]) = record.summary.sides {
            let results = [first, second].map(|side| meetings::results(api, record, side));
            let record = HeadToHead::against(second, &results[0], DecidedBy::Winner);
            answer.h2h = TennisMeetings::new(api, &record);
            let [last5, other] = results.map(|all| {
                all.iter()
                    .take(5)
                    .map(|side_match| TennisResult::new(api, side_match, sport_stats))
                    .collect()
            });
            (answer.player1_last5, answer.player2_last5) = (last5, other);
        }
        answer
    }
}

impl TennisMeetings {
    fn new(api: &Api, record: &HeadToHead) -> Option<Self> {
        let mut on_surface: BTreeMap<String, Vec<SideMatch>> = BTreeMap::new();
        for meeting in &record.meetings {
            if let Some(surface) = surface(api, meeting) {
                on_surface.entry(surface).or_default().push(meeting.clone());
            }
        }
        let by_surface = on_surface.into_iter().map(|(surface, meetings)| {
            let record = HeadToHead::new(meetings, DecidedBy::Winner);
            (surface, SurfaceWins { player1_wins: record.wins, player2_wins: record.losses })
        });
        (!record.meetings.is_empty()).then(|| Self {
            total_matches: record.meetings.len(),
            player1_wins: record.wins,
            player2_wins: record.losses,
            by_surface: by_surface.collect(),
        })
    }
}

/// The surface of a match's tournament, in lower case.
fn surface(api: &Api, meeting: &SideMatch) -> Option<String> {
    let tournament = api.history.entity(EntityKind::Competition, meeting.summary.competition?)?;
    tournament.about.get("surface")?.as_str().map(str::to_lowercase)
}

impl TennisResult {
    fn new(api: &Api, side_match: &SideMatch, sport_stats: &SportStats) -> Self {
        let summary = &side_match.summary;
        let tournament = summary.competition;
        let tournament = tournament.and_then(|id| api.history.entity(EntityKind::Competition, id));
        let tournament = tournament.map(|entity| TournamentBrief::from_entity(&entity));
        let circuit = tournament.as_ref().and_then(|tournament| tournament.circuit);
        let opponent =
            side_match.opponent().and_then(|id| api.history.entity(EntityKind::Player, id));
        let opponent = opponent.map(|it| EntityRef { id: it.id, name: it.name.clone() });
        let score = side_match.score();
        Self {
            id: summary.id,
            date: summary.start_text(time::offset),
            surface: tournament.as_ref().and_then(|tournament| tournament.surface.clone()),
            round: summary.round_name.as_ref().map(|round| round.to_string()),
            opponent: opponent.map(|named| PlayerBrief::new(api, &named, circuit, sport_stats)),
            tournament,
            score: summary.parts.iter().map(|[p1, p2]| SetGames { p1: *p1, p2: *p2 }).collect(),
            won: side_match.won(),
            sets_won: score.map(|score| score[0]),
            sets_lost: score.map(|score| score[1]),
        }
    }
}
