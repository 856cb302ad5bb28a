//! What drives the writer: the sources of this hub while it leads, or the records of another hub while it follows. All that
//! differs between both is decided here or by a `match` on [`Driver`].

use fanout::{Micros, catch_up::HostRequest};

use super::pushing::{Pusher, Pushers};
use crate::pipeline::waiting::{LeaderLink, Reader, WaitingReaders};

/// Where the inputs come from that the writer applies.
pub(super) enum Driver {
    /// From the sources of this hub.
    Leading(Leading),
    /// From the records of the hub that leads. Its readers may have to wait for these.
    Following(WaitingReaders),
}

/// What only a hub that leads has.
pub(super) struct Leading {
    pub(super) pushers: Pushers,
    /// When the deadlines of pushing sources are looked at next.
    pub(super) duties_due: Micros,
}

impl Driver {
    pub(super) fn leads(&self) -> bool {
        matches!(self, Self::Leading(_))
    }

    /// Leads from now on. Returns the readers that waited.
    pub(super) fn lead(&mut self, pushers: Pushers) -> Vec<(HostRequest, Reader)> {
        let before = std::mem::replace(self, Self::Leading(Leading { pushers, duties_due: 0 }));
        if let Self::Following(waiting) = before { waiting.into_requests() } else { Vec::new() }
    }

    /// Follows from now on.
    pub(super) fn follow(&mut self, link: &LeaderLink) {
        if self.leads() {
            *self = Self::Following(WaitingReaders::new(link.clone()));
        }
    }

    /// The source that pushes under this name, if it has pushed.
    pub(super) fn pusher(&mut self, name: &str) -> Option<&mut Pusher> {
        match self {
            Self::Leading(leading) => leading.pushers.get_mut(name),
            Self::Following(_) => None,
        }
    }

    /// The readers that may have to wait for the hub that leads; `None` if this one does.
    pub(super) fn waiting(&mut self) -> Option<&mut WaitingReaders> {
        if let Self::Following(waiting) = self { Some(waiting) } else { None }
    }
}
