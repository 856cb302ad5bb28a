//! Lines of a Betfair stream, through the normaliser that keeps the markets of all of them.

#![no_main]

use ingest::normalize::betfair::Normalizer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut normalizer = Normalizer::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let _any = normalizer.line(line);
    }
});
