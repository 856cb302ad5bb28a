//! The name of a competition in a form for comparison.
//!
//! Two clubs may play each other twice within hours, in two competitions: their women's teams, their reserves, a friendly. So two
//! fixtures are joined only if their competitions may be the same. Feeds write one competition in many ways, but the words that
//! distinguish it from another are in all of them.

use std::collections::BTreeSet;

use super::country;

/// The words that distinguish a competition, without its country, its grade and its season.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CompetitionName {
    words: BTreeSet<String>,
    /// Its usual name, if it is one of those that are called in several ways.
    usual: Option<&'static str>,
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
        let usual_word = |word: String| match word.as_str() {
            "friendlies" => "friendly".to_owned(),
            "clubs" => "club".to_owned(),
            "professional" => "pro".to_owned(),
            "i" => "1".to_owned(),
            "ii" => "2".to_owned(),
            _ => word,
        };
        let words = without_season(country::without(words)).into_iter();
        let words: Vec<_> =
            words.filter(|word| !IGNORED.contains(&word.as_str())).map(usual_word).collect();
        let name = words.join(" ");
        let usual = SYNONYMS.iter().find(|names| names.contains(&name.as_str()));
        Self { words: words.into_iter().collect(), usual: usual.map(|names| names[0]) }
    }

    pub(super) fn is_named(&self) -> bool {
        !self.words.is_empty()
    }

    pub(super) fn relation(&self, other: &Self) -> CompetitionRelation {
        let has_one_name = self.usual.is_some() && self.usual == other.usual;
        let (one, other) = (&self.words, &other.words);
        if one.is_empty() || other.is_empty() {
            return CompetitionRelation::Unknown;
        }
        if has_one_name || one == other {
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

/// Without numbers that name no competition: `2025`, `2025 26`, `Season 21`, `8 mins play`.
fn without_season(words: Vec<String>) -> Vec<String> {
    let is_number =
        |word: &str, digits| word.len() == digits && word.bytes().all(|byte| byte.is_ascii_digit());
    let mut left: Vec<String> = Vec::with_capacity(words.len());
    let (mut after_year, mut after_season) = (false, false);
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let is_year = is_number(&word, 4);
        let has_two = is_number(&word, 2);
        let is_short = has_two || is_number(&word, 1);
        let is_length = is_short && words.peek().is_some_and(|next| next == "mins");
        let is_left_out = is_year || after_year && has_two || after_season && is_short || is_length;
        (after_year, after_season) = (is_year, word == "season");
        if !is_left_out {
            left.push(word);
        }
    }
    left
}

/// Words that some feeds add.
const IGNORED: &[&str] = &[
    "uefa",
    "fifa",
    "conmebol",
    "efl",
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
    "mins",
    "play",
    "us",
];

/// Words that make another competition of one.
const DISTINGUISHING: &[&str] = &[
    "cup", "copa", "coppa", "coupe", "pokal", "super", "one", "two", "three", "second", "segunda",
    "b", "friendly",
];

/// The names of one competition in each line, in plain words without its country and the words above. Only what is certain
/// stands here: two leagues with one name are of two countries, which are compared elsewhere.
const SYNONYMS: &[&[&str]] = &[
    &["premier league", "epl", "premer liga", "premyer liqasi"],
    &["la liga", "laliga", "primera division", "laliga ea sports", "la liga ea sports"],
    &["carabao cup", "league cup"],
    &["championship", "sky bet championship"],
    &["league one", "sky bet league one", "league 1"],
    &["league two", "sky bet league two", "league 2"],
    &["copa libertadores", "libertadores"],
    &["copa sudamericana", "sudamericana"],
    &["mls", "major league soccer"],
    &["big bash league", "bbl"],
    &["indian premier league", "ipl"],
    &["primera rfef", "primera federacion"],
    &["ligue 1", "ligue 1 mcdonalds"],
    &["super league", "super lig", "superleague", "super league 1", "wsl", "fa wsl"],
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
    use base::names;

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
            ("ESL Pro League", "ESL Pro League Season 21", Same),
            ("Esoccer Battle - 8 mins play", "Esoccer Battle", Same),
            ("Liga I", "Liga 1", Same),
            ("Saudi Pro League", "Saudi Professional League", Same),
            ("Liga Profesional", "Liga Profesional Apertura", Unknown),
            ("Bundesliga", "2. Bundesliga", Apart),
            ("FA Cup", "Premier League", Apart),
            ("Club Friendlies", "Premier League", Apart),
            ("Europa League", "Champions League", Apart),
            ("Super Cup", "Cup", Apart),
            ("Super League 1", "Super League - Greece", Same),
            ("Süper Lig", "Turkey Super League", Same),
            ("Primera División", "Venezuelan Primera Division", Same),
            ("MLS", "US Major League Soccer", Same),
            ("CONMEBOL Sudamericana", "Copa Sudamericana", Same),
            ("Friendlies Clubs", "Club Friendly Games", Same),
        ] {
            let [a, b] = [one, other].map(|name| CompetitionName::read(&names::words(name)));
            assert_eq!(a.relation(&b), expected, "{one}, {other}");
            assert_eq!(b.relation(&a), expected, "{other}, {one}");
        }
    }
}
