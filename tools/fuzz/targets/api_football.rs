//! Responses of API-Football to one interpreter, as from polling.

#![no_main]

use ingest::normalize::api_football::Interpreter;
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, interpret};

fuzz_target!(|bytes: &[u8]| {
    let promises = Promises { incidents_once: true, ..Promises::default() };
    interpret(bytes, &mut Interpreter::default(), promises);
});
