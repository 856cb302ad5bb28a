//! A Wyscout document, and its match record cut out of the same bytes.

#![no_main]

use ingest::{
    decode::wyscout::{self, record},
    normalize::{Played, wyscout::Normalizer},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let document = wyscout::decode(bytes);
    let record = document.match_key().and_then(|key| record::find(bytes, key).ok().flatten());
    let Ok(mut normalizer) = Normalizer::new(&document, record.as_ref(), 0) else { return };
    let mut played = Played::default();
    for event in document.events.iter().flatten() {
        let _any = normalizer.event(event, &mut played);
    }
    normalizer.finish(&mut played);
});
