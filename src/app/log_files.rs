//! Where the log is, what its settings are, and the films beside it.

use std::{path::PathBuf, time::Duration};

use accounts::Accounts;
use hub::pipeline::Startup;
use log::{
    RecordNumber,
    config::LogEngine,
    files::LogSettings,
    film::{FilmError, FilmSettings, FilmWriter},
};
use tracing::warn;

use super::{AppError, part_settings::micros};
use crate::config::Config;

/// The key of a database's own name in its store.
const META: &str = "log_database";

/// The folder of the log.
pub(crate) fn folder(config: &Config) -> PathBuf {
    if !config.log.folder.as_os_str().is_empty() {
        return config.log.folder.clone();
    }
    config.beside("-log")
}

/// The settings of the log's files.
pub(crate) fn settings(config: &Config) -> LogSettings {
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

/// The name of a database, by which a log knows whether it belongs to it. It gets one at its first start.
pub(super) async fn database_name(accounts: &Accounts) -> Result<String, AppError> {
    if let Some(name) = accounts.meta(META).await? {
        return Ok(name);
    }
    let name = format!("{:016x}", getrandom::u64()?);
    accounts.set_meta(META, &name).await?;
    Ok(name)
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
