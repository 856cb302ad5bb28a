//! Publishes what a batch changed as numbered changes of channels: first the match, so that prices
//! can refer to its sequence; then the books, the consensus, and the board.

use std::sync::Arc;

use fanout::{Change, Publication, channel::Rate};
use ingest::event::{Id, Sport};

use super::{
    Header, Hub,
    feeds::FeedState,
    rate_tiers::NumberedUpdate,
    sequence::Stamp,
    state::{
        Book, BookDelta, BookEvent, BookPart, ConsensusKey, Life, Match, MatchDelta, Moment, Play,
    },
};
use crate::{
    channels::{Channels, Subject},
    dialect::stream,
    document::{Node, Object},
    entitlement::needs,
    wire,
};

impl Hub {
    /// Publishes what a batch changed in one match: first the match, then the books, the consensus,
    /// and the board.
    pub(super) fn publish_match(
        &mut self,
        id: Id,
        delta: &MatchDelta,
        moment: Moment,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        self.changed.insert(id);
        let sport = self.matches[&id].state.sport;
        let followed = !matches!(self.matches[&id].state.play, Play::None);
        if followed {
            self.publish_play(id, sport, delta, moment, stamp, changes);
        }
        for book in &delta.replaced {
            self.close_book(id, *book, changes);
        }
        for book in &delta.books {
            self.publish_book(id, sport, book, stamp, changes);
        }
        let markets = self.publish_consensus(id, sport, delta, stamp, changes);
        self.publish_signals(id, delta, &markets, moment, stamp, changes);
        self.relay(id, delta, stamp, changes);
        self.note_end(id, moment);
    }

    fn publish_play(
        &mut self,
        id: Id,
        sport: Sport,
        delta: &MatchDelta,
        moment: Moment,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let is_new = self.ensure(Subject::Match(id), sport, None, changes);
        let board_is_new = self.ensure(Subject::Board(sport), sport, None, changes);
        let state = &self.matches[&id].state;
        let before = self.channels.get(Subject::Match(id)).map_or(Header::EMPTY, |e| e.header);
        let after = self.match_header(&self.matches[&id]);
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
        self.publish(Subject::Match(id), after, patch, events, stamp, changes);
        let header = if board_is_new {
            wire::set_header(&mut board, self.board_header(sport));
            self.board_header(sport)
        } else {
            self.channels.get(Subject::Board(sport)).map_or(Header::EMPTY, |entry| entry.header)
        };
        self.publish(Subject::Board(sport), header, board, Vec::new(), stamp, changes);
    }

    fn publish_book(
        &mut self,
        id: Id,
        sport: Sport,
        delta: &BookDelta,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let match_seq = self.channels.get(Subject::Match(id)).map(|entry| entry.sequence.head());
        let known = self.matches.get_mut(&id).expect("a changed match is known");
        let book = &mut known.state.books[delta.book];
        book.match_seq = match_seq;
        let slug = Arc::clone(&book.slug);
        let subject = Subject::Book(id, delta.book);
        let is_new = self.ensure(subject, sport, Some(&slug), changes);
        let book = &self.matches[&id].state.books[delta.book];
        let before = self.channels.get(subject).map_or(Header::EMPTY, |entry| entry.header);
        let after = self.book_header(id, book);
        let patch = if is_new {
            wire::book::image(book, after, self.settings.stale_after_ms)
        } else {
            wire::book::patch(book, delta, before, after)
        };
        let events = wire::book::events(book, &delta.events);
        self.publish(subject, after, patch, events, stamp, changes);
    }

    /// Returns the markets that were evaluated, changed or not.
    fn publish_consensus(
        &mut self,
        id: Id,
        sport: Sport,
        delta: &MatchDelta,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) -> Vec<ConsensusKey> {
        let known = self.matches.get(&id).expect("a changed match is known");
        let markets = markets_in(delta, &known.state.books);
        if markets.is_empty() && delta.replaced.is_empty() {
            return Vec::new();
        }
        let subject = Subject::Consensus(id);
        let number = self.channels.get(subject).map_or(0, |entry| entry.sequence.head()) + 1;
        let known = self.matches.get_mut(&id).expect("a changed match is known");
        let Match { books, consensus, .. } = &mut known.state;
        let keys = consensus.keys_touched_by(&markets);
        let changed = consensus.refresh(books, &markets, number);
        if changed.is_empty() {
            return keys;
        }
        let is_new = self.ensure(subject, sport, None, changes);
        let known = &self.matches[&id];
        let state = &known.state;
        let before = self.channels.get(subject).map_or(Header::EMPTY, |entry| entry.header);
        let after = self.consensus_header(known);
        let patch = if is_new {
            wire::consensus::image(&state.consensus, after, self.settings.stale_after_ms)
        } else {
            wire::consensus::patch(&state.consensus, &changed, before, after)
        };
        let events = wire::consensus::events(&state.consensus, &changed, number);
        self.publish(subject, after, patch, events, stamp, changes);
        keys
    }

    /// Closes the channel of a book that another source has taken over; it reopens with an image.
    pub(super) fn close_book(&mut self, id: Id, book: usize, changes: &mut Vec<Change>) {
        if let Some(channel) = self.channels.close(Subject::Book(id, book)) {
            self.epochs.matches.0 = self.epochs.matches.0.wrapping_add(1);
            changes.push(Change::Closed(channel));
        }
    }

    /// Opens a channel if it does not exist; returns whether it is new.
    pub(super) fn ensure(
        &mut self,
        subject: Subject,
        sport: Sport,
        slug: Option<&Arc<str>>,
        changes: &mut Vec<Change>,
    ) -> bool {
        if self.channels.get(subject).is_some() {
            return false;
        }
        let name = Channels::name(subject, sport, slug);
        let epoch = if matches!(subject, Subject::Feeds | Subject::Signals) {
            self.epochs.feeds
        } else {
            self.epochs.matches
        };
        let entry =
            self.channels.open(subject, name, (epoch, needs(subject, sport)), Header::EMPTY);
        let mut base = Object::default();
        wire::set_header(&mut base, Header::EMPTY);
        base.set("stale_after_ms", self.settings.stale_after_ms);
        let channel = entry.sequence.channel.clone();
        let body = stream::BaseImageFrame { channel: channel.clone(), data: base };
        changes.push(Change::Opened(Arc::new(Publication::new(channel, 0, 0, Box::new(body)))));
        true
    }

    /// Numbers a change and publishes it. Without a patch and events, nothing is numbered.
    pub(super) fn publish(
        &mut self,
        subject: Subject,
        header: Header,
        patch: Object,
        events: Vec<Node>,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        if patch.is_empty() && events.is_empty() {
            return;
        }
        let Some(entry) = self.channels.get_mut(subject) else { return };
        let urgent = suspends(entry.header, header, &events);
        entry.header = header;
        entry.stamp = Some(stamp);
        entry.image = None;
        let prev = entry.sequence.head();
        let update = entry.sequence.push(stamp, patch, events, self.settings.window);
        let channel = entry.sequence.channel.clone();
        let body = stream::UpdateFrame {
            channel: channel.name.clone(),
            prev,
            update: Arc::clone(&update),
        };
        let publication = Publication::new(channel, prev, update.seq, Box::new(body));
        let publication = Arc::new(publication.urgent(urgent).published(stamp.published));
        changes.push(Change::Published(Rate::Each, Arc::clone(&publication)));
        let change = NumberedUpdate { update, publication };
        entry.tiers.take(subject, &change, &mut self.tier_timers, changes);
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
        let place = book.book;
        book.parts.iter().filter(counts).map(move |part| (place, part.market()))
    });
    let mut markets: Vec<(usize, usize)> = places.chain(whole).collect();
    markets.sort_unstable();
    markets.dedup();
    markets
}
