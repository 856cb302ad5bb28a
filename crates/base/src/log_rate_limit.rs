//! A limit on lines of the log that an outage repeats with every request or attempt.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How often a message may be logged.
const EVERY: Duration = Duration::from_secs(10);

/// Lets one message through every ten seconds, and counts the others. Usually a `static` beside what is logged.
#[derive(Debug, Default)]
pub struct LogRateLimit(Mutex<Option<LastLogged>>);

#[derive(Debug)]
struct LastLogged {
    at: Instant,
    left_out: u64,
}

impl LogRateLimit {
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// How many messages were left out since the last one, if this one is to be logged.
    pub fn admit(&self) -> Option<u64> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&self, now: Instant) -> Option<u64> {
        // It is complete after each statement.
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *logged {
            Some(LastLogged { at, left_out }) if now.saturating_duration_since(*at) < EVERY => {
                *left_out += 1;
                None
            }
            last => {
                let last = last.replace(LastLogged { at: now, left_out: 0 });
                Some(last.map_or(0, |last| last.left_out))
            }
        }
    }
}

/// Logs at most one line in ten seconds from where it stands: `log_limited!(warn, %error, "cannot write")`. Its field
/// `left_out` says how many lines were not logged since the last one. For lines that strangers or retries cause. An error alone is
/// logged with its sources: `log_limited!(warn, error, "cannot write")`.
#[macro_export]
macro_rules! log_limited {
    ($level:ident, $error:ident, $text:literal) => {
        $crate::log_limited!($level, error = &$error as &dyn ::std::error::Error, $text)
    };
    ($level:ident, $($line:tt)+) => {{
        static LIMIT: $crate::log_rate_limit::LogRateLimit =
            $crate::log_rate_limit::LogRateLimit::new();
        if let Some(left_out) = LIMIT.admit() {
            ::tracing::$level!(left_out, $($line)+);
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_in_ten_seconds_counts_the_others() {
        let (limit, first) = (LogRateLimit::new(), Instant::now());
        assert_eq!(limit.admit_at(first), Some(0));
        for seconds in [0, 1, 9] {
            assert_eq!(limit.admit_at(first + Duration::from_secs(seconds)), None);
        }
        assert_eq!(limit.admit_at(first + EVERY), Some(3));
        assert_eq!(limit.admit_at(first + EVERY), None);
        assert_eq!(limit.admit_at(first + 3 * EVERY), Some(1));
    }
}
