//! The channels: their subjects and names.
//!
//! A match owns its channels ([`MatchChannels`]) with their sequences, tails and rate tiers; the
//! others are in [`Channels`], with the names and numbers of all. Does not know who follows a
//! channel, nor what an update means.

use std::{collections::HashMap, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Id, Sport};
use fanout::{
    ChannelId, Classes, Epoch, Seq,
    channel::{Channel, ChannelInfo, TEST_ROOT},
};
use rustc_hash::FxHashMap;

use crate::hub::{
    Header,
    rate_tiers::RateTiers,
    sequence::{Sequence, Stamp},
};

/// What a channel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(BorshSerialize, BorshDeserialize)]
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

/// Channels of other sports than football and tennis.
pub const OTHER_SPORTS: Classes = Classes(1);

/// Channels with prices of named bookmakers.
pub const BOOK_PRICES: Classes = Classes(2);

impl Subject {
    /// The match that the channel is of.
    #[must_use]
    pub fn match_id(self) -> Option<Id> {
        match self {
            Self::Match(id) | Self::Consensus(id) | Self::Book(id, _) => Some(id),
            Self::Board(_) | Self::Feeds | Self::Signals => None,
        }
    }

    /// The classes of content that the channel belongs to. `sport` is that of its match. What a
    /// subscriber needs to follow a class is not known here.
    #[must_use]
    pub fn classes(self, sport: Sport) -> Classes {
        let sport = if let Self::Board(of_board) = self { of_board } else { sport };
        let of_sport = if sport.profile().is_of_addon { OTHER_SPORTS } else { Classes::NONE };
        match self {
            Self::Match(_) | Self::Consensus(_) | Self::Board(_) => of_sport,
            Self::Book(..) => of_sport.and(BOOK_PRICES),
            Self::Feeds => Classes::NONE,
            Self::Signals => BOOK_PRICES,
        }
    }
}

/// What a channel name requires, whether there is such a channel or not: the same as [`Subject::classes`].
#[must_use]
pub fn needs_of_name(name: &str) -> Classes {
    let mut segments = name.split('/');
    let of_sport = match segments.next().unwrap_or_default() {
        "feeds" => Classes::NONE,
        "signals" => BOOK_PRICES,
        word => match Sport::from_word(word) {
            Some(sport) if !sport.profile().is_of_addon => Classes::NONE,
            _ => OTHER_SPORTS,
        },
    };
    match (segments.next(), segments.next(), segments.next()) {
        (Some(_), Some("odds"), Some(_)) => of_sport.and(BOOK_PRICES),
        _ => of_sport,
    }
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
    pub image: Option<(Seq, bytes::Bytes)>,
    /// The cached hash of the document with its sequence.
    pub hash: Option<(Seq, fanout::catch_up::DocumentHash)>,
    /// The timestamps of the last change.
    pub stamp: Option<Stamp>,
}

/// The channels that are not of one match, and the names and numbers of all.
#[derive(Debug, Default)]
pub struct Channels {
    /// Boards, `feeds` and `signals`.
    shared: FxHashMap<Subject, ChannelEntry>,
    names: HashMap<ChannelId, Subject>,
    numbers: u32,
    /// They are test channels.
    are_tests: bool,
}

/// The channels of one match.
#[derive(Debug, Default)]
pub struct MatchChannels {
    match_channel: Option<Box<ChannelEntry>>,
    consensus: Option<Box<ChannelEntry>>,
    /// By the book's index in the match.
    books: Vec<Option<Box<ChannelEntry>>>,
}

impl ChannelEntry {
    /// A channel that no reader follows, without a tail.
    pub(crate) fn restored(
        subject: Subject,
        channel: Channel,
        head: Seq,
        header: Header,
        stamp: Option<Stamp>,
    ) -> Self {
        let sequence = Sequence::restored(channel, head);
        Self {
            subject,
            sequence,
            tiers: RateTiers::default(),
            header,
            image: None,
            hash: None,
            stamp,
        }
    }

    /// A copy that no reader follows, without the tail.
    fn without_readers(&self) -> Self {
        let Self { subject, sequence, header, stamp, .. } = self;
        Self::restored(*subject, sequence.channel.clone(), sequence.head(), *header, *stamp)
    }
}

impl Channels {
    /// Copies that no reader follows, without tails.
    pub(crate) fn without_readers(&self) -> Self {
        let shared = self.shared.iter();
        let shared = shared.map(|(subject, entry)| (*subject, entry.without_readers()));
        let Self { names, numbers, are_tests, .. } = self;
        let (names, numbers, are_tests) = (names.clone(), *numbers, *are_tests);
        Self { shared: shared.collect(), names, numbers, are_tests }
    }

    /// Channels below [`TEST_ROOT`], of one match of each sport at most. Their numbers begin after `numbers`.
    pub(crate) fn of_tests(numbers: u32) -> Self {
        Self { numbers, are_tests: true, ..Self::default() }
    }

    /// The name of a channel of this hub.
    #[must_use]
    pub fn name_of(&self, subject: Subject, sport: Sport, slug: Option<&Arc<str>>) -> ChannelId {
        if !self.are_tests {
            return Self::name(subject, sport, slug);
        }
        let sport = sport.as_str();
        ChannelId::new(match (subject, slug) {
            (Subject::Match(_), _) => format!("{TEST_ROOT}/{sport}"),
            (Subject::Book(..), Some(slug)) => format!("{TEST_ROOT}/{sport}/odds/{slug}"),
            (Subject::Consensus(_) | Subject::Book(..), _) => format!("{TEST_ROOT}/{sport}/odds"),
            (Subject::Board(sport), _) => format!("{TEST_ROOT}/boards/{}", sport.as_str()),
            (Subject::Feeds, _) => format!("{TEST_ROOT}/feeds"),
            (Subject::Signals, _) => format!("{TEST_ROOT}/signals"),
        })
    }

    /// The classes that a connection must have to follow a channel of this hub. Everybody may follow test channels.
    #[must_use]
    pub fn classes_of(&self, subject: Subject, sport: Sport) -> Classes {
        if self.are_tests { Classes::NONE } else { subject.classes(sport) }
    }

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

    /// Makes a channel of these classes, and registers its name. Its sequence begins at 0, the empty
    /// document.
    pub fn register(
        &mut self,
        subject: Subject,
        name: ChannelId,
        (epoch, needs): (Epoch, Classes),
        header: Header,
    ) -> ChannelEntry {
        let number = self.next_number();
        let deliver_last = subject == Subject::Feeds;
        let channel = ChannelInfo { number, name: name.clone(), epoch, deliver_last, needs };
        let sequence = Sequence::new(channel.into());
        let tiers = RateTiers::default();
        self.names.insert(name, subject);
        ChannelEntry { subject, sequence, tiers, header, image: None, hash: None, stamp: None }
    }

    /// The channels after a restart: how many numbers were used, and those that are not of one match.
    pub(crate) fn restored(numbers: u32, shared: Vec<ChannelEntry>) -> Self {
        let shared = shared.into_iter().map(|entry| (entry.subject, entry)).collect();
        Self { shared, names: HashMap::new(), numbers, are_tests: false }
    }

    /// Registers the name of a restored channel; false if another one has it.
    pub(crate) fn restore_name(&mut self, name: ChannelId, subject: Subject) -> bool {
        self.names.insert(name, subject).is_none()
    }

    /// How many numbers were used.
    pub(crate) fn numbers(&self) -> u32 {
        self.numbers
    }

    /// Forgets the name of a channel that is closed.
    pub fn unregister(&mut self, entry: ChannelEntry) -> Channel {
        self.names.remove(&entry.sequence.channel.name);
        entry.sequence.channel
    }

    /// Opens a channel that is not of one match.
    pub fn open_shared(&mut self, entry: ChannelEntry) {
        self.shared.insert(entry.subject, entry);
    }

    /// A number that was never used.
    pub fn next_number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    /// A channel that is not of one match.
    #[must_use]
    pub fn shared(&self, subject: Subject) -> Option<&ChannelEntry> {
        self.shared.get(&subject)
    }

    pub fn shared_mut(&mut self, subject: Subject) -> Option<&mut ChannelEntry> {
        self.shared.get_mut(&subject)
    }

    /// The channels that are not of one match.
    pub fn all_shared(&self) -> impl Iterator<Item = &ChannelEntry> {
        self.shared.values()
    }

    pub fn all_shared_mut(&mut self) -> impl Iterator<Item = &mut ChannelEntry> {
        self.shared.values_mut()
    }

    /// The sports that have a board.
    #[must_use]
    pub fn boards(&self) -> Vec<Sport> {
        let boards = self.shared.keys().filter_map(|subject| match subject {
            Subject::Board(sport) => Some(*sport),
            _ => None,
        });
        let mut boards: Vec<Sport> = boards.collect();
        boards.sort_unstable();
        boards
    }

    /// The subject of the channel of this name.
    #[must_use]
    pub fn subject(&self, name: &str) -> Option<Subject> {
        self.names.get(&ChannelId::new(name)).copied()
    }

    /// The number of all channels.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl MatchChannels {
    /// Copies that no reader follows, without tails.
    pub(crate) fn without_readers(&self) -> Self {
        let copy = |entry: &Option<Box<ChannelEntry>>| {
            entry.as_deref().map(|entry| Box::new(entry.without_readers()))
        };
        let (match_channel, consensus) = (copy(&self.match_channel), copy(&self.consensus));
        Self { match_channel, consensus, books: self.books.iter().map(copy).collect() }
    }

    /// The channel of this subject, if it is one of this match.
    #[must_use]
    pub fn get(&self, subject: Subject) -> Option<&ChannelEntry> {
        match subject {
            Subject::Match(_) => self.match_channel.as_deref(),
            Subject::Consensus(_) => self.consensus.as_deref(),
            Subject::Book(_, book) => self.books.get(book)?.as_deref(),
            Subject::Board(_) | Subject::Feeds | Subject::Signals => None,
        }
    }

    pub fn get_mut(&mut self, subject: Subject) -> Option<&mut ChannelEntry> {
        self.slot(subject)?.as_deref_mut()
    }

    /// Opens a channel of this match.
    pub fn open(&mut self, entry: ChannelEntry) {
        if let Subject::Book(_, book) = entry.subject
            && self.books.len() <= book
        {
            self.books.resize_with(book + 1, || None);
        }
        if let Some(slot) = self.slot(entry.subject) {
            *slot = Some(Box::new(entry));
        }
    }

    /// Closes a channel.
    pub fn close(&mut self, subject: Subject) -> Option<ChannelEntry> {
        self.slot(subject)?.take().map(|entry| *entry)
    }

    /// Closes all channels: those of books, the consensus, the match.
    pub fn into_all(self) -> impl Iterator<Item = ChannelEntry> {
        let books = self.books.into_iter().flatten();
        books.chain(self.consensus).chain(self.match_channel).map(|entry| *entry)
    }

    /// All channels.
    pub fn iter(&self) -> impl Iterator<Item = &ChannelEntry> {
        let books = self.books.iter().flatten();
        books.chain(&self.consensus).chain(&self.match_channel).map(|entry| &**entry)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut ChannelEntry> {
        let books = self.books.iter_mut().flatten();
        books.chain(&mut self.consensus).chain(&mut self.match_channel).map(|entry| &mut **entry)
    }

    /// The sequence of the match's own channel, which its prices reflect.
    #[must_use]
    pub fn match_seq(&self) -> Option<Seq> {
        self.match_channel.as_ref().map(|entry| entry.sequence.head())
    }

    fn slot(&mut self, subject: Subject) -> Option<&mut Option<Box<ChannelEntry>>> {
        match subject {
            Subject::Match(_) => Some(&mut self.match_channel),
            Subject::Consensus(_) => Some(&mut self.consensus),
            Subject::Book(_, book) => self.books.get_mut(book),
            Subject::Board(_) | Subject::Feeds | Subject::Signals => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name and what it shows need the same, or REST and sockets would differ.
    #[test]
    fn name_requires_the_classes_of_its_channel() {
        let slug: Arc<str> = "acme".into();
        for sport in Sport::ALL {
            let id = Id(7);
            for subject in [
                Subject::Match(id),
                Subject::Consensus(id),
                Subject::Book(id, 0),
                Subject::Board(sport),
                Subject::Feeds,
                Subject::Signals,
            ] {
                let name = Channels::name(subject, sport, Some(&slug));
                let (by_name, by_subject) = (needs_of_name(name.as_str()), subject.classes(sport));
                assert_eq!(by_name, by_subject, "{name}");
            }
        }
        assert_eq!(needs_of_name("darts/7/odds/acme"), OTHER_SPORTS.and(BOOK_PRICES));
        assert_eq!(needs_of_name("football/7/odds"), Classes::NONE);
    }
}
