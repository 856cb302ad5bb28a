//! The frames of the corpus for clients (`tools/conformance/README.md`) are frames of this protocol.

use std::{fs, path::Path};

use schema::Checker;
use serde_json::{Value, json};

/// The frames of a line; none if it says that they go beyond this version.
fn frames(line: &Value) -> Vec<Value> {
    if line["beyond"] == true {
        return Vec::new();
    }
    let mut frames: Vec<Value> =
        ["open", "send"].iter().filter_map(|kind| line.get(kind)).cloned().collect();
    for (ch, wanted) in line["subscribe"].as_object().into_iter().flatten() {
        let answer = &wanted["answer"];
        frames.push(json!({"type": "subscribed", "id": 1, "every_ms": 0, "on_slow": "merge", "chs": {ch: answer}}));
    }
    frames
}

#[test]
fn every_frame_of_the_corpus_conforms() {
    let checker = Checker::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/scripts");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the scripts are there") {
        let path = entry.expect("an entry can be read").path();
        let text = fs::read_to_string(&path).expect("a script can be read");
        for (index, line) in text.split_terminator('\n').enumerate().skip(1) {
            let location = format!("{}, line {}", path.display(), index + 1);
            let line =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{location}: {error}"));
            for frame in frames(&line) {
                checker.check_frame(&frame).unwrap_or_else(|error| panic!("{location}: {error}"));
                count += 1;
            }
        }
    }
    assert!(count > 500, "only {count} frames");
}
