//! Daily quotas of accounts without a paid add-on, and their response headers.

use crate::accounts::Micros;

const SECOND_US: Micros = 1_000_000;
const DAY_S: i64 = 24 * 60 * 60;

base::words! {
    /// A daily allowance, with its name in the `RateLimit` fields.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Allowance {
        /// Football, for an account without add-ons.
        Football = "football",
        /// Tennis, for an account without the Sports add-on.
        Tennis = "tennis",
    }
}

/// An allowance and its requests per day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    pub allowance: Allowance,
    pub per_day: u64,
}

impl Quota {
    /// The status with this many requests left today.
    #[must_use]
    pub fn status(self, left: u64, now: Micros) -> QuotaStatus {
        QuotaStatus { quota: self, left, reset_s: until_midnight(now) }
    }
}

/// The status of an account's quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaStatus {
    pub quota: Quota,
    /// Requests that are left today.
    pub left: u64,
    /// Seconds until 00:00 UTC, when the quota resets.
    pub reset_s: u64,
}

impl QuotaStatus {
    /// The field `RateLimit-Policy`: `"football";q=7500;w=86400`.
    #[must_use]
    pub fn policy(&self) -> String {
        let Quota { allowance, per_day } = self.quota;
        format!("\"{}\";q={per_day};w={DAY_S}", allowance.as_str())
    }

    /// The field `RateLimit`: `"football";r=7213;t=52800`.
    #[must_use]
    pub fn rate(&self) -> String {
        format!("\"{}\";r={};t={}", self.quota.allowance.as_str(), self.left, self.reset_s)
    }
}

/// Whole seconds until the day ends in UTC, at least one.
fn until_midnight(now: Micros) -> u64 {
    let second = now.div_euclid(SECOND_US).rem_euclid(DAY_S);
    (DAY_S - second).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SERVICE section 6: the two fields, to the letter, and the reset at 00:00 UTC.
    #[test]
    fn header_fields_contain_remaining_calls_and_reset_time() {
        let quota = Quota { allowance: Allowance::Football, per_day: 7_500 };
        let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        let status = quota.status(7_213, at("2026-08-20T09:20:00Z"));
        assert_eq!(status.policy(), r#""football";q=7500;w=86400"#);
        assert_eq!(status.rate(), r#""football";r=7213;t=52800"#);
        let check = |moment: &str, reset_s: u64| {
            assert_eq!(quota.status(1, at(moment)).reset_s, reset_s, "{moment}");
        };
        check("2026-08-20T00:00:00Z", 86_400);
        check("2026-08-20T23:59:59.999999Z", 1);
        check("2026-08-20T23:59:58.5Z", 2);
        check("1969-12-31T23:00:00Z", 3_600);
    }
}
