//! A horse race: at the post, off, in order, in.
//!
//! Who wins is drawn by the runners' strength, then who is next among the others, and so on: R. L.
//! Plackett, "The Analysis of Permutations", Applied Statistics 24 (1975). So a runner's probability
//! of winning is its share of the strength of all that run. Bookmakers stop at the off.

use std::sync::Arc;

use facts::event::{Fact, Micros, Participant, Race, RaceRunner, RaceStatus, RunnerStatus};

use super::{
    dice::{Dice, MINUTE, SECOND},
    names,
    play::{Chance, Play, PlayStep, Probabilities, SELECTIONS_MAX, Trading},
    truth::{Ending, RaceTruth},
};

pub(super) const RUNNERS: (u32, u32) = (6, SELECTIONS_MAX as u32);

/// Races with a runner that is withdrawn, with a dead heat for the win, and over jumps a runner's
/// chance of not getting round.
const NON_RUNNER: f64 = 0.15;
const DEAD_HEAT: f64 = 0.004;
const FALLS: f64 = 0.07;

/// The positions are reported at these shares of the race.
const CALLS: [f64; 4] = [0.2, 0.45, 0.7, 0.9];

/// A race as the card announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RaceCard {
    pub(super) name: Arc<str>,
    pub(super) jumps: bool,
    /// The runners, with their jockeys; the first wears number 1.
    pub(super) runners: Vec<(Participant, Arc<str>)>,
}

#[derive(Debug)]
pub(super) struct RacePlay {
    /// What happens when, the last first.
    moments: Vec<(Micros, Moment)>,
    status: RaceStatus,
    runners: Vec<RaceRunner>,
    strengths: Vec<f64>,
    /// By place in the field, those that come in, the first first.
    order: Vec<usize>,
    dead_heat: bool,
    /// How far each is ahead of or behind its final position when the positions are called, as a
    /// share of the race.
    noise: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    Withdrawn(usize),
    /// Bookmakers have worked out the new prices.
    Reopened,
    AtThePost,
    Off,
    Called(f64),
    Finished,
}

impl RacePlay {
    pub(super) fn new(card: &RaceCard, announced: Micros, start: Micros, mut dice: Dice) -> Self {
        let runners = entered(card);
        let strengths: Vec<_> = runners.iter().map(|it| strength(&it.participant)).collect();
        let withdrawn = dice.chance(NON_RUNNER).then(|| {
            let before = dice.seconds((15 * 60, 70 * 60));
            (start - before, dice.between(0, runners.len() as u32 - 1) as usize)
        });
        // Too late for a race that was announced just now.
        let withdrawn = withdrawn.filter(|(at, _)| *at > announced + 2 * MINUTE);
        let gone = withdrawn.map(|(_, runner)| runner);
        let order = drawn_order(&strengths, gone, card.jumps, &mut dice);
        let noise = runners.iter().map(|_| dice.swing()).collect();
        let dead_heat = order.len() > 1 && dice.chance(DEAD_HEAT);
        let moments = moments(withdrawn, start, &mut dice);
        let status = RaceStatus::NotStarted;
        Self { moments, status, runners, strengths, order, dead_heat, noise }
    }

    fn fact(&self) -> Fact {
        Fact::Race(Race { status: self.status, runners: self.runners.clone() })
    }

    fn call(&mut self, share: f64) {
        let swing = (1.0 - share) * self.runners.len() as f64;
        let mut field: Vec<_> = (0..self.runners.len())
            .filter(|runner| self.runners[*runner].status == RunnerStatus::Active)
            .map(|runner| {
                let rank = self.order.iter().position(|it| *it == runner);
                let rank = rank.unwrap_or(self.runners.len()) as f64;
                (runner, rank + swing * self.noise[runner])
            })
            .collect();
        field.sort_by(|a, b| a.1.total_cmp(&b.1));
        for ((runner, _), position) in field.into_iter().zip(1..) {
            self.runners[runner].position = Some(position);
        }
    }

    fn finish(&mut self) {
        for (runner, noise) in self.runners.iter_mut().zip(&self.noise) {
            if runner.status == RunnerStatus::Active {
                runner.status =
                    if *noise < 0.0 { RunnerStatus::Fell } else { RunnerStatus::PulledUp };
                runner.position = None;
            }
        }
        for (runner, rank) in self.order.iter().zip(1..) {
            let runner = &mut self.runners[*runner];
            runner.status = RunnerStatus::Finished;
            runner.position = Some(if self.dead_heat && rank == 2 { 1 } else { rank });
        }
        self.status = RaceStatus::Finished;
    }

    fn probabilities(&self) -> Probabilities {
        let mut probabilities = Probabilities::default();
        let runs = |runner: usize| self.runners[runner].status != RunnerStatus::NonRunner;
        let field = 0..self.runners.len();
        let sum: f64 =
            field.clone().filter(|runner| runs(*runner)).map(|it| self.strengths[it]).sum();
        for runner in field {
            if runs(runner) {
                probabilities.chances[runner] = self.strengths[runner] / sum;
            } else {
                probabilities.removed |= 1 << runner;
            }
        }
        probabilities
    }
}

impl Play for RacePlay {
    fn due(&self) -> Option<Micros> {
        self.moments.last().map(|(at, _)| *at)
    }

    fn step(&mut self, _now: Micros) -> PlayStep {
        let Some((_, moment)) = self.moments.pop() else { return PlayStep::default() };
        let trading = match moment {
            Moment::Withdrawn(runner) => {
                self.runners[runner].status = RunnerStatus::NonRunner;
                Trading::Halt
            }
            Moment::Reopened => {
                return PlayStep { facts: Vec::new(), trading: Trading::Resume };
            }
            Moment::AtThePost => {
                self.status = RaceStatus::AtThePost;
                Trading::AsBefore
            }
            Moment::Off => {
                self.status = RaceStatus::Off;
                Trading::Begin
            }
            Moment::Called(share) => {
                self.call(share);
                Trading::AsBefore
            }
            Moment::Finished => {
                self.finish();
                Trading::End
            }
        };
        PlayStep { facts: vec![self.fact()], trading }
    }

    fn chances(&self, _now: Micros) -> Vec<Chance> {
        vec![match (self.status, &self.order[..]) {
            (RaceStatus::Finished, [first, second, ..]) if self.dead_heat => {
                Chance::Shared([*first, *second])
            }
            (RaceStatus::Finished, [first, ..]) => Chance::Won(*first),
            (RaceStatus::Finished, []) => Chance::Void,
            _ => Chance::Open(self.probabilities()),
        }]
    }

    fn ending(&self) -> Ending {
        Ending::Race(RaceTruth { status: self.status, runners: self.runners.clone() })
    }
}

/// The runners as the card lists them.
pub(super) fn entered(card: &RaceCard) -> Vec<RaceRunner> {
    let numbered = card.runners.iter().zip(1..);
    let runner = |((horse, jockey), number): (&(Participant, Arc<str>), u16)| RaceRunner {
        participant: horse.clone(),
        number: Some(number),
        jockey: Some(Arc::clone(jockey)),
        status: RunnerStatus::Active,
        position: None,
    };
    numbered.map(runner).collect()
}

/// The best are about ten times as likely to win as the worst.
fn strength(horse: &Participant) -> f64 {
    let skill = names::skill(horse, 0);
    (1.0 + 0.55 * skill) * (1.0 + 0.55 * skill)
}

/// The finishers, in order. There is always at least one.
fn drawn_order(strengths: &[f64], gone: Option<usize>, jumps: bool, dice: &mut Dice) -> Vec<usize> {
    let mut left: Vec<_> = (0..strengths.len()).filter(|runner| Some(*runner) != gone).collect();
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let next = dice.weighted(left.iter().map(|runner| strengths[*runner]));
        order.push(left.remove(next));
    }
    // Those in front get round, or who wins would not be what the prices say.
    let mut position = 0;
    order.retain(|_| {
        position += 1;
        position <= 3 || !jumps || !dice.chance(FALLS)
    });
    order
}

/// The last first.
fn moments(
    withdrawn: Option<(Micros, usize)>,
    start: Micros,
    dice: &mut Dice,
) -> Vec<(Micros, Moment)> {
    let mut moments = Vec::new();
    if let Some((at, runner)) = withdrawn {
        moments.push((at, Moment::Withdrawn(runner)));
        moments.push((at + dice.seconds((60, 150)), Moment::Reopened));
    }
    moments.push((start - dice.seconds((100, 240)), Moment::AtThePost));
    let off = start + dice.seconds((5, 90));
    moments.push((off, Moment::Off));
    let length_s = dice.between(80, 290);
    let seconds = |share: f64| (f64::from(length_s) * share) as Micros * SECOND;
    moments.extend(CALLS.map(|share| (off + seconds(share), Moment::Called(share))));
    moments.push((off + seconds(1.0), Moment::Finished));
    moments.reverse();
    moments
}
