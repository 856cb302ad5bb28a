//! A football match: what happens on the pitch, moment by moment.
//!
//! The ball runs through [`flow`]; shots become goals as often as the sides are good. Everything
//! that counts goes into the record at once and is told by [`report`]. A goal under check keeps the
//! match still, so that no second goal can fall before the decision.

mod clock;
mod flow;
mod line_up;
mod model;
mod report;
mod tally;

use crate::event::{
    Ball, Eid, Fact, FootballStatus, GoalKind, Micros, Pair, Participant, Side, Situation, Stat,
    VarDecision,
};

use self::{
    clock::{Clock, FULL_S},
    flow::{Flow, Turn},
    line_up::{LineUp, Part},
    model::Standing,
    report::{Happening, Report, Shown},
    tally::Tally,
};
use super::{
    dice::Dice,
    names,
    play::{Chance, Play, Step, Trading},
    truth::{Card, Colour, Ending, FootballTruth, Goal, Overturned, PenaltyMissed, Substitution},
};

/// Goals of an average home and away side in a match: 2.7 together, as in most leagues.
const GOALS_BASE: Pair<f64> = [1.5, 1.2];
/// Goals of a side from penalties: 0.26 kicks a match, of which three of four go in.
const GOALS_FROM_PENALTIES: f64 = 0.1;
/// Shots of a side in a match, measured over many; a test of the averages holds it in place.
const SHOTS: f64 = 13.6;
/// What a player fewer does to a side's own rate and to the other's.
const MAN_DOWN: f64 = 0.72;
const MAN_UP: f64 = 1.3;

const PENALTY_SCORED: f64 = 0.76;
const OWN_GOAL: f64 = 0.03;
const ASSISTED: f64 = 0.75;
/// Goals from play that are checked, and checks that end against the goal.
const CHECKED: f64 = 0.095;
const OVERTURNED: f64 = 0.34;
/// Fouls that are booked; sent off at once; a bit of each is what makes four cards a match.
const BOOKED: f64 = 0.18;
const SENT_OFF: f64 = 0.003;

const REASONS: [&str; 4] = ["offside", "offside", "handball", "foul_in_build_up"];

#[derive(Debug)]
pub(super) struct FootballPlay {
    dice: Dice,
    due: Option<Micros>,
    next: Next,
    clock: Clock,
    flow: Flow,
    sides: Pair<LineUp>,
    /// Goals a match of each side with eleven against eleven.
    strengths: Pair<f64>,
    tally: Tally,
    report: Report,
    record: FootballTruth,
    /// Incidents so far, for their names.
    incidents: u32,
    /// Whether markets are suspended.
    halted: bool,
    scene: Scene,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A half begins.
    KickOff,
    /// The ball moves on.
    Turn,
    PenaltyKick,
    /// The video assistant begins to look at the last goal.
    Check,
    Verdict,
    /// A kick-off after a goal.
    Restart,
}

/// What has happened in the moment in progress.
#[derive(Debug, Default)]
struct Scene {
    happenings: Vec<Happening>,
    trading: Trading,
}

impl Play for FootballPlay {
    fn due(&self) -> Option<Micros> {
        self.due
    }

    fn step(&mut self, now: Micros) -> Step {
        match self.next {
            Next::KickOff => self.kick_off(now),
            Next::Turn => self.turn(now),
            Next::PenaltyKick => self.penalty_kick(now),
            Next::Check => self.check(now),
            Next::Verdict => self.verdict(now),
            Next::Restart => self.restart(now),
        }
        self.tell(now)
    }

    fn chances(&self, now: Micros) -> Vec<Chance> {
        let over = self.clock.status == FootballStatus::Finished;
        let to_come = (!over).then(|| self.goals_to_come(now));
        Standing { score: self.record.score, to_come }.chances()
    }

    fn ending(&self) -> Ending {
        Ending::Football(self.record.clone())
    }
}

impl FootballPlay {
    pub(super) fn new(teams: &Pair<Participant>, start: Micros, mut dice: Dice) -> Self {
        let sides = [0, 1].map(|side: usize| LineUp::new(&teams[side], &mut dice));
        Self {
            due: Some(start + dice.millis((5_000, 80_000))),
            next: Next::KickOff,
            clock: Clock::new(),
            flow: Flow::kick_off(if dice.chance(0.5) { Side::First } else { Side::Second }),
            strengths: strengths(teams),
            sides,
            tally: Tally::default(),
            report: Report::default(),
            record: empty_record(),
            incidents: 0,
            halted: false,
            scene: Scene::default(),
            dice,
        }
    }

    // ------------------------------------------------------------------------------ moments

    fn kick_off(&mut self, now: Micros) {
        let first = self.clock.status == FootballStatus::NotStarted;
        let added = if first { (50, 200) } else { (180, 400) };
        self.clock.start(now, self.dice.between(added.0, added.1));
        self.happened(Happening::Period(self.clock.status));
        if first {
            self.halt(Trading::Begin);
        } else {
            self.flow = Flow::kick_off(self.flow.ball().side.other());
        }
        self.show_ball();
        self.after_millis((2_500, 4_500), Next::Turn, now);
    }

    fn turn(&mut self, now: Micros) {
        if self.clock.is_up(now) && !self.flow.is_threat() {
            return self.end_half(now);
        }
        self.resume();
        self.substitute(now);
        let arrived = self.dice.chance(0.81);
        self.tally.held(self.flow.ball().side, arrived);
        match self.flow.turn(&mut self.dice) {
            Turn::Keep(situation) => self.enter(situation, now),
            Turn::Lose(situation) => {
                self.flow.lose();
                self.enter(situation, now);
            }
            Turn::Foul => self.foul(now),
            Turn::Offside => self.offside(now),
            Turn::Penalty => self.award_penalty(now),
            Turn::Shot => self.shot(now),
        }
    }

    fn end_half(&mut self, now: Micros) {
        self.clock.stop(now);
        self.happened(Happening::Period(self.clock.status));
        if self.clock.status == FootballStatus::HalfTime {
            self.record.half_time = self.record.score;
            self.resume();
            return self.after((890, 990), Next::KickOff, now);
        }
        self.record.status = FootballStatus::Finished;
        self.due = None;
        self.scene.trading = Trading::End;
    }

    fn penalty_kick(&mut self, now: Micros) {
        let side = self.flow.ball().side;
        if self.dice.chance(PENALTY_SCORED) {
            return self.goal(GoalKind::Penalty, now);
        }
        let taker = self.find(side, Part::PenaltyTaker, None);
        let (eid, at) = (self.eid('m'), self.clock.minute(now));
        let miss = PenaltyMissed { eid, at, side, player: taker };
        self.record.penalties_missed.push(miss.clone());
        self.happened(Happening::PenaltyMissed(miss));
        self.tally.count(side, Stat::TotalShots);
        self.shot_missed(now);
    }

    fn check(&mut self, now: Micros) {
        self.tell_check(VarDecision::Checking);
        self.after((40, 110), Next::Verdict, now);
    }

    fn verdict(&mut self, now: Micros) {
        if !self.dice.chance(OVERTURNED) {
            self.tell_check(VarDecision::Confirmed);
            return self.after((15, 35), Next::Restart, now);
        }
        self.tell_check(VarDecision::Overturned);
        self.overturn();
        self.flow.lose();
        self.enter(Situation::FreeKick, now);
        self.after((15, 30), Next::Turn, now);
    }

    fn restart(&mut self, now: Micros) {
        self.resume();
        self.flow = Flow::kick_off(self.flow.ball().side.other());
        self.show_ball();
        self.after_millis((2_500, 4_500), Next::Turn, now);
    }

    // ------------------------------------------------------------------- what turns lead to

    /// Play goes on in a situation.
    fn enter(&mut self, situation: Situation, now: Micros) {
        self.flow.enter(situation, &mut self.dice);
        let Ball { side, situation, .. } = self.show_ball();
        if let Some(stat) = counted(situation) {
            self.tally.count(side, stat);
        }
        self.after_millis(self.flow.pause_ms(), Next::Turn, now);
    }

    fn foul(&mut self, now: Micros) {
        let side = self.flow.ball().side.other();
        self.tally.count(side, Stat::Fouls);
        self.enter(Situation::FreeKick, now);
        let roll = self.dice.unit();
        if roll < SENT_OFF {
            self.card(side, Colour::Red, now);
        } else if roll < SENT_OFF + BOOKED {
            self.card(side, Colour::Yellow, now);
        }
    }

    /// Shows a card; a second yellow one is noticed here.
    fn card(&mut self, side: Side, colour: Colour, now: Micros) {
        let own = &mut self.sides[side.index()];
        let index = own.find(Part::Fouler, None, &mut self.dice);
        let player = own.who(index);
        let colour = match colour {
            Colour::Yellow if own.book(index) => Colour::SecondYellow,
            Colour::Yellow => Colour::Yellow,
            Colour::SecondYellow | Colour::Red => {
                own.send_off(index);
                Colour::Red
            }
        };
        let stat = if colour.sends_off() { Stat::RedCards } else { Stat::YellowCards };
        self.tally.count(side, stat);
        let card = Card { eid: self.eid('c'), at: self.clock.minute(now), side, player, colour };
        self.record.cards.push(card.clone());
        self.happened(Happening::Card(card));
        if colour.sends_off() {
            self.halt(Trading::Halt);
            self.after((25, 60), Next::Turn, now);
        }
    }

    fn offside(&mut self, now: Micros) {
        self.tally.count(self.flow.ball().side, Stat::Offsides);
        self.flow.lose();
        self.enter(Situation::FreeKick, now);
    }

    fn award_penalty(&mut self, now: Micros) {
        self.tally.count(self.flow.ball().side.other(), Stat::Fouls);
        self.enter(Situation::Penalty, now);
        self.halt(Trading::Halt);
        self.after((45, 100), Next::PenaltyKick, now);
    }

    fn shot(&mut self, now: Micros) {
        let side = self.flow.ball().side;
        let scored = (self.rate(side) - GOALS_FROM_PENALTIES) / SHOTS;
        if self.dice.chance(scored) {
            let own = self.dice.chance(OWN_GOAL);
            return self.goal(if own { GoalKind::OwnGoal } else { GoalKind::Regular }, now);
        }
        self.tally.count(side, Stat::TotalShots);
        if self.dice.chance(0.3) {
            self.tally.count(side, Stat::BlockedShots);
            return self.enter(Situation::Dangerous, now);
        }
        self.shot_missed(now);
    }

    /// The keeper has it, or nobody.
    fn shot_missed(&mut self, now: Micros) {
        let side = self.flow.ball().side;
        if self.dice.chance(0.4) {
            self.tally.count(side, Stat::ShotsOnTarget);
            self.tally.count(side.other(), Stat::Saves);
            self.enter(Situation::ShotOnTarget, now);
        } else {
            self.tally.count(side, Stat::ShotsOffTarget);
            self.enter(Situation::ShotOffTarget, now);
        }
    }

    fn goal(&mut self, kind: GoalKind, now: Micros) {
        let side = self.flow.ball().side;
        if kind != GoalKind::OwnGoal {
            self.tally.count(side, Stat::TotalShots);
            self.tally.count(side, Stat::ShotsOnTarget);
        }
        let (scorer, assist) = self.scorers(side, kind);
        self.record.score[side.index()] += 1;
        let (eid, at, score) = (self.eid('g'), self.clock.minute(now), self.record.score);
        let goal = Goal { eid, at, side, scorer, assist, kind, score };
        self.record.goals.push(goal.clone());
        self.happened(Happening::Goal(goal));
        self.enter(Situation::Goal, now);
        self.halt(Trading::Halt);
        if kind == GoalKind::Regular && self.dice.chance(CHECKED) {
            self.after((6, 18), Next::Check, now);
        } else {
            self.after((35, 60), Next::Restart, now);
        }
    }

    fn overturn(&mut self) {
        let why = REASONS[self.dice.between(0, REASONS.len() as u32 - 1) as usize];
        let goal = self.record.goals.pop().expect("a verdict is on the last goal");
        self.record.score[goal.side.index()] -= 1;
        self.happened(Happening::Overturned { of: goal.eid.clone(), side: goal.side, why });
        self.record.overturned.push(Overturned { goal, why });
    }

    fn tell_check(&mut self, decision: VarDecision) {
        let goal = self.record.goals.last().expect("a check is on the last goal");
        let (side, scorer) = (goal.side, goal.scorer.clone());
        let eid = self.eid('v');
        self.happened(Happening::Var { eid, side, scorer, decision });
    }

    /// Makes the substitutions that are due, when the ball is out of play.
    fn substitute(&mut self, now: Micros) {
        if !self.flow.is_dead() {
            return;
        }
        let second = self.clock.second(now);
        for side in Side::BOTH {
            while let Some((off, on)) = self.sides[side.index()].substitute(second, &mut self.dice)
            {
                let (eid, at) = (self.eid('s'), self.clock.minute(now));
                let change = Substitution { eid, at, side, off, on };
                self.record.substitutions.push(change.clone());
                self.happened(Happening::Substitution(change));
            }
        }
    }

    // ------------------------------------------------------------------------------- smaller

    fn scorers(&mut self, side: Side, kind: GoalKind) -> (Participant, Option<Participant>) {
        match kind {
            GoalKind::OwnGoal => (self.find(side.other(), Part::Unlucky, None), None),
            GoalKind::Penalty => (self.find(side, Part::PenaltyTaker, None), None),
            GoalKind::Regular => {
                let scorer = self.find(side, Part::Scorer, None);
                let assisted = self.dice.chance(ASSISTED);
                let assist = assisted.then(|| self.find(side, Part::Passer, Some(&scorer)));
                (scorer, assist)
            }
        }
    }

    fn find(&mut self, side: Side, part: Part, but: Option<&Participant>) -> Participant {
        let line_up = &self.sides[side.index()];
        line_up.who(line_up.find(part, but, &mut self.dice))
    }

    /// Goals a match of a side as it stands: a player fewer costs it, and helps the other.
    fn rate(&self, side: Side) -> f64 {
        let reds = self.record.red_cards();
        let factor = |count: usize, each: f64| (0..count).fold(1.0, |product, _| product * each);
        self.strengths[side.index()]
            * factor(reds[side.index()], MAN_DOWN)
            * factor(reds[side.other().index()], MAN_UP)
    }

    /// Goals still expected of each side: its rate over the time left, and what the ball promises.
    fn goals_to_come(&self, now: Micros) -> Pair<f64> {
        let left = self.clock.remaining_s(now) / FULL_S;
        let ball = self.flow.ball();
        Side::BOTH.map(|side| {
            let promise =
                if side == ball.side && left > 0.0 { promise(ball.situation) } else { 0.0 };
            self.rate(side) * (left + promise)
        })
    }

    /// The name of the next incident: a letter for its kind and its number.
    fn eid(&mut self, kind: char) -> Eid {
        self.incidents += 1;
        format!("{kind}{}", self.incidents).into()
    }

    fn happened(&mut self, happening: Happening) {
        self.scene.happenings.push(happening);
    }

    fn show_ball(&mut self) -> Ball {
        let ball = self.flow.ball();
        self.happened(Happening::Ball(ball));
        ball
    }

    fn halt(&mut self, trading: Trading) {
        self.halted = true;
        self.scene.trading = trading;
    }

    fn resume(&mut self) {
        if std::mem::take(&mut self.halted) {
            self.scene.trading = Trading::Resume;
        }
    }

    fn after(&mut self, seconds: (i64, i64), next: Next, now: Micros) {
        self.after_millis((seconds.0 * 1000, seconds.1 * 1000), next, now);
    }

    fn after_millis(&mut self, millis: (i64, i64), next: Next, now: Micros) {
        self.due = Some(now + self.dice.millis(millis));
        self.next = next;
    }

    fn tell(&mut self, now: Micros) -> Step {
        let Scene { happenings, trading } = std::mem::take(&mut self.scene);
        let second = self.clock.second(now);
        let (running, minute) = (self.clock.running(), self.clock.minute(now));
        let mut facts = self.report.tell(happenings, Shown { second, running, minute });
        facts.extend(self.tally.news(second));
        Step { facts: facts.into_iter().map(Fact::Football).collect(), trading }
    }
}

/// Goals a match of each side: attack against defence, each up to a third better or worse.
fn strengths(teams: &Pair<Participant>) -> Pair<f64> {
    [0, 1].map(|side: usize| {
        let attack = 1.0 + 0.3 * names::skill(&teams[side], 0);
        let defence = 1.0 - 0.25 * names::skill(&teams[1 - side], 1);
        GOALS_BASE[side] * attack * defence
    })
}

fn empty_record() -> FootballTruth {
    FootballTruth {
        status: FootballStatus::NotStarted,
        score: [0, 0],
        half_time: [0, 0],
        goals: Vec::new(),
        overturned: Vec::new(),
        cards: Vec::new(),
        substitutions: Vec::new(),
        penalties_missed: Vec::new(),
    }
}

/// The count that rises when play comes into a situation.
fn counted(situation: Situation) -> Option<Stat> {
    Some(match situation {
        Situation::Attack => Stat::Attacks,
        Situation::Dangerous => Stat::DangerousAttacks,
        Situation::Corner => Stat::CornerKicks,
        Situation::FreeKick => Stat::FreeKicks,
        Situation::ThrowIn => Stat::ThrowIns,
        Situation::GoalKick => Stat::GoalKicks,
        _ => return None,
    })
}

/// What a situation adds to the goals to come, as a share of a whole match's: a dangerous attack
/// is worth about a minute and a half of ordinary play.
fn promise(situation: Situation) -> f64 {
    match situation {
        Situation::Dangerous => 0.016,
        Situation::Corner => 0.014,
        Situation::ShotOnTarget => 0.02,
        Situation::Attack => 0.004,
        Situation::FreeKick => 0.005,
        _ => 0.0,
    }
}
