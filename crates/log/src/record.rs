//! A record: one turn of the writer.

use bytes::Bytes;
use fanout::{ChannelId, Epoch, Micros, Seq};

use crate::RecordNumber;

/// One turn of the writer: the inputs that it applied, and what it published because of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Increases by one.
    pub number: RecordNumber,
    /// When it was made. It never decreases.
    pub at: Micros,
    /// The inputs, in the hub's own format.
    pub inputs: Bytes,
    /// What was published, in order.
    pub outputs: Vec<Output>,
}

/// A change of a channel, as its subscribers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A new channel, or one that begins another epoch.
    Opened {
        channel: ChannelId,
        epoch: Epoch,
        /// 0, unless the channel goes on in another epoch.
        seq: Seq,
        /// Its image at this sequence, as JSON text.
        payload: Bytes,
    },
    /// An update for followers that take each change.
    Published {
        channel: ChannelId,
        epoch: Epoch,
        prev: Seq,
        seq: Seq,
        /// It goes ahead of everything queued for a slow reader: a suspension.
        urgent: bool,
        has_events: bool,
        /// The `update` frame as JSON text.
        payload: Bytes,
    },
    /// The channel no longer exists.
    Closed { channel: ChannelId, epoch: Epoch },
}

impl Record {
    /// Bytes of the inputs and of the payloads of the outputs.
    #[must_use]
    pub fn raw_bytes(&self) -> u64 {
        let payloads = self.outputs.iter().map(|output| output.payload().map_or(0, Bytes::len));
        (self.inputs.len() + payloads.sum::<usize>()) as u64
    }
}

impl Output {
    #[must_use]
    pub fn channel(&self) -> &ChannelId {
        match self {
            Self::Opened { channel, .. }
            | Self::Published { channel, .. }
            | Self::Closed { channel, .. } => channel,
        }
    }

    /// JSON text; `None` for a channel that closes.
    #[must_use]
    pub fn payload(&self) -> Option<&Bytes> {
        match self {
            Self::Opened { payload, .. } | Self::Published { payload, .. } => Some(payload),
            Self::Closed { .. } => None,
        }
    }
}
