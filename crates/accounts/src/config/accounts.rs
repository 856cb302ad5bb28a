//! `[accounts]`: keys, passwords, links and sessions, and their costs.

use std::fmt;

use serde::{Deserialize, Serialize};

const HOUR_US: i64 = 60 * 60 * 1_000_000;

/// `[accounts]`: keys and the cache of them, the cost of passwords, and the lifetime of links and
/// sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccountsConfig {
    /// Keys in the cache. Default 100000, about 200 bytes each.
    pub cache_entries_max: usize,
    /// Milliseconds for which a cached key is not read from the database again. Default 60000.
    /// Changes invalidate it at once; this limits the effect of a missed change. Each refresh costs
    /// a look-up per key.
    pub cache_ms: u64,
    /// Milliseconds between two checks for changes by other programs, such as `matchwire key
    /// revoke`. Default 100. A check takes microseconds.
    pub watch_ms: u64,
    /// The secret of the keyed hash under which keys are stored, and of the signatures in links. Default empty: a
    /// random one, stored in the database. It cannot be changed while there are keys. Set it in the environment,
    /// where `matchwire key` finds it too. Variable: `MATCHWIRE_ACCOUNTS_PEPPER`.
    pub pepper: PepperSetting,
    /// Minimum length of a new password in characters. Default 10. Existing passwords are not
    /// affected.
    pub password_chars_min: usize,
    /// KiB of memory for hashing one password (argon2id). Default 19456. Together with
    /// `password_passes` it is the cost of a guess for an attacker with a stolen database. A
    /// password that was hashed with other values is rehashed when its owner logs in.
    pub password_memory_kib: u32,
    /// Passes over this memory. Default 2. With the default memory, about 20 ms of a core.
    pub password_passes: u32,
    /// Passwords that are hashed at a time. Default 2. Each takes a core and the memory above.
    pub password_hashes_max: usize,
    /// Passwords that wait to be hashed. Default 100. Further requests are refused and may retry.
    pub password_waiting_max: usize,
    /// Milliseconds that a password waits to be hashed. Default 5000. Then the request is asked to
    /// retry.
    pub password_wait_ms: u64,
    /// Minimum response time in milliseconds of registration and of requests for a mail. Default
    /// 400. The work usually takes less, so response times do not reveal which addresses have an
    /// account.
    pub answer_ms: u64,
    /// Hours for which a mailed link is valid. Default 24.
    pub link_hours: u32,
    /// Mails with a link that strangers can trigger for one account per hour. Default 6. Further
    /// ones are not sent; the links that were sent stay valid.
    pub mails_max_per_hour: u32,
    /// Additional mails with a link per hour that the owner can request from a browser that the
    /// account knows. Default 3.
    pub mails_reserved_per_hour: u32,
    /// Days for which an account knows a browser that logged in. Default 180. A known browser has its own limits,
    /// which strangers cannot use up. docs/OPERATING.md#guessing-and-flooding
    pub device_days: u32,
    /// Days after which an account with an unconfirmed address is removed. Default 7.
    pub unconfirmed_days: u32,
    /// Hours of inactivity after which a session ends. Default 336, two weeks.
    pub session_idle_hours: u32,
    /// Days after which a session always ends. Default 90.
    pub session_days: u32,
    /// Hours after which an administrator's session always ends. Default 12.
    pub admin_session_hours: u32,
    /// Sessions of one account. Default 20. A further one ends the oldest.
    pub sessions_max_per_account: u32,
    /// Named keys of one account. Default 50. Revoked ones do not count, and ended ones give their place to new ones.
    /// docs/ACCOUNTS.md#named-keys
    pub named_keys_max: u32,
    /// Minutes for which a key that was created when an address was confirmed can still be shown in
    /// full. Default 60. Until then it is held in memory only.
    pub new_key_minutes: u32,
    /// Such keys at a time. Default 10000, about 100 bytes each. Beyond that, the oldest can no
    /// longer be shown, but still works.
    pub new_keys_max: usize,
}

impl AccountsConfig {
    /// `cache_ms` in microseconds, as `now` is given.
    #[must_use]
    pub fn cache_age_max(&self) -> i64 {
        i64::try_from(self.cache_ms).map_or(i64::MAX, |ms| ms.saturating_mul(1_000))
    }

    /// `link_hours` in microseconds.
    #[must_use]
    pub fn link_age_max(&self) -> i64 {
        i64::from(self.link_hours) * HOUR_US
    }

    /// `unconfirmed_days` in microseconds.
    #[must_use]
    pub fn unconfirmed_age_max(&self) -> i64 {
        i64::from(self.unconfirmed_days) * 24 * HOUR_US
    }

    /// `session_idle_hours` in microseconds.
    #[must_use]
    pub fn session_idle_max(&self) -> i64 {
        i64::from(self.session_idle_hours) * HOUR_US
    }

    /// `session_days` in microseconds.
    #[must_use]
    pub fn session_age_max(&self) -> i64 {
        i64::from(self.session_days) * 24 * HOUR_US
    }

    /// `admin_session_hours` in microseconds.
    #[must_use]
    pub fn admin_session_age_max(&self) -> i64 {
        i64::from(self.admin_session_hours) * HOUR_US
    }

    /// `new_key_minutes` in microseconds.
    #[must_use]
    pub fn new_key_age_max(&self) -> i64 {
        i64::from(self.new_key_minutes) * 60 * 1_000_000
    }

    /// # Errors
    ///
    /// The name of the setting that is wrong, and what it must be.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let limits = [
            // The minimum of argon2 is 8; the maximum catches a wrong unit.
            (
                (8..=4 * 1024 * 1024).contains(&self.password_memory_kib),
                "accounts.password_memory_kib",
                "from 8 to 4194304",
            ),
            // An impossible minimum length would lock everyone out.
            (self.password_chars_min <= 64, "accounts.password_chars_min", "64 at most"),
            (self.password_hashes_max <= 1024, "accounts.password_hashes_max", "1024 at most"),
            (self.password_waiting_max <= 65536, "accounts.password_waiting_max", "65536 at most"),
        ];
        match limits.into_iter().find(|&(good, ..)| !good) {
            Some((_, name, expected)) => Err((name, expected)),
            None => Ok(()),
        }
    }
}

impl Default for AccountsConfig {
    fn default() -> Self {
        Self {
            cache_entries_max: 100_000,
            cache_ms: 60_000,
            watch_ms: 100,
            pepper: PepperSetting::default(),
            password_chars_min: 10,
            password_memory_kib: 19_456,
            password_passes: 2,
            password_hashes_max: 2,
            password_waiting_max: 100,
            password_wait_ms: 5_000,
            answer_ms: 400,
            link_hours: 24,
            mails_max_per_hour: 6,
            mails_reserved_per_hour: 3,
            device_days: 180,
            unconfirmed_days: 7,
            session_idle_hours: 336,
            session_days: 90,
            admin_session_hours: 12,
            sessions_max_per_account: 20,
            named_keys_max: 50,
            new_key_minutes: 60,
            new_keys_max: 10_000,
        }
    }
}

/// A secret setting: it is read, but serialises as if it were not set.
#[derive(Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(transparent)]
pub struct PepperSetting(String);

impl PepperSetting {
    /// The secret; `None` if it is empty.
    #[must_use]
    pub fn expose(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(&self.0)
    }
}

impl From<&str> for PepperSetting {
    fn from(secret: &str) -> Self {
        Self(secret.to_owned())
    }
}

impl fmt::Debug for PepperSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "PepperSetting(none)" } else { "PepperSetting(..)" })
    }
}

impl Serialize for PepperSetting {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("")
    }
}
