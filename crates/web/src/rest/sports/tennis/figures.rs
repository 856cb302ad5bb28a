//! Serve and return statistics of each player, counted from the games and points of a match.

use record::{MatchRecord, PointRecord, TennisRecord};

/// The statistics of one player. `None` means that the feed's data is not sufficient.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct PlayerFigures {
    pub(super) games_won: Option<u32>,
    /// Without tie-breaks.
    pub(super) service_games: Option<u32>,
    pub(super) service_games_won: Option<u32>,
    /// Of the break points faced, in percent; `None` without one.
    pub(super) break_points_saved_pct: Option<f64>,
    /// Of the player's break point chances, in percent; `None` without one.
    pub(super) break_points_converted_pct: Option<f64>,
}

/// The statistics of both players.
pub(super) fn player_figures(record: &MatchRecord) -> [PlayerFigures; 2] {
    let parts = &record.summary.parts;
    let games = |side: usize| parts.iter().map(|set| set[side]).fold(0, u32::saturating_add);
    let served = record.play.tennis().filter(|it| is_complete(it, parts)).map(ServeCounts::new);
    [0, 1].map(|side| {
        let counted = served.as_ref();
        let chances = |it: &ServeCounts, side: usize| percent(it.breaks[side], it.chances[side]);
        PlayerFigures {
            games_won: (!parts.is_empty()).then(|| games(side)),
            service_games: counted.map(|it| it.games[side]),
            service_games_won: counted.map(|it| it.held[side]),
            break_points_saved_pct: counted
                .and_then(|it| chances(it, 1 - side).map(|converted| 100.0 - converted)),
            break_points_converted_pct: counted.and_then(|it| chances(it, side)),
        }
    })
}

/// Whether the feed gave every point of every game: a feed that joined late counts too few.
fn is_complete(tennis: &TennisRecord, sets: &[[u32; 2]]) -> bool {
    let finished_games = tennis.points.iter().filter(|point| point.ended_game).count();
    let played: u32 = sets.iter().flatten().copied().fold(0, u32::saturating_add);
    !tennis.points.is_empty() && u32::try_from(finished_games) == Ok(played)
}

fn percent(part: u32, total: u32) -> Option<f64> {
    (total > 0).then(|| f64::from(part) / f64::from(total) * 100.0)
}

/// Counts of both players.
#[derive(Debug, Default)]
struct ServeCounts {
    /// Service games, and those that the server won.
    games: [u32; 2],
    held: [u32; 2],
    /// Break points of each player, and those that won the game.
    chances: [u32; 2],
    breaks: [u32; 2],
}

impl ServeCounts {
    fn new(tennis: &TennisRecord) -> Self {
        let mut counts = Self::default();
        let (mut before, mut is_tie_break) = (["0", "0"], false);
        for point in &tennis.points {
            is_tie_break |= point.game.iter().any(|call| !CALLS.contains(&&**call));
            if !is_tie_break {
                counts.count(before, point);
            }
            if point.ended_game {
                (before, is_tie_break) = (["0", "0"], false);
            } else {
                before = [&*point.game[0], &*point.game[1]];
            }
        }
        counts
    }

    fn count(&mut self, before: [&str; 2], point: &PointRecord) {
        let [server, winner] = [point.server, point.winner].map(usize::from);
        if server > 1 || winner > 1 {
            return;
        }
        let receiver = 1 - server;
        let is_break_point = match before[receiver] {
            "A" => true,
            "40" => !["40", "A"].contains(&before[server]),
            _ => false,
        };
        if is_break_point {
            self.chances[receiver] += 1;
            self.breaks[receiver] += u32::from(winner == receiver);
        }
        if point.ended_game {
            self.games[server] += 1;
            self.held[server] += u32::from(winner == server);
        }
    }
}

/// The score of a game as umpires call it; points of a tie-break are counted.
const CALLS: [&str; 5] = ["0", "15", "30", "40", "A"];

#[cfg(test)]
mod tests {
    use super::*;

    /// A game with these points, each given by its winner.
    fn game(server: u8, winners: &[u8], games: [u8; 2]) -> Vec<PointRecord> {
        const CALL: [&str; 4] = ["0", "15", "30", "40"];
        let mut won = [0_usize; 2];
        let mut points = Vec::new();
        for (index, winner) in winners.iter().enumerate() {
            won[usize::from(*winner)] += 1;
            let ended_game = index + 1 == winners.len();
            let call = |side: usize| match (won[side], won[1 - side]) {
                _ if ended_game => "0",
                (scored, other) if scored > 3 && scored > other => "A",
                (scored, _) => CALL[scored.min(3)],
            };
            points.push(PointRecord {
                winner: *winner,
                server,
                how: None,
                set: 1,
                games,
                game: [call(0).into(), call(1).into()],
                ended_game,
                ended_set: false,
            });
        }
        points
    }

    #[test]
    fn games_and_break_points_are_counted() {
        let mut points = game(0, &[0, 0, 0, 0], [1, 0]);
        // Two break points are saved, the third is converted: 15-40, 40-40, advantage, game.
        points.extend(game(1, &[1, 0, 0, 0, 1, 1, 0, 0], [2, 0]));
        let tennis = TennisRecord { points, ..TennisRecord::default() };
        assert!(is_complete(&tennis, &[[2, 0]]));
        assert!(!is_complete(&tennis, &[[3, 0]]), "a game was not reported");
        let served = ServeCounts::new(&tennis);
        assert_eq!((served.games, served.held), ([1, 1], [1, 0]));
        assert_eq!((served.chances, served.breaks), ([3, 0], [1, 0]));
    }

    #[test]
    fn tie_break_is_no_service_game() {
        let point = |winner: u8, game: [&str; 2], ended_game| PointRecord {
            winner,
            server: 0,
            how: None,
            set: 1,
            games: [7, 6],
            game: game.map(Into::into),
            ended_game,
            ended_set: ended_game,
        };
        let points = vec![point(0, ["1", "0"], false), point(0, ["0", "0"], true)];
        let served = ServeCounts::new(&TennisRecord { points, ..TennisRecord::default() });
        assert_eq!((served.games, served.chances), ([0, 0], [0, 0]));
    }
}
