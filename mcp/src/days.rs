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
    /// Whether the zone is that of the account, of which times of races are not: their names are in UTC.
    pub is_of_account: bool,
}

impl Default for Calendar {
    fn default() -> Self {
        Self::at(clock::wall(), TimeZone::UTC)
    }
}

/// Words that change nothing.
const FILLERS: [&str; 5] = ["", "on", "the", "of", "over"];

const NUMBERS: &str = "one two three four five six seven eight nine ten";

const WEEKDAYS: &str = "monday tuesday wednesday thursday friday saturday sunday";

const MONTHS: &str = "january february march april may june july august september october november \
                      december";

/// The most days, weeks or months that a number counts.
const COUNT_MAX: i64 = 1000;

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

    /// The time that a text names; `None` if it names none.
    pub(crate) fn span(&self, text: &str) -> Option<TimeSpan> {
        let text = text.trim();
        let mut separators = ["..", " to ", " until "].iter();
        if let Some((first, last)) = separators.find_map(|separator| text.split_once(separator)) {
            let first = first.strip_prefix("from ").unwrap_or(first);
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
            ["in", count, unit] if duration(count, unit).is_some() => {
                self.away(duration(count, unit)?, unit)
            }
            ["in" | "during", ref time @ ..] => self.words(time),
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
            [weekday, ref day @ ..] if is_date(day) && index_of(weekday, WEEKDAYS).is_some() => {
                self.words(day)
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
        let lasting = |first: Date, length: Duration| self.days(first, after(first, length)?);
        match unit {
            "day" => self.day(after(today, offset.days())?),
            "week" => lasting(monday, 7.days()),
            "weekend" => lasting(after(monday, 5.days())?, 2.days()),
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

    /// `28 november` and `november 28th`, the nearest to today without a year.
    fn date_of(&self, first: &str, second: &str, year: Option<i16>) -> Option<TimeSpan> {
        let (month, day) = match (index_of(first, MONTHS), index_of(second, MONTHS)) {
            (Some(month), _) => (month, second),
            (None, Some(month)) => (month, first),
            _ => return None,
        };
        let day = day.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).parse().ok()?;
        self.day(self.nearest(year, month, day)?)
    }

    /// A month by its name: `november`, `november 2026`.
    fn month(&self, name: &str, year: Option<i16>) -> Option<TimeSpan> {
        let first = self.nearest(year, index_of(name, MONTHS)?, 1)?;
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
    let word =
        NUMBERS.split(' ').position(|word| word == count).and_then(|it| i64::try_from(it).ok());
    let count = word.map(|index| index + 1).or_else(|| count.parse().ok())?;
    let count = Some(count).filter(|count| (1..=COUNT_MAX).contains(count))?;
    match unit.strip_suffix('s').unwrap_or(unit) {
        "hour" => Some(count.hours()),
        "day" => Some(count.days()),
        "week" => Some(count.weeks()),
        "month" => Some(count.months()),
        "year" => Some(count.years()),
        _ => None,
    }
}

/// Whether words have the name of a month, beside others.
fn is_date(words: &[&str]) -> bool {
    words.len() > 1 && words.iter().any(|word| index_of(word, MONTHS).is_some())
}

/// The index of a name that may be shortened to three letters or more.
fn index_of(name: &str, names: &str) -> Option<i64> {
    let fits = |full: &str| name.len() >= 3 && full.starts_with(name);
    i64::try_from(names.split(' ').position(fits)?).ok()
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
            &[
                "saturday",
                "on Saturday",
                "next sat",
                "28 nov",
                "November 28th 2026",
                "Saturday, 28 November",
                "sat 28th of November 2026",
            ],
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
        all(&["today to friday", "from today to friday"], "2026-11-25", "2026-11-27");
        all(&["last year"], "2025-01-01", "2025-12-31");
        all(&["this year"], "2026-01-01", "2026-12-31");
        all(&["2 years ago"], "2024-11-25", "2024-11-25");
        all(&["friday to sunday", "friday until sunday night"], "2026-11-27", "2026-11-29");
        all(&["monday to friday"], "2026-11-30", "2026-12-04");
        all(&["friday night", "Friday evening", "friday"], "2026-11-27", "2026-11-27");
        all(&["tomorrow night", "in a day", "in one day"], "2026-11-26", "2026-11-26");
        all(&["2 hours ago", "two hours ago"], "2026-11-25T12:30:00Z", "2026-11-25T13:29:59Z");
        all(&["in an hour"], "2026-11-25T15:30:00Z", "2026-11-25T16:29:59Z");
        all(
            &["november", "November 2026", "in november", "in November 2026"],
            "2026-11-01",
            "2026-11-30",
        );
        all(&["february"], "2027-02-01", "2027-02-28");
        check(&calendar, "next 3 days", Some(("2026-11-25T14:30:00Z", "2026-11-28")));
        check(&calendar, "last two weeks", Some(("2026-11-11", "2026-11-25T14:29:59Z")));
        check(&calendar, "next 24 hours", Some(("2026-11-25T14:30:00Z", "2026-11-26T14:29:59Z")));
        for text in [
            "",
            "night",
            "someday",
            "next",
            "in",
            "in the",
            "saturday 28",
            "saturday 31 february",
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

    /// Around midnight, the day of a zone is not that of UTC; around a change of the clocks, it has 23 or 25 hours.
    #[test]
    fn words_name_days_of_the_zone() {
        let in_berlin = |now: &str, text: &str, expected: (&str, &str)| {
            let now = time_format::begin(now).unwrap();
            let calendar = Calendar::at(now, TimeZone::get("Europe/Berlin").unwrap());
            check(&calendar, text, Some(expected));
        };
        let day = ("2026-11-24T23:00:00Z", "2026-11-25T22:59:59Z");
        in_berlin("2026-11-25T22:59:59Z", "today", day);
        in_berlin("2026-11-25T23:00:00Z", "yesterday", day);
        in_berlin("2026-11-24T22:59:59Z", "tomorrow", day);
        in_berlin("2026-11-24T23:00:00Z", "wednesday", day);
        // Sunday in UTC, Monday in Berlin.
        let week = ("2026-11-15T23:00:00Z", "2026-11-22T22:59:59Z");
        in_berlin("2026-11-22T23:30:00Z", "last week", week);
        let short = ("2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z");
        in_berlin("2026-03-28T23:30:00Z", "today", short);
        in_berlin("2026-03-28T22:30:00Z", "tomorrow", short);
        in_berlin("2026-03-29T22:00:00Z", "yesterday", short);
        let long = ("2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z");
        in_berlin("2026-10-25T22:30:00Z", "today", long);
        in_berlin("2026-10-23T22:30:00Z", "sunday", long);
        let weekend = ("2026-10-23T22:00:00Z", "2026-10-25T22:59:59Z");
        in_berlin("2026-10-21T12:00:00Z", "this weekend", weekend);
        // Two hours are two hours.
        let hours = ("2026-10-25T00:30:00Z", "2026-10-25T02:29:59Z");
        in_berlin("2026-10-25T00:30:00Z", "next 2 hours", hours);
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
