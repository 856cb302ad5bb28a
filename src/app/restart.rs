//! Opens the log and restores the hub from it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use fanout::Micros;
use hub::{
    Epochs, Hub, HubInput, HubSettings,
    pipeline::Startup,
    recovery::{self, Restored, SavedState},
    signals::SignalSettings,
};
use log::{
    Log, LogPosition, RecordNumber,
    config::LogEngine,
    files::{Continuity, FileLog, LogSettings, SnapshotStore},
    film::{FilmError, FilmSettings, FilmWriter},
    memory::MemoryLog,
};
use record::ids::PublicIds;
use tracing::{info, warn};

use super::{AppError, micros};
use crate::config::Config;
use accounts::Accounts;
use base::clock::{monotonic, now};

/// Bytes of records that a log in memory keeps, for the follower.
const MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// The log and the hub at the start.
pub(super) struct OpenedLog {
    pub startup: Startup,
    /// The state of the follower's hub, and the record after which it is.
    pub followed: (Hub, LogPosition),
    pub snapshots: Option<SnapshotStore>,
    /// Whether the hub is as it was when the process before ended.
    pub is_restored: bool,
}

/// The file with the name of the database that the log belongs to.
const DATABASE_FILE: &str = "database";

/// The key of a database's own name in its store.
const META: &str = "log_database";

/// Whether the log is of this database. Both get a name at their first start. With another database, public
/// ids would name other things.
pub(super) async fn is_of(accounts: &Accounts, folder: &Path) -> Result<bool, AppError> {
    let name = match accounts.meta(META).await? {
        Some(name) => name,
        None => {
            let name = format!("{:016x}", getrandom::u64()?);
            accounts.set_meta(META, &name).await?;
            name
        }
    };
    fs::create_dir_all(folder)?;
    let file = folder.join(DATABASE_FILE);
    let is_same = fs::read_to_string(&file).is_ok_and(|of_log| of_log.trim() == name);
    if !is_same {
        fs::write(&file, format!("{name}\n"))?;
    }
    Ok(is_same)
}

/// How a hub begins.
pub(super) struct HubStart<'a> {
    pub ids: &'a PublicIds,
    pub settings: HubSettings,
    pub signals: SignalSettings,
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
                warn!(error, "films have a gap, since the log no longer has all records");
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
    let mut name = config.server.db.beside().as_os_str().to_owned();
    name.push("-log");
    name.into()
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
        let hub = fresh();
        let log = Box::new(MemoryLog::new(MEMORY_BYTES)?);
        return begin(start, hub, log, None);
    }
    let began = monotonic();
    let (log, report) = FileLog::open(log_settings(config), &boot_id()?, now())?;
    for finding in &report.findings {
        warn!("{finding}");
    }
    let snapshots = SnapshotStore::open(&log_settings(config)).map_err(AppError::Snapshot)?;
    let is_proven = report.continuity == Continuity::Proven;
    let restored = if start.restores {
        restore(start, (&log, report.last, is_proven), &snapshots)
    } else {
        None
    };
    let Some((restored, followed)) = restored else {
        if report.last > 0 {
            warn!("nothing is restored from the log, and all channels begin new epochs");
        }
        return begin(start, fresh(), Box::new(log), Some(snapshots));
    };
    let Restored { hub, applied, differences, .. } = restored;
    let ms = (monotonic() - began) / 1000;
    info!(record = applied, matches = hub.matches(), ms, "restored from the log");
    let unproven = match report.continuity {
        Continuity::Unproven(reason) => Some(reason),
        Continuity::Proven => (differences > 0).then(|| {
            format!("of the last records, this program would publish {differences} differently")
        }),
    };
    if let Some(reason) = unproven {
        warn!("all channels begin new epochs: {reason}");
        let mut hub = hub;
        hub.begin_epochs(Epochs { matches: super::random_epoch()?, feeds: super::random_epoch()? });
        hub.set_settings(start.settings, start.signals);
        let opened = begin(start, hub, Box::new(log), Some(snapshots))?;
        return Ok(OpenedLog { is_restored: true, ..opened });
    }
    let mut startup = Startup::new(hub, Box::new(log));
    let hub = startup.hub();
    let settings = (start.settings, start.signals);
    if (hub.settings(), hub.signal_settings()) != settings {
        startup.take(HubInput::Settings { settings: settings.0, signals: settings.1 }, now())?;
    }
    Ok(OpenedLog { startup, followed, snapshots: Some(snapshots), is_restored: true })
}

/// Begins with a new hub. Its state is the first snapshot, so that all that comes can be applied to it again.
fn begin(
    start: &HubStart<'_>,
    mut hub: Hub,
    log: Box<dyn Log>,
    snapshots: Option<SnapshotStore>,
) -> Result<OpenedLog, AppError> {
    let position = log.end();
    let state = recovery::save(&mut hub);
    if let Some(snapshots) = &snapshots {
        let written = snapshots.write(position, recovery::SNAPSHOT_FORMAT, &state);
        written.map_err(AppError::Snapshot)?;
    }
    let mut followed = recovery::load(recovery::SNAPSHOT_FORMAT, &state, start.ids)?;
    followed.set_tail_window(start.settings.window);
    let startup = Startup::new(hub, log);
    Ok(OpenedLog { startup, followed: (followed, position), snapshots, is_restored: false })
}

/// The hub at the end of the log, and the one of the newest snapshot for the follower. `None` if no snapshot
/// can be used. If the log is not proven to be whole, its snapshots may be of later records than it has.
fn restore(
    start: &HubStart<'_>,
    (log, last, is_proven): (&FileLog, RecordNumber, bool),
    snapshots: &SnapshotStore,
) -> Option<(Restored, (Hub, LogPosition))> {
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
                warn!(error = &error as &dyn std::error::Error, "a snapshot is left out");
                continue;
            }
        };
        if position.number > last && is_proven {
            warn!(record = position.number, "a snapshot is of records that the log never had");
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
) -> Result<(Restored, (Hub, LogPosition)), recovery::RecoveryError> {
    let window = start.settings.window;
    let since: Micros = position.at.saturating_sub(window.age_us);
    let state = Arc::clone(state);
    std::thread::scope(|scope| {
        // The two cores of a small machine share the work.
        let followed = scope.spawn(|| recovery::load(format, &state, start.ids));
        let mut hub = recovery::load(format, &state, start.ids)?;
        hub.set_tail_window(window);
        let mut reader = log.source().read_since(since);
        recovery::fill_tails(&mut hub, position, window, &mut *reader)?;
        let mut reader = log.read_after(position.number);
        let restored = recovery::play(hub, position, &mut *reader, |number, ours, logged| {
            warn!(record = number, ?ours, ?logged, "a record differs");
        })?;
        let followed = followed.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut followed = followed?;
        followed.set_tail_window(window);
        Ok((restored, (followed, position)))
    })
}
