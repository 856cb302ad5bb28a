//! `matchwire log`: inspects, verifies and exports the log of a hub, even while the hub runs.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use base::time_format;
use facts::{
    event::{Batch, Id, Timed},
    line::LineWriter,
};
use fanout::Micros;
use hub::{
    Hub, HubInput,
    recovery::{self, RecoveryError},
    turn::{self, InputsError},
};
use log::{
    LogPosition,
    files::{self, SnapshotError, SnapshotStore},
    record::Record,
};
use record::ids::PublicIds;

use crate::{
    app::{
        films::{self, FilmError},
        log_files,
    },
    cli::log::{LogCommand, LogExportArgs},
    config::Config,
};

type Done = Result<(), LogCommandError>;

/// Why a command on the log failed.
#[derive(Debug, thiserror::Error)]
pub enum LogCommandError {
    #[error(
        "there is no log in {}: name the hub's settings with --config, or its database with --db",
        .0.display()
    )]
    NoLog(PathBuf),
    #[error("the log cannot be read")]
    Log(#[source] io::Error),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Films(#[from] FilmError),
    #[error("the log has no usable snapshot")]
    NoSnapshot,
    #[error("cannot load the state of the oldest snapshot")]
    State(#[from] RecoveryError),
    #[error("verification failed")]
    Verification,
    #[error("the log is damaged: the export ends before the damage")]
    Damaged,
    #[error("the export has gaps")]
    Inputs(#[from] InputsError),
    #[error("cannot write {path}")]
    Export { path: String, source: io::Error },
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// Runs the command, and prints its output.
///
/// # Errors
///
/// If the log cannot be read, if `verify` finds an error, if `export` finds damage, or if the output
/// cannot be written.
pub fn run(command: &LogCommand, config: &Config, out: &mut impl Write) -> Done {
    let folder = log_files::folder(config);
    if !folder.is_dir() {
        return Err(LogCommandError::NoLog(folder));
    }
    match command {
        LogCommand::Status(_) => status(&folder, out),
        LogCommand::Verify(_) => verify(config, &folder, out),
        LogCommand::Export(args) => export(config, &folder, args, out),
    }
}

fn status(folder: &Path, out: &mut impl Write) -> Done {
    let status = files::status(folder).map_err(LogCommandError::Log)?;
    writeln!(out, "folder\t{}", folder.display())?;
    if let Some((number, at)) = status.oldest {
        writeln!(out, "first record\t{number}\t{}", time(at))?;
    }
    if let Some(end) = status.end {
        writeln!(out, "last record\t{}\t{}", end.number, time(end.at))?;
    }
    let ended = if status.clean { "closed cleanly" } else { "open, or not closed cleanly" };
    writeln!(out, "state\t{ended}")?;
    writeln!(out, "records\t{} bytes in {} files", status.bytes, status.segments)?;
    for snapshot in &status.snapshots {
        let LogPosition { number, at, .. } = snapshot.position;
        let bytes = snapshot.file_bytes;
        writeln!(out, "snapshot\tafter record {number}\t{}\t{bytes} bytes", time(at))?;
    }
    if let Some((bytes, matches)) = films::size(folder)? {
        writeln!(out, "films\t{bytes} bytes of {matches} matches")?;
    }
    if status.damaged_bytes > 0 {
        writeln!(out, "damaged\t{} bytes, moved to damaged/", status.damaged_bytes)?;
    }
    if status.aside_bytes > 0 {
        writeln!(out, "set aside\t{} bytes of other logs, in damaged/", status.aside_bytes)?;
    }
    for finding in &status.findings {
        writeln!(out, "finding\t{finding}")?;
    }
    Ok(())
}

fn verify(config: &Config, folder: &Path, out: &mut impl Write) -> Done {
    let mut replay = Replay::begin(config, folder).ok();
    let report = files::verify_each(folder, &mut |record| {
        if let Some(replay) = &mut replay {
            replay.check(&record);
        }
    });
    let report = report.map_err(LogCommandError::Log)?;
    writeln!(out, "records\t{}", report.records)?;
    writeln!(out, "updates\t{}", report.outputs)?;
    writeln!(out, "bytes\t{} on disk, {} before compression", report.bytes, report.raw_bytes)?;
    writeln!(out, "snapshots\t{}", report.snapshots)?;
    for (last, first) in &report.gaps {
        writeln!(out, "number gap\tfrom record {last} to record {first}")?;
    }
    if let Some(damage) = &report.damage {
        let files::Damage { number, segment, offset, problem } = damage;
        writeln!(
            out,
            "damaged\trecord {number}, in segment {segment} at byte {offset}: {problem}"
        )?;
    }
    for finding in &report.findings {
        writeln!(out, "finding\t{finding}")?;
    }
    let mut same = true;
    match &replay {
        Some(Replay { checked, different, problem, .. }) => {
            writeln!(out, "replayed\t{checked} records after the oldest snapshot")?;
            if let Some(number) = different.first() {
                same = false;
                let count = different.len();
                writeln!(out, "mismatches\t{count} records, first at record {number}")?;
            }
            if let Some(problem) = problem {
                same = false;
                writeln!(out, "not replayed\t{problem}")?;
            }
        }
        None => writeln!(out, "not replayed\tthere is no usable snapshot")?,
    }
    if report.is_whole() && same { Ok(()) } else { Err(LogCommandError::Verification) }
}

/// Applies the inputs of the log to the state of its oldest snapshot.
struct Replay {
    hub: Hub,
    /// The last record that is in the state.
    applied: u64,
    checked: u64,
    /// Records whose outputs differ from those that their inputs produce.
    different: Vec<u64>,
    problem: Option<String>,
    snapshots: SnapshotStore,
}

impl Replay {
    fn begin(config: &Config, folder: &Path) -> Result<Self, LogCommandError> {
        let snapshots = snapshots(config)?;
        let (hub, position) = oldest_state(&snapshots, folder)?;
        let (checked, different, problem) = (0, Vec::new(), None);
        Ok(Self { hub, applied: position.number, checked, different, problem, snapshots })
    }

    /// Goes on from the snapshot after a record: the hub began with another state there than the records
    /// before it give.
    fn begin_again(&mut self, number: u64) {
        match state(&self.snapshots, number) {
            Ok((hub, _)) => (self.hub, self.applied) = (hub, number),
            // A node of a cluster that was running went on with its state.
            Err(_) if number == self.applied => {}
            Err(error) => {
                self.problem = Some(format!("the hub began again after record {number}: {error}"));
            }
        }
    }

    fn check(&mut self, record: &Record) {
        if record.number <= self.applied || self.problem.is_some() {
            return;
        }
        let inputs = match turn::inputs(record) {
            Ok(inputs) => inputs,
            Err(error) => {
                self.problem = Some(error.to_string());
                return;
            }
        };
        if matches!(inputs.first(), Some(HubInput::BeginEpochs { .. })) {
            self.begin_again(record.number - 1);
        } else if record.number != self.applied + 1 {
            self.problem = Some(format!("records after {} are missing", self.applied));
        }
        if self.problem.is_some() {
            return;
        }
        self.applied = record.number;
        let mut changes = Vec::new();
        for input in inputs {
            self.hub.take(&input, &mut changes);
        }
        self.checked += 1;
        if turn::outputs(&changes) != record.outputs {
            self.different.push(record.number);
        }
    }
}

/// The hub of the oldest usable snapshot.
fn oldest_state(
    store: &SnapshotStore,
    folder: &Path,
) -> Result<(Hub, LogPosition), LogCommandError> {
    let first = files::status(folder).map_err(LogCommandError::Log)?.oldest;
    let (snapshots, _) = store.list().map_err(LogCommandError::Log)?;
    let covered = |number| first.is_none_or(|(first, _)| number + 1 >= first);
    let oldest = snapshots.iter().rev().find(|it| covered(it.position.number));
    state(store, oldest.ok_or(LogCommandError::NoSnapshot)?.position.number)
}

fn snapshots(config: &Config) -> Result<SnapshotStore, LogCommandError> {
    SnapshotStore::open(&log_files::settings(config)).map_err(LogCommandError::Log)
}

/// The hub of the snapshot after this record.
fn state(store: &SnapshotStore, number: u64) -> Result<(Hub, LogPosition), LogCommandError> {
    let (format, position, state) = store.read(number)?;
    Ok((recovery::load(format, &state, &PublicIds::default())?, position))
}

fn export(config: &Config, folder: &Path, args: &LogExportArgs, out: &mut impl Write) -> Done {
    let (hub, position) = oldest_state(&snapshots(config)?, folder)?;
    let failed = |source| LogCommandError::Export { path: args.to.display().to_string(), source };
    let mut file = BufWriter::new(File::create_new(&args.to).map_err(failed)?);
    let mut lines = LineWriter::default();
    let (mut written, mut result) = (0_u64, Ok(()));
    let mut write = |clock_us: Micros, mut batch: Batch| {
        let wanted = |id: Id| args.match_id.is_none_or(|wanted| wanted == id.0);
        batch.events.retain(|event| wanted(event.match_id));
        if !batch.events.is_empty() && result.is_ok() {
            result = writeln!(file, "{}", lines.timed(&Timed { clock_us, batch }));
            written += 1;
        }
    };
    for batch in hub.facts(position.at) {
        write(position.at, batch);
    }
    let mut unreadable = None;
    let report = files::verify_each(folder, &mut |record| {
        if record.number <= position.number {
            return;
        }
        let inputs = turn::inputs(&record).unwrap_or_else(|error| {
            unreadable.get_or_insert(error);
            Vec::new()
        });
        for input in inputs {
            if let HubInput::Batch { batch, received, .. } = input {
                write(received, batch);
            }
        }
    });
    let report = report.map_err(LogCommandError::Log)?;
    result.and_then(|()| file.flush()).map_err(failed)?;
    writeln!(out, "{written} messages in {}", args.to.display())?;
    if let Some(error) = unreadable {
        return Err(error.into());
    }
    if report.damage.is_some() { Err(LogCommandError::Damaged) } else { Ok(()) }
}

fn time(at: Micros) -> String {
    time_format::zulu(at).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::log::LogArgs;

    #[test]
    fn command_without_a_log_says_which_options_name_one() {
        let folder = tempfile::tempdir().expect("a temporary folder").path().join("log");
        let mut config = Config::default();
        config.log.folder = folder.clone();
        let command = LogCommand::Verify(LogArgs { config: None, db: None });
        let error = run(&command, &config, &mut Vec::new()).expect_err("there is no log");
        let error = error.to_string();
        let named = [folder.to_str().expect("it is ASCII"), "--config", "--db"];
        assert!(named.iter().all(|name| error.contains(name)), "{error}");
        assert!(!folder.exists(), "nothing was made");
    }
}
