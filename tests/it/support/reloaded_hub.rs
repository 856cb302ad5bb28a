//! A hub whose settings change while it runs.

use std::{fs, path::PathBuf, sync::Arc};

use tempfile::TempDir;

use super::{Hub, until};

/// A hub whose settings file can be written again.
pub(crate) struct ReloadedHub {
    pub(crate) hub: Hub,
    file: PathBuf,
    _folder: TempDir,
}

impl ReloadedHub {
    pub(crate) fn start(settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("matchwire.toml");
        fs::write(&file, settings).expect("a file of settings");
        let path = file.to_str().expect("a path of text");
        let data_folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        let hub = Hub::start_in(data_folder, &["serve", "--config", path]);
        Self { hub, file, _folder: folder }
    }

    /// Writes these settings, which the hub reads at its next reload.
    pub(crate) fn write(&self, settings: &str) {
        fs::write(&self.file, settings).expect("a file of settings");
    }

    /// Reloads these settings, and returns what the hub logs of it.
    pub(crate) async fn reload(&self, settings: &str) -> String {
        let outcomes = || {
            let printed = self.hub.printed();
            let lines = printed.lines().filter(|line| line.contains("reloaded: "));
            lines.map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        let before = outcomes().len();
        self.write(settings);
        self.hub.signal("-HUP");
        until("the outcome", async || outcomes().len() > before).await;
        outcomes().pop().expect("an outcome")
    }
}
