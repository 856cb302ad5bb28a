//! The binary form of events, which a log keeps: what was written is read, and other bytes are errors.

use std::sync::LazyLock;

use facts::event::Batch;
use proptest::prelude::*;
use simulator::Simulator;

/// The bytes of the batches that are damaged.
static ENCODED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let batches = Simulator::new(5, 0).take(500);
    batches.map(|timed| borsh::to_vec(&timed.batch).unwrap()).collect()
});

#[test]
fn simulated_batches_are_read_as_they_were_written() {
    for seed in 1..=3 {
        for timed in Simulator::new(seed, 0).take(20_000) {
            let bytes = borsh::to_vec(&timed.batch).unwrap();
            assert_eq!(borsh::from_slice::<Batch>(&bytes).unwrap(), timed.batch);
        }
    }
}

#[test]
fn truncated_batches_are_errors() {
    // Each length of some batches, and not of all: the work grows with its square.
    for bytes in ENCODED.iter().step_by(20) {
        for end in 0..bytes.len() {
            borsh::from_slice::<Batch>(&bytes[..end]).unwrap_err();
        }
    }
}

proptest! {
    #[test]
    fn damaged_batches_never_panic(at: usize, byte: u8, number in 0..500_usize) {
        let mut bytes = ENCODED[number].clone();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(batch) = borsh::from_slice::<Batch>(&bytes) {
            // Whatever was read can be written and read again: no decimal is out of range.
            let written = borsh::to_vec(&batch).unwrap();
            prop_assert_eq!(borsh::from_slice::<Batch>(&written).unwrap(), batch);
        }
    }
}
