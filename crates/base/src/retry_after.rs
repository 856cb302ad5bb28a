//! The header `Retry-After` (RFC 9110, section 10.2.3).

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};

/// How long a server asks to wait: seconds, or a date by the server's own clock, which is the header `Date` of the same
/// response. `None` if it cannot be read.
#[must_use]
pub fn retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let (until, now) = (timestamp(value)?, timestamp(date?)?);
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

fn timestamp(date: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_read_in_both_forms() {
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        for (value, date, expected) in [
            ("7", None, Some(7)),
            (" 600 ", date, Some(600)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", date, Some(30)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", date, Some(0)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", None, None),
            ("soon", date, None),
            ("-1", date, None),
        ] {
            assert_eq!(retry_after(value, date), expected.map(Duration::from_secs), "{value}");
        }
    }
}
