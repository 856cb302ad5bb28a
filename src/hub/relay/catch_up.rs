//! How a reader begins a match, and how one that has fallen behind is brought forward.

use std::sync::Arc;

use bytes::Bytes;
use fanout::{
    ChannelId, Classes, Epoch, Micros, Position, Seq,
    catch_up::{Answer, CaughtUp, Forward, Verdict},
    channel::Channel,
    encode::{Encode, text_frame},
    live::Name,
};
use ingest::event::{Id, Sport};

use super::{Line, football};
use crate::{
    channels::Channels,
    dialect::live::{self, Numbered, Snapshot, football::Time, odds},
    document::Object,
    entitlement,
    hub::{Hub, state::Play},
};

/// A snapshot may be shared for so long: its clock is behind by as much.
const SNAPSHOT_US: Micros = 1_000_000;

impl Hub {
    /// Answers who begins a match. The first frame is `subscribed`; behind it comes what was missed,
    /// where the position can be honoured.
    pub(crate) fn begin(
        &mut self,
        channel: &ChannelId,
        book: Option<&Arc<str>>,
        from: Option<Position>,
        bytes_max: usize,
    ) -> Answer {
        let Some(id) = self.told_match(channel.as_str()) else { return Answer::NotTracked };
        let now = self.latest;
        let books = &self.matches[&id].state.books;
        let place = book.map(|slug| books.iter().position(|book| book.slug == *slug));
        if place == Some(None) {
            return Answer::NoBook;
        }
        self.open_line(id, channel, now);
        let book = place.flatten().map(|place| self.open_book(id, channel, place, now));
        let line = &self.relay.lines[&id];
        let (head, epoch) = (line.head(), line.epoch());
        let verdict = from.map(|from| line.verify(from));
        let mut caught_up = CaughtUp {
            channel: line.channel.clone(),
            head,
            verdict: Verdict::Fresh,
            frames: Vec::new(),
            to: head,
            lease: Some(line.lease.clone()),
        };
        if let Some(Ok(from)) = verdict {
            let state = &self.matches[&id].state;
            let frame = live::resumed(state, self.book_object(id, place.flatten(), now));
            let frame = numbered(frame, epoch, from);
            caught_up.verdict = Verdict::Resumed;
            caught_up.frames.push(Forward { frame, to: from });
            let (frames, to) = line.since(from, false, bytes_max);
            caught_up.frames.extend(frames);
            caught_up.to = to;
        } else {
            let why = verdict.and_then(Result::err);
            caught_up.verdict = why.map_or(Verdict::Fresh, Verdict::Refused);
            let plain = why.is_none() && book.is_none();
            let frame = match self.shared_snapshot(id, now).filter(|_| plain) {
                Some(frame) => frame,
                None => self.snapshot(id, place.flatten(), why.map(|why| why.as_str()), now),
            };
            if plain && let Some(line) = self.relay.lines.get_mut(&id) {
                let since = line.snapshot.as_ref().filter(|it| it.0 == head).map(|it| it.1);
                line.snapshot = Some((head, since.unwrap_or(now), frame.clone()));
            }
            caught_up.frames.push(Forward { frame, to: head });
        }
        Answer::Began(caught_up, book)
    }

    /// Brings a reader forward on a channel of this dialect.
    pub(crate) fn bring_forward(
        &self,
        channel: &str,
        from: Option<Position>,
        why: &str,
        bytes_max: usize,
    ) -> Answer {
        let (Some(id), Some(name)) = (self.told_match(channel), Name::of(channel)) else {
            return Answer::NotTracked;
        };
        let Some(line) = self.relay.lines.get(&id) else { return Answer::NotTracked };
        if let Some(slug) = name.book {
            let Some(book) = line.books.iter().find(|book| *book.slug == *slug) else {
                return Answer::NotTracked;
            };
            let known = from.filter(|from| from.epoch == Some(book.channel.epoch));
            return Answer::CaughtUp(CaughtUp {
                channel: book.channel.clone(),
                head: book.head(),
                verdict: if from.is_some() { Verdict::Resumed } else { Verdict::Fresh },
                frames: book.since(known.map(|from| from.seq)),
                to: book.head(),
                lease: Some(book.lease.clone()),
            });
        }
        let verdict = from.map(|from| line.verify(from));
        let (channel, head, lease) = (line.channel.clone(), line.head(), Some(line.lease.clone()));
        let (verdict, frames, to) = match verdict {
            Some(Ok(from)) => {
                let (frames, to) = line.since(from, why == "slow", bytes_max);
                (Verdict::Resumed, frames, to)
            }
            other => {
                let why = other.and_then(Result::err);
                let frame = self.snapshot(id, None, why.map(|why| why.as_str()), self.latest);
                let verdict = why.map_or(Verdict::Fresh, Verdict::Refused);
                (verdict, vec![Forward { frame, to: head }], head)
            }
        };
        Answer::CaughtUp(CaughtUp { channel, head, verdict, frames, to, lease })
    }

    /// The match that a channel of this dialect is of, if it is told here.
    fn told_match(&self, channel: &str) -> Option<Id> {
        let name = Name::of(channel)?;
        let state = &self.matches.get(&Id(name.id))?.state;
        let told = matches!(state.sport, Sport::Football | Sport::Tennis);
        (told && state.sport.as_str() == name.sport).then_some(state.id)
    }

    fn open_line(&mut self, id: Id, name: &ChannelId, now: Micros) {
        if self.relay.lines.contains_key(&id) {
            return;
        }
        let known = &self.matches[&id];
        let scene = self.scene(known, now);
        let told = odds::consensus(&known.state, self.consensus_header(known));
        let channel = new_channel(&mut self.channels, name.clone(), (epoch(now), Classes::NONE));
        self.relay.lines.insert(id, Line::open(channel, &scene, told, now));
    }

    /// The channel of a bookmaker's prices, and where it stands.
    fn open_book(&mut self, id: Id, of: &ChannelId, place: usize, now: Micros) -> (Channel, Seq) {
        let state = &self.matches[&id].state;
        let book = &state.books[place];
        let told = odds::of_book(book, self.book_header(id, book), state.sport);
        let name = ChannelId::new(format!("{of}/{}", book.slug));
        let line = self.relay.lines.get_mut(&id).expect("it was opened before");
        // Numbers of prices are none of the match's: nobody may take the one for the other.
        let count = u32::try_from(line.books.len()).unwrap_or(u32::MAX);
        let epoch = Epoch(line.epoch().0.wrapping_add(count).wrapping_add(1));
        let channel = new_channel(&mut self.channels, name, (epoch, entitlement::BOOK));
        let book = line.book(book, told, channel, now);
        (book.channel.clone(), book.head())
    }

    fn shared_snapshot(&self, id: Id, now: Micros) -> Option<Bytes> {
        let line = self.relay.lines.get(&id)?;
        let (seq, at, frame) = line.snapshot.as_ref()?;
        (*seq == line.head() && now - at < SNAPSHOT_US).then(|| frame.clone())
    }

    fn snapshot(
        &self,
        id: Id,
        book: Option<usize>,
        why: Option<&'static str>,
        now: Micros,
    ) -> Bytes {
        let known = &self.matches[&id];
        let (state, scene) = (&known.state, self.scene(known, now));
        let recent = self.relay.recent.get(&id);
        let mut livedata = recent.map(|recent| recent.livedata(state)).unwrap_or_default();
        if let Play::Football(football) = &state.play
            && football.ball.is_none()
            && scene.is_in_play()
        {
            let time = Time::of(football, scene.until);
            livedata.push(football::livedata(state, now, time, None));
        }
        let header = self.consensus_header(known);
        let reason = odds::reason(header, "subscribe");
        let line = &self.relay.lines[&id];
        let snapshot = live::subscribed(Snapshot {
            scene,
            odds: odds::odds_frame(state, odds::consensus(state, header), reason, now),
            odds_book: self.book_object(id, book, now),
            livedata,
            history: recent.map(|recent| recent.history(state)).unwrap_or_default(),
            why,
        });
        numbered(snapshot, line.epoch(), line.head())
    }

    /// The `odds_book` frame of the book at this place.
    fn book_object(&self, id: Id, place: Option<usize>, now: Micros) -> Option<Object> {
        let state = &self.matches.get(&id)?.state;
        let book = state.books.get(place?)?;
        let header = self.book_header(id, book);
        let told = odds::of_book(book, header, state.sport);
        Some(odds::book_frame(state, book, told, odds::reason(header, "subscribe"), now))
    }
}

/// A line begins where somebody asks, which no source decides: so each has an epoch of its own.
fn epoch(now: Micros) -> Epoch {
    let millisecond = now.div_euclid(1000).rem_euclid(Micros::from(u32::MAX));
    Epoch(u32::try_from(millisecond).unwrap_or_default())
}

fn new_channel(
    channels: &mut Channels,
    name: ChannelId,
    (epoch, needs): (Epoch, Classes),
) -> Channel {
    Channel { number: channels.next_number(), name, epoch, trails: false, needs }
}

fn numbered(frame: Object, epoch: Epoch, seq: Seq) -> Bytes {
    text_frame(|out| Numbered { frame, epoch, seq }.encode(out))
}
