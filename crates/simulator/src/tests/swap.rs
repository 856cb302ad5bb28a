//! Facts seen from the other side.

use crate::Simulator;

#[test]
fn swapping_twice_restores_the_fact() {
    let mut facts = 0;
    for timed in Simulator::new(7, 0).take(20_000) {
        for event in timed.batch.events {
            assert_eq!(event.fact.swapped().swapped(), event.fact);
            facts += 1;
        }
    }
    assert!(facts > 10_000, "{facts} facts");
}
