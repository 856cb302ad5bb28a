//! Where the log is, and what its settings are.

use std::path::PathBuf;

use accounts::Accounts;
use base::config::micros;
use log::files::LogSettings;

use super::AppError;
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
    let settings = LogSettings::from_config(&config.log, folder(config));
    LogSettings { tail_us: micros(config.hub.tail_ms), ..settings }
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
