//! A Betfair stream: one message on each line, read one by one.

use std::{collections::VecDeque, sync::Arc};

use facts::event::{Micros, Timed};

use super::{OpenError, Opening, Step, bytes::Bytes, lines::LineReader, read_line, refused};
use crate::normalize::betfair::Normalizer;

pub(super) struct BetfairFeed {
    file: Arc<str>,
    lines: LineReader<Bytes>,
    normalizer: Normalizer,
    /// The publish time of the message before, for one that has none.
    clock_us: Micros,
}

impl BetfairFeed {
    pub(super) fn open(opening: &Opening<'_>) -> Result<Self, OpenError> {
        Ok(Self {
            file: opening.file(),
            lines: opening.lines(opening.limits.message_bytes_max)?,
            normalizer: Normalizer::default(),
            clock_us: 0,
        })
    }

    /// Reads the next line; `false` at the end.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        let Self { file, lines, normalizer, clock_us } = self;
        read_line(lines, file, steps, |line, steps| {
            let Some(message) = normalizer.line(line.text)? else { return Ok(()) };
            *clock_us = message.pt.unwrap_or(*clock_us);
            steps.push_back(Step::Batch(Timed { clock_us: *clock_us, batch: message.batch }));
            let notices = message.notices.into_iter();
            steps.extend(notices.map(|notice| refused(notice, file, line.number, line.text)));
            Ok(())
        })
    }
}
