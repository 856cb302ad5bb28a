//! Answers of Betfair's in-play scores to one interpreter, as a poll gets them.

#![no_main]

use ingest::normalize::betfair_scores::Interpreter;
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, interpret};

fuzz_target!(|bytes: &[u8]| {
    // An answer is told by its own clock, where it has one.
    let promises =
        Promises { incidents_once: true, clock_never_falls: false, ..Promises::default() };
    interpret(bytes, &mut Interpreter::default(), promises);
});
