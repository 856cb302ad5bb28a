//! Points of the majors: a header, then one point on each line, read one by one. One file holds
//! one match or, as the collection has it, a whole tournament, match by match.

use std::{collections::VecDeque, sync::Arc};

use facts::event::Micros;

use super::{
    Format, OpenError, Opening, Step, bytes::Bytes, lines::LineReader, read_line, refused,
};
use crate::{
    decode::slam::{self, MatchRow, PointColumns, PointRow},
    error::{DecodeError, RefusalKind, Result},
    normalize::{Interpretation, slam::Normalizer},
};

pub(super) struct SlamFeed {
    file: Arc<str>,
    lines: LineReader<Bytes>,
    columns: PointColumns,
    matches: Matches,
}

/// The match in play and the names for all.
struct Matches {
    file: Arc<str>,
    rows: Vec<MatchRow>,
    current: Option<Normalizer>,
    /// The last point read, which is played when the one after it is known.
    held: Option<Held>,
    /// The recording's clock after the matches before.
    clock_us: Micros,
}

struct Held {
    row: PointRow,
    number: u64,
    text: Vec<u8>,
}

impl SlamFeed {
    pub(super) fn open(opening: &mut Opening<'_>) -> Result<Self, OpenError> {
        let mut lines = opening.lines(opening.limits.message_bytes_max)?;
        let columns = header(&mut lines).map_err(|error| opening.unusable(error))?;
        // `X.match.csv` goes with `X.points.csv`.
        let companion = format!("{}.match.csv", super::stem(opening.path));
        let rows = opening.companions(Format::SlamPointByPoint, &companion, slam::matches);
        let rows = rows.flatten().collect();
        let (current, held) = (None, None);
        let matches = Matches { file: opening.file(), rows, current, held, clock_us: 0 };
        Ok(Self { file: opening.file(), lines, columns, matches })
    }

    /// Plays the next row, or the end of the last match; `false` after that.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        let Self { file, lines, columns, matches } = self;
        let more = read_line(lines, file, steps, |line, steps| {
            matches.play(columns.row(line.text)?, line.number, line.text, steps)
        });
        if more {
            return true;
        }
        let held = matches.play_held(None, steps);
        // Where the file breaks off, the match in play goes on somewhere, but not here.
        held || (!lines.have_failed() && matches.finish(steps))
    }
}

impl Matches {
    fn play(
        &mut self,
        row: PointRow,
        number: u64,
        text: &[u8],
        steps: &mut VecDeque<Step>,
    ) -> Result<()> {
        if self.current.as_ref().is_some_and(|current| current.match_key() != row.match_id) {
            self.finish(steps);
        }
        let current = self.current.get_or_insert_with(|| {
            let record = self.rows.iter().find(|it| it.match_id == row.match_id);
            Normalizer::new(&row.match_id, record.cloned(), self.clock_us)
        });
        if current.admit(&row)? {
            self.play_held(Some(&row), steps);
            self.held = Some(Held { row, number, text: text.to_owned() });
        }
        Ok(())
    }

    /// Plays the point that was read before `next`; `false` if there is none.
    fn play_held(&mut self, next: Option<&PointRow>, steps: &mut VecDeque<Step>) -> bool {
        let Some(Held { row, number, text }) = self.held.take() else { return false };
        let Some(current) = &mut self.current else { return false };
        let mut played = Interpretation::default();
        let taken = current.row(&row, next, &mut played);
        push(played, &self.file, number, &text, steps);
        steps.extend(taken.err().map(|error| refused(error, &self.file, number, &text)));
        true
    }

    /// Ends the match in play; `false` if there is none.
    fn finish(&mut self, steps: &mut VecDeque<Step>) -> bool {
        self.play_held(None, steps);
        let Some(mut current) = self.current.take() else { return false };
        let mut played = Interpretation::default();
        current.finish(&mut played);
        self.clock_us = current.clock_us();
        push(played, &self.file, 0, &[], steps);
        true
    }
}

fn push(
    played: Interpretation,
    file: &Arc<str>,
    number: u64,
    text: &[u8],
    steps: &mut VecDeque<Step>,
) {
    steps.extend(played.batches.into_iter().map(Step::Batch));
    let notices = played.notices.into_iter();
    steps.extend(notices.map(|notice| refused(notice, file, number, text)));
}

fn header(lines: &mut LineReader<Bytes>) -> Result<PointColumns> {
    let none = || DecodeError::new(RefusalKind::Truncated, "no header");
    PointColumns::from_header(lines.next().ok_or_else(none)?.text)
}
