//! A StatsBomb document, played to its end.

#![no_main]

use ingest::{
    decode::statsbomb,
    normalize::{EventByEvent as _, Interpretation, statsbomb::Normalizer},
};
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, Witness};

fuzz_target!(|bytes: &[u8]| {
    let document = statsbomb::decode(bytes);
    let Ok(mut normalizer) = Normalizer::new(&document, &[], None, "5") else { return };
    let mut played = Interpretation::default();
    for event in document.events.iter().flatten() {
        let _wrong = normalizer.event(event, &mut played);
    }
    normalizer.finish(&mut played);
    // Each event has its own.
    let notices_max = 8 + 2 * document.events.len();
    Witness::new(Promises { notices_max, ..Promises::default() }).check(&played);
});
