//! The analysis of a simulated match: shots, momentum, halves, average positions,
//! ratings.
//!
//! It has a stream of chance of its own, so that the course of a match does not depend on it.

use std::collections::BTreeMap;

use super::{line_up::LineUp, players::Players, tally::Tally};
use crate::{dice::Dice, truth::Minute};
use facts::{
    event::{
        Analysis, AveragePosition, Ball, BodyPart, ExpectedGoals, FootballFact, FootballStatus,
        GoalMouth, Half, Id, MatchMinute, Momentum, Pair, Participant, PitchPlace, Shot,
        ShotOutcome, ShotSituation, Side, Situation, Stat,
    },
    football::{Period, momentum, pressure},
};

/// Average positions, halves and ratings are reported once in this many minutes, and at the
/// whistles.
const EVERY_MIN: u16 = 15;

/// Length and width of the pitch in metres.
const LENGTH_M: f64 = 105.0;
const WIDTH_M: f64 = 68.0;

/// A shot from here goes in as often as not; further away the chance falls with the square.
const HALVED_M2: f64 = 60.0;
const BEST: f64 = 0.78;
const PENALTY: f64 = 0.76;

#[derive(Debug)]
pub(super) struct Analyst {
    dice: Dice,
    pending: Vec<Analysis>,
    shots: u32,
    last_goal: Option<Shot>,
    minute: Option<MatchMinute>,
    pressure: Pair<u32>,
    due_min: u16,
    /// How far each player strays from the place of the role.
    stray: BTreeMap<Id, (i32, i32)>,
    positions: Pair<BTreeMap<Id, AveragePosition>>,
    ratings: BTreeMap<Id, u16>,
    /// Counts at half time.
    half_time: Option<Pair<BTreeMap<Stat, u32>>>,
    halves: BTreeMap<(Half, Side, Stat), u32>,
}

impl Analyst {
    pub(super) fn new(dice: Dice) -> Self {
        Self {
            dice,
            pending: Vec::new(),
            shots: 0,
            last_goal: None,
            minute: None,
            pressure: [0, 0],
            due_min: EVERY_MIN,
            stray: BTreeMap::new(),
            positions: Pair::default(),
            ratings: BTreeMap::new(),
            half_time: None,
            halves: BTreeMap::new(),
        }
    }

    pub(super) fn ball(&mut self, ball: Ball) {
        self.pressure[ball.side.index()] += pressure(ball.situation);
    }

    /// A shot from where the ball is.
    pub(super) fn shot(
        &mut self,
        ball: Ball,
        (status, at): (FootballStatus, Minute),
        player: &Participant,
        outcome: ShotOutcome,
    ) {
        let situation = self.situation(ball.situation);
        let (location, expected) = self.locate(situation, outcome);
        self.shots += 1;
        let on_target = matches!(outcome, ShotOutcome::Goal | ShotOutcome::Saved);
        let shot = Shot {
            eid: format!("x{}", self.shots).into(),
            side: ball.side,
            player: Some(player.clone()),
            period: period(status),
            minute: at.minute,
            added: at.added,
            outcome,
            situation: Some(situation),
            body_part: Some(self.body_part(situation)),
            expected_goals: ExpectedGoals::from_goals(expected),
            expected_on_target: on_target
                .then(|| ExpectedGoals::from_goals((expected + self.dice.unit()) / 2.0))
                .flatten(),
            location: Some(location),
            goal_mouth: (outcome != ShotOutcome::Blocked).then(|| self.goal_mouth(on_target)),
        };
        if outcome == ShotOutcome::Goal {
            self.last_goal = Some(shot.clone());
        }
        self.pending.push(Analysis::Shot(shot));
    }

    /// The last goal does not count: its shot stays, without one.
    pub(super) fn goal_overturned(&mut self) {
        if let Some(shot) = self.last_goal.take() {
            self.pending.push(Analysis::Shot(Shot { outcome: ShotOutcome::OffTarget, ..shot }));
        }
    }

    /// The facts to report at a moment of play; at a whistle, all of them.
    pub(super) fn take_facts(
        &mut self,
        at: Minute,
        (status, whistle): (FootballStatus, bool),
        sides: &Pair<LineUp>,
        (tally, players): (&Tally, &Players),
    ) -> Vec<FootballFact> {
        let now = MatchMinute { minute: at.minute, added: at.added.is_some() };
        let since = if whistle { self.minute.take() } else { self.minute.replace(now) };
        let ended = since.filter(|since| whistle || *since != now);
        if let Some(since) = ended {
            // Several may have ended: there are minutes in which nothing happens.
            let ended = minutes(since).take_while(|&it| it < now || whistle && it == now);
            for minute in ended {
                let value = momentum(std::mem::take(&mut self.pressure));
                self.pending.push(Analysis::Momentum(Momentum { minute, value }));
            }
        }
        if ended.is_some() && (whistle || at.minute >= self.due_min) {
            self.due_min = at.minute - at.minute % EVERY_MIN + EVERY_MIN;
            self.halves(status, tally);
            self.positions(sides);
            self.ratings(players);
        }
        self.pending.drain(..).map(FootballFact::Analysis).collect()
    }

    fn halves(&mut self, status: FootballStatus, tally: &Tally) {
        let half = match status {
            FootballStatus::FirstHalf | FootballStatus::HalfTime => Half::First,
            _ => Half::Second,
        };
        let now = Side::BOTH.map(|side| tally.of_side(side));
        for side in Side::BOTH {
            let mut changed = Vec::new();
            for (stat, count) in &now[side.index()] {
                let before = self.half_time.as_ref();
                let before = before.and_then(|it| it[side.index()].get(stat)).copied();
                let value = match stat {
                    Stat::BallPossession => tally.possession(side, half),
                    _ => Some(count.saturating_sub(before.unwrap_or(0))),
                };
                let Some(value) = value else { continue };
                if self.halves.insert((half, side, *stat), value) != Some(value) {
                    changed.push((*stat, value));
                }
            }
            if !changed.is_empty() {
                self.pending.push(Analysis::HalfStats { half, side, values: changed });
            }
        }
        if status == FootballStatus::HalfTime {
            self.half_time = Some(now);
        }
    }

    fn positions(&mut self, sides: &Pair<LineUp>) {
        for (side, line_up) in Side::BOTH.into_iter().zip(sides) {
            for (who, (x, y)) in line_up.places() {
                let dice = &mut self.dice;
                let stray = self.stray.entry(who.id).or_insert_with(|| {
                    ((dice.swing() * 60.0) as i32, (dice.swing() * 50.0) as i32)
                });
                let tenths = |at: i32| at.clamp(20, 980) as u16;
                let location = PitchPlace { x: tenths(x + stray.0), y: tenths(y + stray.1) };
                let position = AveragePosition { player: who.clone(), location };
                self.positions[side.index()].insert(who.id, position);
            }
            let players = self.positions[side.index()].values().cloned().collect();
            self.pending.push(Analysis::AveragePositions { side, players });
        }
    }

    fn ratings(&mut self, players: &Players) {
        for side in Side::BOTH {
            let mut changed = players.ratings(side);
            changed.retain(|it| self.ratings.insert(it.player.id, it.rating) != Some(it.rating));
            if !changed.is_empty() {
                self.pending.push(Analysis::Ratings { side, players: changed });
            }
        }
    }

    fn situation(&mut self, situation: Situation) -> ShotSituation {
        match situation {
            Situation::Penalty => ShotSituation::Penalty,
            Situation::Corner => ShotSituation::Corner,
            _ => match self.dice.between(0, 19) {
                0..12 => ShotSituation::Assisted,
                12..15 => ShotSituation::Regular,
                15 | 16 => ShotSituation::FastBreak,
                17 => ShotSituation::SetPiece,
                18 => ShotSituation::FreeKick,
                _ => ShotSituation::ThrowIn,
            },
        }
    }

    fn body_part(&mut self, situation: ShotSituation) -> BodyPart {
        let head = if situation == ShotSituation::Corner { 0.5 } else { 0.12 };
        let foot = matches!(situation, ShotSituation::Penalty | ShotSituation::FreeKick);
        if !foot && self.dice.chance(head) {
            BodyPart::Head
        } else if self.dice.chance(0.7) {
            BodyPart::RightFoot
        } else {
            BodyPart::LeftFoot
        }
    }

    /// Where a shot was taken and what it was worth there: those that go in are from nearer.
    fn locate(&mut self, situation: ShotSituation, outcome: ShotOutcome) -> (PitchPlace, f64) {
        let tenths = |share: f64| (share * 1000.0).clamp(0.0, 1000.0) as u16;
        let at = |ahead_m: f64, aside_m: f64| PitchPlace {
            x: tenths(1.0 - ahead_m / LENGTH_M),
            y: tenths(0.5 + aside_m / WIDTH_M),
        };
        if situation == ShotSituation::Penalty {
            return (at(11.0, 0.0), PENALTY);
        }
        let far_m = match (situation, outcome) {
            (ShotSituation::FreeKick, _) => 19.0 + self.dice.unit() * 10.0,
            (_, ShotOutcome::Goal) => 5.0 + self.dice.unit() * 11.0,
            _ => 7.0 + self.dice.unit() * 19.0,
        };
        let aside_m = self.dice.swing() * (2.0 + far_m / 2.0);
        let expected = BEST / (1.0 + (far_m * far_m + aside_m * aside_m) / HALVED_M2);
        (at(far_m, aside_m), expected)
    }

    /// The posts are 5.4 percent of the width of the pitch away from the middle.
    fn goal_mouth(&mut self, on_target: bool) -> GoalMouth {
        let (swing, height) = (self.dice.swing(), self.dice.unit());
        if on_target {
            return GoalMouth { y: (500.0 + swing * 50.0) as u16, z: (height * 950.0) as u16 };
        }
        // Wide, or over the bar.
        let beyond = if swing < 0.0 { -58.0 } else { 58.0 };
        if height < 0.6 {
            GoalMouth { y: (500.0 + beyond + swing * 60.0) as u16, z: (height * 1_200.0) as u16 }
        } else {
            GoalMouth { y: (500.0 + swing * 60.0) as u16, z: (height * 1_000.0) as u16 + 500 }
        }
    }
}

fn period(status: FootballStatus) -> Period {
    match status {
        FootballStatus::NotStarted | FootballStatus::FirstHalf | FootballStatus::HalfTime => {
            Period::FirstHalf
        }
        _ => Period::SecondHalf,
    }
}

/// The minutes of the match from one of them on.
fn minutes(from: MatchMinute) -> impl Iterator<Item = MatchMinute> {
    std::iter::successors(Some(from), |&MatchMinute { minute, added }| {
        let added_next = !added && matches!(minute, 45 | 90);
        Some(MatchMinute {
            minute: if added_next { minute } else { minute + 1 },
            added: added_next,
        })
    })
}
