//! Lines of Matchwire's own format. Writing and parsing returns the same lines.

#![no_main]

use std::sync::Arc;

use facts::{event::Timed, line::LineWriter};
use ingest::normalize::{
    Interpretation,
    events::{Interpreter, ReadLine},
};
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, Witness};

/// The sender of lines decides their order.
const PROMISES: Promises = Promises {
    notices_max: 0,
    clock_never_falls: true,
    introductions: false,
    incidents_once: false,
};

fuzz_target!(|bytes: &[u8]| {
    let provider: Arc<str> = "acme".into();
    let mut single = Interpreter::new(Arc::clone(&provider));
    let mut all = Interpreter::new(provider).of_all_matches();
    let mut written = LineWriter::default();
    let mut witness = Witness::new(PROMISES);
    for line in bytes.split(|byte| *byte == b'\n') {
        let line_of_single = single.line(line, 0);
        let Ok(ReadLine { timed, .. }) = all.line(line, 0) else {
            assert!(line_of_single.is_err(), "a source of its own matches may say less");
            continue;
        };
        again(&timed, &mut written);
        witness.check(&Interpretation { batches: vec![timed], ..Interpretation::default() });
    }
});

fn again(timed: &Timed, written: &mut LineWriter) {
    let line = written.batch(&timed.batch);
    let read = Interpreter::new("other".into()).of_all_matches().line(line.as_bytes(), 0);
    let read = read.unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(read.timed.batch, timed.batch, "{line}");
}
