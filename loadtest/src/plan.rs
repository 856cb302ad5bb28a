//! The plan of a run, which every generator gets once, and the orders that it gets during the run.

use std::{
    net::SocketAddr,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// What all generators of a run have in common.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) address: SocketAddr,
    pub(crate) endpoint: Endpoint,
    pub(crate) classes: Vec<Class>,
    /// Whether only a sample of the latencies is kept, because counting is the point.
    pub(crate) saturate: bool,
    /// Addresses from 127.0.0.1 on that sockets are spread over.
    pub(crate) addresses: u8,
    /// Handshakes that one generator has under way at most.
    pub(crate) in_flight: usize,
    /// Connections that one generator begins in a second at most; 0 is as many as it can.
    pub(crate) connect_rate: f64,
    pub(crate) interval_us: u64,
    pub(crate) timeline: Timeline,
}

/// The protocol of the server.
#[derive(Debug, Clone)]
pub(crate) enum Endpoint {
    /// `/stream/v1`, at this path with this key.
    Stream { path: String, key: String },
    /// Bare channels: `/sub/NNNNNN` and `/pub`.
    Raw,
}

/// Sockets that are treated and reported together.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) every_ms: u32,
    pub(crate) on_slow: &'static str,
    /// The receive buffer of the kernel, if not its own choice.
    pub(crate) receive_bytes: Option<usize>,
    /// Whether it is the purpose of these sockets to miss something.
    pub(crate) excused: bool,
}

impl Class {
    pub(crate) fn plain(name: &'static str) -> Self {
        Self { name, every_ms: 0, on_slow: "merge", receive_bytes: None, excused: false }
    }
}

/// The class of the one socket of each generator that follows everything and is read first.
pub(crate) const CONTROL: u8 = 0;

/// What a socket follows: names and patterns of the hub, or the number of one bare channel.
pub(crate) type ChannelList = Arc<[String]>;

/// One socket to be opened.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(crate) class: u8,
    pub(crate) follows: ChannelList,
    /// Whether it keeps documents, to be compared in the end.
    pub(crate) documents: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Order {
    Open(Vec<Spec>),
    /// For these of a class, by the order in which they were opened.
    Do {
        class: u8,
        which: Range<usize>,
        action: Action,
    },
    /// Wait until every socket has come to where its channels are, at most until this instant, and
    /// then hand over what was found. The heads are known to the publisher, if there is one.
    Finish {
        heads: Option<Arc<[u64]>>,
        deadline: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Close the connection and come back at once.
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

/// How far the generators have come, for the conductor and the progress bar.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) upgraded: AtomicU64,
    pub(crate) joined: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Sockets that were cut and are not back yet.
    pub(crate) away: AtomicU64,
    pub(crate) frames: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Set by a fault that makes the rest of the run pointless.
    pub(crate) hopeless: AtomicBool,
}

/// Phases that a run can have.
pub(crate) const PHASES_MAX: usize = 3;

/// When each phase began, and when what is sent no longer counts: told by the conductor while it
/// happens. A message belongs to the phase in which it was to be sent.
#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) names: Vec<&'static str>,
    starts: [AtomicU64; PHASES_MAX],
    end: AtomicU64,
}

/// The same, as it stood at some moment.
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
    /// The phase that an instant belongs to; none before the first and after the end.
    #[inline]
    pub(crate) fn of(&self, instant: u64) -> Option<u8> {
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

    /// How long a phase lasted, in seconds.
    #[expect(clippy::cast_precision_loss, reason = "seconds for eyes")]
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
        assert_eq!(timeline.phases().of(1_000_000), Some(0));
        timeline.begin(1, 200);
        timeline.finish(300);
        let phases = timeline.phases();
        let found = [99, 100, 199, 200, 299, 300].map(|instant| phases.of(instant));
        assert_eq!(found, [None, Some(0), Some(0), Some(1), Some(1), None]);
        assert!((phases.seconds(1) - 0.0001).abs() < 1e-9);
    }
}
