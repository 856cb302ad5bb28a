//! Synchronisation primitives. With the feature `loom` they are loom's, which runs a test in all
//! interleavings.

#[cfg(not(feature = "loom"))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

#[cfg(feature = "loom")]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Returns the guard even if a thread panicked while it held the lock. No operation under these locks
/// can stop half way, so the data is consistent.
pub(crate) fn unpoisoned<T>(locked: std::sync::LockResult<T>) -> T {
    locked.unwrap_or_else(std::sync::PoisonError::into_inner)
}
