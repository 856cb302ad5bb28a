//! A Stats Perform match: its events (MA3) followed by its summary (MA1), which is also played
//! alone.

#![no_main]

use ingest::{
    decode::statsperform::{self, Document},
    normalize::{
        EventByEvent as _, Interpretation,
        statsperform::{Normalizer, Summary},
    },
};
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, Witness, messages};

fuzz_target!(|bytes: &[u8]| {
    let mut documents = messages(bytes).map(statsperform::decode);
    let Some(events) = documents.next() else { return };
    let summary = documents.next();
    event_by_event(&events, summary.as_ref());
    moment_by_moment(summary.as_ref().unwrap_or(&events));
});

fn event_by_event(document: &Document, summary: Option<&Document>) {
    let Ok(mut normalizer) = Normalizer::new(document, summary) else { return };
    let mut played = Interpretation::default();
    for event in document.events.iter().flatten() {
        let _wrong = normalizer.event(event, &mut played);
    }
    normalizer.finish(&mut played);
    check(&played, document.events.len());
}

fn moment_by_moment(document: &Document) {
    let Ok(mut summary) = Summary::new(document) else { return };
    let mut played = Interpretation::default();
    for moment in document.moments.iter().flatten() {
        let _wrong = summary.event(moment, &mut played);
    }
    summary.finish(&mut played);
    check(&played, document.moments.len());
}

/// Each event has its own notices.
fn check(played: &Interpretation, events: usize) {
    let notices_max = 8 + 2 * events;
    Witness::new(Promises { notices_max, ..Promises::default() }).check(played);
}
