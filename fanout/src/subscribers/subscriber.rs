//! One client of a shard: its session, outbox and socket, and how it keeps up.

use std::mem;

use bytes::Buf;

use crate::{
    Micros,
    batch::{Batch, TopicSet},
    channel::{ChannelInfo, Position},
    outbox::{FrameOrigin, Outbox},
    session::Session,
};

/// One client, as far as publications are concerned.
#[derive(Debug)]
pub struct Subscriber<S> {
    /// The topics of the current batch that it follows, as far as they are known.
    pub(super) set: TopicSet,
    /// The last write filled the socket, which has not reported since that it is writable.
    pub(super) blocked: bool,
    /// It is in the list of subscribers that have something to write.
    pub(super) is_ready: bool,
    /// No command is taken until its outbox has room again.
    pub(super) defers_commands: bool,
    pub outbox: Outbox,
    pub session: Session,
    pub sink: S,
    /// When the socket last accepted a part of what was queued for it.
    pub(super) progressed: Micros,
    /// Since when it is slow because the socket was full, if so.
    pub(super) slow_since: Option<Micros>,
    pub tally: ConnectionCounts,
}

/// Counts of one connection since it was opened, for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Distinguishes it from other connections of its shard, also from those that used its slot before.
    pub serial: u64,
    /// Messages with data that the socket has accepted, as far as they have been taken from the outbox.
    pub delivered: u64,
    /// Changes that reached it merged into others because it was slow.
    pub merged: u64,
    /// Those of them since it became slow.
    pub merged_while_slow: u64,
    /// Images that were queued for it.
    pub images: u32,
    /// Times that it was led on from a position by updates of the host.
    pub catch_ups: u32,
    /// Times that a subscription fell behind because there was no room.
    pub fell_behind: u32,
    /// Times that its socket was full.
    pub stalls: u32,
    /// Commands, or parts of them, that were refused.
    pub refused: u32,
}

impl ConnectionCounts {
    pub(crate) fn new(serial: u64) -> Self {
        Self {
            serial,
            delivered: 0,
            merged: 0,
            merged_while_slow: 0,
            images: 0,
            catch_ups: 0,
            fell_behind: 0,
            stalls: 0,
            refused: 0,
        }
    }
}

impl<S> Subscriber<S> {
    /// Whether it can be written to directly.
    pub(super) fn keeps_up(&self) -> bool {
        self.outbox.allows_direct_writes() && !self.session.is_behind()
    }

    /// Queues what the socket did not accept of a batch's frames.
    pub(super) fn queue_rest(
        &mut self,
        batch: &Batch,
        indices: &[usize],
        mut written: usize,
        now: Micros,
    ) {
        for index in indices {
            let frame = batch.frame(*index);
            let mut bytes = frame.bytes.clone();
            if written >= bytes.len() {
                written -= bytes.len();
                self.outbox.count_delivered(1);
                continue;
            }
            if written > 0 {
                bytes.advance(mem::take(&mut written));
                self.outbox.push_partial(bytes, now);
            } else {
                let publication = &frame.publication;
                let ChannelInfo { number: channel, epoch, .. } = *publication.channel;
                let before = Some(Position { epoch: Some(epoch), seq: frame.prev });
                let origin = FrameOrigin { channel, before, is_resync: false };
                self.outbox.add(bytes, Some(origin), now);
            }
        }
    }

    /// How long the socket has accepted nothing of what is queued for it, in microseconds.
    #[must_use]
    pub fn stalled(&self, now: Micros) -> Micros {
        if self.blocked { (now - self.progressed).min(self.outbox.age(now)) } else { 0 }
    }

    /// Since when it is slow because the socket was full, if so.
    #[must_use]
    pub fn slow_since(&self) -> Option<Micros> {
        self.slow_since
    }

    /// Whether it gets publications later than they are published.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        !self.keeps_up()
    }
}
