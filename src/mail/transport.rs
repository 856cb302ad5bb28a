//! Who carries a mail away: a server, or a folder.

use lettre::Message;

use super::{folder::Folder, smtp::Smtp};

#[derive(Debug)]
pub(super) enum Carrier {
    Smtp(Smtp),
    Folder(Folder),
}

/// A mail ready to go.
#[derive(Debug)]
pub(super) struct Parcel {
    /// The row's number and kind, for the name of a file.
    pub(super) name: String,
    pub(super) message: Message,
    pub(super) link: Option<String>,
}

/// Nothing can be carried at all, whichever mail it is. The text names no customer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unreachable(pub(super) String);

/// Why a mail did not go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Undelivered {
    /// Whether it is of use to try again.
    pub(super) again: bool,
    /// For the mail's row: all that is known.
    pub(super) full: String,
    /// For the log: without what a server may have said of a customer.
    pub(super) plain: String,
}

impl Undelivered {
    /// What is of our own making, and names nobody.
    pub(super) fn of_ours(again: bool, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { again, full: text.clone(), plain: text }
    }
}

impl Carrier {
    /// Makes sure that a mail can be handed over now.
    pub(super) async fn ready(&mut self) -> Result<(), Unreachable> {
        match self {
            Self::Smtp(smtp) => smtp.ready().await,
            Self::Folder(folder) => folder.ready(),
        }
    }

    pub(super) async fn carry(&mut self, parcel: &Parcel) -> Result<(), Undelivered> {
        match self {
            Self::Smtp(smtp) => smtp.carry(&parcel.message).await,
            Self::Folder(folder) => folder.carry(parcel),
        }
    }

    /// There is nothing more to carry for now.
    pub(super) async fn rest(&mut self) {
        match self {
            Self::Smtp(smtp) => smtp.leave().await,
            Self::Folder(_) => {}
        }
    }
}
