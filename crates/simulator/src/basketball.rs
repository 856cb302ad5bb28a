//! A basketball match: four quarters and as many overtimes as it takes, possession by possession.
//!
//! The clock shows what is left of the quarter, and stands at every whistle. The difference of many
//! possessions is nearly normal, from which the probabilities follow: H. S. Stern, "A Brownian Motion
//! Model for the Progress of Sports Scores", Journal of the American Statistical Association 89 (1994).

use facts::event::{MatchClock, Micros, Pair, Participant, Side, Sport};

use super::{
    board::Board,
    dice::{Dice, SECOND},
    market::{BASKETBALL, BASKETBALL_LONG, Bet},
    maths, names,
    play::{Chance, Play, PlayStep, Trading},
    programme::Lanes,
    rounds::ROUND_DAYS,
    scoreboard_sport::{self, ScoreboardGame, ScoreboardSport, Setting},
    truth::Ending,
};

/// Leagues by name, each with the ending of its towns and the seconds of a quarter.
const LEAGUES: [(&str, &str, u32); names::LEAGUES_OF_OTHERS] = [
    ("Meridian Basketball Association", "port", 720),
    ("Solvara Liga", "ara", 600),
    ("Highland Hoops League", "field", 600),
    ("Coastline Conference", "bay", 720),
    ("Canyon Basket League", "yon", 600),
    ("Lakefront Association", "lake", 720),
    ("Summit Hoops", "mont", 600),
    ("Harbour Basketball Cup", "harb", 600),
    ("Prairie Division", "prair", 720),
];

const CLUBS: [&str; 7] = ["Herons", "Pilots", "Foundry", "Tides", "Bisons", "Lanterns", "Stags"];

/// Basketball in the world.
pub(super) const SPORT: ScoreboardSport = ScoreboardSport {
    sport: Sport::Basketball,
    lanes: Lanes { first_min: &[7, 48, 94], gap_min: (132, 148) },
    draw: |day, dice| scoreboard_sport::leagues(day, dice, league, team),
    number: 3,
    past: (2 * ROUND_DAYS, None),
};

fn league(league: usize) -> (&'static str, ScoreboardGame) {
    let (name, _, quarter_s) = LEAGUES[league];
    let game = ScoreboardGame {
        sport: Sport::Basketball,
        setting: Setting::League { ground: "Arena" },
        bets: if quarter_s <= 600 { &BASKETBALL } else { &BASKETBALL_LONG },
        rules: [quarter_s, 0],
        play: |game, sides, start, dice| {
            Box::new(BasketballPlay::new(sides, game.rules[0], game.bets, start, dice))
        },
    };
    (name, game)
}

pub(super) fn team(league: usize, team: usize) -> Participant {
    let club = CLUBS[(team + league * 2) % CLUBS.len()];
    let name = format!("{}{} {club}", names::TOWNS[team], LEAGUES[league].1);
    names::side_of("basketball team", &name)
}

const OVERTIME_S: u32 = 5 * 60;
const QUARTERS: usize = 4;

/// Seconds of a possession.
const POSSESSION_S: (u32, u32) = (7, 22);
const POSSESSION_MEAN_S: f64 = 14.5;
/// How often a possession of equals ends with three, two and one points.
const POINTS: [(u32, f64); 3] = [(3, 0.125), (2, 0.32), (1, 0.06)];
/// How much class is worth, and playing at home.
const CLASS: f64 = 0.07;
const AT_HOME: f64 = 0.012;

#[derive(Debug)]
pub(super) struct BasketballPlay {
    dice: Dice,
    due: Option<Micros>,
    next: BasketballStep,
    quarter_s: u32,
    bets: &'static [Bet],
    /// What each side's chances to score are multiplied with.
    factors: Pair<f64>,
    board: Board,
    /// Seconds left when the clock was started or stopped last, and when it was started.
    left_s: u32,
    running_since: Option<Micros>,
    ball: Side,
    halted: bool,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BasketballStep {
    Quarter,
    /// The clock runs again.
    Restart,
    /// A possession ends.
    Shot,
}

impl BasketballPlay {
    pub(super) fn new(
        teams: &Pair<Participant>,
        quarter_s: u32,
        bets: &'static [Bet],
        start: Micros,
        mut dice: Dice,
    ) -> Self {
        let at_home = [AT_HOME, -AT_HOME];
        let factors = [0, 1].map(|side: usize| {
            let class = names::skill(&teams[side], 0) - names::skill(&teams[1 - side], 1);
            1.0 + CLASS * class + at_home[side]
        });
        Self {
            due: Some(start + dice.seconds((20, 150))),
            next: BasketballStep::Quarter,
            quarter_s,
            bets,
            factors,
            board: Board::new(),
            left_s: quarter_s,
            running_since: None,
            ball: dice.side(),
            halted: false,
            dice,
        }
    }

    fn left(&self, now: Micros) -> u32 {
        let since = self.running_since.map_or(0, |since| ((now - since) / SECOND) as u32);
        self.left_s.saturating_sub(since)
    }

    fn quarter(&mut self, now: Micros) -> Trading {
        let begun = self.board.periods.len();
        let first = begun == 0;
        match begun {
            0..QUARTERS => self.board.begin(["q1", "q2", "q3", "q4"][begun]),
            QUARTERS => self.board.begin("overtime"),
            _ => self.board.begin(&format!("overtime {}", begun + 1 - QUARTERS)),
        }
        self.left_s = if begun < QUARTERS { self.quarter_s } else { OVERTIME_S };
        self.possession(now);
        self.halted |= first;
        if first { Trading::Begin } else { Trading::AsBefore }
    }

    fn possession(&mut self, now: Micros) {
        self.running_since = self.running_since.or(Some(now));
        let (low, high) = POSSESSION_S;
        let seconds = self.dice.between(low, high).min(self.left(now));
        self.due = Some(now + Micros::from(seconds) * SECOND);
        self.next = BasketballStep::Shot;
    }

    fn shot(&mut self, now: Micros) -> Trading {
        let points = self.points();
        if points > 0 {
            self.board.count(self.ball, points);
            self.board.score[self.ball.index()] += points;
        }
        self.ball = self.ball.other();
        self.left_s = self.left(now);
        self.running_since = Some(now);
        if self.left_s == 0 {
            self.running_since = None;
            return self.end_quarter(now);
        }
        // Free throws, fouls, time-outs, the ball out of play.
        if points == 1 || self.dice.chance(0.3) {
            self.running_since = None;
            self.due = Some(now + self.dice.seconds((18, 55)));
            self.next = BasketballStep::Restart;
        } else {
            self.possession(now);
        }
        if std::mem::take(&mut self.halted) { Trading::Resume } else { Trading::AsBefore }
    }

    fn points(&mut self) -> u32 {
        let factor = self.factors[self.ball.index()];
        let mut roll = self.dice.unit();
        for (points, chance) in POINTS {
            roll -= chance * factor;
            if roll < 0.0 {
                return points;
            }
        }
        0
    }

    fn end_quarter(&mut self, now: Micros) -> Trading {
        let pause = match self.board.periods.len() {
            2 => (780, 930),
            1..QUARTERS => (120, 160),
            _ if self.board.leader().is_none() => (120, 150),
            _ => {
                self.board.finish();
                self.due = None;
                return Trading::End;
            }
        };
        self.due = Some(now + self.dice.seconds(pause));
        self.next = BasketballStep::Quarter;
        if std::mem::take(&mut self.halted) { Trading::Resume } else { Trading::AsBefore }
    }

    /// Points a possession of a side, and their variance.
    fn spread(&self, side: usize) -> (f64, f64) {
        let moment = |power: fn(f64) -> f64| -> f64 {
            POINTS
                .iter()
                .map(|(n, chance)| power(f64::from(*n)) * chance * self.factors[side])
                .sum()
        };
        let mean = moment(|points| points);
        (mean, moment(|points| points * points) - mean * mean)
    }

    fn first_wins(&self, now: Micros) -> f64 {
        let begun = self.board.periods.len();
        let ahead = QUARTERS.saturating_sub(begun.max(1)) as u32 * self.quarter_s;
        let left = f64::from(self.left(now) + ahead);
        let [home, away] = self.board.score.map(f64::from);
        let ((first, first_spread), (second, second_spread)) = (self.spread(0), self.spread(1));
        let each = left / (2.0 * POSSESSION_MEAN_S);
        let lead = home - away;
        // Level, it goes on for an overtime; and the last possession of all is never quite the last.
        let each = if lead == 0.0 {
            each.max(f64::from(OVERTIME_S) / (2.0 * POSSESSION_MEAN_S))
        } else {
            each + 0.25
        };
        let deviation = (each * (first_spread + second_spread)).sqrt();
        maths::normal((lead + each * (first - second)) / deviation)
    }

    fn chance(&self, bet: Bet, now: Micros) -> Chance {
        let [home, away] = self.board.score;
        match (bet, self.board.winner) {
            (Bet::Points(line), _) if home + away > u32::from(line) => Chance::Won(0),
            (Bet::Points(_), Some(_)) => Chance::Won(1),
            (Bet::Points(line), None) => {
                let (sum, _, deviation) = self.expected(now);
                Chance::of_first(maths::normal((sum - f64::from(line) - 0.5) / deviation))
            }
            (Bet::Handicap(tenths), winner) => {
                let handicap = tenths as f64 / 10.0;
                let lead = f64::from(home) - f64::from(away) + handicap;
                match winner {
                    Some(_) => Chance::Won(usize::from(lead < 0.0)),
                    None => {
                        let (_, lead, deviation) = self.expected(now);
                        Chance::of_first(maths::normal((lead + handicap) / deviation))
                    }
                }
            }
            (_, Some(winner)) => Chance::Won(winner.index()),
            (_, None) => Chance::of_first(self.first_wins(now)),
        }
    }

    /// Points of both sides together and the lead of the first one at the end, without overtime, and
    /// by how much both may be off.
    fn expected(&self, now: Micros) -> (f64, f64, f64) {
        let begun = self.board.periods.len();
        let ahead = QUARTERS.saturating_sub(begun.max(1)) as u32 * self.quarter_s;
        let each = f64::from(self.left(now) + ahead) / (2.0 * POSSESSION_MEAN_S) + 0.25;
        let [home, away] = self.board.score.map(f64::from);
        let ((first, first_spread), (second, second_spread)) = (self.spread(0), self.spread(1));
        let deviation = (each * (first_spread + second_spread)).sqrt();
        (home + away + each * (first + second), home - away + each * (first - second), deviation)
    }

    fn clock(&self, now: Micros) -> Option<MatchClock> {
        let running = self.running_since.is_some();
        let shown = !self.board.periods.is_empty() && self.due.is_some();
        shown.then(|| MatchClock { second: self.left(now), running })
    }
}

impl Play for BasketballPlay {
    fn due(&self) -> Option<Micros> {
        self.due
    }

    fn step(&mut self, now: Micros) -> PlayStep {
        let trading = match self.next {
            BasketballStep::Quarter => self.quarter(now),
            BasketballStep::Restart => {
                self.possession(now);
                Trading::AsBefore
            }
            BasketballStep::Shot => self.shot(now),
        };
        PlayStep { facts: vec![self.board.fact(self.clock(now))], trading }
    }

    fn chances(&self, now: Micros) -> Vec<Chance> {
        self.bets.iter().map(|bet| self.chance(*bet, now)).collect()
    }

    fn ending(&self) -> Ending {
        Ending::Scoreboard(self.board.truth())
    }
}
