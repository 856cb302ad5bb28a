//! Finds the one race that a text means: `14:30 Ascot`, `Ascot 14:30 tomorrow`, `2.30 at Ascot`, `the next race at Ascot`.

use std::{collections::HashMap, sync::Arc};

use base::Micros;
use history::query::EntityKind;
use jiff::{Timestamp, tz::TimeZone};
use record::{Key, MatchSummary};
use serde_json::json;

use super::{
    FIT_MIN, NEAR_US, NEAREST_MAX, Names, SearchResult,
    index::FoldedName,
    match_name::{Tense, dated, is_in_tense, rank, without_noise, without_tense},
};
use crate::{
    days::{Calendar, TimeSpan},
    refusal::Refusal,
};

/// Words beside a course and a time that say nothing.
const NOISE: [&str; 6] = ["race", "at", "in", "from", "o'clock", "hrs"];

/// What a text says of a race, without its day.
#[derive(Debug, PartialEq)]
struct RaceReading {
    /// The course, or the name of the race.
    name: String,
    /// The minutes of the day at which it may start; empty if the text has no time. `2.30` is at night or after noon.
    minutes: Vec<u16>,
}

/// The races that fit a text, with how well they do.
type Races = Vec<(Arc<MatchSummary>, f64)>;

impl Names {
    /// The race that a text means. `text`: it without words of play, and whether there were any.
    ///
    /// # Errors
    ///
    /// If it means none or several; with those that come nearest.
    pub(super) fn race_named(
        &self,
        asked: &str,
        (text, is_live): (&str, bool),
        tense: Tense,
        calendar: &Calendar,
    ) -> Result<Key, Refusal> {
        let (mut found, has_time, said) = self.races(text, calendar);
        found.retain(|(race, _)| is_in_tense(race, said) && (!is_live || race.status.is_live()));
        found.sort_by_key(|(race, _)| rank(race, tense, calendar.now()));
        let Some((first, _)) = found.first() else {
            let message = format!(
                "No race is known as {asked:?}. Name its course and its time, also with a day: \
                 \"Ascot 14:30 tomorrow\". Today is {}.",
                calendar.today()
            );
            let mut near = self.races_near(text, NEAREST_MAX, calendar);
            if near.is_empty() {
                let days = TimeSpan { from: calendar.now(), before: calendar.now() + NEAR_US };
                let next = self.races_in(&[days], calendar).into_iter().take(NEAREST_MAX);
                near = next.map(|race| self.search_result(&race)).collect();
            }
            return Err(Refusal::not_found(message).with("nearest", json!(near)));
        };
        let is_doubtful = if has_time {
            found.iter().any(|(race, _)| course(race) != course(first))
        } else {
            found.len() > 1 && said.is_none() && !is_live
        };
        if is_doubtful {
            return Err(self.doubtful(asked, found.iter().map(|(race, _)| &**race)));
        }
        Ok(first.id)
    }

    /// Races that fit a text best, the nearest to now first.
    pub(super) fn races_near(
        &self,
        text: &str,
        limit: usize,
        calendar: &Calendar,
    ) -> Vec<SearchResult> {
        let (mut found, ..) = self.races(text, calendar);
        found.sort_by_key(|(race, _)| rank(race, Tense::Nearest, calendar.now()));
        let found = found.into_iter().take(limit);
        found.map(|(race, score)| SearchResult { score, ..self.search_result(&race) }).collect()
    }

    /// The races of the first reading that has some: with days at an end, then without words that are no name.
    /// Whether the text has a time, and its word of time.
    fn races(&self, text: &str, calendar: &Calendar) -> (Races, bool, Option<Tense>) {
        let plain = without_noise(text);
        let (rest, said) = without_tense(&plain);
        let dated = dated(&plain, calendar).map(|(rest, spans)| (rest, spans, None));
        for (rest, spans, tense) in dated.chain([(rest, Vec::new(), said)]) {
            let reading = RaceReading::new(&rest);
            let found = self.races_of(&reading, &spans, calendar);
            if !found.is_empty() {
                return (found, !reading.minutes.is_empty(), tense);
            }
        }
        (Races::new(), false, None)
    }

    /// The races that fit a reading best.
    fn races_of(&self, reading: &RaceReading, spans: &[TimeSpan], calendar: &Calendar) -> Races {
        if reading.name.is_empty() && reading.minutes.is_empty() {
            return Races::new();
        }
        let near = [TimeSpan { from: calendar.now() - NEAR_US, before: calendar.now() + NEAR_US }];
        let spans = if spans.is_empty() { &near } else { spans };
        let (zone, asked) = (calendar.zone_of_times(), FoldedName::new(&reading.name));
        let fit = |name: &str| FoldedName::new(name).score_of_text(&asked);
        let mut courses: HashMap<Option<Key>, f64> = HashMap::new();
        let mut score = |race: &MatchSummary| -> f64 {
            if asked.is_empty() {
                return 1.0;
            }
            let new = || self.course_name(race).map_or(0.0, |name| fit(&name));
            let score = *courses.entry(course(race)).or_insert_with(new);
            score.max(race.round_name.as_deref().map_or(0.0, fit))
        };
        let races = self.races_in(spans, calendar).into_iter();
        let on_time = races.filter(|race| reading.is_at(race, &zone));
        let mut found: Races = on_time.map(|race| (Arc::clone(&race), score(&race))).collect();
        let best = found.iter().map(|(_, score)| *score).fold(FIT_MIN, f64::max);
        found.retain(|(_, score)| *score > best - 0.001);
        found
    }

    /// The races on these days, by start.
    fn races_in(&self, spans: &[TimeSpan], calendar: &Calendar) -> Vec<Arc<MatchSummary>> {
        let mut races: Vec<_> = spans
            .iter()
            .flat_map(|span| self.history.find(&self.on_days(*span, calendar)).summaries)
            .collect();
        races.sort_by_key(|race| (race.start, race.id));
        races.dedup_by_key(|race| race.id);
        races
    }

    /// The course of a race.
    fn course_name(&self, race: &MatchSummary) -> Option<String> {
        match race.venue {
            Some(venue) => self.history.name(EntityKind::Venue, venue),
            None => self.history.name(EntityKind::Competition, race.competition?),
        }
    }

    /// `Ascot 14:30`, in UTC; `None` if no course is known.
    pub(super) fn race_title(&self, race: &MatchSummary) -> Option<String> {
        let time = race.start.filter(|_| !race.day_only).and_then(base::time_format::zulu);
        let time = time.as_deref().and_then(|time| time.get(11..16)).unwrap_or_default();
        Some(format!("{} {time}", self.course_name(race)?).trim_end().to_owned())
    }
}

/// Where a race is run.
fn course(race: &MatchSummary) -> Option<Key> {
    race.venue.or(race.competition)
}

impl RaceReading {
    fn new(text: &str) -> Self {
        let mut minutes = Vec::new();
        let mut name = Vec::new();
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let half = words.peek().copied().filter(|next| half_of_day(next).is_some());
            if minutes.is_empty()
                && let Some(found) = minutes_of(word, half)
            {
                minutes = found;
                if half.is_some() {
                    words.next();
                }
            } else if !NOISE.iter().any(|noise| word.eq_ignore_ascii_case(noise)) {
                name.push(word.trim_matches([',', '(', ')']));
            }
        }
        Self { name: name.join(" ").trim().to_owned(), minutes }
    }

    /// Whether a race starts at the time of the reading.
    fn is_at(&self, race: &MatchSummary, zone: &TimeZone) -> bool {
        let minute = |start: Micros| {
            let start = Timestamp::from_microsecond(start).ok()?.to_zoned(zone.clone());
            u16::try_from(i32::from(start.hour()) * 60 + i32::from(start.minute())).ok()
        };
        let start = race.start.filter(|_| !race.day_only);
        self.minutes.is_empty()
            || start.and_then(minute).is_some_and(|minute| self.minutes.contains(&minute))
    }
}

/// Minutes to add to a time of twelve hours: `am`, `pm`.
fn half_of_day(word: &str) -> Option<u16> {
    match word.trim_matches([',', '.', '(', ')']).to_ascii_lowercase().as_str() {
        "am" | "a.m" => Some(0),
        "pm" | "p.m" => Some(12 * 60),
        _ => None,
    }
}

/// The minutes of the day that a word may mean: `14:30`, `14.30`, `2.30`, `2:30pm`, `2pm`, and `2:30` before `pm`.
fn minutes_of(word: &str, next: Option<&str>) -> Option<Vec<u16>> {
    let word = word.trim_matches([',', '(', ')']);
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let (digits, suffix) = word.split_at(digits.len());
    let half = match suffix {
        "" => next.and_then(half_of_day),
        "h" => None,
        suffix => Some(half_of_day(suffix)?),
    };
    let (hour, minute) = match digits.split_once([':', '.']) {
        Some((hour, minute)) if minute.len() == 2 => (hour, minute),
        None if half.is_some() => (digits, "0"),
        _ => return None,
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (hour, minute): (u16, u16) = match is_number(hour) && is_number(minute) {
        true => (hour.parse().ok()?, minute.parse().ok()?),
        false => return None,
    };
    let of_day = (hour < 24 && minute < 60).then_some(hour * 60 + minute)?;
    Some(match half {
        Some(half) if (1..=12).contains(&hour) => vec![of_day % (12 * 60) + half],
        Some(_) => return None,
        None if hour < 12 && digits.find([':', '.']) == Some(1) => vec![of_day, of_day + 12 * 60],
        None => vec![of_day],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn races_are_read_as_a_course_and_a_time() {
        let after_noon = 14 * 60 + 30;
        for (text, name, minutes) in [
            ("14:30 Ascot", "Ascot", &[after_noon][..]),
            ("Ascot 14:30", "Ascot", &[after_noon]),
            ("Ascot, 14.30", "Ascot", &[after_noon]),
            ("2.30 at Ascot", "Ascot", &[150, after_noon]),
            ("2:30pm Ascot", "Ascot", &[after_noon]),
            ("the 2:30 pm race at Ascot", "the Ascot", &[after_noon]),
            ("2pm Sandown Park", "Sandown Park", &[14 * 60]),
            ("12:15 am Ascot", "Ascot", &[15]),
            ("02:30 Ascot", "Ascot", &[150]),
            ("race at Ascot", "Ascot", &[]),
            ("Gold Cup", "Gold Cup", &[]),
            ("14:30", "", &[after_noon]),
            ("25:30 Ascot", "25:30 Ascot", &[]),
            ("1m4f Ascot", "1m4f Ascot", &[]),
        ] {
            let expected = RaceReading { name: name.to_owned(), minutes: minutes.to_vec() };
            assert_eq!(RaceReading::new(text), expected, "{text}");
        }
    }

    #[test]
    fn time_of_a_race_is_of_the_zone() {
        let race = MatchSummary {
            // 2026-09-01T16:26:40Z
            start: Some(1_788_280_000_000_000),
            ..record::testing::summary(1)
        };
        let london = TimeZone::get("Europe/London").expect("a known zone");
        for (text, zone, is_at) in [
            ("16:26 Ascot", &TimeZone::UTC, true),
            ("4.26 Ascot", &TimeZone::UTC, true),
            ("17:26 Ascot", &TimeZone::UTC, false),
            ("17:26 Ascot", &london, true),
            ("Ascot", &london, true),
        ] {
            assert_eq!(RaceReading::new(text).is_at(&race, zone), is_at, "{text}");
        }
        let day = MatchSummary { day_only: true, ..race };
        assert!(!RaceReading::new("16:26 Ascot").is_at(&day, &TimeZone::UTC));
    }
}
