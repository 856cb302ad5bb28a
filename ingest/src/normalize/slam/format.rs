//! How long a match is, from its key: `2012-ausopen-1701` is year, major and number, and the
//! number's first digit is the draw: 1 men, 2 women, 3 and 4 men's and women's doubles, 5 mixed. Melbourne and
//! Paris write letters in some years: `MS`, `WS`, `MD`, `WD`, `XD`.
//!
//! The rows do not give it, and without it the end of a match could not be distinguished from a
//! pause. It is only an expectation: if the columns continue, the match continues.

use facts::tennis::{FinalSet, MatchFormat};

/// The format of a match; best of three with tie-breaks where the key does not determine it.
pub(super) fn of_match(match_key: &str) -> MatchFormat {
    let mut parts = match_key.split('-');
    let year = parts.next().and_then(|year| year.parse().ok()).unwrap_or(0);
    let slam = parts.next().unwrap_or_default();
    in_major(slam, year, draw(match_key))
}

/// The digit of the draw.
fn draw(match_key: &str) -> char {
    let number = match_key.split('-').nth(2).unwrap_or_default();
    match number.get(..2) {
        Some("MS") => '1',
        Some("WS") => '2',
        Some("MD") => '3',
        Some("WD") => '4',
        Some("XD") => '5',
        _ => number.chars().next().unwrap_or('?'),
    }
}

/// Whether the format is certain: doubles were shortened in single years.
pub(super) fn is_certain(match_key: &str) -> bool {
    matches!(draw(match_key), '1' | '2')
}

/// The format of a match of a major, named as in the keys, in a draw with the first digit of its
/// numbers.
pub(in crate::normalize) fn in_major(slam: &str, year: u16, draw: char) -> MatchFormat {
    MatchFormat {
        sets_to_win: sets_to_win(draw, slam, year),
        final_set: final_set(draw, slam, year),
    }
}

/// Men's doubles were best of five at Wimbledon alone, until 2022.
fn sets_to_win(draw: char, slam: &str, year: u16) -> u8 {
    match draw {
        '1' => 3,
        '3' if slam == "wimbledon" && year <= 2022 => 3,
        _ => 2,
    }
}

/// All majors have had a tie-break to ten since 2022, Melbourne since 2019. Before that New York
/// alone had one in singles, while doubles had it everywhere but at Wimbledon. The
/// points of the first game after 12-12 at Wimbledon from 2019 to 2021, or of a final set of mixed doubles, show that it is a tie-break.
fn final_set(draw: char, slam: &str, year: u16) -> FinalSet {
    let doubles = matches!(draw, '3' | '4' | '5');
    match slam {
        _ if year >= 2022 => FinalSet::TieBreakTo10,
        "ausopen" if year >= 2019 && !doubles => FinalSet::TieBreakTo10,
        "wimbledon" => FinalSet::Advantage,
        "ausopen" | "frenchopen" if !doubles => FinalSet::Advantage,
        _ => FinalSet::TieBreak,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(match_key: &str, sets_to_win: u8, final_set: FinalSet) {
        assert_eq!(of_match(match_key), MatchFormat { sets_to_win, final_set }, "of {match_key}");
    }

    #[test]
    fn format_follows_major_year_and_draw() {
        check("2012-ausopen-1701", 3, FinalSet::Advantage);
        check("2013-usopen-2701", 2, FinalSet::TieBreak);
        check("2019-ausopen-2101", 2, FinalSet::TieBreakTo10);
        check("2021-frenchopen-1701", 3, FinalSet::Advantage);
        check("2022-wimbledon-3701", 3, FinalSet::TieBreakTo10);
        check("2023-usopen-4601", 2, FinalSet::TieBreakTo10);
        check("2018-ausopen-MD108", 2, FinalSet::TieBreak);
        check("2018-ausopen-MS101", 3, FinalSet::Advantage);
        check("nonsense", 2, FinalSet::TieBreak);
    }
}
