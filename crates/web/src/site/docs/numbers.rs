//! The configured limits that the documentation shows.

use accounts::config::LimitsConfig;
use hub::config::HubConfig;

use crate::{
    config::{FanoutConfig, ServerConfig},
    site::grouped,
};

/// The settings that concern customers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Numbers {
    channels_max: usize,
    channels_max_per_account: usize,
    patterns_max: usize,
    from_bytes_max: usize,
    command_bytes_max: usize,
    sockets_max_per_account: usize,
    outbox_bytes: usize,
    outbox_age_ms: u64,
    idle_ms: u64,
    stall_ms: u64,
    beat_ms: u64,
    tail_bytes: usize,
    tail_ms: u64,
    ended_keep_ms: u64,
    address_per_second: u32,
    address_burst: u32,
    account_cpu_percent: u32,
    wrong_keys_per_minute: u32,
    football_per_day: u32,
    tennis_taster_per_day: u32,
}

/// A row of a table of limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) what: &'static str,
    pub(super) much: String,
}

impl Numbers {
    /// Reads them from the settings.
    #[must_use]
    pub(super) fn new(
        server: &ServerConfig,
        fanout: &FanoutConfig,
        hub: &HubConfig,
        limits: &LimitsConfig,
    ) -> Self {
        Self {
            channels_max: fanout.channels_max,
            channels_max_per_account: fanout.channels_max_per_account,
            patterns_max: fanout.patterns_max,
            from_bytes_max: fanout.from_bytes_max,
            command_bytes_max: server.command_bytes_max,
            sockets_max_per_account: fanout.sockets_max_per_account,
            outbox_bytes: fanout.outbox_bytes,
            outbox_age_ms: fanout.outbox_age_ms,
            idle_ms: fanout.idle_ms,
            stall_ms: fanout.stall_ms,
            beat_ms: fanout.beat_ms,
            tail_bytes: hub.tail_bytes,
            tail_ms: hub.tail_ms,
            ended_keep_ms: hub.ended_keep_ms,
            address_per_second: limits.address_per_second,
            address_burst: limits.address_burst,
            account_cpu_percent: limits.account_cpu_percent,
            wrong_keys_per_minute: limits.wrong_keys_per_minute,
            football_per_day: limits.football_per_day,
            tennis_taster_per_day: limits.tennis_taster_per_day,
        }
    }

    /// Football requests per day for an account without a paid add-on; `None` if unlimited.
    pub(super) fn football_per_day(&self) -> Option<u32> {
        (self.football_per_day > 0).then_some(self.football_per_day)
    }

    /// The limits on HTTP requests. Limits that are off are not listed.
    pub(super) fn rest(&self) -> Vec<Limit> {
        let (steady, burst) = (self.address_per_second, self.address_burst);
        let all = [
            (
                steady,
                "Requests for cached football data per IP address; one at a time waits",
                format!(
                    "{} per second, burst of {}",
                    grouped(steady.into()),
                    grouped(burst.into())
                ),
            ),
            (
                self.account_cpu_percent,
                "CPU time per account; beyond it, requests wait",
                format!("{}% of a core", self.account_cpu_percent),
            ),
            (
                self.football_per_day,
                "Football requests, for accounts without a paid add-on",
                format!("{} per day", grouped(self.football_per_day.into())),
            ),
            (
                self.tennis_taster_per_day,
                "Tennis requests, for accounts without the Sports add-on",
                format!("{} per day", grouped(self.tennis_taster_per_day.into())),
            ),
            (
                self.wrong_keys_per_minute,
                "Requests with an invalid key, per IP address",
                format!("{} per minute", grouped(self.wrong_keys_per_minute.into())),
            ),
        ];
        let on = all.into_iter().filter(|(number, ..)| *number > 0);
        on.map(|(_, what, much)| limit(what, much)).collect()
    }

    /// Seconds between two heartbeats.
    pub(super) fn beat_s(&self) -> String {
        decimal(self.beat_ms, 1000)
    }

    pub(super) fn sockets(&self) -> Vec<Limit> {
        let mut limits = vec![
            limit("Sockets per account", grouped(self.sockets_max_per_account as u64)),
            limit("Channels per socket", grouped(self.channels_max as u64)),
            limit(
                "Channels of all sockets of an account",
                grouped(self.channels_max_per_account as u64),
            ),
            limit("Patterns per socket", grouped(self.patterns_max as u64)),
            limit("Size of a command", bytes(self.command_bytes_max)),
            limit(
                "Size of a subscribe to a pattern with positions, or with chs",
                bytes(self.from_bytes_max),
            ),
            limit(
                "Queue of a socket before it counts as slow and gets merged updates",
                format!("{} or {}", bytes(self.outbox_bytes), span(self.outbox_age_ms)),
            ),
            limit("Time without reading before a socket is closed", span(self.stall_ms)),
            limit(
                "How far back a channel can be resumed",
                format!("{}, at most {}", span(self.tail_ms), bytes(self.tail_bytes)),
            ),
            limit("How long an ended match stays available", span(self.ended_keep_ms)),
        ];
        if self.idle_ms > 0 {
            let what =
                "Idle time before a socket is closed; your WebSocket library answers our pings";
            limits.push(limit(what, span(self.idle_ms)));
        }
        limits
    }
}

fn limit(what: &'static str, much: String) -> Limit {
    Limit { what, much }
}

fn bytes(bytes: usize) -> String {
    let bytes = bytes as u64;
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", decimal(bytes, 1024)),
        _ => format!("{} MiB", decimal(bytes, 1_048_576)),
    }
}

/// A number of milliseconds in a suitable unit.
fn span(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..120_000 => format!("{} s", decimal(ms, 1000)),
        120_000..7_200_000 => format!("{} minutes", decimal(ms, 60_000)),
        _ => format!("{} hours", decimal(ms, 3_600_000)),
    }
}

/// A quotient with at most one decimal place.
fn decimal(number: u64, unit: u64) -> String {
    let tenths = number.saturating_mul(10) / unit;
    match tenths % 10 {
        0 => grouped(tenths / 10),
        tenth => format!("{}.{tenth}", grouped(tenths / 10)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(fanout: &FanoutConfig, limits: &LimitsConfig) -> Numbers {
        Numbers::new(&ServerConfig::default(), fanout, &HubConfig::default(), limits)
    }

    #[test]
    fn numbers_are_formatted_for_people() {
        assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
        assert_eq!([100, 16_384, 4_194_304].map(bytes), ["100 bytes", "16 KiB", "4 MiB"]);
        assert_eq!(
            [500, 1000, 90_000, 300_000, 7_200_000].map(span),
            ["500 ms", "1 s", "90 s", "5 minutes", "2 hours"]
        );
        assert_eq!(span(1500), "1.5 s");
    }

    #[test]
    fn disabled_limit_is_not_shown() {
        let mut limits = LimitsConfig {
            football_per_day: 7500,
            tennis_taster_per_day: 0,
            ..LimitsConfig::default()
        };
        let rest_limits = numbers(&FanoutConfig::default(), &limits).rest();
        assert!(rest_limits.iter().any(|it| it.much == "7,500 per day"), "{rest_limits:?}");
        assert!(rest_limits.iter().all(|it| !it.what.starts_with("Tennis")), "{rest_limits:?}");
        limits.football_per_day = 0;
        assert_eq!(numbers(&FanoutConfig::default(), &limits).football_per_day(), None);
    }

    #[test]
    fn limits_come_from_the_settings() {
        let mut fanout = FanoutConfig { channels_max: 1234, idle_ms: 0, ..FanoutConfig::default() };
        let default = LimitsConfig::default();
        let numbers_now = numbers(&fanout, &default);
        assert_eq!((numbers_now.channels_max, &*numbers_now.beat_s()), (1234, "5"));
        let socket_limits =
            |numbers: &Numbers| numbers.sockets().iter().map(|it| it.much.clone()).collect();
        let limits: Vec<String> = socket_limits(&numbers_now);
        assert!(limits.contains(&"1,234".to_owned()), "{limits:?}");
        fanout.idle_ms = 90_000;
        let more: Vec<String> = socket_limits(&numbers(&fanout, &default));
        assert_eq!(more.len(), limits.len() + 1, "a limit that is off is not shown");
    }
}
