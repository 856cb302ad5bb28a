//! A Wyscout document: read whole, because the names stand behind the events, and then played
//! event by event.

use std::{collections::VecDeque, sync::Arc, vec};

use super::{Format, OpenError, Opening, Step, bytes, refused, unreadable};
use crate::{
    decode::wyscout::{self, Document, Event, Refused, record},
    error::{DecodeError, RefusalKind},
    normalize::{Played, wyscout::Normalizer},
};

pub(super) struct Feed {
    file: Arc<str>,
    events: vec::IntoIter<Result<Event, Refused>>,
    normalizer: Normalizer,
    end: End,
}

/// What is said when the events are through.
enum End {
    FinalWhistle,
    /// The match goes on somewhere, but not in this file.
    Broken(DecodeError),
    Said,
}

impl Feed {
    pub(super) fn open(opening: &mut Opening<'_>) -> Result<Self, OpenError> {
        let (document, cut) = read(opening)?;
        let record = document.match_key().and_then(|key| {
            let read = |bytes: &[u8]| record::find(bytes, key);
            opening.companions(Format::Wyscout, "matches.json", read).flatten().next()
        });
        let normalizer = Normalizer::new(&document, record.as_ref(), opening.start)
            .map_err(|error| opening.unusable(document.broken.clone().unwrap_or(error)))?;
        let end = cut.or(document.broken).map_or(End::FinalWhistle, End::Broken);
        Ok(Self { file: opening.file(), events: document.events.into_iter(), normalizer, end })
    }

    /// Plays the next event, or the end; `false` behind that.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        match self.events.next() {
            Some(Ok(event)) => self.play(&event, steps),
            Some(Err(it)) => steps.push_back(refused(it.error, &self.file, 0, &it.bytes)),
            None => return self.end(steps),
        }
        true
    }

    fn play(&mut self, event: &Event, steps: &mut VecDeque<Step>) {
        let mut played = Played::default();
        let taken = self.normalizer.event(event, &mut played);
        self.push(played, steps);
        steps.extend(taken.err().map(|error| refused(error, &self.file, 0, &[])));
    }

    fn end(&mut self, steps: &mut VecDeque<Step>) -> bool {
        match std::mem::replace(&mut self.end, End::Said) {
            End::FinalWhistle => {
                let mut played = Played::default();
                self.normalizer.finish(&mut played);
                self.push(played, steps);
            }
            End::Broken(error) => steps.push_back(refused(error, &self.file, 0, &[])),
            End::Said => return false,
        }
        true
    }

    fn push(&self, played: Played, steps: &mut VecDeque<Step>) {
        steps.extend(played.batches.into_iter().map(Step::Batch));
        let notices = played.notices.into_iter();
        steps.extend(notices.map(|notice| refused(notice, &self.file, 0, &[])));
    }
}

/// The document, and why the file could not be read to its end, if so.
fn read(opening: &Opening<'_>) -> Result<(Document, Option<DecodeError>), OpenError> {
    let limit = opening.limits.document_bytes_max;
    let whole = bytes::read(opening.path, limit).map_err(|error| opening.io(error))?;
    let whole = whole.ok_or_else(|| OpenError::TooLong { path: opening.path.to_owned(), limit })?;
    let document = wyscout::decode(&whole.bytes);
    if document.events.is_empty() {
        let none = || DecodeError::new(RefusalKind::Value, "no events");
        return Err(opening.unusable(document.broken.unwrap_or_else(none)));
    }
    Ok((document, whole.cut.as_ref().map(unreadable)))
}
