//! Betfair's times (ISO 8601 in UTC, `2020-05-02T09:00:00.000Z`) to microseconds.

use facts::event::Micros;

use crate::error::{DecodeError, RefusalKind};

/// The time in the field `what`, or a notice that it is none.
pub(super) fn moment(
    what: &str,
    text: Option<&str>,
    notices: &mut Vec<DecodeError>,
) -> Option<Micros> {
    let at = micros(text?);
    if at.is_none() {
        let reason = format!("{what} is no time in UTC");
        notices.push(DecodeError::new(RefusalKind::Value, reason));
    }
    at
}

/// `None` for what is not such a time. The fraction may be missing, and has at most six digits.
pub(in crate::normalize) fn micros(text: &str) -> Option<Micros> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let exists = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    if !exists || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(seconds * 1_000_000 + millionths(fraction)?)
}

fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        *number = parts.next().filter(|part| part.len() == digits).and_then(digits_only)?;
    }
    parts.next().is_none().then_some(numbers)
}

fn millionths(fraction: &str) -> Option<i64> {
    let places = u32::try_from(fraction.len()).ok().filter(|places| (1..=6).contains(places))?;
    Some(digits_only(fraction)? * 10_i64.pow(6 - places))
}

/// `parse` alone would take a sign.
fn digits_only(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// In the Gregorian calendar. Years are counted from March here, so that a leap day is the last of
/// its year and months need no table: they repeat 31, 30, 31, 30, 31 (153 days).
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_times() {
        for (text, expected) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2020-05-02T05:14:40.947Z", 1_588_396_480_947_000),
            ("2017-04-25T14:19:53.643Z", 1_493_129_993_643_000),
            ("2024-02-29T23:59:59Z", 1_709_251_199_000_000),
            ("1969-12-31T23:59:59.999999Z", -1),
        ] {
            assert_eq!(micros(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn invalid_times_are_none() {
        for text in [
            "",
            "2020-05-02",
            "2020-05-02T05:14:40",
            "2020-05-02T05:14:40+01:00",
            "2023-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2020-13-01T00:00:00Z",
            "2020-00-01T00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00.Z",
            "2020-01-01T00:00:00.0000000Z",
            "2020-1-01T00:00:00Z",
            "+020-01-01T00:00:00Z",
            "2020-01-01-01T00:00:00Z",
        ] {
            assert_eq!(micros(text), None, "{text}");
        }
    }

    /// Counts the days one by one, as a check on the formula.
    fn date(mut days: i64) -> (i64, i64, i64) {
        let (mut year, mut month) = (1970, 1);
        while days >= days_of(year, month) {
            days -= days_of(year, month);
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        }
        (year, month, days + 1)
    }

    proptest! {
        #[test]
        fn every_timestamp_round_trips(at in 0_i64..4_102_444_800_000) {
            let (year, month, day) = date(at / 86_400_000);
            let (hour, minute) = (at / 3_600_000 % 24, at / 60_000 % 60);
            let (second, ms) = (at / 1000 % 60, at % 1000);
            let clock = format!("{hour:02}:{minute:02}:{second:02}.{ms:03}");
            let text = format!("{year:04}-{month:02}-{day:02}T{clock}Z");
            prop_assert_eq!(micros(&text), Some(at * 1000));
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "[0-9TZ:.+-]{0,30}|.{0,30}") {
            micros(&text);
        }
    }
}
