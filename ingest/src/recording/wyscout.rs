//! A Wyscout document: read whole, because the names follow the events.

use super::{
    Format, OpenError, Opening,
    events::{self, EventByEvent, Feed},
};
use crate::{
    decode::wyscout::{self, Event, record},
    error::DecodeError,
    normalize::{Interpretation, wyscout::Normalizer},
};

pub(super) fn open(opening: &mut Opening<'_>) -> Result<Feed<Normalizer>, OpenError> {
    let whole = events::read(opening)?;
    let document = wyscout::decode(&whole.bytes);
    if document.events.is_empty() {
        return Err(events::no_events(opening, document.broken));
    }
    let record = document.match_key().and_then(|key| {
        let read = |bytes: &[u8]| record::find(bytes, key);
        opening.companions(Format::Wyscout, "matches.json", read).flatten().next()
    });
    let normalizer = Normalizer::new(&document, record.as_ref(), opening.start)
        .map_err(|error| opening.unusable(document.broken.clone().unwrap_or(error)))?;
    let broken = events::broken(&whole, document.broken.as_ref());
    Ok(Feed::new(opening, document.events, normalizer, broken))
}

impl EventByEvent for Normalizer {
    type Event = Event;

    fn event(&mut self, event: &Event, out: &mut Interpretation) -> Result<(), DecodeError> {
        self.event(event, out)
    }

    fn finish(&mut self, out: &mut Interpretation) {
        self.finish(out);
    }
}
