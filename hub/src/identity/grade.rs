//! The grade of a team: first team, women, youth, reserve.
//!
//! Feeds give it in the name of the team or of the competition. A first team and another team of
//! the same club are never the same, so equal names also need equal grades.

/// The grade marks in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Grade {
    pub(super) women: bool,
    pub(super) youth: Option<Youth>,
    /// Not the club's first team.
    reserve: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Youth {
    /// No age is given.
    Any,
    Under(u8),
}

impl Grade {
    /// Removes the marks from the words of a name. A name that consists only of marks keeps them.
    pub(super) fn take(words: &mut Vec<String>) -> Self {
        let (mut grade, mut left) = (Self::default(), Vec::with_capacity(words.len()));
        let mut at = 0;
        while at < words.len() {
            let taken = grade.read(&words[at..], at + 1 == words.len());
            if taken == 0 {
                left.push(words[at].clone());
            }
            at += taken.max(1);
        }
        if left.is_empty() {
            return Self::default();
        }
        *words = left;
        grade
    }

    /// The number of words from here that form a mark.
    fn read(&mut self, words: &[String], last: bool) -> usize {
        let second = words.get(1).and_then(|word| age(word));
        match words[0].as_str() {
            "women" | "womens" | "ladies" | "fem" | "femenino" | "femenina" | "feminino"
            | "feminina" | "feminin" | "feminine" | "feminines" | "femminile" | "frauen"
            | "vrouwen" | "dames" | "wfc" => self.women = true,
            "w" if last => self.women = true,
            "youth" => self.youth = self.youth.or(Some(Youth::Any)),
            "res" | "reserve" | "reserves" => self.reserve = true,
            "ii" | "iii" | "b" if last => self.reserve = true,
            "u" | "under" | "sub" if second.is_some() => {
                self.youth = second;
                return 2;
            }
            word => match word.strip_prefix('u').and_then(age) {
                Some(youth) => self.youth = Some(youth),
                None => return 0,
            },
        }
        1
    }

    /// Combined with the rest of the fixture: if one side is a women's team both are, and an age in
    /// the competition's name applies to sides without one.
    pub(super) fn within(self, women: bool, youth: Option<Youth>) -> Self {
        Self { women: self.women || women, youth: self.youth.or(youth), ..self }
    }

    pub(super) fn agrees(self, other: Self) -> bool {
        let youth = match (self.youth, other.youth) {
            (Some(Youth::Any), Some(_)) | (Some(_), Some(Youth::Any)) => true,
            (one, other) => one == other,
        };
        self.women == other.women && self.reserve == other.reserve && youth
    }
}

fn age(word: &str) -> Option<Youth> {
    let age = word.parse().ok().filter(|age| (14..=23).contains(age));
    age.filter(|_| word.len() == 2).map(Youth::Under)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::fold;

    #[track_caller]
    fn check(text: &str, left: &str, women: bool, youth: Option<Youth>, reserve: bool) {
        let mut words = fold::words(text);
        let grade = Grade::take(&mut words);
        assert_eq!((words.join(" ").as_str(), grade), (left, Grade { women, youth, reserve }));
    }

    #[test]
    fn grade_marks_are_removed_from_names() {
        let under = |age| Some(Youth::Under(age));
        check("Arsenal", "arsenal", false, None, false);
        check("Arsenal (W)", "arsenal", true, None, false);
        check("Arsenal Women U-21", "arsenal", true, under(21), false);
        check("Frauen-Bundesliga", "bundesliga", true, None, false);
        check("England U19", "england", false, under(19), false);
        check("Spain Under 21", "spain", false, under(21), false);
        check("UEFA Youth League", "uefa league", false, Some(Youth::Any), false);
        check("Barcelona B", "barcelona", false, None, true);
        check("Ajax II", "ajax", false, None, true);
    }

    #[test]
    fn text_that_resembles_a_mark_is_not_removed() {
        check("W Connection", "w connection", false, None, false);
        check("B 93", "b 93", false, None, false);
        check("W", "w", false, None, false);
        check("Urawa", "urawa", false, None, false);
        check("U Craiova 1948", "u craiova 1948", false, None, false);
    }

    #[test]
    fn unspecified_youth_age_agrees_with_any_age() {
        let youth = |youth| Grade { youth, ..Grade::default() };
        assert!(youth(Some(Youth::Any)).agrees(youth(Some(Youth::Under(19)))));
        assert!(!youth(Some(Youth::Under(21))).agrees(youth(Some(Youth::Under(19)))));
        assert!(!youth(None).agrees(youth(Some(Youth::Any))));
    }
}
