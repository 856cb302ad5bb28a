//! What a text says of time.

use std::mem;

use base::{Micros, time_format};
use jiff::{Span as Duration, ToSpan as _, civil::Date};

use super::{Calendar, DAY_US, MONTHS, TimeSpan, WEEKDAYS, after, index_of, is_hours};

/// What stands between the first and the last of several days.
const SEPARATORS: [&str; 9] =
    ["..", " to ", " until ", " till ", " through ", " and ", " - ", "\u{2013}", "-"];

const NUMBERS: &str = "one two three four five six seven eight nine ten";

/// The most days, weeks or months that a number counts.
const COUNT_MAX: i64 = 1000;

/// How long a time without an end lasts.
const OPEN_US: Micros = 365 * DAY_US;

/// The most words of one time, each of which may be read in two ways.
const WORDS_MAX: usize = 10;

/// The years that are one without another word: clubs have earlier ones in their names.
const BARE_YEAR_MIN: i16 = 1990;

/// A date in numbers, with its month from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NumericDate {
    year: Option<i16>,
    month: i64,
    day: i8,
    /// It would be another day if the month were first.
    is_ambiguous: bool,
}

/// A date such as `03/04/2026` in a text, which is read as day and month, but may be meant otherwise.
pub(crate) fn ambiguous_date(text: &str) -> Option<&str> {
    let is_ambiguous = |word: &&str| NumericDate::parse(word).is_some_and(|date| date.is_ambiguous);
    words_of(text).into_iter().find(is_ambiguous)
}

impl Calendar {
    /// The time that a text names; `None` if it names none.
    pub(crate) fn span(&self, text: &str) -> Option<TimeSpan> {
        self.simple_span(text).or_else(|| self.several(&text.trim().to_ascii_lowercase()))
    }

    /// The days from a first to a last.
    fn several(&self, text: &str) -> Option<TimeSpan> {
        SEPARATORS.iter().find_map(|separator| {
            let (first, last) = text.split_once(separator)?;
            let begin = ["from ", "between "].iter().find_map(|word| first.strip_prefix(word));
            let [first, last] = whole_dates(begin.unwrap_or(first), last);
            let first = self.simple_span(&first)?;
            let span = self.range(first, &last)?;
            // `monday and friday` are no days in turn.
            let is_in_turn = span.before - first.before < first.before - first.from + DAY_US;
            (*separator != " and " || begin.is_some() || is_in_turn).then_some(span)
        })
    }

    /// From the begin of a span to the end of the time that a text names; `None` if that is earlier. A day in words
    /// is the next one after the begin, if the one that is meant today would be earlier.
    pub(crate) fn range(&self, first: TimeSpan, last: &str) -> Option<TimeSpan> {
        let from = first.from;
        let end =
            |calendar: &Self| Some(calendar.span(last)?.before).filter(|before| from < *before);
        Some(TimeSpan { from, before: end(self).or_else(|| end(&Self::at(from, self.zone())))? })
    }

    fn simple_span(&self, text: &str) -> Option<TimeSpan> {
        let (text, zone) = (text.trim(), self.zone());
        let begin = time_format::begin_in(text, &zone);
        if let (Some(from), Some(before)) = (begin, time_format::end_in(text, &zone)) {
            return Some(TimeSpan { from, before });
        }
        let text = text.to_ascii_lowercase();
        let words = words_of(&text);
        if words.len() > WORDS_MAX {
            return None;
        }
        self.words(&words)
    }

    fn words(&self, words: &[&str]) -> Option<TimeSpan> {
        let today = self.now.date();
        match *words {
            ["now"] => Some(TimeSpan::at(self.now())),
            ["today"] | ["this", "morning" | "afternoon" | "evening"] => self.day(today),
            ["tomorrow"] => self.day(after(today, 1.day())?),
            ["yesterday"] | ["last", "night"] => self.day(after(today, (-1).days())?),
            ["boxing", "day"] => self.words(&["26", "december"]),
            ["christmas"] | ["christmas", "day"] => self.words(&["25", "december"]),
            ["new", "year"] | ["new", "year", "day"] => self.words(&["1", "january"]),
            ["from", ref time @ .., "onwards"] | [ref time @ .., "onwards"] => {
                self.open(&[["from"].as_slice(), time].concat())
            }
            [ref day @ .., "morning" | "afternoon" | "evening" | "night"] => self.words(day),
            ["day", ref rest @ ..] => self.words(&[["one", "day"].as_slice(), rest].concat()),
            ["one", "two" | "three", ..] | ["this", "next" | "last", ..] => {
                self.words(words.get(1..)?)
            }
            ["in", count, unit] if duration(count, unit).is_some() => {
                self.away(duration(count, unit)?, unit)
            }
            ["in", ref time @ ..] => self.words(time),
            [count, unit, "ago"] => self.away(-duration(count, unit)?, unit),
            [count, unit, side @ ("from" | "after" | "before"), ref time @ ..]
                if duration(count, unit).is_some() =>
            {
                let distance = duration(count, unit)?;
                let distance = if side == "before" { -distance } else { distance };
                self.at_begin(time)?.away(distance, unit)
            }
            ["next", count, unit] if duration(count, unit).is_some() => {
                let end = self.away(duration(count, unit)?, unit)?;
                self.starting_now(if is_hours(unit) { end.from } else { end.before })
            }
            ["last", count, unit] if duration(count, unit).is_some() => {
                self.until_now(self.away(-duration(count, unit)?, unit)?.from)
            }
            [which @ ("next" | "last"), unit @ ("hour" | "fortnight")] => {
                self.words(&[which, "one", unit])
            }
            ["weekend"] if self.prefers_past && today.weekday().to_monday_zero_offset() < 5 => {
                self.named(-1, "weekend")
            }
            ["weekend" | "midweek"] => self.named(0, words.first()?),
            ["week", ref day @ ..] => self.at_begin(day)?.named(0, "week"),
            [weekday, which, "week"] | [which, "week", weekday] if is_weekday(weekday) => {
                self.at_begin(&[which, "week"])?.weekday(weekday, None)
            }
            ["this", unit] => self.current(&[unit]),
            ["next", unit] => self.named(1, unit).or_else(|| self.weekday(unit, Some(true))),
            ["last", unit] => self.named(-1, unit).or_else(|| self.weekday(unit, Some(false))),
            [weekday, ref day @ ..] if is_date(day) && is_weekday(weekday) => self.words(day),
            [name] => NumericDate::parse(name)
                .and_then(|date| self.nearest(date.year, date.month, date.day))
                .or_else(|| self.day_of_month(name))
                .and_then(|date| self.day(date))
                .or_else(|| self.weekday(name, None))
                .or_else(|| self.month(name, None))
                .or_else(|| self.year(year(name)?)),
            [month, last] if year(last).is_some() => self.month(month, year(last)),
            [first, second] => self.date_of(first, second, None),
            [first, second, last] if year(last).is_some() => {
                self.date_of(first, second, year(last))
            }
            _ => None,
        }
        .or_else(|| self.open(words))
    }

    /// A time with one bound: `since monday`, `rest of the week`, `after 3 december`.
    fn open(&self, words: &[&str]) -> Option<TimeSpan> {
        let (word, time) = words.split_first()?;
        match *word {
            "since" => self.until_now(self.preferring_past(true).words(time)?.from),
            "earlier" => self.until_now(self.current(time)?.from),
            "later" => self.starting_now(self.current(time)?.before),
            "until" => self.starting_now(self.words(time)?.before),
            "before" => self.starting_now(self.words(time)?.from),
            "from" | "after" => {
                let span = self.words(time)?;
                let from = if *word == "from" { span.from } else { span.before };
                Some(TimeSpan { from, before: from.saturating_add(OPEN_US) })
            }
            _ => None,
        }
    }

    /// The present at the begin of the time that words name.
    fn at_begin(&self, words: &[&str]) -> Option<Self> {
        Some(Self::at(self.words(words)?.from, self.zone()))
    }

    /// This day, week or month, or the time that words name.
    fn current(&self, words: &[&str]) -> Option<TimeSpan> {
        let unit = words.first().filter(|_| words.len() == 1);
        unit.and_then(|unit| self.named(0, unit)).or_else(|| self.words(words))
    }

    fn until_now(&self, from: Micros) -> Option<TimeSpan> {
        Some(TimeSpan { from, before: self.now() }).filter(|span| span.from < span.before)
    }

    /// From now to an end; what was before one that is over.
    fn starting_now(&self, before: Micros) -> Option<TimeSpan> {
        let from = if before > self.now() { self.now() } else { before.checked_sub(OPEN_US)? };
        Some(TimeSpan { from, before })
    }

    /// `28 november` and `november 28th`, the nearest to today without a year; `2026-11`.
    fn date_of(&self, first: &str, second: &str, year: Option<i16>) -> Option<TimeSpan> {
        let (month, day) = match (index_of(first, MONTHS), index_of(second, MONTHS)) {
            (Some(month), _) => (month, second),
            (None, Some(month)) => (month, first),
            _ => return self.month_from(Date::new(self::year(first)?, number(second)?, 1).ok()?),
        };
        self.day(self.nearest(year, month, day_number(day)?)?)
    }

    /// `3rd`: of the month in which it is nearest.
    fn day_of_month(&self, word: &str) -> Option<Date> {
        let day = day_number(word).filter(|_| number(word).is_none())?;
        let this = self.now.date().first_of_month();
        let months = (-2_i64..=2).filter_map(|distance| after(this, distance.months()));
        self.nearest_of(months.filter_map(|first| Date::new(first.year(), first.month(), day).ok()))
    }

    fn year(&self, year: i16) -> Option<TimeSpan> {
        let first = Date::new(year, 1, 1).ok().filter(|_| year >= BARE_YEAR_MIN)?;
        self.days(first, after(first, 1.year())?)
    }
}

impl NumericDate {
    /// Reads `28/11/2026`, `28.11.`, `28/11` and `2026/11/28`. The day is first, unless only the month can be.
    fn parse(text: &str) -> Option<Self> {
        let separator = ['/', '.', '-'].into_iter().find(|it| text.contains(*it))?;
        let (year, first, second) = match *text.split(separator).collect::<Vec<_>>().as_slice() {
            [year, month, day] if year.len() == 4 => (year, day, month),
            [day, month, ""] if separator == '.' => ("", day, month),
            [first, second, year] => (year, first, second),
            [first, second] if separator == '/' => ("", first, second),
            _ => return None,
        };
        let is_year_first = year.len() == 4 && text.starts_with(year);
        let (mut day, mut month) = (number(first)?, number(second)?);
        if month > 12 && !is_year_first {
            mem::swap(&mut day, &mut month);
        }
        let year = match year.len() {
            0 => None,
            2 => Some(2000 + i16::from(number(year)?)),
            _ => Some(self::year(year)?),
        };
        let is_ambiguous = !is_year_first && separator != '.' && day <= 12 && day != month;
        let is_date = (1..=31).contains(&day) && (1..=12).contains(&month);
        is_date.then(|| Self { year, month: i64::from(month) - 1, day, is_ambiguous })
    }
}

/// `28` and `30 november` as `28 november` and `30 november`; `november 28` and `30` alike.
fn whole_dates(first: &str, last: &str) -> [String; 2] {
    let whole = |text: &str, other: &str| match *words_of(text).as_slice() {
        [day] if day_number(day).is_some() => {
            let others = words_of(other).into_iter().filter(|word| day_number(word).is_none());
            std::iter::once(day).chain(others).collect::<Vec<_>>().join(" ")
        }
        _ => text.to_owned(),
    };
    [whole(first, last), whole(last, first)]
}

/// The words that say something, without genitives, one for those that mean the same; a date in numbers is one word.
fn words_of(text: &str) -> Vec<&str> {
    let parts = text.split([' ', '_', ',']).flat_map(|part| match NumericDate::parse(part) {
        Some(_) => vec![part],
        None => part.split('-').map(canonical).collect(),
    });
    parts.filter(|word| !word.is_empty()).collect()
}

fn canonical(word: &str) -> &str {
    let stem = ["'s", "\u{2019}s"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    match stem.trim_end_matches(['.', '\'']) {
        "on" | "the" | "of" | "over" | "at" | "right" | "so" | "far" => "",
        "a" | "an" => "one",
        "couple" => "two",
        "few" => "three",
        "coming" | "following" => "next",
        "past" | "previous" => "last",
        "current" => "this",
        "tonight" => "today",
        "during" => "in",
        "till" | "through" | "by" => "until",
        "rest" => "later",
        word => word,
    }
}

fn number(text: &str) -> Option<i8> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The day of a month: `3`, `3rd`.
fn day_number(text: &str) -> Option<i8> {
    let end = ["st", "nd", "rd", "th"].iter().find_map(|end| text.strip_suffix(end));
    number(end.unwrap_or(text)).filter(|day| (1..=31).contains(day))
}

fn year(text: &str) -> Option<i16> {
    text.parse().ok().filter(|year| (1900..=2100).contains(year))
}

fn is_weekday(word: &str) -> bool {
    index_of(word, WEEKDAYS).is_some()
}

/// Whether words beside a weekday are its date.
fn is_date(words: &[&str]) -> bool {
    match *words {
        [word] => {
            number(word).is_none()
                && (NumericDate::parse(word).is_some() || day_number(word).is_some())
        }
        _ => words.iter().any(|word| index_of(word, MONTHS).is_some()),
    }
}

/// `3 days`, `two weeks`, `one hour`.
fn duration(count: &str, unit: &str) -> Option<Duration> {
    let word = NUMBERS.split(' ').zip(1..).find(|(word, _)| *word == count);
    let count = word.map(|(_, number)| number).or_else(|| count.parse().ok())?;
    let count = Some(count).filter(|count| (1..=COUNT_MAX).contains(count))?;
    match unit.strip_suffix('s').unwrap_or(unit) {
        "hour" => Some(count.hours()),
        "day" => Some(count.days()),
        "week" => Some(count.weeks()),
        "fortnight" => Some((2 * count).weeks()),
        "month" => Some(count.months()),
        "year" => Some(count.years()),
        _ => None,
    }
}
