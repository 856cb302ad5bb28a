//! The messages in a shard's mailbox.

use std::sync::Arc;

use super::departures::Drain;
use crate::{
    Micros,
    catch_up::{Cost, HostResponse, Requester},
    channel::{Channel, Publication, Rate},
    close::Close,
    connection::{Expiry, NewConnection},
    inspect::Inspection,
    mailbox::MailboxMessage,
    permission::Permission,
    probe::Probe,
    replay::ReplayResponse,
};

/// A message to a shard.
#[derive(Debug)]
pub(crate) enum ShardMessage {
    Publish(Rate, Arc<Publication>),
    /// A new channel; the publication is its image at sequence 0.
    Opened(Arc<Publication>),
    Closed(Channel),
    /// Behind the publications that it travels with. The host limits how many there are.
    Probe(Arc<dyn Probe>),
    Response(Requester, HostResponse, Cost),
    /// The response comes later.
    Deferred(Requester),
    Replay(Requester, ReplayResponse),
    Connect(Box<NewConnection>),
    /// Close every connection of this key.
    CloseKey(u64, Close),
    /// Give every connection of this key this permission and this expiry.
    Permit(u64, Permission, Option<Expiry>),
    /// Close every connection.
    Drain(Drain),
    /// An inspection of the host's operator. How many there are is limited where they come from.
    Inspect(Box<Inspection>),
    /// The shard no longer drains.
    EndDrain,
    /// Since when the host cannot know anything new, if so.
    Stale(Option<Micros>),
    Stop,
    /// Publications were dropped here, because there was no room.
    Overflow,
}

impl MailboxMessage for ShardMessage {
    fn is_limited(&self) -> bool {
        matches!(self, Self::Publish(..))
    }

    fn is_deferrable(&self) -> bool {
        matches!(self, Self::Connect(_))
    }

    fn overflow() -> Self {
        Self::Overflow
    }

    fn is_overflow(&self) -> bool {
        matches!(self, Self::Overflow)
    }
}
