//! Reads the settings of the file and of the environment as one table.

use std::{ffi::OsString, fs, path::Path};

use toml::{Table, Value};

use super::{Config, ConfigError, OTHER_VARIABLES, VARIABLE_PREFIX};

/// Parses the file twice: as settings, for errors that point at a line, and as a table, over which
/// the environment is merged.
pub(super) fn read_file(path: &Path) -> Result<Table, ConfigError> {
    let text = fs::read_to_string(path)
        .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
    let read = || {
        toml::from_str::<Config>(&text)?;
        toml::from_str(&text)
    };
    read().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count();
        ConfigError::WrongFile {
            path: path.to_owned(),
            line: line + 1,
            key: text.lines().nth(line).and_then(key_of).map(ToOwned::to_owned),
            message: error.message().to_owned(),
        }
    })
}

/// The key of a line of a settings file, if it has one.
fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim();
    let is_of_a_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (!key.is_empty() && key.bytes().all(is_of_a_key)).then_some(key)
}

pub(super) fn overlay(
    settings: &mut Table,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(), ConfigError> {
    let defaults = default_table();
    for (name, value) in environment {
        let ours =
            |name: &&str| name.starts_with(VARIABLE_PREFIX) && !OTHER_VARIABLES.contains(name);
        let Some(name) = name.to_str().filter(ours) else {
            continue;
        };
        let (section, knob, default) = knob(&defaults, name)
            .ok_or_else(|| ConfigError::UnknownVariable { name: name.to_owned() })?;
        let value = value_like(default, &value)
            .map_err(|expected| ConfigError::WrongVariable { name: name.to_owned(), expected })?;
        let section = settings.entry(section).or_insert_with(|| Value::Table(Table::new()));
        if let Some(section) = section.as_table_mut() {
            section.insert(knob, value);
        }
    }
    Ok(())
}

/// The section, the setting and the default value that a variable's name refers to.
fn knob<'a>(defaults: &'a Table, variable: &str) -> Option<(String, String, &'a Value)> {
    let path = variable.strip_prefix(VARIABLE_PREFIX)?;
    // Only upper case is accepted: otherwise two variables could mean the same setting.
    if path.contains(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    let (section, knob) = path.split_once('_')?;
    let (section, knob) = (section.to_ascii_lowercase(), knob.to_ascii_lowercase());
    let default = defaults.get(&section)?.get(&knob)?;
    Some((section, knob, default))
}

/// Parses the text as a value of the default's type. The error is the type that was expected.
fn value_like(default: &Value, text: &OsString) -> Result<Value, &'static str> {
    let text = text.to_str().ok_or("text in UTF-8")?;
    match default {
        Value::Integer(_) => text.parse().map(Value::Integer).map_err(|_| "a whole number"),
        Value::Float(_) => text.parse().map(Value::Float).map_err(|_| "a number"),
        Value::Boolean(_) => text.parse().map(Value::Boolean).map_err(|_| "true or false"),
        _ => Ok(Value::String(text.to_owned())),
    }
}

pub(super) fn default_table() -> Table {
    Table::try_from(Config::default()).expect("every setting has a form in TOML")
}
