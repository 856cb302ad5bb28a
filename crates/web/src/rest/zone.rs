//! Times of a response in the time zone that its request names.
//!
//! Handlers write times in UTC. Only requests with `timezone` pay for the conversion, which works on the finished JSON: every text that
//! is a timestamp, in any response. Days without a time stay as they are.

use jiff::{Timestamp, tz::TimeZone};

/// The longest timestamp: `2026-08-30T18:00:00.123456789+00:00`.
const CHARS_MAX: usize = 35;

/// The same JSON with its timestamps in a zone: `"2026-08-30T18:00:00Z"` is `"2026-08-30T20:00:00+02:00"` in Berlin.
pub(super) fn converted(body: &[u8], zone: &TimeZone) -> Vec<u8> {
    let mut converted = Vec::with_capacity(body.len() + body.len() / 32);
    let mut rest = body;
    while let Some(quote) = rest.iter().position(|byte| *byte == b'"') {
        let is_escaped = quote > 0 && rest.get(quote - 1) == Some(&b'\\');
        let (before, after) = rest.split_at(quote + 1);
        converted.extend_from_slice(before);
        let end = after.iter().take(CHARS_MAX + 1).position(|byte| *byte == b'"');
        let text = end.filter(|_| !is_escaped).and_then(|end| after.get(..end));
        match text.and_then(|text| Some((text.len(), in_zone(text, zone)?))) {
            Some((length, text)) => {
                converted.extend_from_slice(text.as_bytes());
                rest = after.get(length..).unwrap_or_default();
            }
            None => rest = after,
        }
    }
    converted.extend_from_slice(rest);
    converted
}

/// A timestamp in a zone, with the digits that it has; `None` for any other text.
fn in_zone(text: &[u8], zone: &TimeZone) -> Option<String> {
    let (day, time) = (text.get(..10)?, text.get(11..)?);
    let has_day = day.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
    if !has_day || text.get(10) != Some(&b'T') || time.len() < "00:00:00Z".len() {
        return None;
    }
    let text = str::from_utf8(text).ok()?;
    let at: Timestamp = text.parse().ok()?;
    let fraction = text.find('.').and_then(|point| text.get(point..)).unwrap_or_default();
    let digits = fraction.trim_start_matches('.').find(|c: char| !c.is_ascii_digit());
    let fraction = digits.and_then(|digits| fraction.get(..=digits)).unwrap_or_default();
    let at = at.to_zoned(zone.clone());
    Some(format!("{}{fraction}{}", at.strftime("%Y-%m-%dT%H:%M:%S"), at.strftime("%:z")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_converted_and_nothing_else() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        for (body, expected) in [
            (r#"["2026-08-30T18:00:00Z"]"#, r#"["2026-08-30T20:00:00+02:00"]"#),
            (r#"{"a":"2026-12-31T23:30:00+00:00"}"#, r#"{"a":"2027-01-01T00:30:00+01:00"}"#),
            (r#""2026-08-30T18:00:00.120000Z""#, r#""2026-08-30T20:00:00.120000+02:00""#),
            (
                r#"{"2026-08-30":"2026-08-30","b":"2026"}"#,
                r#"{"2026-08-30":"2026-08-30","b":"2026"}"#,
            ),
            (
                r#"{"next":"http://h/?date_from=2026-08-30T18:00:00Z"}"#,
                r#"{"next":"http://h/?date_from=2026-08-30T18:00:00Z"}"#,
            ),
            (r#"["said \"2026-08-30T18:00:00Z"]"#, r#"["said \"2026-08-30T18:00:00Z"]"#),
            (r#"["\\","2026-08-30T18:00:00Z"]"#, r#"["\\","2026-08-30T20:00:00+02:00"]"#),
            (
                r#"["2026-13-30T18:00:00Z","2026-08-30T18:00Z"]"#,
                r#"["2026-13-30T18:00:00Z","2026-08-30T18:00Z"]"#,
            ),
            ("[1,null,2.50]", "[1,null,2.50]"),
            ("", ""),
        ] {
            let converted = converted(body.as_bytes(), &berlin);
            assert_eq!(String::from_utf8(converted).unwrap(), expected);
        }
    }

    #[test]
    fn converted_times_are_the_same_moments() {
        let body = br#"["2026-03-29T00:59:59+00:00","2026-03-29T01:00:00+00:00"]"#;
        for zone in ["Asia/Kathmandu", "America/New_York", "Europe/Berlin", "UTC"] {
            let zone = TimeZone::get(zone).unwrap();
            let times: Vec<Timestamp> =
                serde_json::from_slice::<Vec<String>>(&converted(body, &zone))
                    .unwrap()
                    .iter()
                    .map(|text| text.parse().unwrap())
                    .collect();
            let expected = ["2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"];
            assert_eq!(times, expected.map(|text| text.parse::<Timestamp>().unwrap()));
        }
    }
}
