//! `matchwire feeds`: the keys of sources that push, and the refused messages of all sources.

use clap::{Args, Subcommand};

use super::OutputArgs;
use database::DatabaseName;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum FeedsCommand {
    /// Create, list and revoke the keys of sources that push.
    #[command(subcommand)]
    Key(FeedKeyCommand),
    /// Print when the state of each source changed, and why; the newest first.
    History(FeedHistoryArgs),
    /// Inspect refused messages of feeds, and retry them.
    #[command(subcommand)]
    Quarantine(QuarantineCommand),
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum FeedKeyCommand {
    /// Create a key for a source and print only the key; it is shown only once.
    Create(FeedKeyCreateArgs),
    /// List the keys of sources by their public part.
    List(FeedKeyListArgs),
    /// Revoke the keys of a source.
    Revoke(FeedKeyRevokeArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct FeedKeyCreateArgs {
    /// The database, created if missing.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// Allow lines about matches under other providers' keys, not only under the source's own.
    #[arg(long)]
    pub all_matches: bool,
    /// The deadline of pushes that state none, in milliseconds: 1000 to 86400000.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(i64).range(1_000..=86_400_000))]
    pub deadline_ms: Option<i64>,
    /// The name of the source: letters, digits, `-`, `_`, `.`, `:`.
    #[arg(value_name = "SOURCE", value_parser = source)]
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct FeedKeyListArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// Only the keys of this source.
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct FeedKeyRevokeArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The source whose keys are revoked.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Only this key, given in full or by its public part.
    #[arg(long, value_name = "KEY_OR_PREFIX")]
    pub key: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct FeedHistoryArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// Only the changes of this source.
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum QuarantineCommand {
    /// Print a table of the refused messages.
    List(QuarantineListArgs),
    /// Print the refused messages as JSON lines, with their contents.
    Export(QuarantineArgs),
    /// Parse each message again with this build, and show which are usable now.
    Retry(RetryArgs),
}

/// A selection of refused messages.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct QuarantineArgs {
    /// The database next to the quarantine.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// Only those of this source.
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,
    /// Only those refused for this kind of reason: `syntax`, `value`, `unknown`.
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct QuarantineListArgs {
    #[command(flatten)]
    pub which: QuarantineArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RetryArgs {
    #[command(flatten)]
    pub which: QuarantineArgs,
    /// Push usable messages to the hub at this address, and drop those that it accepts.
    #[arg(long, value_name = "URL", requires = "key")]
    pub push: Option<String>,
    /// The feed key for `--push`; `-` reads it from the standard input.
    #[arg(long, value_name = "KEY", requires = "push")]
    pub key: Option<String>,
}

/// The name of a source appears in URLs, in channels' data and in metrics.
fn source(text: &str) -> Result<String, &'static str> {
    const LENGTH_MAX: usize = 100;
    let of_a_name = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
    let usable = !text.is_empty() && text.len() <= LENGTH_MAX && text.bytes().all(of_a_name);
    // A path of dots is another path.
    let usable = usable && text.bytes().any(|b| b.is_ascii_alphanumeric());
    usable.then(|| text.to_owned()).ok_or("expected 1 to 100 letters, digits, `-`, `_`, `.`, `:`")
}

#[cfg(test)]
mod tests {
    use super::source;

    #[test]
    fn source_name_fits_a_url() {
        for name in ["acme", "betfair-stream:tennis-1.2", "A_1"] {
            assert_eq!(source(name).as_deref(), Ok(name));
        }
        for name in ["", ".", "..", "a/b", "a b", "a?b", "caf\u{e9}", &"x".repeat(101)] {
            assert!(source(name).is_err(), "{name}");
        }
    }
}
