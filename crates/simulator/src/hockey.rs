//! An ice hockey match: three periods of 20 minutes, then five minutes in which a goal ends it, then a
//! shoot-out.
//!
//! The clock shows what was played, and stands between whistle and face-off. Goals of both sides are
//! independent and Poisson distributed, as in football.

use facts::event::{MatchClock, Micros, Pair, Participant, Side, Sport};

use super::{
    board::Board,
    dice::{Dice, SECOND},
    market::{Bet, HOCKEY},
    maths::{self, exp_minus},
    names,
    play::{Chance, Play, PlayStep, Trading},
    programme::Lanes,
    rounds::ROUND_DAYS,
    scoreboard_sport::{self, ScoreboardGame, ScoreboardSport, Setting},
    truth::Ending,
};

/// Leagues by name, each with the ending of its towns.
const LEAGUES: [(&str, &str); names::LEAGUES_OF_OTHERS] = [
    ("Frostmark Hockey League", "frost"),
    ("Norrland Ice Series", "norr"),
    ("Glacier Premier", "berg"),
    ("Winterhold Division", "hold"),
    ("Tundra League", "tun"),
    ("Polar Conference", "pol"),
    ("Icefall Series", "fall"),
    ("Boreal Premier", "bor"),
    ("Snowline Division", "line"),
];

const CLUBS: [&str; 7] = ["Ravens", "Icemen", "Lynxes", "Foresters", "Comets", "Pikes", "Hammers"];

/// Hockey in the world.
pub(super) const SPORT: ScoreboardSport = ScoreboardSport {
    sport: Sport::Hockey,
    lanes: Lanes { first_min: &[6, 50, 96], gap_min: (135, 150) },
    draw: |day, dice| scoreboard_sport::leagues(day, dice, |it| (LEAGUES[it].0, GAME), team),
    number: 2,
    past: (2 * ROUND_DAYS, None),
};

const GAME: ScoreboardGame = ScoreboardGame {
    sport: Sport::Hockey,
    setting: Setting::League { ground: "Ice Hall" },
    bets: &HOCKEY,
    rules: [0; 2],
    play: |_, sides, start, dice| Box::new(HockeyPlay::new(sides, start, dice)),
};

pub(super) fn team(league: usize, team: usize) -> Participant {
    let club = CLUBS[(team + league * 2) % CLUBS.len()];
    names::side_of("hockey team", &format!("{}{} {club}", names::TOWNS[team], LEAGUES[league].1))
}

const PERIOD_S: u32 = 20 * 60;
const OVERTIME_S: u32 = 5 * 60;
const PERIODS: usize = 3;

/// Goals of an average home and away side in the three periods, and how much class is worth.
const GOALS: Pair<f64> = [3.1, 2.8];
const ATTACK: f64 = 0.22;
const DEFENCE: f64 = 0.2;
/// Three against three there is more room.
const OVERTIME: f64 = 1.7;

/// Kicks each before sudden death, and how often one goes in.
const KICKS: u32 = 3;
const KICK: f64 = 0.34;

#[derive(Debug)]
pub(super) struct HockeyPlay {
    dice: Dice,
    due: Option<Micros>,
    next: HockeyStep,
    /// Goals a second of each side.
    rates: Pair<f64>,
    board: Board,
    /// Seconds played in the period when the clock was started or stopped last, and when it was
    /// started.
    played_s: u32,
    running_since: Option<Micros>,
    kicks: Kicks,
    halted: bool,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HockeyStep {
    Period,
    FaceOff,
    Whistle,
    Kick,
}

/// A shoot-out: kicks taken by both together, and goals.
#[derive(Debug, Clone, Copy, Default)]
struct Kicks {
    taken: u32,
    goals: Pair<u32>,
}

impl Kicks {
    fn winner(self) -> Option<Side> {
        let [home, away] = self.goals;
        let taken = [self.taken.div_ceil(2), self.taken / 2];
        let left = taken.map(|taken| KICKS.saturating_sub(taken));
        let sudden = self.taken > 2 * KICKS && self.taken.is_multiple_of(2);
        if home > away + left[1] && (self.taken <= 2 * KICKS || sudden) {
            Some(Side::First)
        } else if away > home + left[0] && (self.taken <= 2 * KICKS || sudden) {
            Some(Side::Second)
        } else {
            None
        }
    }

    fn after(self, scored: bool) -> Self {
        let mut next = Self { taken: self.taken + 1, ..self };
        next.goals[(self.taken % 2) as usize] += u32::from(scored);
        next
    }

    /// The home side's probability of winning it.
    fn first_wins(self) -> f64 {
        if let Some(winner) = self.winner() {
            return if winner == Side::First { 1.0 } else { 0.0 };
        }
        if self.taken >= 2 * KICKS && self.taken.is_multiple_of(2) {
            return 0.5;
        }
        KICK * self.after(true).first_wins() + (1.0 - KICK) * self.after(false).first_wins()
    }
}

impl HockeyPlay {
    pub(super) fn new(teams: &Pair<Participant>, start: Micros, mut dice: Dice) -> Self {
        let rates = [0, 1].map(|side: usize| {
            let attack = 1.0 + ATTACK * names::skill(&teams[side], 0);
            let defence = 1.0 - DEFENCE * names::skill(&teams[1 - side], 1);
            GOALS[side] * attack * defence / f64::from(PERIOD_S * PERIODS as u32)
        });
        Self {
            due: Some(start + dice.seconds((20, 150))),
            next: HockeyStep::Period,
            rates,
            board: Board::new(),
            played_s: 0,
            running_since: None,
            kicks: Kicks::default(),
            halted: false,
            dice,
        }
    }

    fn in_overtime(&self) -> bool {
        self.board.periods.len() > PERIODS
    }

    fn length_s(&self) -> u32 {
        if self.in_overtime() { OVERTIME_S } else { PERIOD_S }
    }

    fn second(&self, now: Micros) -> u32 {
        let since = self.running_since.map_or(0, |since| ((now - since) / SECOND) as u32);
        (self.played_s + since).min(self.length_s())
    }

    fn rates_now(&self) -> Pair<f64> {
        let factor = if self.in_overtime() { OVERTIME } else { 1.0 };
        self.rates.map(|rate| rate * factor)
    }

    fn period(&mut self, now: Micros) -> Trading {
        let first = self.board.periods.is_empty();
        match self.board.periods.len() {
            0..PERIODS => self.board.begin(["p1", "p2", "p3"][self.board.periods.len()]),
            PERIODS => self.board.begin("overtime"),
            _ => {
                self.board.begin("shootout");
                self.after((20, 40), HockeyStep::Kick, now);
                return Trading::AsBefore;
            }
        }
        self.played_s = 0;
        self.face_off(now);
        self.halted |= first;
        if first { Trading::Begin } else { Trading::AsBefore }
    }

    /// The clock runs until the next whistle.
    fn face_off(&mut self, now: Micros) {
        self.running_since = Some(now);
        let left = self.length_s() - self.played_s;
        let runs = self.dice.between(15, 80).min(left);
        self.due = Some(now + Micros::from(runs) * SECOND);
        self.next = HockeyStep::Whistle;
    }

    fn whistle(&mut self, now: Micros) -> Trading {
        let begun = self.played_s;
        self.played_s = self.second(now);
        self.running_since = None;
        let seconds = f64::from(self.played_s - begun);
        let [home, away] = self.rates_now().map(|rate| rate * seconds);
        let roll = self.dice.unit();
        if roll < home + away {
            return self.goal(if roll < home { Side::First } else { Side::Second }, now);
        }
        if self.played_s < self.length_s() {
            self.after((12, 45), HockeyStep::FaceOff, now);
            return self.resumed();
        }
        self.end_period(now);
        if self.due.is_none() { Trading::End } else { self.resumed() }
    }

    fn goal(&mut self, side: Side, now: Micros) -> Trading {
        self.board.count(side, 1);
        self.board.score[side.index()] += 1;
        if self.in_overtime() {
            self.finish();
            return Trading::End;
        }
        if self.played_s < self.length_s() {
            self.after((35, 70), HockeyStep::FaceOff, now);
        } else {
            self.end_period(now);
            if self.due.is_none() {
                return Trading::End;
            }
        }
        self.halted = true;
        Trading::Halt
    }

    fn end_period(&mut self, now: Micros) {
        let level = self.board.leader().is_none();
        match self.board.periods.len() {
            0..PERIODS => self.after((900, 1080), HockeyStep::Period, now),
            PERIODS if level => self.after((90, 150), HockeyStep::Period, now),
            _ if level => self.after((100, 180), HockeyStep::Period, now),
            _ => self.finish(),
        }
    }

    fn kick(&mut self, now: Micros) -> Trading {
        self.kicks = self.kicks.after(self.dice.chance(KICK));
        let Some(winner) = self.kicks.winner() else {
            self.after((25, 45), HockeyStep::Kick, now);
            return Trading::AsBefore;
        };
        // The winner gets a single goal.
        self.board.count(winner, 1);
        self.board.score[winner.index()] += 1;
        self.finish();
        Trading::End
    }

    fn finish(&mut self) {
        self.board.finish();
        self.due = None;
    }

    fn resumed(&mut self) -> Trading {
        if std::mem::take(&mut self.halted) { Trading::Resume } else { Trading::AsBefore }
    }

    fn after(&mut self, seconds: (i64, i64), next: HockeyStep, now: Micros) {
        self.due = Some(now + self.dice.seconds(seconds));
        self.next = next;
    }

    fn first_wins(&self, now: Micros) -> f64 {
        if self.kicks.taken > 0 || self.board.periods.len() > PERIODS + 1 {
            return self.kicks.first_wins();
        }
        if self.in_overtime() {
            return self.overtime(OVERTIME_S - self.second(now));
        }
        let lead = self.board.score[0] as i32 - self.board.score[1] as i32;
        let [wins, level, _] = maths::result(lead, self.to_come(now));
        wins + level * self.overtime(OVERTIME_S)
    }

    fn chance(&self, bet: Bet, now: Micros) -> Chance {
        let [home, away] = self.board.score;
        let over = self.board.winner.is_some();
        match bet {
            Bet::Goals(line) if home + away > u32::from(line) => Chance::Won(0),
            // Overtime and shoot-out add one goal to an even number: never the one over the line.
            Bet::Goals(_) if over || self.in_overtime() => Chance::Won(1),
            Bet::Goals(line) => {
                let [home_yet, away_yet] = self.to_come(now);
                let room = (u32::from(line) - home - away) as usize;
                let under: f64 = maths::poisson(home_yet + away_yet).iter().take(room + 1).sum();
                Chance::of_first((1.0 - under).max(0.0))
            }
            // A win in overtime is never by two goals.
            Bet::Handicap(_) if over || self.in_overtime() => {
                Chance::Won(usize::from(home < away + 2))
            }
            Bet::Handicap(_) => {
                let lead = home as i32 - away as i32;
                let [covers, ..] = maths::result(lead - 1, self.to_come(now));
                Chance::of_first(covers)
            }
            _ => self.board.winner_chance(|| self.first_wins(now)),
        }
    }

    /// Goals that both sides are expected to score yet in the three periods.
    fn to_come(&self, now: Micros) -> Pair<f64> {
        let begun = self.board.periods.len() as u32;
        let left = PERIOD_S * PERIODS as u32 - begun.saturating_sub(1) * PERIOD_S;
        let left = f64::from(left - self.second(now));
        self.rates.map(|rate| rate * left)
    }

    /// The home side's probability of winning with so many seconds left in which a goal ends it.
    fn overtime(&self, left_s: u32) -> f64 {
        let [home, away] = self.rates.map(|rate| rate * OVERTIME);
        let none = exp_minus((home + away) * f64::from(left_s));
        (1.0 - none) * home / (home + away) + none * Kicks::default().first_wins()
    }

    fn clock(&self, now: Micros) -> Option<MatchClock> {
        let shown = !self.board.periods.is_empty() && self.board.periods.len() <= PERIODS + 1;
        let running = self.running_since.is_some();
        (shown && self.due.is_some()).then(|| MatchClock { second: self.second(now), running })
    }
}

impl Play for HockeyPlay {
    fn due(&self) -> Option<Micros> {
        self.due
    }

    fn step(&mut self, now: Micros) -> PlayStep {
        let trading = match self.next {
            HockeyStep::Period => self.period(now),
            HockeyStep::FaceOff => {
                self.face_off(now);
                self.resumed()
            }
            HockeyStep::Whistle => self.whistle(now),
            HockeyStep::Kick => self.kick(now),
        };
        PlayStep { facts: vec![self.board.fact(self.clock(now))], trading }
    }

    fn chances(&self, now: Micros) -> Vec<Chance> {
        HOCKEY.iter().map(|bet| self.chance(*bet, now)).collect()
    }

    fn ending(&self) -> Ending {
        Ending::Scoreboard(self.board.truth())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shoot_out_ends_as_soon_as_it_is_decided() {
        let kicks = |goals: Pair<u32>, taken| Kicks { taken, goals }.winner();
        assert_eq!(kicks([2, 0], 4), Some(Side::First));
        assert_eq!(kicks([1, 0], 4), None);
        assert_eq!(kicks([0, 1], 6), Some(Side::Second));
        assert_eq!(kicks([2, 1], 7), None);
        assert_eq!(kicks([2, 1], 8), Some(Side::First));
        assert!((Kicks::default().first_wins() - 0.5).abs() < 1e-9);
    }
}
