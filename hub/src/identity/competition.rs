//! The name of a competition in a form for comparison.
//!
//! Two clubs may play each other twice within hours, in two competitions: their women's teams, their reserves, a friendly. So two
//! fixtures are joined only if their competitions may be the same. Feeds write one competition in many ways, but the words that
//! distinguish it from another are in all of them.

use std::collections::BTreeSet;

use super::country;

/// The words that distinguish a competition, without its country, its grade and its season.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompetitionName {
    words: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompetitionRelation {
    Same,
    /// One is not named, or says less than the other.
    Unknown,
    Apart,
}

impl CompetitionName {
    /// Reads it from plain words without marks of the grade.
    pub(super) fn read(words: &[String]) -> Self {
        let words = without_season(country::without(words));
        let name = words.join(" ");
        let usual = SYNONYMS.iter().find(|names| names.contains(&name.as_str()));
        let name = usual.map_or(name.as_str(), |names| names[0]);
        let word = |word: &str| if word == "friendlies" { "friendly" } else { word }.to_owned();
        Self { words: name.split(' ').filter(|word| !IGNORED.contains(word)).map(word).collect() }
    }

    pub(super) fn relation(&self, other: &Self) -> CompetitionRelation {
        let (one, other) = (&self.words, &other.words);
        if one.is_empty() || other.is_empty() {
            return CompetitionRelation::Unknown;
        }
        if one == other {
            return CompetitionRelation::Same;
        }
        let distinguishes = |word: &String| {
            DISTINGUISHING.contains(&word.as_str()) || word.contains(|c| ('2'..='9').contains(&c))
        };
        let is_part = one.is_subset(other) || other.is_subset(one);
        match is_part && !one.symmetric_difference(other).any(distinguishes) {
            true => CompetitionRelation::Unknown,
            false => CompetitionRelation::Apart,
        }
    }
}

/// Without years: `2025`, `2025 26`.
fn without_season(words: Vec<String>) -> Vec<String> {
    let is_number =
        |word: &str, digits| word.len() == digits && word.bytes().all(|byte| byte.is_ascii_digit());
    let mut left: Vec<String> = Vec::with_capacity(words.len());
    let mut after_year = false;
    for word in words {
        let is_year = is_number(&word, 4);
        if !is_year && !(after_year && is_number(&word, 2)) {
            left.push(word);
        }
        after_year = is_year;
    }
    left
}

/// Words that some feeds add.
const IGNORED: &[&str] = &[
    "",
    "uefa",
    "fifa",
    "conmebol",
    "of",
    "the",
    "campionato",
    "season",
    "match",
    "matches",
    "game",
    "games",
    "group",
    "stage",
    "qualification",
    "qualifying",
    "qualifiers",
    "playoffs",
    "regular",
    "men",
    "mens",
    "us",
];

/// Words that make another competition of one.
const DISTINGUISHING: &[&str] = &[
    "cup", "copa", "coppa", "coupe", "pokal", "super", "one", "two", "three", "second", "segunda",
    "b", "friendly",
];

/// One competition in each line, in plain words without its country. Only what is certain stands here.
const SYNONYMS: &[&[&str]] = &[
    &["premier league", "epl", "premer liga", "premyer liqasi"],
    &["la liga", "laliga", "primera division", "laliga ea sports", "la liga ea sports"],
    &["efl cup", "carabao cup", "league cup"],
    &["championship", "sky bet championship", "efl championship"],
    &["league one", "sky bet league one", "efl league one"],
    &["league two", "sky bet league two", "efl league two"],
    &["libertadores", "copa libertadores"],
    &["mls", "major league soccer"],
    &["big bash league", "bbl"],
    &["ipl", "premier league indian"],
    &["primera rfef", "primera federacion"],
    &["ligue 1", "ligue 1 mcdonalds"],
    &["wsl", "fa wsl", "super league"],
    &["superliga", "super liga", "superligaen"],
    &["j1 league", "j league", "jleague"],
    &["acb", "liga acb", "liga endesa"],
    &["iem katowice", "intel extreme masters katowice"],
    &["nba", "national basketball association"],
    &["nhl", "national hockey league"],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::fold;

    #[test]
    fn competitions_are_compared_by_what_distinguishes_them() {
        use CompetitionRelation::{Apart, Same, Unknown};
        for (one, other, expected) in [
            ("Premier League", "English Premier League", Same),
            ("Premier League", "EPL", Same),
            ("Bundesliga 2025/26", "German Bundesliga", Same),
            ("2. Bundesliga", "Bundesliga 2", Same),
            ("UEFA Champions League", "Champions League", Same),
            ("Champions League", "", Unknown),
            ("Liga Profesional", "Liga Profesional Apertura", Unknown),
            ("Bundesliga", "2. Bundesliga", Apart),
            ("FA Cup", "Premier League", Apart),
            ("Club Friendlies", "Premier League", Apart),
            ("Europa League", "Champions League", Apart),
            ("Super Cup", "Cup", Apart),
        ] {
            let [a, b] = [one, other].map(|name| CompetitionName::read(&fold::words(name)));
            assert_eq!(a.relation(&b), expected, "{one}, {other}");
            assert_eq!(b.relation(&a), expected, "{other}, {one}");
        }
    }
}
