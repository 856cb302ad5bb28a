//! The whole state of a hub as bytes.
//!
//! A hub that is restored from them does exactly what the saved one would have done: the same inputs give
//! the same frames, byte for byte, and the same exports. Equal states give equal bytes.
//!
//! Saved is what inputs and time have made: matches, channels with their numbers, sources, identity,
//! signals, the channels of the older sockets, and what waits for the next export. Not saved is what
//! readers have made (rate tiers, leases, cached images, merged blocks), what the caller knows (settings,
//! public ids), what follows from the rest (indexes), and the tails of channels: after a restart, a tail
//! begins at the head, unless the log's frames are put back by [`Hub::restore_tail`].
//!
//! # Changing a type
//!
//! The bytes follow from the types of the state and of `facts::event`, field by field. To add, remove or reorder
//! fields or variants of one of them, raise [`STATE_FORMAT`], and either keep reading the previous format, or leave
//! it unreadable: then a hub begins new epochs after the upgrade. `docs/CONTRIBUTING.md` has the steps. The tests
//! below `saved/tests/` read files of the current format, and fail if a type has changed.

#[cfg(test)]
mod tests;

use std::{
    io::{self, Read, Write},
    sync::Arc,
};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::{codec::invalid, event::Sport};
use fanout::{Change, ChannelId, Epoch, Publication, Seq, channel::ChannelInfo};
use sha2::{Digest, Sha256};

use super::{
    Epochs, Header, Hub, HubSettings, MatchEntry, Matches, TierTimers,
    feeds::Source,
    sequence::{Stamp, TailError, TailFrame},
    state::Match,
};
use crate::{
    channels::{ChannelEntry, Channels, MatchChannels, Subject},
    dialect::stream,
    ids::PublicIds,
};

pub use crate::formats::STATE_FORMAT;

const MAGIC: [u8; 4] = *b"MWHS";
/// Bytes before the state: magic, format, length, digest.
const HEAD: usize = 4 + 2 + 8 + 32;

/// Why a hub could not be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("it is no state of a hub")]
    NotAState,
    #[error("its format is {0}, and this release reads {STATE_FORMAT}")]
    Format(u16),
    #[error("it is damaged")]
    Damaged,
    #[error("its content is invalid")]
    Invalid(#[from] io::Error),
}

/// A channel without its subject and its name, which follow from its place.
#[derive(BorshSerialize, BorshDeserialize)]
struct SavedChannel {
    number: u32,
    epoch: u32,
    head: Seq,
    header: Header,
    stamp: Option<Stamp>,
}

impl SavedChannel {
    fn new(entry: &ChannelEntry) -> Self {
        let ChannelInfo { number, epoch, .. } = *entry.sequence.channel;
        let (head, header, stamp) = (entry.sequence.head(), entry.header, entry.stamp);
        Self { number, epoch: epoch.0, head, header, stamp }
    }

    fn restore(self, subject: Subject, name: ChannelId, sport: Sport) -> ChannelEntry {
        let Self { number, epoch, head, header, stamp } = self;
        let deliver_last = subject == Subject::Feeds;
        let (epoch, needs) = (Epoch(epoch), subject.classes(sport));
        let channel = ChannelInfo { number, name, epoch, deliver_last, needs };
        ChannelEntry::restored(subject, channel.into(), head, header, stamp)
    }
}

impl BorshSerialize for MatchEntry {
    fn serialize<W: Write>(&self, writer: &mut W) -> io::Result<()> {
        let Self { state, channels, source, is_changed } = self;
        (state, source, is_changed).serialize(writer)?;
        let saved = |subject| channels.get(subject).map(SavedChannel::new);
        saved(Subject::Match(state.id)).serialize(writer)?;
        saved(Subject::Consensus(state.id)).serialize(writer)?;
        // As many as there are books.
        let mut books = (0..state.books.len()).map(|book| saved(Subject::Book(state.id, book)));
        books.try_for_each(|book| book.serialize(writer))
    }
}

impl BorshDeserialize for MatchEntry {
    fn deserialize_reader<R: Read>(reader: &mut R) -> io::Result<Self> {
        let (state, source, is_changed) = <(Match, _, _)>::deserialize_reader(reader)?;
        let mut channels = MatchChannels::default();
        let books = (0..state.books.len()).map(|book| Subject::Book(state.id, book));
        let match_subjects = [Subject::Match(state.id), Subject::Consensus(state.id)];
        for subject in match_subjects.into_iter().chain(books) {
            if let Some(saved) = Option::<SavedChannel>::deserialize_reader(reader)? {
                let slug = match subject {
                    Subject::Book(_, book) => Some(&state.books[book].slug),
                    _ => None,
                };
                let name = Channels::name(subject, state.sport, slug);
                channels.open(saved.restore(subject, name, state.sport));
            }
        }
        Ok(Self { state, channels, source, is_changed })
    }
}

impl Hub {
    /// Appends the whole state. Equal states give equal bytes.
    pub fn save(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + HEAD, 0);
        self.write(out).expect("writing to memory does not fail, and every value can be written");
        let (head, body) = out[begin..].split_at_mut(HEAD);
        head[..4].copy_from_slice(&MAGIC);
        head[4..6].copy_from_slice(&STATE_FORMAT.to_le_bytes());
        head[6..14].copy_from_slice(&(body.len() as u64).to_le_bytes());
        head[14..].copy_from_slice(&Sha256::digest(body));
    }

    /// The hub that was saved as these bytes, with these settings and public ids. Settings of signals are
    /// given by [`Hub::with_signals`] as for a new hub.
    ///
    /// # Errors
    ///
    /// If the bytes are of another format, truncated or damaged. They are not trusted.
    pub fn restore(
        bytes: &[u8],
        settings: HubSettings,
        ids: PublicIds,
    ) -> Result<Self, RestoreError> {
        let (head, body) = bytes.split_at_checked(HEAD).ok_or(RestoreError::NotAState)?;
        if head[..4] != MAGIC {
            return Err(RestoreError::NotAState);
        }
        let format = u16::from_le_bytes([head[4], head[5]]);
        if format != STATE_FORMAT {
            return Err(RestoreError::Format(format));
        }
        if head[6..14] != (body.len() as u64).to_le_bytes() || head[14..] != *Sha256::digest(body) {
            return Err(RestoreError::Damaged);
        }
        let mut rest = body;
        let hub = Self::read(&mut rest, settings)?.with_ids(ids);
        if rest.is_empty() { Ok(hub) } else { Err(invalid("something follows it").into()) }
    }

    /// A copy that does what a hub does that is restored from this one's saved state. Texts are shared.
    #[must_use]
    pub fn without_readers(&self) -> Self {
        Self {
            settings: self.settings,
            epochs: self.epochs,
            matches: self.matches.without_readers(),
            identity: self.identity.clone(),
            ids: self.ids.clone(),
            mappings: self.mappings.clone(),
            sources: self.sources.clone(),
            channels: self.channels.without_readers(),
            feeds_published: self.feeds_published.clone(),
            feeds_due: self.feeds_due,
            tier_timers: TierTimers::default(),
            tiers_open: 0,
            relay: self.relay.without_readers(),
            latest: self.latest,
            makes_exports: self.makes_exports,
            changed: self.changed.clone(),
            removed: self.removed.clone(),
            signals: self.signals.clone(),
            turns: Vec::new(),
        }
    }

    fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let Self { epochs, matches, identity, mappings, sources, channels, .. } = self;
        (epochs.matches.0, epochs.feeds.0, self.latest, self.feeds_due).serialize(out)?;
        (sources, &self.feeds_published, matches, identity, mappings).serialize(out)?;
        let shared = channels.all_shared().map(|entry| (entry.subject, SavedChannel::new(entry)));
        let mut shared: Vec<_> = shared.collect();
        shared.sort_by_key(|(subject, _)| *subject);
        (channels.numbers(), shared).serialize(out)?;
        (&self.relay, &self.changed, &self.removed, &self.signals).serialize(out)
    }

    fn read(reader: &mut &[u8], settings: HubSettings) -> io::Result<Self> {
        let (epoch_of_matches, epoch_of_feeds, latest, feeds_due) =
            BorshDeserialize::deserialize_reader(reader)?;
        let (sources, feeds_published, matches, identity, mappings) =
            <(Vec<Source>, _, Matches, _, _)>::deserialize_reader(reader)?;
        check_matches(&matches, &sources)?;
        let (numbers, shared) = <(u32, Vec<(Subject, SavedChannel)>)>::deserialize_reader(reader)?;
        let shared = shared.into_iter().map(|(subject, saved)| {
            if subject.match_id().is_some() {
                return Err(invalid("a channel of a match stands among the others"));
            }
            let name = Channels::name(subject, Sport::Other, None);
            Ok(saved.restore(subject, name, Sport::Other))
        });
        let mut channels = Channels::restored(numbers, shared.collect::<io::Result<_>>()?);
        let of_matches = matches.values().flat_map(|entry| entry.channels.iter());
        let all = of_matches.chain(channels.all_shared());
        let all: Vec<_> = all.map(|it| (it.sequence.channel.name.clone(), it.subject)).collect();
        for (name, subject) in all {
            if !channels.restore_name(name, subject) {
                return Err(invalid("two channels have one name"));
            }
        }
        let (relay, changed, removed, signals) = BorshDeserialize::deserialize_reader(reader)?;
        Ok(Self {
            settings,
            epochs: Epochs { matches: Epoch(epoch_of_matches), feeds: Epoch(epoch_of_feeds) },
            matches,
            identity,
            ids: PublicIds::default(),
            mappings,
            sources,
            channels,
            feeds_published,
            feeds_due,
            tier_timers: TierTimers::default(),
            tiers_open: 0,
            relay,
            latest,
            makes_exports: true,
            changed,
            removed,
            signals,
            turns: Vec::new(),
        })
    }

    /// Gives all channels another epoch and empties all tails: continuity with what was published before
    /// cannot be proven. Sequences go on, since events are named by them. Appends the image of each channel
    /// in its new epoch. Channels of the older sockets are gone; the next reader opens them again. Must be
    /// called before the hub has readers.
    pub(super) fn begin_epochs(&mut self, epochs: Epochs, changes: &mut Vec<Change>) {
        self.epochs = epochs;
        let of_matches = self.matches.values_mut().flat_map(|entry| entry.channels.iter_mut());
        for entry in of_matches.chain(self.channels.all_shared_mut()) {
            entry.image = None;
            entry.sequence.begin_epoch(match entry.subject {
                Subject::Feeds | Subject::Signals => epochs.feeds,
                Subject::Match(_)
                | Subject::Consensus(_)
                | Subject::Book(..)
                | Subject::Board(_) => epochs.matches,
            });
        }
        self.relay.drop_channels();
        let mut subjects: Vec<Subject> = self.all_channels().map(|entry| entry.subject).collect();
        subjects.sort_unstable();
        changes.extend(subjects.into_iter().filter_map(|subject| {
            let data = self.image(subject)?;
            let entry = self.channel(subject)?;
            let (channel, head) = (entry.sequence.channel.clone(), entry.sequence.head());
            let (stamp, seq) = (entry.stamp, head);
            let body = stream::FirstImageFrame { channel: channel.clone(), seq, stamp, data };
            Some(Change::Opened(Arc::new(Publication::new(channel, head, head, Box::new(body)))))
        }));
    }

    /// Puts `update` frames that were published before a restart back into the tail of their channel, the newest
    /// first, as far back as the window reaches. They lead to where the tail begins, which is the head if nothing
    /// was published since. A frame is read when a reader needs it; until then the tail holds its payload, as a
    /// copy if that is shared.
    ///
    /// # Errors
    ///
    /// If the channel is not open in this epoch, or a frame is none of its changes. The tail then has the
    /// frames before.
    pub fn restore_tail(
        &mut self,
        channel: &ChannelId,
        epoch: Epoch,
        frames: impl IntoIterator<Item = TailFrame>,
    ) -> Result<(), TailError> {
        let window = self.settings.window;
        let subject = self.channels.subject(channel.as_str()).ok_or(TailError::Unknown)?;
        let entry = self.channel_mut(subject).ok_or(TailError::Unknown)?;
        if entry.sequence.channel.epoch != epoch {
            return Err(TailError::Unknown);
        }
        for frame in frames {
            if !entry.sequence.restore(frame, window)? {
                break;
            }
        }
        Ok(())
    }
}

fn check_matches(matches: &Matches, sources: &[Source]) -> io::Result<()> {
    let mut of_source = vec![0; sources.len()];
    for entry in matches.values() {
        let count = of_source.get_mut(entry.source.0);
        *count.ok_or_else(|| invalid("a match has no source"))? += 1;
        if !entry.state.is_consistent(sources.len()) {
            return Err(invalid("a match names what does not exist"));
        }
    }
    let counts = sources.iter().map(|source| source.matches);
    if matches.is_consistent() && counts.eq(of_source) {
        Ok(())
    } else {
        Err(invalid("the matches are not those of their sources"))
    }
}
