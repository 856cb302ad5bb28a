//! `/tennis/api/v2/matches/{id}/point-by-point/`.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{matches, request::NONE};
use crate::rest::{Api, CacheControl};
use record::{Key, MatchRecord, PointRecord, SetRecord};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PointByPoint {
    match_id: Key,
    /// False if no feed reported the points.
    available: bool,
    sets: Vec<PlayedSet>,
}

#[derive(Debug, Serialize, ToSchema)]
struct PlayedSet {
    /// From 1.
    set: u8,
    /// No feed provides it.
    duration_seconds: Option<u32>,
    games: Vec<PlayedGame>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
struct PlayedGame {
    /// From 1, within the set.
    game: usize,
    /// 1 or 2; in a tie-break who serves first.
    server: u8,
    /// 1 or 2; null while it is played.
    winner: Option<u8>,
    /// Whether it was won against the serve. A tie-break never is.
    #[serde(rename = "break")]
    is_break: bool,
    /// The games of the set after it.
    player1_games: u8,
    player2_games: u8,
    points: Vec<PlayedPoint>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
struct PlayedPoint {
    /// As the umpire calls them after the point; `0` and `0` after the one that ends the game.
    player1_score: String,
    player2_score: String,
    /// 1 or 2.
    winner: u8,
}

endpoints! {
    /// Every point of a match, by set and game.
    "/tennis/api/v2/matches/{id}/point-by-point/", params(NONE), answers(PointByPoint), |request| {
            matches::part(&request, Sport::Tennis, CacheControl::LIVE, PointByPoint::new).await
        };
}

impl PointByPoint {
    fn new(_: &Api, record: &MatchRecord) -> Self {
        let tennis = record.play.tennis();
        let (points, sets) =
            tennis.map_or((&[][..], &[][..]), |tennis| (&tennis.points, &tennis.sets));
        let by_set = points.chunk_by(|a, b| a.set == b.set);
        let played = by_set.filter_map(|points| {
            let set = points.first()?.set;
            let games_of_set = sets.get(usize::from(set).checked_sub(1)?);
            Some(PlayedSet { set, duration_seconds: None, games: games(points, games_of_set) })
        });
        Self { match_id: record.summary.id, available: !points.is_empty(), sets: played.collect() }
    }
}

/// The games of one set.
fn games(points: &[PointRecord], set: Option<&SetRecord>) -> Vec<PlayedGame> {
    let by_game = points.chunk_by(|before, _| !before.ended_game);
    by_game.zip(1..).filter_map(|(points, number)| game(number, points, set)).collect()
}

fn game(number: usize, points: &[PointRecord], set: Option<&SetRecord>) -> Option<PlayedGame> {
    let (first, last) = (points.first()?, points.last()?);
    let winner = last.ended_game.then_some(last.winner);
    let [player1_games, player2_games] = last.games;
    let mut before = last.games;
    if let Some(score) = winner.and_then(|winner| before.get_mut(usize::from(winner))) {
        *score = score.saturating_sub(1);
    }
    // A tie-break is played when the games are level at six all or later, and ends the set.
    let is_tie_break = set.is_some_and(|set| {
        set.tie_break.is_some()
            && before[0] == before[1]
            && (winner.is_none() || last.games == set.games)
    });
    let point = |point: &PointRecord| PlayedPoint {
        player1_score: point.game[0].to_string(),
        player2_score: point.game[1].to_string(),
        winner: point.winner + 1,
    };
    Some(PlayedGame {
        game: number,
        server: first.server + 1,
        winner: winner.map(|winner| winner + 1),
        is_break: !is_tie_break && winner.is_some_and(|winner| winner != first.server),
        player1_games,
        player2_games,
        points: points.iter().map(point).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(winner: u8, server: u8, games: [u8; 2], ended_game: bool) -> PointRecord {
        PointRecord {
            winner,
            server,
            how: None,
            set: 1,
            games,
            game: ["0".into(), "0".into()],
            ended_game,
            ended_set: false,
        }
    }

    #[test]
    fn games_end_where_they_were_won() {
        let points = [
            point(0, 0, [0, 0], false),
            point(0, 0, [1, 0], true),
            point(0, 1, [2, 0], true),
            point(1, 0, [2, 0], false),
        ];
        let games = games(&points, None);
        let found: Vec<_> =
            games.iter().map(|it| (it.server, it.winner, it.is_break, it.points.len())).collect();
        assert_eq!(
            found,
            [(1, Some(1), false, 2), (2, Some(1), true, 1), (1, None, false, 1)],
            "server, winner, break, points"
        );
    }

    #[test]
    fn tie_break_is_no_break() {
        let set = SetRecord { games: [6, 7], tie_break: Some([5, 7]) };
        let points = [point(1, 0, [6, 6], false), point(1, 1, [6, 7], true)];
        let games = games(&points, Some(&set));
        assert_eq!((games[0].winner, games[0].is_break), (Some(2), false));
        // The game that made it six all was a break like any other.
        let games = super::games(&[point(1, 0, [6, 6], true)], Some(&set));
        assert!(games[0].is_break);
    }
}
