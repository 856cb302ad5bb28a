//! A tennis match: point by point, scored by [`facts::tennis`].
//!
//! Each player wins points on the own serve with a probability that is fixed for the match. Rarely
//! the umpire takes the last point back, a player retires, or does not appear at all.

mod model;

use facts::{
    event::{
        Eid, Fact, Micros, Pair, Participant, Point, PointKind, Side, TennisFact, TennisScore,
        TennisStatus,
    },
    tennis::MatchFormat,
};

use self::model::Model;
use super::{
    dice::Dice,
    names,
    play::{Chance, Play, PlayStep, Trading},
    truth::{Ending, TennisTruth},
};

/// Points won on serve by men of equal class; with skill it goes from 0.54 to 0.74.
const SERVE_BASE: f64 = 0.64;
const SERVE_SKILL: f64 = 0.05;
/// Of the points that the server wins, and of those that he loses.
const ACES: f64 = 0.12;
const DOUBLE_FAULTS: f64 = 0.1;

/// Matches that one player does not begin, and points after which one gives up: about one match in
/// eighty, and one in thirty.
const WALKOVER: f64 = 0.012;
const RETIREMENT: f64 = 0.00022;
/// Points that the umpire takes back: about one match in five has one.
const OVERRULED: f64 = 0.0012;

const BETWEEN_POINTS_S: (i64, i64) = (20, 42);
const CHANGEOVER_S: (i64, i64) = (85, 110);
const SET_BREAK_S: (i64, i64) = (115, 160);

#[derive(Debug)]
pub(super) struct TennisPlay {
    dice: Dice,
    due: Option<Micros>,
    next: TennisStep,
    format: MatchFormat,
    serve: Pair<f64>,
    model: Model,
    score: TennisScore,
    last: Option<Last>,
    points_told: u32,
    /// Whether markets are suspended.
    halted: bool,
    record: TennisTruth,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TennisStep {
    Start,
    Walkover,
    Point,
    Overrule,
    Retirement,
}

/// The last point and the state before it, for an umpire who takes it back.
#[derive(Debug)]
struct Last {
    eid: Eid,
    score: TennisScore,
    serve: Pair<[u32; 2]>,
}

impl Play for TennisPlay {
    fn due(&self) -> Option<Micros> {
        self.due
    }

    fn step(&mut self, now: Micros) -> PlayStep {
        let (facts, trading) = match self.next {
            TennisStep::Start => self.start(now),
            TennisStep::Walkover => self.end(TennisStatus::Walkover),
            TennisStep::Point => self.point(now),
            TennisStep::Overrule => self.overrule(now),
            TennisStep::Retirement => self.end(TennisStatus::Retired),
        };
        PlayStep { facts: facts.into_iter().map(Fact::Tennis).collect(), trading }
    }

    fn chances(&self, _now: Micros) -> Vec<Chance> {
        vec![match (self.record.status, self.record.winner) {
            (TennisStatus::Walkover, _) => Chance::Void,
            (_, Some(winner)) => Chance::Won(winner.index()),
            (_, None) => Chance::of_first(self.model.first_wins(&self.score)),
        }]
    }

    fn ending(&self) -> Ending {
        Ending::Tennis(self.record.clone())
    }
}

impl TennisPlay {
    pub(super) fn new(
        players: &Pair<Participant>,
        format: MatchFormat,
        start: Micros,
        mut dice: Dice,
    ) -> Self {
        let serve = serve_probabilities(players);
        let appears = !dice.chance(WALKOVER);
        let server = dice.side();
        Self {
            due: Some(start + dice.millis((10_000, 150_000))),
            next: if appears { TennisStep::Start } else { TennisStep::Walkover },
            format,
            serve,
            model: Model::new(serve, format),
            score: TennisScore::start(server),
            last: None,
            points_told: 0,
            halted: false,
            record: empty_record(),
            dice,
        }
    }

    fn start(&mut self, now: Micros) -> (Vec<TennisFact>, Trading) {
        self.record.status = TennisStatus::Live;
        self.record.sets.clone_from(&self.score.sets);
        self.halted = true;
        self.after((20, 40), TennisStep::Point, now);
        let score = TennisFact::Score(self.score.clone());
        (vec![TennisFact::Status(TennisStatus::Live), score], Trading::Begin)
    }

    fn point(&mut self, now: Micros) -> (Vec<TennisFact>, Trading) {
        let before = self.score.clone();
        let point = self.play_point();
        let pause = self.pause_since(&before);
        self.remember(&point, before);
        let mut facts = vec![TennisFact::Point(point)];
        if self.score.winner.is_some() {
            let (end, trading) = self.end(TennisStatus::Finished);
            facts.extend(end);
            return (facts, trading);
        }
        self.go_on(pause, now);
        (facts, self.resumed())
    }

    /// Plays one point; who wins it, and how.
    fn play_point(&mut self) -> Point {
        let server = self.score.server.unwrap_or(Side::First);
        let held = self.dice.chance(self.serve[server.index()]);
        let winner = if held { server } else { server.other() };
        let how = if held {
            self.dice.chance(ACES).then_some(PointKind::Ace)
        } else {
            self.dice.chance(DOUBLE_FAULTS).then_some(PointKind::DoubleFault)
        };
        self.score.point(winner, self.format);
        self.points_told += 1;
        let eid = format!("pt{}", self.points_told).into();
        Point { eid, winner, server, how, score: self.score.clone() }
    }

    /// Enters a point into the record, with what is needed to take it back.
    fn remember(&mut self, point: &Point, before: TennisScore) {
        let serve = self.record.serve;
        self.last = Some(Last { eid: point.eid.clone(), score: before, serve });
        let [won, all] = &mut self.record.serve[point.server.index()];
        *won += u32::from(point.winner == point.server);
        *all += 1;
        self.keep_score();
    }

    fn keep_score(&mut self) {
        self.record.points = self.score.points;
        self.record.sets.clone_from(&self.score.sets);
        self.record.winner = self.score.winner;
    }

    /// What comes after a point that did not end the match, and when.
    fn go_on(&mut self, pause: (i64, i64), now: Micros) {
        if self.dice.chance(OVERRULED) {
            return self.after((4, 12), TennisStep::Overrule, now);
        }
        if self.dice.chance(RETIREMENT) {
            return self.after((60, 400), TennisStep::Retirement, now);
        }
        self.after(pause, TennisStep::Point, now);
    }

    /// Seconds until the next point: players rest between sets, and change ends after odd games.
    fn pause_since(&self, before: &TennisScore) -> (i64, i64) {
        let games = games_in_set(&self.score);
        if self.score.sets.len() != before.sets.len() {
            SET_BREAK_S
        } else if games != games_in_set(before) && games % 2 == 1 {
            CHANGEOVER_S
        } else {
            BETWEEN_POINTS_S
        }
    }

    fn overrule(&mut self, now: Micros) -> (Vec<TennisFact>, Trading) {
        let Last { eid, score, serve } =
            self.last.take().expect("an overrule comes right after a point");
        self.score = score;
        self.record.serve = serve;
        self.record.retracted.push(eid.clone());
        self.keep_score();
        self.halted = true;
        self.after((20, 45), TennisStep::Point, now);
        let why = "umpire_overrule".into();
        (vec![TennisFact::Retract { eid, why, score: self.score.clone() }], Trading::Halt)
    }

    fn end(&mut self, status: TennisStatus) -> (Vec<TennisFact>, Trading) {
        self.due = None;
        self.record.status = status;
        let mut facts = vec![TennisFact::Status(status)];
        if status != TennisStatus::Finished {
            facts.push(self.award(status));
        }
        (facts, Trading::End)
    }

    /// Gives a match that was not played out to one of the two by lot.
    fn award(&mut self, status: TennisStatus) -> TennisFact {
        if status == TennisStatus::Walkover {
            self.score = TennisScore::default();
        }
        let winner = self.dice.side();
        (self.score.winner, self.score.server) = (Some(winner), None);
        self.keep_score();
        TennisFact::Score(self.score.clone())
    }

    fn resumed(&mut self) -> Trading {
        if std::mem::take(&mut self.halted) { Trading::Resume } else { Trading::AsBefore }
    }

    fn after(&mut self, seconds: (i64, i64), next: TennisStep, now: Micros) {
        self.due = Some(now + self.dice.seconds(seconds));
        self.next = next;
    }
}

/// The probability of each player to win a point on the own serve: own serve against other's return.
fn serve_probabilities(players: &Pair<Participant>) -> Pair<f64> {
    [0, 1].map(|player: usize| {
        let serve = names::skill(&players[player], 0);
        let receive = names::skill(&players[1 - player], 1);
        SERVE_BASE + SERVE_SKILL * (serve - receive)
    })
}

fn empty_record() -> TennisTruth {
    TennisTruth {
        status: TennisStatus::NotStarted,
        sets: Vec::new(),
        points: 0,
        retracted: Vec::new(),
        serve: [[0; 2]; 2],
        winner: None,
    }
}

fn games_in_set(score: &TennisScore) -> u8 {
    score.sets.last().map_or(0, |set| set.games[0] + set.games[1])
}
