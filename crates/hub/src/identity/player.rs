//! The name of a player, or of a pair of players, in a form for comparison.
//!
//! Feeds write `Novak Djokovic`, `N. Djokovic`, `Djokovic N.` and `Djokovic, Novak`, and for pairs
//! often only the surnames. They share a surname and an initial. In a full name, the start of the
//! surname is unknown (`Juan Martin del Potro`), so it may be only the last word.

use base::names;

use super::team::Likeness;

/// One side of a match: a player, or the partners in the order of their surnames.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlayerNames(Vec<PlayerName>);

#[derive(Debug, Clone, PartialEq)]
struct PlayerName {
    /// The first given name, as far as it is written; empty if there is none.
    given: String,
    /// The remaining words.
    surname: Vec<String>,
    /// Whether `surname` is the complete surname.
    whole: bool,
}

impl PlayerNames {
    pub(super) fn read(name: &str) -> Self {
        let name = without_brackets(name).replace(" and ", "/");
        let parts = name.split(['/', '&', '+']).map(PlayerName::read);
        Self(parts.filter(|player| !player.surname.is_empty()).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Words of which two forms of the same name always share one.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|player| {
            let given = (player.given.len() > 2).then_some(player.given.as_str());
            player.surname.iter().map(String::as_str).chain(given)
        })
    }

    /// For a pair, equal surnames are sufficient, since there are two of them.
    pub(super) fn likeness(&self, other: &Self) -> Likeness {
        match (&self.0[..], &other.0[..]) {
            ([one], [other]) => one.likeness(other, false),
            ([a, b], [c, d]) => {
                let straight = worse(a.likeness(c, true), b.likeness(d, true));
                let crossed = worse(a.likeness(d, true), b.likeness(c, true));
                better(straight, crossed)
            }
            _ => Likeness::Other,
        }
    }
}

impl PlayerName {
    fn read(name: &str) -> Self {
        if let Some((surname, given)) = name.split_once(',') {
            let given = all_words(&[given]).into_iter().next().unwrap_or_default();
            return Self { given, surname: all_words(&[surname]), whole: true };
        }
        let words = name.split_whitespace().filter(|word| !is_suffix(word)).collect::<Vec<_>>();
        let shouted = !name.chars().any(char::is_lowercase);
        let is_initial = |word: &&str| is_initials(word, shouted);
        let first = words.iter().take_while(|word| is_initial(word)).count();
        let last = words.iter().rev().take_while(|word| is_initial(word)).count();
        match (first, last) {
            (0, 0) => Self::in_full(&words),
            (first, _) if first == words.len() => Self::in_full(&words),
            (0, last) => {
                let (surname, given) = words.split_at(words.len() - last);
                Self::with_initial(given[0], surname)
            }
            (first, _) => Self::with_initial(words[0], &words[first..]),
        }
    }

    fn with_initial(initials: &str, surname: &[&str]) -> Self {
        // The first letter of `J.M.` and `J-M`; both letters of `Ka.`, which distinguish Karolina
        // from Kristyna.
        let end = initials.find(['.', '-']).unwrap_or(initials.len());
        let end = if initials.len() == 2 && end == 2 { 1 } else { end };
        let given = all_words(&[initials.get(..end).unwrap_or(initials)]).concat();
        Self { given, surname: all_words(surname), whole: true }
    }

    fn in_full(words: &[&str]) -> Self {
        let mut words = all_words(words);
        if words.len() < 2 {
            return Self { given: String::new(), surname: words, whole: true };
        }
        let given = words.remove(0);
        Self { given, surname: words, whole: false }
    }

    fn likeness(&self, other: &Self, surname_is_enough: bool) -> Likeness {
        if self.has_words_of(other) {
            return Likeness::Same;
        }
        let given = !self.given.is_empty() && !other.given.is_empty();
        let abbreviated =
            self.given.starts_with(&other.given) || other.given.starts_with(&self.given);
        match (self.shares_surname(other), abbreviated) {
            (true, true) if given || surname_is_enough => Likeness::Same,
            // Only the surname is known on both sides.
            (true, true) => Likeness::Near(0.9),
            (true, false) => alike(&self.given, &other.given),
            (false, true) if given => alike(&self.surname.join(" "), &other.surname.join(" ")),
            (false, _) => Likeness::Other,
        }
    }

    /// `Zhang Shuai` and `Shuai Zhang`: all the same words, in full, in any order.
    fn has_words_of(&self, other: &Self) -> bool {
        if self.whole || other.whole {
            return false;
        }
        let sorted = |player: &Self| {
            let mut words = player.surname.clone();
            words.push(player.given.clone());
            words.sort_unstable();
            words
        };
        sorted(self) == sorted(other)
    }

    fn shares_surname(&self, other: &Self) -> bool {
        if is_first_of(&self.surname, &other.surname) || is_first_of(&other.surname, &self.surname)
        {
            return true;
        }
        match (self.whole, other.whole) {
            (true, true) => self.surname == other.surname,
            (true, false) => other.surname.ends_with(&self.surname),
            (false, true) => self.surname.ends_with(&other.surname),
            (false, false) => {
                self.surname.ends_with(&other.surname) || other.surname.ends_with(&self.surname)
            }
        }
    }
}

/// Whether the one surname is the first of two, which is the one in daily use in Spain: Pablo Carreño Busta.
fn is_first_of(one: &[String], two: &[String]) -> bool {
    two.len() == 2 && one.len() == 1 && one[0] == two[0]
}

/// Names of different people differ in few letters more often than team names do, so the threshold
/// is higher.
fn alike(one: &str, other: &str) -> Likeness {
    const ENOUGH: f64 = 0.85;
    let score = strsim::jaro_winkler(one, other).min(0.99);
    let long = one.len() > 3 && other.len() > 3;
    if long && score >= ENOUGH { Likeness::Near(score) } else { Likeness::Other }
}

fn worse(one: Likeness, other: Likeness) -> Likeness {
    match (one, other) {
        (Likeness::Other, _) | (_, Likeness::Other) => Likeness::Other,
        (Likeness::Same, it) | (it, Likeness::Same) => it,
        (Likeness::Near(one), Likeness::Near(other)) => Likeness::Near(one.min(other)),
    }
}

fn better(one: Likeness, other: Likeness) -> Likeness {
    match (one, other) {
        (Likeness::Same, _) | (_, Likeness::Same) => Likeness::Same,
        (Likeness::Other, it) | (it, Likeness::Other) => it,
        (Likeness::Near(one), Likeness::Near(other)) => Likeness::Near(one.max(other)),
    }
}

fn all_words(words: &[&str]) -> Vec<String> {
    words.iter().flat_map(|word| names::words(word)).map(names::letters).collect()
}

/// `N`, `N.`, `J.M.`, `J-W.`, `Ka.`, and `JM` unless the whole name is in capitals.
fn is_initials(word: &str, shouted: bool) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let single = word.split(['.', '-']).all(|part| part.chars().count() <= 1);
    let short = letters == 2 && word.ends_with('.');
    let capitals = letters == 2 && !shouted && word.chars().all(char::is_uppercase);
    letters > 0 && (single || short || capitals)
}

fn is_suffix(word: &str) -> bool {
    matches!(word.trim_end_matches('.'), "Jr" | "Sr" | "jr" | "sr" | "III")
}

/// Removes seeds and countries in brackets: `N. Djokovic (SRB) [1]`.
fn without_brackets(name: &str) -> String {
    let mut depth = 0_u32;
    let mut outside = String::with_capacity(name.len());
    // The longest known pairs have about 60 characters.
    for c in name.chars().take(160) {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => outside.push(c),
            _ => {}
        }
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, expected: fn(Likeness) -> bool) {
        let [one, other] = [one, other].map(PlayerNames::read);
        for likeness in [one.likeness(&other), other.likeness(&one)] {
            assert!(expected(likeness), "{one:?} and {other:?}: {likeness:?}");
        }
    }

    const SAME: fn(Likeness) -> bool = |it| it == Likeness::Same;
    const NEAR: fn(Likeness) -> bool = |it| matches!(it, Likeness::Near(_));
    const OTHER: fn(Likeness) -> bool = |it| it == Likeness::Other;

    #[test]
    fn forms_of_one_player_name_match() {
        for (one, other) in [
            ("Novak Djokovic", "N. Djokovic"),
            ("Novak Djokovic", "Djokovic N."),
            ("Novak Djokovic", "N Djokovic"),
            ("Novak Djokovic", "Djokovic, Novak"),
            ("Novak Đoković (SRB) [1]", "Djokovic N"),
            ("NOVAK DJOKOVIC", "N. Djokovic"),
            ("Juan Martin del Potro", "Del Potro J.M."),
            ("Juan Martin del Potro", "J M Del Potro"),
            ("Juan Martin del Potro", "Juan del Potro"),
            ("Juan Martin del Potro", "Del Potro JM"),
            ("Roberto Bautista Agut", "R. Bautista Agut"),
            ("Jo-Wilfried Tsonga", "J-W. Tsonga"),
            ("Jo-Wilfried Tsonga", "Tsonga J."),
            ("Stan Wawrinka", "Stanislas Wawrinka"),
            ("Zhang Shuai", "Shuai Zhang"),
            ("Na Li", "N. Li"),
            ("Karolina Pliskova", "Ka. Pliskova"),
            ("Alexander Zverev", "A. Zverev"),
        ] {
            check(one, other, SAME);
        }
    }

    #[test]
    fn doubles_pairs_match_in_any_order() {
        for (one, other) in [
            ("Dabrowski/Routliffe", "G Dabrowski / E Routliffe"),
            ("Dabrowski/Routliffe", "E. Routliffe & G. Dabrowski"),
            ("Gabriela Dabrowski / Erin Routliffe", "Routliffe/Dabrowski"),
        ] {
            check(one, other, SAME);
        }
        check("Dabrowski/Routliffe", "Dabrowski/Olmos", OTHER);
        check("Dabrowski/Routliffe", "G. Dabrowski", OTHER);
        check("B. Bryan/M. Bryan", "M. Bryan/B. Bryan", SAME);
    }

    #[test]
    fn players_with_a_common_surname_are_different() {
        for (one, other) in [
            ("A. Zverev", "M. Zverev"),
            ("Alexander Zverev", "M. Zverev"),
            ("Serena Williams", "Venus Williams"),
            ("S Williams", "Venus Williams"),
            ("Karolina Pliskova", "Kristyna Pliskova"),
            ("Ka. Pliskova", "Kr. Pliskova"),
        ] {
            check(one, other, OTHER);
        }
    }

    #[test]
    fn uncertain_player_names_are_near() {
        check("Djokovic", "Novak Djokovic", NEAR);
        check("Aleksandr Bublik", "Alexander Bublik", NEAR);
        check("Svetlana Kuznetsowa", "S. Kuznetsova", NEAR);
    }
}
