//! A synthetic load for measurements: a fixed rate of changes, each of one price, on a schedule
//! that never slips.
//!
//! The schedule is an open loop: the k-th change is intended k/rate seconds after the start and
//! carries that time (`at.src`), whenever it is sent; late changes are sent at once. Measured
//! delays therefore count from the intended time, and a stalled source hides nothing (no
//! coordinated omission).

use std::{
    iter,
    num::NonZeroU32,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use facts::event::{
    Batch, Event, Fact, Fixture, Id, MarketChange, MarketDefinition, MarketStatus, OddsFact,
    Participant, SelectionChange, SelectionDefinition, SelectionStatus, Sport,
};
use fanout::Micros;
use rust_decimal::Decimal;

use crate::{
    clock::now,
    hub::feeds::SourceNumber,
    pipeline::{Input, InputSender},
    sources::Stopped,
    supervisor::{self, Lifetime, fault},
};

/// The channels that change, as a pattern.
pub const CHANNELS: &str = "football/*/odds/steady";

const SLUG: &str = "steady";

/// The shortest sleep, in microseconds: above 2,000 changes a second several are sent together, the
/// first of them late by up to this time. Each sleep wakes this thread and the hub's.
const BREATH_US: Micros = 500;

/// Maximum number of changes per message to the writer: as many as it takes per turn.
const TOGETHER_MAX: usize = 64;

/// The rate of changes and the number of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Changes a second, in total.
    pub rate: NonZeroU32,
    /// Matches with one book each, which change in turn.
    pub channels: NonZeroU32,
}

/// The source of the load.
#[derive(Debug)]
pub struct LoadSource {
    load: Load,
    matches: Vec<Id>,
    book: Arc<str>,
    market: Arc<str>,
    selection: Arc<str>,
}

impl LoadSource {
    #[must_use]
    pub fn new(load: Load) -> Self {
        let id = |number: u32| Id::derive(SLUG, "match", &number.to_string());
        Self {
            load,
            matches: (1..=load.channels.get()).map(id).collect(),
            book: SLUG.into(),
            market: "match_winner".into(),
            selection: "home".into(),
        }
    }

    /// The batches that introduce all matches and open their books, before clients connect.
    pub fn introductions(&self, now: Micros) -> impl Iterator<Item = Batch> {
        (1..=self.load.channels.get()).map(move |number| self.introduction(number, now))
    }

    /// The intended time of a change, in microseconds after the start.
    fn intended(&self, number: u64) -> Micros {
        let us = u128::from(number) * 1_000_000 / u128::from(self.load.rate.get());
        Micros::try_from(us).unwrap_or(Micros::MAX)
    }

    /// A change of one price, always to a different one.
    fn change(&self, number: u64, start: Micros) -> Batch {
        let matches = self.matches.len() as u64;
        let index = usize::try_from(number % matches).expect("less than the length of a list");
        let cents = i64::try_from(number / matches % 900).expect("a small number");
        let selection = SelectionChange {
            id: Arc::clone(&self.selection),
            price: Some(Decimal::new(101 + cents, 2)),
            ..SelectionChange::default()
        };
        let change = MarketChange::Prices { selections: vec![selection], volume: None };
        let events = vec![self.odds(self.matches[index], change)];
        Batch { at: Some(start + self.intended(number)), price_changes: 1, events }
    }

    fn introduction(&self, number: u32, now: Micros) -> Batch {
        let side = |name: &str| Participant {
            id: Id::derive(SLUG, "team", &format!("{name} {number}")),
            name: format!("{name} {number}").into(),
        };
        let match_id = self.matches[number as usize - 1];
        let fixture = Fixture {
            provider: SLUG.into(),
            provider_key: number.to_string().into(),
            competition: None,
            start: Some(now),
            date: None,
            sides: Some([side("Home"), side("Away")]),
            ..Fixture::default()
        };
        // Without an outcome it is not part of the consensus, so that a change is one update.
        let selection = SelectionDefinition {
            id: Arc::clone(&self.selection),
            name: None,
            status: SelectionStatus::Active,
            outcome: None,
            terms: None,
        };
        let market = MarketDefinition {
            kind: Arc::clone(&self.market),
            name: None,
            line: None,
            period: None,
            status: MarketStatus::Open,
            in_play: true,
            selections: vec![selection],
            terms: None,
        };
        let fixture = Event { sport: Sport::Football, match_id, fact: Fact::Fixture(fixture) };
        let events = vec![fixture, self.odds(match_id, MarketChange::Define(market))];
        Batch { at: Some(now), price_changes: 0, events }
    }

    fn odds(&self, match_id: Id, change: MarketChange) -> Event {
        let (book, market) = (Arc::clone(&self.book), Arc::clone(&self.market));
        let fact = Fact::Odds(OddsFact { book, market, change });
        Event { sport: Sport::Football, match_id, fact }
    }

    /// Plays on a thread of its own until `stop` closes.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub fn start(
        self,
        source: SourceNumber,
        inputs: InputSender,
        stop: Receiver<()>,
        lifetime: Lifetime,
    ) -> std::io::Result<thread::JoinHandle<()>> {
        let play = move || {
            // Stopped is how it ends.
            self.play(source, &inputs, &stop).ok();
        };
        supervisor::thread("load", lifetime, play)
    }

    fn play(
        &self,
        source: SourceNumber,
        inputs: &InputSender,
        stop: &Receiver<()>,
    ) -> Result<(), Stopped> {
        let start = now();
        let mut next = 0;
        loop {
            fault::point();
            let received = now();
            let due = iter::from_fn(|| {
                let is_due = start + self.intended(next) <= received;
                is_due.then(|| {
                    next += 1;
                    self.change(next - 1, start)
                })
            });
            let batches: Vec<Batch> = due.take(TOGETHER_MAX).collect();
            if !batches.is_empty() {
                let input = Input::Batches { source, batches, received };
                inputs.blocking_send(input).map_err(|_| Stopped)?;
            }
            let due = start + self.intended(next) - now();
            // A late change is sent at once. Otherwise the sleep is long enough that wake-ups do not dominate.
            let wait = if due <= 0 { 0 } else { due.max(BREATH_US).unsigned_abs() };
            match stop.recv_timeout(Duration::from_micros(wait)) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Err(Stopped),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fanout::{Change, Epoch, Publication};

    use super::*;
    use crate::hub::{Epochs, Hub, HubSettings, sequence::TailWindow};

    fn steady(rate: u32, channels: u32) -> LoadSource {
        let [rate, channels] = [rate, channels].map(|it| NonZeroU32::new(it).expect("not 0"));
        LoadSource::new(Load { rate, channels })
    }

    fn publication(change: &Change) -> &Publication {
        let Change::Published(_, publication) = change else { panic!("{change:?}") };
        publication
    }

    #[test]
    fn each_change_is_one_small_update() {
        let steady = steady(1_000, 3);
        let settings = HubSettings {
            window: TailWindow { bytes: 1 << 20, age_us: 1_000_000 },
            matches_max: 3,
            matches_max_per_source: usize::MAX,
            ended_keep_us: 1,
            stale_after_ms: 1,
            hold_us: 10_000_000,
        };
        let mut hub = Hub::new(
            settings,
            Epochs { matches: Epoch(1), feeds: Epoch(2) },
            crate::identity::Identity::default(),
        );
        let source = hub.source(SLUG.into(), SLUG, crate::hub::feeds::SourcePolicy::default());
        let start = 1_788_220_800_000_000;
        for mut batch in steady.introductions(start) {
            hub.ids().number_batch(&mut batch);
            assert_eq!(hub.apply(source, &batch, start, start, &mut Vec::new()), []);
        }
        for number in 0..3_000 {
            let mut changes = Vec::new();
            let mut batch = steady.change(number, start);
            hub.ids().number_batch(&mut batch);
            assert!(hub.apply(source, &batch, start, start, &mut changes).is_empty());
            let [change] = &changes[..] else { panic!("{number} is {changes:?}") };
            let frame = publication(change).frame();
            assert!(frame.len() < 280, "{} bytes", frame.len());
        }
    }

    #[test]
    fn load_schedule_does_not_drift() {
        let steady = steady(30_000, 7);
        assert_eq!(steady.intended(0), 0);
        assert_eq!(steady.intended(1), 33);
        assert_eq!(steady.intended(3 * 30_000), 3_000_000);
        // A year later.
        assert_eq!(steady.intended(31_536_000 * 30_000), 31_536_000_000_000);
    }
}
