//! A state as a file, so that a type that changes is noticed.
//!
//! The inputs are a file too, so that the simulator may change. If they cannot be read, a type of `facts::event`
//! has changed. If this test fails because a type of the state or of `facts::event` has changed: raise `STATE_FORMAT`,
//! keep this file and read it as the previous format (or, if that is not worth it, let the hub begin new epochs
//! and say so in the changelog), and write new files beside it with
//! `cargo test -p matchwire-hub --lib -- --ignored write_the_file`.

use std::{fs, path::PathBuf};

use facts::event::{Event, Fact, Id, Sport};

use super::{
    simulated::inputs,
    twin::{Input, OTHER_PROVIDER, Twin},
};
use crate::STATE_FORMAT;

/// The play and a market of a football match and a tennis match, so that the file is small.
fn small() -> Vec<Input> {
    let mut inputs = inputs(21, 4_000);
    let first = |sport: Sport| {
        let of_sport = move |input: &Input| match input {
            Input::Batch(0, batch) => batch.events.iter().find(|it| it.sport == sport).cloned(),
            _ => None,
        };
        inputs.iter().find_map(of_sport).map(|event| event.match_id)
    };
    let ids = [first(Sport::Football), first(Sport::Tennis)];
    let other = ids.map(|id| id.map(|id| Id(id.0 ^ OTHER_PROVIDER)));
    let is_odds = |event: &Event| matches!(event.fact, Fact::Odds(_));
    let mut odds = 0;
    inputs.retain_mut(|input| match input {
        Input::Batch(_, batch) => {
            batch.events.retain(|event| {
                odds += usize::from(is_odds(event));
                ids.iter().chain(&other).any(|id| *id == Some(event.match_id))
                    && (!is_odds(event) || odds % 16 == 1)
            });
            !batch.events.is_empty()
        }
        Input::Health(..) => true,
        _ => false,
    });
    inputs.truncate(100);
    inputs
}

/// After the first half of the inputs.
fn twin(inputs: &[Input]) -> Twin {
    let mut twin = Twin::new(2);
    inputs[..inputs.len() / 2].iter().for_each(|input| twin.step(input));
    twin
}

fn path(content: &str) -> PathBuf {
    let name = format!("src/hub/saved/tests/{content}-{STATE_FORMAT}.bin");
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn the_file_of_this_format_is_read_and_continued() {
    let inputs = fs::read(path("inputs")).unwrap();
    let inputs: Vec<Input> = borsh::from_slice(&inputs).expect("the types of events are the same");
    let mut twin = twin(&inputs);
    let file = fs::read(path("state")).unwrap();
    assert!(
        file == twin.saved(),
        "the same state is saved as other bytes: see the comment of this file"
    );
    twin.continue_with(&file);
    inputs[inputs.len() / 2..].iter().for_each(|input| twin.step(input));
    twin.compare_images();
}

#[test]
#[ignore = "it writes the file of a new format"]
fn write_the_file() {
    let inputs = small();
    fs::write(path("inputs"), borsh::to_vec(&inputs).unwrap()).unwrap();
    fs::write(path("state"), twin(&inputs).saved()).unwrap();
}
