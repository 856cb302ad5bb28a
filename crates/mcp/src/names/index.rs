//! The names of one kind, folded once, so that a search compares most of them only by their letters.

use std::sync::Arc;

use base::names::{letters, plain};
use history::query::Entity;
use hub::identity::Grade;

use super::LIKENESS_MIN;

/// All names of a kind.
#[derive(Debug)]
pub(super) struct NameIndex(Vec<IndexedName>);

#[derive(Debug)]
struct IndexedName {
    entity: Arc<Entity>,
    name: FoldedName,
}

/// A name in plain words, and in one spelling.
#[derive(Debug)]
pub(super) struct FoldedName {
    plain: Text,
    spelled: Text,
    grade: Grade,
}

#[derive(Debug)]
struct Text {
    text: Box<str>,
    chars: usize,
    /// How often each letter occurs; at the end all other characters.
    counts: [u8; LETTERS + 1],
}

const LETTERS: usize = 26;

/// What a name is worth that is of another team of the same club: below what is accepted as the requested name.
const OTHER_GRADE: f64 = 0.75;

/// The same where the request does not say which team: the first one is preferred.
const UNSAID_GRADE: f64 = 0.97;

impl NameIndex {
    pub(super) fn new(entities: Vec<Arc<Entity>>) -> Self {
        let indexed = |entity: Arc<Entity>| {
            let name = FoldedName::new(&entity.name);
            IndexedName { entity, name }
        };
        Self(entities.into_iter().map(indexed).collect())
    }

    /// The entities whose names fit, with how well they do.
    pub(super) fn fitting<'a>(
        &'a self,
        asked: &'a FoldedName,
    ) -> impl Iterator<Item = (&'a Arc<Entity>, f64)> {
        let scored = self.0.iter().map(|name| (&name.entity, name.name.score(asked)));
        scored.filter(|(_, score)| *score > 0.0)
    }

    /// So many entities with the most similar names, the best first, without a minimum.
    pub(super) fn nearest(&self, asked: &FoldedName, count: usize) -> Vec<(&Arc<Entity>, f64)> {
        let mut nearest: Vec<(&Arc<Entity>, f64)> = Vec::new();
        for IndexedName { entity, name } in &self.0 {
            let least = nearest.get(count - 1).map_or(0.0, |(_, least)| *least);
            if nearest.len() == count && name.plain.likeness_max(&asked.plain) <= least {
                continue;
            }
            let likeness = strsim::jaro_winkler(&name.plain.text, &asked.plain.text);
            let index = nearest.partition_point(|(_, other)| *other >= likeness);
            nearest.insert(index, (entity, likeness));
            nearest.truncate(count);
        }
        nearest
    }
}

impl FoldedName {
    pub(super) fn new(name: &str) -> Self {
        let plain = plain(name);
        let spelled = letters(plain.clone());
        let grade = Grade::of_team(&plain);
        Self { plain: Text::new(plain), spelled: Text::new(spelled), grade }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.plain.chars == 0
    }

    /// How well the name fits a request: 1 if they are equal, in whatever spelling. Another team of a club, such as that
    /// of women or of juniors, fits less.
    pub(super) fn score(&self, asked: &Self) -> f64 {
        let score = self.score_of_text(asked);
        if score <= 0.0 || self.grade.agrees(asked.grade) {
            score
        } else if asked.grade == Grade::default() {
            score * UNSAID_GRADE
        } else {
            score * OTHER_GRADE
        }
    }

    /// The same, whichever team it is.
    pub(super) fn score_of_text(&self, asked: &Self) -> f64 {
        if self.spelled.text == asked.spelled.text {
            return 1.0;
        }
        // A short request would lose too much: `due` is not `du`.
        let in_one_spelling =
            if asked.spelled.text.len() > 3 { self.spelled.score(&asked.spelled) } else { 0.0 };
        self.plain.score(&asked.plain).max(in_one_spelling)
    }
}

impl Text {
    fn new(text: String) -> Self {
        let mut counts = [0_u8; LETTERS + 1];
        let mut chars = 0;
        for char in text.chars() {
            let letter = u32::from(char).wrapping_sub(u32::from('a'));
            let index = usize::try_from(letter).unwrap_or(LETTERS).min(LETTERS);
            counts[index] = counts[index].saturating_add(1);
            chars += 1;
        }
        Self { text: text.into(), chars, counts }
    }

    fn score(&self, asked: &Self) -> f64 {
        let may_be_like = self.likeness_max(asked) >= LIKENESS_MIN;
        if !may_be_like && !self.has_letters_of(asked) {
            return 0.0;
        }
        let (name, asked_text) = (&*self.text, &*asked.text);
        if name.starts_with(asked_text) {
            return 0.95;
        }
        let is_word = || name.split(' ').any(|word| word == asked_text);
        if is_word() || name.contains(&format!(" {asked_text}")) {
            return 0.92;
        }
        if asked_text.len() >= 3 && name.contains(asked_text) {
            return 0.9;
        }
        // Each word of the request is the start of a word of the name: "man united", not "man utd".
        let begins = |word: &str| name.split(' ').any(|part| part.starts_with(word));
        if asked_text.contains(' ') && asked_text.split(' ').all(begins) {
            return 0.9;
        }
        if !may_be_like {
            return 0.0;
        }
        let likeness = strsim::jaro_winkler(name, asked_text);
        if likeness >= LIKENESS_MIN { likeness * 0.89 } else { 0.0 }
    }

    /// Whether every letter of the request is in the name, without which no word of it can be.
    fn has_letters_of(&self, asked: &Self) -> bool {
        let mut letters = self.counts[..LETTERS].iter().zip(&asked.counts[..LETTERS]);
        letters.all(|(count, asked)| *count > 0 || *asked == 0)
    }

    /// No Jaro-Winkler likeness of the two is above this, since it counts letters that both have.
    fn likeness_max(&self, other: &Self) -> f64 {
        let counts = self.counts.iter().zip(&other.counts);
        let common: u32 = counts.map(|(one, other)| u32::from(*one.min(other))).sum();
        if common == 0 {
            return 0.0;
        }
        let share = |chars: usize| f64::from(common) / u32::try_from(chars).map_or(1.0, f64::from);
        let jaro = ((share(self.chars) + share(other.chars) + 1.0) / 3.0).min(1.0);
        let same = self.text.chars().zip(other.text.chars()).take(4);
        let prefix = same.take_while(|(one, other)| one == other).map(|_| 0.1).sum::<f64>();
        // Sums of fractions differ in the last digit.
        jaro + prefix * (1.0 - jaro) + 1e-9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(name: &str, asked: &str) -> f64 {
        FoldedName::new(name).score(&FoldedName::new(asked))
    }

    #[test]
    fn names_fit_without_accents_case_and_order() {
        for (name, asked, least) in [
            ("Atlético Madrid", "atletico madrid", 1.0),
            ("1. FC Köln", "koeln", 0.92),
            ("Зенит", "zenit", 1.0),
            ("Manchester United", "man united", 0.9),
            ("Manchester United", "united", 0.92),
            ("Arsenal", "Arsneal", 0.7),
            ("北京国安", "北京国安", 1.0),
        ] {
            let score = score(name, asked);
            assert!(score >= least, "{name} / {asked}: {score}");
        }
        assert!(score("arsenal", "chelsea") < 0.1);
    }

    #[test]
    fn team_of_the_requested_grade_fits_best() {
        for (asked, best, other) in [
            ("Arsenal (Women)", "Arsenal Women", "Arsenal"),
            ("Arsenal (W)", "Arsenal Ladies", "Arsenal"),
            ("Arsnal women", "Arsenal Women", "Arsenal"),
            ("Arsenal", "Arsenal", "Arsenal Women"),
            ("Man United", "Manchester United", "Manchester United Women"),
            ("England U21", "England U21", "England U19"),
            ("Ajax", "Ajax", "Jong Ajax"),
        ] {
            let scores = [best, other].map(|name| score(name, asked));
            assert!(scores[0] > scores[1], "{asked}: {scores:?}");
        }
        for (asked, other) in
            [("Arsenal (Women)", "Arsenal"), ("England U21", "England"), ("Ajax II", "Ajax")]
        {
            let score = score(other, asked);
            assert!(score < super::super::FIT_MIN, "{asked} is not {other}: {score}");
        }
    }

    /// What is left out by the letters would not have fitted.
    #[test]
    fn letters_leave_out_no_name_that_fits() {
        let names = [
            "Manchester United",
            "Manchester City",
            "Arsenal",
            "Arsenal Women",
            "Real Madrid",
            "Rael Mardid",
            "Atlético Madrid",
            "man man",
            "a",
            "ab",
            "FC 08 Homburg",
            "08",
            "Зенит",
            "北京国安",
            "nn",
            "nnn nnn",
            "dwayne",
            "duane",
            "martha",
            "marhta",
            "Sheffield Wednesday",
        ];
        for name in names {
            for asked in names {
                let [text, other] = [name, asked].map(|name| Text::new(plain(name)));
                let likeness = strsim::jaro_winkler(&text.text, &other.text);
                let most = text.likeness_max(&other);
                assert!(likeness <= most, "{name} / {asked}: {likeness} {most}");
                let is_part = text.text.contains(&*other.text);
                assert!(!is_part || text.has_letters_of(&other), "{name} / {asked}");
            }
        }
        let index = NameIndex::new(Vec::new());
        assert!(index.nearest(&FoldedName::new("Alpha"), 5).is_empty());
    }
}
