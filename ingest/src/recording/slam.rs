//! Points of the majors: a header, then one point on each line, read one by one. One file holds
//! one match or, as the collection has it, a whole tournament, match by match.

use std::{collections::VecDeque, sync::Arc};

use facts::event::Micros;

use super::{
    Format, OpenError, Opening, Step, bytes::Bytes, lines::LineReader, read_line, refused,
};
use crate::{
    decode::slam::{self, MatchRow, PointColumns, PointRow},
    error::{DecodeError, RefusalKind},
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
    start: Micros,
    current: Option<Normalizer>,
}

impl SlamFeed {
    pub(super) fn open(opening: &mut Opening<'_>) -> Result<Self, OpenError> {
        let mut lines = opening.lines(opening.limits.message_bytes_max)?;
        let columns = header(&mut lines).map_err(|error| opening.unusable(error))?;
        let companion = companion_stem(opening);
        let rows = opening.companions(Format::SlamPointByPoint, &companion, slam::matches);
        let rows = rows.flatten().collect();
        let matches = Matches { file: opening.file(), rows, start: opening.start, current: None };
        Ok(Self { file: opening.file(), lines, columns, matches })
    }

    /// Plays the next row, or the end of the last match; `false` after that.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        let Self { file, lines, columns, matches } = self;
        let more = read_line(lines, file, steps, |line, steps| {
            matches.play(&columns.row(line.text)?, line.number, line.text, steps)
        });
        // Where the file breaks off, the match in play goes on somewhere, but not here.
        more || (!lines.have_failed() && matches.finish(steps))
    }
}

impl Matches {
    fn play(
        &mut self,
        row: &PointRow,
        number: u64,
        text: &[u8],
        steps: &mut VecDeque<Step>,
    ) -> Result<(), DecodeError> {
        let base_us = self.current.as_ref().map_or(0, Normalizer::clock_us);
        if self.current.as_ref().is_none_or(|current| current.match_key() != row.match_id) {
            self.finish(steps);
        }
        let current = self.current.get_or_insert_with(|| {
            let record = self.rows.iter().find(|it| it.match_id == row.match_id);
            Normalizer::new(&row.match_id, record.cloned(), self.start, base_us)
        });
        let mut played = Interpretation::default();
        let taken = current.row(row, &mut played);
        push(played, &self.file, number, text, steps);
        taken
    }

    /// Ends the match in play; `false` if there is none.
    fn finish(&mut self, steps: &mut VecDeque<Step>) -> bool {
        let Some(mut current) = self.current.take() else { return false };
        let mut played = Interpretation::default();
        current.finish(&mut played);
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

fn header(lines: &mut LineReader<Bytes>) -> Result<PointColumns, DecodeError> {
    let none = || DecodeError::new(RefusalKind::Truncated, "no header");
    PointColumns::from_header(lines.next().ok_or_else(none)?.text)
}

/// `X.match.csv` goes with `X.points.csv`.
fn companion_stem(opening: &Opening<'_>) -> String {
    format!("{}.match.csv", super::stem(opening.path))
}
