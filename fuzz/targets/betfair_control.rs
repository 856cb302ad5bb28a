//! What a Betfair connection says of itself, a line at a time.

#![no_main]

use ingest::decode::betfair::control::{self, Op};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n') {
        let op = control::op(line);
        let connection = control::connection(line);
        let status = control::status(line);
        if line.starts_with(control::OF_MARKETS) {
            assert_eq!(op, Ok(Op::Markets));
        }
        // Which message it is takes less reading than what it says.
        assert!(op.is_ok() || (connection.is_err() && status.is_err()), "{op:?}");
    }
});
