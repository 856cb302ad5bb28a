//! The hub: the one writer. Facts go in, numbered changes of channels come out.
//!
//! It owns what is known of every match and the sequence of every channel. It is plain synchronous
//! state: no socket, no clock (time is passed in), no thread. Public shapes are `wire`'s.

pub mod feeds;
pub mod sequence;
pub mod state;

use std::{collections::HashMap, sync::Arc};

use fanout::{Change, Epoch, Micros, Publication};
use ingest::event::{Batch, Event, Fact, Id, Sport};

use self::{
    feeds::{Feed, Source, SourceNumber},
    sequence::{Stamp, Window},
    state::{BookPart, Life, Match, Moment, Play, Touched, TouchedBook},
};
use crate::{
    channels::{Channels, Entry, Subject},
    dialect::stream,
    document::{Node, Object},
    wire,
};

/// What the hub may keep, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub window: Window,
    /// Matches known at a time. Past it the match that ended first goes, else new ones are refused.
    pub matches_max: usize,
    /// How long a match that has ended is kept, in microseconds.
    pub ended_keep_us: Micros,
    /// After how much silence a document is stale: told to clients, in milliseconds.
    pub stale_after_ms: u32,
}

/// The epochs of a run. Channels whose every change follows from the sources alone may take up an
/// earlier run's epoch where the sources play the very same again; others never may.
#[derive(Debug, Clone, Copy)]
pub struct Epochs {
    pub matches: Epoch,
    pub feeds: Epoch,
}

#[derive(Debug)]
pub struct Hub {
    settings: Settings,
    epochs: Epochs,
    matches: HashMap<Id, Known>,
    sources: Vec<Source>,
    pub(crate) channels: Channels,
    /// The sources as they were last published; their counts move on in between.
    feeds_published: Object,
    feeds_due: Micros,
}

/// A match and where its facts come from.
#[derive(Debug)]
struct Known {
    state: Match,
    source: SourceNumber,
}

/// The fields that every document has, and some that several have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub life: Life,
    pub feed: Feed,
    pub status: Option<&'static str>,
    pub suspended: Option<bool>,
    pub match_seq: Option<u64>,
}

/// Something in a batch could not be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    #[error("match {0} was never introduced")]
    UnknownMatch(Id),
    #[error("match {0} is of another sport")]
    OtherSport(Id),
    #[error("match {0} is one too many: {1} are in play already")]
    TooManyMatches(Id, usize),
}

/// How often the counts of the `feeds` channel are published, in microseconds.
const FEEDS_EVERY_US: Micros = 1_000_000;

impl Header {
    /// Of a document in which nothing is known yet.
    const EMPTY: Self = Self {
        life: Life::Prematch,
        feed: Feed::Live,
        status: None,
        suspended: None,
        match_seq: None,
    };
}

impl Hub {
    #[must_use]
    pub fn new(settings: Settings, epochs: Epochs) -> Self {
        Self {
            settings,
            epochs,
            matches: HashMap::new(),
            sources: Vec::new(),
            channels: Channels::default(),
            feeds_published: Object::default(),
            feeds_due: 0,
        }
    }

    /// Announces a source. Its facts carry the number that is returned.
    pub fn source(&mut self, name: Arc<str>, kind: &'static str) -> SourceNumber {
        self.sources.push(Source::new(name, kind));
        SourceNumber(self.sources.len() - 1)
    }

    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    #[must_use]
    pub fn matches(&self) -> usize {
        self.matches.len()
    }

    // ------------------------------------------------------------------------------ facts

    /// Applies all of one message. What could not be applied is returned beside the changes.
    pub fn apply(
        &mut self,
        source: SourceNumber,
        batch: &Batch,
        received: Micros,
        now: Micros,
        changes: &mut Vec<Change>,
    ) -> Vec<ApplyError> {
        self.sources[source.0].heard(batch.price_changes, received);
        let moment = Moment { source: batch.at, received };
        let mut all_touched: Vec<(Id, Touched)> = Vec::new();
        let mut errors = Vec::new();
        for event in &batch.events {
            match self.apply_event(source, event, moment, changes, &mut all_touched) {
                Ok(()) => {}
                Err(error) if errors.last() == Some(&error) => {}
                Err(error) => errors.push(error),
            }
        }
        let stamp = Stamp { source: batch.at, received, published: now };
        for (id, touched) in all_touched {
            self.publish_match(id, &touched, moment, stamp, changes);
        }
        self.let_go(source, moment.best(), stamp, changes);
        errors
    }

    fn apply_event(
        &mut self,
        source: SourceNumber,
        event: &Event,
        moment: Moment,
        changes: &mut Vec<Change>,
        all_touched: &mut Vec<(Id, Touched)>,
    ) -> Result<(), ApplyError> {
        let id = event.match_id;
        if !self.matches.contains_key(&id) {
            self.introduce(source, event, moment, changes, all_touched)?;
        }
        let place = all_touched.iter().position(|(own, _)| *own == id).unwrap_or_else(|| {
            all_touched.push((id, Touched::default()));
            all_touched.len() - 1
        });
        let known = self.matches.get_mut(&id).ok_or(ApplyError::UnknownMatch(id))?;
        if known.state.apply(&event.fact, moment, &mut all_touched[place].1) {
            Ok(())
        } else {
            Err(ApplyError::OtherSport(id))
        }
    }

    fn introduce(
        &mut self,
        source: SourceNumber,
        event: &Event,
        moment: Moment,
        changes: &mut Vec<Change>,
        all_touched: &mut Vec<(Id, Touched)>,
    ) -> Result<(), ApplyError> {
        let id = event.match_id;
        let Fact::Fixture(fixture) = &event.fact else { return Err(ApplyError::UnknownMatch(id)) };
        if self.matches.len() >= self.settings.matches_max {
            let Some(first) = self.first_ended() else {
                return Err(ApplyError::TooManyMatches(id, self.matches.len()));
            };
            let now = moment.received;
            let stamp = Stamp { source: moment.source, received: now, published: now };
            self.remove(first, stamp, changes);
            // What this very batch said of it goes with it.
            all_touched.retain(|(own, _)| *own != first);
        }
        let state = Match::new(id, event.sport, fixture.clone());
        self.matches.insert(id, Known { state, source });
        Ok(())
    }

    // ---------------------------------------------------------------------------- channels

    /// Publishes what a batch changed in one match: the match itself first, so that prices can say
    /// what they have seen of it; then the books, what they add up to, and the board.
    fn publish_match(
        &mut self,
        id: Id,
        touched: &Touched,
        moment: Moment,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let sport = self.matches[&id].state.sport;
        let followed = !matches!(self.matches[&id].state.play, Play::None);
        if followed {
            self.publish_play(id, sport, touched, moment, stamp, changes);
        }
        for book in &touched.books {
            self.publish_book(id, sport, book, stamp, changes);
        }
        self.publish_consensus(id, sport, &touched.books, stamp, changes);
        self.note_end(id, moment);
    }

    fn publish_play(
        &mut self,
        id: Id,
        sport: Sport,
        touched: &Touched,
        moment: Moment,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let is_new = self.ensure(Subject::Match(id), sport, None, changes);
        let board_is_new = self.ensure(Subject::Board(sport), sport, None, changes);
        let Known { state, source } = &self.matches[&id];
        let before = self.channels.get(Subject::Match(id)).map_or(Header::EMPTY, |e| e.header);
        let after = match_header(state, self.sources[source.0].state);
        let (patch, mut board) = if is_new {
            let mut board = Object::default();
            wire::board::line(board.object("matches"), state, after);
            (wire::match_image(state, after, self.settings.stale_after_ms), board)
        } else {
            let mut board = Object::default();
            wire::board::line_patch(&mut board, state, touched, before, after);
            (wire::match_patch(state, touched, before, after), board)
        };
        let events = wire::match_events(state, touched, moment);
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
        touched: &TouchedBook,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let match_seq = self.channels.get(Subject::Match(id)).map(|entry| entry.sequence.head());
        let known = self.matches.get_mut(&id).expect("a touched match is known");
        let book = &mut known.state.books[touched.book];
        book.match_seq = match_seq;
        let slug = Arc::clone(&book.slug);
        let subject = Subject::Book(id, touched.book);
        let is_new = self.ensure(subject, sport, Some(&slug), changes);
        let Known { state, source } = &self.matches[&id];
        let book = &state.books[touched.book];
        let before = self.channels.get(subject).map_or(Header::EMPTY, |entry| entry.header);
        let after = Header {
            life: book.life(),
            feed: self.sources[source.0].state,
            status: None,
            suspended: Some(book.is_suspended()),
            match_seq,
        };
        let patch = if is_new {
            wire::book::image(book, after, self.settings.stale_after_ms)
        } else {
            wire::book::patch(book, touched, before, after)
        };
        let events = wire::book::events(book, &touched.events);
        self.publish(subject, after, patch, events, stamp, changes);
    }

    fn publish_consensus(
        &mut self,
        id: Id,
        sport: Sport,
        touched: &[TouchedBook],
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        let markets = touched_markets(touched);
        let subject = Subject::Consensus(id);
        let number = self.channels.get(subject).map_or(0, |entry| entry.sequence.head()) + 1;
        let known = self.matches.get_mut(&id).expect("a touched match is known");
        let Match { books, consensus, .. } = &mut known.state;
        let changed = consensus.refresh(books, &markets, number);
        if changed.is_empty() {
            return;
        }
        let is_new = self.ensure(subject, sport, None, changes);
        let Known { state, source } = &self.matches[&id];
        let feed = self.sources[source.0].state;
        let before = self.channels.get(subject).map_or(Header::EMPTY, |entry| entry.header);
        let match_seq = self.channels.get(Subject::Match(id)).map(|entry| entry.sequence.head());
        let after = consensus_header(state, feed, match_seq);
        let patch = if is_new {
            wire::consensus::image(&state.consensus, after, self.settings.stale_after_ms)
        } else {
            wire::consensus::patch(&state.consensus, &changed, before, after)
        };
        let events = wire::consensus::events(&state.consensus, &changed, number);
        self.publish(subject, after, patch, events, stamp, changes);
    }

    /// Makes sure that a channel exists; returns whether it is new.
    fn ensure(
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
        let epoch = if subject == Subject::Feeds { self.epochs.feeds } else { self.epochs.matches };
        let entry = self.channels.open(subject, name, epoch, Header::EMPTY);
        let mut base = Object::default();
        wire::set_header(&mut base, Header::EMPTY);
        base.set("stale_after_ms", self.settings.stale_after_ms);
        let channel = entry.sequence.channel.clone();
        let body = stream::BaseImage { channel: channel.clone(), data: base };
        changes.push(Change::Opened(Arc::new(Publication::new(channel, 0, 0, Box::new(body)))));
        true
    }

    /// Numbers a change and hands it out. Nothing changed and nothing happened: nothing is numbered.
    fn publish(
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
        entry.header = header;
        entry.stamp = Some(stamp);
        entry.image = None;
        let prev = entry.sequence.head();
        let update = entry.sequence.push(stamp, patch, events, self.settings.window);
        let channel = entry.sequence.channel.clone();
        let body =
            stream::Update { channel: channel.name.clone(), prev, update: Arc::clone(&update) };
        let publication = Publication::new(channel, prev, update.seq, Box::new(body));
        changes.push(Change::Published(Arc::new(publication)));
    }

    // ------------------------------------------------------------------------------ images

    /// The whole document of a channel now.
    #[must_use]
    pub fn image(&self, subject: Subject) -> Option<Object> {
        let header = self.channels.get(subject)?.header;
        let stale = self.settings.stale_after_ms;
        match subject {
            Subject::Match(id) => {
                Some(wire::match_image(&self.matches.get(&id)?.state, header, stale))
            }
            Subject::Consensus(id) => {
                let state = &self.matches.get(&id)?.state;
                Some(wire::consensus::image(&state.consensus, header, stale))
            }
            Subject::Book(id, book) => {
                let book = self.matches.get(&id)?.state.books.get(book)?;
                Some(wire::book::image(book, header, stale))
            }
            Subject::Board(sport) => Some(self.board(sport, header)),
            Subject::Feeds => Some(self.feeds(header)),
        }
    }

    fn board(&self, sport: Sport, header: Header) -> Object {
        let mut image = Object::default();
        wire::set_header(&mut image, header);
        image.set("stale_after_ms", self.settings.stale_after_ms);
        let matches = image.object("matches");
        let mut known: Vec<_> = self.matches.values().filter(|k| k.state.sport == sport).collect();
        known.sort_by_key(|known| known.state.id);
        for Known { state, source } in known {
            wire::board::line(matches, state, match_header(state, self.sources[source.0].state));
        }
        image
    }

    fn board_header(&self, sport: Sport) -> Header {
        let feeds = self.matches.values().filter(|known| known.state.sport == sport);
        let live = feeds.map(|known| self.sources[known.source.0].state).any(|f| f == Feed::Live);
        let feed = if live { Feed::Live } else { Feed::Down };
        Header { life: Life::Live, feed, ..Header::EMPTY }
    }

    fn feeds(&self, header: Header) -> Object {
        let mut image = Object::default();
        wire::set_header(&mut image, header);
        image.set("stale_after_ms", self.settings.stale_after_ms);
        image.set("sources", self.feeds_published.clone());
        image
    }

    // ------------------------------------------------------------------------------ sources

    /// Counts a refused message of a source.
    pub fn refused(&mut self, source: SourceNumber) {
        self.sources[source.0].quarantined += 1;
        self.sources[source.0].changed = true;
    }

    /// A source has ended or failed: everything that depends on it says so, unless it is over.
    pub fn source_down(
        &mut self,
        source: SourceNumber,
        ended: bool,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        let own = &mut self.sources[source.0];
        own.state = Feed::Down;
        own.ended = ended;
        own.changed = true;
        let stamp = Stamp { source: None, received: now, published: now };
        let matches: Vec<Id> =
            self.matches.iter().filter(|(_, k)| k.source == source).map(|(id, _)| *id).collect();
        let mut all_subjects: Vec<Subject> = Vec::new();
        for id in matches {
            all_subjects.extend([Subject::Match(id), Subject::Consensus(id)]);
            let books = self.matches[&id].state.books.len();
            all_subjects.extend((0..books).map(|book| Subject::Book(id, book)));
        }
        all_subjects.extend([Subject::Board(Sport::Football), Subject::Board(Sport::Tennis)]);
        for subject in all_subjects {
            self.refresh_feed(subject, stamp, changes);
        }
        self.feeds_due = 0;
        self.tick(now, changes);
    }

    /// A source begins again: what it said is forgotten, and its channels end. Those that come anew
    /// under their names have another epoch.
    pub fn source_restarted(
        &mut self,
        source: SourceNumber,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        let stamp = Stamp { source: None, received: now, published: now };
        let matches: Vec<Id> =
            self.matches.iter().filter(|(_, k)| k.source == source).map(|(id, _)| *id).collect();
        for id in matches {
            self.remove(id, stamp, changes);
        }
        self.sources[source.0].over.clear();
    }

    fn refresh_feed(&mut self, subject: Subject, stamp: Stamp, changes: &mut Vec<Change>) {
        let Some(Entry { header: before, .. }) = self.channels.get(subject) else { return };
        let before = *before;
        let after = match subject {
            Subject::Board(sport) => self.board_header(sport),
            _ if before.life == Life::Ended => before,
            _ => Header { feed: Feed::Down, ..before },
        };
        let patch = wire::header_patch(before, after);
        self.publish(subject, after, patch, Vec::new(), stamp, changes);
    }

    /// What time alone makes due: the counts of the `feeds` channel, and tails that have aged.
    pub fn tick(&mut self, now: Micros, changes: &mut Vec<Change>) {
        if now < self.feeds_due {
            return;
        }
        self.feeds_due = now + FEEDS_EVERY_US;
        self.ensure(Subject::Feeds, Sport::Other, None, changes);
        let mut patch = Object::default();
        let header = Header { life: Life::Live, ..Header::EMPTY };
        let is_first = self.channels.get(Subject::Feeds).is_some_and(|e| e.header != header);
        if is_first {
            wire::set_header(&mut patch, header);
            patch.object("sources");
        }
        for source in self.sources.iter_mut().filter(|source| source.changed) {
            wire::feeds::source(patch.object("sources"), source);
            wire::feeds::source(&mut self.feeds_published, source);
            source.changed = false;
        }
        let stamp = Stamp { source: None, received: now, published: now };
        self.publish(Subject::Feeds, header, patch, Vec::new(), stamp, changes);
        let window = self.settings.window;
        self.channels.iter_mut().for_each(|entry| entry.sequence.trim(now, window));
    }

    // --------------------------------------------------------------------------------- end

    /// Notes that a match has ended, or that it goes on: a market may open after all others closed.
    fn note_end(&mut self, id: Id, moment: Moment) {
        let Some(Known { state, source }) = self.matches.get_mut(&id) else { return };
        match (state.ended_at, state.life()) {
            (None, Life::Ended) => {
                state.ended_at = Some(moment.best());
                self.sources[source.0].over.push_back((moment.best(), id));
            }
            (Some(_), Life::Prematch | Life::Live | Life::Suspended) => state.ended_at = None,
            _ => {}
        }
    }

    /// Whether a match has been over since then, without a break.
    fn is_over_since(&self, id: Id, ended: Micros) -> bool {
        self.matches.get(&id).is_some_and(|known| known.state.ended_at == Some(ended))
    }

    /// Lets go of matches of a source that ended long ago, by its own time: so the same facts let go
    /// of the same matches at the same place, whenever they are played and beside whatever else.
    fn let_go(
        &mut self,
        source: SourceNumber,
        at: Micros,
        stamp: Stamp,
        changes: &mut Vec<Change>,
    ) {
        while let Some((ended, id)) = self.sources[source.0].over.front().copied()
            && at - ended > self.settings.ended_keep_us
        {
            self.sources[source.0].over.pop_front();
            if self.is_over_since(id, ended) {
                self.remove(id, stamp, changes);
            }
        }
    }

    /// Of all matches that have ended, the one that did so first.
    fn first_ended(&mut self) -> Option<Id> {
        loop {
            let fronts = self.sources.iter().enumerate();
            let fronts = fronts.filter_map(|(place, it)| Some((*it.over.front()?, place)));
            let ((ended, id), place) = fronts.min()?;
            self.sources[place].over.pop_front();
            if self.is_over_since(id, ended) {
                return Some(id);
            }
        }
    }

    /// Forgets a match. Its channels may come anew under their names, and count from 0 then: what
    /// is opened from now on has another epoch.
    fn remove(&mut self, id: Id, stamp: Stamp, changes: &mut Vec<Change>) {
        let Some(known) = self.matches.remove(&id) else { return };
        self.epochs.matches.0 = self.epochs.matches.0.wrapping_add(1);
        let sport = known.state.sport;
        let books = (0..known.state.books.len()).map(|book| Subject::Book(id, book));
        for subject in books.chain([Subject::Consensus(id), Subject::Match(id)]) {
            changes.extend(self.channels.close(subject).map(Change::Closed));
        }
        if let Some(header) = self.channels.get(Subject::Board(sport)).map(|entry| entry.header) {
            let mut patch = Object::default();
            wire::board::gone(&mut patch, &known.state);
            self.publish(Subject::Board(sport), header, patch, Vec::new(), stamp, changes);
        }
    }
}

fn match_header(state: &Match, feed: Feed) -> Header {
    let status = match &state.play {
        Play::Football(football) => state.football_status(football).map(wire::football::status),
        Play::Tennis(tennis) => Some(wire::tennis::status(state.tennis_status(tennis))),
        Play::None => None,
    };
    let life = state.life();
    Header { life, feed, status, suspended: None, match_seq: None }
}

fn consensus_header(state: &Match, feed: Feed, match_seq: Option<u64>) -> Header {
    use ingest::event::MarketStatus;
    let statuses =
        || state.consensus.markets.values().filter_map(|m| m.current.as_ref()).map(|m| m.status);
    let mut open = statuses().filter(|status| *status != MarketStatus::Closed).peekable();
    let all_closed = open.peek().is_none();
    let suspended = !all_closed && open.all(|status| status != MarketStatus::Open);
    let life = match (all_closed, suspended) {
        (true, _) => Life::Ended,
        (false, true) => Life::Suspended,
        (false, false) if state.life() == Life::Prematch => Life::Prematch,
        (false, false) => Life::Live,
    };
    Header { life, feed, status: None, suspended: Some(suspended), match_seq }
}

/// The markets whose part in the consensus may have changed: the rungs of a ladder have none.
fn touched_markets(touched: &[TouchedBook]) -> Vec<(usize, usize)> {
    let counts = |part: &BookPart| matches!(part, BookPart::Definition(_) | BookPart::Price(..));
    let each = |book: &TouchedBook| {
        let parts = book.parts.iter().filter(|part| counts(part));
        parts.map(|part| (book.book, part.market())).collect::<Vec<_>>()
    };
    let mut markets: Vec<(usize, usize)> = touched.iter().flat_map(each).collect();
    markets.sort_unstable();
    markets.dedup();
    markets
}
