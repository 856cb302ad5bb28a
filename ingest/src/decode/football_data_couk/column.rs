//! What a column is, by its name.
//!
//! A price's column is the bookmaker's abbreviation, `C` if it is the closing price, and what is bet
//! on: `H`, `D`, `A`, `>2.5`, `<2.5`, `AHH`, `AHA`. The line of a handicap is in `AHh` and `AHCh` for
//! all bookmakers, in older files in the bookmaker's own (`GBAH`).

use csv::ByteRecord;

use crate::error::{DecodeError, RefusalKind, Result};

/// The abbreviations of the notes. One that begins with another comes before it.
const BOOKS: [&str; 21] = [
    "1XB", "B365", "BFD", "BFE", "BF", "BMGM", "BS", "BV", "BW", "CL", "GB", "IW", "LB", "PS", "P",
    "SB", "SJ", "SO", "SY", "VC", "WH",
];

/// What is bet on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bet {
    Result(BetSide),
    /// More than two and a half goals, or fewer.
    Over,
    Under,
    Handicap(BetSide),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BetSide {
    Home,
    Draw,
    Away,
}

impl Bet {
    pub(super) fn has_line(self) -> bool {
        matches!(self, Self::Handicap(_))
    }
}

/// A column that is neither a price nor a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Division,
    Country,
    Season,
    Date,
    Time,
    Home,
    Away,
    Result,
    Referee,
    Attendance,
}

impl Role {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "Div" | "League" => Self::Division,
            "Country" => Self::Country,
            "Season" => Self::Season,
            "Date" => Self::Date,
            "Time" => Self::Time,
            "HomeTeam" | "Home" | "HT" => Self::Home,
            "AwayTeam" | "Away" | "AT" => Self::Away,
            "FTR" | "Res" => Self::Result,
            "Referee" => Self::Referee,
            "Attendance" => Self::Attendance,
            _ => return None,
        })
    }
}

/// Where in a row what stands.
#[derive(Debug)]
pub(super) struct Columns {
    roles: Vec<(Role, usize)>,
    counts: Vec<(&'static str, usize)>,
    pub(super) prices: Vec<PriceColumn>,
}

#[derive(Debug)]
pub(super) struct PriceColumn {
    pub(super) book: &'static str,
    pub(super) closing: bool,
    pub(super) bet: Bet,
    pub(super) at: usize,
    /// Where the line of the handicap stands.
    pub(super) line: Option<usize>,
}

const COUNTS: [&str; 18] = [
    "FTHG", "FTAG", "HTHG", "HTAG", "HS", "AS", "HST", "AST", "HF", "AF", "HC", "AC", "HY", "AY",
    "HR", "AR", "HO", "AO",
];

/// Columns of a header that are looked at: the widest file has 140.
const COLUMNS_MAX: usize = 1_000;

impl Columns {
    pub(super) fn from_header(header: &ByteRecord) -> Result<Self> {
        let mut columns = Self { roles: Vec::new(), counts: Vec::new(), prices: Vec::new() };
        let name = |field| std::str::from_utf8(field).unwrap_or_default().trim();
        let names: Vec<_> = header.iter().take(COLUMNS_MAX).map(name).collect();
        for (at, name) in names.iter().enumerate() {
            columns.column(name, at, &names);
        }
        for (role, name) in
            [(Role::Date, "Date"), (Role::Home, "HomeTeam"), (Role::Away, "AwayTeam")]
        {
            if columns.role(role).is_none() {
                let reason = format!("column {name} is missing");
                return Err(DecodeError::new(RefusalKind::Syntax, reason));
            }
        }
        Ok(columns)
    }

    fn column(&mut self, name: &str, at: usize, names: &[&str]) {
        let count = match name {
            "HG" => Some("FTHG"),
            "AG" => Some("FTAG"),
            _ => COUNTS.into_iter().find(|count| *count == name),
        };
        if let Some(role) = Role::from_name(name) {
            self.roles.push((role, at));
        } else if let Some(count) = count {
            self.counts.push((count, at));
        } else if let Some((book, closing, bet)) = price(name) {
            let line = bet.has_line().then(|| line(book, closing, names)).flatten();
            self.prices.push(PriceColumn { book, closing, bet, at, line });
        }
    }

    pub(super) fn role(&self, role: Role) -> Option<usize> {
        self.roles.iter().find(|(column, _)| *column == role).map(|(_, at)| *at)
    }

    pub(super) fn count(&self, name: &str) -> Option<usize> {
        self.counts.iter().find(|(column, _)| *column == name).map(|(_, at)| *at)
    }
}

fn price(name: &str) -> Option<(&'static str, bool, Bet)> {
    let of_book = |book: &'static str| {
        let rest = name.strip_prefix(book)?;
        let bet_of = |closing, rest| bet(rest).map(|bet| (book, closing, bet));
        bet_of(false, rest).or_else(|| bet_of(true, rest.strip_prefix('C')?))
    };
    BOOKS.into_iter().find_map(of_book)
}

fn bet(text: &str) -> Option<Bet> {
    Some(match text {
        "H" => Bet::Result(BetSide::Home),
        "D" => Bet::Result(BetSide::Draw),
        "A" => Bet::Result(BetSide::Away),
        ">2.5" => Bet::Over,
        "<2.5" => Bet::Under,
        "AHH" => Bet::Handicap(BetSide::Home),
        "AHA" => Bet::Handicap(BetSide::Away),
        _ => return None,
    })
}

fn line(book: &str, closing: bool, names: &[&str]) -> Option<usize> {
    let (specific, common) = match closing {
        false => (format!("{book}AH"), "AHh"),
        true => (format!("{book}CAH"), "AHCh"),
    };
    // Seasons without `AHh` have the line that BetBrain found the most common.
    let lines = [specific.as_str(), common, if closing { "AHCh" } else { "BbAHh" }];
    lines.iter().find_map(|line| names.iter().position(|name| name == line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_recognised_by_name() {
        for (name, expected) in [
            ("B365H", Some(("B365", false, Bet::Result(BetSide::Home)))),
            ("B365CA", Some(("B365", true, Bet::Result(BetSide::Away)))),
            ("PSH", Some(("PS", false, Bet::Result(BetSide::Home)))),
            ("PSCD", Some(("PS", true, Bet::Result(BetSide::Draw)))),
            ("PH", Some(("P", false, Bet::Result(BetSide::Home)))),
            ("PC>2.5", Some(("P", true, Bet::Over))),
            ("PCAHA", Some(("P", true, Bet::Handicap(BetSide::Away)))),
            ("VCH", Some(("VC", false, Bet::Result(BetSide::Home)))),
            ("VCCH", Some(("VC", true, Bet::Result(BetSide::Home)))),
            ("BFD", Some(("BF", false, Bet::Result(BetSide::Draw)))),
            ("BFCD", Some(("BF", true, Bet::Result(BetSide::Draw)))),
            ("BFDD", Some(("BFD", false, Bet::Result(BetSide::Draw)))),
            ("BFDCH", Some(("BFD", true, Bet::Result(BetSide::Home)))),
            ("BFECAHH", Some(("BFE", true, Bet::Handicap(BetSide::Home)))),
            ("GB<2.5", Some(("GB", false, Bet::Under))),
            ("1XBCA", Some(("1XB", true, Bet::Result(BetSide::Away)))),
            ("BbMxH", None),
            ("BbAvAHH", None),
            ("BbAHh", None),
            ("MaxCH", None),
            ("Avg>2.5", None),
            ("AHh", None),
            ("HC", None),
            ("ABP", None),
        ] {
            assert_eq!(price(name), expected, "{name}");
        }
    }
}
