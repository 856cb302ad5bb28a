//! `[limits]`: request limits per address and per account.

use serde::{Deserialize, Serialize};

/// `[limits]`: 0 means unlimited where a setting is a number of requests. An IPv6 address counts by its /64, which is
/// what a provider gives to one customer. docs/OPERATING.md#limits
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Sustained requests per second of one address to the cached parts of football's REST interface: matches, leagues, teams,
    /// predictions, one referee and one venue. Default 25. Others have only the limits by account. Beyond it, one request of an
    /// address at a time waits; with several in flight, 429.
    pub address_per_second: u32,
    /// Requests that an address may make at once after it was idle. Default 110.
    pub address_burst: u32,
    /// Sustained processor time of the requests of one account, or of an address without a key, in hundredths of a
    /// core. Default 25. Beyond it, its requests are queued: a client that sends one request after the other is
    /// slowed down and gets no errors.
    pub account_cpu_percent: u32,
    /// Processor time that an account may use before its requests are queued, in milliseconds.
    /// Default 5000, available again after the account was idle for a while.
    pub account_cpu_burst_ms: u64,
    /// Requests of one account that may wait for processor time. Default 64. Further ones get 429.
    pub account_waiting_max: usize,
    /// Requests per minute of one address with a wrong key. Default 60. Further ones get 429
    /// instead of 401; a valid key keeps working. Feed keys have a separate counter with the same
    /// limit: beyond it, only keys that have worked before are looked up.
    pub wrong_keys_per_minute: u32,
    /// Football requests per day of an account without an active paid add-on. Default 7500. Days
    /// are in UTC. After a restart the count continues from the database.
    pub football_per_day: u32,
    /// Tennis requests per day of an account without the Sports add-on. Default 0: no free
    /// requests; the response says at once that the add-on is required.
    pub tennis_taster_per_day: u32,
    /// Log-ins per hour from one address, successful or not. Default 120. Each costs a password
    /// hash.
    pub log_ins_per_hour_by_address: u32,
    /// Log-ins per hour from one address to one account. Default 20. A browser that the account
    /// knows has the same limit for itself, and no other limit on log-ins.
    pub log_ins_per_hour_by_email: u32,
    /// Log-ins per hour to one account from all addresses, from browsers that the account does not
    /// know. Default 30. The owner can still log in with a known browser or by a mailed link.
    pub log_ins_per_hour_by_account: u32,
    /// Registrations per hour from one address. Default 30. Each costs a password hash and a mail.
    pub registrations_per_hour: u32,
    /// Other requests per hour from one address that send a mail: password resets, and repeated
    /// links. Default 20.
    pub mails_per_hour: u32,
    /// Requests per hour from one address that send a mail to one recipient, including
    /// registrations. Default 4. A browser that the account knows has the same limit for itself.
    pub mails_per_hour_by_email: u32,
    /// Requests per minute of one address for tokens of connected applications, and to revoke them.
    /// Default 300: a provider of agents connects many customers from few addresses.
    pub token_requests_per_minute: u32,
    /// Metadata documents of applications that one address lets the hub fetch per hour. Default 60.
    /// Documents in the cache do not count.
    pub client_documents_per_hour: u32,
    /// Addresses that are tracked separately for each of these limits. Default 100000, about 100
    /// bytes each. Beyond that, groups of addresses share an allowance.
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
            token_requests_per_minute: 300,
            client_documents_per_hour: 60,
            addresses_max: 100_000,
        }
    }
}
