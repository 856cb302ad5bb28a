//! The command line. It is fixed, because scripts of others drive it; it decides nothing.
//!
//! Exit codes: 0 stopped as asked, 1 failed, 2 wrong usage, which clap answers itself.

pub mod accounts;
pub mod feeds;
pub mod operator;
pub mod orders;

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use clap::{Args, Parser, Subcommand};
use ingest::event::Sport;

use self::operator::OperatorCommand;
use crate::{
    accounts::{Accounts, Addon},
    config::{DemoSpeed, Flags},
    database::DatabaseName,
    table::Format,
};

/// A WebSocket-first realtime streaming hub for sports data.
///
/// Without a command it serves.
#[derive(Debug, Clone, PartialEq, Parser)]
#[command(name = "matchwire", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

impl Cli {
    /// The command; `serve` if none is given.
    #[must_use]
    pub fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Serve(self.serve))
    }
}

#[derive(Debug, Clone, PartialEq, Subcommand)]
pub enum Command {
    /// Run the hub on its feeds, on the demo's day, or on a steady load.
    Serve(ServeArgs),
    /// Run the hub with recordings as its only sources.
    Replay(ReplayArgs),
    /// Write down what a live source sends, in a form that `replay` takes.
    Record(RecordArgs),
    /// Keep what recordings and tables of results tell, without running the hub.
    ///
    /// Every format that `replay` knows is read, at full speed. Again changes nothing, and a hub may
    /// run on the same database meanwhile.
    Import(ImportArgs),
    /// Make, list and revoke keys.
    #[command(subcommand)]
    Key(KeyCommand),
    #[command(flatten)]
    Operator(OperatorCommand),
    /// List matches of several providers that are the same, and correct them where the hub is
    /// unsure.
    #[command(subcommand)]
    Matches(MatchesCommand),
    /// Keys of sources that push, and what could not be used.
    #[command(subcommand)]
    Feeds(feeds::FeedsCommand),
    /// Copy the database into a new file, also while the hub runs.
    ///
    /// The copy is what was committed at one moment. SQLite: a database, to be put in the place of the
    /// other while no hub runs. PostgreSQL: an archive for `pg_restore`, made by `pg_dump`.
    Backup(BackupArgs),
    /// Print the demo's day, or how it will have ended.
    Simulate(SimulateArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub hub: HubArgs,
    /// How many times as fast as real matches the demo plays: 0.1 to 100 [default: 1].
    #[arg(long, value_name = "N")]
    pub demo_speed: Option<DemoSpeed>,
    /// Play a steady load instead of the demo, for measurements: this many changes per second in
    /// total.
    #[arg(long, value_name = "N")]
    pub bench_rate: Option<u32>,
    /// How many channels the load changes in turn [default: 20].
    #[arg(long, value_name = "M")]
    pub bench_channels: Option<u32>,
    /// Open the measuring door on this port of 127.0.0.1: bare channels, without a key.
    #[arg(long, value_name = "PORT")]
    pub bench_port: Option<u16>,
}

impl ServeArgs {
    /// The settings among the arguments.
    #[must_use]
    pub fn flags(&self) -> Flags {
        let &Self { ref hub, demo_speed, bench_rate, bench_channels, bench_port } = self;
        Flags { demo_speed, bench_rate, bench_channels, bench_port, ..hub.flags() }
    }
}

/// Options of every command that runs the hub.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct HubArgs {
    /// The config file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address and port; port 0 takes a free one [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// The database, a file or a URL of PostgreSQL's [default: matchwire.db].
    #[arg(long, value_name = "FILE|URL")]
    pub db: Option<DatabaseName>,
    /// The chain of certificates, PEM: the hub speaks TLS then.
    #[arg(long, value_name = "FILE")]
    pub tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, PEM.
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
}

impl HubArgs {
    fn flags(&self) -> Flags {
        let Self { config: _, listen, db, tls_certificate, tls_key } = self.clone();
        Flags { listen, db, tls_certificate, tls_key, ..Flags::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Args)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub hub: HubArgs,
    /// How many times as fast as it was recorded, or `max` for without pause.
    #[arg(long, value_name = "N|max", default_value = "1")]
    pub speed: Speed,
    /// Begin again at the end.
    #[arg(long = "loop")]
    pub repeat: bool,
    /// Begin shortly after the first subscription: there may be more of them.
    #[arg(long)]
    pub hold: bool,
    /// The recordings; their format is recognised.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

impl ReplayArgs {
    /// The settings among the arguments. The recordings are the only sources, so there is no demo
    /// and no steady load.
    #[must_use]
    pub fn flags(&self) -> Flags {
        Flags { demo: Some(false), bench_rate: Some(0), ..self.hub.flags() }
    }
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
    /// The database, a file or a URL of PostgreSQL's [default: matchwire.db].
    #[arg(long, value_name = "FILE|URL")]
    pub db: Option<DatabaseName>,
    /// The recordings and tables; their format is recognised.
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

/// How fast a recording is played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// This many times the recorded speed; positive and finite.
    Times(f64),
    /// Without any pause.
    Max,
}

/// The speed is neither a positive decimal number nor `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a positive decimal number or `max`")]
pub struct WrongSpeed;

impl FromStr for Speed {
    type Err = WrongSpeed;

    fn from_str(text: &str) -> Result<Self, WrongSpeed> {
        if text == "max" {
            return Ok(Self::Max);
        }
        // Rust reads `inf`, `1e3` and `+1` as numbers too; those are not decimal.
        let decimal = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let times = text.parse::<f64>().map_err(|_| WrongSpeed)?;
        let usable = decimal && times.is_finite() && times > 0.0;
        usable.then_some(Self::Times(times)).ok_or(WrongSpeed)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum KeyCommand {
    /// Make a key and print it, alone; it is shown only now.
    Create(KeyCreateArgs),
    /// List all keys by their public part.
    List(KeyListArgs),
    /// End a key at once, on open sockets too.
    Revoke(KeyRevokeArgs),
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct KeyCreateArgs {
    /// The database, created when missing.
    #[arg(long, value_name = "FILE|URL")]
    pub db: DatabaseName,
    /// The account's address; without one the key gets a new account.
    #[arg(long, value_name = "ADDRESS", value_parser = email)]
    pub email: Option<String>,
    /// An add-on to give to the account; may be repeated.
    #[arg(long = "addon", value_name = "websocket|sports|odds")]
    pub addons: Vec<Addon>,
    /// Days of each add-on, added to what is left.
    #[arg(
        long,
        default_value = "30",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Accounts::DAYS_MAX))
    )]
    pub days: u32,
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
    /// List what was found to be one match, and the orders that were not followed yet or refused.
    ///
    /// A line for each match of a provider that goes by another id than its own, separated by tabs:
    /// the id of the match, PROVIDER/KEY, its sides, start and competition, `swapped` if it has the
    /// sides in the other order, who found it (rule or operator), and the PROVIDER/KEY of what it
    /// was found to be. Then, if there are such orders, a line for each: its number, its kind (join
    /// or split), PROVIDER/KEY, the id it takes, `swapped`, and its state (waits, or refused: why).
    /// Both parts begin with a line of column heads.
    List(MatchesArgs),
    /// List pairs that may be the same match, the likeliest first.
    ///
    /// A line of column heads, then a line for each pair, separated by tabs: how likely it is (0 to
    /// 1), why it is not sure, `swapped` if they have the sides in different order, then of each of
    /// the two PROVIDER/KEY, sides, start and competition.
    Doubtful(MatchesArgs),
    /// Say that two matches are one: the first takes the id of the second.
    ///
    /// All that was found to be the first one goes with it. A running hub follows within a second,
    /// others when they start; `list` shows what was refused.
    Join(MatchesJoinArgs),
    /// Say that a match is one of its own.
    ///
    /// It gets its own id back, and is never found to be the same again as what it was joined with.
    /// If it was joined with nothing, none of its doubts is true. A running hub follows within a
    /// second, others when they start.
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
    /// The two have the sides in different order. What `doubtful` shows as swapped is so anyway.
    #[arg(long)]
    pub swapped: bool,
    /// The match that takes another id: PROVIDER/KEY, or its own id if `list` or `doubtful` show it.
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
    /// Its key of the match, as shown behind the slash.
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
    /// Which day.
    #[arg(long)]
    pub seed: u64,
    /// Print the correct outcome instead of the day.
    #[arg(long)]
    pub truth: bool,
    /// Print a recording that `replay` takes, in the format `matchwire-events`.
    #[arg(long, conflicts_with = "truth")]
    pub events: bool,
    /// Of this sport alone, named as in channels.
    #[arg(long, requires = "events", value_parser = sport)]
    pub sport: Option<Sport>,
    /// The first N matches.
    #[arg(long, requires = "events", value_name = "N")]
    pub matches: Option<usize>,
    /// The odds of the first N bookmakers.
    #[arg(long, requires = "events", value_name = "N")]
    pub bookmakers: Option<usize>,
}

/// How a list is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct OutputArgs {
    /// One JSON object a line.
    #[arg(long)]
    pub json: bool,
}

impl OutputArgs {
    pub(crate) fn format(self) -> Format {
        if self.json { Format::JsonLines } else { Format::Text }
    }
}

fn sport(name: &str) -> Result<Sport, &'static str> {
    let found = Sport::ALL.into_iter().find(|sport| sport.as_str() == name);
    found.ok_or("expected a sport as in the names of channels, such as football")
}

/// An address is stored as it is given; this finds what can be none. Whether it is somebody's, only
/// a mail can tell.
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
