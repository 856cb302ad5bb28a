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
#[expect(dead_code, reason = "the formats that use it come with the next change")]
mod document;
mod events;
mod lines;
mod slam;
mod wyscout;

use std::{
    collections::VecDeque,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use self::{
    bytes::Bytes,
    content::Content,
    lines::{End, Line, Lines},
};
use crate::{
    error::{DecodeError, Place, Refusal, RefusalKind},
    event::Micros,
    normalize::Interpret,
};

pub use self::companion::plan;
pub use crate::event::Timed;

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
    /// Matchwire's own.
    Events,
}

/// Why a recording cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} cannot be read", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is empty", .path.display())]
    Empty { path: PathBuf },
    #[error(
        "{} is in no known format (betfair-stream, wyscout, slam-pointbypoint, matchwire-events)",
        .path.display()
    )]
    UnknownFormat { path: PathBuf },
    #[error(
        "{} only goes with a {} recording and cannot be played alone: name the {} as well",
        .path.display(), .of.as_str(), .of.recording()
    )]
    OnlyCompanion { path: PathBuf, of: Format },
    #[error("{} is longer than the {limit} bytes of a document", .path.display())]
    TooLong { path: PathBuf, limit: usize },
    #[error("{} cannot be played", .path.display())]
    Unusable { path: PathBuf, source: DecodeError },
}

/// The part of a recording that differs by format.
enum Feed {
    Betfair(Box<betfair::Feed>),
    Wyscout(Box<wyscout::Feed>),
    Slam(Box<slam::Feed>),
    Events(Box<events::Feed>),
    Container(Box<container::Feed>),
}

impl Recording {
    /// Opens a recording. `named` are all files that the user named, among which its companions
    /// may be; others are looked for beside it, and without one it goes on with what it knows.
    /// `start` is when playing starts, for matches that do not say when theirs was.
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
            Content::Recording(format) => format,
            // The file itself says which.
            Content::Container => Format::Events,
            Content::Companion(of) => {
                return Err(OpenError::OnlyCompanion { path: path.to_owned(), of });
            }
        };
        let mut steps = VecDeque::new();
        let mut opening = Opening { path, named, start, limits, steps: &mut steps };
        let feed = match format {
            _ if content == Content::Container => {
                let (feed, of) = container::Feed::open(&opening)?;
                format = of;
                Feed::Container(Box::new(feed))
            }
            Format::Events => Feed::Events(Box::new(events::Feed::open(&opening)?)),
            Format::BetfairStream => Feed::Betfair(Box::new(betfair::Feed::open(&opening)?)),
            Format::Wyscout => Feed::Wyscout(Box::new(wyscout::Feed::open(&mut opening)?)),
            Format::SlamPointByPoint => Feed::Slam(Box::new(slam::Feed::open(&mut opening)?)),
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
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BetfairStream => "betfair-stream",
            Self::Wyscout => "wyscout",
            Self::SlamPointByPoint => "slam-pointbypoint",
            Self::Events => "matchwire-events",
        }
    }

    /// Every format.
    pub const ALL: [Self; 4] =
        [Self::BetfairStream, Self::Wyscout, Self::SlamPointByPoint, Self::Events];

    /// The format of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// What reads single messages of the format as they come from a source of this name; `None` for
    /// formats of which one message means nothing without the others.
    #[must_use]
    pub fn interpreter(self, source: &Arc<str>) -> Option<Box<dyn Interpret>> {
        match self {
            Self::BetfairStream => Some(Box::<betfair::Messages>::default()),
            Self::Events => {
                let interpreter = crate::normalize::events::Interpreter::new(Arc::clone(source));
                Some(Box::new(interpreter.of_all_matches()))
            }
            Self::Wyscout | Self::SlamPointByPoint => None,
        }
    }

    /// The file that holds the play, in the words of an error.
    fn recording(self) -> &'static str {
        match self {
            Self::BetfairStream => "stream",
            Self::Wyscout => "file with the match's events",
            Self::SlamPointByPoint => "points file",
            Self::Events => "file of lines",
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

    /// What goes with the recording says, in the files named and in `beside`.
    fn companions<T>(
        &mut self,
        format: Format,
        beside: &str,
        read: impl Fn(&[u8]) -> Result<T, DecodeError>,
    ) -> impl Iterator<Item = T> {
        let candidates = companion::candidates(self.path, self.named, format, beside);
        companion::read_all(candidates, self.limits, self.steps, read)
    }
}

/// Reads the next line of a stream and has it taken. What is wrong with it becomes a step behind
/// those that it gave. `false` at the end.
fn read_line(
    lines: &mut Lines<Bytes>,
    file: &Arc<str>,
    steps: &mut VecDeque<Step>,
    mut take: impl FnMut(&Line<'_>, &mut VecDeque<Step>) -> Result<(), DecodeError>,
) -> bool {
    let bytes_max = lines.bytes_max();
    let Some(line) = lines.next() else { return false };
    let taken = match &line.end {
        End::Newline => take(&line, steps),
        End::Input => take(&line, steps).map_err(cut),
        End::TooLong => Err(DecodeError::new(
            RefusalKind::TooLong,
            format!("line of more than {bytes_max} bytes"),
        )),
        End::Failed(error) => {
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
