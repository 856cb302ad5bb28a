//! Publishes what a batch changed as numbered changes of channels: first the match, so that prices
//! can refer to its sequence; then the books, the consensus, and the board.

use std::{collections::BTreeSet, sync::Arc};

use facts::event::{Id, Sport};
use fanout::{Change, Publication, channel::Rate};

use super::{
    Header, Hub, MatchEntry, MatchSlot, channel_mut,
    feeds::FeedState,
    rate_tiers::{NumberedUpdate, TierTimers},
    sequence::{Stamp, TailWindow},
    state::{
        Book, BookDelta, BookEvent, BookPart, ConsensusKey, ExportMarks, Life, Match, MatchDelta,
        Moment, Play,
    },
};
use crate::{
    channels::{ChannelEntry, Subject},
    dialect::stream,
    document::{Node, Object},
    patch::Patch,
    wire,
};

impl Hub {
    /// Publishes what a batch changed in one match: first the match, then the books, the consensus,
    /// and the board.
    pub(super) fn publish_match(
        &mut self,
        slot: MatchSlot,
        delta: &MatchDelta,
        moment: Moment,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let entry = &mut self.matches[slot];
        if !self.makes_exports {
            entry.state.touched = ExportMarks::default();
        } else if !entry.is_changed {
            entry.is_changed = true;
            self.changed.push(entry.state.id);
        }
        let entry = &self.matches[slot];
        let id = entry.state.id;
        let has_channel = !matches!(entry.state.play, Play::None);
        let header = entry.channels.get(Subject::Match(id)).map(|entry| entry.header);
        // Prices change the match itself only by its header, such as when the last market closes.
        if has_channel && (delta.changes_play() || header != Some(self.match_header(entry))) {
            self.publish_play(slot, delta, moment, stamp, changes);
        }
        for book in &delta.replaced {
            self.close_book(id, *book, changes);
        }
        for book in &delta.books {
            self.publish_book(slot, book, stamp, changes);
        }
        let markets = self.publish_consensus(slot, delta, stamp, changes);
        self.publish_signals(slot, delta, &markets, moment, stamp, changes);
        self.relay(slot, delta, stamp, changes);
        self.note_end(slot, moment);
    }

    fn publish_play(
        &mut self,
        slot: MatchSlot,
        delta: &MatchDelta,
        moment: Moment,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let Match { id, sport, .. } = self.matches[slot].state;
        let subject = Subject::Match(id);
        let is_new = self.ensure_of_match(slot, subject, None, changes);
        let board_is_new = self.ensure(Subject::Board(sport), sport, changes);
        let entry = &self.matches[slot];
        let state = &entry.state;
        let before = entry.header(subject);
        let after = self.match_header(entry);
        let (patch, mut board) = if is_new {
            let mut board = Object::default();
            wire::board::line(board.object("matches"), state, after);
            (wire::match_image(state, after, self.settings.stale_after_ms), board)
        } else {
            let mut board = Object::default();
            wire::board::line_patch(&mut board, state, delta, before, after);
            (wire::match_patch(state, delta, before, after), board)
        };
        let events = wire::match_events(state, delta, moment);
        self.publish_of_match(slot, subject, (after, patch.into(), events), stamp, changes);
        let header = if board_is_new {
            wire::set_header(&mut board, self.board_header(sport));
            self.board_header(sport)
        } else {
            self.channel(Subject::Board(sport)).map_or(Header::EMPTY, |entry| entry.header)
        };
        self.publish(Subject::Board(sport), header, board, Vec::new(), stamp, changes);
    }

    fn publish_book(
        &mut self,
        slot: MatchSlot,
        delta: &BookDelta,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let entry = &mut self.matches[slot];
        let match_seq = entry.channels.match_seq();
        let book = &mut entry.state.books[delta.book];
        book.match_seq = match_seq;
        let slug = Arc::clone(&book.slug);
        let subject = Subject::Book(entry.state.id, delta.book);
        let is_new = self.ensure_of_match(slot, subject, Some(&slug), changes);
        let entry = &self.matches[slot];
        let book = &entry.state.books[delta.book];
        let before = entry.header(subject);
        let after = self.book_header(entry, book);
        let patch = if is_new {
            wire::book::image(book, after, self.settings.stale_after_ms).into()
        } else {
            wire::book::patch(book, delta, before, after)
        };
        let events = wire::book::events(book, &delta.events);
        self.publish_of_match(slot, subject, (after, patch, events), stamp, changes);
    }

    /// Returns the markets that were evaluated, changed or not.
    fn publish_consensus(
        &mut self,
        slot: MatchSlot,
        delta: &MatchDelta,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) -> BTreeSet<ConsensusKey> {
        let entry = &mut self.matches[slot];
        let markets = markets_in(delta, &entry.state.books);
        if markets.is_empty() && delta.replaced.is_empty() {
            return BTreeSet::new();
        }
        let subject = Subject::Consensus(entry.state.id);
        let number = entry.channels.get(subject).map_or(0, |entry| entry.sequence.head()) + 1;
        let Match { books, consensus, touched, .. } = &mut entry.state;
        let keys = consensus.keys_touched_by(&markets);
        let changed = consensus.refresh(books, &keys, number);
        touched.consensus.extend(changed.iter().map(|it| it.key.clone()));
        if changed.is_empty() {
            return keys;
        }
        let is_new = self.ensure_of_match(slot, subject, None, changes);
        let entry = &self.matches[slot];
        let state = &entry.state;
        let before = entry.header(subject);
        let after = self.consensus_header(entry);
        let patch = if is_new {
            wire::consensus::image(&state.consensus, after, self.settings.stale_after_ms).into()
        } else {
            wire::consensus::patch(&state.consensus, &changed, before, after)
        };
        let events = wire::consensus::events(&state.consensus, &changed, number);
        self.publish_of_match(slot, subject, (after, patch, events), stamp, changes);
        keys
    }

    /// Closes the channel of a book that another source has taken over; it reopens with an image.
    pub(super) fn close_book(&mut self, id: Id, book: usize, changes: &mut Vec<Change>) {
        let match_entry = self.matches.get_mut(id);
        if let Some(entry) = match_entry.and_then(|it| it.channels.close(Subject::Book(id, book))) {
            self.epochs.matches.0 = self.epochs.matches.0.wrapping_add(1);
            changes.push(Change::Closed(self.channels.unregister(entry)));
        }
    }

    /// Opens a channel that is not of one match if it does not exist; returns whether it is new.
    pub(super) fn ensure(
        &mut self,
        subject: Subject,
        sport: Sport,
        changes: &mut Vec<Change>,
    ) -> bool {
        let is_new = self.channels.shared(subject).is_none();
        if is_new {
            let entry = self.new_channel(subject, sport, None, changes);
            self.channels.open_shared(entry);
        }
        is_new
    }

    /// Opens a channel of a match if it does not exist; returns whether it is new.
    fn ensure_of_match(
        &mut self,
        slot: MatchSlot,
        subject: Subject,
        slug: Option<&Arc<str>>,
        changes: &mut Vec<Change>,
    ) -> bool {
        let MatchEntry { state, channels, .. } = &self.matches[slot];
        let (sport, is_new) = (state.sport, channels.get(subject).is_none());
        if is_new {
            let entry = self.new_channel(subject, sport, slug, changes);
            self.matches[slot].channels.open(entry);
        }
        is_new
    }

    fn new_channel(
        &mut self,
        subject: Subject,
        sport: Sport,
        slug: Option<&Arc<str>>,
        changes: &mut Vec<Change>,
    ) -> ChannelEntry {
        let name = self.channels.name_of(subject, sport, slug);
        let epoch = if matches!(subject, Subject::Feeds | Subject::Signals) {
            self.epochs.feeds
        } else {
            self.epochs.matches
        };
        let classes = self.channels.classes_of(subject, sport);
        let entry = self.channels.register(subject, name, (epoch, classes), Header::EMPTY);
        let mut base = Object::default();
        wire::set_header(&mut base, Header::EMPTY);
        base.set("stale_after_ms", self.settings.stale_after_ms);
        let channel = entry.sequence.channel.clone();
        let body =
            stream::FirstImageFrame { channel: channel.clone(), seq: 0, stamp: None, data: base };
        changes.push(Change::Opened(Arc::new(Publication::new(channel, 0, 0, Box::new(body)))));
        entry
    }

    /// Numbers a change and publishes it. Without a patch and events, nothing is numbered.
    pub(super) fn publish(
        &mut self,
        subject: Subject,
        header: Header,
        patch: impl Into<Patch>,
        events: Vec<Node>,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let window = self.settings.window;
        if let Some(entry) = channel_mut(&mut self.matches, &mut self.channels, subject) {
            let change = (header, patch.into(), events);
            entry.publish(change, stamp, window, &mut self.tier_timers, changes);
        }
    }

    /// The same for a channel of a match.
    fn publish_of_match(
        &mut self,
        slot: MatchSlot,
        subject: Subject,
        change: (Header, Patch, Vec<Node>),
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let window = self.settings.window;
        if let Some(entry) = self.matches[slot].channels.get_mut(subject) {
            entry.publish(change, stamp, window, &mut self.tier_timers, changes);
        }
    }
}

impl MatchEntry {
    /// The last published header of a channel.
    fn header(&self, subject: Subject) -> Header {
        self.channels.get(subject).map_or(Header::EMPTY, |entry| entry.header)
    }
}

impl ChannelEntry {
    fn publish(
        &mut self,
        (header, patch, events): (Header, Patch, Vec<Node>),
        stamp: Stamp,
        window: TailWindow,
        timers: &mut TierTimers,
        changes: &mut Vec<Change>,
    ) {
        if patch.is_empty() && events.is_empty() {
            return;
        }
        let urgent = suspends(self.header, header, &events);
        let is_end = header.life == Life::Ended && self.header.life != Life::Ended;
        let has_events = !events.is_empty() || is_end;
        self.header = header;
        self.stamp = Some(stamp);
        self.image = None;
        let prev = self.sequence.head();
        let update = self.sequence.push(stamp, patch, events, window);
        let channel = self.sequence.channel.clone();
        let body = stream::UpdateFrame {
            channel: channel.name.clone(),
            prev,
            update: Arc::clone(&update),
        };
        let publication = Publication::new(channel, prev, update.seq, Box::new(body));
        let publication = publication.urgent(urgent).with_events(has_events);
        let publication = Arc::new(publication.published(stamp.published));
        self.sequence.set_publication(&publication);
        changes.push(Change::Published(Rate::Each, Arc::clone(&publication)));
        let change = NumberedUpdate { update, publication };
        self.tiers.take(self.subject, &change, timers, changes);
    }
}

/// Whether a change makes prices unreliable: the document or one of its markets becomes suspended,
/// or its source is no longer live. Such a change is sent ahead of pending updates.
fn suspends(before: Header, after: Header, events: &[Node]) -> bool {
    let suspended = |header: Header| header.suspended == Some(true);
    let is_suspension = |event: &Node| matches!(event, Node::Object(it) if it.get(&"kind".into()) == Some(&Node::Word("suspend")));
    suspended(after) && !suspended(before)
        || after.life == Life::Suspended && before.life != Life::Suspended
        || after.feed != FeedState::Live && before.feed == FeedState::Live
        || events.iter().any(is_suspension)
}

/// The markets whose contribution to the consensus may have changed. Ladder levels do not contribute.
fn markets_in(delta: &MatchDelta, books: &[Book]) -> Vec<(usize, usize)> {
    let guarded =
        |book: &&BookDelta| book.events.iter().any(|it| matches!(it, BookEvent::Guard(_)));
    let guarded = delta.books.iter().filter(guarded).map(|book| book.book);
    let whole = guarded.chain(delta.replaced.iter().copied());
    let whole = whole.flat_map(|book| (0..books[book].markets.len()).map(move |it| (book, it)));
    let counts = |part: &&BookPart| matches!(part, BookPart::Definition(_) | BookPart::Price(..));
    let places = delta.books.iter().flat_map(|book| {
        let index = book.book;
        book.parts.iter().filter(counts).map(move |part| (index, part.market()))
    });
    let mut markets: Vec<(usize, usize)> = places.chain(whole).collect();
    markets.sort_unstable();
    markets.dedup();
    markets
}
