//! A CS2 match: round by round, best of three maps.
//!
//! A map goes to 13 rounds in halves of 12, between which the sides change; from 12 all there are
//! overtimes of six rounds, each won by four of them, until one is. A team wins a round with a
//! probability that depends on its class and on which side it plays, so that every map and match is
//! a race whose probabilities are exact.

use facts::event::{Micros, Pair, Participant, Side, Sport};

use super::{
    board::Board,
    dice::Dice,
    market::OF_TEAMS,
    names,
    play::{Chance, Play, PlayStep, Trading},
    programme::Lanes,
    rounds::ROUND_DAYS,
    scoreboard_sport::{self, ScoreboardGame, ScoreboardSport, Setting},
    truth::Ending,
};

const TOURNAMENTS: [&str; names::LEAGUES_OF_OTHERS] = [
    "Gridlock Masters",
    "Ember Cup",
    "Northlight League",
    "Quartz Invitational",
    "Rampart Series",
    "Overclock Open",
    "Sentinel Cup",
    "Drift Circuit",
    "Parallax League",
];

/// As many as leagues: a town has a team in each, under another name.
const CLUBS: [&str; names::LEAGUES_OF_OTHERS] =
    ["Vortex", "Relay", "Static", "Quanta", "Hexa", "Cipher", "Nova", "Pulse", "Vertex"];

/// CS2 in the world.
pub(super) const SPORT: ScoreboardSport = ScoreboardSport {
    sport: Sport::Cs2,
    lanes: Lanes { first_min: &[4, 46, 92], gap_min: (132, 150) },
    draw: |day, dice| scoreboard_sport::leagues(day, dice, |it| (TOURNAMENTS[it], GAME), team),
    number: 1,
    past: (2 * ROUND_DAYS, None),
};

const GAME: ScoreboardGame = ScoreboardGame {
    sport: Sport::Cs2,
    setting: Setting::Tournament { category: None, best_of: 3, is_on_stage: false },
    bets: &OF_TEAMS,
    rules: [0; 2],
    play: |_, sides, start, dice| Box::new(Cs2Play::new(sides, start, dice)),
};

pub(super) fn team(tournament: usize, team: usize) -> Participant {
    let club = CLUBS[(team + tournament) % CLUBS.len()];
    names::side_of("csgo team", &format!("{} {club}", names::TOWNS[team]))
}

pub(super) const MAPS_TO_WIN: u32 = 2;
const HALF: u32 = 12;
const ROUNDS_TO_WIN: u32 = 13;
const OVERTIME_HALF: u32 = 3;
const OVERTIME_TO_WIN: u32 = 4;

/// How much likelier the better of two teams wins a round, for the whole range of skill, and how
/// much defending is worth.
const CLASS: f64 = 0.055;
const DEFENDING: f64 = 0.025;

#[derive(Debug)]
pub(super) struct Cs2Play {
    dice: Dice,
    due: Option<Micros>,
    board: Board,
    /// Team 1's probability of winning a round in which it attacks, and in which it defends.
    rounds: Pair<f64>,
    /// Whether team 1 defends first, on the map in progress.
    defends_first: bool,
    halted: bool,
}

impl Cs2Play {
    pub(super) fn new(teams: &Pair<Participant>, start: Micros, mut dice: Dice) -> Self {
        let class = names::skill(&teams[0], 0) - names::skill(&teams[1], 0);
        let even = 0.5 + CLASS * class;
        Self {
            due: Some(start + dice.seconds((20, 200))),
            board: Board::new(),
            rounds: [even - DEFENDING, even + DEFENDING],
            defends_first: false,
            halted: false,
            dice,
        }
    }

    fn begin_map(&mut self, now: Micros) -> Trading {
        let first = self.board.periods.is_empty();
        self.defends_first = self.dice.chance(0.5);
        self.board.begin(&format!("map {}", self.board.periods.len() + 1));
        self.due = Some(now + self.dice.seconds((85, 130)));
        self.halted = first;
        if first { Trading::Begin } else { Trading::AsBefore }
    }

    fn round(&mut self, now: Micros) -> Trading {
        let won = self.dice.chance(self.round_chance(self.board.in_progress(), self.defends_first));
        let side = if won { Side::First } else { Side::Second };
        self.board.count(side, 1);
        let rounds = self.board.in_progress();
        let pause = match rounds[0] + rounds[1] {
            HALF => (150, 200),
            played if played >= 2 * HALF && played % OVERTIME_HALF == 0 => (90, 150),
            _ => (75, 130),
        };
        self.due = Some(now + self.dice.seconds(pause));
        if is_over(rounds) {
            self.board.score[side.index()] += 1;
            if self.board.score[side.index()] == MAPS_TO_WIN {
                self.board.finish();
                self.due = None;
                return Trading::End;
            }
            self.due = Some(now + self.dice.seconds((420, 720)));
        }
        if std::mem::take(&mut self.halted) { Trading::Resume } else { Trading::AsBefore }
    }

    /// Team 1's probability of winning the next round of a map.
    fn round_chance(&self, rounds: Pair<u32>, defends_first: bool) -> f64 {
        let played = rounds[0] + rounds[1];
        let changed = match played.checked_sub(2 * HALF) {
            None => played >= HALF,
            // Overtime begins as the map went on, and every one like the first.
            Some(extra) => extra % (2 * OVERTIME_HALF) < OVERTIME_HALF,
        };
        self.rounds[usize::from(defends_first != changed)]
    }

    fn map_from(&self, rounds: Pair<u32>, defends_first: bool) -> f64 {
        if is_over(rounds) {
            return if rounds[0] > rounds[1] { 1.0 } else { 0.0 };
        }
        // Level after an overtime is worth what level before it was.
        let extra = (rounds[0] + rounds[1]).saturating_sub(2 * HALF) / (2 * OVERTIME_HALF);
        let rounds = rounds.map(|won| won - extra * OVERTIME_HALF);
        let overtime = self.overtime(defends_first);
        if rounds[0] + rounds[1] >= 2 * HALF {
            return self.race(rounds, defends_first, HALF + OVERTIME_TO_WIN, overtime);
        }
        self.race(rounds, defends_first, ROUNDS_TO_WIN, overtime)
    }

    /// Team 1's probability of winning from level: it wins an overtime, or is level again.
    fn overtime(&self, defends_first: bool) -> f64 {
        let race = |level| self.race([HALF, HALF], defends_first, HALF + OVERTIME_TO_WIN, level);
        let (wins, or_level) = (race(0.0), race(1.0));
        wins / (1.0 - (or_level - wins))
    }

    /// Team 1's probability of getting to so many rounds first, where `level` is what it is worth
    /// that both have one less.
    fn race(&self, from: Pair<u32>, defends_first: bool, target: u32, level: f64) -> f64 {
        let [first, second] = from.map(|won| won as usize);
        let (end, count) = (target as usize, target as usize + 1);
        // Row by row from the end: `after` is the row in which team 1 has one round more.
        let mut after = vec![1.0; count];
        for won in (first..end).rev() {
            let mut row = vec![0.0; count];
            for other in (second..end).rev() {
                let p = self.round_chance([won as u32, other as u32], defends_first);
                let is_level = won == end - 1 && other == end - 1;
                row[other] =
                    if is_level { level } else { p * after[other] + (1.0 - p) * row[other + 1] };
            }
            after = row;
        }
        after[second]
    }

    fn first_wins(&self) -> f64 {
        let fresh = [true, false].map(|first| self.map_from([0, 0], first)).iter().sum::<f64>();
        let fresh = fresh / 2.0;
        let score = self.board.score;
        let rounds = self.board.in_progress();
        if self.board.periods.is_empty() || is_over(rounds) {
            return match_from(score, fresh);
        }
        let map = self.map_from(rounds, self.defends_first);
        let [won, lost] = [[score[0] + 1, score[1]], [score[0], score[1] + 1]];
        map * match_from(won, fresh) + (1.0 - map) * match_from(lost, fresh)
    }
}

impl Play for Cs2Play {
    fn due(&self) -> Option<Micros> {
        self.due
    }

    fn step(&mut self, now: Micros) -> PlayStep {
        let between = self.board.periods.is_empty() || is_over(self.board.in_progress());
        let trading = if between { self.begin_map(now) } else { self.round(now) };
        PlayStep { facts: vec![self.board.fact(None)], trading }
    }

    fn chances(&self, _now: Micros) -> Vec<Chance> {
        vec![self.board.winner_chance(|| self.first_wins())]
    }

    fn ending(&self) -> Ending {
        Ending::Scoreboard(self.board.truth())
    }
}

/// Whether a map is won: 13 rounds with two to spare, or four of an overtime.
fn is_over([first, second]: Pair<u32>) -> bool {
    let (more, less) = (first.max(second), first.min(second));
    if less < HALF {
        return more == ROUNDS_TO_WIN;
    }
    let level = less - (less - HALF) % OVERTIME_HALF;
    more == level + OVERTIME_TO_WIN
}

fn match_from(maps: Pair<u32>, map: f64) -> f64 {
    match maps {
        [MAPS_TO_WIN, _] => 1.0,
        [_, MAPS_TO_WIN] => 0.0,
        [first, second] => {
            map * match_from([first + 1, second], map)
                + (1.0 - map) * match_from([first, second + 1], map)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_end_by_the_rules() {
        for over in [[13, 0], [13, 11], [16, 12], [16, 14], [15, 19], [22, 20]] {
            assert!(is_over(over), "{over:?}");
        }
        for open in [[12, 12], [13, 12], [15, 14], [15, 15], [16, 15], [18, 17], [0, 12]] {
            assert!(!is_over(open), "{open:?}");
        }
    }

    /// From every score on the way, the probability is the mean of those after the next round.
    #[test]
    fn probability_is_a_martingale() {
        let teams = [team(0, 1), team(0, 5)];
        let play = Cs2Play::new(&teams, 0, Dice::new(1, 1));
        for rounds in [[0, 0], [5, 11], [11, 12], [12, 12], [14, 13], [15, 15], [17, 17]] {
            let p = play.round_chance(rounds, true);
            let won = play.map_from([rounds[0] + 1, rounds[1]], true);
            let lost = play.map_from([rounds[0], rounds[1] + 1], true);
            let now = play.map_from(rounds, true);
            assert!((now - (p * won + (1.0 - p) * lost)).abs() < 1e-12, "at {rounds:?}");
        }
    }
}
