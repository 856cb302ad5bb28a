//! The data path on one page: inputs of sources go into the hub, its changes go into the log, and from
//! there to the fan-out.
//!
//! One thread is the writer. It takes all inputs that are ready, applies them, flushes the rate
//! tiers that are due, hands the turn to the committer, and then answers requests. The committer appends
//! turns to the log, publishes them, and sends the answers, in this order: so an answer comes after every
//! change it reflects and before all others, and nothing is shown that is not in the log. While the log refuses records,
//! inputs wait, and readers get what the log has. The follower
//! applies the inputs of the log again, for the history and for snapshots.
//!
//! [`HubHandle`] sends inputs and requests to the writer. [`Startup`] applies the inputs of the start, and
//! [`start`] then starts the threads. The event loop is `Writer::run`. Its `Driver` says whether it applies inputs of
//! its own or follows another hub, whose records `WaitingReaders` may have to wait for.

mod clock_steps;
mod delays;
mod documents;
mod handle;
mod startup;
mod threads;
mod waiting;
mod writer;

pub use self::{
    handle::{
        DriverInput, HubHandle, HubReceivers, HubStopped, Input, InputPermit, InputSender, Request,
        channel,
    },
    startup::Startup,
    threads::{EndedLog, Running, WriterParts, start},
    waiting::ReaderNumber,
};
