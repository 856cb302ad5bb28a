//! A StatsBomb document: one match, identified only by the file name. The separate line-ups add the
//! players on the bench, and the list of matches the day and the competition.

use super::{
    Format, OpenError, Opening,
    events::{self, EventFeed},
    stem,
};
use crate::{
    decode::statsbomb::{self, Squad},
    normalize::statsbomb::Normalizer,
};

pub(super) fn open(opening: &mut Opening<'_>) -> Result<EventFeed<Normalizer>, OpenError> {
    let whole = opening.document()?;
    let document = statsbomb::decode(&whole.bytes);
    if document.events.is_empty() {
        return Err(events::no_events(opening, document.broken));
    }
    let squads = squads(opening);
    let key = stem(opening.path);
    let read = |bytes: &[u8]| statsbomb::record(bytes, &key);
    let record = opening.companions(Format::StatsBomb, "matches.json", read).flatten().next();
    let normalizer = Normalizer::new(&document, &squads, record, &key);
    EventFeed::new(opening, whole.cut.as_ref(), document.events, document.broken, normalizer)
}

/// `15986.lineups.json` goes with `15986.events.json`; the normaliser finds the side of each squad.
fn squads(opening: &mut Opening<'_>) -> Vec<Squad> {
    let companion = format!("{}.lineups.json", stem(opening.path));
    opening.companions(Format::StatsBomb, &companion, statsbomb::squads).flatten().collect()
}
