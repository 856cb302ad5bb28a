//! Words that no function, field, variable or parameter has as its name, because the field has a better one: `summary` and not
//! `brief`, `entry` and not `known`, `index` or `position` and not `place`, `changed` and not `news`, `new` and not `of`.

use std::{collections::BTreeSet, fs, path::Path};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::layers::{members, rust_files};

const BANNED: [&str; 7] = ["brief", "it", "known", "news", "of", "own", "place"];

/// Names that a public format or a crate below determines.
const EXCEPTIONS: [(&str, &[&str]); 1] = [("crates/hub/src/wire/", &["of"])];

/// The banned names among these tokens. What follows a dot or a path was named elsewhere. `it` is only the parameter of a
/// closure that is one expression.
fn banned(tokens: TokenStream) -> BTreeSet<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_mark =
        |at: usize, mark| matches!(&tokens[at], TokenTree::Punct(punct) if punct.as_char() == mark);
    let mut found = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1);
        match token {
            TokenTree::Group(group) => {
                found.extend(banned(group.stream()));
                if group.delimiter() == Delimiter::Brace
                    && before.is_some_and(|at| is_mark(at, '|'))
                {
                    let parameters = tokens[..at - 1].iter().rev().map(ToString::to_string);
                    let mut parameters = parameters.take_while(|text| text != "|");
                    let is_it = |text: String| {
                        text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "it")
                    };
                    found.extend(parameters.any(is_it).then(|| "it".to_owned()));
                }
            }
            TokenTree::Ident(name) => {
                let is_use = before.is_some_and(|at| {
                    is_mark(at, '.') || at > 0 && is_mark(at, ':') && is_mark(at - 1, ':')
                });
                let is_declared = || {
                    let mut words = tokens[..at].iter().rev().map(ToString::to_string);
                    let word = words.find(|word| word != "mut").unwrap_or_default();
                    ["fn", "for", "let"].contains(&&*word)
                };
                let name = name.to_string();
                let is_banned =
                    if name == "it" { is_declared() } else { BANNED.contains(&&*name) && !is_use };
                found.extend(is_banned.then_some(name));
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    found
}

/// The banned names of each file of a folder.
fn offenders(folder: &str) -> Vec<(String, String)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = rust_files(&top.join(folder));
    assert!(!files.is_empty(), "the sources of {folder} are there");
    let names = files.into_iter().flat_map(|path| {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let tokens = text.parse().unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let path = path.strip_prefix(top).expect("it is in the workspace").display().to_string();
        banned(tokens).into_iter().map(move |name| (path.clone(), name))
    });
    names.collect()
}

#[test]
fn no_name_is_a_banned_word() {
    let others = ["benches", "tools/fuzz", "src", "tests"].map(ToOwned::to_owned);
    let folders = members().into_iter().chain(others);
    let mut offenders: BTreeSet<_> = folders.flat_map(|folder| offenders(&folder)).collect();
    for (begin, names) in EXCEPTIONS {
        let count = offenders.len();
        offenders.retain(|(path, name)| !(path.starts_with(begin) && names.contains(&&**name)));
        assert!(offenders.len() < count, "{begin} can be taken from its list");
    }
    assert!(offenders.is_empty(), "rename these: {offenders:#?}");
}

#[test]
fn banned_names_are_found() {
    let check = |source: &str, expected: &[&str]| {
        let found = banned(source.parse().expect("tokens"));
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{source}");
    };
    check("fn of(own: u8) { own }", &["of", "own"]);
    check("let known = map.get(&of.place);", &["known", "of"]);
    check("list.map(|it| it.own).for_each(X::of)", &[]);
    check("list.map(|(at, it): (u8, &X)| { it })", &["it"]);
    check("for it in list { \"own\"; } // of", &["it"]);
}
