//! Seasons as football-data.co.uk publishes them: one CSV row for each match, after the match.
//!
//! Format: football-data.co.uk/notes.txt. Columns are found by their names, because they differ
//! from season to season; the files of the "extra" leagues name theirs differently (`Home`, `HG`,
//! `Res`) and are read as well. Ignored: woodwork, booking points, free kicks conceded,
//! and every `Bb*`, `Max*` and `Avg*` column: these are over all bookmakers and
//! so no bookmaker's.

mod column;
mod when;

use std::borrow::Cow;

use csv::ByteRecord;
use facts::event::{Micros, Pair};
use jiff::civil::Date;
use rust_decimal::Decimal;

use self::column::{Columns, Role};
pub use self::{
    column::{Bet, BetSide},
    when::london,
};
use super::{csv_error, decimal};
use crate::error::{DecodeError, RefusalKind, Result};

/// Rows of one file that are read: a season has 552 at most, the extra leagues 12 seasons in one.
const ROWS_MAX: usize = 20_000;

/// Notices stored per file: enough to see what is wrong with it.
pub const NOTICES_MAX: usize = 100;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Season {
    pub rows: Vec<Row>,
    /// What in it could not be used.
    pub notices: Vec<DecodeError>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// Counted from 1, the header included.
    pub line: u64,
    /// `E0`, `SP1`; in the files of the extra leagues country and league.
    pub division: String,
    /// Only the files of the extra leagues say it.
    pub season: Option<String>,
    /// Likewise.
    pub country: Option<String>,
    pub date: Date,
    /// The kick-off, if its time is given.
    pub start: Option<Micros>,
    pub teams: Pair<String>,
    pub full_time: Option<Pair<u16>>,
    pub half_time: Option<Pair<u16>>,
    pub shots: Pair<Option<u32>>,
    pub shots_on_target: Pair<Option<u32>>,
    pub fouls: Pair<Option<u32>>,
    pub corners: Pair<Option<u32>>,
    pub yellow: Pair<Option<u32>>,
    pub red: Pair<Option<u32>>,
    pub offsides: Pair<Option<u32>>,
    pub referee: Option<String>,
    pub attendance: Option<u32>,
    /// The letter of the result: `H`, `D`, `A`.
    pub result: Option<char>,
    pub prices: Vec<Price>,
}

/// A bookmaker's decimal price.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// The bookmaker's abbreviation: `B365`, `PS`.
    pub book: &'static str,
    /// The last before the kick-off; the others are of a day or two before.
    pub closing: bool,
    pub bet: Bet,
    /// Goals that the home side is given, of a handicap.
    pub line: Option<Decimal>,
    pub price: Decimal,
}

/// Reads a whole file.
///
/// # Errors
///
/// If it has no header with the columns that make a match.
pub fn decode(bytes: &[u8]) -> Result<Season> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let columns = Columns::from_header(reader.byte_headers().map_err(|error| csv_error(&error))?)?;
    let mut season = Season::default();
    for (index, record) in reader.byte_records().enumerate() {
        if index >= ROWS_MAX {
            let reason = format!("rows after the first {ROWS_MAX} are left out");
            season.notice(DecodeError::new(RefusalKind::TooLong, reason));
            break;
        }
        match record.map_err(|error| csv_error(&error)) {
            Ok(record) if is_blank(&record) => {}
            Ok(record) => season.row(&columns, &record, index as u64 + 2),
            Err(error) => season.notice(error),
        }
    }
    Ok(season)
}

impl Season {
    fn row(&mut self, columns: &Columns, record: &ByteRecord, line: u64) {
        let mut notices = Vec::new();
        let mut fields = Fields { columns, record, notices: &mut notices };
        match fields.row(line) {
            Ok(row) => self.rows.push(row),
            Err(error) => notices = vec![error],
        }
        for notice in notices {
            let reason = format!("row {line}: {}", notice.reason);
            self.notice(DecodeError { reason, ..notice });
        }
    }

    fn notice(&mut self, notice: DecodeError) {
        if self.notices.len() < NOTICES_MAX {
            self.notices.push(notice);
        }
    }
}

/// The fields of one row by what they say.
struct Fields<'a> {
    columns: &'a Columns,
    record: &'a ByteRecord,
    notices: &'a mut Vec<DecodeError>,
}

impl Fields<'_> {
    fn row(&mut self, line: u64) -> Result<Row> {
        let date_text = self.text(Role::Date);
        let date = when::date(&date_text).ok_or_else(|| {
            DecodeError::value(format!("date {:?} is none", shortened(&date_text)))
        })?;
        let teams = [Role::Home, Role::Away].map(|role| self.text(role).into_owned());
        if teams.iter().any(String::is_empty) {
            return Err(DecodeError::value("a team has no name"));
        }
        let division = [self.text(Role::Country), self.text(Role::Division)].join(" ");
        let season = self.text(Role::Season).into_owned();
        let country = self.text(Role::Country).into_owned();
        Ok(Row {
            line,
            division: division.trim().to_owned(),
            season: Some(season).filter(|season| !season.is_empty()),
            country: Some(country).filter(|country| !country.is_empty()),
            date,
            start: self.start(date),
            teams,
            full_time: both(self.counts("FTHG", "FTAG")),
            half_time: both(self.counts("HTHG", "HTAG")),
            shots: self.counts("HS", "AS"),
            shots_on_target: self.counts("HST", "AST"),
            fouls: self.counts("HF", "AF"),
            corners: self.counts("HC", "AC"),
            yellow: self.counts("HY", "AY"),
            red: self.counts("HR", "AR"),
            offsides: self.counts("HO", "AO"),
            referee: Some(self.text(Role::Referee).into_owned()).filter(|it| !it.is_empty()),
            attendance: self.text(Role::Attendance).parse().ok(),
            result: self.text(Role::Result).chars().next(),
            prices: self.prices(),
        })
    }

    fn start(&mut self, date: Date) -> Option<Micros> {
        let text = self.text(Role::Time).into_owned();
        let start = when::time(&text).and_then(|time| london(date, time));
        if start.is_none() && !text.is_empty() {
            self.notices.push(DecodeError::value(format!("time {:?} is none", shortened(&text))));
        }
        start
    }

    /// A statistic of each side; whole numbers, in some files written `3.0`.
    fn counts<T: TryFrom<Decimal>>(&mut self, home: &str, away: &str) -> Pair<Option<T>> {
        [home, away].map(|name| {
            let text = self.field(self.columns.count(name)?);
            if text.is_empty() {
                return None;
            }
            let number = decimal::exact(&text).filter(Decimal::is_integer);
            let count = number.and_then(|number| T::try_from(number).ok());
            let reason =
                || DecodeError::value(format!("{name} {:?} is no count", shortened(&text)));
            if count.is_none() {
                self.notices.push(reason());
            }
            count
        })
    }

    fn prices(&mut self) -> Vec<Price> {
        let mut prices = Vec::new();
        for column in &self.columns.prices {
            let Some(price) = self.number(column.at) else { continue };
            let line = column.line.and_then(|at| self.number_or_zero(at));
            if column.bet.has_line() && line.is_none() {
                continue;
            }
            if price <= Decimal::ONE {
                self.notices
                    .push(DecodeError::value(format!("{price} of {} is no price", column.book)));
                continue;
            }
            let (book, closing, bet) = (column.book, column.closing, column.bet);
            prices.push(Price { book, closing, bet, line, price });
        }
        prices
    }

    /// A price; empty and 0 are unknown.
    fn number(&mut self, at: usize) -> Option<Decimal> {
        self.number_or_zero(at).filter(|number| !number.is_zero())
    }

    fn number_or_zero(&mut self, at: usize) -> Option<Decimal> {
        let text = self.field(at);
        if text.is_empty() {
            return None;
        }
        let number = decimal::exact(&text);
        if number.is_none() {
            self.notices.push(DecodeError::value(format!("{:?} is no number", shortened(&text))));
        }
        number
    }

    fn text(&self, role: Role) -> Cow<'_, str> {
        self.columns.role(role).map_or(Cow::Borrowed(""), |at| self.field(at))
    }

    /// Trimmed, also of no-break spaces. A row may be shorter than the header. Files that are not in UTF-8 are in Windows-1252.
    fn field(&self, at: usize) -> Cow<'_, str> {
        let bytes = self.record.get(at).unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text.trim()),
            Err(_) => {
                let text: String = bytes.iter().map(|byte| windows_1252(*byte)).collect();
                Cow::Owned(text.trim().to_owned())
            }
        }
    }
}

/// The character of a byte in Windows-1252, which has others than Latin-1 from 0x80 to 0x9f (encoding.spec.whatwg.org).
fn windows_1252(byte: u8) -> char {
    const FROM: u8 = 0x80;
    const OTHERS: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    let other = byte.checked_sub(FROM).and_then(|index| OTHERS.get(usize::from(index)));
    other.copied().unwrap_or_else(|| char::from(byte))
}

fn both<T>([home, away]: Pair<Option<T>>) -> Option<Pair<T>> {
    Some([home?, away?])
}

/// Some files end in rows of commas.
fn is_blank(record: &ByteRecord) -> bool {
    record.iter().all(|field| field.trim_ascii().is_empty())
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,FTR,HS,AS,PSH,PSD,PSA,AHh,\
        B365AHH,BbMxH,MaxCH,B365>2.5,PSCH";

    fn one(row: &str) -> (Row, Vec<String>) {
        let season = decode(format!("{HEADER}\n{row}\n").as_bytes()).unwrap();
        let reasons = season.notices.into_iter().map(|it| it.reason).collect();
        (season.rows.into_iter().next().unwrap(), reasons)
    }

    #[test]
    fn row_is_read_by_the_names_of_the_columns() {
        let (row, notices) =
            one("E0,09/08/2019,20:00,A,B,4,1,H,15,,1.15,0,,-2.25,1.96,9,9,1.4,1.14");
        assert_eq!(notices, [""; 0]);
        assert_eq!((row.full_time, row.half_time), (Some([4, 1]), None));
        assert_eq!((row.shots, row.result), ([Some(15), None], Some('H')));
        let price = |price: &Price| {
            let line = price.line.map(|line| format!("@{line}")).unwrap_or_default();
            format!(
                "{}{} {:?}{line} {}",
                price.book,
                if price.closing { "C" } else { "" },
                price.bet,
                price.price
            )
        };
        let expected = [
            "PS Result(Home) 1.15",
            "B365 Handicap(Home)@-2.25 1.96",
            "B365 Over 1.4",
            "PSC Result(Home) 1.14",
        ];
        assert_eq!(row.prices.iter().map(price).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn invalid_values_are_dropped_alone() {
        let (row, notices) = one("E0,09/08/2019,soon,A,B,x,1,H,-1,2,y,0.5,3");
        let expected = [
            "row 2: time \"soon\" is none",
            "row 2: FTHG \"x\" is no count",
            "row 2: HS \"-1\" is no count",
            "row 2: \"y\" is no number",
            "row 2: 0.5 of PS is no price",
        ];
        assert_eq!(notices, expected);
        assert_eq!((row.full_time, row.prices.len()), (None, 1));
    }

    #[test]
    fn rows_without_a_match_are_refused_and_blank_rows_skipped() {
        let text = format!(
            "\u{feff}{HEADER}\n,,,,\nE0,31/02/2019,,A,B\nE0,01/02/2019,,A,\nE0,01/02/19,,A,B\n"
        );
        let season = decode(text.as_bytes()).unwrap();
        let reasons: Vec<_> = season.notices.iter().map(|it| it.reason.as_str()).collect();
        assert_eq!(reasons, ["row 3: date \"31/02/2019\" is none", "row 4: a team has no name"]);
        assert_eq!(season.rows.len(), 1);
    }

    #[test]
    fn extra_leagues_and_latin_1_are_read() {
        let text = b"Country,League,Season,Date,Time,Home,Away,HG,AG,Res,PH,AvgH\n\
            Brazil,Serie A,2024,01/05/2024,20:00,Gr\xeamio,B,2,1,H,1.5,1.4\n";
        let row = &decode(text).unwrap().rows[0];
        assert_eq!((&*row.division, row.season.as_deref()), ("Brazil Serie A", Some("2024")));
        assert_eq!((&*row.teams[0], row.full_time), ("Gr\u{ea}mio", Some([2, 1])));
        assert_eq!((row.prices[0].book, row.prices.len()), ("P", 1));
    }

    #[test]
    fn missing_column_is_named() {
        let error = decode(b"Div,Date,HomeTeam\n").unwrap_err();
        assert_eq!(error.reason, "column AwayTeam is missing");
    }
}
