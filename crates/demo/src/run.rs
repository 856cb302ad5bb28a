//! The days of the demo, one after the other.
//!
//! A day is a function of its seed and its start, so a restart continues after the last message of it that the
//! log has.

use std::{collections::VecDeque, env, fs, iter::Peekable, time::UNIX_EPOCH};

use facts::event::Timed;
use fanout::Micros;
use ingest::recording::Step;
use serde::{Deserialize, Serialize};
use simulator::{Simulator, World};

use crate::{config::DemoConfig, pace::WorldClock};
use accounts::{Accounts, AccountsError};
use base::clock::now;
use hub::{
    ApplyError, HubInput,
    feeds::{FeedState, Health, SourceNumber, SourcePolicy},
    pipeline::Startup,
};
use log::AppendError;

pub(crate) const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

/// The key of a run in the store.
const META: &str = "demo_run";

/// One run of the demo, which may outlive a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemoRun {
    pub seed: u64,
    /// When the first day of the simulated world began, in UTC microseconds. It stays with the
    /// database, because it determines the future days.
    pub start: Micros,
    /// Since when the demo plays, by the simulated clock: earlier matches are not part of it.
    pub(crate) from: Micros,
    /// How the simulated clock runs.
    pub(crate) pace: WorldClock,
    /// A fingerprint of the program and the settings. Only with the same value the days are the same.
    program: String,
    #[serde(skip)]
    is_resumed: bool,
}

impl DemoRun {
    /// Resumes the stored run if this program would play identically; otherwise starts and stores a
    /// new one.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn resume_or_start(
        accounts: &Accounts,
        demo: &DemoConfig,
        settings: &str,
        now: Micros,
    ) -> Result<Self, AccountsError> {
        let DemoConfig { seed, speed, .. } = *demo;
        let head_start = Micros::from(demo.head_start_minutes) * 60 * 1_000_000;
        let program = format!("{} {settings} {speed}", program());
        let stored = accounts.meta(META).await?;
        let stored = stored.and_then(|text| serde_json::from_str::<Self>(&text).ok());
        let stored = stored.filter(|run| run.seed == seed && run.from <= run.pace.in_world(now));
        // A faster run has moved the simulated clock ahead of the real one: continue from there.
        let in_world = stored.as_ref().map_or(now, |run| run.pace.in_world(now));
        let from = in_world - head_start;
        let start = match stored {
            Some(run) if run.program == program && in_world < run.from + DAY_US => {
                return Ok(Self { is_resumed: true, ..run });
            }
            Some(run) => run.start,
            None => from,
        };
        let pace = WorldClock::new(speed, now, in_world);
        let run = Self { seed, start, from, pace, program, is_resumed: false };
        let text = serde_json::to_string(&run).expect("a struct of numbers and text is JSON");
        accounts.set_meta(META, &text).await?;
        Ok(run)
    }

    /// Whether it continues a run of an earlier process.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    pub(crate) fn world(&self) -> World {
        World::new(self.seed, self.start)
    }

    /// Registers the source of the days, and plays what is past. Returns its number and the rest of the days.
    ///
    /// # Errors
    ///
    /// If the log refuses a record.
    pub fn announce(
        &self,
        startup: &mut Startup,
    ) -> Result<(SourceNumber, Peekable<DemoDays>), AppendError> {
        let policy = SourcePolicy::default();
        let source = startup.source(&"simulator".into(), "simulator", policy, Micros::MIN)?;
        // What the log has of these days is not played again.
        let played = startup.hub().sources()[source.0].messages;
        // The earlier process may have ended during an interruption.
        let health = Health { feed: FeedState::Live, why: None };
        startup.take(HubInput::Health { source, health, now: now() }, now())?;
        let mut days = self.days().peekable();
        for _ in 0..played {
            days.next();
        }
        if played == 0 {
            // Before clients connect. Each batch is applied at its own time, so that films and tails have what they would
            // have had.
            let until = now();
            let past = |step: &Step| matches!(step, Step::Batch(timed) if timed.clock_us <= until);
            while let Some(Step::Batch(Timed { clock_us: now, mut batch })) = days.next_if(past) {
                startup.hub().ids().number_batch(&mut batch);
                let input = HubInput::Batch { source, batch, received: now, now };
                let errors = startup.take(input, now)?;
                // Facts of an ended match may arrive after the hub has evicted it.
                let is_late = |error: &ApplyError| matches!(error, ApplyError::UnknownMatch(_));
                debug_assert!(errors.iter().all(is_late), "the simulator contradicts itself");
            }
        }
        Ok((source, days))
    }

    /// The days of the run, one after the other.
    #[must_use]
    pub fn days(&self) -> DemoDays {
        let world = self.world();
        let next = world.day_at(self.from);
        let pace = self.pace;
        let mut days = DemoDays { world, next, since: self.from, pace, running: VecDeque::new() };
        days.begin_next();
        days
    }
}

/// Identifies the build of the program.
fn program() -> String {
    let file = env::current_exe().and_then(fs::metadata);
    let age = file.as_ref().ok().and_then(|file| file.modified().ok());
    let age = age.and_then(|age| age.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let size = file.map_or(0, |file| file.len());
    format!("{} {size} {}", env!("CARGO_PKG_VERSION"), age.as_micros())
}

/// An endless sequence of simulated days. Matches that run into the next day are played to their
/// end.
#[derive(Debug)]
pub struct DemoDays {
    world: World,
    /// The number of the next day to generate.
    next: u64,
    /// Matches that start before this time are left out.
    since: Micros,
    pace: WorldClock,
    running: VecDeque<Peekable<Simulator>>,
}

impl DemoDays {
    fn begin_next(&mut self) {
        self.running.push_back(self.world.play(self.next, self.since).peekable());
        self.next += 1;
    }

    /// The day with the next batch, and the time of that batch.
    fn first(&mut self) -> Option<(usize, Micros)> {
        let next = self
            .running
            .iter_mut()
            .enumerate()
            .filter_map(|(day, batches)| batches.peek().map(|timed| (day, timed.clock_us)));
        next.min_by_key(|(day, clock_us)| (*clock_us, *day))
    }
}

impl Iterator for DemoDays {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        // The next day announces its matches before it begins, and a day without matches does not
        // end the sequence.
        while self
            .first()
            .is_none_or(|(_, clock_us)| clock_us >= self.world.start_of(self.next) - DAY_US / 4)
        {
            self.begin_next();
        }
        let (day, _) = self.first()?;
        let timed: Timed = self.running[day].next()?;
        self.running.retain_mut(|batches| batches.peek().is_some());
        Some(Step::Batch(self.pace.on_our_clock(timed)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    async fn run(accounts: &Accounts, seed: u64, settings: &str, now: Micros) -> DemoRun {
        let demo = DemoConfig { seed, ..DemoConfig::default() };
        DemoRun::resume_or_start(accounts, &demo, settings, now).await.expect("the store works")
    }

    #[tokio::test]
    async fn run_is_resumed_only_with_the_same_settings_and_day() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let accounts = Accounts::open(&folder.path().join("demo.db")).await.expect("a store");
        let first = run(&accounts, 1, "a", 10 * DAY_US).await;
        let again = run(&accounts, 1, "a", 10 * DAY_US + 5).await;
        assert_eq!(again, DemoRun { is_resumed: true, ..first });
        assert!(!run(&accounts, 1, "b", 10 * DAY_US + 5).await.is_resumed);
        assert!(!run(&accounts, 2, "b", 10 * DAY_US + 5).await.is_resumed);
        assert!(!run(&accounts, 2, "b", 12 * DAY_US).await.is_resumed);
    }

    /// The next run also plays the fixtures that this run announced for future days.
    #[tokio::test]
    async fn later_run_continues_in_the_same_world() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let accounts = Accounts::open(&folder.path().join("demo.db")).await.expect("a store");
        let first = run(&accounts, 1, "a", 10 * DAY_US).await;
        let later = run(&accounts, 1, "a", 12 * DAY_US + DAY_US / 6 * 5).await;
        assert_eq!((later.is_resumed, later.start), (false, first.start));
        let planned = World::new(1, first.start).programme(3);
        let played: BTreeSet<_> = later
            .days()
            .map(|step| {
                let Step::Batch(timed) = step else { panic!("the simulator refuses nothing") };
                assert!(timed.clock_us >= later.from - DAY_US / 6, "from before the run");
                timed
            })
            .take_while(|timed| timed.clock_us < first.start + 3 * DAY_US + DAY_US / 8)
            .map(|timed| timed.batch.events[0].match_id)
            .collect();
        let expected =
            planned.iter().filter(|it| it.start() < first.start + 3 * DAY_US + DAY_US / 12);
        assert!(expected.clone().count() > 20);
        assert!(expected.map(|it| it.id()).all(|id| played.contains(&id)));
    }

    #[tokio::test]
    async fn accelerated_run_is_resumed_and_keeps_its_clock() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let accounts = Accounts::open(&folder.path().join("demo.db")).await.expect("a store");
        let resume_or_start = async |speed: &str, now| {
            let speed = speed.parse().expect("a speed");
            let demo = DemoConfig { speed, ..DemoConfig::default() };
            let run = DemoRun::resume_or_start(&accounts, &demo, "a", now).await;
            run.expect("the store works")
        };
        let hour = DAY_US / 24;
        let start = 100 * DAY_US;
        let first = resume_or_start("10", start).await;
        assert_eq!(first.pace.in_world(start + hour), start + 10 * hour);
        let again = resume_or_start("10", start + hour).await;
        assert_eq!(again, DemoRun { is_resumed: true, ..first.clone() }, "it is within its day");
        // At another speed it is a new run, in the same world, and not earlier than the previous
        // run was.
        let slower = resume_or_start("1", start + hour).await;
        assert_eq!((slower.is_resumed, slower.start), (false, first.start));
        assert_eq!(slower.pace.in_world(start + 2 * hour), start + 11 * hour);
        let moments: Vec<_> = first.days().take(5_000).collect();
        let moments = moments.iter().map(|step| match step {
            Step::Batch(timed) => timed.clock_us,
            Step::Refused(_) => panic!("the simulator refuses nothing"),
        });
        assert!(moments.is_sorted(), "time fell back");
    }

    #[test]
    fn days_are_endless_and_in_time_order() {
        let pace = WorldClock::default();
        let run =
            DemoRun { seed: 3, start: 0, from: 0, pace, program: String::new(), is_resumed: false };
        let mut last = Micros::MIN;
        let mut fixtures = 0;
        for step in run.days() {
            let Step::Batch(timed) = step else { panic!("the simulator refuses nothing") };
            assert!(timed.clock_us >= last, "time fell back to {}", timed.clock_us);
            last = timed.clock_us;
            fixtures += usize::from(last > DAY_US);
            if fixtures > 1000 {
                return;
            }
        }
        panic!("the days ended at {last}");
    }
}
