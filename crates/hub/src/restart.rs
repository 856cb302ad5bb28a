//! Opens the log and restores the hub from it.

use std::{fs, io, path::Path};

use base::clock::{self, monotonic, now};
use fanout::{Epoch, Micros};
use log::{
    AppendError, Log, LogPosition, RecordNumber,
    files::{Continuity, FileLog, LogSettings, OpenError, OpenReport, SnapshotStore},
    memory::MemoryLog,
};
use record::ids::PublicIds;
use tracing::{info, warn};

use crate::{
    hub::{Epochs, Hub, HubInput, HubSettings},
    pipeline::Startup,
    recovery::{self, Restored, SavedState},
    signals::SignalSettings,
    tails::{Tails, UPDATES_MAX},
};

/// Bytes of records that a log in memory keeps, for the follower.
const MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// Why the log cannot be opened, or the hub cannot begin with it.
#[derive(Debug, thiserror::Error)]
pub enum RestartError {
    #[error("the log cannot be opened")]
    Open(#[from] OpenError),
    #[error("the log cannot be written")]
    Append(#[from] AppendError),
    #[error("a snapshot of the state cannot be written")]
    Snapshot(#[source] io::Error),
    #[error("the system refused a thread, a signal handler or the standard output")]
    System(#[from] io::Error),
    #[error("the system gave no random bytes")]
    Random(#[from] getrandom::Error),
}

/// The log and the hub at the start.
#[derive(Debug)]
pub struct OpenedLog {
    pub startup: Startup,
    /// The state of the follower's hub, and the record after which it is.
    pub followed: (Hub, LogPosition),
    pub snapshots: Option<SnapshotStore>,
    /// The time of the newest snapshot.
    pub snapshot: Micros,
    /// Whether the hub leads: always without a cluster, and a node that has begun a generation.
    pub leads: bool,
}

/// The file with the name of the database that the log belongs to. With another database, public ids would name
/// other things.
const DATABASE_FILE: &str = "database";

/// By how much the log may be ahead of the clock. The hub's clock then goes on from the log's last record, and runs
/// slower until both agree, as if the clock had been set back while it ran. Otherwise the log is set aside.
const AHEAD_MAX_US: Micros = 600_000_000;

/// How a hub begins.
#[derive(Debug)]
pub struct HubStart<'a> {
    pub ids: &'a PublicIds,
    pub settings: HubSettings,
    pub signals: SignalSettings,
    /// The name of the database.
    pub database: String,
    /// Whether the state of the process before is of use.
    pub restores: bool,
}

/// The current boot of the machine. Where the system does not tell it, only a clean end is proof of anything.
fn boot_id() -> Result<String, RestartError> {
    match fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(id) => Ok(id),
        Err(_) => Ok(format!("unknown {}", getrandom::u64()?)),
    }
}

/// Opens the log, and restores the hub as it was at the log's end. Without a state to restore, it begins with
/// what `fresh` makes. `files`: `None` for a log in memory.
///
/// # Errors
///
/// If the log cannot be opened or written, or the system refuses memory, files or random bytes.
pub fn open(
    files: Option<&LogSettings>,
    start: &HubStart<'_>,
    fresh: impl FnOnce() -> Hub,
) -> Result<OpenedLog, RestartError> {
    let Some(settings) = files else {
        let log = Box::new(MemoryLog::new(MEMORY_BYTES)?);
        return begin(fresh(), log, None);
    };
    let began = monotonic();
    let (log, report) = open_files(settings)?;
    let snapshots = SnapshotStore::open(settings).map_err(RestartError::Snapshot)?;
    let is_same = belongs_to(&settings.folder, &start.database);
    if !is_same && report.last > 0 {
        warn!("the log belongs to another database");
        // Its films and states name matches by the ids of that database.
        set_aside(&settings.folder, "of-another-database", |name| {
            name == "films" || name.starts_with("snapshot-")
        })?;
    }
    let is_proven = report.continuity == Continuity::Proven;
    let restored = (is_same && start.restores)
        .then(|| restore(start, &log, report.last, is_proven, &snapshots));
    let Some(restored) = restored.flatten() else {
        if report.last > 0 {
            warn!("no state is restored from the log; the hub starts empty, in new epochs");
        }
        let opened = begin(fresh(), Box::new(log), Some(snapshots))?;
        if !is_same {
            // The first snapshot is of this database, so a kill at any moment finds a state of the right one.
            write_database_name(&settings.folder, &start.database)?;
        }
        return Ok(opened);
    };
    let RestoredState { hub: restored, renders_alike, followed, snapshot } = restored;
    let Restored { hub, applied, differences, .. } = restored;
    let ms = (monotonic() - began) / 1000;
    info!(record = applied, matches = hub.matches(), ms, "restored from the log");
    let unproven = match report.continuity {
        Continuity::Unproven(reason) => Some(reason),
        Continuity::Proven if !renders_alike => {
            Some("this version renders documents differently".to_owned())
        }
        Continuity::Proven => (differences > 0).then(|| {
            format!("this version publishes other updates for the last {differences} records")
        }),
    };
    let mut opened = match &unproven {
        None => {
            let startup = Startup::new(hub, Box::new(log));
            let (snapshot, snapshots) = (snapshot.at, Some(snapshots));
            OpenedLog { startup, followed, snapshot, snapshots, leads: true }
        }
        Some(reason) => {
            warn!("all channels begin new epochs: {reason}");
            begin(hub, Box::new(log), Some(snapshots))?
        }
    };
    let hub = opened.startup.hub();
    let (settings, signals) = (start.settings, start.signals.clone());
    if (hub.settings(), hub.signal_settings()) != (settings, signals.clone()) {
        opened.startup.take(HubInput::Settings { settings, signals }, now())?;
    }
    Ok(opened)
}

/// Opens the files, and logs what was found in them. The clock then goes on from the log's last record.
///
/// # Errors
///
/// If they cannot be opened.
pub fn open_files(settings: &LogSettings) -> Result<(FileLog, OpenReport), RestartError> {
    let (log, report) = FileLog::open(settings.clone(), &boot_id()?, now())?;
    let ahead = report.end.at - now();
    if ahead <= AHEAD_MAX_US {
        if ahead > 1_000_000 {
            warn!(
                seconds = ahead / 1_000_000,
                "the clock was set back since the last record of the log: timestamps run 10% slower until they agree with it"
            );
        }
        for finding in &report.findings {
            warn!("{finding}");
        }
        clock::go_on_from(report.end.at);
        return Ok((log, report));
    }
    warn!(
        seconds = ahead / 1_000_000,
        "the log is ahead of the clock; it is set aside, and the hub starts empty"
    );
    log.close()?;
    set_aside_all(&settings.folder, "ahead-of-the-clock")?;
    Ok(FileLog::open(settings.clone(), &boot_id()?, now())?)
}

/// Moves records, snapshots and films aside.
///
/// # Errors
///
/// If the file system fails.
pub fn set_aside_all(folder: &Path, why: &str) -> io::Result<()> {
    set_aside(folder, why, |name| {
        let is_whole = ["head", "films"].contains(&name);
        is_whole || ["segment-", "snapshot-"].iter().any(|prefix| name.starts_with(prefix))
    })
}

/// Moves files and folders of the log to a folder of their own among the damaged ones.
fn set_aside(folder: &Path, why: &str, is_moved: impl Fn(&str) -> bool) -> io::Result<()> {
    let to = folder.join("damaged").join(format!("{}-{why}", now()));
    fs::create_dir_all(&to)?;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if name.to_str().is_some_and(&is_moved) {
            fs::rename(folder.join(&name), to.join(&name))?;
        }
    }
    Ok(())
}

/// Notes that the log in this folder belongs to the database of this name.
///
/// # Errors
///
/// If the file system fails.
pub fn write_database_name(folder: &Path, database: &str) -> io::Result<()> {
    let file = folder.join(DATABASE_FILE);
    let unfinished = file.with_extension("unfinished");
    fs::write(&unfinished, format!("{database}\n"))?;
    fs::rename(unfinished, file)
}

/// Whether the log in this folder belongs to the database of this name.
#[must_use]
pub fn belongs_to(folder: &Path, database: &str) -> bool {
    fs::read_to_string(folder.join(DATABASE_FILE)).is_ok_and(|name| name.trim() == database)
}

/// Begins with a hub that is not the one at the end of the log. Its state becomes a snapshot, so that all later
/// inputs can be applied to it again. All channels begin new epochs.
///
/// # Errors
///
/// If the log or the snapshot cannot be written.
pub fn begin(
    hub: Hub,
    log: Box<dyn Log>,
    snapshots: Option<SnapshotStore>,
) -> Result<OpenedLog, RestartError> {
    let position = log.end();
    if let Some(snapshots) = &snapshots {
        let state = recovery::save(&hub);
        let written = snapshots.write(position, recovery::SNAPSHOT_FORMAT, &state);
        written.map_err(RestartError::Snapshot)?;
    }
    let followed = hub.without_readers();
    let mut startup = Startup::new(hub, log);
    // It also marks where the state does not follow from the records before.
    startup.take(HubInput::BeginEpochs { epochs: random_epochs()? }, now())?;
    startup.end_turn(now())?;
    let (followed, snapshot) = ((followed, position), position.at);
    Ok(OpenedLog { startup, followed, snapshot, snapshots, leads: true })
}

/// Epochs in which no channel was before.
///
/// # Errors
///
/// If the system gives no random bytes.
pub fn random_epochs() -> Result<Epochs, RestartError> {
    Ok(Epochs { matches: Epoch(getrandom::u32()?), feeds: Epoch(getrandom::u32()?) })
}

/// What a snapshot and the records after it give.
#[derive(Debug)]
pub struct RestoredState {
    /// The hub at the end of the log.
    pub hub: Restored,
    /// Whether the process that saved the snapshot rendered documents as this one does.
    pub renders_alike: bool,
    /// The same, for the follower. Its changes since the snapshot are not exported yet.
    pub followed: (Hub, LogPosition),
    /// The position of the snapshot.
    pub snapshot: LogPosition,
}

impl RestoredState {
    /// Whether it is what was published.
    #[must_use]
    pub fn is_as_logged(&self) -> bool {
        self.renders_alike && self.hub.differences == 0
    }
}

/// The state from the newest snapshot that can be used. If the log is not proven to be whole, its snapshots may be of
/// later records than it has.
#[must_use]
pub fn restore(
    start: &HubStart<'_>,
    log: &FileLog,
    last: RecordNumber,
    is_proven: bool,
    snapshots: &SnapshotStore,
) -> Option<RestoredState> {
    let (listed, damaged) = match snapshots.list() {
        Ok(listed) => listed,
        Err(error) => {
            warn!(error = &error as &dyn std::error::Error, "the snapshots cannot be listed");
            return None;
        }
    };
    for finding in damaged {
        warn!("{finding}");
    }
    for snapshot in listed {
        let (format, position, state) = match snapshots.read(snapshot.position.number) {
            Ok(read) => read,
            Err(error) => {
                warn!(error = &error as &dyn std::error::Error, "skipping an unreadable snapshot");
                continue;
            }
        };
        if position.number > last && is_proven {
            warn!(record = position.number, "skipping a snapshot that is newer than the log");
            continue;
        }
        match restore_from(start, log, position, format, &state.into()) {
            Ok(restored) => return Some(restored),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                warn!(error, record = position.number, "a snapshot cannot be used");
            }
        }
    }
    None
}

fn restore_from(
    start: &HubStart<'_>,
    log: &FileLog,
    position: LogPosition,
    format: u16,
    state: &SavedState,
) -> Result<RestoredState, recovery::RecoveryError> {
    let window = start.settings.window;
    std::thread::scope(|scope| {
        let tails = scope.spawn(|| Tails::read(position, window, &*log.source(), UPDATES_MAX));
        let restored = recovery::load(format, state, start.ids).and_then(|mut hub| {
            hub.set_tail_window(window);
            let mut reader = log.read_after(position.number);
            recovery::play(hub, position, &mut *reader, |number, ours, logged| {
                warn!(record = number, ?ours, ?logged, "the first record with another output");
            })
        });
        let restored = restored.map(|restored| (restored.hub.without_readers(), restored));
        let tails = tails.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (followed, mut restored) = restored?;
        if let Some(problem) = &tails.problem {
            let error = problem as &dyn std::error::Error;
            warn!(
                error,
                "some clients get images, since updates from before the snapshot are lost"
            );
        }
        tails.put_into(&mut restored.hub);
        let end = LogPosition { number: restored.applied, at: restored.at, ..position };
        let renders_alike = recovery::has_same_documents(state);
        let followed = (followed, end);
        Ok(RestoredState { hub: restored, renders_alike, followed, snapshot: position })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hub::sequence::TailWindow, identity::Identity};

    const SETTINGS: HubSettings = HubSettings {
        window: TailWindow { bytes: 1 << 20, age_us: 60_000_000 },
        matches_max: 1,
        matches_max_per_source: 1,
        ended_keep_us: 1,
        stale_after_ms: 1,
        hold_us: 0,
    };

    fn no_fresh() -> Hub {
        panic!("there is a state to restore")
    }

    /// Applies an input and logs it.
    fn log_tick(startup: &mut Startup) {
        let now = now();
        startup.take(HubInput::Tick { now }, now).expect("the log takes it");
        startup.end_turn(now).expect("the log takes it");
    }

    #[test]
    fn damaged_newest_snapshot_is_skipped_for_the_one_before() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (settings, ids) = (LogSettings::new(folder.path()), PublicIds::default());
        let start = HubStart {
            ids: &ids,
            settings: SETTINGS,
            signals: SignalSettings::default(),
            database: "test".to_owned(),
            restores: true,
        };
        let fresh = || {
            let epochs = Epochs { matches: Epoch(1), feeds: Epoch(2) };
            let hub = Hub::new(SETTINGS, epochs, Identity::default()).with_ids(ids.clone());
            hub.with_signals(start.signals.clone())
        };
        let mut opened = open(Some(&settings), &start, fresh).expect("a new log");
        let older = opened.snapshot;
        log_tick(&mut opened.startup);
        let store = opened.snapshots.take().expect("the log is in files");
        let position = opened.startup.records().end();
        let state = recovery::save(opened.startup.hub());
        let format = recovery::SNAPSHOT_FORMAT;
        store.write(position, format, &state).expect("there is room");
        log_tick(&mut opened.startup);
        let published = recovery::save(opened.startup.hub());
        drop(opened);
        let reopened = open(Some(&settings), &start, no_fresh).expect("a log with two snapshots");
        assert_eq!(reopened.snapshot, position.at);
        drop(reopened);
        let newest = folder.path().join(format!("snapshot-{:020}.state", position.number));
        let mut bytes = fs::read(&newest).expect("it was written");
        *bytes.last_mut().expect("it is not empty") ^= 1;
        fs::write(&newest, bytes).expect("there is room");
        let reopened = open(Some(&settings), &start, no_fresh).expect("a log with two snapshots");
        assert_eq!(reopened.snapshot, older);
        // Byte for byte, so all channels continue in their epochs.
        assert_eq!(recovery::save(reopened.startup.hub()), published);
    }
}
