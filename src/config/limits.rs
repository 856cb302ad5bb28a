//! `[limits]`: how much each address and each account may ask.

use serde::{Deserialize, Serialize};

/// `[limits]`: 0 means without limit wherever a number of requests is meant. An IPv6 address stands for
/// its /64, which is what one customer of a provider has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Requests a second of one address to the products, in the long run. Default 25.
    pub address_per_second: u32,
    /// Requests that it may make at once. Default 110. An address that did nothing for a while has as
    /// many.
    pub address_burst: u32,
    /// Requests with a wrong key a minute of one address. Default 60. One too many is told so instead
    /// of 401; a good key goes on working.
    pub wrong_keys_per_minute: u32,
    /// Football requests a day of an account without a paid add-on that runs. Default 7500. The day is
    /// that of UTC. Counted again from the store after a restart.
    pub football_per_day: u32,
    /// Tennis requests a day of an account without the Sports add-on. Default 0: there is no taster, and
    /// it is told at once that it needs the add-on.
    pub tennis_taster_per_day: u32,
    /// Log-ins an hour from one address, right or wrong. Default 120. Each costs a password hash.
    pub log_ins_per_hour_by_address: u32,
    /// Log-ins an hour from one address into one account. Default 20.
    pub log_ins_per_hour_by_email: u32,
    /// Registrations an hour from one address. Default 30. Each costs a password hash and a mail.
    pub registrations_per_hour: u32,
    /// Other requests an hour from one address that send a mail: resets, and links once more. Default
    /// 20.
    pub mails_per_hour: u32,
    /// Addresses that are told apart for each of these limits. Default 100000, some 100 bytes each.
    /// While there are more, they share what is allowed by groups.
    pub addresses_max: usize,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            address_per_second: 25,
            address_burst: 110,
            wrong_keys_per_minute: 60,
            football_per_day: 7_500,
            tennis_taster_per_day: 0,
            log_ins_per_hour_by_address: 120,
            log_ins_per_hour_by_email: 20,
            registrations_per_hour: 30,
            mails_per_hour: 20,
            addresses_max: 100_000,
        }
    }
}
