//! One match with followers: its sequence, its tail, and when which frame is due.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    sync::Arc,
};

use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;
use fanout::{
    Change, ChannelId, Classes, Epoch, Micros, Position, Publication, Seq,
    catch_up::{CatchUpFrame, Gap, Lease, check},
    channel::{Channel, ChannelInfo, Rate},
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
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

#[derive(Debug, Clone)]
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
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct PriceSchedule {
    last: Object,
    changed: bool,
    /// A market has opened or was suspended.
    status_changed: bool,
    free_at: Micros,
    due: Micros,
}

/// A frame as it is saved: its bytes, and what is not in them.
#[derive(BorshSerialize, BorshDeserialize)]
struct SavedFrame {
    prev: Seq,
    seq: Seq,
    urgent: bool,
    frame: Vec<u8>,
}

impl SavedFrame {
    fn new(publication: &Publication) -> Self {
        let Publication { prev, seq, urgent, .. } = *publication;
        Self { prev, seq, urgent, frame: publication.frame().to_vec() }
    }

    fn publication(self, channel: &Channel) -> Arc<Publication> {
        let Self { prev, seq, urgent, frame } = self;
        let publication = Publication::with_frame(channel.clone(), prev, seq, frame.into());
        Arc::new(publication.urgent(urgent))
    }
}

fn write_channel<W: Write>(channel: &Channel, writer: &mut W) -> io::Result<()> {
    let ChannelInfo { number, name, epoch, deliver_last, needs } = &**channel;
    (number, name.as_str(), epoch.0, deliver_last, needs.0).serialize(writer)
}

fn read_channel<R: Read>(reader: &mut R) -> io::Result<Channel> {
    let (number, name, epoch, deliver_last, needs) =
        <(u32, Arc<str>, u32, bool, u8)>::deserialize_reader(reader)?;
    let (name, epoch, needs) = (ChannelId::new(name), Epoch(epoch), Classes(needs));
    Ok(ChannelInfo { number, name, epoch, deliver_last, needs }.into())
}

/// Without its followers and the shared snapshot.
impl BorshSerialize for LegacyChannel {
    fn serialize<W: Write>(&self, writer: &mut W) -> io::Result<()> {
        let Self { channel, head, tail, unfollowed_since, sent_header, .. } = self;
        write_channel(channel, writer)?;
        (head, unfollowed_since, sent_header).serialize(writer)?;
        (self.event_due, self.time_due, &self.prices, &self.books).serialize(writer)?;
        (tail.len() as u64).serialize(writer)?;
        tail.iter().try_for_each(|SentFrame { kind, at, publication }| {
            (kind, at, SavedFrame::new(publication)).serialize(writer)
        })
    }
}

impl BorshDeserialize for LegacyChannel {
    fn deserialize_reader<R: Read>(reader: &mut R) -> io::Result<Self> {
        let channel = read_channel(reader)?;
        let (head, unfollowed_since, sent_header) = BorshDeserialize::deserialize_reader(reader)?;
        let (event_due, time_due, prices, books) = BorshDeserialize::deserialize_reader(reader)?;
        let frames = u64::deserialize_reader(reader)?;
        let tail = (0..frames).map(|_| {
            let (kind, at, frame) = <(_, _, SavedFrame)>::deserialize_reader(reader)?;
            Ok(SentFrame { kind, at, publication: frame.publication(&channel) })
        });
        let tail = tail.collect::<io::Result<_>>()?;
        Ok(Self {
            channel,
            head,
            tail,
            lease: Lease::default(),
            unfollowed_since,
            sent_header,
            event_due,
            time_due,
            prices,
            books,
            snapshot: None,
        })
    }
}

impl BorshSerialize for LegacyBookChannel {
    fn serialize<W: Write>(&self, writer: &mut W) -> io::Result<()> {
        write_channel(&self.channel, writer)?;
        let last = self.last.as_deref().map(SavedFrame::new);
        (&self.slug, self.head, last, &self.prices).serialize(writer)
    }
}

impl BorshDeserialize for LegacyBookChannel {
    fn deserialize_reader<R: Read>(reader: &mut R) -> io::Result<Self> {
        let channel = read_channel(reader)?;
        let (slug, head, last, prices) =
            <(_, _, Option<SavedFrame>, _)>::deserialize_reader(reader)?;
        let last = last.map(|last| last.publication(&channel));
        Ok(Self { slug, channel, head, last, lease: Lease::default(), prices })
    }
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

impl LegacyBookChannel {
    fn without_readers(&self) -> Self {
        Self {
            slug: Arc::clone(&self.slug),
            channel: self.channel.clone(),
            head: self.head,
            last: self.last.clone(),
            lease: Lease::default(),
            prices: self.prices.clone(),
        }
    }
}

impl LegacyChannel {
    /// A copy that no reader follows.
    pub(super) fn without_readers(&self) -> Self {
        Self {
            channel: self.channel.clone(),
            head: self.head,
            tail: self.tail.clone(),
            lease: Lease::default(),
            unfollowed_since: self.unfollowed_since,
            sent_header: self.sent_header,
            event_due: self.event_due,
            time_due: self.time_due,
            prices: self.prices.clone(),
            books: self.books.iter().map(LegacyBookChannel::without_readers).collect(),
            snapshot: None,
        }
    }

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

    /// Opens the channel of a bookmaker, which has none.
    pub(super) fn add_book(&mut self, book: &Book, prices: Object, channel: Channel, now: Micros) {
        self.books.push(LegacyBookChannel {
            slug: Arc::clone(&book.slug),
            channel,
            head: 0,
            last: None,
            lease: Lease::default(),
            prices: PriceSchedule::new(prices, now),
        });
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

    pub(super) fn is_followed(&self) -> bool {
        self.lease.is_shared()
    }

    /// The bookmakers that are followed as companions.
    pub(super) fn followed_books(&self) -> impl Iterator<Item = &Arc<str>> {
        self.books.iter().filter(|book| book.lease.is_shared()).map(|book| &book.slug)
    }

    /// Starts the idle time again.
    pub(super) fn forget_idle_time(&mut self) {
        self.unfollowed_since = None;
    }

    /// It has had a follower until now.
    pub(super) fn keep(&mut self, now: Micros) {
        self.unfollowed_since = self.unfollowed_since.map(|_| now);
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
            let time = MatchTime::new(state, scene.until);
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
        for open in self.books.iter_mut().filter(|book| book.prices.is_due(now, goes_on)) {
            let Some((state, book, header)) = find(&open.slug) else { continue };
            let prices = odds::of_book(book, header, state.sport);
            let Some(otherwise) = open.prices.due_reason(&prices, now, goes_on) else { continue };
            let reason = odds::reason(header, otherwise);
            let urgent = header.suspended == Some(true) && otherwise == CHANGED;
            let frame = odds::book_frame(state, book, prices, reason, now);
            let publication = publication(&open.channel, open.head, frame, urgent);
            open.head += 1;
            open.last = Some(Arc::clone(&publication));
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
