//! A Wyscout document: read whole, because the names follow the events.

use super::{
    Format, OpenError, Opening,
    events::{self, EventFeed},
};
use crate::{
    decode::wyscout::{self, record},
    error::RefusalKind,
    normalize::wyscout::Normalizer,
};

pub(super) fn open(opening: &mut Opening<'_>) -> Result<EventFeed<Normalizer>, OpenError> {
    let whole = opening.document()?;
    let document = wyscout::decode(&whole.bytes);
    if document.events.is_empty() {
        return Err(events::no_events(opening, document.broken));
    }
    // All events of another version of the format have the same reason.
    if let Some(Err(first)) = document.events.first()
        && first.error.kind == RefusalKind::Unknown
    {
        return Err(opening.unusable(first.error.clone()));
    }
    let companion = || {
        let key = document.match_key()?;
        let read = |bytes: &[u8]| record::find(bytes, key);
        opening.companions(Format::Wyscout, "matches.json", read).flatten().next()
    };
    let record =
        document.record.clone().filter(|record| Some(record.match_id) == document.match_key());
    let record = record.or_else(companion);
    let normalizer = Normalizer::new(&document, record.as_ref());
    EventFeed::new(opening, whole.cut.as_ref(), document.events, document.broken, normalizer)
}
