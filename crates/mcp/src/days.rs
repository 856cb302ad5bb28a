//! Days as people name them: `today`, `saturday`, `last week`, `next 3 days`, `28/11/2026`, ISO dates.

mod reading;

use base::{Micros, clock, time_format};
use jiff::{Span as Duration, Timestamp, ToSpan as _, Zoned, civil::Date, tz::TimeZone};

pub(crate) use self::reading::ambiguous_date;

/// A range of time in microseconds: from `from` until before `before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeSpan {
    pub from: Micros,
    pub before: Micros,
}

impl TimeSpan {
    /// A single moment.
    pub(crate) fn at(moment: Micros) -> Self {
        Self { from: moment, before: moment.saturating_add(1) }
    }

    /// The begin as REST reads it: a day in UTC, or a moment.
    pub(crate) fn begin_text(self) -> Option<String> {
        text(self.from, self.from)
    }

    /// The end as REST reads it, which includes the day or the moment that it is given.
    pub(crate) fn end_text(self) -> Option<String> {
        text(self.before, self.before.saturating_sub(1))
    }

    /// The text of its day, if it is exactly one day in UTC.
    pub(crate) fn utc_day(self) -> Option<String> {
        let is_day = self.from % DAY_US == 0 && self.before.checked_sub(self.from) == Some(DAY_US);
        self.begin_text().filter(|_| is_day)
    }
}

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

/// The day of `shown` if `bound` is midnight in UTC, else the moment `shown`.
fn text(bound: Micros, shown: Micros) -> Option<String> {
    let text = time_format::zulu(shown)?;
    Some(if bound % DAY_US == 0 { text.chars().take(10).collect() } else { text })
}

/// The present in a time zone.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Calendar {
    now: Zoned,
    /// Whether a weekday without another word is the last one, not the next one.
    pub prefers_past: bool,
    /// Whether the zone is that of the account, of which times of races are not: their names are in UTC.
    pub is_of_account: bool,
}

impl Default for Calendar {
    fn default() -> Self {
        Self::at(clock::wall(), TimeZone::UTC)
    }
}

const WEEKDAYS: &str = "monday tuesday wednesday thursday friday saturday sunday";

const MONTHS: &str = "january february march april may june july august september october november \
                      december";

impl Calendar {
    /// `now` in microseconds.
    pub(crate) fn at(now: Micros, zone: TimeZone) -> Self {
        let now = Timestamp::from_microsecond(now).unwrap_or(Timestamp::UNIX_EPOCH);
        Self { now: now.to_zoned(zone), prefers_past: false, is_of_account: false }
    }

    /// The present in the zone with this IANA name; `None` if there is none.
    pub(crate) fn in_zone(name: &str) -> Option<Self> {
        Some(Self::at(clock::wall(), TimeZone::get(name).ok()?))
    }

    /// The same where a weekday without another word is the last one or the next one.
    pub(crate) fn preferring_past(&self, prefers_past: bool) -> Self {
        Self { prefers_past, ..self.clone() }
    }

    pub(crate) fn zone(&self) -> TimeZone {
        self.now.time_zone().clone()
    }

    /// The zone of a time such as `14:30`.
    pub(crate) fn zone_of_times(&self) -> TimeZone {
        if self.is_of_account { TimeZone::UTC } else { self.zone() }
    }

    pub(crate) fn now(&self) -> Micros {
        self.now.timestamp().as_microsecond()
    }

    /// `Sunday 2026-11-29 (UTC)`.
    pub(crate) fn today(&self) -> String {
        format!("{} ({})", self.now.strftime("%A %Y-%m-%d"), self.zone_name())
    }

    pub(crate) fn zone_name(&self) -> &str {
        self.now.time_zone().iana_name().unwrap_or("UTC")
    }

    /// The day at this distance from now; the hour from then on where hours count.
    fn away(&self, distance: Duration, unit: &str) -> Option<TimeSpan> {
        let moment = after_now(&self.now, distance)?;
        if is_hours(unit) {
            let end = after_now(&moment, 1.hour())?;
            return Some(TimeSpan { from: micros(&moment), before: micros(&end) });
        }
        self.day(moment.date())
    }

    /// This, the last or the next one of a unit: weeks begin on Monday.
    fn named(&self, offset: i64, unit: &str) -> Option<TimeSpan> {
        let today = self.now.date();
        let since_monday = i64::from(today.weekday().to_monday_zero_offset());
        let monday = after(today, (7 * offset - since_monday).days())?;
        let lasting = |first: Date, length: Duration| self.days(first, after(first, length)?);
        match unit {
            "day" => self.day(after(today, offset.days())?),
            "week" => lasting(monday, 7.days()),
            "weekend" => lasting(after(monday, 5.days())?, 2.days()),
            "midweek" => lasting(after(monday, 1.day())?, 3.days()),
            "month" => lasting(after(today.first_of_month(), offset.months())?, 1.month()),
            "year" => lasting(after(today.first_of_year(), offset.years())?, 1.year()),
            _ => None,
        }
    }

    /// A weekday by its name or its first three letters, strictly after or before today if the question says
    /// which.
    fn weekday(&self, name: &str, is_next: Option<bool>) -> Option<TimeSpan> {
        let wanted = index_of(name.trim_end_matches("night"), WEEKDAYS)?;
        let today = self.now.date();
        let ahead = (wanted - i64::from(today.weekday().to_monday_zero_offset())).rem_euclid(7);
        let days = match is_next {
            Some(true) if ahead == 0 => 7,
            Some(false) => ahead - 7,
            None if self.prefers_past && ahead > 0 => ahead - 7,
            _ => ahead,
        };
        self.day(after(today, days.days())?)
    }

    /// A month by its name: `november`, `november 2026`.
    fn month(&self, name: &str, year: Option<i16>) -> Option<TimeSpan> {
        self.month_from(self.nearest(year, index_of(name, MONTHS)?, 1)?)
    }

    fn month_from(&self, first: Date) -> Option<TimeSpan> {
        self.days(first, after(first, 1.month())?)
    }

    /// A day of a month, which counts from zero: in a year, or the nearest to today.
    fn nearest(&self, year: Option<i16>, month: i64, day: i8) -> Option<Date> {
        let month = i8::try_from(month + 1).ok()?;
        if let Some(year) = year {
            return Date::new(year, month, day).ok();
        }
        let this = self.now.date().year();
        self.nearest_of((-1..=1).filter_map(|past| Date::new(this + past, month, day).ok()))
    }

    /// The one that is nearest to today.
    fn nearest_of(&self, dates: impl Iterator<Item = Date>) -> Option<Date> {
        let today = self.now.date();
        let distance = |date: &Date| today.until(*date).map_or(i32::MAX, |it| it.get_days().abs());
        dates.filter(|date| !self.prefers_past || *date <= today).min_by_key(distance)
    }

    fn day(&self, day: Date) -> Option<TimeSpan> {
        // The last day that there is ends with time itself.
        let before = day.tomorrow().ok().and_then(|next| self.midnight(next));
        let before = before.unwrap_or_else(|| Timestamp::MAX.as_microsecond());
        Some(TimeSpan { from: self.midnight(day)?, before })
    }

    fn days(&self, first: Date, end: Date) -> Option<TimeSpan> {
        Some(TimeSpan { from: self.midnight(first)?, before: self.midnight(end)? })
    }

    fn midnight(&self, day: Date) -> Option<Micros> {
        Some(micros(&day.to_zoned(self.now.time_zone().clone()).ok()?))
    }
}

fn micros(moment: &Zoned) -> Micros {
    moment.timestamp().as_microsecond()
}

fn after(day: Date, duration: Duration) -> Option<Date> {
    day.checked_add(duration).ok()
}

fn after_now(now: &Zoned, duration: Duration) -> Option<Zoned> {
    now.checked_add(duration).ok()
}

fn is_hours(unit: &str) -> bool {
    unit.starts_with("hour")
}

/// The index of a name that may be shortened to three letters or more.
fn index_of(name: &str, names: &str) -> Option<i64> {
    let fits = |full: &str| name.len() >= 3 && full.starts_with(name);
    i64::try_from(names.split(' ').position(fits)?).ok()
}

#[cfg(test)]
mod tests;
