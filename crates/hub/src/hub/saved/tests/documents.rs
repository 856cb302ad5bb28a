//! What the hub publishes for fixed inputs, as a digest: a change of how documents or updates are rendered is
//! noticed.
//!
//! If this test fails because a document or an update has changed: raise `DOCUMENT_FORMAT`, so that clients that
//! resume after an upgrade get an image in a new epoch, and write new files with
//! `cargo test -p matchwire-hub --lib -- --ignored write_the_documents`.

use std::{collections::BTreeMap, fs, path::PathBuf};

use facts::event::{Batch, Fact, Id, Sport};
use fanout::{Change, channel::Rate};
use sha2::{Digest, Sha256};
use simulator::Simulator;

use super::twin::{Input, START, Twin, payload};
use crate::recovery::DOCUMENT_FORMAT;

/// Facts of one match of each sport, so that the file is small.
const FACTS_PER_SPORT: usize = 300;

/// Of prices, one fact in so many.
const PRICES: usize = 8;

/// The messages about the first match of each sport.
fn some_of_each_sport() -> Vec<Batch> {
    let mut matches: BTreeMap<Sport, (Id, usize)> = BTreeMap::new();
    let (mut batches, mut prices) = (Vec::new(), 0);
    for timed in Simulator::new(11, START).take(200_000) {
        let mut batch = timed.batch;
        batch.events.retain(|event| {
            let (id, count) = matches.entry(event.sport).or_insert((event.match_id, 0));
            let is_price = matches!(event.fact, Fact::Odds(_));
            prices += usize::from(is_price);
            *count += usize::from(*id == event.match_id);
            *id == event.match_id
                && *count < FACTS_PER_SPORT
                && (!is_price || prices.is_multiple_of(PRICES))
        });
        if !batch.events.is_empty() {
            batches.push(batch);
        }
    }
    batches
}

fn path(content: &str) -> PathBuf {
    let name = format!("src/hub/saved/tests/documents-{DOCUMENT_FORMAT}.{content}");
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The digest of all frames and of the images at the end, and how many frames there are of each sport.
fn digest(batches: &[Batch]) -> (String, BTreeMap<String, usize>) {
    let mut twin = Twin::new(1);
    let (mut hash, mut counts) = (Sha256::new(), BTreeMap::new());
    let mut now = START;
    for batch in batches {
        now += 20_000;
        let changes = twin.apply_to_kept(&Input::Batch(0, batch.clone()), now);
        for change in &changes {
            if let Change::Opened(it) | Change::Published(Rate::Each, it) = change {
                hash.update(payload(it));
                let (sport, _) = it.channel.name.as_str().split_once('/').unwrap_or_default();
                *counts.entry(sport.to_owned()).or_insert(0) += 1;
            }
        }
    }
    for (_, name, _) in super::twin::channels(twin.kept()) {
        hash.update(twin.kept().image_of(&name).expect("it is open").frame);
    }
    (data_encoding::HEXLOWER.encode(&hash.finalize()), counts)
}

#[test]
fn documents_of_this_format_are_rendered_as_before() {
    let batches = fs::read(path("inputs")).unwrap();
    let batches: Vec<Batch> =
        borsh::from_slice(&batches).expect("the types of events are the same");
    let (digest, counts) = digest(&batches);
    for sport in ["football", "tennis", "csgo", "darts", "hockey", "basketball", "horseracing"] {
        assert!(counts.get(sport).is_some_and(|count| *count > 10), "{sport}: {counts:?}");
    }
    let before = fs::read_to_string(path("sha256")).unwrap();
    assert_eq!(digest, before.trim(), "documents have changed: see the comment of this file");
}

#[test]
#[ignore = "it writes the files of a new format"]
fn write_the_documents() {
    let batches = some_of_each_sport();
    fs::write(path("inputs"), borsh::to_vec(&batches).unwrap()).unwrap();
    fs::write(path("sha256"), format!("{}\n", digest(&batches).0)).unwrap();
}
