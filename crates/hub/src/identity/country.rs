//! The country in whose league a match is played, if the feed states it or the name of the competition indicates it.
//!
//! Most names do not, or are shared by many leagues ("Serie A", "Premier League"): then the country
//! is unknown, which never counts as a mismatch. It owns `countries.txt`, whose header defines its contents.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use base::names;

static COUNTRIES: LazyLock<Countries> =
    LazyLock::new(|| Countries::read(include_str!("countries.txt")));

/// Countries by what stands for them.
#[derive(Default)]
struct Countries {
    /// In plain words.
    names: FxHashMap<String, &'static str>,
    /// In small letters.
    codes: FxHashMap<&'static str, &'static str>,
    /// The words of the longest name.
    words_max: usize,
}

/// Names of leagues that are as good as that of their country.
const LEAGUES: &[(&str, &str)] = &[
    ("eredivisie", "Netherlands"),
    ("brasileiro", "Brazil"),
    ("brasileirao", "Brazil"),
    ("mls", "USA"),
];

impl Countries {
    fn read(text: &'static str) -> Self {
        let mut countries = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.split('=').map(str::trim);
            let country = parts.next().unwrap_or_default();
            let codes = parts.next().unwrap_or_default().split(' ');
            countries.codes.extend(codes.map(|code| (code, country)));
            let others = parts.next().into_iter().flat_map(|names| names.split("; "));
            for name in [country].into_iter().chain(others) {
                let words = names::words(name);
                countries.words_max = countries.words_max.max(words.len());
                countries.names.insert(words.join(" "), country);
            }
        }
        countries
    }
}

/// The country that the first of these words name, and how many of them do: as many as possible.
fn named_first(words: &[String]) -> Option<(&'static str, usize)> {
    let longest = COUNTRIES.words_max.min(words.len());
    let named = |count: usize| Some((*COUNTRIES.names.get(&words[..count].join(" "))?, count));
    (1..=longest).rev().find_map(named)
}

/// The country that the words of a competition's name indicate; `None` if they indicate two.
pub(super) fn mentioned_in(words: &[String]) -> Option<&'static str> {
    let mut found = None;
    let mut at = 0;
    while at < words.len() {
        let league = || LEAGUES.iter().find(|(league, _)| *league == words[at]);
        let here = named_first(&words[at..]).or_else(|| league().map(|(_, country)| (*country, 1)));
        if let Some((country, _)) = here {
            if found.is_some_and(|found| found != country) {
                return None;
            }
            found = Some(country);
        }
        at += here.map_or(1, |(_, count)| count);
    }
    found
}

/// The words without those that name a country; all of them if nothing else is left.
pub(super) fn without(words: &[String]) -> Vec<String> {
    let mut left = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let count = named_first(&words[at..]).map_or(0, |(_, count)| count);
        if count == 0 {
            left.push(words[at].clone());
        }
        at += count.max(1);
    }
    if left.is_empty() { words.to_vec() } else { left }
}

/// The country that a feed states by its code or its name; `None` for `World`, `GB`, `Europe`.
pub(super) fn stated(text: &str) -> Option<&'static str> {
    let words = names::words(text).join(" ");
    COUNTRIES.codes.get(&*words).or_else(|| COUNTRIES.names.get(&words)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::names;

    #[test]
    fn country_is_read_from_the_competition_name() {
        for (competition, expected) in [
            ("English Premier League", Some("England")),
            ("La Liga - Spain", Some("Spain")),
            ("Brazil Série A", Some("Brazil")),
            ("Northern Ireland Premiership", Some("Northern Ireland")),
            ("Premier League", None),
            ("UEFA Champions League", None),
            ("England v Germany Trophy", None),
            ("Northern Ireland and Republic of Ireland Cup", None),
        ] {
            assert_eq!(mentioned_in(&names::words(competition)), expected, "{competition}");
        }
    }

    #[test]
    fn country_is_stated_by_code_or_name() {
        for (text, expected) in [
            ("GER", Some("Germany")),
            ("DEU", Some("Germany")),
            ("de", Some("Germany")),
            ("Czech-Republic", Some("Czechia")),
            ("Türkiye", Some("Turkey")),
            ("Korea Republic", Some("South Korea")),
            ("ENG", Some("England")),
            ("GB", None),
            ("World", None),
            ("Europe", None),
            ("", None),
        ] {
            assert_eq!(stated(text), expected, "{text}");
        }
    }
}
