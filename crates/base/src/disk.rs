//! Free space on the disks of the log and the database. Writers that can wait pause before a disk is full, so that the log,
//! accounts and payments have what is left. One state for each process, as its folders are.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use metrics::gauge;
use rustix::fs::statvfs;
use tokio::{sync::watch, task, time};
use tracing::{info, warn};

/// The interval of samples.
const EVERY: Duration = Duration::from_secs(5);

/// What is on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// The log, its snapshots and films.
    Log,
    Database,
}

static IS_LOW: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// Whether the disk of this folder has too little free space for what can wait.
#[must_use]
pub fn is_low(folder: Folder) -> bool {
    IS_LOW[folder as usize].load(Ordering::Relaxed)
}

/// Samples the free bytes of these folders until `stopped`, with `min_bytes` as the watermark.
pub async fn watch(
    folders: Vec<(Folder, PathBuf)>,
    min_bytes: u64,
    mut stopped: watch::Receiver<bool>,
) {
    let mut ticks = time::interval(EVERY);
    ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    let mut watermark = vec![false; folders.len()];
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
        for ((folder, path), was_low) in folders.iter().zip(&mut watermark) {
            let sampled = path.clone();
            let Ok(Some(free)) = task::spawn_blocking(move || free_bytes(sampled)).await else {
                continue;
            };
            let name = match folder {
                Folder::Log => "log",
                Folder::Database => "database",
            };
            gauge!("matchwire_disk_free_bytes", "folder" => name).set(free as f64);
            let low = is_below(free, min_bytes, *was_low);
            if low && !*was_low {
                let path = path.display();
                warn!(%path, free, "little space is left on a disk; films, snapshots or the archive pause");
            } else if *was_low && !low {
                info!(path = %path.display(), free, "there is space on the disk again");
            }
            *was_low = low;
            IS_LOW[*folder as usize].store(low, Ordering::Relaxed);
        }
    }
}

/// Whether a disk counts as low. One that was low must have a quarter more than the watermark, so that a writer does not
/// start and pause with every sample.
fn is_below(free: u64, min_bytes: u64, was_low: bool) -> bool {
    free < if was_low { min_bytes.saturating_add(min_bytes / 4) } else { min_bytes }
}

/// What is free for this process; `None` without such a folder.
fn free_bytes(path: PathBuf) -> Option<u64> {
    let about = statvfs(path).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watermark_follows_the_samples() {
        let mut was_low = false;
        let samples = [2_000, 1_000, 999, 1_000, 1_249, 1_250, 1_000, 0, 1_300];
        let found = samples.map(|free| {
            was_low = is_below(free, 1_000, was_low);
            was_low
        });
        assert_eq!(found, [false, false, true, true, true, false, false, true, false]);
        assert!(!is_below(0, 0, false), "0 switches it off");
    }

    #[test]
    fn folder_has_free_space_and_a_missing_one_none() {
        assert!(free_bytes("/".into()).is_some());
        assert_eq!(free_bytes("/no/such/folder".into()), None);
    }
}
