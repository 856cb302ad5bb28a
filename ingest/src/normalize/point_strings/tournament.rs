//! Which tournament a match belongs to, and how long its matches are.
//!
//! The file says no format. Majors have theirs by year; all others are best of three with
//! tie-breaks, until the string itself shows more.

use facts::tennis::{FinalSet, MatchFormat};

use crate::{
    decode::point_strings::Row,
    normalize::slam::{fixture, format},
};

/// What the names of the majors hold, in small letters, and what the rules call them.
const MAJORS: [(&str, &str); 5] = [
    ("wimbledon", "wimbledon"),
    ("usopen", "usopen"),
    ("australianopen", "ausopen"),
    ("frenchopen", "frenchopen"),
    ("rolandgarros", "frenchopen"),
];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tournament {
    /// In the majors' own words, elsewhere as the file has it without what a web page left there.
    pub(super) name: String,
    major: Option<&'static str>,
}

impl Tournament {
    pub(super) fn from_name(name: &str) -> Self {
        let name = name.trim();
        let name = name.strip_suffix(".html").unwrap_or(name).trim_end_matches('.').trim();
        let letters: String = name.chars().filter(|letter| letter.is_alphabetic()).collect();
        let letters = letters.to_lowercase();
        let major = MAJORS.iter().find(|(part, _)| letters.contains(part)).map(|(_, key)| *key);
        let official = major.and_then(fixture::major);
        Self { name: official.unwrap_or(name).to_owned(), major }
    }

    /// The format of its matches. Three sets to win are known from the string where it has more
    /// than three.
    pub(super) fn format(&self, row: &Row, year: u16, sets: usize) -> MatchFormat {
        let other = MatchFormat { sets_to_win: 2, final_set: FinalSet::TieBreak };
        let format = self.major.map_or(other, |major| format::in_major(major, year, draw(row)));
        let sets_to_win = if sets > 3 { 3 } else { format.sets_to_win };
        MatchFormat { sets_to_win, ..format }
    }
}

/// The digit of the draw: 1 for men, 2 for women. Men qualify over three sets, but for the last
/// round at Wimbledon, where the string shows it.
fn draw(row: &Row) -> char {
    let men = row.tour.eq_ignore_ascii_case("ATP");
    let main = !row.draw.to_ascii_lowercase().starts_with('q');
    if men && main { '1' } else { '2' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, tour: &str, year: u16, expected: (&str, u8, FinalSet)) {
        let row = Row { tour: tour.into(), draw: "Main".into(), ..Row::default() };
        let tournament = Tournament::from_name(name);
        let MatchFormat { sets_to_win, final_set } = tournament.format(&row, year, 2);
        assert_eq!((&*tournament.name, sets_to_win, final_set), expected, "{name}");
    }

    #[test]
    fn majors_are_recognised_by_name() {
        let (advantage, to_seven) = (FinalSet::Advantage, FinalSet::TieBreak);
        check("Gentlemen'sWimbledonSingles.html", "ATP", 2012, ("Wimbledon", 3, advantage));
        check("Ladies'WimbledonSingles.", "WTA", 2012, ("Wimbledon", 2, advantage));
        check("MensAustralianOpen.html", "ATP", 2013, ("Australian Open", 3, advantage));
        check("Women'sUSOpen", "WTA", 2013, ("US Open", 2, to_seven));
        check("Men'sFrenchOpen", "ATP", 2023, ("French Open", 3, FinalSet::TieBreakTo10));
        check("ATPBasel.html", "ATP", 2012, ("ATPBasel", 2, to_seven));
        check("Tunisia F3.", "FU", 2012, ("Tunisia F3", 2, to_seven));
    }

    #[test]
    fn match_with_four_sets_is_best_of_five() {
        let sets_to_win = |sets| {
            Tournament::from_name("DavisCup").format(&Row::default(), 2012, sets).sets_to_win
        };
        assert_eq!([sets_to_win(3), sets_to_win(4)], [2, 3]);
    }
}
