//! The plan of a run, which every generator receives once, and the commands that it receives during
//! the run.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use crate::hub::Hub;

/// What all generators of a run share.
#[derive(Debug)]
pub(crate) struct Plan {
    /// At least one; several are nodes of a cluster.
    pub(crate) hubs: Vec<Hub>,
    pub(crate) endpoint: Endpoint,
    pub(crate) classes: Vec<Class>,
    /// Whether only a sample of the latencies is recorded, because the run counts messages.
    pub(crate) saturate: bool,
    /// Addresses from 127.0.0.1 on over which the sockets are spread.
    pub(crate) addresses: u8,
    /// Concurrent handshakes of one generator at most.
    pub(crate) in_flight: usize,
    /// Connections that one generator starts per second at most; 0 is unlimited.
    pub(crate) connect_rate: f64,
    pub(crate) interval_us: u64,
    pub(crate) timeline: Timeline,
}

impl Plan {
    /// Whether a socket that one hub closes continues at another one.
    pub(crate) fn has_several_hubs(&self) -> bool {
        self.hubs.len() > 1
    }

    /// The hub after this one; after the last one comes the first.
    pub(crate) fn next_hub(&self, hub: usize) -> usize {
        (hub + 1) % self.hubs.len()
    }
}

/// The protocol of the server.
#[derive(Debug, Clone)]
pub(crate) enum Endpoint {
    /// `/stream/v1`, with this key.
    Stream { key: String },
    /// Bare channels: `/sub/NNNNNN` and `/pub`.
    Raw,
}

/// Sockets that are treated and reported together.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) every_ms: u32,
    pub(crate) on_slow: &'static str,
    /// The size of the kernel's receive buffer, if not its default.
    pub(crate) receive_bytes: Option<usize>,
    /// Whether these sockets are expected to miss something.
    pub(crate) excused: bool,
}

impl Class {
    pub(crate) fn plain(name: &'static str) -> Self {
        Self { name, every_ms: 0, on_slow: "merge", receive_bytes: None, excused: false }
    }
}

/// The class of the sockets that follow everything and are read first: one of each generator at
/// each hub.
pub(crate) const CONTROL: u8 = 0;

/// What a socket follows: names and patterns of the hub, or one bare channel by its number.
pub(crate) type ChannelList = Arc<[String]>;

/// The form in which a socket requests the frames of its channels.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// The `pick` of its subscriptions; `None`: everything.
    pub(crate) pick: Option<Arc<[String]>>,
    /// Whether it takes compressed frames.
    pub(crate) deflates: bool,
}

/// One socket to open.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(crate) class: u8,
    /// The hub at which it begins.
    pub(crate) hub: usize,
    pub(crate) follows: ChannelList,
    pub(crate) view: View,
    /// Whether it keeps documents for the comparison at the end.
    pub(crate) documents: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Order {
    Open(Vec<Spec>),
    /// For these sockets of a class, in the order in which they were opened.
    Do {
        class: u8,
        which: Range<usize>,
        action: Action,
    },
    /// Wait until every socket has reached the heads of its channels, at most until this instant,
    /// and then return the results. The publisher, if there is one, knows the heads.
    Finish {
        heads: Option<Arc<[u64]>>,
        deadline: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Close the connection and reconnect at once, at the next hub if there are several.
    Cut,
    Read(ReadRate),
    Unsubscribe,
    Subscribe,
}

/// How fast a socket is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReadRate {
    #[default]
    All,
    Nothing,
    BytesPerSecond(u32),
}

/// The progress of the generators, for the conductor and the progress bar.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) upgraded: AtomicU64,
    pub(crate) joined: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Sockets that were cut and have not caught up yet.
    pub(crate) away: AtomicU64,
    pub(crate) frames: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Set by a fault that makes the rest of the run pointless.
    pub(crate) hopeless: AtomicBool,
}

/// The maximum number of phases of a run.
pub(crate) const PHASES_MAX: usize = 3;

/// When each phase began, and when measuring ends. The conductor sets these during the run. A
/// message belongs to the phase in which it was due.
#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) names: Vec<&'static str>,
    starts: [AtomicU64; PHASES_MAX],
    end: AtomicU64,
}

/// A copy of the phases at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phases {
    pub(crate) starts: [u64; PHASES_MAX],
    pub(crate) end: u64,
}

impl Timeline {
    pub(crate) fn new(names: &[&'static str]) -> Self {
        assert!(names.len() <= PHASES_MAX, "a run has at most {PHASES_MAX} phases");
        let never = || AtomicU64::new(u64::MAX);
        Self { names: names.to_vec(), starts: [never(), never(), never()], end: never() }
    }

    pub(crate) fn begin(&self, phase: usize, now: u64) {
        self.starts[phase].store(now, Ordering::Release);
    }

    pub(crate) fn finish(&self, now: u64) {
        self.end.store(now, Ordering::Release);
    }

    pub(crate) fn phases(&self) -> Phases {
        Phases {
            starts: [0, 1, 2].map(|phase: usize| self.starts[phase].load(Ordering::Acquire)),
            end: self.end.load(Ordering::Acquire),
        }
    }
}

impl Phases {
    /// The phase of an instant; none before the first and after the end.
    #[inline]
    pub(crate) fn at(&self, instant: u64) -> Option<u8> {
        let [first, second, third] = self.starts;
        if instant < first || instant >= self.end {
            None
        } else if instant < second {
            Some(0)
        } else if instant < third {
            Some(1)
        } else {
            Some(2)
        }
    }

    /// The duration of a phase, in seconds.
    pub(crate) fn seconds(&self, phase: usize) -> f64 {
        let next = self.starts.get(phase + 1).copied().unwrap_or(u64::MAX).min(self.end);
        next.saturating_sub(self.starts[phase]) as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instant_belongs_to_the_phase_it_lies_in() {
        let timeline = Timeline::new(&["before", "during"]);
        timeline.begin(0, 100);
        assert_eq!(timeline.phases().at(1_000_000), Some(0));
        timeline.begin(1, 200);
        timeline.finish(300);
        let phases = timeline.phases();
        let found = [99, 100, 199, 200, 299, 300].map(|instant| phases.at(instant));
        assert_eq!(found, [None, Some(0), Some(0), Some(1), Some(1), None]);
        assert!((phases.seconds(1) - 0.0001).abs() < 1e-9);
    }
}
