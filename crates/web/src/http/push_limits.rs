//! Limits on push sockets: in total and per source.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

#[derive(Debug, Clone)]
pub(super) struct PushLimits {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    max: usize,
    max_per_source: usize,
    /// The number of sockets of each source that has any.
    taken: Mutex<HashMap<String, usize>>,
}

/// Counts a socket until it is dropped.
#[derive(Debug)]
pub(super) struct PushPermit {
    inner: Arc<Inner>,
    source: String,
}

impl PushLimits {
    pub(super) fn new(max: usize, max_per_source: usize) -> Self {
        Self { inner: Arc::new(Inner { max, max_per_source, taken: Mutex::default() }) }
    }

    /// A permit for one more socket, or the reason why there is none.
    pub(super) fn acquire(&self, source: &str) -> Result<PushPermit, &'static str> {
        let mut taken = self.inner.taken();
        if taken.get(source).is_some_and(|count| *count >= self.inner.max_per_source) {
            return Err("too many sockets push for this source");
        }
        if taken.values().sum::<usize>() >= self.inner.max {
            return Err("too many sockets push");
        }
        *taken.entry(source.to_owned()).or_default() += 1;
        Ok(PushPermit { inner: Arc::clone(&self.inner), source: source.to_owned() })
    }
}

impl Inner {
    fn taken(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PushPermit {
    fn drop(&mut self) {
        let mut taken = self.inner.taken();
        if let Some(count) = taken.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_limited_per_source_and_returned_on_drop() {
        let limits = PushLimits::new(3, 2);
        let mut permits = vec![limits.acquire("a").expect("the first")];
        permits.push(limits.acquire("a").expect("the second"));
        limits.acquire("a").expect_err("two are all that a source has");
        let other = limits.acquire("b").expect("another source");
        limits.acquire("c").expect_err("three are all that there are");
        drop(other);
        permits.push(limits.acquire("c").expect("one has gone"));
        drop(permits);
        assert!(limits.inner.taken().is_empty());
    }
}
