//! Deletes segments that are no longer kept.

use std::{fs, io, sync::atomic::Ordering};

use fanout::Micros;
use metrics::gauge;
use tracing::{info, warn};

use super::{moved, segment, shared::FileShared, snapshot};
use crate::{LogPosition, RecordNumber};

/// Deletes the segments whose records are all too old, and the oldest ones if there are too many bytes.
/// Returns how many.
pub(super) fn retain(shared: &FileShared, now: Micros) -> io::Result<usize> {
    let settings = &shared.settings;
    let (snapshots, _) = snapshot::list(&settings.folder)?;
    let snapshot_bytes: u64 = snapshots.iter().map(|snapshot| snapshot.file_bytes).sum();
    let newest = snapshots.first().map(|snapshot| snapshot.position);
    let second = snapshots.get(1).map(|snapshot| snapshot.position);
    // Nothing goes by age alone before there are two snapshots to restart from.
    let age_limit = second.map(|second| {
        let needed = second.at.saturating_sub(settings.tail_us);
        needed.min(now.saturating_sub(settings.records_keep_us))
    });
    let bytes_max = settings.bytes_max.saturating_sub(snapshot_bytes);
    let deleted = delete_oldest(shared, newest, |last, bytes| {
        bytes > bytes_max || age_limit.is_some_and(|limit| last.at < limit)
    })?;
    let bytes = shared.state().bytes();
    gauge!("matchwire_log_bytes").set(bytes.saturating_add(snapshot_bytes) as f64);
    let exceeded = bytes > bytes_max && shared.state().segments.len() > 1;
    if exceeded && !shared.exceeded.swap(exceeded, Ordering::Relaxed) {
        warn!(
            bytes,
            "the log exceeds `log.records_bytes_max`, since a restart or a follower needs its oldest records"
        );
    }
    shared.exceeded.store(exceeded, Ordering::Relaxed);
    Ok(deleted)
}

/// Makes room on a full disk: deletes what is damaged, and the segments that neither a restart from the newest
/// snapshot, nor clients that resume, nor a follower need.
pub(super) fn free(shared: &FileShared) -> io::Result<()> {
    let settings = &shared.settings;
    let damaged_bytes = moved::limit_damaged(&settings.folder, 0)?;
    let (snapshots, _) = snapshot::list(&settings.folder)?;
    let newest = snapshots.first().map(|snapshot| snapshot.position);
    let limit = newest.map_or(Micros::MIN, |newest| newest.at.saturating_sub(settings.tail_us));
    let segments = delete_oldest(shared, newest, |last, _| last.at < limit)?;
    if damaged_bytes > 0 || segments > 0 {
        info!(damaged_bytes, segments, "the disk is full: deleted what the log does not need");
    }
    Ok(())
}

/// Deletes the oldest segments as long as `is_deleted` says so of their last record and the bytes of all segments.
/// Returns how many. Segments with records after the newest snapshot stay, since a restart needs them, and a
/// follower that is behind.
fn delete_oldest(
    shared: &FileShared,
    newest: Option<LogPosition>,
    is_deleted: impl Fn(LogPosition, u64) -> bool,
) -> io::Result<usize> {
    let Some(newest) = newest else { return Ok(0) };
    let mut deleted = 0;
    while let Some((first, last, bytes)) = oldest(shared) {
        if last.number > newest.number || !is_deleted(last, bytes) {
            break;
        }
        match fs::remove_file(segment::path(&shared.settings.folder, first)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        shared.state().segments.remove(&first);
        deleted += 1;
    }
    Ok(deleted)
}

/// The oldest segment, if it is not the one that is written: its first and its last record, and the bytes of all
/// segments.
fn oldest(shared: &FileShared) -> Option<(RecordNumber, LogPosition, u64)> {
    let state = shared.state();
    let mut segments = state.segments.iter();
    let (&first, _) = segments.next()?;
    let (_, next) = segments.next()?;
    Some((first, next.before, state.bytes()))
}
