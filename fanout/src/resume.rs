//! Whether a reader can resume from its position in a channel.

use crate::channel::{Epoch, Position, Seq};

/// Checks whether a reader can resume from a position in a channel whose tail starts at `oldest`.
///
/// # Errors
///
/// Why the reader cannot resume from this position.
pub fn check(from: Position, epoch: Epoch, oldest: Seq, head: Seq) -> Result<Seq, Gap> {
    if from.epoch != Some(epoch) {
        Err(Gap::Epoch)
    } else if from.seq > head {
        Err(Gap::Ahead)
    } else if from.seq < oldest {
        Err(Gap::Window)
    } else {
        Ok(from.seq)
    }
}

/// Whether the reader could resume from `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No `from` was given; `frames` is the image.
    Fresh,
    /// `frames` are the updates since `from`, including every event.
    Resumed,
    /// `frames` is the image, for this reason.
    Refused(Gap),
}

base::words! {
    /// Why a reader could not resume from a position: the `why` of a `subscribed` frame.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Gap {
        /// It is older than the stored tail.
        Window = "window",
        /// It belongs to another epoch.
        Epoch = "epoch",
        /// It is ahead of the channel.
        Ahead = "ahead",
    }
}
