//! A recording of any source: each message exactly as it was received, and when.
//!
//! It is a file of lines, compressed with zstd. The first says what it is, every other is a message:
//!
//! ```json
//! {"matchwire":"recording","version":1,"format":"betfair-stream","source":"betfair","began":1}
//! {"at":1,"text":"the message, where it is UTF-8"}
//! {"at":2,"base64":"d2hlcmUgaXQgaXMgbm90"}
//! ```
//!
//! Moments are microseconds since the Unix epoch. What is written is flushed each second, in a form
//! that can be read up to there: a crash costs what came since. Plain lines and lines compressed
//! otherwise are read as well.

use std::{
    borrow::Cow,
    collections::VecDeque,
    io::{self, Write},
    str,
    sync::Arc,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use facts::event::Micros;
use serde::{Deserialize, Serialize};

use super::{
    Format, OpenError, Opening, Step, bytes::Bytes, lines::LineReader, read_line, refused, stem,
};
use crate::{
    error::{DecodeError, RefusalKind, Result},
    normalize::{Interpret, Interpretation},
};

/// What the first line says under `matchwire`.
const KIND: &str = "recording";
const VERSION: u32 = 1;

/// How long something that was written may wait to be flushed, in microseconds.
pub const FLUSH_EVERY_US: Micros = 1_000_000;

/// zstd's own default: a third of the time of what compresses a tenth better.
const LEVEL: i32 = 3;

#[derive(Debug, Serialize, Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    matchwire: Cow<'a, str>,
    version: u32,
    #[serde(borrow)]
    format: Cow<'a, str>,
    #[serde(borrow)]
    source: Cow<'a, str>,
    began: Micros,
}

#[derive(Debug, Serialize, Deserialize)]
struct RecordedMessage<'a> {
    at: Micros,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    base64: Option<Cow<'a, str>>,
}

/// Writes a recording. What was not flushed is lost when it is dropped without [`Writer::finish`].
pub struct Writer<W: Write> {
    out: zstd::Encoder<'static, W>,
    flushed: Micros,
    /// Something was written since.
    pending: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a recording of this source. `format` is the name of the format of its messages
    /// ([`Format::as_str`], or one that can be written down and not played yet).
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn new(out: W, format: &str, source: &str, began: Micros) -> io::Result<Self> {
        let mut writer =
            Self { out: zstd::Encoder::new(out, LEVEL)?, flushed: began, pending: true };
        let (format, source) = (format.into(), source.into());
        writer.line(&Head { matchwire: KIND.into(), version: VERSION, format, source, began })?;
        writer.flush(began)?;
        Ok(writer)
    }

    /// Writes a message that was received then, and flushes if it is time.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn message(&mut self, at: Micros, bytes: &[u8]) -> io::Result<()> {
        let (text, base64) = match str::from_utf8(bytes) {
            Ok(text) => (Some(text.into()), None),
            Err(_) => (None, Some(BASE64_STANDARD.encode(bytes).into())),
        };
        self.line(&RecordedMessage { at, text, base64 })?;
        self.pending = true;
        self.flush_due(at)
    }

    /// Flushes what has waited for long enough: to be called now and then while nothing comes.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn flush_due(&mut self, now: Micros) -> io::Result<()> {
        if self.pending && now.saturating_sub(self.flushed) >= FLUSH_EVERY_US {
            self.flush(now)?;
        }
        Ok(())
    }

    /// Ends the recording.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.out.finish()?;
        out.flush()?;
        Ok(out)
    }

    fn flush(&mut self, now: Micros) -> io::Result<()> {
        self.out.flush()?;
        self.flushed = now;
        self.pending = false;
        Ok(())
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("flushed", &self.flushed).finish_non_exhaustive()
    }
}

/// The messages of a recording, each interpreted as its format has it.
pub(super) struct ContainerFeed {
    file: Arc<str>,
    lines: LineReader<Bytes>,
    interpreter: Box<dyn Interpret>,
    /// When the message before came: the clock of who wrote it may have been put back.
    clock_us: Micros,
}

impl ContainerFeed {
    pub(super) fn open(opening: &Opening<'_>) -> Result<(Self, Format), OpenError> {
        // A message of binary bytes is a third longer as text, one of many quotes twice as long.
        let line_bytes_max = opening.limits.message_bytes_max.saturating_mul(2);
        let mut lines = opening.lines(line_bytes_max)?;
        let (format, source) =
            head(&mut lines, opening).map_err(|error| opening.unusable(error))?;
        let interpreter = format.interpreter(&source).ok_or_else(|| {
            let reason = format!("messages of {} cannot be played one by one", format.as_str());
            opening.unusable(DecodeError::new(RefusalKind::Unknown, reason))
        })?;
        Ok((Self { file: opening.file(), lines, interpreter, clock_us: Micros::MIN }, format))
    }

    /// Plays the next message; `false` at the end.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        let Self { file, lines, interpreter, clock_us } = self;
        read_line(lines, file, steps, |line, steps| {
            let (at, bytes) = message(line.text)?;
            let mut played = Interpretation::default();
            let taken = interpreter.message(&bytes, at, &mut played);
            // It is played at its time of arrival, not at the time that it states.
            *clock_us = at.max(*clock_us);
            let timed = |it| super::Timed { clock_us: *clock_us, ..it };
            steps.extend(played.batches.into_iter().map(timed).map(Step::Batch));
            let wrong = played.notices.into_iter().chain(taken.err());
            steps.extend(wrong.map(|error| refused(error, file, line.number, &bytes)));
            Ok(())
        })
    }
}

fn head(lines: &mut LineReader<Bytes>, opening: &Opening<'_>) -> Result<(Format, Arc<str>)> {
    let none = || DecodeError::new(RefusalKind::Truncated, "no first line");
    let line = lines.next().ok_or_else(none)?;
    let head: Head<'_> =
        serde_json::from_slice(line.text).map_err(|e| crate::decode::json_error(&e))?;
    let unknown = |reason| DecodeError::new(RefusalKind::Unknown, reason);
    if head.matchwire != KIND || head.version != VERSION {
        let Head { matchwire, version, .. } = head;
        return Err(unknown(format!(
            "{matchwire:?} of version {version}; this program reads recordings of version {VERSION}"
        )));
    }
    let format = Format::of_name(&head.format).ok_or_else(|| {
        unknown(format!("messages of {:?}, which is no known format", head.format))
    })?;
    let source = if head.source.is_empty() { stem(opening.path) } else { head.source.into_owned() };
    Ok((format, source.into()))
}

fn message(line: &[u8]) -> Result<(Micros, Cow<'_, [u8]>)> {
    let RecordedMessage { at, text, base64 } =
        serde_json::from_slice(line).map_err(|error| crate::decode::json_error(&error))?;
    let wrong = |reason| DecodeError::new(RefusalKind::Value, reason);
    let bytes = match (text, base64) {
        (Some(Cow::Borrowed(text)), None) => Cow::Borrowed(text.as_bytes()),
        (Some(Cow::Owned(text)), None) => Cow::Owned(text.into_bytes()),
        (None, Some(base64)) => {
            Cow::Owned(BASE64_STANDARD.decode(&*base64).map_err(|_| wrong("no base64"))?)
        }
        _ => return Err(wrong("a message is either `text` or `base64`")),
    };
    Ok((at, bytes))
}
