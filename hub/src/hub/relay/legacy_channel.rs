//! One match with followers: its sequence, its tail, and when which frame is due.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use fanout::{
    Change, Epoch, Micros, Position, Publication, Seq,
    catch_up::{CatchUpFrame, Gap, Lease, check},
    channel::{Channel, Rate},
};

use super::{CHANGED, EVENT_EVERY_US, PRICES_EVERY_US, TIME_EVERY_US};
use crate::{
    dialect::live::{
        self, MatchScene,
        football::{self, MatchTime},
        odds,
    },
    document::Object,
    hub::{
        Header,
        state::{Book, Match, Play},
    },
};

/// Maximum number of frames in the tail.
const TAIL_MAX: usize = 256;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    Event,
    Livedata,
    Odds,
    Action,
    Score,
}

impl FrameKind {
    /// Whether a later frame of the same kind supersedes this one.
    fn is_superseded(self) -> bool {
        match self {
            Self::Event | Self::Livedata | Self::Odds => true,
            Self::Action | Self::Score => false,
        }
    }
}

#[derive(Debug)]
pub(super) struct LegacyChannel {
    pub(super) channel: Channel,
    head: Seq,
    tail: VecDeque<SentFrame>,
    pub(super) lease: Lease,
    /// When its last follower left.
    unfollowed_since: Option<Micros>,
    /// The header of the last `event` frame.
    pub(super) sent_header: Option<Header>,
    pub(super) event_due: Micros,
    pub(super) time_due: Micros,
    pub(super) prices: PriceSchedule,
    pub(super) books: Vec<LegacyBookChannel>,
    /// The plain snapshot with its sequence and time, valid until the next frame.
    pub(super) snapshot: Option<(Seq, Micros, Bytes)>,
}

#[derive(Debug)]
struct SentFrame {
    kind: FrameKind,
    at: Micros,
    publication: Arc<Publication>,
}

/// The prices of one bookmaker, for readers that requested them.
#[derive(Debug)]
pub(super) struct LegacyBookChannel {
    pub(super) slug: Arc<str>,
    pub(super) channel: Channel,
    head: Seq,
    last: Option<Arc<Publication>>,
    pub(super) lease: Lease,
    prices: PriceSchedule,
}

/// The schedule of price frames.
#[derive(Debug, Default)]
pub(super) struct PriceSchedule {
    last: Object,
    changed: bool,
    /// A market has opened or was suspended.
    status_changed: bool,
    free_at: Micros,
    due: Micros,
}

impl PriceSchedule {
    /// `last`: the prices of the snapshot.
    fn new(last: Object, now: Micros) -> Self {
        let (free_at, due) = (now + PRICES_EVERY_US, now + odds::EVERY_US);
        Self { last, changed: false, status_changed: false, free_at, due }
    }

    pub(super) fn is_due(&self, now: Micros, goes_on: bool) -> bool {
        self.status_changed || self.changed && self.free_at <= now || goes_on && self.due <= now
    }

    /// The reason to send these prices now, if there is one.
    pub(super) fn due_reason(
        &mut self,
        prices: &Object,
        now: Micros,
        goes_on: bool,
    ) -> Option<&'static str> {
        (self.changed, self.status_changed) = (false, false);
        let why = if self.last != *prices {
            self.last = prices.clone();
            CHANGED
        } else if goes_on && self.due <= now {
            "interval"
        } else {
            return None;
        };
        (self.free_at, self.due) = (now + PRICES_EVERY_US, now + odds::EVERY_US);
        Some(why)
    }
}

impl LegacyChannel {
    /// `channel` has another epoch each time that a channel of the match is opened. `prices`: those
    /// of its first snapshot.
    pub(super) fn open(
        channel: Channel,
        scene: &MatchScene<'_>,
        prices: Object,
        now: Micros,
    ) -> Self {
        Self {
            channel,
            head: 0,
            tail: VecDeque::new(),
            lease: Lease::default(),
            unfollowed_since: None,
            sent_header: Some(scene.header),
            event_due: now + EVENT_EVERY_US,
            time_due: now + TIME_EVERY_US,
            prices: PriceSchedule::new(prices, now),
            books: Vec::new(),
            snapshot: None,
        }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.channel.epoch
    }

    pub(super) fn head(&self) -> Seq {
        self.head
    }

    /// The channel of a bookmaker, opening it if needed.
    pub(super) fn book(
        &mut self,
        book: &Book,
        prices: Object,
        channel: Channel,
        now: Micros,
    ) -> &mut LegacyBookChannel {
        let place = self.books.iter().position(|own| own.slug == book.slug).unwrap_or_else(|| {
            self.books.push(LegacyBookChannel {
                slug: Arc::clone(&book.slug),
                channel,
                head: 0,
                last: None,
                lease: Lease::default(),
                prices: PriceSchedule::new(prices, now),
            });
            self.books.len() - 1
        });
        &mut self.books[place]
    }

    pub(super) fn into_channels(self) -> impl Iterator<Item = Channel> {
        self.books.into_iter().map(|book| book.channel).chain([self.channel])
    }

    /// Whether it has been without followers for this long.
    pub(super) fn is_idle(&mut self, now: Micros, linger_us: Micros) -> bool {
        if self.lease.is_shared() {
            self.unfollowed_since = None;
            return false;
        }
        now - *self.unfollowed_since.get_or_insert(now) >= linger_us
    }

    /// Numbers a frame, appends it to the tail, and publishes it.
    pub(super) fn push(
        &mut self,
        kind: FrameKind,
        frame: Object,
        urgent: bool,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        let prev = self.head;
        self.head += 1;
        let publication = publication(&self.channel, prev, frame, urgent);
        if self.tail.len() == TAIL_MAX {
            self.tail.pop_front();
        }
        self.tail.push_back(SentFrame { kind, at: now, publication: Arc::clone(&publication) });
        changes.push(Change::Published(Rate::Each, publication));
    }

    /// Drops frames that are too old to resume from.
    pub(super) fn trim(&mut self, now: Micros, age_us: Micros) {
        while self.tail.front().is_some_and(|sent| now - sent.at > age_us) {
            self.tail.pop_front();
        }
    }

    pub(super) fn send_event(
        &mut self,
        scene: &MatchScene<'_>,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        self.sent_header = Some(scene.header);
        self.event_due = now + EVENT_EVERY_US;
        self.push(FrameKind::Event, live::event(scene), false, now, changes);
    }

    /// Sends the time of a match in play without ball positions.
    pub(super) fn send_time(
        &mut self,
        scene: &MatchScene<'_>,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        self.time_due = now + TIME_EVERY_US;
        let Play::Football(state) = &scene.state.play else { return };
        if state.ball.is_none() && scene.is_in_play() {
            let time = MatchTime::of(state, scene.until);
            let frame = football::livedata(scene.state, now, time, None);
            self.push(FrameKind::Livedata, frame, false, now, changes);
        }
    }

    /// `status_changed`: a market has opened or was suspended, which is sent at once.
    pub(super) fn prices_changed(&mut self, status_changed: bool) {
        let books = self.books.iter_mut().map(|book| &mut book.prices);
        for prices in books.chain([&mut self.prices]) {
            prices.changed = true;
            prices.status_changed |= status_changed;
        }
    }

    pub(super) fn has_prices_due(&self, now: Micros, goes_on: bool) -> bool {
        let books = self.books.iter().map(|book| &book.prices);
        books.chain([&self.prices]).any(|prices| prices.is_due(now, goes_on))
    }

    /// Sends the prices of bookmakers that have changed or are due.
    pub(super) fn send_book_prices<'a>(
        &mut self,
        now: Micros,
        goes_on: bool,
        changes: &mut Vec<Change>,
        find: impl Fn(&Arc<str>) -> Option<(&'a Match, &'a Book, Header)>,
    ) {
        for own in self.books.iter_mut().filter(|book| book.prices.is_due(now, goes_on)) {
            let Some((state, book, header)) = find(&own.slug) else { continue };
            let prices = odds::of_book(book, header, state.sport);
            let Some(otherwise) = own.prices.due_reason(&prices, now, goes_on) else { continue };
            let reason = odds::reason(header, otherwise);
            let urgent = header.suspended == Some(true) && otherwise == CHANGED;
            let frame = odds::book_frame(state, book, prices, reason, now);
            let publication = publication(&own.channel, own.head, frame, urgent);
            own.head += 1;
            own.last = Some(Arc::clone(&publication));
            changes.push(Change::Published(Rate::Each, publication));
        }
    }

    /// Whether the tail leads from this position to the head.
    pub(super) fn verify(&self, from: Position) -> Result<Seq, Gap> {
        let oldest = self.tail.front().map_or(self.head, |sent| sent.publication.prev);
        check(from, self.epoch(), oldest, self.head)
    }

    /// The frames after `from`, up to the first that reaches `bytes_max`, and the resulting
    /// position. A slow reader (`only_last`) gets no superseded frames.
    pub(super) fn since(
        &self,
        from: Seq,
        only_last: bool,
        bytes_max: usize,
    ) -> (Vec<CatchUpFrame>, Seq) {
        let (mut frames, mut to, mut bytes) = (Vec::new(), from, 0);
        let missing = || self.tail.iter().filter(|sent| sent.publication.seq > from);
        let is_last = |sent: &SentFrame| {
            let later = |other: &SentFrame| {
                other.kind == sent.kind && other.publication.seq > sent.publication.seq
            };
            !sent.kind.is_superseded() || !missing().any(later)
        };
        for sent in missing().filter(|sent| !only_last || is_last(sent)) {
            if bytes >= bytes_max {
                return (frames, to);
            }
            let frame = sent.publication.frame().clone();
            bytes += frame.len();
            to = sent.publication.seq;
            frames.push(CatchUpFrame { frame, to });
        }
        // Nothing is missing at the end, since the last frame of each kind is included.
        (frames, self.head.max(to))
    }
}

impl LegacyBookChannel {
    pub(super) fn head(&self) -> Seq {
        self.head
    }

    /// The last prices, unless a reader at `from` already has them.
    pub(super) fn since(&self, from: Option<Seq>) -> Vec<CatchUpFrame> {
        let last = self.last.iter().filter(|_| from.is_none_or(|from| from < self.head));
        last.map(|last| CatchUpFrame { frame: last.frame().clone(), to: self.head }).collect()
    }
}

fn publication(channel: &Channel, prev: Seq, frame: Object, urgent: bool) -> Arc<Publication> {
    let seq = prev + 1;
    let body = live::NumberedFrame { frame, epoch: channel.epoch, seq };
    let publication = Publication::new(channel.clone(), prev, seq, Box::new(body));
    Arc::new(publication.urgent(urgent))
}
