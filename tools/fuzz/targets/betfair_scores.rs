//! Responses of Betfair's in-play scores to one interpreter, as from polling.

#![no_main]

use ingest::normalize::betfair_scores::Interpreter;
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, interpret};

fuzz_target!(|bytes: &[u8]| {
    // A response is timed by its own clock, if it has one.
    let promises =
        Promises { incidents_once: true, clock_never_falls: false, ..Promises::default() };
    interpret(bytes, &mut Interpreter::default(), promises);
});
