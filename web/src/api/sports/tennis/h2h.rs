//! `/tennis/api/v2/matches/{id}/h2h/`.

use std::collections::BTreeMap;

use axum::extract::Path;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        matches,
        meetings::{self, SideMatch},
        request::{ApiResult, SportsRequest},
        sport_stats::SportStats,
    },
    row::{PlayerBrief, SetGames, TournamentBrief},
};
use crate::{
    api::{Api, CacheControl, error::ErrorBody, time},
    archive::EntityKind,
    record::{EntityRef, Key, MatchRecord},
};

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

#[derive(Debug, Default, Serialize, ToSchema)]
struct TennisMeetings {
    total_matches: usize,
    player1_wins: usize,
    player2_wins: usize,
    /// By the surface, where the tournament's is known.
    by_surface: BTreeMap<String, SurfaceWins>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
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

/// What the two made of each other before, and each of others lately.
#[utoipa::path(get, path = "/tennis/api/v2/matches/{id}/h2h/", tag = "tennis",
    params(("id" = u64, Path)),
    responses((status = 200, body = TennisH2h), (status = 404, body = ErrorBody))
)]
pub(super) async fn h2h(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::one(&request, Sport::Tennis, &id, CacheControl::REFERENCE, TennisH2h::of).await
}

impl TennisH2h {
    fn of(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let [player1, player2] = PlayerBrief::both(api, record, sport_stats);
        let mut answer = Self {
            match_id: record.brief.id,
            player1,
            player2,
            h2h: None,
            player1_last5: Vec::new(),
            player2_last5: Vec::new(),
        };
        if let Some([first, second]) = record.brief.sides {
            let results = [first, second].map(|side| meetings::results(api, record, side));
            answer.h2h = TennisMeetings::of(api, meetings::between(&results[0], second));
            let [last5, other] = results.map(|all| {
                all.iter()
                    .take(5)
                    .map(|side_match| TennisResult::of(api, side_match, sport_stats))
                    .collect()
            });
            (answer.player1_last5, answer.player2_last5) = (last5, other);
        }
        answer
    }
}

impl TennisMeetings {
    fn of<'a>(api: &Api, between: impl Iterator<Item = &'a SideMatch>) -> Option<Self> {
        let mut own = Self::default();
        for side_match in between {
            let wins =
                [side_match.won() == Some(true), side_match.won() == Some(false)].map(usize::from);
            own.total_matches += 1;
            own.player1_wins += wins[0];
            own.player2_wins += wins[1];
            let tournament = side_match.brief.competition;
            let tournament =
                tournament.and_then(|id| api.archive.entity(EntityKind::Competition, id));
            let surface =
                tournament.and_then(|it| it.about.get("surface")?.as_str().map(str::to_lowercase));
            if let Some(surface) = surface {
                let on = own.by_surface.entry(surface).or_default();
                on.player1_wins += wins[0];
                on.player2_wins += wins[1];
            }
        }
        (own.total_matches > 0).then_some(own)
    }
}

impl TennisResult {
    fn of(api: &Api, side_match: &SideMatch, sport_stats: &SportStats) -> Self {
        let brief = &side_match.brief;
        let tournament = brief.competition;
        let tournament = tournament.and_then(|id| api.archive.entity(EntityKind::Competition, id));
        let tournament = tournament.map(|entity| TournamentBrief::of_entity(&entity));
        let circuit = tournament.as_ref().and_then(|tournament| tournament.circuit);
        let opponent =
            side_match.opponent().and_then(|id| api.archive.entity(EntityKind::Player, id));
        let opponent = opponent.map(|it| EntityRef { id: it.id, name: it.name.clone() });
        let score = side_match.score();
        Self {
            id: brief.id,
            date: brief.start.and_then(time::offset),
            surface: tournament.as_ref().and_then(|tournament| tournament.surface.clone()),
            round: brief.round_name.as_ref().map(|round| round.to_string()),
            opponent: opponent.map(|named| PlayerBrief::of(api, &named, circuit, sport_stats)),
            tournament,
            score: brief.parts.iter().map(|[p1, p2]| SetGames { p1: *p1, p2: *p2 }).collect(),
            won: side_match.won(),
            sets_won: score.map(|score| score[0]),
            sets_lost: score.map(|score| score[1]),
        }
    }
}
