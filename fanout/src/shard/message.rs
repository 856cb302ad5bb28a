//! What lies in a shard's mailbox.

use std::sync::Arc;

use crate::{
    Micros,
    catch_up::{HostResponse, Requester},
    channel::{Channel, Publication, Rate},
    close::Close,
    connection::Arrival,
    mailbox::Letter,
    permission::Permission,
};

#[derive(Debug)]
pub(crate) enum Item {
    Publish(Rate, Arc<Publication>),
    /// A channel has come to be; the publication is its image at sequence 0.
    Opened(Arc<Publication>),
    Closed(Channel),
    /// With the bytes of work that it cost.
    Answer(Requester, HostResponse, usize),
    Connect(Box<Arrival>),
    /// Every connection that came with this key is to be closed.
    End(u64, Close),
    /// Every connection that came with this key gets this permission, and its right to be here this end.
    Permit(u64, Permission, Option<Micros>),
    /// Every connection is to be closed, each with its own delay within the window.
    Drain {
        window_ms: u32,
    },
    Stop,
    /// Publications that came here found no room.
    Lost,
}

impl Letter for Item {
    fn counts(&self) -> bool {
        matches!(self, Self::Publish(..))
    }

    fn waits_its_turn(&self) -> bool {
        matches!(self, Self::Connect(_))
    }

    fn dropped() -> Self {
        Self::Lost
    }

    fn is_dropped(&self) -> bool {
        matches!(self, Self::Lost)
    }
}
