//! Point strings: one match per row, all of them played concurrently, point by point. The whole
//! file is read first; the facts are produced while it is played.

use std::{collections::VecDeque, sync::Arc};

use super::{OpenError, Opening, Step, refused, unreadable};
use crate::normalize::{Interpretation, point_strings::Program};

pub(super) struct PointStringFeed {
    file: Arc<str>,
    program: Program,
    through: bool,
}

impl PointStringFeed {
    pub(super) fn open(opening: &mut Opening<'_>) -> Result<Self, OpenError> {
        let whole = opening.document()?;
        let (mut notices, mut rows) = (Vec::new(), Vec::new());
        let program = Program::new(&whole.bytes, &mut notices, &mut rows)
            .map_err(|error| opening.unusable(error))?;
        let file = opening.file();
        notices.extend(whole.cut.as_ref().map(unreadable));
        let steps = &mut *opening.steps;
        steps.extend(rows.into_iter().map(|row| refused(row.error, &file, row.line, &[])));
        steps.extend(notices.into_iter().map(|notice| refused(notice, &file, 0, &[])));
        Ok(Self { file, program, through: false })
    }

    /// Plays the next point of every match; `false` at the end.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        if self.through {
            return false;
        }
        let mut played = Interpretation::default();
        self.through = !self.program.tick(&mut played);
        steps.extend(played.batches.into_iter().map(Step::Batch));
        let notices = played.notices.into_iter();
        steps.extend(notices.map(|notice| refused(notice, &self.file, 0, &[])));
        true
    }
}
