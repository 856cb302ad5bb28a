//! The channels: their subjects and names.
//!
//! Owns the sequences and the tiers. Does not know who follows a channel, nor what an update means.

use std::{collections::HashMap, sync::Arc};

use fanout::{ChannelId, Classes, Epoch, Pattern, channel::Channel};
use ingest::event::{Id, Sport};
use rustc_hash::FxHashMap;

use crate::hub::{Header, rate_tiers::RateTiers, sequence::Sequence};

/// What a channel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    Match(Id),
    Consensus(Id),
    /// By the book's index in its match.
    Book(Id, usize),
    Board(Sport),
    Feeds,
    /// The signals of all matches.
    Signals,
}

/// One channel, with its last published header.
#[derive(Debug)]
pub struct ChannelEntry {
    pub subject: Subject,
    pub sequence: Sequence,
    /// The channel at lower rates.
    pub tiers: RateTiers,
    pub header: Header,
    /// The cached image frame with its sequence.
    pub image: Option<(fanout::Seq, bytes::Bytes)>,
    /// The timestamps of the last change.
    pub stamp: Option<crate::hub::sequence::Stamp>,
}

/// All channels.
#[derive(Debug, Default)]
pub struct Channels {
    /// Looked up several times per change. Subjects contain numbers that no feed can choose, so a
    /// hash without collision resistance is safe.
    entries: FxHashMap<Subject, ChannelEntry>,
    names: HashMap<ChannelId, Subject>,
    numbers: u32,
}

impl Channels {
    /// The name of a channel.
    #[must_use]
    pub fn name(subject: Subject, sport: Sport, slug: Option<&Arc<str>>) -> ChannelId {
        let sport = sport.as_str();
        ChannelId::new(match (subject, slug) {
            (Subject::Match(id), _) => format!("{sport}/{id}"),
            (Subject::Book(id, _), Some(slug)) => format!("{sport}/{id}/odds/{slug}"),
            (Subject::Consensus(id) | Subject::Book(id, _), _) => format!("{sport}/{id}/odds"),
            (Subject::Board(sport), _) => sport.as_str().to_owned(),
            (Subject::Feeds, _) => "feeds".to_owned(),
            (Subject::Signals, _) => "signals".to_owned(),
        })
    }

    /// Opens a channel that requires these classes. Its sequence begins at 0, the empty document.
    pub fn open(
        &mut self,
        subject: Subject,
        name: ChannelId,
        (epoch, needs): (Epoch, Classes),
        header: Header,
    ) -> &ChannelEntry {
        let number = self.next_number();
        let deliver_last = subject == Subject::Feeds;
        let channel = Channel { number, name: name.clone(), epoch, deliver_last, needs };
        let sequence = Sequence::new(channel);
        let tiers = RateTiers::default();
        let entry = ChannelEntry { subject, sequence, tiers, header, image: None, stamp: None };
        self.names.insert(name, subject);
        self.entries.entry(subject).or_insert(entry)
    }

    /// A number that was never used.
    pub fn next_number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    /// Removes a channel.
    pub fn close(&mut self, subject: Subject) -> Option<Channel> {
        let entry = self.entries.remove(&subject)?;
        self.names.remove(&entry.sequence.channel.name);
        Some(entry.sequence.channel)
    }

    #[must_use]
    pub fn get(&self, subject: Subject) -> Option<&ChannelEntry> {
        self.entries.get(&subject)
    }

    pub fn get_mut(&mut self, subject: Subject) -> Option<&mut ChannelEntry> {
        self.entries.get_mut(&subject)
    }

    /// The sports that have a board.
    #[must_use]
    pub fn boards(&self) -> Vec<Sport> {
        let boards = self.entries.keys().filter_map(|subject| match subject {
            Subject::Board(sport) => Some(*sport),
            _ => None,
        });
        let mut boards: Vec<Sport> = boards.collect();
        boards.sort_unstable();
        boards
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut ChannelEntry> {
        self.entries.values_mut()
    }

    /// The subject of the channel of this name.
    #[must_use]
    pub fn subject(&self, name: &str) -> Option<Subject> {
        self.names.get(&ChannelId::new(name)).copied()
    }

    /// The channels that match a pattern, by name.
    #[must_use]
    pub fn matching(&self, pattern: &Pattern) -> Vec<Channel> {
        let matching = self.entries.values().map(|entry| &entry.sequence.channel);
        let mut found: Vec<Channel> =
            matching.filter(|channel| pattern.matches(&channel.name)).cloned().collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
