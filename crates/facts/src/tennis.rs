//! The rules of tennis scoring, as a pure function of the score and who won the point.
//!
//! Source: ITF Rules of Tennis 2026, rules 5 to 7 (game, tie-break game, set, match), 14 and 5b
//! (who serves). Fifth sets differ by tournament and year, so the format is an argument.

use std::cmp::Ordering;

use crate::event::{GameScore, SetScore, Side, TennisScore};

/// The sets of the longest match.
const SETS_MAX: usize = 5;

/// How long a match is and how its sets end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchFormat {
    /// Sets that win the match: 2 or 3.
    pub sets_to_win: u8,
    /// How the deciding set ends at 6-6.
    pub final_set: FinalSet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalSet {
    /// A tie-break to 7 like in any other set.
    TieBreak,
    /// A tie-break to 10 (all majors since 2022).
    TieBreakTo10,
    /// Two games clear, however long (Wimbledon, Paris and Melbourne in older years).
    Advantage,
}

impl TennisScore {
    /// The score before the first ball, with who serves it.
    #[must_use]
    pub fn start(server: Side) -> Self {
        Self { server: Some(server), sets: vec![SetScore::default()], ..Self::default() }
    }

    /// Sets won by each side: as the source states them, or by the games.
    #[must_use]
    pub fn sets_won(&self) -> [u8; 2] {
        if let Some(stated) = self.stated_sets {
            return stated;
        }
        let mut won = [0; 2];
        for side in self.sets.iter().filter_map(SetScore::winner) {
            won[side.index()] += 1;
        }
        won
    }

    /// Checks what holds in every format: five sets, of which one side wins three at most; an earlier
    /// set that is over, or of which no game is known; a tie-break that ends two clear, for the winner of its set.
    ///
    /// # Errors
    ///
    /// With the part of the score that no match can have.
    pub fn check(&self) -> Result<(), String> {
        if self.sets.len() > SETS_MAX {
            return Err(format!("score of {} sets", self.sets.len()));
        }
        self.sets.iter().try_for_each(SetScore::check)?;
        if let GameScore::TieBreak(points) = self.game {
            tie_break_check(points)?;
        }
        let earlier = self.sets.split_last().map_or(&[][..], |(_, earlier)| earlier);
        // A set of 0-0 was played before the source was followed.
        let open = |set: &&SetScore| {
            let is_over = set.leader().is_some() && set.games.iter().any(|won| *won >= 4);
            !is_over && set.games != [0, 0]
        };
        if let Some(SetScore { games: [first, second], .. }) = earlier.iter().find(open) {
            return Err(format!("set of {first}-{second} before another"));
        }
        match self.sets_won() {
            [0..=3, 0..=2] | [0..=2, 3] => Ok(()),
            [first, second] => Err(format!("result of {first}-{second} in sets")),
        }
    }

    /// Whether this score is of later in the match than the other: more games, or as many and more
    /// points, where both count points.
    #[must_use]
    pub fn is_ahead_of(&self, other: &Self) -> bool {
        let games = |score: &Self| -> u32 {
            score.sets.iter().flat_map(|set| set.games).map(u32::from).sum()
        };
        let (games_won, games_lost) = (games(self), games(other));
        games_won > games_lost
            || games_won == games_lost && other.points > 0 && self.points > other.points
    }

    /// Moves the score by one point. A score that already has a winner stays as it is.
    pub fn point(&mut self, winner: Side, format: MatchFormat) {
        if self.winner.is_some() {
            return;
        }
        if self.sets.is_empty() {
            self.sets.push(SetScore::default());
        }
        self.points += 1;
        match self.game {
            GameScore::Points(points) => self.ordinary_point(winner, points, format),
            GameScore::TieBreak(points) => self.tie_break_point(winner, points, format),
        }
    }

    fn ordinary_point(&mut self, winner: Side, mut points: [u8; 2], format: MatchFormat) {
        let (scorer, other) = (winner.index(), winner.other().index());
        match (points[scorer], points[other]) {
            (3, 4) => points[other] = 3,
            (3, 3) => points[scorer] = 4,
            (3 | 4, _) => return self.win_game(winner, None, format),
            _ => points[scorer] += 1,
        }
        self.game = GameScore::Points(points);
    }

    fn tie_break_point(&mut self, winner: Side, mut points: [u16; 2], format: MatchFormat) {
        let (scorer, other) = (winner.index(), winner.other().index());
        points[scorer] += 1;
        if points[scorer] >= self.tie_break_length(format) && points[scorer] >= points[other] + 2 {
            return self.win_game(winner, Some(points), format);
        }
        self.game = GameScore::TieBreak(points);
        self.current_set().tie_break = Some(points);
        // The serve changes after the first point and then after every second one.
        if (points[0] + points[1]) % 2 == 1 {
            self.server = self.server.map(Side::other);
        }
    }

    fn win_game(&mut self, winner: Side, tie_break: Option<[u16; 2]>, format: MatchFormat) {
        self.game = GameScore::default();
        // Whoever received first in the tie-break serves first in the next set. Its points take
        // the serve around in a cycle of four, so the first server is found from their number.
        self.server = match (tie_break, self.server) {
            (Some(points), Some(server)) => {
                let before = points[0] + points[1] - 1;
                let first = if before.div_ceil(2) % 2 == 0 { server } else { server.other() };
                Some(first.other())
            }
            (_, server) => server.map(Side::other),
        };
        let final_set = self.in_final_set(format);
        let set = self.current_set();
        let games = &mut set.games[winner.index()];
        // No end is set to a set that is won by two games.
        *games = games.saturating_add(1);
        if tie_break.is_some() {
            set.tie_break = tie_break;
        }
        if let Some(side) = set.winner() {
            if self.sets_won()[side.index()] >= format.sets_to_win {
                self.winner = Some(side);
                self.server = None;
            } else {
                self.sets.push(SetScore::default());
            }
        } else if set.games == [6, 6] && !(final_set && format.final_set == FinalSet::Advantage) {
            set.tie_break = Some([0, 0]);
            self.game = GameScore::TieBreak([0, 0]);
        }
    }

    fn in_final_set(&self, format: MatchFormat) -> bool {
        self.sets.len() == usize::from(format.sets_to_win) * 2 - 1
    }

    fn tie_break_length(&self, format: MatchFormat) -> u16 {
        if self.in_final_set(format) && format.final_set == FinalSet::TieBreakTo10 { 10 } else { 7 }
    }

    fn current_set(&mut self) -> &mut SetScore {
        self.sets.last_mut().expect("a match in play has a set")
    }
}

impl SetScore {
    /// Who won the set, once it is over: six games and two clear, or one game more after a tie-break, which in a final set may
    /// have been played at 12-12, or in place of the set (1-0).
    #[must_use]
    pub fn winner(&self) -> Option<Side> {
        let [first, second] = self.games;
        let (ahead, behind) = (first.max(second), first.min(second));
        let over = ahead >= 6 && ahead - behind >= 2
            || (ahead >= 7 || ahead == 1) && ahead - behind == 1 && self.tie_break.is_some();
        if over { self.leader() } else { None }
    }

    /// Who has more games.
    #[must_use]
    pub fn leader(&self) -> Option<Side> {
        match self.games[0].cmp(&self.games[1]) {
            Ordering::Greater => Some(Side::First),
            Ordering::Equal => None,
            Ordering::Less => Some(Side::Second),
        }
    }

    /// What no set can have.
    fn check(&self) -> Result<(), String> {
        let Some(points) = self.tie_break else { return Ok(()) };
        tie_break_check(points)?;
        let [first, second] = self.games;
        let ahead = Side::BOTH.into_iter().max_by_key(|side| points[side.index()]);
        if first.abs_diff(second) == 1 && points[0] != points[1] && self.leader() != ahead {
            return Err(format!(
                "set of {first}-{second} with tie-break {}-{}",
                points[0], points[1]
            ));
        }
        Ok(())
    }
}

fn tie_break_check(points: [u16; 2]) -> Result<(), String> {
    let [first, second] = points;
    is_tie_break(points).then_some(()).ok_or_else(|| format!("tie-break of {first}-{second}"))
}

/// Whether a tie-break can have these points: the longest ends with ten, or later with two more than the
/// other side.
#[must_use]
pub fn is_tie_break([first, second]: [u16; 2]) -> bool {
    first.max(second) <= 10 || first.abs_diff(second) <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: MatchFormat = MatchFormat { sets_to_win: 2, final_set: FinalSet::TieBreakTo10 };

    /// Plays points given as `1` and `2`; other characters are ignored.
    fn play(points: &str) -> TennisScore {
        let mut score = TennisScore::start(Side::First);
        for point in points.chars() {
            match point {
                '1' => score.point(Side::First, THREE),
                '2' => score.point(Side::Second, THREE),
                _ => {}
            }
        }
        score
    }

    #[test]
    fn deuce_needs_two_points_in_a_row() {
        assert_eq!(play("111222").game, GameScore::Points([3, 3]));
        assert_eq!(play("1112221").game, GameScore::Points([4, 3]));
        assert_eq!(play("11122212").game, GameScore::Points([3, 3]));
        let won = play("1112221211");
        assert_eq!((won.game, won.sets[0].games), (GameScore::Points([0, 0]), [1, 0]));
    }

    #[test]
    fn serve_changes_every_game_and_within_a_tie_break() {
        assert_eq!(play("1111").server, Some(Side::Second));
        let six_all = "11112222".repeat(6);
        let tie_break = play(&six_all);
        assert_eq!(tie_break.game, GameScore::TieBreak([0, 0]));
        assert_eq!(tie_break.server, Some(Side::First));
        assert_eq!(play(&format!("{six_all}1")).server, Some(Side::Second));
        assert_eq!(play(&format!("{six_all}12")).server, Some(Side::Second));
        assert_eq!(play(&format!("{six_all}122")).server, Some(Side::First));
    }

    #[test]
    fn tie_break_ends_two_clear_and_its_receiver_serves_the_next_set() {
        let six_all = "11112222".repeat(6);
        for tie_break in ["1111111", "12121212121211", "2222222", "1212121212121211"] {
            let score = play(&format!("{six_all}{tie_break}"));
            assert_eq!(score.sets.len(), 2, "after {tie_break}");
            assert_eq!(score.server, Some(Side::Second), "after {tie_break}");
        }
    }

    #[test]
    fn two_sets_win_and_later_points_change_nothing() {
        let score = play(&"1111".repeat(12));
        assert_eq!(score.winner, Some(Side::First));
        assert_eq!(score.points, 48);
        assert_eq!(play(&"1111".repeat(13)), score);
    }

    #[test]
    fn endless_set_stops_counting_and_goes_on() {
        let format = MatchFormat { sets_to_win: 1, final_set: FinalSet::Advantage };
        let mut score = TennisScore::start(Side::First);
        for game in 0..600 {
            let winner = if game % 2 == 0 { Side::First } else { Side::Second };
            (0..4).for_each(|_| score.point(winner, format));
        }
        assert_eq!((score.sets[0].games, score.winner), ([255, 255], None));
    }

    #[test]
    fn set_is_over_by_games_or_a_tie_break() {
        for (games, tie_break, winner) in [
            ([6, 4], None, Some(Side::First)),
            ([6, 5], None, None),
            ([7, 6], None, None),
            ([6, 7], Some([3, 7]), Some(Side::Second)),
            ([11, 13], None, Some(Side::Second)),
            ([12, 13], Some([4, 7]), Some(Side::Second)),
            ([0, 0], Some([8, 9]), None),
            ([0, 1], Some([8, 10]), Some(Side::Second)),
            ([1, 0], None, None),
        ] {
            assert_eq!(SetScore { games, tie_break }.winner(), winner, "{games:?} {tie_break:?}");
        }
    }

    #[test]
    fn score_that_no_match_can_have_is_named() {
        let check = |sets: &[([u8; 2], Option<[u16; 2]>)]| {
            let sets = sets.iter().map(|&(games, tie_break)| SetScore { games, tie_break });
            TennisScore { sets: sets.collect(), ..TennisScore::default() }.check()
        };
        let (won, lost) = (([6, 4], None), ([4, 6], None));
        for (sets, expected) in [
            (&[won, lost, ([12, 13], Some([4, 7]))][..], None),
            (&[won, lost, ([1, 0], Some([10, 6]))], None),
            (&[won, lost, ([0, 0], Some([10, 11]))], None),
            (&[([7, 6], None), ([6, 7], Some([14, 16])), ([0, 0], None)], None),
            (&[([4, 2], None), ([0, 0], None)], None),
            (&[([0, 0], None), ([2, 1], None)], None),
            (&[([7, 6], Some([41, 0]))], Some("tie-break of 41-0")),
            (&[([7, 6], Some([3, 7]))], Some("set of 7-6 with tie-break 3-7")),
            (&[won, lost, won, lost, won, ([0, 0], None)], Some("score of 6 sets")),
            (&[won, won, won, won], Some("result of 4-0 in sets")),
            (&[([1, 3], None), ([0, 0], None)], Some("set of 1-3 before another")),
            (&[([6, 6], Some([0, 0])), ([0, 0], None)], Some("set of 6-6 before another")),
        ] {
            assert_eq!(check(sets).err().as_deref(), expected, "{sets:?}");
        }
    }

    #[test]
    fn deciding_tie_break_goes_to_ten() {
        let six_all = "11112222".repeat(6);
        let decider = format!("{}{}{six_all}", "1111".repeat(6), "2222".repeat(6));
        let almost = play(&format!("{decider}{}", "1".repeat(9)));
        assert_eq!(almost.winner, None);
        assert_eq!(play(&format!("{decider}{}", "1".repeat(10))).winner, Some(Side::First));
    }
}
