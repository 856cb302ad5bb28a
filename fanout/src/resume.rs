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

/// Why a reader could not resume from a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// It is older than the stored tail.
    Window,
    /// It belongs to another epoch.
    Epoch,
    /// It is ahead of the channel.
    Ahead,
}

impl Gap {
    pub const ALL: [Self; 3] = [Self::Window, Self::Epoch, Self::Ahead];

    /// The `why` of a `subscribed` frame.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Epoch => "epoch",
            Self::Ahead => "ahead",
        }
    }
}
