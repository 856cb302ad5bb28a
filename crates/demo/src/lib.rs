//! The demo: an endless sequence of simulated days, and their past.
//!
//! **In:** a seed, the settings, the accounts' store, `now`. **Out:** batches of facts for the hub at their times, records for
//! the archive. **Must not know** clients, sockets or the program that plays it.
//!
//! - [`DemoRun`]: a run of the demo and its days. Within its day, a restarted demo replays the day up to now: the same facts
//!   make the same changes, so it continues in the same epoch and clients resume.
//! - [`Chronicle`]: writes two weeks of results and the next three days of fixtures through a separate hub into the archive,
//!   once.
//! - [`WorldClock`]: the simulated clock, which may run faster than the wall clock.
//! - [`test_match()`]: the match of the channels below `test/`.
//!
//! Without the feature `simulator` it has the settings alone.

#[cfg(feature = "simulator")]
mod chronicle;
pub mod config;
#[cfg(feature = "simulator")]
mod pace;
#[cfg(feature = "simulator")]
mod run;
mod speed;
#[cfg(feature = "simulator")]
mod test_match;

#[cfg(feature = "simulator")]
pub use {
    self::{
        chronicle::{Chronicle, ChronicleStores},
        pace::WorldClock,
        run::{DemoDays, DemoRun},
        test_match::test_match,
    },
    simulator,
};
