//! The binary form of events, which a log keeps: what was written is read, and other bytes are errors.

use ingest::event::Batch;
use proptest::prelude::*;
use simulator::Simulator;

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
    for timed in Simulator::new(7, 0).take(200) {
        let bytes = borsh::to_vec(&timed.batch).unwrap();
        for end in 0..bytes.len() {
            borsh::from_slice::<Batch>(&bytes[..end]).unwrap_err();
        }
    }
}

proptest! {
    #[test]
    fn damaged_batches_never_panic(place: usize, byte: u8, skip in 0..500_usize) {
        let timed = Simulator::new(5, 0).nth(skip).unwrap();
        let mut bytes = borsh::to_vec(&timed.batch).unwrap();
        let place = place % bytes.len();
        bytes[place] = byte;
        if let Ok(batch) = borsh::from_slice::<Batch>(&bytes) {
            // Whatever was read can be shown: no decimal is out of range.
            let shown = format!("{batch:?}");
            prop_assert!(!shown.is_empty());
        }
    }
}
