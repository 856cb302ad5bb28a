//! `[accounts]`: keys, passwords, links and sessions, and what each may cost.

use std::fmt;

use serde::{Deserialize, Serialize};

const HOUR_US: i64 = 60 * 60 * 1_000_000;

/// `[accounts]`: keys, and how fresh the knowledge of them is; what a password costs; how long links
/// and sessions last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccountsConfig {
    /// Keys that are recognised without asking the database. Default 100000. About 200 bytes each.
    pub cache_entries_max: usize,
    /// Milliseconds for which a recognised key is not read again. Default 60000. Changes are noticed
    /// at once anyway; this bounds the harm if one should be missed. Costs a look-up a key each time.
    pub cache_ms: u64,
    /// Milliseconds between two looks for changes by other programs, such as `matchwire key revoke`.
    /// Default 100. A look takes microseconds.
    pub watch_ms: u64,
    /// The secret of the keyed hash under which keys are stored, and of what signs links. Default
    /// empty: a random one, kept in the database. It cannot be changed while there are keys. Best given
    /// in the environment, where `matchwire key` finds it too.
    pub pepper: Pepper,
    /// Characters that a new password has at least. Default 10. Passwords from before are not asked.
    pub password_chars_min: usize,
    /// KiB of memory that hashing one password takes (argon2id). Default 19456. With `password_passes`,
    /// what a guess costs whoever stole the database. A password that was hashed with other values is
    /// hashed anew when its owner logs in.
    pub password_memory_kib: u32,
    /// Times that this memory is filled. Default 2. With the default memory, some 20 ms of a core.
    pub password_passes: u32,
    /// Passwords that are hashed at a time. Default 4. Each takes a core and the memory above.
    pub password_hashes_max: usize,
    /// Passwords that wait for their turn. Default 100. Those after them are told to come again.
    pub password_waiting_max: usize,
    /// Milliseconds that a password waits for its turn. Default 5000. Then it is told to come again.
    pub password_wait_ms: u64,
    /// Milliseconds that registering and asking for a mail take at least. Default 400. All of it takes
    /// less as a rule, so the time tells nobody which addresses have an account.
    pub answer_ms: u64,
    /// Hours for which a link that was sent by mail is good. Default 24.
    pub link_hours: u32,
    /// Mails with a link that strangers can cause to one account in an hour. Default 6. More are not
    /// sent; each of those that were has a link that works.
    pub mails_max_per_hour: u32,
    /// Mails with a link that the owner of an account can ask for in an hour besides, from a browser
    /// that is known to the account. Default 3.
    pub mails_reserved_per_hour: u32,
    /// Days for which a browser that logged in stays known to its account. Default 180. A known browser
    /// has limits of its own, which strangers cannot use up.
    pub device_days: u32,
    /// Days after which an account whose address was never confirmed is removed. Default 7.
    pub unconfirmed_days: u32,
    /// Hours without a visit after which a session ends. Default 336, two weeks.
    pub session_idle_hours: u32,
    /// Days after which a session ends in any case. Default 90.
    pub session_days: u32,
    /// Hours after which the session of an administrator ends in any case. Default 12.
    pub admin_session_hours: u32,
    /// Sessions of one account. Default 20. With one more, the oldest ends.
    pub sessions_max_per_account: u32,
    /// Minutes for which a key made at the confirmation of an address can still be shown in full.
    /// Default 60. Until then it is held in memory, and nowhere else.
    pub new_key_minutes: u32,
    /// Such keys at a time. Default 10000. About 100 bytes each; with one more, the oldest can be shown
    /// no longer, and works all the same.
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

    /// What must not be 0.
    pub(super) fn knobs(&self) -> [(&'static str, u64); 21] {
        [
            ("accounts.cache_entries_max", self.cache_entries_max as u64),
            ("accounts.cache_ms", self.cache_ms),
            ("accounts.watch_ms", self.watch_ms),
            ("accounts.password_chars_min", self.password_chars_min as u64),
            ("accounts.password_memory_kib", self.password_memory_kib.into()),
            ("accounts.password_passes", self.password_passes.into()),
            ("accounts.password_hashes_max", self.password_hashes_max as u64),
            ("accounts.password_waiting_max", self.password_waiting_max as u64),
            ("accounts.password_wait_ms", self.password_wait_ms),
            ("accounts.answer_ms", self.answer_ms),
            ("accounts.link_hours", self.link_hours.into()),
            ("accounts.mails_max_per_hour", self.mails_max_per_hour.into()),
            ("accounts.mails_reserved_per_hour", self.mails_reserved_per_hour.into()),
            ("accounts.device_days", self.device_days.into()),
            ("accounts.unconfirmed_days", self.unconfirmed_days.into()),
            ("accounts.session_idle_hours", self.session_idle_hours.into()),
            ("accounts.session_days", self.session_days.into()),
            ("accounts.admin_session_hours", self.admin_session_hours.into()),
            ("accounts.sessions_max_per_account", self.sessions_max_per_account.into()),
            ("accounts.new_key_minutes", self.new_key_minutes.into()),
            ("accounts.new_keys_max", self.new_keys_max as u64),
        ]
    }

    /// # Errors
    ///
    /// The name of the setting that is wrong, and what it must be.
    pub(super) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let limits = [
            // Less is no argon2; more is a mistyped unit.
            (
                (8..=4 * 1024 * 1024).contains(&self.password_memory_kib),
                "accounts.password_memory_kib",
                "from 8 to 4194304",
            ),
            // A password of which nobody could type enough characters would lock everybody out.
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
            pepper: Pepper::default(),
            password_chars_min: 10,
            password_memory_kib: 19_456,
            password_passes: 2,
            password_hashes_max: 4,
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
            new_key_minutes: 60,
            new_keys_max: 10_000,
        }
    }
}

/// A secret among the settings: read, never shown. It is written out as if it were not set.
#[derive(Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(transparent)]
pub struct Pepper(String);

impl Pepper {
    /// The secret; `None` where it was left empty.
    #[must_use]
    pub fn expose(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(&self.0)
    }
}

impl From<&str> for Pepper {
    fn from(secret: &str) -> Self {
        Self(secret.to_owned())
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Pepper(none)" } else { "Pepper(..)" })
    }
}

impl Serialize for Pepper {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("")
    }
}
