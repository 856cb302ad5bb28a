//! A recording that is one message: read whole, interpreted, and played.

use std::{collections::VecDeque, sync::Arc};

use super::{Format, OpenError, Opening, Step, refused, unreadable};
use crate::normalize::Interpretation;

/// What is left to be played of the document.
pub(super) struct DocumentFeed {
    steps: VecDeque<Step>,
}

impl DocumentFeed {
    pub(super) fn open(opening: &mut Opening<'_>, format: Format) -> Result<Self, OpenError> {
        let whole = opening.document()?;
        let mut played = Interpretation::default();
        let Some(mut interpreter) = format.interpreter(&opening.file()) else {
            return Err(OpenError::UnknownFormat { path: opening.path.to_owned() });
        };
        interpreter
            .message(&whole.bytes, opening.start, &mut played)
            .map_err(|error| opening.unusable(error))?;
        let file = opening.file();
        let mut steps: VecDeque<Step> = played.batches.into_iter().map(Step::Batch).collect();
        let cut = whole.cut.as_ref().map(unreadable);
        let notices = played.notices.into_iter().chain(cut);
        steps.extend(notices.map(|notice| refused(notice, &Arc::clone(&file), 0, &[])));
        if format == Format::ApiFootball {
            let start = opening.start;
            let parts = opening.companions(format, "", |bytes| {
                let mut played = Interpretation::default();
                interpreter.message(bytes, start, &mut played).map(|()| played)
            });
            for part in parts {
                steps.extend(part.batches.into_iter().map(Step::Batch));
                steps.extend(part.notices.into_iter().map(|it| refused(it, &file, 0, &[])));
            }
        }
        Ok(Self { steps })
    }

    /// Plays the next step; `false` at the end.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        steps.extend(self.steps.pop_front());
        !steps.is_empty()
    }
}
