//! `[limits]`: how much each address and each account may ask.

use serde::{Deserialize, Serialize};

/// `[limits]`: 0 means without limit wherever a number of requests is meant. An IPv6 address stands for
/// its /64, which is what one customer of a provider has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Requests a second of one address to football's REST interface, in the long run. Default 25. Other
    /// products have the limits of accounts alone.
    pub address_per_second: u32,
    /// Requests that it may make at once. Default 110. An address that did nothing for a while has as
    /// many.
    pub address_burst: u32,
    /// Processor time of one account's requests in the long run, in hundredths of a core. Default 25. Beyond
    /// it they wait, one behind the other: a client that asks one thing after the other is slowed down and
    /// meets no error.
    pub account_cpu_percent: u32,
    /// Processor time that an account may use before its requests wait, in milliseconds. Default 5000. An
    /// account that asked nothing for a while has as much.
    pub account_cpu_burst_ms: u64,
    /// Requests of one account that may wait for processor time. Default 64. One more is answered 429.
    pub account_waiting_max: usize,
    /// Requests with a wrong key a minute of one address. Default 60. One too many is told so instead
    /// of 401; a good key goes on working. The same holds for keys of feeds, counted apart: beyond it only those
    /// that have worked before are looked up.
    pub wrong_keys_per_minute: u32,
    /// Football requests a day of an account without a paid add-on that runs. Default 7500. The day is
    /// that of UTC. Counted again from the store after a restart.
    pub football_per_day: u32,
    /// Tennis requests a day of an account without the Sports add-on. Default 0: there is no taster, and
    /// it is told at once that it needs the add-on.
    pub tennis_taster_per_day: u32,
    /// Log-ins an hour from one address, right or wrong. Default 120. Each costs a password hash.
    pub log_ins_per_hour_by_address: u32,
    /// Log-ins an hour from one address into one account. Default 20. A browser that is known to the
    /// account has as many of its own instead, and none of the other limits on log-ins.
    pub log_ins_per_hour_by_email: u32,
    /// Log-ins an hour into one account from all addresses together, from browsers that are not known
    /// to it. Default 30. Its owner gets in all the same: by a known browser, or by a mailed link.
    pub log_ins_per_hour_by_account: u32,
    /// Registrations an hour from one address. Default 30. Each costs a password hash and a mail.
    pub registrations_per_hour: u32,
    /// Other requests an hour from one address that send a mail: resets, and links once more. Default
    /// 20.
    pub mails_per_hour: u32,
    /// Requests an hour from one address that send a mail to one recipient, registrations among them.
    /// Default 4. A browser that is known to the account has as many of its own instead.
    pub mails_per_hour_by_email: u32,
    /// Addresses that are told apart for each of these limits. Default 100000, some 100 bytes each.
    /// While there are more, they share what is allowed by groups.
    pub addresses_max: usize,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            address_per_second: 25,
            address_burst: 110,
            account_cpu_percent: 25,
            account_cpu_burst_ms: 5_000,
            account_waiting_max: 64,
            wrong_keys_per_minute: 60,
            football_per_day: 7_500,
            tennis_taster_per_day: 0,
            log_ins_per_hour_by_address: 120,
            log_ins_per_hour_by_email: 20,
            log_ins_per_hour_by_account: 30,
            registrations_per_hour: 30,
            mails_per_hour: 20,
            mails_per_hour_by_email: 4,
            addresses_max: 100_000,
        }
    }
}
