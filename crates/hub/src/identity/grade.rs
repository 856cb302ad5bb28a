//! The grade of a team: first team, women, youth, reserve; and what is played: another discipline, a simulation.
//!
//! Feeds give it in the name of the team or of the competition. A first team and another team of
//! the same club are never the same, so equal names also need equal grades.

use facts::event::{AgeGroup, Class, Discipline, Gender};

/// The grade marks in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grade {
    pub(super) women: bool,
    pub(super) youth: Option<Youth>,
    /// Not the club's first team.
    reserve: bool,
    /// Played by people at a console, or by a program.
    pub(super) simulated: bool,
    /// A game under the name of another.
    discipline: Option<Discipline>,
}

/// Where the mark was found. Some words are marks in the name of a competition, and a club's name elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkSource {
    Team,
    Competition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Youth {
    /// No age is given.
    Any,
    Under(u8),
}

impl Grade {
    pub(super) const SIMULATED: Self =
        Self { women: false, youth: None, reserve: false, simulated: true, discipline: None };

    /// The marks that a feed states.
    pub(super) fn stated(class: &Class) -> Self {
        Self {
            women: class.gender == Some(Gender::Women),
            youth: class.age.and_then(|age| match age {
                AgeGroup::Senior => None,
                AgeGroup::Youth => Some(Youth::Any),
                AgeGroup::Under(age) => Some(Youth::Under(age)),
            }),
            reserve: class.reserve == Some(true),
            simulated: class.simulated == Some(true),
            discipline: class.discipline.filter(|discipline| {
                !matches!(discipline, Discipline::Usual | Discipline::Singles | Discipline::Doubles)
            }),
        }
    }

    /// The marks in the name of a team, in plain words.
    #[must_use]
    pub fn of_team(plain: &str) -> Self {
        let mut words = plain.split(' ').map(ToOwned::to_owned).collect();
        Self::take(&mut words, MarkSource::Team)
    }

    /// Removes the marks from the words of a name. A name that consists only of marks keeps them.
    pub(super) fn take(words: &mut Vec<String>, source: MarkSource) -> Self {
        let (mut grade, mut left) = (Self::default(), Vec::with_capacity(words.len()));
        let mut at = 0;
        while at < words.len() {
            let taken = grade.read(&words[at..], at + 1 == words.len(), source);
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
    fn read(&mut self, words: &[String], last: bool, source: MarkSource) -> usize {
        let next = words.get(1).map(String::as_str);
        let second = next.and_then(age);
        let in_competition = source == MarkSource::Competition;
        match words[0].as_str() {
            word if WOMEN.contains(&word) => self.women = true,
            word if in_competition && LEAGUES_OF_WOMEN.contains(&word) => {
                self.women = true;
                // It is a name, too.
                return 0;
            }
            "w" if last || in_competition && next == Some("league") => self.women = true,
            "youth" => self.youth = self.youth.or(Some(Youth::Any)),
            "junioren" | "primavera" | "juvenil" | "revelacao" if in_competition => {
                self.youth = self.youth.or(Some(Youth::Any));
            }
            "res" | "reserve" | "reserves" | "reserva" | "jong" | "academy" => self.reserve = true,
            "ii" | "iii" | "b" if last && !in_competition => self.reserve = true,
            "simulated" if in_competition && next == Some("reality") => {
                self.simulated = true;
                return 2;
            }
            word if SIMULATED.contains(&word) => self.simulated = true,
            "2k" if in_competition => self.simulated = true,
            "futsal" => self.discipline = Some(Discipline::Futsal),
            "beach" if in_competition => self.discipline = Some(Discipline::Beach),
            "indoor" if in_competition => self.discipline = Some(Discipline::Indoor),
            "inline" if in_competition => self.discipline = Some(Discipline::Inline),
            "legends" | "legend" => self.discipline = Some(Discipline::Legends),
            "exhibition" if in_competition => self.discipline = Some(Discipline::Exhibition),
            "7s" | "3x3" | "5x5" | "6x6" | "7x7" | "8x8" => {
                self.discipline = Some(Discipline::SmallSided);
            }
            "5" | "6" | "7"
                if next == Some("a") && words.get(2).is_some_and(|word| word == "side") =>
            {
                self.discipline = Some(Discipline::SmallSided);
                return 3;
            }
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

    /// Combined with the rest of the fixture: if one side is a women's team both are, and what the competition's name says
    /// applies to sides that do not say it.
    pub(super) fn within(self, competition: Self) -> Self {
        Self {
            women: self.women || competition.women,
            youth: self.youth.or(competition.youth),
            reserve: self.reserve || competition.reserve,
            simulated: self.simulated || competition.simulated,
            discipline: self.discipline.or(competition.discipline),
        }
    }

    /// What holds for both sides of a match if it holds for one.
    pub(super) fn of_match(self) -> Self {
        Self { youth: None, reserve: false, ..self }
    }

    pub(super) fn is_exhibition(self) -> bool {
        self.discipline == Some(Discipline::Exhibition)
    }

    /// Whether teams with these marks can be the same.
    #[must_use]
    pub fn agrees(self, other: Self) -> bool {
        let youth = match (self.youth, other.youth) {
            (Some(Youth::Any), Some(_)) | (Some(_), Some(Youth::Any)) => true,
            (one, other) => one == other,
        };
        self.women == other.women
            && self.reserve == other.reserve
            && youth
            && (self.simulated, self.discipline) == (other.simulated, other.discipline)
    }
}

/// Women's teams and competitions, in the languages of feeds.
const WOMEN: &[&str] = &[
    "women",
    "womens",
    "woman",
    "ladies",
    "fem",
    "femenino",
    "femenina",
    "femenil",
    "feminino",
    "feminina",
    "feminin",
    "feminine",
    "feminines",
    "femminile",
    "frauen",
    "vrouwen",
    "dames",
    "damer",
    "kobiet",
    "zen",
    "zeny",
    "kadinlar",
    "naisten",
    "kvenna",
    "kvinder",
    "dam",
    "wfc",
    "zhenshchiny",
];
/// Leagues of women whose names have no such word.
const LEAGUES_OF_WOMEN: &[&str] = &[
    "wsl",
    "nwsl",
    "wnba",
    "uwcl",
    "swpl",
    "wpl",
    "sdhl",
    "ncaaw",
    "damallsvenskan",
    "toppserien",
    "kvindeligaen",
    "arkema",
];
/// Competitions, and teams in them, that nobody plays on a pitch.
const SIMULATED: &[&str] = &[
    "esoccer",
    "srl",
    "simulated",
    "cyber",
    "virtual",
    "efootball",
    "ebasketball",
    "ehockey",
    "ebundesliga",
];

fn age(word: &str) -> Option<Youth> {
    let age = word.parse().ok().filter(|age| (14..=23).contains(age));
    age.filter(|_| word.len() == 2).map(Youth::Under)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::names;

    #[track_caller]
    fn check(text: &str, left: &str, women: bool, youth: Option<Youth>, reserve: bool) {
        let mut words = names::words(text);
        let grade = Grade::take(&mut words, MarkSource::Team);
        let expected = Grade { women, youth, reserve, ..Grade::default() };
        assert_eq!((words.join(" ").as_str(), grade), (left, expected));
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
