//! A football match: what happens on the pitch, moment by moment.
//!
//! The ball runs through [`flow`]; shots become goals as often as the sides are good. Everything
//! that counts goes into the record at once and is reported by [`report`]. A goal under check keeps the
//! match still, so that no second goal can fall before the decision.

mod analysis;
mod clock;
mod flow;
mod line_up;
mod model;
mod players;
mod record;
mod report;
mod strength;
mod tally;

use facts::event::{
    Ball, Fact, FootballStatus, GoalKind, Half, Micros, Pair, Participant, PlayerStat, ShotOutcome,
    Side, Situation, Stat, VarDecision,
};

use self::{
    analysis::Analyst,
    clock::{Clock, FULL_S},
    flow::{Flow, Turn},
    line_up::{LineUp, PlayerPart},
    model::Standing,
    players::Players,
    record::Record,
    report::{ClockReading, Reporter},
    strength::Strength,
    tally::{Tally, counted},
};
use super::{
    dice::{Dice, MINUTE, SECOND},
    play::{Chance, Play, PlayStep, Trading},
    truth::{Colour, Ending},
};

/// How long before the match its line-ups are reported.
const LINE_UPS: Micros = 60 * MINUTE;

/// Corners of both sides in a match, as the chain of situations gives them.
const CORNERS: f64 = 10.0;

const PENALTY_SCORED: f64 = 0.76;
const OWN_GOAL: f64 = 0.03;
const ASSISTED: f64 = 0.75;
/// Goals from play that are checked, and checks that end against the goal.
const CHECKED: f64 = 0.095;
const OVERTURNED: f64 = 0.34;
/// Of the 22 fouls a match, those that are booked and those that are sent off at once.
const BOOKED: f64 = 0.18;
const SENT_OFF: f64 = 0.003;

const REASONS: [&str; 4] = ["offside", "offside", "handball", "foul_in_build_up"];

#[derive(Debug)]
pub(super) struct FootballPlay {
    dice: Dice,
    due: Option<Micros>,
    next: FootballStep,
    kick_off: Micros,
    clock: Clock,
    flow: Flow,
    sides: Pair<LineUp>,
    strength: Strength,
    tally: Tally,
    players: Players,
    analyst: Analyst,
    record: Record,
    report: Reporter,
    /// Whether markets are suspended.
    halted: bool,
    /// What the moment in progress means for them.
    trading: Trading,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FootballStep {
    LineUps,
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

impl Play for FootballPlay {
    fn due(&self) -> Option<Micros> {
        self.due
    }

    fn step(&mut self, now: Micros) -> PlayStep {
        match self.next {
            FootballStep::LineUps => self.line_ups(),
            FootballStep::KickOff => self.kick_off(now),
            FootballStep::Turn => self.turn(now),
            FootballStep::PenaltyKick => self.penalty_kick(now),
            FootballStep::Check => self.check(now),
            FootballStep::Verdict => self.verdict(now),
            FootballStep::Restart => self.restart(now),
        }
        self.take_step(now)
    }

    fn chances(&self, now: Micros) -> Vec<Chance> {
        let over = self.clock.status == FootballStatus::Finished;
        let left = self.clock.remaining_s(now) / FULL_S;
        let to_come = (!over).then(|| self.strength.to_come(left, self.flow.ball()));
        let corners = self.tally.of_both(Stat::CornerKicks);
        let corners_to_come = CORNERS * left;
        let score = self.record.truth().score;
        Standing { score, to_come, corners, corners_to_come }.chances()
    }

    fn ending(&self) -> Ending {
        Ending::Football(self.record.truth().clone())
    }
}

impl FootballPlay {
    pub(super) fn new(
        teams: &Pair<Participant>,
        announced: Micros,
        start: Micros,
        mut dice: Dice,
        analysis_dice: Dice,
    ) -> Self {
        let sides = [0, 1].map(|side: usize| LineUp::new(&teams[side], &mut dice));
        Self {
            due: Some((start - LINE_UPS).max(announced + SECOND)),
            next: FootballStep::LineUps,
            kick_off: start + dice.millis((5_000, 80_000)),
            clock: Clock::new(),
            flow: Flow::kick_off(dice.side()),
            strength: Strength::new(teams),
            sides,
            tally: Tally::default(),
            players: Players::default(),
            analyst: Analyst::new(analysis_dice),
            record: Record::new(),
            report: Reporter::default(),
            halted: false,
            trading: Trading::AsBefore,
            dice,
        }
    }

    // ------------------------------------------------------------------------------ moments

    fn line_ups(&mut self) {
        for (side, line_up) in Side::BOTH.into_iter().zip(&self.sides) {
            for player in line_up.on_the_pitch() {
                self.players.come_on(side, player, 0);
            }
            self.record.line_up(side, line_up.fact());
        }
        (self.due, self.next) = (Some(self.kick_off), FootballStep::KickOff);
    }

    fn kick_off(&mut self, now: Micros) {
        let first = self.clock.status == FootballStatus::NotStarted;
        let added = if first { (50, 200) } else { (180, 400) };
        self.clock.start(now, self.dice.between(added.0, added.1));
        self.record.period(self.clock.status);
        if first {
            self.halt(Trading::Begin);
        } else {
            self.flow = Flow::kick_off(self.flow.ball().side.other());
        }
        self.show_ball();
        self.after_millis((2_500, 4_500), FootballStep::Turn, now);
    }

    fn turn(&mut self, now: Micros) {
        if self.clock.is_up(now) && !self.flow.is_threat() {
            return self.end_half(now);
        }
        self.resume();
        if self.substitute(now) {
            return self.after((12, 30), FootballStep::Turn, now);
        }
        self.pass();
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
        self.record.period(self.clock.status);
        if self.clock.status == FootballStatus::HalfTime {
            self.resume();
            return self.after((890, 990), FootballStep::KickOff, now);
        }
        self.due = None;
        self.trading = Trading::End;
    }

    fn penalty_kick(&mut self, now: Micros) {
        let side = self.flow.ball().side;
        if self.dice.chance(PENALTY_SCORED) {
            return self.goal(GoalKind::Penalty, now);
        }
        let taker = self.find(side, PlayerPart::PenaltyTaker, None);
        self.record.penalty_missed(self.clock.minute(now), side, taker.clone());
        self.tally.count(side, Stat::TotalShots);
        self.players.count(side, &taker, PlayerStat::TotalShots);
        let ball = self.flow.ball();
        self.shot_missed(ball, &taker, now);
    }

    fn check(&mut self, now: Micros) {
        self.record.check(VarDecision::Checking);
        self.after((40, 110), FootballStep::Verdict, now);
    }

    fn verdict(&mut self, now: Micros) {
        if !self.dice.chance(OVERTURNED) {
            self.record.check(VarDecision::Confirmed);
            return self.after((15, 35), FootballStep::Restart, now);
        }
        self.record.check(VarDecision::Overturned);
        let reason = self.dice.between(0, REASONS.len() as u32 - 1) as usize;
        let goal = self.record.overturn(REASONS[reason]);
        self.analyst.goal_overturned();
        self.players.take_back(goal.side, &goal.scorer, PlayerStat::Goals);
        if let Some(assist) = &goal.assist {
            self.players.take_back(goal.side, assist, PlayerStat::Assists);
        }
        let other = goal.side.other();
        if let Some(keeper) = self.sides[other.index()].keeper() {
            self.players.take_back(other, keeper, PlayerStat::GoalsConceded);
        }
        self.flow.lose();
        self.enter(Situation::FreeKick, now);
        self.after((15, 30), FootballStep::Turn, now);
    }

    fn restart(&mut self, now: Micros) {
        self.resume();
        self.flow = Flow::kick_off(self.flow.ball().side.other());
        self.show_ball();
        self.after_millis((2_500, 4_500), FootballStep::Turn, now);
    }

    // ------------------------------------------------------------------- what turns lead to

    /// Play goes on in a situation.
    fn enter(&mut self, situation: Situation, now: Micros) {
        self.flow.enter(situation, &mut self.dice);
        let Ball { side, situation, .. } = self.show_ball();
        if let Some(stat) = counted(situation) {
            self.tally.count(side, stat);
        }
        self.after_millis(self.flow.pause_ms(), FootballStep::Turn, now);
    }

    fn foul(&mut self, now: Micros) {
        let side = self.flow.ball().side.other();
        let fouler = self.fouled(side);
        self.enter(Situation::FreeKick, now);
        let roll = self.dice.unit();
        if roll < SENT_OFF {
            self.card(side, fouler, Colour::Red, now);
        } else if roll < SENT_OFF + BOOKED {
            self.card(side, fouler, Colour::Yellow, now);
        }
    }

    /// A player of a side fouls: the index in its line-up.
    fn fouled(&mut self, side: Side) -> usize {
        self.tally.count(side, Stat::Fouls);
        let team = &self.sides[side.index()];
        let fouler = team.find(PlayerPart::Fouler, None, &mut self.dice);
        self.players.count(side, &team.who(fouler), PlayerStat::Fouls);
        fouler
    }

    /// The side that has the ball tries a pass.
    fn pass(&mut self) {
        let arrived = self.dice.chance(0.81);
        let side = self.flow.ball().side;
        let first = self.clock.status == FootballStatus::FirstHalf;
        self.tally.held(side, arrived, if first { Half::First } else { Half::Second });
        let passer = self.sides[side.index()].anybody(&mut self.dice);
        self.players.count(side, passer, PlayerStat::TotalPasses);
        if arrived {
            self.players.count(side, passer, PlayerStat::AccuratePasses);
        }
    }

    /// Shows a card; a second yellow one is noticed here.
    fn card(&mut self, side: Side, index: usize, colour: Colour, now: Micros) {
        let team = &mut self.sides[side.index()];
        let player = team.who(index);
        let colour = match colour {
            Colour::Yellow if team.book(index) => Colour::SecondYellow,
            Colour::Yellow => Colour::Yellow,
            Colour::SecondYellow | Colour::Red => {
                team.send_off(index);
                Colour::Red
            }
        };
        let (stat, of_player) = if colour.sends_off() {
            (Stat::RedCards, PlayerStat::RedCards)
        } else {
            (Stat::YellowCards, PlayerStat::YellowCards)
        };
        self.tally.count(side, stat);
        self.players.count(side, &player, of_player);
        if colour.sends_off() {
            self.players.go_off(side, &player, self.clock.minute(now).minute);
        }
        self.record.card(self.clock.minute(now), side, player, colour);
        if colour.sends_off() {
            self.strength.sent_off(self.record.truth().red_cards());
            self.halt(Trading::Halt);
            self.after((25, 60), FootballStep::Turn, now);
        }
    }

    fn offside(&mut self, now: Micros) {
        let side = self.flow.ball().side;
        self.tally.count(side, Stat::Offsides);
        let player = self.find(side, PlayerPart::Scorer, None);
        self.players.count(side, &player, PlayerStat::Offsides);
        self.flow.lose();
        self.enter(Situation::FreeKick, now);
    }

    fn award_penalty(&mut self, now: Micros) {
        self.fouled(self.flow.ball().side.other());
        self.enter(Situation::Penalty, now);
        self.halt(Trading::Halt);
        self.after((45, 100), FootballStep::PenaltyKick, now);
    }

    fn shot(&mut self, now: Micros) {
        let side = self.flow.ball().side;
        if self.dice.chance(self.strength.of_shot(side)) {
            let is_own_goal = self.dice.chance(OWN_GOAL);
            return self.goal(if is_own_goal { GoalKind::OwnGoal } else { GoalKind::Regular }, now);
        }
        self.tally.count(side, Stat::TotalShots);
        let shooter = self.find(side, PlayerPart::Scorer, None);
        self.players.count(side, &shooter, PlayerStat::TotalShots);
        if self.dice.chance(0.3) {
            self.tally.count(side, Stat::BlockedShots);
            self.note_shot(self.flow.ball(), &shooter, ShotOutcome::Blocked, now);
            return self.enter(Situation::Dangerous, now);
        }
        self.shot_missed(self.flow.ball(), &shooter, now);
    }

    fn note_shot(&mut self, ball: Ball, who: &Participant, outcome: ShotOutcome, now: Micros) {
        let at = (self.clock.status, self.clock.minute(now));
        self.analyst.shot(ball, at, who, outcome);
    }

    /// The keeper has it, or no player.
    fn shot_missed(&mut self, ball: Ball, shooter: &Participant, now: Micros) {
        let side = ball.side;
        if self.dice.chance(0.4) {
            self.note_shot(ball, shooter, ShotOutcome::Saved, now);
            self.tally.count(side, Stat::ShotsOnTarget);
            self.tally.count(side.other(), Stat::Saves);
            self.players.count(side, shooter, PlayerStat::ShotsOnTarget);
            if let Some(keeper) = self.sides[side.other().index()].keeper() {
                self.players.count(side.other(), keeper, PlayerStat::Saves);
            }
            self.enter(Situation::ShotOnTarget, now);
        } else {
            self.tally.count(side, Stat::ShotsOffTarget);
            self.note_shot(ball, shooter, ShotOutcome::OffTarget, now);
            self.enter(Situation::ShotOffTarget, now);
        }
    }

    fn goal(&mut self, kind: GoalKind, now: Micros) {
        let side = self.flow.ball().side;
        if kind != GoalKind::OwnGoal {
            self.tally.count(side, Stat::TotalShots);
            self.tally.count(side, Stat::ShotsOnTarget);
        }
        let players = self.scorers(side, kind);
        self.credit(side, kind, &players);
        if kind != GoalKind::OwnGoal {
            self.note_shot(self.flow.ball(), &players.0, ShotOutcome::Goal, now);
        }
        self.record.goal(self.clock.minute(now), side, kind, players);
        self.enter(Situation::Goal, now);
        self.halt(Trading::Halt);
        if kind == GoalKind::Regular && self.dice.chance(CHECKED) {
            self.after((6, 18), FootballStep::Check, now);
        } else {
            self.after((35, 60), FootballStep::Restart, now);
        }
    }

    /// Counts a goal for those who had a part in it.
    fn credit(
        &mut self,
        side: Side,
        kind: GoalKind,
        (scorer, assist): &(Participant, Option<Participant>),
    ) {
        if kind != GoalKind::OwnGoal {
            for stat in [PlayerStat::Goals, PlayerStat::TotalShots, PlayerStat::ShotsOnTarget] {
                self.players.count(side, scorer, stat);
            }
        }
        if let Some(assist) = assist {
            self.players.count(side, assist, PlayerStat::Assists);
        }
        let other = side.other();
        if let Some(keeper) = self.sides[other.index()].keeper() {
            self.players.count(other, keeper, PlayerStat::GoalsConceded);
        }
    }

    /// Makes the substitutions that are due, when the ball is out of play; whether there were any.
    fn substitute(&mut self, now: Micros) -> bool {
        if !self.flow.is_dead() {
            return false;
        }
        let (second, at) = (self.clock.second(now), self.clock.minute(now));
        let mut any = false;
        for side in Side::BOTH {
            let line_up = &mut self.sides[side.index()];
            while let Some(players) = line_up.substitute(second, &mut self.dice) {
                self.players.go_off(side, &players.0, at.minute);
                self.players.come_on(side, &players.1, at.minute);
                self.record.substitution(at, side, players);
                any = true;
            }
        }
        any
    }

    // ------------------------------------------------------------------------------- smaller

    fn scorers(&mut self, side: Side, kind: GoalKind) -> (Participant, Option<Participant>) {
        match kind {
            GoalKind::OwnGoal => (self.find(side.other(), PlayerPart::Unlucky, None), None),
            GoalKind::Penalty => (self.find(side, PlayerPart::PenaltyTaker, None), None),
            GoalKind::Regular => {
                let scorer = self.find(side, PlayerPart::Scorer, None);
                let assisted = self.dice.chance(ASSISTED);
                let assist = assisted.then(|| self.find(side, PlayerPart::Passer, Some(&scorer)));
                (scorer, assist)
            }
        }
    }

    fn find(&mut self, side: Side, part: PlayerPart, but: Option<&Participant>) -> Participant {
        let line_up = &self.sides[side.index()];
        line_up.who(line_up.find(part, but, &mut self.dice))
    }

    fn show_ball(&mut self) -> Ball {
        let ball = self.flow.ball();
        self.analyst.ball(ball);
        self.record.ball(ball);
        ball
    }

    fn halt(&mut self, trading: Trading) {
        self.halted = true;
        self.trading = trading;
    }

    fn resume(&mut self) {
        if std::mem::take(&mut self.halted) {
            self.trading = Trading::Resume;
        }
    }

    fn after(&mut self, seconds: (i64, i64), next: FootballStep, now: Micros) {
        self.after_millis((seconds.0 * 1000, seconds.1 * 1000), next, now);
    }

    fn after_millis(&mut self, millis: (i64, i64), next: FootballStep, now: Micros) {
        self.due = Some(now + self.dice.millis(millis));
        self.next = next;
    }

    fn take_step(&mut self, now: Micros) -> PlayStep {
        let second = self.clock.second(now);
        let (running, minute) = (self.clock.running(), self.clock.minute(now));
        let pending = self.record.take_pending();
        let mut facts = self.report.facts(pending, ClockReading { second, running, minute });
        if self.clock.status != FootballStatus::NotStarted {
            let last = !running;
            facts.extend(self.tally.take_facts(second, last));
            facts.extend(self.players.take_facts(minute.minute, last));
            let half = (self.clock.status, last);
            let counts = (&self.tally, &self.players);
            facts.extend(self.analyst.take_facts(minute, half, &self.sides, counts));
        }
        let trading = std::mem::take(&mut self.trading);
        PlayStep { facts: facts.into_iter().map(Fact::Football).collect(), trading }
    }
}
