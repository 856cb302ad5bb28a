//! A race: its status, and each runner's.

use std::{collections::BTreeMap, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Id, Race, RaceRunner, RaceStatus};

use super::{Life, MatchDelta};

#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub struct Racing {
    /// `None` until a feed reports the race.
    pub status: Option<RaceStatus>,
    pub runners: BTreeMap<Id, RaceRunner>,
    starts: u32,
    finishes: u32,
    corrections: u32,
    last_finish: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RacePart {
    Status,
    Runner(Id),
    RunnerGone(Id),
}

/// An event with an id that is unique within the race.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RaceEvent {
    Off {
        eid: Arc<str>,
    },
    Finish {
        eid: Arc<str>,
    },
    /// Revokes a finish: the race continues, or the order has changed.
    Correct {
        eid: Arc<str>,
        corrected: Arc<str>,
    },
}

impl Racing {
    /// The current state as a fact.
    pub(super) fn fact(&self) -> Option<Race> {
        let runners = self.runners.values().cloned().collect();
        Some(Race { status: self.status?, runners })
    }

    pub(super) fn apply(&mut self, race: &Race, delta: &mut MatchDelta) {
        let order_before = self.order();
        let before = self.status.replace(race.status);
        if before != self.status {
            delta.race.push(RacePart::Status);
        }
        self.runners(race, delta);
        let had_finished = before == Some(RaceStatus::Finished);
        let has_finished = race.status == RaceStatus::Finished;
        if had_finished && (!has_finished || order_before != self.order()) {
            self.corrections += 1;
            let eid = format!("correct-{}", self.corrections).into();
            if let Some(corrected) = self.last_finish.clone() {
                delta.race_events.push(RaceEvent::Correct { eid, corrected });
            }
        }
        if race.status == RaceStatus::Off && before != self.status {
            self.starts += 1;
            delta.race_events.push(RaceEvent::Off { eid: named("off", self.starts) });
        }
        if has_finished && !had_finished {
            self.finishes += 1;
            let eid = named("finish", self.finishes);
            self.last_finish = Some(Arc::clone(&eid));
            delta.race_events.push(RaceEvent::Finish { eid });
        }
    }

    /// The finishing order.
    #[must_use]
    pub fn order(&self) -> Vec<(u16, Id)> {
        let placed = self.runners.iter().filter_map(|(id, it)| Some((it.position?, *id)));
        let mut order: Vec<(u16, Id)> = placed.collect();
        order.sort_unstable();
        order
    }

    fn runners(&mut self, race: &Race, delta: &mut MatchDelta) {
        let new: BTreeMap<Id, &RaceRunner> =
            race.runners.iter().map(|it| (it.participant.id, it)).collect();
        self.runners.retain(|id, _| {
            let stays = new.contains_key(id);
            delta.race.extend((!stays).then_some(RacePart::RunnerGone(*id)));
            stays
        });
        for (id, runner) in new {
            if self.runners.get(&id) != Some(runner) {
                self.runners.insert(id, runner.clone());
                delta.race.push(RacePart::Runner(id));
            }
        }
    }
}

/// An event id. The same event may happen again, under another id: after a false start, or a revoked finish.
fn named(name: &str, time: u32) -> Arc<str> {
    if time == 1 { name.into() } else { format!("{name}-{time}").into() }
}

pub(super) fn life(status: RaceStatus) -> Life {
    match status {
        RaceStatus::NotStarted | RaceStatus::AtThePost => Life::Prematch,
        RaceStatus::Off => Life::Live,
        RaceStatus::Finished | RaceStatus::Abandoned => Life::Ended,
    }
}
