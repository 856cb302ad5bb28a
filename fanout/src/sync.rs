//! What threads share is built from these. With the feature `loom` they are loom's, which tries all
//! interleavings of a test.

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

/// The guard, even if a thread panicked while it held the lock: nothing that runs under our locks can
/// stop half way, so what they guard is whole.
pub(crate) fn unpoisoned<T>(locked: std::sync::LockResult<T>) -> T {
    locked.unwrap_or_else(std::sync::PoisonError::into_inner)
}
