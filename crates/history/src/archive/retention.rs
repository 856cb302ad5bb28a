//! How long matches, prices and signals are kept, and how many are deleted at a time.

use std::time::Duration;

use base::Micros;

use super::Archive;
use crate::config::ArchiveConfig;

/// The interval of deletions of old data.
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);
/// Matches that are deleted in one transaction, with their prices.
const MATCHES_AT_ONCE: usize = 50;
/// Blocks of ticks deleted in one transaction, which other writers have to wait for.
pub(super) const BLOCKS_AT_ONCE: i64 = 500;
/// The same for signals.
pub(super) const SIGNALS_AT_ONCE: i64 = 5_000;

const DAY_US: Micros = 86_400_000_000;

/// Deletes data beyond its retention.
pub(super) async fn sweep(
    archive: &Archive,
    config: &ArchiveConfig,
    now: Micros,
) -> sqlx::Result<()> {
    let before = |days: u32| {
        (days > 0).then(|| now.saturating_sub(Micros::from(days).saturating_mul(DAY_US)))
    };
    if let Some(before) = before(config.keep_days) {
        while archive.drop_before(before, MATCHES_AT_ONCE).await? > 0 {
            archive.yield_to_writers().await;
        }
    }
    if let Some(before) = before(config.keep_ticks_days) {
        while archive.drop_ticks_before(before).await? > 0 {
            archive.yield_to_writers().await;
        }
    }
    if let Some(before) = before(config.keep_signals_days) {
        while archive.drop_signals_before(before).await? > 0 {
            archive.yield_to_writers().await;
        }
    }
    Ok(())
}
