//! The pages of `docs/` say what the program does: codes, metrics and examples are held against it.

use std::{
    collections::BTreeSet,
    fs, iter,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::layers::members;

const PROTOCOL: &str = include_str!("../../docs/PROTOCOL.md");
const INGEST: &str = include_str!("../../docs/INGEST.md");
const ACCOUNTS: &str = include_str!("../../docs/ACCOUNTS.md");
const PAYMENTS: &str = include_str!("../../docs/PAYMENTS.md");
const WEBHOOKS: &str = include_str!("../../docs/WEBHOOKS.md");
const OPERATING: &str = include_str!("../../docs/OPERATING.md");
const EXAMPLE: &str = include_str!("../../matchwire.toml.example");

const ARCHITECTURE: &str = include_str!("../../docs/ARCHITECTURE.md");

/// The text between two marks, at each occurrence.
fn all_between<'a>(text: &'a str, open: &'a str, close: &'a str) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| rest.split(close).next()).collect()
}

/// `BadCommand` as clients see it: `bad_command`.
fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// A block is one JSON text, or one on each line.
fn texts(block: &str) -> Vec<Value> {
    let whole = serde_json::from_str(block).map(|text| vec![text]);
    whole.unwrap_or_else(|_| {
        let line = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        block.lines().map(line).collect()
    })
}

#[test]
fn examples_form_a_consistent_conversation() {
    let examples: Vec<Value> =
        all_between(PROTOCOL, "```json\n", "\n```").into_iter().flat_map(texts).collect();
    assert!(examples.len() > 20, "only {} examples were found", examples.len());
    for frame in &examples {
        match frame["type"].as_str() {
            Some("update") => {
                let span = frame["seq"].as_u64().unwrap() - frame["prev"].as_u64().unwrap();
                assert_eq!(frame["n"].as_u64().unwrap_or(1), span, "{frame}");
                assert!(frame["patch"].is_object() || frame["events"].is_array(), "{frame}");
            }
            Some("image") => assert!(frame["data"]["life"].is_string(), "{frame}"),
            Some(kind) => assert!(PROTOCOL.contains(&format!("`{kind}`")), "{frame}"),
            // A command, an event, a line of a board.
            None => assert!(frame.is_object(), "{frame}"),
        }
    }
    assert!(!PROTOCOL.contains("mw_"), "a key stands in the page");
}

#[test]
fn every_close_code_is_in_the_table() {
    let source = include_str!("../../fanout/src/close.rs");
    let code = source.split("fn code").nth(1).and_then(|rest| rest.split("\n    }").next());
    let mut codes = all_between(code.expect("the function `code`"), "=> ", ",");
    // Those of the program itself.
    codes.extend(all_between(include_str!("../../crates/web/src/http/close.rs"), "code: ", ","));
    assert!(codes.len() > 8, "the codes were not found: {codes:?}");
    // The last arm echoes the code of the client, which is no literal.
    for code in codes.iter().filter(|code| code.parse::<u16>().is_ok()) {
        assert!(PROTOCOL.contains(&format!("\n| {code} | `")), "close code {code} is missing");
    }
}

#[test]
fn every_error_code_is_in_the_table() {
    let source = include_str!("../../fanout/src/protocol.rs");
    let codes = source.split("pub enum Code {").nth(1).and_then(|rest| rest.split("\n}").next());
    let codes = codes.expect("the enum `Code`").lines().map(str::trim);
    let codes = codes.filter_map(|line| line.strip_suffix(','));
    let codes = codes.filter(|it| it.chars().all(char::is_alphanumeric)).map(snake_case);
    // Those of the program itself.
    let hosts = all_between(include_str!("../../crates/web/src/http/close.rs"), "reason: \"", "\"");
    let codes: Vec<String> = codes.chain(hosts.into_iter().map(str::to_owned)).collect();
    assert!(codes.len() > 6, "the codes were not found: {codes:?}");
    for code in codes {
        assert!(PROTOCOL.contains(&format!("`{code}`")), "error code {code} is missing");
    }
}

#[test]
fn every_metric_is_described_and_every_described_one_is_counted() {
    let described: BTreeSet<_> = include_str!("../../src/telemetry/metrics.txt")
        .lines()
        .map(|line| line.split(' ').nth(1).expect("a name"))
        .collect();
    assert!(described.len() > 10, "the metrics were not found: {described:?}");
    let mut source = String::new();
    for folder in crates() {
        read_all(&folder, &mut source);
    }
    for name in &described {
        assert!(source.contains(&format!("\"{name}\"")), "nothing counts {name}");
    }
    let source: String = source.split_whitespace().collect();
    for counted in ["counter!(\"matchwire_", "gauge!(\"matchwire_", "histogram!(\"matchwire_"] {
        for name in all_between(&source, counted, "\"") {
            let name = format!("matchwire_{name}");
            assert!(described.contains(&*name), "{name} is not in metrics.toml");
        }
    }
}

#[test]
fn every_setting_that_is_named_exists() {
    let sections = [
        "server",
        "tls",
        "acme",
        "database",
        "archive",
        "accounts",
        "mail",
        "payments",
        "products",
        "limits",
        "usage",
        "hub",
        "fanout",
        "demo",
        "bench",
        "feeds",
        "images",
        "ingest",
        "log",
        "oauth",
        "webhooks",
        "mcp",
        "signals",
        "predictions",
        "logging",
        "traces",
        "cluster",
    ];
    for name in [PROTOCOL, OPERATING, INGEST, ACCOUNTS, PAYMENTS, WEBHOOKS]
        .into_iter()
        .flat_map(|page| all_between(page, "`", "`"))
    {
        let Some((section, knob)) = name.split_once('.').filter(|(s, _)| sections.contains(s))
        else {
            continue;
        };
        let knob = knob.split(' ').next().unwrap_or(knob);
        // `limits` of `hello` are something else.
        if ["command_bytes", "channels", "patterns", "from_bytes"].contains(&knob)
            && section == "limits"
        {
            continue;
        }
        // A table of tables has no line of its own.
        if EXAMPLE.contains(&format!("[{section}.{knob}.")) {
            continue;
        }
        let part = EXAMPLE.split(&format!("\n[{section}]\n")).nth(1).expect("the section");
        let part = format!("\n{}", part.split("\n[").next().unwrap_or(part));
        // A table has no default, so it is a comment.
        let lines = [format!("\n{knob} = "), format!("\n#{knob} = {{")];
        assert!(lines.iter().any(|line| part.contains(line)), "{name} is no setting");
    }
}

#[test]
fn every_function_and_file_in_the_architecture_exists() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut source = String::new();
    for folder in crates() {
        read_all(&folder, &mut source);
    }
    for name in all_between(ARCHITECTURE, "`", "`") {
        if let Some((noun, function)) = name.split_once("::")
            && noun.starts_with(|c: char| c.is_ascii_uppercase())
            && function.starts_with(|c: char| c.is_ascii_lowercase())
        {
            let is_there =
                ["(", "<"].iter().any(|it| source.contains(&format!("fn {function}{it}")));
            assert!(is_there, "there is no {name}");
        } else if name.contains('/') && !name.contains(' ') && !name.starts_with('/') {
            assert!(top.join(name).exists(), "there is no {name}");
        }
    }
}

/// The sources of the program and of each crate of the workspace.
fn crates() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = iter::once(String::new()).chain(members());
    folders.map(|folder| top.join(folder).join("src")).collect()
}

fn read_all(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read_all(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push_str(&fs::read_to_string(&path).expect("a source in UTF-8"));
        }
    }
}
