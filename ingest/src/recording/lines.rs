//! The lines of a stream, one at a time, in bounded memory.

use std::io::{self, BufRead, Read};

/// Reads line by line and never holds more than one line, nor more of it than the limit.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    reader: R,
    bytes_max: usize,
    buffer: Vec<u8>,
    number: u64,
    ended: bool,
    failed: bool,
}

/// A line, without its end.
#[derive(Debug)]
pub(super) struct NumberedLine<'a> {
    /// Counted from 1.
    pub(super) number: u64,
    pub(super) text: &'a [u8],
    pub(super) end: LineEnd,
}

/// How a line ended.
#[derive(Debug)]
pub(super) enum LineEnd {
    Newline,
    /// By the end of the input: it may have been cut.
    Input,
    /// It is longer than the limit. The text is its beginning, the rest was skipped.
    TooLong,
    /// The input cannot be read further.
    Failed(io::Error),
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn new(reader: R, bytes_max: usize) -> Self {
        Self { reader, bytes_max, buffer: Vec::new(), number: 0, ended: false, failed: false }
    }

    /// The longest line that is not skipped, in bytes.
    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Whether the input broke off where it could not be read further.
    pub(super) fn have_failed(&self) -> bool {
        self.failed
    }

    /// Reads the next line that is not empty; `None` at the end.
    pub(super) fn next(&mut self) -> Option<NumberedLine<'_>> {
        let mut read = self.read();
        while read.is_ok() && !self.ended && self.text().is_empty() {
            read = self.read();
        }
        let end = match read {
            Err(error) => LineEnd::Failed(error),
            Ok(()) if self.is_too_long() => self.skip(),
            Ok(()) if self.text().is_empty() => return None,
            Ok(()) if self.is_whole() => LineEnd::Newline,
            Ok(()) => LineEnd::Input,
        };
        Some(NumberedLine { number: self.number, text: self.text(), end })
    }

    /// Reads up to the end of a line, or one byte more than the limit.
    fn read(&mut self) -> io::Result<()> {
        self.buffer.clear();
        if self.ended {
            return Ok(());
        }
        self.number += 1;
        let most = (self.bytes_max as u64).saturating_add(1);
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut self.buffer);
        self.failed = read.is_err();
        self.ended = self.failed || !(self.is_whole() || self.is_too_long());
        read.map(drop)
    }

    /// Goes to the end of a line that is too long. Where the input cannot be read to there, the
    /// next read reports it.
    fn skip(&mut self) -> LineEnd {
        self.ended = matches!(self.reader.skip_until(b'\n'), Ok(0));
        LineEnd::TooLong
    }

    fn is_too_long(&self) -> bool {
        self.buffer.len() > self.bytes_max && !self.is_whole()
    }

    fn is_whole(&self) -> bool {
        self.buffer.ends_with(b"\n")
    }

    fn text(&self) -> &[u8] {
        self.buffer.trim_ascii()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, repeat};

    use super::*;

    /// Each line as a letter for its kind, its number and its text.
    fn read(input: impl Read, bytes_max: usize) -> Vec<String> {
        let mut lines = LineReader::new(BufReader::with_capacity(7, input), bytes_max);
        let mut all = Vec::new();
        while let Some(NumberedLine { number, text, end }) = lines.next() {
            let end = match end {
                LineEnd::Newline => "line",
                LineEnd::Input => "last",
                LineEnd::TooLong => "long",
                LineEnd::Failed(_) => "failed",
            };
            all.push(format!("{end} {number} {}", String::from_utf8_lossy(text)));
        }
        all
    }

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        assert_eq!(read(input.as_bytes(), 5), expected);
    }

    #[test]
    fn lines_end_in_any_way() {
        check("", &[]);
        check("\n\r\n", &[]);
        check("a\n", &["line 1 a"]);
        check("a\r\n\nb", &["line 1 a", "last 3 b"]);
        check("12345\n", &["line 1 12345"]);
        check("12345", &["last 1 12345"]);
    }

    #[test]
    fn line_over_the_limit_is_skipped_once() {
        check("1234567890\na\n", &["long 1 123456", "line 2 a"]);
        check("a\n1234567890", &["line 1 a", "long 2 123456"]);
        check("123456\na", &["long 1 123456", "last 2 a"]);
    }

    #[test]
    fn endless_line_is_held_up_to_the_limit() {
        const ENDLESS: u64 = 100 << 20;
        let input = BufReader::new(repeat(b'x').take(ENDLESS).chain(&b"\nb\n"[..]));
        let mut lines = LineReader::new(input, 1 << 16);
        let endless = lines.next().unwrap();
        assert!(matches!(endless.end, LineEnd::TooLong));
        assert_eq!(endless.text.len(), (1 << 16) + 1);
        assert!(lines.buffer.capacity() <= 4 << 16, "holds {}", lines.buffer.capacity());
        assert_eq!(lines.next().unwrap().text, b"b");
        assert!(lines.next().is_none());
    }

    #[test]
    fn text_before_a_read_failure_is_returned_once() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        }
        let read = read((&b"a\nb"[..]).chain(Broken), 5);
        assert_eq!(read, ["line 1 a", "failed 2 b"]);
    }
}
