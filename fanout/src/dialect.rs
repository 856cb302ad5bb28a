//! The protocols of connections, and what the host must provide for one of its own.
//!
//! A session in a dialect of the host follows **groups**: a channel, and optionally a **companion**, a
//! channel whose name extends that of the group by a segment. The dialect reads the commands and renders
//! every frame except those with data; positions and slow readers work as in the stream protocol.

use std::{fmt, sync::Arc};

use bytes::Bytes;

use crate::{
    channel::{ChannelId, Position},
    close::HostClose,
    permission::{Classes, Offer},
};

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub enum Dialect {
    /// The stream protocol.
    #[default]
    Stream,
    /// A protocol of the host.
    Hosted(&'static dyn HostDialect),
}

impl Dialect {
    #[must_use]
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Stream)
    }

    /// Its name, for the operator.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Hosted(dialect) => dialect.name(),
        }
    }
}

/// A protocol of the host. Called on the shard's thread, so it must not block.
pub trait HostDialect: fmt::Debug + Send + Sync {
    /// Its name, for the operator.
    fn name(&self) -> &'static str;

    /// The number of groups that one socket may follow at a time.
    fn groups_max(&self) -> usize;

    /// Reads one text message.
    ///
    /// # Errors
    ///
    /// The frame that says what is wrong.
    fn parse(&self, text: &str) -> Result<HostedCommand, Bytes>;

    /// Renders the frame about something that concerns the client; `None` if the dialect has none.
    fn render(&self, notice: Notice<'_>) -> Option<Bytes>;
}

/// What a command in a dialect of the host means.
#[derive(Debug, Clone, PartialEq)]
pub enum HostedCommand {
    Follow {
        /// The channel of the group.
        channel: ChannelId,
        companion: Option<Companion>,
        /// The client's position, if it gives one.
        from: Option<Position>,
    },
    /// Stop following a group and its companions, and reply with this frame.
    Unfollow { channel: ChannelId, reply: Bytes },
    /// Only reply with this frame.
    Reply(Bytes),
}

/// An addition to a group, which the host opens as a channel of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Companion {
    /// The last segment of its channel's name.
    pub name: Arc<str>,
    /// The classes that a connection must have to follow it.
    pub needs: Classes,
}

/// Something that concerns a client, to be rendered in its dialect.
#[derive(Debug, Clone, Copy)]
pub enum Notice<'a> {
    /// The client sent a binary message.
    BinaryMessage { payload: &'a [u8] },
    /// The socket follows as many groups as it may, or otherwise the account as many channels, so this one is refused.
    TooManyGroups { channel: &'a ChannelId, of_socket: bool },
    /// A companion needs what these offers open: one of this group is refused, or, without a group,
    /// some have ended.
    NotEntitled { channel: Option<&'a ChannelId>, offers: &'a [&'a Offer] },
    /// There is no such group.
    NotTracked { channel: &'a ChannelId },
    /// The group has no such companion.
    UnknownCompanion { channel: &'a ChannelId, name: &'a str },
    /// A followed channel no longer exists.
    Gone { channel: &'a ChannelId },
    /// The host closes the connection and gives this message.
    Closing { close: &'a HostClose, message: &'a str },
}
