//! The command line. Scripts depend on it, so it is stable. It parses arguments and decides
//! nothing.
//!
//! Exit codes: 0 stopped on request, 1 failed, 2 wrong usage, which clap reports itself.

pub mod accounts;
pub mod cluster;
pub mod feeds;
pub mod log;
pub mod operator;
pub mod orders;
pub mod running;

use std::{ffi::OsString, net::SocketAddr, path::PathBuf, sync::LazyLock};

use base::config::SecretRef;
use clap::{Args, Parser, Subcommand, builder::PossibleValuesParser};
use facts::event::Sport;

use self::{
    operator::OperatorCommand,
    running::{ConnectionsCommand, RunningHubArgs},
};
use hub::sources::Speed;

use crate::{
    config::{DemoSpeed, Flags},
    features,
    table::Format,
};
use ::accounts::{Accounts, Addon, Scope};
use database::DatabaseName;

/// A WebSocket-first realtime streaming hub for sports data.
///
/// Without a command it serves.
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(name = "matchwire", version, long_version = LONG_VERSION.as_str(), args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

/// The version and the Cargo features of the build, for `--version`; `-V` prints the version alone.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    format!("{version}\nfeatures: {}\nnot built: {}", features::list(true), features::list(false))
});

impl Cli {
    /// The command; `serve` if none is given.
    #[must_use]
    pub fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Serve(self.serve))
    }
}

#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// Run the hub on its feeds, on the demo, or on a steady load.
    Serve(ServeArgs),
    /// Run the hub with recordings as its only sources.
    Replay(ReplayArgs),
    /// Succeed if the hub of these options and settings is ready.
    ///
    /// For health checks: requests `/readyz` at the address that the hub listens on. Exits with 1 if there is no answer
    /// or another one, and says which.
    Probe(ProbeArgs),
    /// Check a settings file, and everything that it names, without a start.
    ///
    /// Prints each problem with the name of its setting: values, secrets, certificates and their expiry, sources, the address,
    /// folders, and features that the build lacks. Exits with 2 if there is one. Other servers are not asked, and nothing is
    /// changed.
    Check(HubArgs),
    /// Let the hub that runs on this machine read its settings again, and wait until it has.
    ///
    /// Prints the settings that have changed. Exits with 1, and prints the reason, if the hub has refused, and with 2 if the
    /// file cannot be read.
    Reload(RunningHubArgs),
    /// List and close connections of clients to the hub that runs on this machine.
    #[command(subcommand)]
    Connections(ConnectionsCommand),
    /// Record the messages of a live source in a format that `replay` reads.
    Record(RecordArgs),
    /// Import recordings and tables of results into the archive, without running the hub.
    ///
    /// Reads every format that `replay` reads, at full speed. Importing a file twice changes
    /// nothing, and a hub may use the same database at the same time.
    Import(ImportArgs),
    /// Create, list and revoke API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    #[command(flatten)]
    Operator(OperatorCommand),
    /// List matches that several providers share, and correct the hub's matching.
    #[command(subcommand)]
    Matches(MatchesCommand),
    /// Manage keys of sources that push, and inspect refused messages.
    #[command(subcommand)]
    Feeds(feeds::FeedsCommand),
    /// Inspect, verify and export the hub's log.
    #[command(subcommand)]
    Log(log::LogCommand),
    /// Set up and inspect a cluster of hubs.
    #[command(subcommand)]
    Cluster(cluster::ClusterCommand),
    /// Copy the database to a new file, also while the hub runs.
    ///
    /// The copy is a consistent snapshot. SQLite: a database file that can replace the original
    /// while no hub runs. PostgreSQL: an archive for `pg_restore`, made by `pg_dump`.
    Backup(BackupArgs),
    /// Print the demo's day, or its final results.
    Simulate(SimulateArgs),
    /// Connect a host that starts MCP servers as local programs to an MCP server of a hub.
    ///
    /// Forwards the messages on standard input, one per line, and prints the answers. Ends when the
    /// input ends and all requests are answered.
    Mcp(McpArgs),
    /// Grade a client of the stream protocol.
    ///
    /// Plays every hard case over a real WebSocket to the client, and compares its documents and events at the end. The client is a
    /// program that is started for each case, as docs/CONFORMANCE.md says, or one that is started by hand. Exits with 1 if a case
    /// failed.
    Conformance(ConformanceArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ConformanceArgs {
    /// Play only this case; repeatable.
    #[arg(long, value_name = "NAME")]
    pub case: Vec<String>,
    /// List the cases.
    #[arg(long)]
    pub list: bool,
    /// Print the result as one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Address and port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// How long the client may take for each step, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub patience_s: u64,
    /// The client and its arguments, after `--`. Without it, the client is started by hand.
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub hub: HubArgs,
    /// Speed of the demo relative to real matches: 0.1 to 100 [default: 1].
    #[arg(long, value_name = "N")]
    pub demo_speed: Option<DemoSpeed>,
    /// Run a steady load instead of the demo, with this many changes per second in total.
    #[arg(long, value_name = "N")]
    pub bench_rate: Option<u32>,
    /// How many channels the steady load changes in turn [default: 20].
    #[arg(long, value_name = "M")]
    pub bench_channels: Option<u32>,
}

impl ServeArgs {
    /// The settings among the arguments.
    #[must_use]
    pub fn flags(&self) -> Flags {
        let &Self { ref hub, demo_speed, bench_rate, bench_channels } = self;
        Flags { demo_speed, bench_rate, bench_channels, ..hub.flags() }
    }
}

/// Options of every command that runs a hub, or looks at one that runs.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct HubArgs {
    /// The config file [default: the one that MATCHWIRE_CONFIG names].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address and port; port 0 takes a free one [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// The database: a file or a PostgreSQL URL [default: matchwire.db].
    #[arg(long, value_name = "FILE|URL")]
    pub db: Option<DatabaseName>,
    /// The certificate chain, PEM; enables TLS.
    #[arg(long, value_name = "FILE")]
    pub tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, PEM.
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
}

impl HubArgs {
    /// The settings among the options.
    #[must_use]
    pub fn flags(&self) -> Flags {
        let Self { config: _, listen, db, tls_certificate, tls_key } = self.clone();
        Flags { listen, db, tls_certificate, tls_key, ..Flags::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Args)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub hub: HubArgs,
    /// Speed relative to the recording, or `max` for no pauses.
    #[arg(long, value_name = "N|max", default_value = "1")]
    pub speed: Speed,
    /// Start again at the end.
    #[arg(long = "loop")]
    pub repeat: bool,
    /// Wait for the first subscription, and start shortly after it, so that others can join.
    #[arg(long)]
    pub hold: bool,
    /// The recordings; their format is detected.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

impl ReplayArgs {
    /// The settings among the arguments. The recordings are the only sources, so neither the demo
    /// nor the steady load runs.
    #[must_use]
    pub fn flags(&self) -> Flags {
        let flags = self.hub.flags();
        Flags { demo: Some(false), bench_rate: Some(0), plays_recordings: true, ..flags }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ProbeArgs {
    #[command(flatten)]
    pub hub: HubArgs,
    /// How long the hub may take to answer, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "3",
        value_parser = clap::value_parser!(u64).range(1..=60)
    )]
    pub timeout: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RecordArgs {
    /// The source's name in the config file.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// The file to write; it must not exist.
    #[arg(long, value_name = "FILE.zst")]
    pub to: PathBuf,
    /// The config file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ImportArgs {
    /// The config file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The database: a file or a PostgreSQL URL [default: matchwire.db].
    #[arg(long, value_name = "FILE|URL")]
    pub db: Option<DatabaseName>,
    /// The recordings and tables; their format is detected.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

impl ImportArgs {
    /// The settings among the arguments.
    #[must_use]
    pub fn flags(&self) -> Flags {
        Flags { db: self.db.clone(), ..Flags::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum KeyCommand {
    /// Create a key and print only the key; it is shown only once.
    Create(KeyCreateArgs),
    /// List all keys by their public part.
    List(KeyListArgs),
    /// Revoke a key at once, on open sockets too.
    Revoke(KeyRevokeArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct KeyCreateArgs {
    /// The database, created if missing.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The account's address; without one, a new account is created for the key.
    #[arg(long, value_name = "ADDRESS", value_parser = email)]
    pub email: Option<String>,
    /// An add-on to grant to the account; may be repeated.
    #[arg(long = "addon", value_name = "websocket|sports|odds")]
    pub addons: Vec<Addon>,
    /// Days of each add-on, added to what is left.
    #[arg(
        long,
        default_value = "30",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Accounts::DAYS_MAX))
    )]
    pub days: u32,
    #[command(flatten)]
    pub named: NamedKeyArgs,
}

/// A named key, and what limits it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct NamedKeyArgs {
    /// Make it a named key, next to the account's main key, with limits of its own.
    #[arg(long, value_name = "NAME", requires = "email", requires = "scopes")]
    pub name: Option<String>,
    /// A scope of a named key; may be repeated.
    #[arg(long = "scope", value_name = "football|sports|odds|stream|account", requires = "name")]
    pub scopes: Vec<Scope>,
    /// An address or network from which a named key works; may be repeated. Without one, it works from
    /// everywhere.
    #[arg(long = "from", value_name = "ADDRESS|NETWORK", requires = "name")]
    pub networks: Vec<String>,
    /// Days after which a named key ends.
    #[arg(
        long,
        requires = "name",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Accounts::DAYS_MAX))
    )]
    pub ends_after_days: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct KeyListArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct KeyRevokeArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The key, or its public part as `key list` shows it.
    #[arg(value_name = "KEY_OR_PREFIX")]
    pub key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum MatchesCommand {
    /// List matches that were linked across providers, and pending or refused corrections.
    ///
    /// Prints one line per match of a provider that has another id than its own, separated by tabs:
    /// the id of the match, PROVIDER/KEY, its sides, start and competition, `swapped` if its sides
    /// are in the other order, who linked it (rule or operator), and the PROVIDER/KEY of the match
    /// it is linked to. If there are corrections, one line for each follows: its number, its kind
    /// (join or split), PROVIDER/KEY, the id it takes, `swapped`, and its state (waits, or refused:
    /// why). Both parts begin with a header line.
    List(MatchesArgs),
    /// List pairs that may be the same match, the most likely first.
    ///
    /// Prints a header line, then one line per pair, separated by tabs: the probability (0 to 1),
    /// the reason for doubt, `swapped` if their sides are in different order, then PROVIDER/KEY,
    /// sides, start and competition of each of the two.
    Doubtful(MatchesArgs),
    /// Declare two matches the same: the first takes the id of the second.
    ///
    /// Matches that are linked to the first move with it. A running hub applies this within a
    /// second, a stopped one when it starts; `list` shows refused corrections.
    Join(MatchesJoinArgs),
    /// Declare a match separate.
    ///
    /// The match gets its own id back, and is never linked again to the matches it was joined with.
    /// If it was not joined, all its doubtful pairs are rejected. A running hub applies this within
    /// a second, a stopped one when it starts.
    Split(MatchesSplitArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct MatchesArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct MatchesJoinArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The two have their sides in different order. Not needed for pairs that `doubtful` shows as
    /// swapped.
    #[arg(long)]
    pub swapped: bool,
    /// The match that takes another id: PROVIDER/KEY, or its own id if `list` or `doubtful` shows
    /// it.
    #[arg(value_name = "A")]
    pub one: String,
    /// The match whose id it takes: PROVIDER/KEY, or the id.
    #[arg(value_name = "B")]
    pub other: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct MatchesSplitArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The provider, as shown before the slash.
    #[arg(value_name = "PROVIDER")]
    pub provider: String,
    /// Its key of the match, as shown after the slash.
    #[arg(value_name = "KEY")]
    pub key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct BackupArgs {
    /// The database.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The file to write; it must not exist.
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SimulateArgs {
    /// The seed of the day.
    #[arg(long)]
    pub seed: u64,
    /// Print the expected results instead of the day.
    #[arg(long)]
    pub truth: bool,
    /// Print a recording for `replay`, in the format `matchwire-events`.
    #[arg(long, conflicts_with = "truth")]
    pub events: bool,
    /// Only this sport, named as in channels.
    #[arg(long, requires = "events", value_parser = sport)]
    pub sport: Option<Sport>,
    /// Only the first N matches.
    #[arg(long, requires = "events", value_name = "N")]
    pub matches: Option<usize>,
    /// Only the odds of the first N bookmakers.
    #[arg(long, requires = "events", value_name = "N")]
    pub bookmakers: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct McpArgs {
    /// The URL of the hub, or of one of its MCP servers.
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// The API key: `env:NAME` reads it from a variable, `file:PATH` from a file.
    #[arg(long, value_name = "env:NAME|file:PATH", default_value = "env:MATCHWIRE_KEY")]
    pub key: SecretRef,
    /// The server of this sport, named as in paths [default: football].
    #[arg(long, value_name = "SPORT", value_parser = mcp_sports())]
    pub sport: Option<String>,
    /// Seconds without a sign of the server before a request fails.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "120",
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub timeout: u64,
}

/// The sports that have an MCP server.
fn mcp_sports() -> PossibleValuesParser {
    let sports = Sport::ALL.into_iter().filter(|sport| sport.profile().is_product);
    PossibleValuesParser::new(sports.map(Sport::as_str))
}

/// The output format of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct OutputArgs {
    /// Print one JSON object per line.
    #[arg(long)]
    pub json: bool,
}

impl OutputArgs {
    /// The format that they select.
    #[must_use]
    pub fn format(self) -> Format {
        if self.json { Format::JsonLines } else { Format::Text }
    }
}

fn sport(name: &str) -> Result<Sport, &'static str> {
    Sport::from_word(name).ok_or("expected a sport as in the names of channels, such as football")
}

/// Rejects text that cannot be an address. The address is stored as given; only a mail can show
/// whether it exists.
fn email(text: &str) -> Result<String, &'static str> {
    const LENGTH_MAX: usize = 254;
    let printable = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    let (name, host) = text.split_once('@').ok_or("expected name@host")?;
    let whole = !name.is_empty() && !host.is_empty() && !host.contains('@');
    let usable = printable && whole && text.len() <= LENGTH_MAX;
    usable.then(|| text.to_owned()).ok_or("expected name@host")
}

#[cfg(test)]
mod tests;
