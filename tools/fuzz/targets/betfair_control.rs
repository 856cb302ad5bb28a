//! The control messages of a Betfair connection, line by line.

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
        // Finding the kind of a message parses less of it than the message itself.
        assert!(op.is_ok() || (connection.is_err() && status.is_err()), "{op:?}");
    }
});
