//! Bytes that are not a state are errors: never a panic, never a huge allocation.

use std::sync::LazyLock;

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::{
    simulated::inputs,
    twin::{Input, Twin},
};
use crate::{RestoreError, STATE_FORMAT};

const HEAD: usize = 46;

/// A state, which each test works on a copy of.
static SAVED: LazyLock<(Twin, Vec<u8>)> = LazyLock::new(|| {
    let mut twin = Twin::new(2);
    for input in inputs(9, 40).iter().filter(|input| !matches!(input, Input::Restart(_))) {
        twin.step(input);
    }
    let bytes = twin.saved();
    (twin, bytes)
});

/// The same bytes with the length and the digest of a state.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.split_off(HEAD);
    bytes[6..14].copy_from_slice(&(body.len() as u64).to_le_bytes());
    bytes[14..].copy_from_slice(&Sha256::digest(&body));
    [bytes, body].concat()
}

#[test]
fn any_cut_is_noticed() {
    let (twin, bytes) = &*SAVED;
    for end in (0..bytes.len()).step_by(1_009).chain(0..100) {
        twin.restore(&bytes[..end]).expect_err("it was cut");
    }
    assert!(matches!(twin.restore(b""), Err(RestoreError::NotAState)));
    let longer = [&bytes[..], b"x"].concat();
    assert!(matches!(twin.restore(&longer), Err(RestoreError::Damaged)));
    assert!(matches!(twin.restore(&sealed(longer)), Err(RestoreError::Invalid(_))));
}

#[test]
fn other_formats_are_refused() {
    let (twin, bytes) = &*SAVED;
    let mut bytes = bytes.clone();
    bytes[4..6].copy_from_slice(&(STATE_FORMAT + 1).to_le_bytes());
    let error = twin.restore(&bytes).expect_err("it is of another format");
    let other = STATE_FORMAT + 1;
    let expected = format!("its format is {other}, and this release reads {STATE_FORMAT}");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn any_changed_byte_is_noticed() {
    let (twin, bytes) = &*SAVED;
    for at in (0..bytes.len()).step_by(1_013).chain(0..HEAD) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        twin.restore(&bytes).expect_err("a byte was changed");
    }
}

#[test]
fn wrong_states_with_the_right_digest_do_not_panic() {
    let (twin, bytes) = &*SAVED;
    proptest!(ProptestConfig::with_cases(300), |(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        end in prop::option::of(any::<prop::sample::Index>()),
    )| {
        let mut bytes = bytes.clone();
        for (at, byte) in changes {
            let at = HEAD + at.index(bytes.len() - HEAD);
            bytes[at] = byte;
        }
        if let Some(end) = end {
            bytes.truncate(HEAD + end.index(bytes.len() - HEAD));
        }
        // Either is right: some bytes are only the digits of a price.
        drop(twin.restore(&sealed(bytes)));
    });
}
