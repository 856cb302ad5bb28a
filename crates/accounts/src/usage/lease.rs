//! Parts of daily quotas that the nodes of a cluster lease, so that together they admit exactly as many calls as a
//! quota allows.
//!
//! A node takes a part in the store and admits calls from it in memory. It returns what it has not used when the
//! account has made no call for [`RETURNED_AFTER_US`], and when it stops. The part of a node that is killed is not
//! returned, nor is one if it is not known whether the store has it: until the day ends the account has up to
//! [`LEASE_MAX`] calls fewer, and never one more.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use sqlx::{Any, Row, Transaction};
use tokio::sync::Mutex;

use super::{call_time::still_holds, tally::Slot};
use crate::accounts::Micros;
use database::{Database, STATEMENT_MAX, within};

/// Calls of one lease at most.
const LEASE_MAX: u64 = 200;
/// A lease is this part of what is left, so that some is left for the other nodes.
const LEASE_SHARE: u64 = 16;
/// How long an account must have made no call before the rest of its lease is returned.
pub(super) const RETURNED_AFTER_US: Micros = 60_000_000;

/// What an account may still use of a product today at this node.
#[derive(Debug, Default)]
pub(super) struct QuotaLease {
    left: AtomicU64,
    /// Calls that all nodes had leased when this node last did.
    leased: AtomicU64,
    /// When this node last admitted a call of it.
    used: AtomicI64,
    /// Locked while the store is asked.
    pub(super) last_refusal: Mutex<LastRefusal>,
}

/// Why the store gave no lease when it was last asked, which holds for a while.
#[derive(Debug, Default)]
pub(super) struct LastRefusal {
    at: Micros,
    kind: Option<NoLease>,
}

/// Why a node has no lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoLease {
    /// Other nodes have leased the rest, or all of it is used up.
    Exhausted,
    /// The store failed.
    Unavailable,
}

/// A part of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QuotaPart {
    pub(super) calls: u64,
    /// Calls that all nodes have leased, with this part.
    pub(super) leased: u64,
}

impl QuotaLease {
    /// Takes one call from the lease; returns how many of the quota are left, as far as this node knows.
    pub(super) fn admit(&self, limit: u64, now: Micros) -> Option<u64> {
        let next = |left: u64| left.checked_sub(1);
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        self.used.fetch_max(now, Ordering::Relaxed);
        let unleased = limit.saturating_sub(self.leased.load(Ordering::Relaxed));
        Some(unleased + before - 1)
    }

    pub(super) fn add(&self, part: QuotaPart, now: Micros) {
        self.leased.store(part.leased, Ordering::Relaxed);
        self.used.fetch_max(now, Ordering::Relaxed);
        self.left.fetch_add(part.calls, Ordering::Relaxed);
    }

    /// Calls that may be admitted without asking the store.
    pub(super) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Ends the lease if it was last used before this moment; returns what was left of it.
    pub(super) fn end(&self, before: Micros) -> QuotaPart {
        let is_unused = self.used.load(Ordering::Relaxed) < before;
        let calls = if is_unused { self.left.swap(0, Ordering::Relaxed) } else { 0 };
        QuotaPart { calls, leased: self.leased.load(Ordering::Relaxed) }
    }

    /// Goes on with a part that was ended and not returned. This is no use of it.
    pub(super) fn go_on(&self, part: QuotaPart) {
        // The tally may have been evicted meanwhile, and know of no lease.
        self.leased.fetch_max(part.leased, Ordering::Relaxed);
        self.left.fetch_add(part.calls, Ordering::Relaxed);
    }
}

impl LastRefusal {
    /// The answer, while it holds.
    pub(super) fn holds(&self, now: Micros) -> Option<NoLease> {
        self.kind.filter(|_| still_holds(self.at, now))
    }

    /// `now`: when the answer came.
    pub(super) fn set(&mut self, kind: NoLease, now: Micros) {
        *self = Self { at: now, kind: Some(kind) };
    }
}

/// Why parts were not returned.
#[derive(Debug)]
pub(super) enum ReturnError {
    /// They are still leased.
    Leased(sqlx::Error),
    /// Perhaps only the answer to the commit is missing.
    Unknown(sqlx::Error),
}

/// Leases a part of what is left of a quota; `None` if nothing is.
pub(super) async fn take(
    database: &Database,
    slot: Slot,
    limit: u64,
) -> sqlx::Result<Option<QuotaPart>> {
    if let Some(part) = take_more(database, slot, limit).await? {
        return Ok(Some(part));
    }
    // Calls of today that were counted before the first lease, such as while the account had an add-on.
    sqlx::query(
        "INSERT INTO quota_leases (account_id, product, day, leased, last_lease) VALUES ($1, $2, $3, \
         coalesce((SELECT calls + mcp_calls FROM usage WHERE account_id = $1 AND product = $2 AND day = $3), 0), 0) \
         ON CONFLICT (account_id, product, day) DO NOTHING",
    )
    .bind(slot.account.number())
    .bind(slot.product.as_str())
    .bind(slot.day.0)
    .execute(database.pool())
    .await?;
    // Also if there is a row by now: another node may have begun at the same time.
    take_more(database, slot, limit).await
}

/// As [`take`], if any node has leased of this quota before.
async fn take_more(database: &Database, slot: Slot, limit: u64) -> sqlx::Result<Option<QuotaPart>> {
    const PART: &str = "CASE WHEN ($4 - leased) / $5 > $6 THEN $6 \
                        WHEN ($4 - leased) / $5 < 1 THEN 1 ELSE ($4 - leased) / $5 END";
    let statement = format!(
        "UPDATE quota_leases SET leased = leased + {PART}, last_lease = {PART} \
         WHERE account_id = $1 AND product = $2 AND day = $3 AND leased < $4 RETURNING leased, last_lease"
    );
    let row = sqlx::query(sqlx::AssertSqlSafe(statement))
        .bind(slot.account.number())
        .bind(slot.product.as_str())
        .bind(slot.day.0)
        .bind(limit.cast_signed())
        .bind(LEASE_SHARE.cast_signed())
        .bind(LEASE_MAX.cast_signed())
        .fetch_optional(database.pool())
        .await?;
    let number = |row: &sqlx::any::AnyRow, column: usize| {
        Ok::<_, sqlx::Error>(row.try_get::<i64, _>(column)?.cast_unsigned())
    };
    row.map(|row| Ok(QuotaPart { leased: number(&row, 0)?, calls: number(&row, 1)? })).transpose()
}

/// Returns what was not used. Each statement has a time limit, because flushes wait for this.
pub(super) async fn put_back(
    database: &Database,
    unused: &mut [(Slot, QuotaPart)],
) -> Result<(), ReturnError> {
    // All nodes in the same order, to prevent deadlocks.
    unused.sort_unstable_by_key(|(slot, _)| (slot.account, slot.product.as_str(), slot.day));
    let tx = subtract(database, unused).await.map_err(ReturnError::Leased)?;
    within(STATEMENT_MAX, tx.commit()).await.map_err(ReturnError::Unknown)
}

/// All of it but the commit.
async fn subtract(
    database: &Database,
    unused: &[(Slot, QuotaPart)],
) -> sqlx::Result<Transaction<'static, Any>> {
    let mut tx = within(STATEMENT_MAX, database.begin()).await?;
    for (slot, part) in unused {
        let subtract = sqlx::query(
            "UPDATE quota_leases SET leased = leased - $4 WHERE account_id = $1 AND product = $2 AND day = $3",
        )
        .bind(slot.account.number())
        .bind(slot.product.as_str())
        .bind(slot.day.0)
        .bind(part.calls.cast_signed());
        within(STATEMENT_MAX, subtract.execute(&mut *tx)).await?;
    }
    Ok(tx)
}
