//! A StatsBomb document: one match, identified only by the file name. The separate line-ups add the
//! players on the bench.

use super::{
    Format, OpenError, Opening,
    events::{self, EventByEvent, Feed},
    stem,
};
use crate::{
    decode::statsbomb::{self, Event, Squad},
    error::DecodeError,
    normalize::{Interpretation, statsbomb::Normalizer},
};

pub(super) fn open(opening: &mut Opening<'_>) -> Result<Feed<Normalizer>, OpenError> {
    let whole = events::read(opening)?;
    let document = statsbomb::decode(&whole.bytes);
    if document.events.is_empty() {
        return Err(events::no_events(opening, document.broken));
    }
    let squads = squads(opening);
    let normalizer = Normalizer::new(&document, &squads, &stem(opening.path), opening.start)
        .map_err(|error| opening.unusable(document.broken.clone().unwrap_or(error)))?;
    let broken = events::broken(&whole, document.broken.as_ref());
    Ok(Feed::new(opening, document.events, normalizer, broken))
}

/// `15986.lineups.json` goes with `15986.events.json`; the normaliser tells whose squad it is.
fn squads(opening: &mut Opening<'_>) -> Vec<Squad> {
    let beside = format!("{}.lineups.json", stem(opening.path));
    opening.companions(Format::StatsBomb, &beside, statsbomb::squads).flatten().collect()
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
