//! Stats Perform: a match event by event (MA3), with the names and passes that its summary (MA1)
//! adds; or the summary alone.

use std::{path::Path, sync::Arc};

use super::{
    Format, OpenError, Opening, content,
    events::{self, EventByEvent, EventFeed},
    stem,
};
use crate::{
    decode::statsperform::{self, Document, Moment, StatsPerformEvent},
    error::DecodeError,
    normalize::{
        Interpretation,
        statsperform::{Normalizer, Summary},
    },
};

pub(super) fn open(opening: &mut Opening<'_>) -> Result<EventFeed<Normalizer>, OpenError> {
    let whole = opening.document()?;
    let document = statsperform::decode(&whole.bytes);
    if document.events.is_empty() {
        return Err(events::no_events(opening, document.broken));
    }
    let summary = summary(opening, &document);
    let normalizer = Normalizer::new(&document, summary.as_ref(), opening.start);
    EventFeed::new(opening, &whole, document.events, document.broken, normalizer)
}

/// Opens a summary as a recording of its own.
pub(super) fn open_summary(opening: &Opening<'_>) -> Result<EventFeed<Summary>, OpenError> {
    let whole = opening.document()?;
    let document = statsperform::decode(&whole.bytes);
    let normalizer = Summary::new(&document, opening.start);
    EventFeed::new(opening, &whole, document.moments, document.broken, normalizer)
}

/// The provider's id of the match that a file is about, if its beginning says it.
pub(super) fn match_key(path: &Path) -> Option<Arc<str>> {
    statsperform::decode(&content::head(path).ok()?).info.map(|info| info.id)
}

/// The summary of the same match, named by the user or next to it: `X.ma1.json` goes with
/// `X.ma3.json`.
fn summary(opening: &mut Opening<'_>, document: &Document) -> Option<Document> {
    let key = document.info.as_ref().map(|info| info.id.clone());
    let companion = format!("{}.ma1.json", stem(opening.path));
    let read = |bytes: &[u8]| Ok(statsperform::decode(bytes));
    let of_match = |it: &Document| {
        it.info.as_ref().is_some_and(|info| key.as_ref().is_none_or(|key| *key == info.id))
    };
    opening.companions(Format::StatsPerform, &companion, read).find(of_match)
}

impl EventByEvent for Normalizer {
    type Event = StatsPerformEvent;

    fn event(
        &mut self,
        event: &StatsPerformEvent,
        out: &mut Interpretation,
    ) -> Result<(), DecodeError> {
        self.event(event, out)
    }

    fn finish(&mut self, out: &mut Interpretation) {
        self.finish(out);
    }
}

impl EventByEvent for Summary {
    type Event = Moment;

    fn event(&mut self, moment: &Moment, out: &mut Interpretation) -> Result<(), DecodeError> {
        self.moment(moment, out)
    }

    fn finish(&mut self, out: &mut Interpretation) {
        self.finish(out);
    }
}
