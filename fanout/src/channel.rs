//! Channels, positions and publications.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;

use crate::{
    Micros,
    encode::{Encode, text_frame},
    permission::Classes,
};

/// The number of a change within its channel and epoch. The first change is 1; 0 is the empty document.
pub type Seq = u64;

/// The name of a channel: segments joined by `/`, such as `rooms/204849/chat`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(Arc<str>);

impl ChannelId {
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a client subscribes to: a channel's name, in which `*` matches any one segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern(Arc<str>);

/// The first segment of channels that show no real matches. Only patterns with the same first segment cover them: `*/*` does
/// not.
pub const TEST_ROOT: &str = "test";

/// The longest channel name that is accepted, in bytes. The hub's names have fewer than 80.
pub const NAME_BYTES_MAX: usize = 200;

impl Pattern {
    /// Checks the form: segments of letters, digits, `-`, `_`, `.`, `@`, `+` and `:`, or one `*`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let segment = |part: &str| {
            part == "*"
                || !part.is_empty()
                    && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.@+:".contains(&b))
        };
        (name.len() <= NAME_BYTES_MAX && name.split('/').all(segment)).then(|| Self(name.into()))
    }

    /// The pattern that covers only this channel.
    #[must_use]
    pub fn exactly(channel: &ChannelId) -> Self {
        Self(Arc::clone(&channel.0))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        self.0.split('/').any(|part| part == "*")
    }

    #[must_use]
    pub fn matches(&self, channel: &ChannelId) -> bool {
        if is_test(&channel.0) && !is_test(&self.0) {
            return false;
        }
        let mut name = channel.0.bytes().peekable();
        for byte in self.0.bytes() {
            if byte == b'*' {
                while name.next_if(|byte| *byte != b'/').is_some() {}
            } else if name.next() != Some(byte) {
                return false;
            }
        }
        name.next().is_none()
    }
}

/// Whether a name or pattern is of the channels below [`TEST_ROOT`].
#[must_use]
pub fn is_test(name: &str) -> bool {
    let below = name.strip_prefix(TEST_ROOT);
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// Identifies a numbering of a channel: within an epoch, sequences increase by one. It changes only when
/// the host cannot prove that nothing was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(pub u32);

impl fmt::Display for Epoch {
    /// Base 36, as clients see it: `k3f9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0_u8; 7];
        let (mut rest, mut at) = (self.0, digits.len());
        loop {
            at -= 1;
            digits[at] = b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize];
            rest /= 36;
            if rest == 0 {
                break;
            }
        }
        f.write_str(str::from_utf8(&digits[at..]).expect("base 36 digits are ASCII"))
    }
}

impl Epoch {
    /// Parses the output of [`fmt::Display`] and nothing else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let canonical = text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
        u32::from_str_radix(text, 36).ok().filter(|_| canonical).map(Self)
    }
}

/// A reader's position in a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// `None` if the client's epoch is malformed and so matches no epoch.
    pub epoch: Option<Epoch>,
    pub seq: Seq,
}

/// A channel as the host knows it. Clones share one copy, also those of subscriptions.
#[derive(Debug, Clone)]
pub struct Channel(Arc<ChannelInfo>);

/// What the host knows of a channel.
#[derive(Debug, Clone)]
pub struct ChannelInfo {
    /// For fast look-up. Numbers are never reused.
    pub number: u32,
    pub name: ChannelId,
    pub epoch: Epoch,
    /// It reports on other channels (for example that their source has ended), so on a socket it is
    /// delivered only after all others have caught up.
    pub deliver_last: bool,
    /// The classes that a connection must have to follow it.
    pub needs: Classes,
}

impl From<ChannelInfo> for Channel {
    fn from(info: ChannelInfo) -> Self {
        Self(Arc::new(info))
    }
}

impl Deref for Channel {
    type Target = ChannelInfo;

    fn deref(&self) -> &ChannelInfo {
        &self.0
    }
}

/// The highest rate at which a follower gets updates of a channel.
///
/// The host merges the changes between two updates of a rate once for all followers at that rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Rate {
    /// Each change, at once.
    #[default]
    Each,
    Ms100,
    Ms250,
    Ms500,
    Ms1000,
    Ms2000,
    Ms5000,
}

impl Rate {
    pub const ALL: [Self; 7] = [
        Self::Each,
        Self::Ms100,
        Self::Ms250,
        Self::Ms500,
        Self::Ms1000,
        Self::Ms2000,
        Self::Ms5000,
    ];

    /// Milliseconds between two updates; 0 for each change at once.
    #[must_use]
    pub fn every_ms(self) -> u32 {
        match self {
            Self::Each => 0,
            Self::Ms100 => 100,
            Self::Ms250 => 250,
            Self::Ms500 => 500,
            Self::Ms1000 => 1000,
            Self::Ms2000 => 2000,
            Self::Ms5000 => 5000,
        }
    }

    /// The rate with this interval, if there is one.
    #[must_use]
    pub fn from_ms(ms: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|rate| u64::from(rate.every_ms()) == ms)
    }
}

/// One numbered change of one channel, shared by all shards.
#[derive(Debug)]
pub struct Publication {
    pub channel: Channel,
    /// The change's number. It applies to every document from `prev` up to before `seq`.
    pub seq: Seq,
    pub prev: Seq,
    /// It goes ahead of everything queued for a slow reader: a suspension.
    pub urgent: bool,
    /// It has events, which are never merged, or it is the end of what the document is about: who waits for
    /// something to happen is woken.
    pub has_events: bool,
    /// When it was published, if the host gives the time, to measure delivery delays.
    pub published: Option<Micros>,
    body: Option<Box<dyn Encode>>,
    frame: OnceLock<Bytes>,
    deflated: OnceLock<Bytes>,
}

impl Publication {
    #[must_use]
    pub fn new(channel: Channel, prev: Seq, seq: Seq, body: Box<dyn Encode>) -> Self {
        Self { body: Some(body), ..Self::without_body(channel, prev, seq) }
    }

    /// A publication whose frame is already encoded.
    #[must_use]
    pub fn with_frame(channel: Channel, prev: Seq, seq: Seq, frame: Bytes) -> Self {
        Self { frame: OnceLock::from(frame), ..Self::without_body(channel, prev, seq) }
    }

    fn without_body(channel: Channel, prev: Seq, seq: Seq) -> Self {
        Self {
            channel,
            seq,
            prev,
            urgent: false,
            has_events: false,
            published: None,
            body: None,
            frame: OnceLock::new(),
            deflated: OnceLock::new(),
        }
    }

    /// Sets whether it goes ahead of everything queued for a slow reader.
    #[must_use]
    pub fn urgent(self, urgent: bool) -> Self {
        Self { urgent, ..self }
    }

    /// Sets whether it has events.
    #[must_use]
    pub fn with_events(self, has_events: bool) -> Self {
        Self { has_events, ..self }
    }

    /// Sets when it was published.
    #[must_use]
    pub fn published(self, at: Micros) -> Self {
        Self { published: Some(at), ..self }
    }

    /// The frame that every follower gets. The first shard that needs it encodes it; a publication without
    /// followers is never encoded.
    pub fn frame(&self) -> &Bytes {
        self.frame
            .get_or_init(|| text_frame(|out| self.body.iter().for_each(|body| body.encode(out))))
    }

    /// The frame for connections that take compressed ones. The first shard that needs it compresses it.
    pub(crate) fn deflated(&self, deflate: impl FnOnce(&Bytes) -> Bytes) -> &Bytes {
        self.deflated.get_or_init(|| deflate(self.frame()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_exactly_one_segment() {
        let check = |pattern: &str, channel: &str| {
            Pattern::parse(pattern).expect("well formed").matches(&ChannelId::new(channel))
        };
        assert!(check("football/*/odds/pinnacle", "football/7/odds/pinnacle"));
        assert!(check("football", "football"));
        assert!(!check("football/*", "football"));
        assert!(!check("football/*", "football/7/odds"));
        assert!(!check("*", "football/7"));
    }

    #[test]
    fn star_does_not_stand_for_the_root_of_test_channels() {
        let check = |pattern: &str, channel: &str| {
            Pattern::parse(pattern).expect("well formed").matches(&ChannelId::new(channel))
        };
        assert!(!check("*/*", "test/football"));
        assert!(!check("*/football", "test/football"));
        assert!(check("test/*", "test/football"));
        assert!(check("*/*", "tests/football"));
    }

    #[test]
    fn malformed_names_are_refused() {
        for name in ["", "/", "football/", "foot ball", "a/**", "football/\u{e9}", "a/b*"] {
            assert_eq!(Pattern::parse(name), None, "{name:?}");
        }
        assert_eq!(Pattern::parse(&"a".repeat(NAME_BYTES_MAX + 1)), None);
    }

    #[test]
    fn epochs_are_parsed_as_they_are_displayed() {
        for epoch in [0, 1, 35, 36, u32::MAX] {
            assert_eq!(Epoch::parse(&Epoch(epoch).to_string()), Some(Epoch(epoch)));
        }
        for text in ["", "K3F9", "+1", "zzzzzzzz", "-"] {
            assert_eq!(Epoch::parse(text), None, "{text:?}");
        }
    }
}
