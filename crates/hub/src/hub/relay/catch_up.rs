//! How a reader subscribes to a match, and how a slow reader catches up.

use std::sync::Arc;

use bytes::Bytes;
use facts::event::{Id, Sport};
use fanout::{
    ChannelId, Classes, Epoch, Micros, Position, Seq,
    catch_up::{CatchUp, CatchUpFrame, HostResponse, Verdict},
    channel::{Channel, ChannelInfo},
    encode::{Encode, text_frame},
};

use super::{LegacyChannel, football};
use crate::{
    channels::{BOOK_PRICES, Channels},
    dialect::live::{
        self, NumberedFrame, SubscriptionSnapshot, football::MatchTime, odds,
        protocol::EventChannel,
    },
    document::Object,
    hub::{Hub, HubInput, state::Play},
};

/// How long a snapshot may be shared, and so the maximum lag of its clock.
const SNAPSHOT_US: Micros = 1_000_000;

impl Hub {
    /// Answers a reader that subscribes to a match. The first frame is `subscribed`, followed by
    /// the missed frames if the position can be honoured.
    pub(crate) fn begin(
        &mut self,
        channel: &ChannelId,
        book: Option<&Arc<str>>,
        from: Option<Position>,
        bytes_max: usize,
    ) -> HostResponse {
        let Some(id) = self.relayed_match(channel.as_str()) else {
            return HostResponse::NotTracked;
        };
        let now = self.latest;
        let books = &self.matches[&id].state.books;
        let index = book.map(|slug| books.iter().position(|book| book.slug == *slug));
        if index == Some(None) {
            return HostResponse::UnknownCompanion;
        }
        let Some(legacy) = self.relay.channels.get(&id) else { return HostResponse::NotTracked };
        let legacy_book = book.and_then(|slug| legacy.books.iter().find(|book| book.slug == *slug));
        let book = legacy_book.map(|book| (book.channel.clone(), book.head()));
        let (head, epoch) = (legacy.head(), legacy.epoch());
        let verdict = from.map(|from| legacy.verify(from));
        let mut caught_up = CatchUp {
            channel: legacy.channel.clone(),
            head,
            verdict: Verdict::Fresh,
            frames: Vec::new(),
            to: head,
            lease: Some(legacy.lease.clone()),
            hash: None,
        };
        if let Some(Ok(from)) = verdict {
            let state = &self.matches[&id].state;
            let frame = live::resumed(state, self.book_object(id, index.flatten(), now));
            let frame = numbered(frame, epoch, from);
            caught_up.verdict = Verdict::Resumed;
            caught_up.frames.push(CatchUpFrame { frame, to: from });
            let (frames, to) = legacy.since(from, false, bytes_max);
            caught_up.frames.extend(frames);
            caught_up.to = to;
        } else {
            let why = verdict.and_then(Result::err);
            caught_up.verdict = why.map_or(Verdict::Fresh, Verdict::Refused);
            let plain = why.is_none() && book.is_none();
            let frame = match self.shared_snapshot(id, now).filter(|_| plain) {
                Some(frame) => frame,
                None => self.snapshot(id, index.flatten(), why.map(|why| why.as_str()), now),
            };
            if plain && let Some(legacy) = self.relay.channels.get_mut(&id) {
                let since = legacy.snapshot.as_ref().filter(|it| it.0 == head).map(|it| it.1);
                legacy.snapshot = Some((head, since.unwrap_or(now), frame.clone()));
            }
            caught_up.frames.push(CatchUpFrame { frame, to: head });
        }
        HostResponse::GroupStarted(caught_up, book)
    }

    /// Lets a reader catch up on a channel of this dialect.
    pub(crate) fn catch_up_legacy(
        &self,
        channel: &str,
        from: Option<Position>,
        why: &str,
        bytes_max: usize,
    ) -> HostResponse {
        let (Some(id), Some(name)) = (self.relayed_match(channel), EventChannel::parse(channel))
        else {
            return HostResponse::NotTracked;
        };
        let Some(legacy) = self.relay.channels.get(&id) else { return HostResponse::NotTracked };
        if let Some(slug) = name.book {
            let Some(book) = legacy.books.iter().find(|book| *book.slug == *slug) else {
                return HostResponse::NotTracked;
            };
            let resumable = from.filter(|from| from.epoch == Some(book.channel.epoch));
            return HostResponse::CatchUp(CatchUp {
                channel: book.channel.clone(),
                head: book.head(),
                verdict: if from.is_some() { Verdict::Resumed } else { Verdict::Fresh },
                frames: book.since(resumable.map(|from| from.seq)),
                to: book.head(),
                lease: Some(book.lease.clone()),
                hash: None,
            });
        }
        let verdict = from.map(|from| legacy.verify(from));
        let (channel, head, lease) =
            (legacy.channel.clone(), legacy.head(), Some(legacy.lease.clone()));
        let (verdict, frames, to) = match verdict {
            Some(Ok(from)) => {
                let (frames, to) = legacy.since(from, why == "slow", bytes_max);
                (Verdict::Resumed, frames, to)
            }
            other => {
                let why = other.and_then(Result::err);
                let frame = self.snapshot(id, None, why.map(|why| why.as_str()), self.latest);
                let verdict = why.map_or(Verdict::Fresh, Verdict::Refused);
                (verdict, vec![CatchUpFrame { frame, to: head }], head)
            }
        };
        HostResponse::CatchUp(CatchUp { channel, head, verdict, frames, to, lease, hash: None })
    }

    /// Whether this is the name of a channel of this dialect.
    pub(crate) fn is_legacy(channel: &str) -> bool {
        EventChannel::parse(channel).is_some()
    }

    /// The match of a channel of this dialect, if its sport is available in it.
    pub(crate) fn relayed_match(&self, channel: &str) -> Option<Id> {
        let name = EventChannel::parse(channel)?;
        let state = &self.matches.get(Id(name.id))?.state;
        let is_relayed = matches!(state.sport, Sport::Football | Sport::Tennis);
        (is_relayed && state.sport.as_str() == name.sport).then_some(state.id)
    }

    /// The input that opens what a reader wants to follow, if it is not open.
    pub(crate) fn legacy_to_open(
        &self,
        channel: &ChannelId,
        book: Option<&Arc<str>>,
    ) -> Option<HubInput> {
        let id = self.relayed_match(channel.as_str())?;
        let entry = self.matches.get(id)?;
        let has_book = |slug: &Arc<str>| entry.state.books.iter().any(|it| it.slug == *slug);
        if book.is_some_and(|slug| !has_book(slug)) {
            return None;
        }
        let legacy = self.relay.channels.get(&id);
        let is_open = legacy.is_some_and(|legacy| {
            book.is_none_or(|slug| legacy.books.iter().any(|open| open.slug == *slug))
        });
        let channel = channel.as_str().into();
        let now = self.latest;
        (!is_open).then(|| HubInput::OpenLegacy { channel, book: book.cloned(), now })
    }

    /// The epoch and the head of a channel of the older sockets, if it is open.
    pub(crate) fn legacy_head(&self, channel: &str) -> Option<(Epoch, Seq)> {
        let legacy = self.relay.channels.get(&self.relayed_match(channel)?)?;
        Some((legacy.epoch(), legacy.head()))
    }

    /// Opens the channel of a match on the older sockets, and that of a bookmaker in it.
    pub(in crate::hub) fn open_legacy(
        &mut self,
        channel: &ChannelId,
        book: Option<&Arc<str>>,
        now: Micros,
    ) {
        let Some(id) = self.relayed_match(channel.as_str()) else { return };
        self.open_channel(id, channel, now);
        let books = &self.matches[&id].state.books;
        let index = book.and_then(|slug| books.iter().position(|book| book.slug == *slug));
        if let Some(index) = index {
            self.open_book(id, channel, index, now);
        }
    }

    fn open_channel(&mut self, id: Id, name: &ChannelId, now: Micros) {
        if self.relay.channels.contains_key(&id) {
            return;
        }
        let entry = &self.matches[&id];
        let scene = self.scene(entry, now);
        let prices = odds::consensus(&entry.state, self.consensus_header(entry));
        let channel = new_channel(&mut self.channels, name.clone(), (epoch(now), Classes::NONE));
        self.relay.channels.insert(id, LegacyChannel::open(channel, &scene, prices, now));
    }

    /// Opens the channel of a bookmaker's prices, if it is not open.
    fn open_book(&mut self, id: Id, channel_name: &ChannelId, index: usize, now: Micros) {
        let entry = &self.matches[&id];
        let book = &entry.state.books[index];
        let legacy = &self.relay.channels[&id];
        if legacy.books.iter().any(|open| open.slug == book.slug) {
            return;
        }
        let prices = odds::of_book(book, self.book_header(entry, book), entry.state.sport);
        let name = ChannelId::new(format!("{channel_name}/{}", book.slug));
        let legacy = self.relay.channels.get_mut(&id).expect("it was opened before");
        // Prices have their own epoch, so that their numbers are never mistaken for those of the match.
        let count = u32::try_from(legacy.books.len()).unwrap_or(u32::MAX);
        let epoch = Epoch(legacy.epoch().0.wrapping_add(count).wrapping_add(1));
        let channel = new_channel(&mut self.channels, name, (epoch, BOOK_PRICES));
        legacy.add_book(book, prices, channel, now);
    }

    fn shared_snapshot(&self, id: Id, now: Micros) -> Option<Bytes> {
        let legacy = self.relay.channels.get(&id)?;
        let (seq, at, frame) = legacy.snapshot.as_ref()?;
        (*seq == legacy.head() && now - at < SNAPSHOT_US).then(|| frame.clone())
    }

    fn snapshot(
        &self,
        id: Id,
        book: Option<usize>,
        why: Option<&'static str>,
        now: Micros,
    ) -> Bytes {
        let entry = &self.matches[&id];
        let (state, scene) = (&entry.state, self.scene(entry, now));
        let recent = self.relay.recent.get(&id);
        let mut livedata = recent.map(|recent| recent.livedata(state)).unwrap_or_default();
        if let Play::Football(football) = &state.play
            && football.ball.is_none()
            && scene.is_in_play()
        {
            let time = MatchTime::new(football, scene.until);
            livedata.push(football::livedata(state, now, time, None));
        }
        let header = self.consensus_header(entry);
        let reason = odds::reason(header, "subscribe");
        let legacy = &self.relay.channels[&id];
        let snapshot = live::subscribed(SubscriptionSnapshot {
            scene,
            odds: odds::odds_frame(state, odds::consensus(state, header), reason, now),
            odds_book: self.book_object(id, book, now),
            livedata,
            history: recent.map(|recent| recent.history(state)).unwrap_or_default(),
            why,
        });
        numbered(snapshot, legacy.epoch(), legacy.head())
    }

    /// The `odds_book` frame of the book at this index.
    fn book_object(&self, id: Id, index: Option<usize>, now: Micros) -> Option<Object> {
        let entry = self.matches.get(id)?;
        let state = &entry.state;
        let book = state.books.get(index?)?;
        let header = self.book_header(entry, book);
        let prices = odds::of_book(book, header, state.sport);
        Some(odds::book_frame(state, book, prices, odds::reason(header, "subscribe"), now))
    }
}

/// The epoch of a new channel. Channels open on request, independently of sources, so each has its own epoch.
fn epoch(now: Micros) -> Epoch {
    let millisecond = now.div_euclid(1000).rem_euclid(Micros::from(u32::MAX));
    Epoch(u32::try_from(millisecond).unwrap_or_default())
}

fn new_channel(
    channels: &mut Channels,
    name: ChannelId,
    (epoch, needs): (Epoch, Classes),
) -> Channel {
    ChannelInfo { number: channels.next_number(), name, epoch, deliver_last: false, needs }.into()
}

fn numbered(frame: Object, epoch: Epoch, seq: Seq) -> Bytes {
    text_frame(|out| NumberedFrame { frame, epoch, seq }.encode(out))
}
