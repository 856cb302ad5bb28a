//! Plays films to one reader: one clock for all, and only what the reader has room for.
//!
//! Plain state: `now` is an argument, and frames are return values.

use std::collections::{BTreeSet, HashMap, VecDeque};

use bytes::Bytes;
use fanout::{
    ChannelId, Classes, Micros,
    channel::Position,
    encode::text_frame,
    protocol,
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
    films: Vec<FilmPlayback>,
    channels: Vec<ReplayChannel>,
    /// The channels that are played, and their indexes.
    played: PlayedChannels,
    /// The name of the replay, which each frame has.
    name: String,
    speed: ReplaySpeed,
    is_paused: bool,
    /// The recorded time at the moment `base_now`.
    base_at: Micros,
    base_now: Micros,
    /// The clock begins with the first entry, which is not known yet.
    awaits_first: bool,
    /// The images after a seek, which are due at once.
    images: VecDeque<(usize, Entry)>,
    /// Bytes that were read or unpacked since this was last taken.
    work: usize,
}

type PlayedChannels = HashMap<ChannelId, usize>;

/// A film and how far it has been played.
#[derive(Debug)]
struct FilmPlayback {
    reader: FilmReader,
    /// The next entry of a played channel, and the channel's index.
    next: Option<(usize, Entry)>,
}

/// The result of [`Player::take`].
#[derive(Debug)]
pub struct PlayedFrames {
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
        let status = |channel: &ChannelId| {
            let needs = needs(channel);
            if films.of_channel(channel).is_none() {
                ReplayChannelStatus::NotTracked
            } else if !classes.cover(needs) {
                ReplayChannelStatus::NotEntitled { needs }
            } else {
                ReplayChannelStatus::Played { needs, position: None }
            }
        };
        let channels = channels.iter();
        let channels = channels.map(|it| ReplayChannel { name: it.clone(), status: status(it) });
        let mut channels: Vec<ReplayChannel> = channels.collect();
        // Before any film is opened, which is expensive.
        if channels.iter().any(ReplayChannel::is_played) {
            read_from(&channels, from)?;
        }
        let readers = open_films(films, &mut channels);
        if readers.is_empty() {
            return Err(nothing_played(&channels));
        }
        let played = channels.iter().enumerate().filter(|(_, channel)| channel.is_played());
        let played = played.map(|(position, channel)| (channel.name.clone(), position)).collect();
        let mut player = Self {
            films: readers.into_iter().map(|reader| FilmPlayback { reader, next: None }).collect(),
            channels,
            played,
            name: name(replay),
            speed,
            is_paused: false,
            base_at: 0,
            base_now: now,
            awaits_first: false,
            images: VecDeque::new(),
            work: 0,
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

    /// How many bytes it has read or unpacked since this was last called, as a measure of its work.
    pub fn take_work(&mut self) -> usize {
        let work: usize = self.films.iter_mut().map(|film| film.reader.take_work()).sum();
        work + std::mem::take(&mut self.work)
    }

    /// Whether a film of it was deleted, so that it cannot go on.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.films.iter().any(|film| film.reader.is_deleted())
    }

    /// Pauses or continues it, changes its speed, or moves it.
    ///
    /// # Errors
    ///
    /// If the position to move to is not clear or a film cannot be read there. Nothing has changed then.
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
        let from = read_from(&self.channels, position)?;
        self.seek_to(from, now).map_err(|error| {
            tracing::warn!(%error, "a film cannot be replayed");
            ReplayRefusal::Limit("the recording cannot be read".to_owned())
        })
    }

    /// Moves all films. If one of them cannot be read, none has moved.
    fn seek_to(&mut self, from: ReadFrom, now: Micros) -> Result<(), FilmError> {
        self.work = self.take_work();
        let films = self.films.iter().map(|film| film.reader.clone());
        let mut films: Vec<FilmPlayback> =
            films.map(|reader| FilmPlayback { reader, next: None }).collect();
        let begin = self.begin();
        let from = match from {
            ReadFrom::At(at) if begin.is_none_or(|begin| at < begin) => ReadFrom::Start,
            from => from,
        };
        let images = seek_films(&mut films, &from);
        let filled = fill(&mut films, &self.played);
        self.work += films.iter_mut().map(|film| film.reader.take_work()).sum::<usize>();
        let (images, is_filled) = (images?, filled?);
        self.films = films;

        let reached = images.iter().map(|image| image.at).max();
        let played = images.into_iter().filter_map(|image| {
            let channel = *self.played.get(&image.channel)?;
            Some((channel, image))
        });
        self.images = played.collect();
        for channel in &mut self.channels {
            if let ReplayChannelStatus::Played { position, .. } = &mut channel.status {
                *position = None;
            }
        }
        for (channel, image) in &self.images {
            set_position(&mut self.channels[*channel], image);
        }
        self.base_now = now;
        match from {
            ReadFrom::At(at) => (self.base_at, self.awaits_first) = (at, false),
            ReadFrom::Start | ReadFrom::Record(_) | ReadFrom::Seq { .. } => {
                self.base_at = reached.or(begin).unwrap_or_default();
                self.awaits_first = reached.is_none();
            }
        }
        if self.awaits_first && is_filled {
            self.begin_clock(now);
        }
        Ok(())
    }

    /// Begins the clock with the first entry. The images of that moment are due at once, also during a pause.
    fn begin_clock(&mut self, now: Micros) {
        self.awaits_first = false;
        let Some(first) = self.next_at() else { return };
        (self.base_at, self.base_now) = (first, now);
        while let Some(film) = next_film(&mut self.films)
            && film
                .next
                .as_ref()
                .is_some_and(|(_, it)| it.at == first && matches!(it.kind, EntryKind::Image { .. }))
        {
            let Some((channel, entry)) = film.next.take() else { return };
            set_position(&mut self.channels[channel], &entry);
            self.images.push_back((channel, entry));
            // An error comes again when the frames are taken.
            if fill(&mut self.films, &self.played).is_err() {
                return;
            }
        }
    }

    /// When the first of the played channels begins, or a little earlier.
    fn begin(&self) -> Option<Micros> {
        let is_played = |channel: &ChannelId| self.played.contains_key(channel);
        self.films.iter().filter_map(|film| film.reader.begin_of(&is_played)).min()
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
    ) -> Result<PlayedFrames, FilmError> {
        let (mut frames, mut cost) = (Vec::new(), 0);
        let next = loop {
            let is_filled = fill(&mut self.films, &self.played)?;
            if self.awaits_first && is_filled {
                self.begin_clock(now);
            }
            let is_image = !self.images.is_empty();
            if self.is_paused && !is_image && !self.awaits_first {
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
                // The block of another film may have been written later than this entry's.
                self.base_at = self.base_at.max(entry.at);
            }
            frames.push(ReplayFrame { frame, channel });
        };
        Ok(PlayedFrames { frames, next })
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
        next_film(&mut self.films)?.next.take()
    }

    /// The frame of an entry: as it was published, with the name of the replay.
    fn frame(&self, entry: &Entry) -> Bytes {
        match &entry.kind {
            EntryKind::Image { payload, .. } | EntryKind::Update { payload, .. } => {
                let open = payload.strip_suffix(b"}").unwrap_or(payload);
                let parts: [&[u8]; 4] = [open, br#","replay":""#, self.name.as_bytes(), br#""}"#];
                text_frame(|out| parts.iter().for_each(|part| out.extend_from_slice(part)))
            }
            EntryKind::Closed => {
                protocol::channel_gone(entry.channel.as_str(), Some(self.name.as_str()))
            }
        }
    }
}

/// The position in films that a position of a replay means.
fn read_from(
    channels: &[ReplayChannel],
    position: &ReplayPosition,
) -> Result<ReadFrom, ReplayRefusal> {
    let only = || match channels {
        [channel] => Some(channel.name.clone()),
        _ => None,
    };
    Ok(match position {
        ReplayPosition::Start => ReadFrom::Start,
        ReplayPosition::At(at) => ReadFrom::At(*at),
        ReplayPosition::Seq { channel, epoch, seq } => {
            let channel = channel.clone().or_else(only).ok_or(ReplayRefusal::AmbiguousSeq)?;
            if !channels.iter().any(|it| it.name == channel && it.is_played()) {
                return Err(ReplayRefusal::NotTracked(channel));
            }
            ReadFrom::Seq { channel, epoch: *epoch, seq: *seq }
        }
    })
}

/// Opens the films of the played channels. The channels of a film that cannot be read are not played.
fn open_films(films: &Films, channels: &mut [ReplayChannel]) -> Vec<FilmReader> {
    let played = channels.iter().filter(|channel| channel.is_played());
    let names: BTreeSet<String> =
        played.filter_map(|channel| Some(match_of(channel.name.as_str())?.to_owned())).collect();
    let mut readers = Vec::new();
    for name in names {
        match films.reader(&name) {
            Ok(reader) => readers.push(reader),
            Err(error) => {
                tracing::warn!(film = name, %error, "a film cannot be replayed");
                let is_its = |channel: &&mut ReplayChannel| {
                    channel.is_played() && match_of(channel.name.as_str()) == Some(&*name)
                };
                let of_film = channels.iter_mut().filter(is_its);
                of_film.for_each(|it| it.status = ReplayChannelStatus::NotTracked);
            }
        }
    }
    readers
}

/// Why none of the channels is played: why not the first one.
fn nothing_played(channels: &[ReplayChannel]) -> ReplayRefusal {
    match channels.first() {
        Some(ReplayChannel { name, status: ReplayChannelStatus::NotEntitled { needs } }) => {
            ReplayRefusal::NotEntitled(name.clone(), *needs)
        }
        Some(first) => ReplayRefusal::NotTracked(first.name.clone()),
        None => ReplayRefusal::NotTracked(ChannelId::new("")),
    }
}

/// Moves films to a position. Returns the images of the channels that are open there.
fn seek_films(films: &mut [FilmPlayback], from: &ReadFrom) -> Result<Vec<Entry>, FilmError> {
    for film in &mut *films {
        film.reader.refresh()?;
    }
    let mut images: Vec<Entry> = Vec::new();
    // The film with the sequence says where the others are.
    let (mut others, mut leading) = (from.clone(), None);
    if let ReadFrom::Seq { channel, .. } = from {
        let has = |film: &FilmPlayback| {
            film.reader.tracks().iter().any(|track| track.channel == *channel)
        };
        leading = films.iter().position(has);
        if let Some(leading) = leading {
            let open = films[leading].reader.seek(from)?;
            if let Some(image) = open.first() {
                others = ReadFrom::Record(image.number);
            }
            images.extend(open);
        }
    }
    for (index, film) in films.iter_mut().enumerate() {
        if Some(index) != leading {
            images.extend(film.reader.seek(&others)?);
        }
    }
    Ok(images)
}

/// Reads the next entry of a played channel from each film that has none. Returns false if there may be more
/// after others had their turn.
fn fill(films: &mut [FilmPlayback], played: &PlayedChannels) -> Result<bool, FilmError> {
    let is_played = |channel: &ChannelId| played.contains_key(channel);
    let mut skipped = 0;
    for film in films {
        while film.next.is_none() {
            if skipped == SKIPPED_MAX {
                return Ok(false);
            }
            let mut entry = film.reader.next_entry_near(&is_played)?;
            if entry.is_none() && film.reader.refresh()? {
                entry = film.reader.next_entry_near(&is_played)?;
            }
            let Some(entry) = entry else { break };
            skipped += 1;
            film.next = played.get(&entry.channel).map(|channel| (*channel, entry));
        }
    }
    Ok(true)
}

/// The film with the next entry.
fn next_film(films: &mut [FilmPlayback]) -> Option<&mut FilmPlayback> {
    let next = films.iter_mut().filter(|film| film.next.is_some());
    next.min_by_key(|film| film.next.as_ref().map(|(_, entry)| (entry.at, entry.number)))
}

fn set_position(channel: &mut ReplayChannel, entry: &Entry) {
    if let ReplayChannelStatus::Played { position, .. } = &mut channel.status {
        let epoch = Some(entry.epoch);
        *position = entry.kind.seq().map(|seq| Position { epoch, seq });
    }
}
