//! Days as people name them: `today`, `saturday`, `last week`, `next 3 days`, ISO dates.

use base::{Micros, clock, time_format};
use jiff::{Span as Duration, Timestamp, ToSpan as _, Zoned, civil::Date, tz::TimeZone};

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
}

impl Default for Calendar {
    fn default() -> Self {
        Self::at(clock::wall(), TimeZone::UTC)
    }
}

/// Words that change nothing.
const FILLERS: [&str; 5] = ["", "on", "the", "of", "over"];

const NUMBERS: [&str; 10] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The most days, weeks or months that a number counts.
const COUNT_MAX: i64 = 1000;

impl Calendar {
    /// `now` in microseconds.
    pub(crate) fn at(now: Micros, zone: TimeZone) -> Self {
        let now = Timestamp::from_microsecond(now).unwrap_or(Timestamp::UNIX_EPOCH);
        Self { now: now.to_zoned(zone), prefers_past: false }
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

    pub(crate) fn now(&self) -> Micros {
        self.now.timestamp().as_microsecond()
    }

    /// `Sunday 2026-11-29 (UTC)`.
    pub(crate) fn today(&self) -> String {
        let zone = self.now.time_zone().iana_name().unwrap_or("UTC");
        format!("{} ({zone})", self.now.strftime("%A %Y-%m-%d"))
    }

    /// The time that a text names; `None` if it names none.
    pub(crate) fn span(&self, text: &str) -> Option<TimeSpan> {
        let text = text.trim();
        let mut separators = ["..", " to ", " until "].iter();
        if let Some((first, last)) = separators.find_map(|separator| text.split_once(separator)) {
            return self.range(self.simple_span(first)?, last);
        }
        self.simple_span(text)
    }

    /// From the begin of a span to the end of the time that a text names; `None` if that is earlier. A day in words
    /// is the next one after the begin, if the one that is meant today would be earlier.
    pub(crate) fn range(&self, first: TimeSpan, last: &str) -> Option<TimeSpan> {
        let from = first.from;
        let end = |calendar: &Self| {
            Some(calendar.simple_span(last)?.before).filter(|before| from < *before)
        };
        let at_begin = || end(&Self::at(from, self.now.time_zone().clone()));
        Some(TimeSpan { from, before: end(self).or_else(at_begin)? })
    }

    fn simple_span(&self, text: &str) -> Option<TimeSpan> {
        let text = text.trim();
        if let Some(day) = time_format::day(text) {
            return self.day(day);
        }
        if let (Some(from), Some(before)) = (time_format::begin(text), time_format::end(text)) {
            return Some(TimeSpan { from, before });
        }
        let lower = text.to_ascii_lowercase();
        let words = lower.split([' ', '_', '-', ',']).filter(|word| !FILLERS.contains(word));
        self.words(&words.collect::<Vec<_>>())
    }

    fn words(&self, words: &[&str]) -> Option<TimeSpan> {
        let today = self.now.date();
        match *words {
            ["now"] => Some(TimeSpan::at(self.now())),
            ["today" | "tonight"] | ["this", "morning" | "afternoon" | "evening"] => {
                self.day(today)
            }
            ["tomorrow"] => self.day(after(today, 1.day())?),
            ["yesterday"] | ["last", "night"] => self.day(after(today, (-1).days())?),
            [ref day @ .., "morning" | "afternoon" | "evening" | "night"] => self.words(day),
            ["day", "after", "tomorrow"] => self.day(after(today, 2.days())?),
            ["day", "before", "yesterday"] => self.day(after(today, (-2).days())?),
            ["in", count, unit] => self.away(duration(count, unit)?, unit),
            [count, unit, "ago"] => self.away(-duration(count, unit)?, unit),
            ["next" | "coming" | "following", count, unit] => {
                let end = self.end_of(&after_now(&self.now, duration(count, unit)?)?, unit)?;
                Some(TimeSpan { from: self.now(), before: end })
            }
            ["last" | "past" | "previous", count, unit] => {
                let begin = after_now(&self.now, -duration(count, unit)?)?;
                let is_hours = unit.starts_with("hour");
                let from = if is_hours { micros(&begin) } else { self.midnight(begin.date())? };
                Some(TimeSpan { from, before: self.now() })
            }
            ["weekend"] if self.prefers_past && today.weekday().to_monday_zero_offset() < 5 => {
                self.named(-1, "weekend")
            }
            ["weekend"] => self.named(0, "weekend"),
            ["this" | "current", unit] => self.named(0, unit).or_else(|| self.weekday(unit, None)),
            ["next" | "coming" | "following", unit] => {
                self.named(1, unit).or_else(|| self.weekday(unit, Some(true)))
            }
            ["last" | "past" | "previous", unit] => {
                self.named(-1, unit).or_else(|| self.weekday(unit, Some(false)))
            }
            [name] => self.weekday(name, None).or_else(|| self.month(name, None)),
            [first, second] => self
                .date_of(first, second, None)
                .or_else(|| self.month(first, Some(second.parse().ok()?))),
            [first, second, year] => self.date_of(first, second, Some(year.parse().ok()?)),
            _ => None,
        }
    }

    /// The day at this distance from now; the hour from then on where hours count.
    fn away(&self, distance: Duration, unit: &str) -> Option<TimeSpan> {
        let moment = after_now(&self.now, distance)?;
        if unit.starts_with("hour") {
            let end = after_now(&moment, 1.hour())?;
            return Some(TimeSpan { from: micros(&moment), before: micros(&end) });
        }
        self.day(moment.date())
    }

    /// The end of the day of a moment; the moment itself where hours count.
    fn end_of(&self, moment: &Zoned, unit: &str) -> Option<Micros> {
        if unit.starts_with("hour") {
            return Some(micros(moment));
        }
        self.midnight(moment.date().tomorrow().ok()?)
    }

    /// This, the last or the next one of a unit: weeks begin on Monday.
    fn named(&self, offset: i64, unit: &str) -> Option<TimeSpan> {
        let today = self.now.date();
        let since_monday = i64::from(today.weekday().to_monday_zero_offset());
        let monday = after(today, (7 * offset - since_monday).days())?;
        match unit {
            "day" => self.day(after(today, offset.days())?),
            "week" => self.days(monday, after(monday, 7.days())?),
            "weekend" => self.days(after(monday, 5.days())?, after(monday, 7.days())?),
            "month" => {
                let first = after(today.first_of_month(), offset.months())?;
                self.days(first, after(first, 1.month())?)
            }
            _ => None,
        }
    }

    /// A weekday by its name or its first three letters, strictly after or before today if the question says
    /// which.
    fn weekday(&self, name: &str, is_next: Option<bool>) -> Option<TimeSpan> {
        let wanted = index_of(name.trim_end_matches("night"), &WEEKDAYS)?;
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

    /// `28 november` and `november 28th`, the nearest to today without a year.
    fn date_of(&self, first: &str, second: &str, year: Option<i16>) -> Option<TimeSpan> {
        let (month, day) = match (index_of(first, &MONTHS), index_of(second, &MONTHS)) {
            (Some(month), _) => (month, second),
            (None, Some(month)) => (month, first),
            _ => return None,
        };
        let day = day.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).parse().ok()?;
        self.day(self.nearest(year, month, day)?)
    }

    /// A month by its name: `november`, `november 2026`.
    fn month(&self, name: &str, year: Option<i16>) -> Option<TimeSpan> {
        let first = self.nearest(year, index_of(name, &MONTHS)?, 1)?;
        self.days(first, after(first, 1.month())?)
    }

    /// A day of a month, which counts from zero: in a year, or the nearest to today.
    fn nearest(&self, year: Option<i16>, month: i64, day: i8) -> Option<Date> {
        let month = i8::try_from(month + 1).ok()?;
        let today = self.now.date();
        let years = match year {
            Some(year) => year..=year,
            None => today.year().checked_sub(1)?..=today.year().checked_add(1)?,
        };
        let is_meant = |date: &Date| year.is_some() || !self.prefers_past || *date <= today;
        let dates = years.filter_map(|year| Date::new(year, month, day).ok()).filter(is_meant);
        let distance = |date: &Date| today.until(*date).map_or(i32::MAX, |it| it.get_days().abs());
        dates.min_by_key(distance)
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

/// `3 days`, `two weeks`, `an hour`.
fn duration(count: &str, unit: &str) -> Option<Duration> {
    let count = if matches!(count, "a" | "an") { "one" } else { count };
    let word = NUMBERS.iter().position(|word| *word == count).and_then(|it| i64::try_from(it).ok());
    let count = word.map(|index| index + 1).or_else(|| count.parse().ok())?;
    let count = Some(count).filter(|count| (1..=COUNT_MAX).contains(count))?;
    match unit.strip_suffix('s').unwrap_or(unit) {
        "hour" => Some(count.hours()),
        "day" => Some(count.days()),
        "week" => Some(count.weeks()),
        "month" => Some(count.months()),
        _ => None,
    }
}

/// The index of a name that may be shortened to three letters or more.
fn index_of(name: &str, names: &[&str]) -> Option<i64> {
    let fits = |full: &&str| name.len() >= 3 && full.starts_with(name);
    i64::try_from(names.iter().position(fits)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wednesday.
    const NOW: &str = "2026-11-25T14:30:00Z";

    fn calendar(zone: &str) -> Calendar {
        let now = time_format::begin(NOW).unwrap();
        Calendar::at(now, TimeZone::get(zone).unwrap())
    }

    fn check(calendar: &Calendar, text: &str, expected: Option<(&str, &str)>) {
        let span = calendar.span(text);
        let span = span.map(|it| (it.begin_text().unwrap(), it.end_text().unwrap()));
        let span = span.as_ref().map(|(from, to)| (from.as_str(), to.as_str()));
        assert_eq!(span, expected, "{text}");
    }

    #[test]
    fn words_name_days() {
        let calendar = calendar("UTC");
        let all = |texts: &[&str], first: &str, last: &str| {
            texts.iter().for_each(|text| check(&calendar, text, Some((first, last))));
        };
        all(&["today", "Tonight", "this evening", "2026-11-25"], "2026-11-25", "2026-11-25");
        all(&["tomorrow", "thursday", "in 1 day", "next day"], "2026-11-26", "2026-11-26");
        all(&["yesterday", "last night", "1 day ago"], "2026-11-24", "2026-11-24");
        all(
            &["saturday", "on Saturday", "next sat", "28 nov", "November 28th 2026"],
            "2026-11-28",
            "2026-11-28",
        );
        all(&["last saturday", "past Saturday"], "2026-11-21", "2026-11-21");
        all(&["wednesday", "this wednesday"], "2026-11-25", "2026-11-25");
        all(&["next wednesday", "in one week"], "2026-12-02", "2026-12-02");
        all(&["last wednesday", "7 days ago"], "2026-11-18", "2026-11-18");
        all(&["this weekend", "weekend", "the weekend"], "2026-11-28", "2026-11-29");
        all(&["last weekend"], "2026-11-21", "2026-11-22");
        all(&["this week"], "2026-11-23", "2026-11-29");
        all(&["last week"], "2026-11-16", "2026-11-22");
        all(&["next week"], "2026-11-30", "2026-12-06");
        all(&["this month"], "2026-11-01", "2026-11-30");
        all(&["last_month"], "2026-10-01", "2026-10-31");
        all(&["3 January"], "2027-01-03", "2027-01-03");
        all(&["2026-11-01..2026-11-07", "2026-11-01 to 2026-11-07"], "2026-11-01", "2026-11-07");
        all(&["today to friday"], "2026-11-25", "2026-11-27");
        all(&["friday to sunday", "friday until sunday night"], "2026-11-27", "2026-11-29");
        all(&["monday to friday"], "2026-11-30", "2026-12-04");
        all(&["friday night", "Friday evening", "friday"], "2026-11-27", "2026-11-27");
        all(&["tomorrow night", "in a day", "in one day"], "2026-11-26", "2026-11-26");
        all(&["2 hours ago", "two hours ago"], "2026-11-25T12:30:00Z", "2026-11-25T13:29:59Z");
        all(&["in an hour"], "2026-11-25T15:30:00Z", "2026-11-25T16:29:59Z");
        all(&["november", "November 2026"], "2026-11-01", "2026-11-30");
        all(&["february"], "2027-02-01", "2027-02-28");
        check(&calendar, "next 3 days", Some(("2026-11-25T14:30:00Z", "2026-11-28")));
        check(&calendar, "last two weeks", Some(("2026-11-11", "2026-11-25T14:29:59Z")));
        check(&calendar, "next 24 hours", Some(("2026-11-25T14:30:00Z", "2026-11-26T14:29:59Z")));
        for text in [
            "",
            "night",
            "someday",
            "next",
            "in 0 days",
            "31 february",
            "monday to",
            "5000 days ago",
            "1 january 99999",
            "1 january again",
        ] {
            check(&calendar, text, None);
        }
    }

    #[test]
    fn weekdays_of_results_are_past() {
        let calendar = Calendar { prefers_past: true, ..calendar("UTC") };
        check(&calendar, "saturday", Some(("2026-11-21", "2026-11-21")));
        check(&calendar, "weekend", Some(("2026-11-21", "2026-11-22")));
        check(&calendar, "wednesday", Some(("2026-11-25", "2026-11-25")));
        check(&calendar, "february", Some(("2026-02-01", "2026-02-28")));
        check(&calendar, "3 january", Some(("2026-01-03", "2026-01-03")));
        check(&calendar, "3 january 2027", Some(("2027-01-03", "2027-01-03")));
    }

    #[test]
    fn days_begin_in_their_zone() {
        let calendar = calendar("America/New_York");
        check(&calendar, "today", Some(("2026-11-25T05:00:00Z", "2026-11-26T04:59:59Z")));
        assert_eq!(calendar.today(), "Wednesday 2026-11-25 (America/New_York)");
        assert_eq!(calendar.span("today").unwrap().utc_day(), None);
        let day = Calendar::default().span("2026-11-25").unwrap();
        assert_eq!(day.utc_day().unwrap(), "2026-11-25");
        let moment = "2026-08-30T18:00:00Z";
        check(&calendar, moment, Some((moment, moment)));
    }
}
