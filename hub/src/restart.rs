//! Opens the log and restores the hub from it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use fanout::{Epoch, Micros};
use hub::{
    Epochs, Hub, HubInput, HubSettings,
    pipeline::Startup,
    recovery::{self, Restored, SavedState},
    signals::SignalSettings,
    tails::{Tails, UPDATES_MAX},
};
use log::{
    Log, LogPosition, RecordNumber,
    config::LogEngine,
    files::{Continuity, FileLog, LogSettings, OpenReport, SnapshotStore},
    film::{FilmError, FilmSettings, FilmWriter},
    memory::MemoryLog,
};
use record::ids::PublicIds;
use tracing::{info, warn};

use super::{AppError, part_settings::micros};
use crate::config::Config;
use accounts::Accounts;
use base::clock::{self, monotonic, now};

/// Bytes of records that a log in memory keeps, for the follower.
const MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// The log and the hub at the start.
pub(super) struct OpenedLog {
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

/// The key of a database's own name in its store.
const META: &str = "log_database";

/// By how much the log may be ahead of the clock. The hub's clock then goes on from the log's last record, and runs
/// slower until both agree, as if the clock had been set back while it ran. Otherwise the log is set aside.
const AHEAD_MAX_US: Micros = 600_000_000;

/// The name of a database, by which a log knows whether it belongs to it. It gets one at its first start.
pub(super) async fn database_name(accounts: &Accounts) -> Result<String, AppError> {
    if let Some(name) = accounts.meta(META).await? {
        return Ok(name);
    }
    let name = format!("{:016x}", getrandom::u64()?);
    accounts.set_meta(META, &name).await?;
    Ok(name)
}

/// How a hub begins.
pub(super) struct HubStart<'a> {
    pub ids: &'a PublicIds,
    pub settings: HubSettings,
    pub signals: SignalSettings,
    /// The name of the database.
    pub database: String,
    /// Whether the state of the process before is of use.
    pub restores: bool,
}

/// The films of the settings; `None` if there are none. The log must be open, so that no other process writes
/// them. Records between what the films have and `until`, where the follower begins, are added. The hub starts
/// without films if their folder cannot be used.
pub(super) fn films(config: &Config, startup: &Startup, until: RecordNumber) -> Option<FilmWriter> {
    if config.log.engine == LogEngine::Memory || config.log.films_keep_ms == 0 {
        return None;
    }
    let settings = FilmSettings {
        keep_us: micros(config.log.films_keep_ms),
        bytes_max: config.log.films_bytes_max,
        ..FilmSettings::default()
    };
    let opened = FilmWriter::open(&folder(config).join("films"), settings);
    let as_warning = |error: &FilmError| {
        warn!(error = error as &dyn std::error::Error, "cannot record films of matches");
    };
    let mut films = opened.inspect_err(as_warning).ok()?;
    let mut reader = startup.records().read_after(films.sync_position());
    loop {
        match reader.next() {
            Ok(Some(record)) if record.number <= until => {
                films.record(&record).inspect_err(as_warning).ok();
            }
            Ok(_) => break,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                warn!(error, "films have a gap: records that they need are no longer in the log");
                break;
            }
        }
    }
    Some(films)
}

/// The folder of the log.
pub(crate) fn folder(config: &Config) -> PathBuf {
    if !config.log.folder.as_os_str().is_empty() {
        return config.log.folder.clone();
    }
    config.beside("-log")
}

/// The settings of the log's files.
pub(crate) fn log_settings(config: &Config) -> LogSettings {
    let log = &config.log;
    LogSettings {
        segment_bytes: log.segment_bytes,
        records_keep_us: micros(log.records_keep_ms),
        bytes_max: log.records_bytes_max,
        tail_us: micros(config.hub.tail_ms),
        snapshots_keep: log.snapshots_keep,
        fsync_interval: Duration::from_millis(log.fsync_ms),
        ..LogSettings::new(folder(config))
    }
}

/// The current boot of the machine. Where the system does not tell it, only a clean end is proof of anything.
fn boot_id() -> Result<String, AppError> {
    match fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(id) => Ok(id),
        Err(_) => Ok(format!("unknown {}", getrandom::u64()?)),
    }
}

/// Opens the log, and restores the hub as it was at the log's end. Without a state to restore, it begins with
/// what `fresh` makes.
pub(super) fn open(
    config: &Config,
    start: &HubStart<'_>,
    fresh: impl FnOnce() -> Hub,
) -> Result<OpenedLog, AppError> {
    if config.log.engine == LogEngine::Memory {
        let log = Box::new(MemoryLog::new(MEMORY_BYTES)?);
        return begin(fresh(), log, None);
    }
    let began = monotonic();
    let settings = log_settings(config);
    let (log, report) = open_files(&settings)?;
    for finding in &report.findings {
        warn!("{finding}");
    }
    let snapshots = SnapshotStore::open(&settings).map_err(AppError::Snapshot)?;
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

/// Opens the files. The clock then goes on from the log's last record.
pub(super) fn open_files(settings: &LogSettings) -> Result<(FileLog, OpenReport), AppError> {
    let (log, report) = FileLog::open(settings.clone(), &boot_id()?, now())?;
    let ahead = report.end.at - now();
    if ahead <= AHEAD_MAX_US {
        if ahead > 1_000_000 {
            warn!(
                seconds = ahead / 1_000_000,
                "the clock was set back since the last record of the log: timestamps run 10% slower until they agree with it"
            );
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
pub(super) fn set_aside_all(folder: &Path, why: &str) -> io::Result<()> {
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
pub(super) fn write_database_name(folder: &Path, database: &str) -> io::Result<()> {
    let file = folder.join(DATABASE_FILE);
    let unfinished = file.with_extension("unfinished");
    fs::write(&unfinished, format!("{database}\n"))?;
    fs::rename(unfinished, file)
}

/// Whether the log in this folder belongs to the database of this name.
pub(super) fn belongs_to(folder: &Path, database: &str) -> bool {
    fs::read_to_string(folder.join(DATABASE_FILE)).is_ok_and(|name| name.trim() == database)
}

/// Begins with a hub that is not the one at the end of the log. Its state becomes a snapshot, so that all later
/// inputs can be applied to it again. All channels begin new epochs.
pub(super) fn begin(
    hub: Hub,
    log: Box<dyn Log>,
    snapshots: Option<SnapshotStore>,
) -> Result<OpenedLog, AppError> {
    let position = log.end();
    if let Some(snapshots) = &snapshots {
        let state = recovery::save(&hub);
        let written = snapshots.write(position, recovery::SNAPSHOT_FORMAT, &state);
        written.map_err(AppError::Snapshot)?;
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
pub(super) fn random_epochs() -> Result<Epochs, AppError> {
    Ok(Epochs { matches: Epoch(getrandom::u32()?), feeds: Epoch(getrandom::u32()?) })
}

/// What a snapshot and the records after it give.
pub(super) struct RestoredState {
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
    #[cfg(feature = "cluster")]
    pub(super) fn is_as_logged(&self) -> bool {
        self.renders_alike && self.hub.differences == 0
    }
}

/// The state from the newest snapshot that can be used. If the log is not proven to be whole, its snapshots may be of
/// later records than it has.
pub(super) fn restore(
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
