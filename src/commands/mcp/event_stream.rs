//! Parses a stream of server-sent events. Only the data of the events counts here.

use super::MESSAGE_BYTES_MAX;

/// The parser's state between two chunks. It holds at most [`MESSAGE_BYTES_MAX`] bytes.
#[derive(Debug, Default)]
pub(super) struct EventStream {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data of the event that has not ended yet.
    data: Vec<u8>,
    /// The last byte was a carriage return, so a line feed belongs to it.
    after_return: bool,
    has_begun: bool,
}

/// An event is longer than [`MESSAGE_BYTES_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

impl EventStream {
    /// Takes a chunk; returns the data of the events that it completes. Lines of data are joined by spaces,
    /// which mean the same as line breaks in JSON. Events without data are left out.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut events = Vec::new();
        for &byte in chunk {
            let is_rest_of_break = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            match byte {
                _ if is_rest_of_break => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ if self.line.len() + self.data.len() >= MESSAGE_BYTES_MAX => return Err(TooLong),
                _ => self.line.push(byte),
            }
        }
        Ok(events)
    }

    /// Ends a line; returns the event's data if the line ends an event.
    fn end_line(&mut self) -> Option<Vec<u8>> {
        if !self.has_begun {
            self.has_begun = true;
            if self.line.starts_with(b"\xef\xbb\xbf") {
                self.line.drain(..3);
            }
        }
        if self.line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return Some(data).filter(|data| !data.trim_ascii().is_empty());
        }
        if let Some(value) = self.line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b' ');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        }
        self.line.clear();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events are the same wherever the stream is cut.
    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        for cut in 0..=stream.len() {
            let (first, second) = stream.as_bytes().split_at(cut);
            let mut parser = EventStream::default();
            let mut events = parser.push(first).unwrap();
            events.extend(parser.push(second).unwrap());
            let events: Vec<_> = events.iter().map(|it| str::from_utf8(it).unwrap()).collect();
            assert_eq!(events, expected, "{stream:?} cut at {cut}");
        }
    }

    #[test]
    fn events_end_with_an_empty_line() {
        check("data: {\"a\":1}\n\ndata: 2\n\ndata: 3", &["{\"a\":1}", "2"]);
        check("data:1\r\n\r\ndata:2\r\rdata:3\n\n", &["1", "2", "3"]);
    }

    #[test]
    fn what_is_not_data_is_left_out() {
        check(": keep-alive\n\nevent: message\nid: 7\nretry: 1\ndata: 1\n\n:\n\n", &["1"]);
        check("id: 0\ndata:\n\ndata: \n\ndata: 1\n\n", &["1"]);
        check("\u{feff}data: 1\n\n", &["1"]);
    }

    #[test]
    fn lines_of_data_become_one() {
        check("data: {\ndata:   \"a\": 1\ndata: }\n\n", &["{   \"a\": 1 }"]);
    }

    #[test]
    fn endless_event_is_refused() {
        let mut parser = EventStream::default();
        let chunk = vec![b'x'; MESSAGE_BYTES_MAX];
        assert_eq!(parser.push(&chunk), Ok(vec![]));
        assert_eq!(parser.push(b"x"), Err(TooLong));
    }
}
