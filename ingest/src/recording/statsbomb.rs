//! A StatsBomb document: one match. Which one only its name says; the line-ups beside it add
//! nothing that is played.

use super::{
    OpenError, Opening,
    events::{self, EventByEvent, Feed},
    stem,
};
use crate::{
    decode::statsbomb::{self, Event},
    error::DecodeError,
    normalize::{Played, statsbomb::Normalizer},
};

pub(super) fn open(opening: &Opening<'_>) -> Result<Feed<Normalizer>, OpenError> {
    let whole = events::read(opening)?;
    let document = statsbomb::decode(&whole.bytes);
    if document.events.is_empty() {
        return Err(events::no_events(opening, document.broken));
    }
    let normalizer = Normalizer::new(&document, &stem(opening.path), opening.start)
        .map_err(|error| opening.unusable(document.broken.clone().unwrap_or(error)))?;
    let broken = events::broken(&whole, document.broken.as_ref());
    Ok(Feed::new(opening, document.events, normalizer, broken))
}

impl EventByEvent for Normalizer {
    type Event = Event;

    fn event(&mut self, event: &Event, out: &mut Played) -> Result<(), DecodeError> {
        self.event(event, out)
    }

    fn finish(&mut self, out: &mut Played) {
        self.finish(out);
    }
}
