//! Facts seen from the other side.

use simulator::Simulator;

#[test]
fn swapped_twice_is_as_before() {
    let mut facts = 0;
    for timed in Simulator::new(7, 0).take(20_000) {
        for event in timed.batch.events {
            assert_eq!(event.fact.swapped().swapped(), event.fact);
            facts += 1;
        }
    }
    assert!(facts > 10_000, "{facts} facts");
}
