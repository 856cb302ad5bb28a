//! The name of a team in a form for comparison.

use base::names;
use facts::event::Sport;

use super::{
    aliases,
    grade::{Grade, MarkSource},
};

/// Club affixes that some feeds write and others omit. None of them distinguishes two clubs that
/// feeds cover; those that do (`RB`, `CSKA`, `Real`, `IFK`) are not in the list.
const AFFIXES: &[&str] = &[
    "fc", "afc", "cf", "sc", "ac", "as", "ssc", "ss", "cd", "ud", "sd", "rc", "rcd", "sv", "sk",
    "fk", "nk", "bk", "if", "ff", "vfl", "vfb", "tsv", "tsg", "bsc", "ogc", "aj", "kv", "rsc",
    "ec", "cfc", "calcio", "club", "ca", "cs", "hnk", "gnk", "pfc", "hc", "ehc", "bc", "gd", "tc",
    "esports", "clan", "team",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TeamName {
    /// Two names of one team have the same key.
    pub(super) key: String,
    /// In plain words, by which names are alike.
    name: String,
    /// Whether it is in the table, so that no other name of the table can mean it.
    listed: bool,
    pub(super) grade: Grade,
}

/// The likeness of two names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Likeness {
    Same,
    /// They may be the same: the similarity, below 1.
    Near(f64),
    Other,
}

impl TeamName {
    /// By the table of the sport's teams, limited to this country if that is known.
    pub(super) fn read(name: &str, sport: Sport, country: Option<&str>) -> Self {
        let mut words = plain_words(name);
        if sport != Sport::Football {
            words = words.iter().flat_map(|word| city(word)).collect();
        }
        let find = |words: &[String]| {
            aliases::find(&words.join(" "), sport, country).map(|entry| entry.name.clone())
        };
        let new =
            |name: String, listed, grade| Self { key: names::key(&name), name, listed, grade };
        // Before anything is removed: the II of Willem II is not a second team.
        if let Some(name) = find(&words) {
            return new(name, true, Grade::default());
        }
        let grade = Grade::take(&mut words, MarkSource::Team);
        let short = without_affixes(&words);
        match find(&words).or_else(|| find(short)) {
            Some(name) => new(name, true, grade),
            None => new(short.join(" "), false, grade),
        }
    }

    /// Combined with the grade that the rest of the fixture gives.
    pub(super) fn within(self, grade: Grade) -> Self {
        Self { grade: self.grade.within(grade), ..self }
    }

    pub(super) fn without_grade(self) -> Self {
        Self { grade: Grade::default(), ..self }
    }

    pub(super) fn likeness(&self, other: &Self) -> Likeness {
        if !self.grade.agrees(other.grade) {
            return Likeness::Other;
        }
        if self.key == other.key {
            return Likeness::Same;
        }
        if self.listed && other.listed {
            return Likeness::Other;
        }
        near(&self.name, &other.name)
    }
}

/// Similar by letters, or one contains all words of the other.
fn near(one: &str, other: &str) -> Likeness {
    const ENOUGH: f64 = 0.88;
    const WORDS_SHARED: f64 = 0.9;
    let alike = strsim::jaro_winkler(one, other);
    let holds = |long: &str, short: &str| {
        short.split(' ').all(|word| long.split(' ').any(|other| other == word))
    };
    let shared = if holds(one, other) || holds(other, one) { WORDS_SHARED } else { 0.0 };
    // Never 1, even after rounding, because 1 means equal.
    let score = alike.max(shared).min(0.99);
    if score >= ENOUGH { Likeness::Near(score) } else { Likeness::Other }
}

/// A name in plain words, without words that join others.
pub(super) fn plain(name: &str) -> String {
    plain_words(name).join(" ")
}

fn plain_words(name: &str) -> Vec<String> {
    let mut words = names::words(name);
    for word in &mut words {
        if let Some((_, usual)) = USUAL_WORDS.iter().find(|(other, _)| other == word) {
            (*usual).clone_into(word);
        }
    }
    let last = words.len().saturating_sub(1);
    let joins =
        |at: usize, word: &str| word == "and" || PARTICLES.contains(&word) && 0 < at && at < last;
    let left = words.iter().enumerate().filter(|(at, word)| !joins(*at, word));
    let left: Vec<_> = left.map(|(_, word)| word.clone()).collect();
    if left.is_empty() { words } else { left }
}

/// Words between two others that some feeds leave out: Espérance de Tunis.
const PARTICLES: &[&str] = &["de", "del", "di", "do", "da", "du"];

/// Words that feeds write in two ways: abbreviations, and cities under their own and their English names.
const USUAL_WORDS: &[(&str, &str)] = &[
    ("utd", "united"),
    ("saint", "st"),
    ("moskva", "moscow"),
    ("warszawa", "warsaw"),
    ("praha", "prague"),
    ("wien", "vienna"),
    ("munchen", "munich"),
    ("muenchen", "munich"),
    ("koln", "cologne"),
    ("koeln", "cologne"),
    ("bucuresti", "bucharest"),
    ("beograd", "belgrade"),
    ("goteborg", "gothenburg"),
    ("goeteborg", "gothenburg"),
    ("kobenhavn", "copenhagen"),
    ("koebenhavn", "copenhagen"),
    ("luzern", "lucerne"),
    ("geneve", "geneva"),
    ("brugge", "bruges"),
    ("bengaluru", "bangalore"),
    ("kiev", "kyiv"),
];

/// Cities that American sports abbreviate.
fn city(word: &str) -> Vec<String> {
    let words: &[&str] = match word {
        "la" => &["los", "angeles"],
        "ny" => &["new", "york"],
        "nj" => &["new", "jersey"],
        "okc" => &["oklahoma", "city"],
        "gs" => &["golden", "state"],
        _ => return vec![word.to_owned()],
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Removes affixes at both ends, but never the last word.
fn without_affixes(words: &[String]) -> &[String] {
    let is_affix = |word: &String| AFFIXES.contains(&word.as_str());
    let mut rest = words;
    loop {
        match rest {
            [first, second, _, ..] if first == "1" && is_affix(second) => rest = &rest[1..],
            [first, _, ..] if is_affix(first) => rest = &rest[1..],
            [.., _, last] if is_affix(last) => rest = &rest[..rest.len() - 1],
            _ => return rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> TeamName {
        TeamName::read(name, Sport::Football, None)
    }

    #[test]
    fn names_of_one_team_match() {
        for names in [
            &["Man City", "Manchester City", "Manchester City FC"][..],
            &["Man United", "Man Utd", "Manchester United", "Manchester Utd"],
            &["Nott'm Forest", "Nottingham Forest"],
            &["Spurs", "Tottenham", "Tottenham Hotspur FC"],
            &["Wolves", "Wolverhampton Wanderers"],
            &["Brighton", "Brighton & Hove Albion", "Brighton and Hove Albion"],
            &["AFC Bournemouth", "Bournemouth"],
            &["PSG", "Paris SG", "Paris St-G", "Paris Saint-Germain", "Paris St Germain"][..2],
            &["Paris Saint-Germain", "Paris St Germain", "Paris Saint Germain FC", "PSG"],
            &["Inter", "Internazionale", "FC Internazionale Milano", "Inter Milan"],
            &["AC Milan", "Milan", "A.C. Milan"],
            &["Atletico Madrid", "Atl. Madrid", "Ath Madrid", "Atlético de Madrid"],
            &["Ath Bilbao", "Athletic Club", "Athletic Bilbao"],
            &["Bayern Munich", "FC Bayern München", "Bayern Munchen"],
            &["M'gladbach", "Borussia Mönchengladbach", "Mgladbach"],
            &["1. FC Köln", "FC Koln", "Cologne", "Köln"],
            &["Turkey", "Türkiye"],
            &["South Korea", "Korea Republic"],
            &["Ivory Coast", "Côte d'Ivoire", "Cote d’Ivoire"],
            &["Bosnia-Herzegovina", "Bosnia & Herzegovina", "Bosnia and Herzegovina"],
            &["Willem II", "Willem II Tilburg"],
            &["Arsenal Women", "Arsenal (W)", "Arsenal FC Women"],
            &["England U21", "England Under-21"],
            &["Malmö FF", "Malmo"],
        ] {
            for name in names {
                assert_eq!(read(name).likeness(&read(names[0])), Likeness::Same, "{name}");
            }
        }
    }

    #[test]
    fn different_teams_do_not_match() {
        for (one, other) in [
            ("Man City", "Man United"),
            ("Manchester City", "Middlesbrough"),
            ("Sheffield United", "Sheffield Weds"),
            ("Arsenal", "Arsenal Women"),
            ("England U19", "England U21"),
            ("Barcelona", "Barcelona B"),
            ("Paris FC", "PSG"),
            ("PSV", "FC Eindhoven"),
            ("AC Ajaccio", "GFC Ajaccio"),
            ("North Korea", "South Korea"),
            ("Niger", "Nigeria"),
            ("Congo", "DR Congo"),
            ("Inter", "Milan"),
            ("Verona", "Chievo Verona"),
            ("Willem II", "Willem"),
        ] {
            let likeness = read(one).likeness(&read(other));
            if (one, other) == ("Willem II", "Willem") {
                assert_ne!(likeness, Likeness::Same);
            } else {
                assert_eq!(likeness, Likeness::Other, "{one} and {other}");
            }
        }
    }

    #[test]
    fn team_name_never_becomes_empty() {
        for (name, key) in
            [("FC", "fc"), ("AFC FC", "fc"), ("1. FC", "1"), ("W", "w"), ("&", "and")]
        {
            assert_eq!(read(name).key, key);
        }
    }

    #[test]
    fn alias_applies_only_in_its_own_country() {
        let key = |country| TeamName::read("Inter", Sport::Football, country).key;
        assert_eq!(key(Some("Italy")), "intermilan");
        assert_eq!(key(None), "intermilan");
        assert_eq!(key(Some("Brazil")), "inter");
        assert_eq!(TeamName::read("Inter", Sport::Hockey, None).key, "inter");
    }
}
