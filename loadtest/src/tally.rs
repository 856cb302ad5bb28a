//! The results of one generator, and how the results of several are added up.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::{
    follower::Follower,
    latency::{self, Latencies, Series},
    plan::{ChannelList, PHASES_MAX, Plan},
    spread::Spreads,
};

/// What the sockets of a class received and missed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Messages with at least one new change.
    pub(crate) messages: u64,
    /// Bytes of all frames, including their headers.
    pub(crate) bytes: u64,
    /// Expected changes, by the sequences of the channels.
    pub(crate) expected: u64,
    /// Received changes, single or merged.
    pub(crate) received: u64,
    /// Changes covered by an image that the hub announced.
    pub(crate) by_image: u64,
    /// Changes that never arrived, in the middle or at the end.
    pub(crate) missing: u64,
    /// Places at which something was missing when the socket passed them.
    pub(crate) gaps: u64,
    pub(crate) duplicates: u64,
    /// Messages that arrived after a later one.
    pub(crate) reorders: u64,
    /// Updates with more than one change.
    pub(crate) merged: u64,
    pub(crate) images: u64,
    pub(crate) resyncs: u64,
    /// Frames that are unknown to the protocol or report an error.
    pub(crate) errors: u64,
    /// Connections that could not be opened.
    pub(crate) refused: u64,
    /// Connections that ended unexpectedly.
    pub(crate) closed: u64,
    /// Attempts to connect that failed, and were repeated at the next hub.
    pub(crate) unreached: u64,
    /// Connections that a hub closed, and that continued at the next one.
    pub(crate) moved: u64,
    /// Subscriptions that resumed, and those that had to start with an image.
    pub(crate) resumed: u64,
    pub(crate) not_resumed: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            messages,
            bytes,
            expected,
            received,
            by_image,
            missing,
            gaps,
            duplicates,
            reorders,
            merged,
            images,
            resyncs,
            errors,
            refused,
            closed,
            unreached,
            moved,
            resumed,
            not_resumed,
        } = other;
        self.messages += messages;
        self.bytes += bytes;
        self.expected += expected;
        self.received += received;
        self.by_image += by_image;
        self.missing += missing;
        self.gaps += gaps;
        self.duplicates += duplicates;
        self.reorders += reorders;
        self.merged += merged;
        self.images += images;
        self.resyncs += resyncs;
        self.errors += errors;
        self.refused += refused;
        self.closed += closed;
        self.unreached += unreached;
        self.moved += moved;
        self.resumed += resumed;
        self.not_resumed += not_resumed;
    }
}

/// The results of one class in one phase.
#[derive(Debug)]
pub(crate) struct Phase {
    pub(crate) messages: u64,
    pub(crate) latencies: Latencies,
}

#[derive(Debug, Default)]
pub(crate) struct ClassTally {
    pub(crate) sockets: u64,
    pub(crate) counts: Counts,
    pub(crate) phases: [Option<Box<Phase>>; PHASES_MAX],
}

/// The sockets of one hub, without control.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct HubTally {
    /// Sockets that began here.
    pub(crate) sockets: u64,
    /// Connections that it accepted, the later ones included.
    pub(crate) upgrades: u64,
    /// Connections that it closed.
    pub(crate) closed: u64,
    /// Attempts to connect that failed.
    pub(crate) unreached: u64,
    /// Sockets that were here at the end.
    pub(crate) sockets_at_end: u64,
}

impl HubTally {
    fn add(&mut self, other: &Self) {
        let Self { sockets, upgrades, closed, unreached, sockets_at_end } = other;
        self.sockets += sockets;
        self.upgrades += upgrades;
        self.closed += closed;
        self.unreached += unreached;
        self.sockets_at_end += sockets_at_end;
    }
}

/// The durations that do not belong to messages.
#[derive(Debug)]
pub(crate) struct Durations {
    /// From the first packet to the upgrade.
    pub(crate) connect: Histogram<u64>,
    /// From the upgrade until all images have arrived.
    pub(crate) join: Histogram<u64>,
    /// From the cut until the hub has resumed the subscription.
    pub(crate) resume: Histogram<u64>,
    /// From the cut until the socket has reached the heads of its channels.
    pub(crate) caught_up: Histogram<u64>,
    /// From the kernel's receipt of bytes until this program reads them.
    pub(crate) lag: Histogram<u64>,
}

/// How one thread of this program spent its time while it counted, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct ThreadShare {
    pub(crate) wall_us: u64,
    /// On a core.
    pub(crate) running_us: u64,
    /// Ready to run, waiting for a core.
    pub(crate) waiting_us: u64,
}

/// All results of one generator.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) classes: Vec<ClassTally>,
    pub(crate) hubs: Vec<HubTally>,
    pub(crate) durations: Durations,
    pub(crate) series: Series,
    pub(crate) spreads: Spreads,
    /// The channels, by the numbers that the spreads use.
    pub(crate) channels: Vec<String>,
    pub(crate) threads: Vec<ThreadShare>,
    /// Stored documents, and the channels that their sockets followed.
    pub(crate) documents: Vec<(Follower, ChannelList)>,
    /// The first faults in words.
    pub(crate) faults: Vec<String>,
    /// Sockets that did not reach the heads of their channels in time.
    pub(crate) behind: u64,
    pub(crate) channels_seen: u64,
}

/// The number of faults that are described in words; the others are only counted.
pub(crate) const FAULTS_REPORTED_MAX: usize = 12;

impl Durations {
    fn new() -> Self {
        let new = || latency::histogram(3);
        Self { connect: new(), join: new(), resume: new(), caught_up: new(), lag: new() }
    }
}

impl Tally {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            classes: plan.classes.iter().map(|_| ClassTally::default()).collect(),
            hubs: vec![HubTally::default(); plan.hubs.len()],
            durations: Durations::new(),
            series: Series::new(plan.interval_us),
            spreads: Spreads::default(),
            channels: Vec::new(),
            threads: Vec::new(),
            documents: Vec::new(),
            faults: Vec::new(),
            behind: 0,
            channels_seen: 0,
        }
    }

    pub(crate) fn fault(&mut self, fault: impl FnOnce() -> String) {
        if self.faults.len() < FAULTS_REPORTED_MAX {
            let fault = fault();
            // Thousands of sockets report the same fault: describe it once, the counts are
            // elsewhere.
            if !self.faults.contains(&fault) {
                self.faults.push(fault);
            }
        }
    }

    /// Adds the results of another generator of the same plan.
    pub(crate) fn add(&mut self, other: Self) {
        for (mine, theirs) in self.classes.iter_mut().zip(other.classes) {
            mine.sockets += theirs.sockets;
            mine.counts.add(&theirs.counts);
            for (mine, theirs) in mine.phases.iter_mut().zip(theirs.phases) {
                match (mine.as_mut(), theirs) {
                    (Some(mine), Some(theirs)) => {
                        mine.messages += theirs.messages;
                        mine.latencies.add(&theirs.latencies);
                    }
                    (None, theirs) => *mine = theirs,
                    (Some(_), None) => {}
                }
            }
        }
        for (mine, theirs) in self.hubs.iter_mut().zip(&other.hubs) {
            mine.add(theirs);
        }
        let Durations { connect, join, resume, caught_up, lag } = &other.durations;
        latency::add(&mut self.durations.connect, connect);
        latency::add(&mut self.durations.join, join);
        latency::add(&mut self.durations.resume, resume);
        latency::add(&mut self.durations.caught_up, caught_up);
        latency::add(&mut self.durations.lag, lag);
        self.series.add(&other.series);
        for ((ch, seq), receipts) in other.spreads {
            let name = &other.channels[ch as usize];
            let ch = self.channels.iter().position(|mine| mine == name).unwrap_or_else(|| {
                self.channels.push(name.clone());
                self.channels.len() - 1
            });
            self.spreads.add((u32::try_from(ch).unwrap_or(u32::MAX), seq), receipts);
        }
        self.threads.extend(other.threads);
        self.documents.extend(other.documents);
        other.faults.into_iter().for_each(|fault| self.fault(|| fault));
        self.behind += other.behind;
        self.channels_seen = self.channels_seen.max(other.channels_seen);
    }
}
