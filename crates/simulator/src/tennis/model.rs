//! True probabilities of a tennis match in its current state.
//!
//! Points are independent, and won by their server with a probability that is fixed for each
//! player. Games, tie-breaks and sets are then races to a number of wins with two to spare, and a
//! match is a race of sets: P. K. Newton and J. B. Keller, "Probability of Winning at Tennis I",
//! Studies in Applied Mathematics 114 (2005). They also show that who serves first does not change
//! the probability of winning a set, which is why sets to come need no server here.

use facts::{
    event::{GameScore, Pair, Side, TennisScore},
    tennis::{FinalSet, MatchFormat},
};

/// The longest race, a tie-break to ten, is level at nine all and has two points beyond.
const SCORES: usize = 12;

/// Tables for one match, computed once: a price is then a few look-ups.
#[derive(Debug)]
pub(super) struct Model {
    format: MatchFormat,
    /// Player 1 wins a game in which each side serves.
    game: Pair<Race>,
    /// Player 1 wins a tie-break that each side serves first.
    tie_break: Pair<Race>,
    final_tie_break: Pair<Race>,
    set: Pair<Race>,
    final_set: Pair<Race>,
}

/// The probability that player 1 wins a race from every score of it.
#[derive(Debug)]
struct Race {
    /// From here on, level scores repeat: in a tie-break 8-8 is as good as 6-6.
    level: usize,
    table: [[f64; SCORES]; SCORES],
}

impl Model {
    /// `serve` holds each player's probability of winning a point on the own serve.
    pub(super) fn new(serve: Pair<f64>, format: MatchFormat) -> Self {
        let points = [serve[0], 1.0 - serve[1]];
        let game = points.map(|p| Race::new(4, 3, two_clear(p, p), |_| p));
        let holds = [game[0].table[0][0], game[1].table[0][0]];
        let tie_break = tie_breaks(7, points);
        let final_tie_break = match format.final_set {
            FinalSet::TieBreakTo10 => tie_breaks(10, points),
            FinalSet::TieBreak | FinalSet::Advantage => tie_breaks(7, points),
        };
        let set = sets(holds, 6, start_of(&tie_break));
        let final_set = match format.final_set {
            FinalSet::Advantage => sets(holds, 5, two_clear(holds[0], holds[1])),
            _ => sets(holds, 6, start_of(&final_tie_break)),
        };
        Self { format, game, tie_break, final_tie_break, set, final_set }
    }

    /// The probability that player 1 wins the match from a score.
    pub(super) fn first_wins(&self, score: &TennisScore) -> f64 {
        if let Some(winner) = score.winner {
            return if winner == Side::First { 1.0 } else { 0.0 };
        }
        let won = score.sets_won();
        let set = self.set_from(score, won);
        let [after_win, after_loss] = [[won[0] + 1, won[1]], [won[0], won[1] + 1]];
        set * self.match_from(after_win) + (1.0 - set) * self.match_from(after_loss)
    }

    /// The probability that player 1 wins the set in progress.
    fn set_from(&self, score: &TennisScore, won: Pair<u8>) -> f64 {
        let server = score.server.unwrap_or(Side::First).index();
        match score.game {
            GameScore::TieBreak(points) => self.tie_break_from(points, server, won),
            GameScore::Points(points) => {
                let games = score.sets.last().copied().unwrap_or_default().games;
                let game = self.game[server].at(self.game[server].folded(points));
                self.games_from(games, server, game, won)
            }
        }
    }

    fn tie_break_from(&self, points: Pair<u16>, server: usize, won: Pair<u8>) -> f64 {
        let races = if self.is_final(won) { &self.final_tie_break } else { &self.tie_break };
        let points = races[0].folded(points);
        let first = (server + serves_in_tie_break(points[0] + points[1])) % 2;
        races[first].at(points)
    }

    /// `game` is the probability that player 1 wins the game in progress.
    fn games_from(&self, games: Pair<u8>, server: usize, game: f64, won: Pair<u8>) -> f64 {
        let races = if self.is_final(won) { &self.final_set } else { &self.set };
        let [first, second] = races[0].folded(games);
        let race = &races[(server + first + second) % 2];
        game * race.at([first + 1, second]) + (1.0 - game) * race.at([first, second + 1])
    }

    /// The probability that player 1 wins the match from the sets won, a new set to begin.
    fn match_from(&self, won: Pair<u8>) -> f64 {
        let needed = self.format.sets_to_win;
        if won[0] >= needed {
            return 1.0;
        }
        if won[1] >= needed {
            return 0.0;
        }
        let set = start_of(if self.is_final(won) { &self.final_set } else { &self.set });
        set * self.match_from([won[0] + 1, won[1]])
            + (1.0 - set) * self.match_from([won[0], won[1] + 1])
    }

    fn is_final(&self, won: Pair<u8>) -> bool {
        won[0] + won[1] + 1 == self.format.sets_to_win * 2 - 1
    }
}

impl Race {
    /// A race to `target` with two to spare, of which the probability at `level` all is known;
    /// `win` is the probability of the next point or game after so many.
    fn new(target: usize, level: usize, at_level: f64, win: impl Fn(usize) -> f64) -> Self {
        let mut race = Self { level, table: [[0.0; SCORES]; SCORES] };
        let ends = |ahead: usize, behind: usize| ahead >= target && ahead >= behind + 2;
        // Two beyond level all is the highest score; from there back to the start.
        let cells =
            (0..=level + 2).rev().flat_map(|first| (0..=level + 2).rev().map(move |n| (first, n)));
        for (first, second) in cells {
            race.table[first][second] = if first == second && first >= level {
                at_level
            } else if ends(first, second) {
                1.0
            } else if ends(second, first) || first.min(second) > level {
                // The second are scores that `folded` never leaves.
                0.0
            } else {
                let p = win(first + second);
                p * race.table[first + 1][second] + (1.0 - p) * race.table[first][second + 1]
            };
        }
        race
    }

    fn at(&self, [first, second]: Pair<usize>) -> f64 {
        self.table[first][second]
    }

    /// The score in the table that is as good as this one: what both have beyond level all does not
    /// count.
    fn folded<T: Into<usize>>(&self, score: Pair<T>) -> Pair<usize> {
        let [first, second] = score.map(Into::into);
        let beyond = first.min(second).saturating_sub(self.level);
        [first - beyond, second - beyond]
    }
}

/// Tie-breaks to `target` that each side serves first; `points` are player 1's on either serve.
fn tie_breaks(target: usize, points: Pair<f64>) -> Pair<Race> {
    let level = two_clear(points[0], points[1]);
    [0, 1].map(|first| {
        let win = |played| points[(first + serves_in_tie_break(played)) % 2];
        Race::new(target, target - 1, level, win)
    })
}

/// Sets that each side serves first; `holds` are player 1's games on either serve, `at_level` what
/// decides the set at `level` all.
fn sets(holds: Pair<f64>, level: usize, at_level: f64) -> Pair<Race> {
    [0, 1].map(|first: usize| Race::new(6, level, at_level, |played| holds[(first + played) % 2]))
}

/// From the start it does not matter who serves first.
fn start_of(races: &Pair<Race>) -> f64 {
    races[0].table[0][0]
}

/// 0 when the first server of a tie-break serves the point after so many, else 1: the serve changes
/// after the first point and then after every second one.
fn serves_in_tie_break(played: usize) -> usize {
    played.div_ceil(2) % 2
}

/// The probability of getting two ahead from level, winning with `a` and `b` in turn.
fn two_clear(a: f64, b: f64) -> f64 {
    let (ahead, behind) = (a * b, (1.0 - a) * (1.0 - b));
    ahead / (ahead + behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: MatchFormat = MatchFormat { sets_to_win: 2, final_set: FinalSet::TieBreakTo10 };

    #[test]
    fn game_is_won_as_often_as_the_closed_formula_says() {
        let p: f64 = 0.62;
        let q = 1.0 - p;
        let closed = p.powi(4) * (1.0 + 4.0 * q + 10.0 * q * q)
            + 20.0 * (p * q).powi(3) * p * p / (p * p + q * q);
        let model = Model::new([p, 0.6], FORMAT);
        assert!((model.game[0].at([0, 0]) - closed).abs() < 1e-12);
    }

    #[test]
    fn who_serves_first_does_not_matter_for_a_set() {
        for final_set in [FinalSet::TieBreak, FinalSet::TieBreakTo10, FinalSet::Advantage] {
            let model = Model::new([0.66, 0.58], MatchFormat { sets_to_win: 3, final_set });
            for races in [&model.tie_break, &model.final_tie_break, &model.set, &model.final_set] {
                assert!((races[0].at([0, 0]) - races[1].at([0, 0])).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn equal_players_have_equal_chances() {
        let model = Model::new([0.63, 0.63], FORMAT);
        let start = TennisScore::start(Side::Second);
        assert!((model.first_wins(&start) - 0.5).abs() < 1e-12);
    }

    /// From every score on the way, the probability is the mean of those after the next point.
    #[test]
    fn probability_is_a_martingale_to_the_end() {
        let serve = [0.64, 0.61];
        for final_set in [FinalSet::TieBreak, FinalSet::TieBreakTo10, FinalSet::Advantage] {
            let format = MatchFormat { sets_to_win: 2, final_set };
            let model = Model::new(serve, format);
            let mut score = TennisScore::start(Side::First);
            // Holds of serve up to six all, then long tie-breaks and games beyond.
            for number in 0.. {
                let Some(server) = score.server else { break };
                let now = model.first_wins(&score);
                let [won, lost] = [Side::First, Side::Second].map(|side| {
                    let mut next = score.clone();
                    next.point(side, format);
                    model.first_wins(&next)
                });
                let p = if server == Side::First { serve[0] } else { 1.0 - serve[1] };
                assert!((now - (p * won + (1.0 - p) * lost)).abs() < 1e-9, "at {score:?}");
                let receiver_wins = number % 7 == 3 || number > 900 && number % 3 == 0;
                score.point(if receiver_wins { server.other() } else { server }, format);
            }
        }
    }
}
