//! One round: a hub with one match, advanced by the clock.

use std::{iter::Peekable, vec};

use facts::event::Timed;
use fanout::{Change, Micros};

use super::{ROUND_US, RoundNumber, TestMatch, begins, epoch_of};
use crate::{
    hub::{
        Hub, HubInput, HubSettings,
        feeds::{FeedState, Health, SourceNumber, SourcePolicy},
        sequence::TailWindow,
    },
    ids::PublicIds,
};

/// How often the work is done that is due by time alone.
const TICK_US: Micros = 250_000;

/// The same in every hub, whatever its settings: documents depend on them. A client can resume from any position of
/// the round.
const SETTINGS: HubSettings = HubSettings {
    window: TailWindow { bytes: 16 * 1024 * 1024, age_us: ROUND_US },
    matches_max: 1,
    matches_max_per_source: 1,
    ended_keep_us: ROUND_US,
    stale_after_ms: 15_000,
    hold_us: 500_000,
};

#[derive(Debug)]
pub(super) struct Round {
    number: RoundNumber,
    hub: Hub,
    ids: PublicIds,
    source: SourceNumber,
    batches: Peekable<vec::IntoIter<Timed>>,
    tick: Micros,
}

impl Round {
    /// Begins a round, with nothing of its match yet. `numbers`: the numbers of its channels begin after it.
    pub(super) fn begin(
        number: RoundNumber,
        play: &TestMatch,
        numbers: u32,
        changes: &mut Vec<Change>,
    ) -> Self {
        let (begins, ids) = (begins(number), PublicIds::default());
        let mut hub = Hub::of_tests(SETTINGS, epoch_of(number), numbers).with_ids(ids.clone());
        let source = hub.source("test".into(), "simulator", SourcePolicy::default());
        let health = Health { feed: FeedState::Live, why: None };
        hub.take(&HubInput::Health { source, health, now: begins }, changes);
        let batches = (play.0)(number).into_iter().peekable();
        Self { number, hub, ids, source, batches, tick: begins }
    }

    pub(super) fn number(&self) -> RoundNumber {
        self.number
    }

    pub(super) fn hub(&mut self) -> &mut Hub {
        &mut self.hub
    }

    /// When the next work is due.
    pub(super) fn due(&self) -> Micros {
        let batch = self.batches.clone().next().map(|timed| timed.clock_us);
        [batch, self.hub.tiers_due()].into_iter().flatten().fold(self.tick, Micros::min)
    }

    /// Applies everything up to a time, as if each had been applied at its own time.
    pub(super) fn advance(&mut self, until: Micros, changes: &mut Vec<Change>) {
        let last = until.min(begins(self.number) + ROUND_US - 1);
        while let Some(input) = self.next_input(last) {
            self.hub.take(&input, changes);
        }
        self.hub.flush_tiers(until, changes);
    }

    fn next_input(&mut self, last: Micros) -> Option<HubInput> {
        let (source, tick) = (self.source, self.tick);
        let is_next = |timed: &Timed| timed.clock_us <= last && timed.clock_us < tick;
        if let Some(timed) = self.batches.next_if(is_next) {
            let Timed { clock_us: now, mut batch } = timed;
            self.ids.number_batch(&mut batch);
            return Some(HubInput::Batch { source, batch, received: now, now });
        }
        if tick > last {
            return None;
        }
        self.tick += TICK_US;
        Some(HubInput::Tick { now: tick })
    }

    /// Ends the round: its channels close. Returns the last of their numbers.
    pub(super) fn close(self, changes: &mut Vec<Change>) -> u32 {
        let channels = self.hub.all_channels().map(|entry| entry.sequence.channel.clone());
        changes.extend(channels.map(Change::Closed));
        self.hub.channels.numbers()
    }
}
