//! A darts match: legs of 501, ended by a double, in sets or in legs alone.
//!
//! A player's visit scores one of a few totals, more often the high ones the better the player is;
//! from 170 down it may end the leg instead. How many visits a player needs is a distribution that is
//! computed once, and with it how likely each wins a leg in which either begins.

use facts::event::{Micros, Pair, Participant, ScoreboardStatus, Side, Sport};

use super::{
    board::Board,
    dice::Dice,
    draw::{Booking, bookings, daily_pairs},
    market::OF_PLAYERS,
    names,
    play::{Chance, Play, PlayStep, Trading},
    programme::{GameKind, Lanes},
    rounds::DayNumber,
    scoreboard_sport::{ScoreboardGame, ScoreboardSport, Setting},
    truth::Ending,
};

/// How a match is played: sets that win it, 0 where it is played in legs alone, and legs that win a
/// set, or the match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) sets_to_win: u32,
    pub(super) legs_to_win: u32,
}

/// Tournaments and how their matches are played.
pub(super) const TOURNAMENTS: [(&str, Format, &str); 4] = [
    ("Harrowgate Matchplay", Format { sets_to_win: 0, legs_to_win: 8 }, "major"),
    ("Tungsten Tour", Format { sets_to_win: 0, legs_to_win: 6 }, "tour"),
    ("Oche Grand Prix", Format { sets_to_win: 3, legs_to_win: 3 }, "major"),
    ("Midwinter Championship", Format { sets_to_win: 4, legs_to_win: 3 }, "major"),
];

/// Players of a tournament.
pub(super) const FIELD: usize = 40;

/// Darts in the world.
pub(super) const SPORT: ScoreboardSport = ScoreboardSport {
    sport: Sport::Darts,
    lanes: Lanes { first_min: &[3, 22], gap_min: (50, 62) },
    draw,
    number: 5,
    past: (8, Some(6)),
};

fn draw(day: DayNumber, dice: &mut Dice) -> Vec<Booking> {
    let pairs = daily_pairs(TOURNAMENTS.len(), FIELD, day, dice);
    bookings(pairs, |tournament, players| {
        let (name, format, category) = TOURNAMENTS[tournament];
        let sides = players.map(|number| player(tournament, number));
        let (category, best_of) = (Some(category), format.best_of());
        let game = ScoreboardGame {
            sport: Sport::Darts,
            setting: Setting::Tournament { category, best_of, is_on_stage: true },
            bets: &OF_PLAYERS,
            rules: [format.sets_to_win, format.legs_to_win],
            play: |game, sides, start, dice| {
                let [sets_to_win, legs_to_win] = game.rules;
                let format = Format { sets_to_win, legs_to_win };
                Box::new(DartsPlay::new(sides, format, start, dice))
            },
        };
        (names::competition(name), sides, GameKind::Scoreboard(game))
    })
}

pub(super) fn player(tournament: usize, player: usize) -> Participant {
    let number = tournament * FIELD + player;
    names::side_of("darts player", &names::person(number * 7 + 3, number + 97))
}

const START: usize = 501;
/// Visits after which a leg is as good as over: one in a million is longer.
const VISITS_MAX: usize = 32;

/// Totals of a visit, how often an average player scores them, and what skill adds or takes.
const VISITS: [(usize, f64, f64); 9] = [
    (180, 0.06, 0.6),
    (140, 0.2, 0.4),
    (121, 0.05, 0.3),
    (100, 0.23, 0.15),
    (85, 0.13, 0.0),
    (60, 0.17, -0.25),
    (45, 0.08, -0.4),
    (41, 0.05, -0.4),
    (26, 0.03, -0.5),
];

/// What cannot be finished with three darts, below 170.
const BOGEYS: [usize; 7] = [159, 162, 163, 165, 166, 168, 169];

const VISIT_S: (i64, i64) = (12, 17);
const BETWEEN_LEGS_S: (i64, i64) = (8, 20);
const BETWEEN_SETS_S: (i64, i64) = (120, 240);

impl Format {
    /// Legs or sets at most.
    pub(super) fn best_of(self) -> u8 {
        let wins = if self.sets_to_win == 0 { self.legs_to_win } else { self.sets_to_win };
        (wins * 2 - 1) as u8
    }

    fn in_sets(self) -> bool {
        self.sets_to_win > 0
    }
}

/// How a player throws.
#[derive(Debug, Clone, Copy)]
struct Thrower {
    skill: f64,
}

impl Thrower {
    fn weights(self) -> impl Iterator<Item = f64> + Clone {
        VISITS.iter().map(move |(_, weight, gain)| weight * (1.0 + gain * self.skill))
    }

    /// The probability of ending the leg with this visit.
    fn finishes(self, left: usize) -> f64 {
        let base = match left {
            0..=40 => 0.6,
            41..=60 => 0.48,
            61..=100 => 0.33,
            101..=170 if !BOGEYS.contains(&left) => 0.12,
            _ => return 0.0,
        };
        base * (1.0 + 0.15 * self.skill)
    }

    /// Visits that a leg takes.
    fn leg(self, dice: &mut Dice) -> usize {
        let mut left = START;
        for visit in 1..VISITS_MAX {
            if dice.chance(self.finishes(left)) {
                return visit;
            }
            left = after(left, VISITS[dice.weighted(self.weights())].0);
        }
        VISITS_MAX
    }

    /// How likely a leg takes so many visits.
    fn visits(self) -> [f64; VISITS_MAX + 1] {
        let total: f64 = self.weights().sum();
        let weights: Vec<_> = self.weights().map(|weight| weight / total).collect();
        let mut ends = [0.0; VISITS_MAX + 1];
        let mut at = vec![0.0; START + 1];
        at[START] = 1.0;
        for end in ends.iter_mut().take(VISITS_MAX).skip(1) {
            let mut next = vec![0.0; START + 1];
            for (left, likely) in at.iter().enumerate().filter(|(_, likely)| **likely > 0.0) {
                let finishes = self.finishes(left);
                *end += likely * finishes;
                for ((total, ..), weight) in VISITS.iter().zip(&weights) {
                    next[after(left, *total)] += likely * (1.0 - finishes) * weight;
                }
            }
            at = next;
        }
        ends[VISITS_MAX] = at.iter().sum();
        ends
    }
}

/// What is left after a visit; one that leaves nothing for a double does not count.
fn after(left: usize, total: usize) -> usize {
    left.checked_sub(total).filter(|left| *left >= 2).unwrap_or(left)
}

#[derive(Debug)]
pub(super) struct DartsPlay {
    dice: Dice,
    due: Option<Micros>,
    format: Format,
    throwers: Pair<Thrower>,
    /// Player 1's probability of winning a leg that player 1 begins, and that player 2 begins.
    legs: Pair<f64>,
    board: Board,
    /// Who began the match, and the set in progress.
    first: Side,
    set_first: Side,
    /// Who wins the leg in progress.
    leg: Option<Side>,
    halted: bool,
}

impl DartsPlay {
    pub(super) fn new(
        players: &Pair<Participant>,
        format: Format,
        start: Micros,
        mut dice: Dice,
    ) -> Self {
        let throwers = [0, 1].map(|n: usize| Thrower { skill: names::skill(&players[n], 0) });
        let first = dice.side();
        Self {
            due: Some(start + dice.seconds((20, 150))),
            format,
            legs: leg_chances(throwers),
            throwers,
            board: Board::new(),
            first,
            set_first: first,
            leg: None,
            halted: false,
            dice,
        }
    }

    /// Legs won in the set in progress, or in the match.
    fn legs_won(&self) -> Pair<u32> {
        if self.format.in_sets() { self.board.in_progress() } else { self.board.score }
    }

    fn start(&mut self, now: Micros) -> Trading {
        self.begin_set();
        self.begin_leg(now);
        self.halted = true;
        Trading::Begin
    }

    fn begin_set(&mut self) {
        if self.format.in_sets() {
            self.board.begin(&format!("set {}", self.board.periods.len() + 1));
        }
    }

    /// Throws the whole leg; it is reported when it is over.
    fn begin_leg(&mut self, now: Micros) {
        let played: u32 = self.legs_won().iter().sum();
        if !self.format.in_sets() {
            self.board.call(&format!("leg {}", played + 1));
        }
        let begins = if played.is_multiple_of(2) { self.set_first } else { self.set_first.other() };
        let visits = self.throwers.map(|thrower| thrower.leg(&mut self.dice));
        let (mine, theirs) = (visits[begins.index()], visits[begins.other().index()]);
        let (winner, thrown) =
            if mine <= theirs { (begins, 2 * mine - 1) } else { (begins.other(), 2 * theirs) };
        self.leg = Some(winner);
        let seconds = (VISIT_S.0 * thrown as i64, VISIT_S.1 * thrown as i64);
        self.due = Some(now + self.dice.seconds(seconds));
    }

    fn end_leg(&mut self, winner: Side, now: Micros) -> Trading {
        let mut pause = BETWEEN_LEGS_S;
        if self.format.in_sets() {
            self.board.count(winner, 1);
            if self.board.in_progress()[winner.index()] == self.format.legs_to_win {
                self.board.score[winner.index()] += 1;
                pause = BETWEEN_SETS_S;
            }
        } else {
            self.board.score[winner.index()] += 1;
        }
        let wins =
            if self.format.in_sets() { self.format.sets_to_win } else { self.format.legs_to_win };
        if self.board.score[winner.index()] == wins {
            self.board.finish();
            self.due = None;
            return Trading::End;
        }
        self.due = Some(now + self.dice.seconds(pause));
        if std::mem::take(&mut self.halted) { Trading::Resume } else { Trading::AsBefore }
    }

    fn first_wins(&self) -> f64 {
        let Format { sets_to_win, legs_to_win } = self.format;
        let legs = |from, first| race(from, legs_to_win, first, self.legs);
        if !self.format.in_sets() {
            return legs(self.legs_won(), self.first);
        }
        let fresh = [Side::First, Side::Second].map(|first| legs([0, 0], first));
        let score = self.board.score;
        let in_progress = self.board.in_progress();
        if self.board.periods.is_empty() || in_progress.contains(&legs_to_win) {
            return race(score, sets_to_win, self.first, fresh);
        }
        let set = legs(in_progress, self.set_first);
        let [won, lost] = [[score[0] + 1, score[1]], [score[0], score[1] + 1]];
        set * race(won, sets_to_win, self.first, fresh)
            + (1.0 - set) * race(lost, sets_to_win, self.first, fresh)
    }
}

impl Play for DartsPlay {
    fn due(&self) -> Option<Micros> {
        self.due
    }

    fn step(&mut self, now: Micros) -> PlayStep {
        let in_sets = self.format.in_sets();
        let trading = match self.leg.take() {
            Some(winner) => self.end_leg(winner, now),
            None if self.board.status == ScoreboardStatus::NotStarted => self.start(now),
            None => {
                if in_sets && self.board.in_progress().contains(&self.format.legs_to_win) {
                    self.set_first = self.set_first.other();
                    self.begin_set();
                }
                self.begin_leg(now);
                Trading::AsBefore
            }
        };
        PlayStep { facts: vec![self.board.fact(None)], trading }
    }

    fn chances(&self, _now: Micros) -> Vec<Chance> {
        vec![self.board.winner_chance(|| self.first_wins())]
    }

    fn ending(&self) -> Ending {
        Ending::Scoreboard(self.board.truth())
    }
}

/// Player 1's probability of winning a leg that player 1 begins, and that player 2 begins: who
/// begins wins where both need as many visits.
fn leg_chances(throwers: Pair<Thrower>) -> Pair<f64> {
    let visits = throwers.map(Thrower::visits);
    let begins_and_wins = |thrower: usize| -> f64 {
        let other = &visits[1 - thrower];
        (1..=VISITS_MAX).map(|n| visits[thrower][n] * other[n..].iter().sum::<f64>()).sum()
    };
    [begins_and_wins(0), 1.0 - begins_and_wins(1)]
}

/// Player 1's probability of getting to `target` first; who begins alternates, and `wins` holds
/// player 1's probability for either.
fn race(won: Pair<u32>, target: u32, first: Side, wins: Pair<f64>) -> f64 {
    let (end, [one, other]) = (target as usize, won.map(|legs| legs as usize));
    let mut after = vec![1.0; end + 1];
    for a in (one..end).rev() {
        let mut row = vec![0.0; end + 1];
        for b in (other..end).rev() {
            let p = wins[(first.index() + a + b) % 2];
            row[b] = p * after[b] + (1.0 - p) * row[b + 1];
        }
        after = row;
    }
    after[other]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_thrower_has_an_advantage_between_equals() {
        let legs = leg_chances([Thrower { skill: 0.2 }; 2]);
        assert!((legs[0] + legs[1] - 1.0).abs() < 1e-9, "{legs:?}");
        assert!((0.55..0.75).contains(&legs[0]), "{legs:?}");
    }

    #[test]
    fn legs_are_thrown_as_the_distribution_says() {
        let thrower = Thrower { skill: -0.3 };
        let mut dice = Dice::new(3, 1);
        let mean = (0..4000).map(|_| thrower.leg(&mut dice)).sum::<usize>() as f64 / 4000.0;
        let expected: f64 = thrower.visits().iter().enumerate().map(|(n, p)| n as f64 * p).sum();
        assert!((mean - expected).abs() < 0.15, "{mean} for {expected}");
    }
}
