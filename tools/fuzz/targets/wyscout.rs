//! A Wyscout document, followed by the match records that may contain its match.

#![no_main]

use ingest::{
    decode::wyscout::{self, record},
    normalize::{EventByEvent as _, Interpretation, wyscout::Normalizer},
};
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, Witness, choice};

fuzz_target!(|bytes: &[u8]| {
    let (document, records) = choice(bytes);
    let document = wyscout::decode(document);
    let record = document.match_key().and_then(|key| record::find(records, key).ok().flatten());
    let Ok(mut normalizer) = Normalizer::new(&document, record.as_ref()) else { return };
    let mut played = Interpretation::default();
    for event in document.events.iter().flatten() {
        let _wrong = normalizer.event(event, &mut played);
    }
    normalizer.finish(&mut played);
    // Each event has its own.
    let notices_max = 8 + 2 * document.events.len();
    Witness::new(Promises { notices_max, ..Promises::default() }).check(&played);
});
