//! Frames of another hub, to what makes facts of them.

#![no_main]

use ingest::normalize::matchwire::Matchwire;
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, interpret};

fuzz_target!(|bytes: &[u8]| {
    // What a document has wrong is said for each part of it.
    let promises = Promises { notices_max: 1 + bytes.len(), ..Promises::default() };
    interpret(bytes, &mut Matchwire::default(), promises);
});
