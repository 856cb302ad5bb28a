//! Replays: recorded channels that are played to one session, next to its live subscriptions.
//!
//! The host plays. It reads the recording, waits until a frame is due, and sends it when the session has
//! room: each [`ReplayCommand::Next`] is answered by one [`ReplayOutcome::Frames`], at the earliest when
//! something is due. A session has at most one such request open for each replay, so a slow reader slows its
//! replays and nothing else. Requests and responses of a replay stay in order.

use bytes::Bytes;

use crate::{
    Micros,
    catch_up::{Cost, Lease, Requester},
    channel::{ChannelId, Epoch, Position, Seq},
    permission::Classes,
};

/// A request about a replay, and where it came from.
#[derive(Debug)]
pub struct ReplayRequest {
    /// Its payer has a limited number of replays.
    pub requester: Requester,
    /// The number of the replay in its session: 1 is `r1`.
    pub replay: u32,
    pub command: ReplayCommand,
}

/// What a session wants from a replay.
#[derive(Debug)]
pub enum ReplayCommand {
    /// Start it. Answered at once by [`ReplayOutcome::Started`] or [`ReplayOutcome::Refused`]; frames come
    /// only after [`Self::Next`].
    Start {
        channels: Vec<ChannelId>,
        from: ReplayPosition,
        speed: ReplaySpeed,
        /// What the session may follow.
        classes: Classes,
        /// Held by the session while it wants the replay. When it is no longer shared, the replay is over.
        lease: Lease,
    },
    /// Change it. Answered at once by [`ReplayOutcome::Changed`] or [`ReplayOutcome::Refused`].
    Change(ReplayChange),
    /// There is room for frames of about this many bytes, where each counts `frame_bytes` more than it has.
    Next { bytes_max: usize, frame_bytes: usize },
    /// End it. Not answered.
    End,
}

/// Where a replay starts or continues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ReplayPosition {
    /// The first entry of its channels.
    #[default]
    Start,
    /// The moment at which a channel reached a sequence. Without a channel, the only one of the replay.
    Seq { channel: Option<ChannelId>, epoch: Option<Epoch>, seq: Seq },
    /// A time.
    At(Micros),
}

/// How fast a replay plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaySpeed {
    /// Thousandths of the recorded speed, from [`Self::MIN`] to [`Self::MAX`].
    Thousandths(u32),
    /// As fast as the reader takes it.
    Unlimited,
}

impl ReplaySpeed {
    /// The recorded speed.
    pub const RECORDED: Self = Self::Thousandths(1000);
    /// A tenth of the recorded speed.
    pub const MIN: u32 = 100;
    /// A hundred times the recorded speed.
    pub const MAX: u32 = 100_000;
}

impl Default for ReplaySpeed {
    fn default() -> Self {
        Self::RECORDED
    }
}

/// A change of a running replay. What is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayChange {
    pub pause: Option<bool>,
    pub speed: Option<ReplaySpeed>,
    pub seek: Option<ReplayPosition>,
}

/// The host's response about a replay.
#[derive(Debug)]
pub struct ReplayResponse {
    pub replay: u32,
    pub outcome: ReplayOutcome,
    /// What it cost, which is charged to the requester's payer.
    pub cost: Cost,
}

impl ReplayResponse {
    /// Whether it answers a command of the client.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        !matches!(self.outcome, ReplayOutcome::Frames { .. })
    }
}

#[derive(Debug)]
pub enum ReplayOutcome {
    Started(ReplayState),
    Changed(ReplayState),
    Refused(ReplayRefusal),
    /// What is due, in order. With `end`, it is the last: the replay is over.
    Frames {
        frames: Vec<ReplayFrame>,
        end: Option<ReplayEnd>,
    },
}

/// Why a replay is not started or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayRefusal {
    /// This channel is not recorded.
    NotTracked(ChannelId),
    /// The replay has ended.
    NoReplay,
    /// This channel needs these classes.
    NotEntitled(ChannelId, Classes),
    /// A limit, in words.
    Limit(String),
    /// A position that does not say which channel is meant.
    AmbiguousSeq,
}

base::words! {
    /// Why a replay is over: the `why` of a `replay_end` frame.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ReplayEnd {
        /// Everything that is recorded so far has been played.
        End = "end",
        /// The client ended it, or may no longer follow its channels.
        Unsubscribed = "unsubscribed",
        /// It was paused or not read for too long, or the recording can no longer be read.
        Limit = "limit",
    }
}

/// A replay as `subscribed` confirms it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayState {
    /// In the order in which they were requested.
    pub channels: Vec<ReplayChannel>,
    /// The times of the first and the last entry of its recordings.
    pub span: (Micros, Micros),
    /// The recorded time that it has reached.
    pub at: Micros,
    pub speed: ReplaySpeed,
    pub is_paused: bool,
}

/// One channel of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayChannel {
    pub name: ChannelId,
    pub status: ReplayChannelStatus,
}

impl ReplayChannel {
    #[must_use]
    pub fn is_played(&self) -> bool {
        matches!(self.status, ReplayChannelStatus::Played { .. })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayChannelStatus {
    /// It is played, to who has these classes. With its position at this moment, if it is open.
    Played {
        needs: Classes,
        position: Option<Position>,
    },
    NotTracked,
    /// It needs these classes.
    NotEntitled {
        needs: Classes,
    },
}

/// A frame of a replay: as it was published, with the name of the replay added.
#[derive(Debug, Clone)]
pub struct ReplayFrame {
    pub frame: Bytes,
    /// The index of its channel in [`ReplayState::channels`].
    pub channel: usize,
}

/// The name of a replay in its session, as clients see it.
#[must_use]
pub fn name(replay: u32) -> String {
    format!("r{replay}")
}
