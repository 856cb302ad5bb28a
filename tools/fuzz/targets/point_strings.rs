//! A file of point strings, with all its matches played to the end.

#![no_main]

use ingest::normalize::point_strings::Interpreter;
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, interpret};

fuzz_target!(|bytes: &[u8]| {
    // Each file is played from its beginning, and each of its points may break the rules.
    let promises = Promises {
        clock_never_falls: false,
        notices_max: 8 + 2 * bytes.len(),
        ..Promises::default()
    };
    interpret(bytes, &mut Interpreter, promises);
});
