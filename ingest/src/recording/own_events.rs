//! Lines of Matchwire's own format: one message on each, read one by one.

use std::{collections::VecDeque, sync::Arc};

use facts::event::Micros;

use super::{OpenError, Opening, Step, bytes::Bytes, lines::LineReader, read_line, stem};
use crate::normalize::events::Interpreter;

pub(super) struct OwnEventFeed {
    file: Arc<str>,
    lines: LineReader<Bytes>,
    interpreter: Interpreter,
    start: Micros,
}

impl OwnEventFeed {
    /// Keys are those of a source with the file's name: what was pushed as `acme` and is played
    /// from `acme.ndjson` has the same ids.
    pub(super) fn open(opening: &Opening<'_>) -> Result<Self, OpenError> {
        Ok(Self {
            file: opening.file(),
            lines: opening.lines(opening.limits.message_bytes_max)?,
            interpreter: Interpreter::new(stem(opening.path).into()).of_all_matches(),
            start: opening.start,
        })
    }

    /// Reads the next line; `false` at the end.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        let Self { file, lines, interpreter, start } = self;
        read_line(lines, file, steps, |line, steps| {
            let read = interpreter.line(line.text, *start)?;
            steps.push_back(Step::Batch(read.timed));
            Ok(())
        })
    }
}
