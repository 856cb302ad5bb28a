//! The layers of `docs/ARCHITECTURE.md`: which crate may depend on which.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use toml::Table;

/// Each crate of the program, with the crates that it may use. A crate that is not listed may use none.
const LAYERS: [(&str, &[&str]); 21] = [
    ("base", &[]),
    ("fanout", &["base"]),
    ("client", &[]),
    ("conformance", &[]),
    ("database", &["base"]),
    ("facts", &[]),
    ("ingest", &["facts"]),
    ("simulator", &["facts"]),
    ("record", &["base", "database", "facts"]),
    ("log", &["base", "fanout"]),
    ("hub", &["base", "database", "facts", "fanout", "ingest", "log", "record"]),
    ("sources", &["base", "client", "database", "facts", "hub", "ingest"]),
    ("history", &["base", "database", "facts", "record"]),
    ("accounts", &["base", "database", "facts"]),
    // The node feeds the hub, fences the archive, and shares the limits of accounts.
    ("cluster", &["accounts", "base", "database", "fanout", "hub", "log"]),
    ("sandbox", &["base"]),
    (
        "demo",
        &[
            "accounts",
            "base",
            "database",
            "facts",
            "fanout",
            "history",
            "hub",
            "ingest",
            "log",
            "record",
            "simulator",
        ],
    ),
    ("mcp", &["accounts", "base", "facts", "fanout", "history", "hub", "log", "record"]),
    ("webhooks", &["base", "database", "fanout", "log"]),
    (
        "web",
        &[
            "accounts", "base", "cluster", "database", "facts", "fanout", "history", "hub", "log",
            "mcp", "record", "webhooks",
        ],
    ),
    ("schema", &["accounts", "facts", "fanout", "hub", "record"]),
];

/// The name of a crate of the workspace in [`LAYERS`]: its folder, without `crates` and `tools`.
fn name(folder: &str) -> &str {
    if folder == "clients/rust" {
        return "client";
    }
    let name = folder.strip_prefix("crates/").or_else(|| folder.strip_prefix("tools/"));
    name.unwrap_or(folder)
}

fn manifest(folder: &str) -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    text.parse().unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// The folders of the crates of the workspace, but for the top one.
pub(crate) fn members() -> BTreeSet<String> {
    let members = manifest("")["workspace"]["members"].clone();
    members.try_into().expect("a list of members")
}

#[test]
fn crate_depends_on_lower_layers_only() {
    for folder in members() {
        let name = name(&folder);
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else { continue };
        let manifest = manifest(&folder);
        let used = manifest["dependencies"].as_table().expect("a table of dependencies");
        let ours =
            used.keys().map(String::as_str).filter(|it| LAYERS.iter().any(|(name, _)| name == it));
        let forbidden: Vec<&str> = ours.filter(|it| !allowed.contains(it)).collect();
        assert!(forbidden.is_empty(), "{name} must not depend on {forbidden:?}");
    }
}

#[test]
fn every_crate_of_the_workspace_has_its_layer() {
    let tools = ["loadtest", "benches/bare", "benches/floor"].map(ToOwned::to_owned);
    let layers = LAYERS.iter().map(|(name, _)| (*name).to_owned()).chain(tools);
    let members = members();
    let names = members.iter().map(|folder| name(folder).to_owned());
    assert_eq!(names.collect::<BTreeSet<_>>(), layers.collect::<BTreeSet<_>>());
}

/// All clients get the same answer about a match, because one layer gives it.
#[test]
fn clients_read_the_archive_through_the_query_layer_only() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = rust_files(&top.join("crates/web/src"));
    sources.retain(|path| path.iter().all(|part| part != "tests" && part != "tests.rs"));
    assert!(sources.len() > 100, "the sources of web are there");
    for path in sources {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(!text.contains("archive::"), "{path:?} must use `history::query`");
    }
}

/// Whether a source names a module of its crate: in a path, or in a list of imports.
fn names(text: &str, module: &str) -> bool {
    let is_in_path =
        ["crate", "super"].iter().any(|top| text.contains(&format!("{top}::{module}")));
    let mut lists = text.split("use crate::{").skip(1).filter_map(|rest| rest.split(';').next());
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    is_in_path || lists.any(|list| list.split(|it: char| !is_word(it)).any(|word| word == module))
}

/// The seams in `web`: REST and the pages use what serves them, which uses neither, and not each other.
#[test]
fn modules_of_web_depend_in_one_direction() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/web/src");
    let seams: [(&str, &[&str]); 4] = [
        ("http", &["rest", "site", "routes"]),
        ("rest", &["site", "routes"]),
        ("site", &["rest", "routes"]),
        ("images", &["http", "rest", "site", "routes"]),
    ];
    for (module, forbidden) in seams {
        let sources = rust_files(&src.join(module));
        assert!(sources.len() > 5, "the sources of {module} are there");
        for path in sources {
            let text =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            for other in forbidden {
                assert!(!names(&text, other), "{path:?} must not use `{other}`");
            }
        }
    }
}

/// The Rust files in a folder, without those of other people.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    let paths = paths.filter(|path| !path.ends_with("target") && !path.ends_with("node_modules"));
    let files = paths.flat_map(|path| match path.is_dir() {
        true => rust_files(&path),
        false => vec![path],
    });
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}
