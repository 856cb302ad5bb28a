//! Plays films to one reader: one clock for all, and only what the reader has room for.
//!
//! Plain state: `now` is an argument, and frames are return values.

use std::collections::VecDeque;

use bytes::Bytes;
use fanout::{
    ChannelId, Classes, Micros,
    channel::Position,
    encode::text_frame,
    replay::{
        ReplayChange, ReplayChannel, ReplayChannelStatus, ReplayFrame, ReplayPosition,
        ReplayRefusal, ReplaySpeed, ReplayState, name,
    },
};

use super::{
    FilmError, Films, match_of,
    reader::{Entry, EntryKind, FilmReader, ReadFrom},
};

/// Frames that are due within this time are sent together, in microseconds: at a hundredfold speed a frame
/// would otherwise wake its reader thousands of times a second.
const TOGETHER_US: Micros = 5_000;

/// Entries of other channels that are skipped before others get their turn.
const SKIPPED_MAX: usize = 20_000;

/// Plays some channels of some films.
#[derive(Debug)]
pub struct Player {
    films: Vec<Film>,
    channels: Vec<ReplayChannel>,
    /// Added to each frame before its last brace.
    suffix: String,
    speed: ReplaySpeed,
    is_paused: bool,
    /// The recorded time at the moment `base_now`.
    base_at: Micros,
    base_now: Micros,
    /// The images after a seek, which are due at once.
    images: VecDeque<(usize, Entry)>,
}

#[derive(Debug)]
struct Film {
    reader: FilmReader,
    /// The next entry of a played channel, and the channel's index.
    next: Option<(usize, Entry)>,
}

/// The result of [`Player::take`].
#[derive(Debug)]
pub struct Taken {
    pub frames: Vec<ReplayFrame>,
    pub next: NextFrames,
}

/// When there is more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextFrames {
    /// Now.
    Ready,
    /// At this moment of the clock that is passed in.
    At(Micros),
    /// Not before it is continued.
    Paused,
    /// Everything that is recorded so far has been played.
    End,
}

impl Player {
    /// Opens the films of some channels, as far as a reader with these classes may follow them. `needs`: the
    /// classes that a channel requires.
    ///
    /// # Errors
    ///
    /// If none of the channels can be played: why not the first one.
    pub fn open(
        films: &Films,
        (channels, classes): (&[ChannelId], Classes),
        needs: impl Fn(&ChannelId) -> Classes,
        (replay, from, speed): (u32, &ReplayPosition, ReplaySpeed),
        now: Micros,
    ) -> Result<Self, ReplayRefusal> {
        let mut refusal = None;
        let mut played = Vec::new();
        for channel in channels {
            let needs = needs(channel);
            let status = if films.of_channel(channel).is_none() {
                refusal.get_or_insert_with(|| ReplayRefusal::NotTracked(channel.clone()));
                ReplayChannelStatus::NotTracked
            } else if !classes.cover(needs) {
                refusal.get_or_insert_with(|| ReplayRefusal::NotEntitled(channel.clone(), needs));
                ReplayChannelStatus::NotEntitled { needs }
            } else {
                ReplayChannelStatus::Played { needs, position: None }
            };
            played.push(ReplayChannel { name: channel.clone(), status });
        }
        let mut names: Vec<&str> = Vec::new();
        for channel in played.iter().filter(|channel| channel.is_played()) {
            let name = match_of(channel.name.as_str()).unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let readers = names.iter().filter_map(|name| match films.reader(name) {
            Ok(reader) => Some(Film { reader, next: None }),
            Err(error) => {
                tracing::warn!(film = name, %error, "a film cannot be replayed");
                None
            }
        });
        let readers: Vec<Film> = readers.collect();
        if readers.is_empty() || readers.len() < names.len() {
            let first = channels.first().cloned().unwrap_or_else(|| ChannelId::new(""));
            return Err(refusal.unwrap_or(ReplayRefusal::NotTracked(first)));
        }
        let mut player = Self {
            films: readers,
            channels: played,
            suffix: format!(r#","replay":"{}"}}"#, name(replay)),
            speed,
            is_paused: false,
            base_at: 0,
            base_now: now,
            images: VecDeque::new(),
        };
        player.seek(from, now)?;
        Ok(player)
    }

    /// What it plays, and where it is.
    #[must_use]
    pub fn state(&self, now: Micros) -> ReplayState {
        let spans = self.films.iter().filter_map(|film| film.reader.span());
        let span = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default();
        ReplayState {
            channels: self.channels.clone(),
            span,
            at: self.clock(now).min(span.1),
            speed: self.speed,
            is_paused: self.is_paused,
        }
    }

    /// How many bytes it has unpacked since this was last called, as a measure of its work.
    pub fn take_work(&mut self) -> usize {
        self.films.iter_mut().map(|film| film.reader.take_unpacked_bytes()).sum()
    }

    /// Pauses or continues it, changes its speed, or moves it.
    ///
    /// # Errors
    ///
    /// If the position to move to is not clear, and then nothing has changed; or if a film cannot be read.
    pub fn change(&mut self, change: &ReplayChange, now: Micros) -> Result<(), ReplayRefusal> {
        match &change.seek {
            Some(seek) => self.seek(seek, now)?,
            None => (self.base_at, self.base_now) = (self.clock(now), now),
        }
        self.is_paused = change.pause.unwrap_or(self.is_paused);
        self.speed = change.speed.unwrap_or(self.speed);
        Ok(())
    }

    /// The recorded time that has been reached.
    fn clock(&self, now: Micros) -> Micros {
        match self.speed {
            _ if self.is_paused => self.base_at,
            // There is no clock: it is where the last entry was.
            ReplaySpeed::Unlimited => self.base_at,
            ReplaySpeed::Thousandths(speed) => {
                let passed = i128::from(now - self.base_now) * i128::from(speed) / 1000;
                self.base_at.saturating_add(Micros::try_from(passed).unwrap_or(Micros::MAX))
            }
        }
    }

    fn next_at(&self) -> Option<Micros> {
        let next = self.films.iter().filter_map(|film| film.next.as_ref());
        next.map(|(_, entry)| entry.at).min()
    }

    fn seek(&mut self, position: &ReplayPosition, now: Micros) -> Result<(), ReplayRefusal> {
        let only = || match &self.channels[..] {
            [channel] => Some(channel.name.clone()),
            _ => None,
        };
        let from = match position {
            ReplayPosition::Start => ReadFrom::Start,
            ReplayPosition::At(at) => ReadFrom::At(*at),
            ReplayPosition::Seq { channel, epoch, seq } => {
                let channel = channel.clone().or_else(only).ok_or(ReplayRefusal::AmbiguousSeq)?;
                let is_it = |it: &ReplayChannel| it.name == channel && it.is_played();
                if !self.channels.iter().any(is_it) {
                    return Err(ReplayRefusal::NotTracked(channel));
                }
                ReadFrom::Seq { channel, epoch: *epoch, seq: *seq }
            }
        };
        self.seek_to(&from, now).map_err(|error| {
            tracing::warn!(%error, "a film cannot be replayed");
            ReplayRefusal::Limit("the recording cannot be read".to_owned())
        })
    }

    fn seek_to(&mut self, from: &ReadFrom, now: Micros) -> Result<(), FilmError> {
        let mut images: Vec<Entry> = Vec::new();
        // The film with the sequence says where the others are.
        let film_of = |film: &Film, channel: &ChannelId| {
            film.reader.channels().iter().any(|own| own.name == *channel)
        };
        let mut others = from.clone();
        let mut leading = None;
        for film in &mut self.films {
            film.reader.refresh()?;
        }
        if let ReadFrom::Seq { channel, .. } = from {
            leading = self.films.iter().position(|film| film_of(film, channel));
            if let Some(leading) = leading {
                let found = self.films[leading].reader.seek(from)?;
                if let Some(place) = found.first() {
                    others = ReadFrom::Record(place.number);
                }
                images.extend(found);
            }
        }
        for (place, film) in self.films.iter_mut().enumerate() {
            if Some(place) != leading {
                images.extend(film.reader.seek(&others)?);
            }
        }
        let reached = images.iter().map(|image| image.at).max();
        let played = images.into_iter().filter_map(|image| {
            let channel = index_of(&self.channels, &image.channel)?;
            Some((channel, image))
        });
        self.images = played.collect();
        for film in &mut self.films {
            film.next = None;
        }
        for channel in &mut self.channels {
            if let ReplayChannelStatus::Played { position, .. } = &mut channel.status {
                *position = None;
            }
        }
        for (channel, image) in &self.images {
            set_position(&mut self.channels[*channel], image);
        }
        self.fill()?;
        if *from == ReadFrom::Start {
            self.set_first_positions();
        }
        let first = self.next_at();
        self.base_at = match from {
            ReadFrom::At(at) => (*at).max(self.first_at().unwrap_or(*at)),
            ReadFrom::Start | ReadFrom::Record(_) | ReadFrom::Seq { .. } => {
                reached.or(first).unwrap_or_default()
            }
        };
        self.base_now = now;
        Ok(())
    }

    /// When the films begin.
    fn first_at(&self) -> Option<Micros> {
        self.films.iter().filter_map(|film| Some(film.reader.span()?.0)).min()
    }

    /// At the start, channels whose image is the next entry of their film are there.
    fn set_first_positions(&mut self) {
        for film in &self.films {
            if let Some((channel, entry)) = &film.next {
                set_position(&mut self.channels[*channel], entry);
            }
        }
    }

    /// Reads the next entry of a played channel from each film that has none. Returns false if
    /// there may be more after others had their turn.
    fn fill(&mut self) -> Result<bool, FilmError> {
        let mut skipped = 0;
        for film in &mut self.films {
            while film.next.is_none() {
                if skipped == SKIPPED_MAX {
                    return Ok(false);
                }
                let mut entry = film.reader.next_entry()?;
                if entry.is_none() && film.reader.refresh()? {
                    entry = film.reader.next_entry()?;
                }
                let Some(entry) = entry else { break };
                skipped += 1;
                let channel = index_of(&self.channels, &entry.channel);
                film.next = channel.map(|channel| (channel, entry));
            }
        }
        Ok(true)
    }

    /// Takes the frames that are due, of about `bytes_max` bytes, where each counts `frame_bytes` more; at
    /// least one if any is due.
    ///
    /// # Errors
    ///
    /// If a film cannot be read.
    pub fn take(
        &mut self,
        (bytes_max, frame_bytes): (usize, usize),
        now: Micros,
    ) -> Result<Taken, FilmError> {
        let (mut frames, mut cost) = (Vec::new(), 0);
        let next = loop {
            let is_filled = self.fill()?;
            let is_image = !self.images.is_empty();
            if self.is_paused && !is_image {
                break NextFrames::Paused;
            }
            if !is_filled && !is_image {
                break NextFrames::Ready;
            }
            let Some(at) = self.next_at().or_else(|| is_image.then_some(self.base_at)) else {
                break NextFrames::End;
            };
            let due = if is_image { now } else { self.due(at) };
            if due > now {
                // A little later others are due as well.
                break NextFrames::At(due.max(now + TOGETHER_US));
            }
            if cost >= bytes_max && !frames.is_empty() {
                break NextFrames::Ready;
            }
            let Some((channel, entry)) = self.pop() else { break NextFrames::Ready };
            set_position(&mut self.channels[channel], &entry);
            let frame = self.frame(&entry);
            cost += frame.len() + frame_bytes;
            if self.speed == ReplaySpeed::Unlimited && !is_image {
                self.base_at = entry.at;
            }
            frames.push(ReplayFrame { frame, channel });
        };
        Ok(Taken { frames, next })
    }

    /// When an entry is due.
    fn due(&self, at: Micros) -> Micros {
        match self.speed {
            ReplaySpeed::Unlimited => Micros::MIN,
            ReplaySpeed::Thousandths(speed) => {
                let wait = i128::from(at - self.base_at) * 1000 / i128::from(speed);
                self.base_now.saturating_add(Micros::try_from(wait).unwrap_or(Micros::MAX))
            }
        }
    }

    fn pop(&mut self) -> Option<(usize, Entry)> {
        if let Some(image) = self.images.pop_front() {
            return Some(image);
        }
        let next = self.films.iter_mut().filter(|film| film.next.is_some());
        let first = next.min_by_key(|film| film.next.as_ref().map(|(_, it)| (it.at, it.number)));
        first?.next.take()
    }

    /// The frame of an entry: as it was published, with the name of the replay.
    fn frame(&self, entry: &Entry) -> Bytes {
        text_frame(|out| {
            match &entry.kind {
                EntryKind::Image { payload, .. } | EntryKind::Update { payload, .. } => {
                    let open = payload.strip_suffix(b"}").unwrap_or(payload);
                    out.extend_from_slice(open);
                }
                EntryKind::Closed => {
                    let channel = &entry.channel;
                    let gone = format!(r#"{{"type":"unsubscribed","ch":"{channel}","why":"gone""#);
                    out.extend_from_slice(gone.as_bytes());
                }
            }
            out.extend_from_slice(self.suffix.as_bytes());
        })
    }
}

fn index_of(channels: &[ReplayChannel], name: &ChannelId) -> Option<usize> {
    channels.iter().position(|channel| channel.name == *name && channel.is_played())
}

fn set_position(channel: &mut ReplayChannel, entry: &Entry) {
    if let ReplayChannelStatus::Played { position, .. } = &mut channel.status {
        let epoch = Some(entry.epoch);
        *position = entry.kind.seq().map(|seq| Position { epoch, seq });
    }
}
