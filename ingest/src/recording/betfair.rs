//! A Betfair stream: one message on each line, read one by one.
//!
//! Some files have messages over several lines, or a list of messages, as pretty-printers write JSON. The lines of
//! one object are joined before they are decoded, and refused as one.

use std::{collections::VecDeque, sync::Arc};

use facts::event::{Micros, Timed};

use super::{
    OpenError, Opening, Step, bytes::Bytes, cut, lines::LineReader, lines::NumberedLine, read_line,
    refused,
};
use crate::{
    error::{DecodeError, RefusalKind, Result},
    normalize::betfair::Normalizer,
};

pub(super) struct BetfairFeed {
    lines: LineReader<Bytes>,
    messages: Messages,
    unfinished: Option<Unfinished>,
}

struct Messages {
    file: Arc<str>,
    normalizer: Normalizer,
    /// The publish time of the message before, for one that has none.
    clock_us: Micros,
}

/// The lines of an object that has not ended yet.
struct Unfinished {
    /// Of its first line.
    line: u64,
    text: Vec<u8>,
    /// Brackets that are open.
    depth: usize,
    /// Why its first line alone is no message.
    error: DecodeError,
    is_too_long: bool,
}

impl BetfairFeed {
    pub(super) fn open(opening: &Opening<'_>) -> Result<Self, OpenError> {
        let messages =
            Messages { file: opening.file(), normalizer: Normalizer::default(), clock_us: 0 };
        let lines = opening.lines(opening.limits.message_bytes_max)?;
        Ok(Self { lines, messages, unfinished: None })
    }

    /// Reads the next line; `false` at the end.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        let Self { lines, messages, unfinished } = self;
        let file = Arc::clone(&messages.file);
        let bytes_max = lines.bytes_max();
        let has_line = read_line(lines, &file, steps, |line, steps| match unfinished {
            Some(_) => {
                messages.go_on(unfinished, line, bytes_max, steps);
                Ok(())
            }
            None => messages.begin(unfinished, line, steps),
        });
        if lines.have_failed() {
            // Where the input broke off is said already.
            *unfinished = None;
        }
        let rest = unfinished.take_if(|_| !has_line);
        let has_rest = rest.is_some();
        if let Some(Unfinished { line, text, error, .. }) = rest {
            steps.push_back(refused(cut(error), &file, line, &text));
        }
        has_line || has_rest
    }
}

impl Messages {
    fn take(&mut self, number: u64, text: &[u8], steps: &mut VecDeque<Step>) -> Result<()> {
        let Some(message) = self.normalizer.line(text)? else { return Ok(()) };
        self.clock_us = message.pt.unwrap_or(self.clock_us);
        steps.push_back(Step::Batch(Timed { clock_us: self.clock_us, batch: message.batch }));
        let notices = message.notices.into_iter();
        steps.extend(notices.map(|notice| refused(notice, &self.file, number, text)));
        Ok(())
    }

    /// A line outside of an object: a message, the first line of one, or a bracket of a list.
    fn begin(
        &mut self,
        unfinished: &mut Option<Unfinished>,
        line: &NumberedLine<'_>,
        steps: &mut VecDeque<Step>,
    ) -> Result<()> {
        let text = element(line.text);
        if matches!(text, b"[" | b"]" | b"") {
            return Ok(());
        }
        let Err(error) = self.take(line.number, text, steps) else { return Ok(()) };
        let depth = depth(0, text);
        if error.kind != RefusalKind::Syntax || !text.starts_with(b"{") || depth == 0 {
            return Err(error);
        }
        let (line, text) = (line.number, text_and_end(line.text));
        *unfinished = Some(Unfinished { line, text, depth, error, is_too_long: false });
        Ok(())
    }

    /// A further line of an object. Where it is a message by itself, the object was cut.
    fn go_on(
        &mut self,
        unfinished: &mut Option<Unfinished>,
        line: &NumberedLine<'_>,
        bytes_max: usize,
        steps: &mut VecDeque<Step>,
    ) {
        let Some(mut object) = unfinished.take() else { return };
        let is_message = line.text.starts_with(b"{")
            && self.take(line.number, element(line.text), steps).is_ok();
        if is_message {
            // It goes before the message that has just been taken.
            let Unfinished { line, text, error, .. } = object;
            steps.push_front(refused(cut(error), &self.file, line, &text));
            return;
        }
        object.depth = depth(object.depth, line.text);
        if object.text.len() + line.text.len() > bytes_max {
            object.is_too_long = true;
        } else if !object.is_too_long {
            object.text.extend(text_and_end(line.text));
        }
        if object.depth > 0 {
            *unfinished = Some(object);
            return;
        }
        let text = element(object.text.trim_ascii_end());
        let taken = if object.is_too_long {
            let reason = format!("message of more than {bytes_max} bytes");
            Err(DecodeError::new(RefusalKind::TooLong, reason))
        } else {
            self.take(object.line, text, steps)
        };
        steps.extend(taken.err().map(|error| refused(error, &self.file, object.line, text)));
    }
}

fn text_and_end(line: &[u8]) -> Vec<u8> {
    [line, b"\n"].concat()
}

/// An element of a list without the comma behind it.
fn element(text: &[u8]) -> &[u8] {
    text.strip_suffix(b",").unwrap_or(text)
}

/// How many brackets are open after this line. A text in JSON ends on its line.
fn depth(before: usize, line: &[u8]) -> usize {
    let (mut depth, mut is_text, mut is_escaped) = (before, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => depth += 1,
            b'}' | b']' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::recording::{Limits, Recording};

    const MESSAGE: &str = r#"{"op":"mcm","pt":1,"mc":[{"id":"1.2","marketDefinition":{
"eventId":"30","eventTypeId":"2","status":"OPEN","runners":[]}}]}"#;

    /// `b` for a batch, else the line and the kind of a refusal.
    fn steps(path: &Path, text: &str) -> String {
        fs::write(path, text).unwrap();
        let limits = Limits { message_bytes_max: 400, ..Limits::default() };
        let recording = Recording::open(path, &[], 0, &limits).unwrap();
        let steps = recording.map(|step| match step {
            Step::Batch(_) => "b".to_owned(),
            Step::Refused(refusal) => {
                format!("{}:{}", refusal.location.line, refusal.kind.as_str())
            }
        });
        steps.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn messages_may_have_several_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stream.json");
        let line = MESSAGE.replace('\n', "");
        let pretty = MESSAGE.replace(['{', '['], "{\n").replace("{\n\n", "{\n");
        let pretty =
            pretty.replace("\"mc\":{", "\"mc\":[").replace("\"runners\":{", "\"runners\":[");
        let lines_of_x = format!("{{\n{}", format!("\"x\":\"{}\",\n", "x".repeat(99)).repeat(5));
        let long = pretty.replacen("{\n", &lines_of_x, 1);
        for (text, expected) in [
            (line.clone(), "b"),
            (MESSAGE.to_owned(), "b"),
            (pretty.clone(), "b"),
            (format!("{pretty}\n{pretty}\n{line}"), "b b b"),
            (format!("[\n{pretty},\n{pretty}\n]\n"), "b b"),
            (format!("[\n{line},\n{line}\n]\n"), "b b"),
            (format!("{}\n{line}", &line[..40]), "1:truncated b"),
            (format!("{line}\n{}", &pretty[..60]), "b 2:truncated"),
            (pretty.replace("\"id\"", "id"), "1:syntax"),
            (format!("{long}\n{line}"), "1:too_long b"),
            (format!("{line}\n}}\n{line}"), "b 2:syntax b"),
        ] {
            assert_eq!(steps(&path, &text), expected, "{text}");
        }
    }

    #[test]
    fn brackets_in_texts_are_none() {
        assert_eq!(depth(1, br#"{"a}":"[\"{", "b":[1,2"#), 3);
        assert_eq!(depth(0, b"]]}"), 0);
    }
}
