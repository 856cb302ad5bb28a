//! A document with the events of one match: read whole and then played event by event.

use std::{collections::VecDeque, io, sync::Arc, vec};

use super::{OpenError, Opening, Step, refused, unreadable};
use crate::{
    decode::RefusedItem,
    error::{DecodeError, RefusalKind, Result},
    normalize::{EventByEvent, Interpretation},
};

pub(super) struct EventFeed<N: EventByEvent> {
    file: Arc<str>,
    events: vec::IntoIter<Result<N::Event, RefusedItem>>,
    normalizer: N,
    end: DocumentEnd,
}

/// What to report after the last event.
enum DocumentEnd {
    FinalWhistle,
    /// The document is cut, so the match does not end in this file.
    Broken(DecodeError),
    Reported,
}

impl<N: EventByEvent> EventFeed<N> {
    /// `cut` says why the file ends early, if it does in this document, and `broken` why the text of the document ends
    /// before its end.
    pub(super) fn new(
        opening: &Opening<'_>,
        cut: Option<&io::Error>,
        events: Vec<Result<N::Event, RefusedItem>>,
        broken: Option<DecodeError>,
        normalizer: Result<N>,
    ) -> Result<Self, OpenError> {
        let normalizer = normalizer
            .map_err(|error| opening.unusable(broken.as_ref().unwrap_or(&error).clone()))?;
        let broken = cut.map(unreadable).or(broken);
        let end = broken.map_or(DocumentEnd::FinalWhistle, DocumentEnd::Broken);
        Ok(Self { file: opening.file(), events: events.into_iter(), normalizer, end })
    }

    /// Plays the next event, or the end; `false` after that.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        match self.events.next() {
            Some(Ok(event)) => self.play(&event, steps),
            Some(Err(it)) => steps.push_back(refused(it.error, &self.file, 0, &it.bytes)),
            None => return self.end(steps),
        }
        true
    }

    fn play(&mut self, event: &N::Event, steps: &mut VecDeque<Step>) {
        let mut played = Interpretation::default();
        let taken = self.normalizer.event(event, &mut played);
        self.push(played, steps);
        steps.extend(taken.err().map(|error| refused(error, &self.file, 0, &[])));
    }

    fn end(&mut self, steps: &mut VecDeque<Step>) -> bool {
        match std::mem::replace(&mut self.end, DocumentEnd::Reported) {
            DocumentEnd::FinalWhistle => {
                let mut played = Interpretation::default();
                self.normalizer.finish(&mut played);
                self.push(played, steps);
            }
            DocumentEnd::Broken(error) => steps.push_back(refused(error, &self.file, 0, &[])),
            DocumentEnd::Reported => return false,
        }
        true
    }

    fn push(&self, played: Interpretation, steps: &mut VecDeque<Step>) {
        steps.extend(played.batches.into_iter().map(Step::Batch));
        let notices = played.notices.into_iter();
        steps.extend(notices.map(|notice| refused(notice, &self.file, 0, &[])));
    }
}

/// Says of a document without any events why it has none.
pub(super) fn no_events(opening: &Opening<'_>, broken: Option<DecodeError>) -> OpenError {
    let none = || DecodeError::new(RefusalKind::Value, "no events");
    opening.unusable(broken.unwrap_or_else(none))
}
