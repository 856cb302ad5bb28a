//! A file with a season of football-data.co.uk.

#![no_main]

use ingest::normalize::football_data_couk::Interpreter;
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, interpret};

fuzz_target!(|bytes: &[u8]| {
    // Each file is played from its beginning.
    let promises = Promises { clock_never_falls: false, ..Promises::default() };
    interpret(bytes, &mut Interpreter::default(), promises);
});
