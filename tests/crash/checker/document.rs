//! Documents and merge patches (RFC 7396), with a digest that a patch changes in proportion to its size.
//!
//! The digest of a document is the sum of the hashes of its values, each hashed with its path. So the
//! digest after a patch follows from the digest before it, and thousands of clients are compared with the
//! log without a copy of the document for each.

use std::hash::Hasher;

use rustc_hash::FxHasher;
use serde_json::Value;

use crate::merge_patch;

/// Identifies the content of a document.
pub(crate) type Digest = u64;

const OBJECT: u64 = 0x6f62_6a65;
const ROOT: u64 = 0x726f_6f74;

/// The digest of a document.
pub(crate) fn digest(document: &Value) -> Digest {
    digest_at(ROOT, document)
}

/// Applies a patch, and returns by how much the digest changes.
pub(crate) fn merge(document: &mut Value, patch: &Value) -> Digest {
    let change = digest_change(document, patch);
    merge_patch::merge(document, patch);
    change
}

/// By how much a patch changes the digest of a document.
pub(crate) fn digest_change(document: &Value, patch: &Value) -> Digest {
    if patch.is_object() { change_at(ROOT, Some(document), patch) } else { 0 }
}

fn digest_at(path: u64, value: &Value) -> Digest {
    match value {
        Value::Object(fields) => fields.iter().fold(mix(path, OBJECT), |sum, (name, value)| {
            sum.wrapping_add(digest_at(below(path, name), value))
        }),
        scalar => mix(path, hash(scalar.to_string().as_bytes())),
    }
}

fn change_at(path: u64, target: Option<&Value>, patch: &Value) -> Digest {
    let before = || target.map_or(0, |target| digest_at(path, target));
    let Value::Object(fields) = patch else {
        return digest_at(path, patch).wrapping_sub(before());
    };
    let (object, begin) = match target {
        Some(Value::Object(object)) => (Some(object), 0),
        _ => (None, mix(path, OBJECT).wrapping_sub(before())),
    };
    fields.iter().fold(begin, |sum, (name, value)| {
        let (path, target) = (below(path, name), object.and_then(|object| object.get(name)));
        sum.wrapping_add(match (value, target) {
            (Value::Null, Some(target)) => digest_at(path, target).wrapping_neg(),
            (Value::Null, None) => 0,
            _ => change_at(path, target, value),
        })
    })
}

fn below(path: u64, name: &str) -> u64 {
    mix(path, hash(name.as_bytes()))
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// The finisher of SplitMix64, so that sums of hashes do not cancel out.
fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The first place where two documents differ, for people.
pub(crate) fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    fn at(path: &str, ours: Option<&Value>, theirs: Option<&Value>) -> Option<String> {
        match (ours, theirs) {
            (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                let names = ours.keys().chain(theirs.keys());
                names.into_iter().find_map(|name| {
                    at(&format!("{path}/{name}"), ours.get(name), theirs.get(name))
                })
            }
            (ours, theirs) if ours == theirs => None,
            (ours, theirs) => {
                let shown = |value: Option<&Value>| {
                    value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
                };
                Some(format!(
                    "at {path}: the log has {}, the client {}",
                    shown(ours),
                    shown(theirs)
                ))
            }
        }
    }
    at("", Some(ours), Some(theirs))
}
