//! Simulated facts as lines of Matchwire's own format.

use facts::line::LineWriter;
use ingest::normalize::events::Interpreter;

use crate::Simulator;

/// They are of nearly every kind.
#[test]
fn every_fact_is_written_and_read_back() {
    let mut lines = LineWriter::default();
    let mut interpreter = Interpreter::new("other".into()).of_all_matches();
    let mut count = 0;
    for timed in Simulator::new(5, 1_767_225_600_000_000).take(20_000) {
        let line = lines.timed(&timed);
        let read = interpreter.line(line.as_bytes(), 0).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert_eq!(read.timed.batch.events, timed.batch.events, "{line}");
        count += read.timed.batch.events.len();
    }
    assert!(count > 20_000, "only {count} facts");
}
