//! Dates, and the time of day in the United Kingdom.

use facts::event::Micros;
use jiff::civil::{Date, Time, Weekday};

/// `DD/MM/YY` or `DD/MM/YYYY`. Two digits from 90 on are of the last century: the files begin in
/// 1993.
pub(super) fn date(text: &str) -> Option<Date> {
    let mut parts = text.split('/');
    let mut part = |most| parts.next().filter(|part| part.len() <= most && is_number(part));
    let (day, month, year) = (part(2)?, part(2)?, part(4)?);
    let short = match year.len() {
        2 => true,
        4 => false,
        _ => return None,
    };
    let year: i16 = year.parse().ok()?;
    let year = match (short, year) {
        (false, year) => year,
        (true, 90..) => 1900 + year,
        (true, _) => 2000 + year,
    };
    let none_left = parts.next().is_none();
    Date::new(year, month.parse().ok()?, day.parse().ok()?).ok().filter(|_| none_left)
}

/// `HH:MM`.
pub(super) fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| text.parse().ok().filter(|_| is_number(text));
    Time::new(number(hour)?, number(minute)?, 0, 0).ok()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A moment of the clocks in London. Summer time is reckoned by its rule, because no database of
/// zones is linked: an hour ahead from the last Sunday of March to that of October, 01:00 UTC. The
/// rule is in force since 1996; files with times begin in 2019.
#[must_use]
pub fn london(date: Date, time: Time) -> Option<Micros> {
    let standard = micros(date, time)?;
    let one = Time::constant(1, 0, 0, 0);
    let begins = micros(last_sunday(date.year(), 3)?, one)?;
    let ends = micros(last_sunday(date.year(), 10)?, one)?;
    let summer = standard - 3_600_000_000;
    Some(if (begins..ends).contains(&summer) { summer } else { standard })
}

/// As if the clocks were those of UTC.
fn micros(date: Date, time: Time) -> Option<Micros> {
    let epoch = Date::constant(1970, 1, 1);
    let days = i64::from(epoch.until(date).ok()?.get_days());
    let of_day = i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60;
    Some((days * 86_400 + of_day) * 1_000_000)
}

fn last_sunday(year: i16, month: i8) -> Option<Date> {
    Date::new(year, month, 1).ok()?.nth_weekday_of_month(-1, Weekday::Sunday).ok()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn dates_have_two_or_four_digits_of_the_year() {
        for (text, expected) in [
            ("13/08/16", Some("2016-08-13")),
            ("09/08/2019", Some("2019-08-09")),
            ("14/08/93", Some("1993-08-14")),
            ("1/2/2020", Some("2020-02-01")),
            ("31/02/2020", None),
            ("2020-02-01", None),
            ("01/02/2020/1", None),
            ("01/02/202", None),
            ("+1/02/2020", None),
            ("", None),
        ] {
            assert_eq!(date(text).map(|it| it.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn summer_time_follows_the_british_rule() {
        for (day, clock, expected) in [
            ("09/08/2019", "20:00", "2019-08-09T19:00:00Z"),
            ("01/01/2020", "12:30", "2020-01-01T12:30:00Z"),
            ("29/03/2020", "00:59", "2020-03-29T00:59:00Z"),
            ("29/03/2020", "02:00", "2020-03-29T01:00:00Z"),
            ("28/03/2020", "23:00", "2020-03-28T23:00:00Z"),
            ("27/10/2019", "00:30", "2019-10-26T23:30:00Z"),
            ("27/10/2019", "02:00", "2019-10-27T02:00:00Z"),
            ("27/10/2019", "16:30", "2019-10-27T16:30:00Z"),
        ] {
            let found = london(date(day).unwrap(), time(clock).unwrap()).unwrap();
            let found = Timestamp::from_microsecond(found).unwrap().to_string();
            assert_eq!(found, expected, "{day} {clock}");
        }
        for clock in ["24:00", "12", "1:2:3", "+1:00", ""] {
            assert_eq!(time(clock), None, "{clock}");
        }
    }
}
