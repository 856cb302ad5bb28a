//! Reads lines from a connection, in bounded memory and with a limit on silence.
//!
//! A line is returned as a slice of the read buffer, and the buffer is reused for the next: an image
//! of a megabyte is neither copied nor newly allocated.

use std::{io, mem, ops::Range, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::timeout,
};

/// Bytes per read: the size of one TLS record.
const CHUNK_BYTES: usize = 16 << 10;

/// Reads line by line; buffers at most the limit of one line, plus one read.
#[derive(Debug)]
pub(super) struct AsyncLineReader<R> {
    reader: R,
    bytes_max: usize,
    silence: Duration,
    buffer: Vec<u8>,
    /// Where the current line begins in the buffer.
    start: usize,
    /// How far the buffer has been searched for the end of the line.
    searched: usize,
    /// The beginning of the current line was returned as too long; the rest is skipped.
    skipping: bool,
}

/// One line, without its line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoundedLine<'a> {
    Whole(&'a [u8]),
    /// Longer than the limit; holds the beginning of the line.
    TooLong(&'a [u8]),
}

/// Why there are no more lines. A partial line is discarded.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("the connection was closed")]
    Ended,
    #[error("silent for {} ms", .0.as_millis())]
    Silent(Duration),
    #[error("the connection broke: {0}")]
    Broken(io::Error),
}

impl<R: AsyncRead + Unpin> AsyncLineReader<R> {
    pub(super) fn new(reader: R, bytes_max: usize, silence: Duration) -> Self {
        let buffer = Vec::new();
        Self { reader, bytes_max, silence, buffer, start: 0, searched: 0, skipping: false }
    }

    pub(super) fn stream(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Reads the next line that is not empty.
    pub(super) async fn next(&mut self) -> Result<BoundedLine<'_>, ReadError> {
        loop {
            if let Some(range) = self.line() {
                let is_rest = mem::take(&mut self.skipping);
                let text = &self.buffer[range.clone()].trim_ascii();
                if is_rest || text.is_empty() {
                    continue;
                }
                let is_long = text.len() > self.bytes_max;
                let text = self.buffer[range].trim_ascii();
                return Ok(if is_long {
                    BoundedLine::TooLong(text)
                } else {
                    BoundedLine::Whole(text)
                });
            }
            if self.skipping {
                self.start = self.buffer.len();
            } else if self.buffer.len() - self.start > self.bytes_max.saturating_add(2) {
                let beginning = mem::replace(&mut self.start, self.buffer.len());
                self.skipping = true;
                return Ok(BoundedLine::TooLong(&self.buffer[beginning..]));
            }
            self.fill().await?;
        }
    }

    /// The range of the next line in the buffer, once its end was read.
    fn line(&mut self) -> Option<Range<usize>> {
        self.searched = self.searched.max(self.start);
        let newline = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n');
        let Some(newline) = newline else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + newline;
        let start = mem::replace(&mut self.start, end + 1);
        Some(start..end)
    }

    async fn fill(&mut self) -> Result<(), ReadError> {
        self.buffer.drain(..self.start);
        self.searched = self.searched.saturating_sub(self.start);
        self.start = 0;
        self.buffer.reserve(CHUNK_BYTES);
        match timeout(self.silence, self.reader.read_buf(&mut self.buffer)).await {
            Err(_elapsed) => Err(ReadError::Silent(self.silence)),
            Ok(Ok(0)) => Err(ReadError::Ended),
            // Closed without a TLS close_notify. The line ending shows whether a line was truncated.
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Err(ReadError::Ended),
            Ok(Err(error)) => Err(ReadError::Broken(error)),
            Ok(Ok(_)) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use tokio::io::AsyncWriteExt;

    use super::*;

    const SILENCE: Duration = Duration::from_millis(50);

    /// Each line as its kind and text, then the reason why there are no more.
    async fn read(pieces: &[&str], bytes_max: usize) -> String {
        let (mut peer, ours) = tokio::io::duplex(4);
        let pieces: Vec<_> = pieces.iter().map(|&piece| piece.to_owned()).collect();
        let writer = tokio::spawn(async move {
            for piece in pieces {
                peer.write_all(piece.as_bytes()).await.expect("the peer reads");
            }
        });
        let mut lines = AsyncLineReader::new(ours, bytes_max, SILENCE);
        let mut all = String::new();
        let error = loop {
            match lines.next().await {
                Ok(BoundedLine::Whole(text)) => write!(all, "{} ", String::from_utf8_lossy(text)),
                Ok(BoundedLine::TooLong(text)) => write!(all, "long {}.. ", text[0] as char),
                Err(error) => break error,
            }
            .expect("strings take all");
        };
        writer.await.expect("it has written");
        all + &error.to_string()
    }

    async fn check(pieces: &[&str], expected: &str) {
        assert_eq!(read(pieces, 5).await, format!("{expected}the connection was closed"));
    }

    #[tokio::test]
    async fn lines_are_split_at_newlines_across_reads() {
        check(&[], "").await;
        check(&["\r\n\n"], "").await;
        check(&["a\r\nbb", "b\r", "\n", "c\n12345\r\n"], "a bbb c 12345 ").await;
        check(&["a\r\nunfinished"], "a long u.. ").await;
        check(&["a\r\nun"], "a ").await;
    }

    #[tokio::test]
    async fn line_over_the_limit_is_returned_once_and_skipped() {
        check(&["123456\n", "a\n"], "long 1.. a ").await;
        check(&["12345678901234567890\n", "a\n"], "long 1.. a ").await;
    }

    #[tokio::test]
    async fn endless_line_is_buffered_up_to_the_limit() {
        let (mut peer, ours) = tokio::io::duplex(1 << 16);
        let writer = tokio::spawn(async move {
            for _ in 0..100 {
                peer.write_all(&[b'x'; 1 << 16]).await.expect("the peer reads");
            }
            peer.write_all(b"\nb\n").await.expect("the peer reads");
        });
        let mut lines = AsyncLineReader::new(ours, 1 << 16, SILENCE);
        assert!(matches!(lines.next().await, Ok(BoundedLine::TooLong(_))));
        assert_eq!(lines.next().await.expect("it goes on"), BoundedLine::Whole(b"b"));
        assert!(lines.buffer.capacity() <= 4 << 16, "holds {}", lines.buffer.capacity());
        writer.await.expect("it has written");
    }

    #[tokio::test]
    async fn silence_is_an_error() {
        let (_peer, ours) = tokio::io::duplex(64);
        let error = AsyncLineReader::new(ours, 5, SILENCE).next().await.expect_err("nothing comes");
        assert_eq!(error.to_string(), "silent for 50 ms");
    }
}
