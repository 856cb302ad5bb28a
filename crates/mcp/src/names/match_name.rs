//! Finds the one match that a text means: `A v B`, `A v B on saturday`, `A live`, `A v B (204849)`.

use std::{collections::BTreeSet, sync::Arc};

use base::Micros;
use facts::event::Sport;
use history::query::MatchQuery;
use record::{Key, MatchSummary, Status};
use serde_json::json;

use super::{FIT_MIN, NEAREST_MAX, Names, SearchResult, sides_of};
use crate::{
    argument::EXPECTED_MATCH,
    days::{Calendar, TimeSpan},
    refusal::Refusal,
};

/// Which of several matches of the same sides a tool is about. One in play always comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tense {
    /// The last result.
    Past,
    /// The next match.
    Future,
    /// The nearest in time.
    Nearest,
}

/// The most words of a day at the end of a text.
const DAY_WORDS_MAX: usize = 5;

/// A score that a name reaches only without foreign words in it.
const EXACT_MIN: f64 = 0.9;

/// Matches of a single side are found within this time of now.
const NEAR_US: Micros = 60 * 24 * 60 * 60 * 1_000_000;

const LIVE_WORDS: [&str; 7] = ["live", "now", "current", "ongoing", "in-play", "inplay", "in_play"];

/// Words around the others that say nothing.
const NOISE: [&str; 8] = ["the", "match", "game", "fixture", "of", "what", "is", "playing"];

const TENSE_WORDS: [(&str, Tense); 6] = [
    ("last", Tense::Past),
    ("latest", Tense::Past),
    ("previous", Tense::Past),
    ("recent", Tense::Past),
    ("next", Tense::Future),
    ("upcoming", Tense::Future),
];

/// A way to read a text: its sides, the days that it names, and what it says of the time otherwise.
#[derive(Debug)]
struct Reading {
    sides: Vec<Vec<SearchResult>>,
    spans: Vec<TimeSpan>,
    tense: Option<Tense>,
}

/// A match that fits, and how well.
#[derive(Debug)]
struct Candidate {
    summary: Arc<MatchSummary>,
    score: f64,
    /// Its requested sides.
    sides: BTreeSet<Key>,
}

impl Names {
    /// The match that a text means.
    ///
    /// # Errors
    ///
    /// If it means none or several; with those that come nearest.
    pub(crate) fn match_named(
        &self,
        asked: &str,
        tense: Tense,
        calendar: &Calendar,
    ) -> Result<Key, Refusal> {
        if let Some(id) = id_at_end(asked) {
            return Ok(id);
        }
        let (text, is_live) = without_live(asked);
        if text.is_empty() {
            return self.only_live();
        }
        if self.sport == Sport::HorseRacing {
            return self.race_named(asked, (&text, is_live), tense, calendar);
        }
        let reading = self.reading(&text, calendar)?;
        let mut candidates = self.candidates(&reading, calendar);
        candidates.retain(|Candidate { summary, .. }| {
            is_in_tense(summary, reading.tense) && (!is_live || summary.status.is_live())
        });
        let best = candidates.iter().map(|candidate| candidate.score).fold(0.0, f64::max);
        candidates.retain(|candidate| candidate.score > best - 0.001);
        candidates.sort_by_key(|candidate| rank(&candidate.summary, tense, calendar.now()));
        let Some(first) = candidates.first() else {
            let near = self.matches(&text, NEAREST_MAX, calendar);
            return Err(Refusal::not_found(format!(
                "No {} match is known as {asked:?}. Today is {}.",
                self.sport.as_str(),
                calendar.today()
            ))
            .with("nearest", json!(near)));
        };
        if candidates.iter().any(|other| other.sides != first.sides) {
            return Err(self.doubtful(asked, candidates.iter().map(|it| &*it.summary)));
        }
        Ok(first.summary.id)
    }

    fn only_live(&self) -> Result<Key, Refusal> {
        let live = self.history.live(self.sport);
        match live.as_slice() {
            [] => Err(Refusal::not_found("No match is in play now.")),
            [one] => Ok(one.summary.id),
            _ => Err(self.doubtful("live", live.iter().map(|record| &*record.summary))),
        }
    }

    pub(super) fn doubtful<'a>(
        &self,
        asked: &str,
        candidates: impl Iterator<Item = &'a MatchSummary>,
    ) -> Refusal {
        let nearest: Vec<_> =
            candidates.take(NEAREST_MAX).map(|it| self.search_result(it)).collect();
        Refusal::new(
            "ambiguous_name",
            format!("Several matches fit {asked:?}: call again with the id of one."),
        )
        .with("nearest", json!(nearest))
    }

    /// The first reading whose sides all exist: the whole text, so that Sheffield Wednesday stays a team, then
    /// with days at an end, then without words that are no name.
    fn reading(&self, text: &str, calendar: &Calendar) -> Result<Reading, Refusal> {
        // The first side that nobody is called ends the search: each one compares all names.
        let sides_of_text = |text: &str, least: f64| -> Option<Vec<Vec<SearchResult>>> {
            let fitting = |side: &str| {
                let mut found = self.entities(self.side(), side, 2 * NEAREST_MAX);
                found.retain(|team| team.score >= least);
                Some(found).filter(|found| !found.is_empty())
            };
            sides_of(text).into_iter().map(fitting).collect()
        };
        let plain = without_noise(text);
        let (rest, tense) = without_tense(&plain);
        let whole = std::iter::once((text.to_owned(), Vec::new(), None, EXACT_MIN));
        let dated = dated(text, calendar).chain(dated(&plain, calendar));
        let dated = dated.map(|(text, spans)| (text, spans, None, FIT_MIN));
        let timeless = Some((rest, Vec::new(), tense, FIT_MIN)).filter(|(rest, ..)| rest != text);
        let again = std::iter::once((text.to_owned(), Vec::new(), None, FIT_MIN));
        for (text, spans, tense, least) in whole.chain(dated).chain(timeless).chain(again) {
            if let Some(sides) = sides_of_text(&text, least) {
                return Ok(Reading { sides, spans, tense });
            }
        }
        let sides = sides_of(text);
        let missing = sides.iter().find(|side| {
            self.entities(self.side(), side, 1).first().is_none_or(|it| it.score < FIT_MIN)
        });
        let missing = missing.copied().unwrap_or(text);
        let message = format!("No {} is called {missing:?}. {}", super::word(self.side()), help());
        Err(Refusal::not_found(message).with("nearest", json!(self.nearest(self.side(), missing))))
    }

    fn candidates(&self, reading: &Reading, calendar: &Calendar) -> Vec<Candidate> {
        let first: Vec<Key> = reading.sides[0].iter().map(|team| team.id).collect();
        let now = calendar.now();
        let is_near = reading.sides.len() == 1 && reading.spans.is_empty();
        let query = MatchQuery {
            teams: Some(first),
            from: is_near.then(|| now - NEAR_US),
            before: is_near.then(|| now + NEAR_US),
            ..MatchQuery::of_sport(self.sport)
        };
        let days = reading.spans.iter().map(|span| self.on_days(*span, calendar));
        let days: Vec<_> = days.collect();
        let is_on_day = |summary: &MatchSummary| {
            days.is_empty() || days.iter().any(|days| days.selects(summary))
        };
        let found = self.history.find(&query).summaries.into_iter().filter(|it| is_on_day(it));
        found.filter_map(|summary| candidate(reading, summary)).collect()
    }
}

/// Whether a match is one of those that a word of time means.
pub(super) fn is_in_tense(summary: &MatchSummary, tense: Option<Tense>) -> bool {
    match tense {
        Some(Tense::Past) => summary.status.has_result(),
        Some(Tense::Future) => is_ahead(summary),
        Some(Tense::Nearest) | None => true,
    }
}

/// How well a match fits the sides of a reading; `None` if it has others.
fn candidate(reading: &Reading, summary: Arc<MatchSummary>) -> Option<Candidate> {
    let side_ids = summary.sides?;
    let score = |side: &[SearchResult], id: Key| {
        side.iter().find(|team| team.id == id).map(|team| team.score)
    };
    let (score, sides) = match reading.sides.as_slice() {
        [one] => {
            let fitting = side_ids.into_iter().filter_map(|id| Some((score(one, id)?, id)));
            let (score, id) = fitting.max_by(|a, b| a.0.total_cmp(&b.0))?;
            (score, BTreeSet::from([id]))
        }
        [first, second, ..] => {
            let both = |a, b| Some(score(first, a)?.min(score(second, b)?));
            let [home, away] = side_ids;
            let fit = both(home, away).into_iter().chain(both(away, home)).reduce(f64::max)?;
            (fit, BTreeSet::from(side_ids))
        }
        [] => return None,
    };
    Some(Candidate { summary, score, sides })
}

/// The order of matches of the same sides: the one that is meant comes first.
pub(super) fn rank(summary: &MatchSummary, tense: Tense, now: Micros) -> (u8, Micros) {
    let distance = summary.start.map_or(Micros::MAX, |start| (start - now).abs());
    let rank = match tense {
        _ if summary.status.is_live() => 0,
        Tense::Past if summary.status.has_result() => 1,
        Tense::Future if is_ahead(summary) => 1,
        Tense::Nearest if summary.status.has_result() || is_ahead(summary) => 1,
        _ if summary.status.has_result() || is_ahead(summary) => 2,
        _ => 3,
    };
    (rank, distance)
}

fn is_ahead(summary: &MatchSummary) -> bool {
    matches!(summary.status, Status::NotStarted | Status::AtThePost)
}

/// The texts beside days at the end or the begin, the longest days first. A weekday is the last or the next one.
pub(super) fn dated(
    text: &str,
    calendar: &Calendar,
) -> impl Iterator<Item = (String, Vec<TimeSpan>)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let calendars = [true, false].map(|prefers_past| calendar.preferring_past(prefers_past));
    let most = DAY_WORDS_MAX.min(words.len().saturating_sub(1));
    let mut readings = Vec::new();
    for count in (1..=most).rev() {
        let (before, last) = words.split_at(words.len() - count);
        let (first, after) = words.split_at(count);
        for (rest, day) in [(before, last), (after, first)] {
            let day = day.join(" ");
            let day = day.trim_matches(['(', ')', ',', '.']);
            let spans: Vec<TimeSpan> =
                calendars.iter().filter_map(|calendar| calendar.span(day)).collect();
            let rest = rest.join(" ");
            let rest = rest.trim_end_matches([',', '(', ' ']);
            let rest = rest.strip_suffix(" on").unwrap_or(rest);
            if !spans.is_empty() && !rest.is_empty() {
                readings.push((rest.to_owned(), spans));
            }
        }
    }
    readings.into_iter()
}

/// The text without words that say that the match is in play, and whether there were any.
fn without_live(text: &str) -> (String, bool) {
    let is_live_word = |word: &str| {
        LIVE_WORDS.contains(&&*word.trim_matches(['(', ')', ',']).to_ascii_lowercase())
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_said = |word: &&&str| !is_noise(word);
    let ends = [words.iter().find(is_said), words.iter().rfind(is_said)];
    if !ends.into_iter().flatten().any(|word| is_live_word(word)) {
        return (text.trim().to_owned(), false);
    }
    let rest = words.into_iter().filter(|word| !is_live_word(word) && !is_noise(word));
    (rest.collect::<Vec<_>>().join(" "), true)
}

/// The text without words that say nothing, and without genitives: `yesterday's Alpha match` is `yesterday Alpha`.
pub(super) fn without_noise(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| !is_noise(word));
    let stem = |word: &str| -> String {
        let word = word.trim_end_matches(',');
        ["'s", "’s"].into_iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word).to_owned()
    };
    words.map(stem).collect::<Vec<_>>().join(" ")
}

/// The text without a word such as `last` and `next`, and what that says.
pub(super) fn without_tense(text: &str) -> (String, Option<Tense>) {
    let tense = |word: &str| {
        TENSE_WORDS.iter().find(|(key, _)| word.eq_ignore_ascii_case(key)).map(|(_, tense)| *tense)
    };
    let said = text.split(' ').find_map(tense);
    let rest = text.split(' ').filter(|word| tense(word).is_none());
    (rest.collect::<Vec<_>>().join(" "), said)
}

fn is_noise(word: &str) -> bool {
    NOISE.contains(&&*word.to_ascii_lowercase())
}

/// The id in `A v B (204849)` and `#204849`.
fn id_at_end(text: &str) -> Option<Key> {
    let text = text.trim();
    let in_brackets = || text.strip_suffix(')')?.rsplit_once('(').map(|(_, id)| id);
    text.strip_prefix('#').or_else(in_brackets)?.trim().parse().ok()
}

fn help() -> String {
    format!("A match is {EXPECTED_MATCH}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_play_and_ids_are_read_at_the_ends() {
        assert_eq!(without_live("Alpha v Beta live"), ("Alpha v Beta".to_owned(), true));
        assert_eq!(without_live("the live match"), (String::new(), true));
        assert_eq!(without_live("the Alpha match"), ("the Alpha match".to_owned(), false));
        assert_eq!(without_live("live match"), (String::new(), true));
        assert_eq!(without_live("Live now"), (String::new(), true));
        assert_eq!(without_live("Alpha v Beta"), ("Alpha v Beta".to_owned(), false));
        assert_eq!(id_at_end("Alpha v Beta (204849)"), Some(204_849));
        assert_eq!(id_at_end("#7"), Some(7));
        assert_eq!(id_at_end("Alpha (Women)"), None);
    }

    #[test]
    fn words_say_which_match_is_meant() {
        let read = |text: &str| without_tense(&without_noise(text));
        let alpha = |tense| ("Alpha".to_owned(), tense);
        assert_eq!(read("Alpha's last match"), alpha(Some(Tense::Past)));
        assert_eq!(read("the next game of Alpha"), alpha(Some(Tense::Future)));
        assert_eq!(read("the Alpha match"), alpha(None));
        assert_eq!(read("Alpha, latest match"), alpha(Some(Tense::Past)));
    }

    #[test]
    fn days_are_read_at_the_ends() {
        let calendar = Calendar::at(1_795_617_000_000_000, jiff::tz::TimeZone::UTC);
        let read =
            |text: &str| -> Vec<String> { dated(text, &calendar).map(|(text, _)| text).collect() };
        assert_eq!(read("Alpha v Beta on saturday"), ["Alpha v Beta", "Alpha v Beta"]);
        assert_eq!(read("Alpha v Beta, 2026-11-28")[0], "Alpha v Beta");
        assert_eq!(read("Alpha v Beta (yesterday)")[0], "Alpha v Beta");
        assert_eq!(read("Alpha last week")[0], "Alpha");
        assert_eq!(read("saturday, Alpha v Beta"), ["Alpha v Beta"]);
        assert_eq!(read(&without_noise("Yesterday's Alpha match")), ["Alpha"]);
        assert_eq!(read("Alpha v Beta"), Vec::<String>::new());
        assert_eq!(read("today"), Vec::<String>::new());
    }
}
