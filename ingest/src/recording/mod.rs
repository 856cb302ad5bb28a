//! A recorded feed, opened from a path and read as an iterator of steps.
//!
//! Formats and compression are recognised from the content. Streams are read line by line, so that
//! memory does not grow with their length; a document that holds a whole match is held. What
//! cannot be used is a step of its own, and the recording goes on. Pacing is the player's work.

mod betfair;
mod bytes;
mod companion;
pub mod container;
mod content;
mod document;
mod events;
mod lines;
mod own_events;
mod point_strings;
mod slam;
mod statsbomb;
mod statsperform;
mod wyscout;

use std::{
    collections::VecDeque,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use facts::event::{Micros, Sport, Timed};

use self::{
    betfair::BetfairFeed,
    bytes::{Bytes, Whole},
    container::ContainerFeed,
    content::Content,
    document::DocumentFeed,
    events::EventFeed,
    lines::{LineEnd, LineReader, NumberedLine},
    own_events::OwnEventFeed,
    point_strings::PointStringFeed,
    slam::SlamFeed,
    statsperform::StatsPerformFeed,
};
use crate::{
    error::{DecodeError, Place, Refusal, RefusalKind, Result},
    normalize::{self, Interpret, the_odds_api::PriceFormat},
};

pub use self::companion::plan;

/// A recording that is being read.
pub struct Recording {
    format: Format,
    name: Arc<str>,
    feed: Feed,
    /// Steps of the message read last that were not taken yet.
    steps: VecDeque<Step>,
}

/// One step of a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Facts, and when they are to be played. The clock of a Betfair stream may fall where the
    /// stream's own does; the others never do.
    Batch(Timed),
    Refused(Refusal),
}

/// How much of an input is held at once.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of one line of a stream. Default 16 MiB: the largest image known has 0.6 MiB. One
    /// line of this length is held for each stream that is being read.
    pub message_bytes_max: usize,
    /// Bytes of a document or a companion, decompressed. Default 256 MiB: a match has 0.6 MiB. A
    /// document is held while it is opened, and its messages until they are played.
    pub document_bytes_max: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    BetfairStream,
    Wyscout,
    SlamPointByPoint,
    StatsBomb,
    StatsPerform,
    TheOddsApi,
    FootballDataCoUk,
    ApiFootball,
    SportradarUof,
    PointByPointStrings,
    BetfairMarketBook,
    BetfairScores,
    /// Matchwire's own.
    Events,
    /// Frames of another hub, which are only ever recorded with the moments at which they came.
    MatchwireStream,
}

/// Why a recording cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} cannot be read", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is empty", .path.display())]
    Empty { path: PathBuf },
    #[error(
        "{} is in no known format ({})", .path.display(), Format::ALL.map(Format::as_str).join(", ")
    )]
    UnknownFormat { path: PathBuf },
    #[error(
        "{} only goes with a {} recording and cannot be played alone: name the {} as well",
        .path.display(), .format.as_str(), .format.recording()
    )]
    OnlyCompanion { path: PathBuf, format: Format },
    #[error("{} is longer than the {limit} bytes of a document", .path.display())]
    TooLong { path: PathBuf, limit: usize },
    #[error("{} cannot be played", .path.display())]
    Unusable { path: PathBuf, source: DecodeError },
}

/// The part of a recording that differs by format.
enum Feed {
    Betfair(Box<BetfairFeed>),
    Wyscout(Box<EventFeed<normalize::wyscout::Normalizer>>),
    Slam(Box<SlamFeed>),
    StatsBomb(Box<EventFeed<normalize::statsbomb::Normalizer>>),
    StatsPerform(StatsPerformFeed),
    PointStrings(Box<PointStringFeed>),
    Document(DocumentFeed),
    Events(Box<OwnEventFeed>),
    Container(Box<ContainerFeed>),
}

impl Recording {
    /// Opens a recording. `named` are all files that the user named, which may include its
    /// companions; others are looked up next to it, and a missing one is not an error. `start` is
    /// when playing starts, for messages that do not say when they were sent.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is empty, of no known format, only a companion, or has nothing
    /// that can be played.
    pub fn open(
        path: &Path,
        named: &[PathBuf],
        start: Micros,
        limits: &Limits,
    ) -> Result<Self, OpenError> {
        let content = content::recognise(path)?;
        let mut format = match content {
            Content::Recording(format) | Content::Either(format) => format,
            // The file itself says which.
            Content::Container => Format::Events,
            Content::Companion(format) => {
                return Err(OpenError::OnlyCompanion { path: path.to_owned(), format });
            }
        };
        let mut steps = VecDeque::new();
        let mut opening = Opening { path, named, start, limits, steps: &mut steps };
        let feed = match format {
            _ if content == Content::Container => {
                let (feed, contained) = ContainerFeed::open(&opening)?;
                format = contained;
                Feed::Container(Box::new(feed))
            }
            Format::Events => Feed::Events(Box::new(OwnEventFeed::open(&opening)?)),
            Format::BetfairStream => Feed::Betfair(Box::new(BetfairFeed::open(&opening)?)),
            Format::Wyscout => Feed::Wyscout(Box::new(wyscout::open(&mut opening)?)),
            Format::SlamPointByPoint => Feed::Slam(Box::new(SlamFeed::open(&mut opening)?)),
            Format::StatsBomb => Feed::StatsBomb(Box::new(statsbomb::open(&mut opening)?)),
            Format::StatsPerform => {
                let is_summary = matches!(content, Content::Either(_));
                Feed::StatsPerform(StatsPerformFeed::open(&mut opening, is_summary)?)
            }
            Format::PointByPointStrings => {
                Feed::PointStrings(Box::new(PointStringFeed::open(&mut opening)?))
            }
            Format::ApiFootball
            | Format::BetfairMarketBook
            | Format::BetfairScores
            | Format::FootballDataCoUk
            | Format::SportradarUof
            | Format::MatchwireStream
            | Format::TheOddsApi => Feed::Document(DocumentFeed::open(&mut opening, format)?),
        };
        let name = format!("{}:{}", format.as_str(), stem(path)).into();
        Ok(Self { format, name, feed, steps })
    }

    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The name of the source: its format and its file, `betfair-stream:tennis-29788105`.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }
}

impl Iterator for Recording {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.steps.pop_front() {
                return Some(step);
            }
            let read = match &mut self.feed {
                Feed::Betfair(feed) => feed.read(&mut self.steps),
                Feed::Wyscout(feed) => feed.read(&mut self.steps),
                Feed::Slam(feed) => feed.read(&mut self.steps),
                Feed::StatsBomb(feed) => feed.read(&mut self.steps),
                Feed::StatsPerform(feed) => feed.read(&mut self.steps),
                Feed::PointStrings(feed) => feed.read(&mut self.steps),
                Feed::Document(feed) => feed.read(&mut self.steps),
                Feed::Events(feed) => feed.read(&mut self.steps),
                Feed::Container(feed) => feed.read(&mut self.steps),
            };
            if !read {
                return None;
            }
        }
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { message_bytes_max: 16 << 20, document_bytes_max: 256 << 20 }
    }
}

impl Format {
    /// All of them, for who names them to a user.
    pub const ALL: [Self; 14] = [
        Self::BetfairStream,
        Self::Wyscout,
        Self::SlamPointByPoint,
        Self::StatsBomb,
        Self::StatsPerform,
        Self::TheOddsApi,
        Self::FootballDataCoUk,
        Self::ApiFootball,
        Self::SportradarUof,
        Self::PointByPointStrings,
        Self::BetfairMarketBook,
        Self::BetfairScores,
        Self::Events,
        Self::MatchwireStream,
    ];

    /// The format of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BetfairStream => "betfair-stream",
            Self::Wyscout => "wyscout",
            Self::SlamPointByPoint => "slam-pointbypoint",
            Self::StatsBomb => "statsbomb",
            Self::StatsPerform => "statsperform",
            Self::TheOddsApi => "the-odds-api",
            Self::FootballDataCoUk => "football-data-couk",
            Self::ApiFootball => "api-football",
            Self::SportradarUof => "sportradar-uof",
            Self::PointByPointStrings => "pointbypoint-strings",
            Self::BetfairMarketBook => "betfair-rest",
            Self::BetfairScores => "betfair-scores",
            Self::Events => "matchwire-events",
            Self::MatchwireStream => "matchwire-stream",
        }
    }

    /// What makes facts of this format's messages, one after another, as a live source of it sends
    /// them or as a document holds them. `None` where it takes more than a message to do so.
    #[must_use]
    pub fn interpreter(self, source: &Arc<str>) -> Option<Box<dyn Interpret>> {
        use normalize as n;
        Some(match self {
            Self::ApiFootball => Box::new(n::api_football::Interpreter::default()),
            Self::BetfairMarketBook => Box::new(n::betfair::book::Interpreter::default()),
            Self::BetfairScores => Box::new(n::betfair_scores::Interpreter::default()),
            Self::BetfairStream => Box::new(n::betfair::Live::default()),
            Self::FootballDataCoUk => Box::new(n::football_data_couk::Interpreter::default()),
            Self::SportradarUof => {
                Box::new(n::sportradar_uof::Interpreter::with_default(Sport::Other))
            }
            Self::MatchwireStream => Box::new(n::matchwire::Matchwire::default()),
            Self::Events => {
                Box::new(n::events::Interpreter::new(Arc::clone(source)).of_all_matches())
            }
            Self::TheOddsApi => Box::new(n::the_odds_api::Interpreter::recorded(PriceFormat::Auto)),
            Self::Wyscout
            | Self::SlamPointByPoint
            | Self::StatsBomb
            | Self::StatsPerform
            | Self::PointByPointStrings => return None,
        })
    }

    /// The file that holds the play, in the words of an error.
    fn recording(self) -> &'static str {
        match self {
            Self::BetfairStream => "stream",
            Self::Wyscout | Self::StatsBomb | Self::StatsPerform => "file with the match's events",
            Self::SlamPointByPoint => "points file",
            Self::TheOddsApi => "answer",
            Self::FootballDataCoUk => "file of a season",
            Self::ApiFootball => "answer of `fixtures` with the match",
            Self::SportradarUof => "message",
            Self::PointByPointStrings => "file of point strings",
            Self::BetfairMarketBook => "market book",
            Self::BetfairScores => "scores",
            Self::Events => "file of lines",
            Self::MatchwireStream => "recording of its source",
        }
    }
}

/// What a format is given to open its part of a recording.
struct Opening<'a> {
    path: &'a Path,
    named: &'a [PathBuf],
    start: Micros,
    limits: &'a Limits,
    steps: &'a mut VecDeque<Step>,
}

impl Opening<'_> {
    fn io(&self, source: io::Error) -> OpenError {
        OpenError::Io { path: self.path.to_owned(), source }
    }

    fn unusable(&self, source: DecodeError) -> OpenError {
        OpenError::Unusable { path: self.path.to_owned(), source }
    }

    /// The file as places name it: as the user did.
    fn file(&self) -> Arc<str> {
        self.path.display().to_string().into()
    }

    /// Opens the file as a stream of lines.
    fn lines(&self, line_bytes_max: usize) -> Result<LineReader<Bytes>, OpenError> {
        let bytes = bytes::open(self.path).map_err(|error| self.io(error))?;
        Ok(LineReader::new(bytes, line_bytes_max))
    }

    /// Reads the whole file.
    fn document(&self) -> Result<Whole, OpenError> {
        let limit = self.limits.document_bytes_max;
        let whole = bytes::read(self.path, limit).map_err(|error| self.io(error))?;
        whole.ok_or_else(|| OpenError::TooLong { path: self.path.to_owned(), limit })
    }

    /// The companions of the recording, in the files named and in `companion_name`.
    fn companions<T>(
        &mut self,
        format: Format,
        companion_name: &str,
        read: impl FnMut(&[u8]) -> Result<T>,
    ) -> impl Iterator<Item = T> {
        let candidates = companion::candidates(self.path, self.named, format, companion_name);
        companion::read_all(candidates, self.limits, self.steps, read)
    }
}

/// Reads the next line of a stream and processes it. Its problems become steps after its batches.
/// `false` at the end.
fn read_line(
    lines: &mut LineReader<Bytes>,
    file: &Arc<str>,
    steps: &mut VecDeque<Step>,
    mut take: impl FnMut(&NumberedLine<'_>, &mut VecDeque<Step>) -> Result<()>,
) -> bool {
    let bytes_max = lines.bytes_max();
    let Some(line) = lines.next() else { return false };
    let taken = match &line.end {
        LineEnd::Newline => take(&line, steps),
        LineEnd::Input => take(&line, steps).map_err(cut),
        LineEnd::TooLong => Err(DecodeError::new(
            RefusalKind::TooLong,
            format!("line of more than {bytes_max} bytes"),
        )),
        LineEnd::Failed(error) => {
            // A line that is complete but for its end is used; of one that is not, all that is
            // to be said is where the input failed.
            let _unfinished = line.text.is_empty() || take(&line, steps).is_err();
            Err(unreadable(error))
        }
    };
    steps.extend(taken.err().map(|error| refused(error, file, line.number, line.text)));
    true
}

/// What is wrong with the last line is most likely that it is not all there.
fn cut(error: DecodeError) -> DecodeError {
    match error.kind {
        RefusalKind::Syntax => DecodeError { kind: RefusalKind::Truncated, ..error },
        _ => error,
    }
}

fn unreadable(error: &io::Error) -> DecodeError {
    let kind = match error.kind() {
        io::ErrorKind::UnexpectedEof => RefusalKind::Truncated,
        _ => RefusalKind::Io,
    };
    DecodeError::new(kind, error.to_string())
}

/// Refuses a message, or something in it.
fn refused(error: DecodeError, file: &Arc<str>, line: u64, bytes: &[u8]) -> Step {
    Step::Refused(Refusal::new(error, Place { file: file.clone(), line }, bytes))
}

/// A file's name without what names its tier, its form and its compression: segments at its end
/// that begin with a letter. `tennis-1.223716976.basic.bz2` is `tennis-1.223716976`.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut stem = name.as_str();
    while let Some((before, end)) = stem.rsplit_once('.') {
        if before.is_empty() || !end.starts_with(|first: char| first.is_ascii_alphabetic()) {
            break;
        }
        stem = before;
    }
    stem.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_keeps_the_numbers_and_drops_the_tier() {
        for (path, expected) in [
            ("feeds/tennis-29788105.pro.jsonl.gz", "tennis-29788105"),
            ("tennis-1.223716976.basic.bz2", "tennis-1.223716976"),
            ("2058017.events.json.gz", "2058017"),
            ("plain", "plain"),
            (".hidden", ".hidden"),
        ] {
            assert_eq!(stem(Path::new(path)), expected);
        }
    }
}
