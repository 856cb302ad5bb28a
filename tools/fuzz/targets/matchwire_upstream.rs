//! Frames of another hub, normalised to facts.

#![no_main]

use ingest::normalize::matchwire::Matchwire;
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, interpret};

fuzz_target!(|bytes: &[u8]| {
    // Each part of a document can have its own notice.
    let promises = Promises { notices_max: 1 + bytes.len(), ..Promises::default() };
    interpret(bytes, &mut Matchwire::default(), promises);
});
