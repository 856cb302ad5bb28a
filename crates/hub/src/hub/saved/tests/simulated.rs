//! Over the simulator's days: one provider, and two of the same matches that fail in turn.

use facts::event::{Batch, Fact, Sport};
use proptest::prelude::*;
use simulator::Simulator;

use super::twin::{Input, START, Twin, of_other_provider};
use crate::{
    feeds::FeedState,
    identity::{MatchOrder, NumberedOrder},
};

/// A part of a day as two sources report it, with failures, orders, readers and silence.
pub(crate) fn inputs(seed: u64, batches: usize) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut fixtures = Vec::new();
    for (number, timed) in Simulator::new(seed, START).take(batches).enumerate() {
        let batch: Batch = timed.batch;
        for event in &batch.events {
            if let Fact::Fixture(fixture) = &event.fact {
                fixtures.push((event.sport, event.match_id, fixture.clone()));
            }
        }
        let other = of_other_provider(&batch);
        let lost = number % 11 == 3;
        inputs.push(Input::Batch(0, batch));
        if !lost {
            inputs.push(Input::Batch(1, other));
        }
        let fixture_at = |number: usize| &fixtures[number % fixtures.len()];
        match number % 997 {
            100 => inputs.push(Input::Health(0, FeedState::Down)),
            160 => inputs.push(Input::Health(0, FeedState::Live)),
            300 => inputs.push(Input::Health(1, FeedState::Recovering)),
            330 => inputs.push(Input::Health(1, FeedState::Live)),
            500 if !fixtures.is_empty() => {
                let (sport, id, _) = fixture_at(number);
                if matches!(sport, Sport::Football | Sport::Tennis) {
                    inputs.push(Input::Follow(*sport, *id));
                }
            }
            600 => inputs.push(Input::Silence(45_000_000)),
            700 if !fixtures.is_empty() => {
                let (_, _, fixture) = fixture_at(number);
                let provider = fixture.provider.to_string();
                let order = MatchOrder::Split { provider, key: fixture.provider_key.to_string() };
                let number = i64::try_from(number).expect("a small number");
                inputs.push(Input::Order(NumberedOrder { number, order }));
            }
            // Once, late: everything of the source is gone.
            900 if number > 1_500 => inputs.push(Input::Restart(1)),
            _ => {}
        }
    }
    inputs
}

fn check(inputs: &[Input], points: &[usize]) {
    let mut twin = Twin::new(2);
    for (number, input) in inputs.iter().enumerate() {
        twin.step(input);
        if points.contains(&number) {
            twin.save_and_restore();
        }
    }
    twin.compare_images();
    twin.saved();
}

#[test]
fn days_of_two_providers() {
    for seed in 1..=2 {
        let inputs = inputs(seed, 3_000);
        let points: Vec<usize> = (0..inputs.len()).step_by(701).chain([1, 2, 3]).collect();
        check(&inputs, &points);
    }
}

#[test]
fn a_hub_that_is_restored_after_each_input() {
    let inputs = inputs(4, 60);
    check(&inputs, &(0..inputs.len()).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn restored_anywhere(seed in 1_u64..1_000, points in prop::collection::vec(0_usize..1_000, 1..4)) {
        check(&inputs(seed, 500), &points);
    }
}
