//! Point by point of the majors, as collected by Tennis Abstract: one CSV row for each point
//! (`*.points.csv`), and one for each match with the names (`*.match.csv`).
//!
//! Format: github.com/JeffSackmann/tennis_slam_pointbypoint. Columns are found by their names in
//! the header, because they differ from year to year, and whole columns are empty in older files.

use csv::StringRecord;

use super::csv_error;
use crate::error::{DecodeError, Result};

/// Where in a row of points the columns that we read stand.
#[derive(Debug, Clone)]
pub struct PointColumns {
    width: usize,
    match_id: usize,
    number: usize,
    winner: usize,
    server: usize,
    set: usize,
    games: [usize; 2],
    shown: [usize; 2],
    elapsed: Option<usize>,
    set_winner: Option<usize>,
    aces: [Option<usize>; 2],
    double_faults: [Option<usize>; 2],
}

/// One row. Everything but `winner`, `server` and the flags is the state **after** it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointRow {
    pub match_id: String,
    /// `PointNumber`: a number, or "0X" and the like on a row that is no point.
    pub number: String,
    /// Seconds since the start of the match; `None` where the column is missing or empty.
    pub elapsed_s: Option<u32>,
    /// 1 or 2; 0 on a row that is no point.
    pub winner: u8,
    /// 1 or 2; in doubles 1 to 4, the odd ones for side 1; 0 if no player is named.
    pub server: u8,
    /// From 1 to 5.
    pub set: u8,
    /// `None` where the columns are empty.
    pub games: Option<[u8; 2]>,
    /// 1 or 2 on the row that ends a set, else 0; `None` where the column is missing or empty.
    pub set_winner: Option<u8>,
    pub shown: [PointsCell; 2],
    pub ace: bool,
    pub double_fault: bool,
}

/// `P1Score`, `P2Score`: 0, 15, 30, 40 and AD, or the points of a tie-break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointsCell {
    Number(u16),
    Advantage,
    /// `GAME`: the side has won the game; others write 0 for both then.
    Game,
}

/// Points in a game or a tie-break of one side; no tie-break has come near this.
const POINTS_MAX: u16 = 999;

/// One row of the match file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchRow {
    pub match_id: String,
    pub players: [String; 2],
    /// Of a doubles pair; empty in singles.
    pub partners: [String; 2],
    /// `Complete`, `Retired`, or empty, which is the rule.
    pub status: String,
    /// 1 or 2; 0 if unknown.
    pub winner: u8,
}

impl PointColumns {
    /// # Errors
    ///
    /// If the line is no header of such a file, with the first column that it lacks.
    pub fn from_header(line: &[u8]) -> Result<Self> {
        let header = fields(line)?;
        let perhaps = |name: &str| header.iter().position(|field| field == name);
        let must = |name: &str| {
            perhaps(name).ok_or_else(|| DecodeError::syntax(format!("column {name} is missing")))
        };
        Ok(Self {
            width: header.len(),
            match_id: must("match_id")?,
            number: must("PointNumber")?,
            winner: must("PointWinner")?,
            server: must("PointServer")?,
            set: must("SetNo")?,
            games: [must("P1GamesWon")?, must("P2GamesWon")?],
            shown: [must("P1Score")?, must("P2Score")?],
            elapsed: perhaps("ElapsedTime"),
            set_winner: perhaps("SetWinner"),
            aces: [perhaps("P1Ace"), perhaps("P2Ace")],
            double_faults: [perhaps("P1DoubleFault"), perhaps("P2DoubleFault")],
        })
    }

    /// # Errors
    ///
    /// If the row has not the fields of the header, or a value that makes no sense.
    pub fn row(&self, line: &[u8]) -> Result<PointRow> {
        let row = fields(line)?;
        if row.len() != self.width {
            let reason = format!("{} fields where the header has {}", row.len(), self.width);
            return Err(DecodeError::syntax(reason));
        }
        let number = |column: usize, most: u8| bounded(&row[column], most);
        let flagged = |columns: [Option<usize>; 2]| {
            columns.into_iter().flatten().any(|column| row[column].trim() == "1")
        };
        Ok(PointRow {
            match_id: row[self.match_id].to_owned(),
            number: row[self.number].to_owned(),
            elapsed_s: elapsed(self.elapsed.map_or("", |column| &row[column]))?,
            winner: number(self.winner, 2)?,
            server: bounded_or_zero(&row[self.server], 4)?,
            set: number(self.set, 5)?.max(1),
            games: match self.games.map(|column| optional(&row[column], 200)) {
                [first, second] => first?.zip(second?).map(<[u8; 2]>::from),
            },
            set_winner: self.set_winner.map_or(Ok(None), |column| optional(&row[column], 2))?,
            shown: [
                PointsCell::parse(&row[self.shown[0]])?,
                PointsCell::parse(&row[self.shown[1]])?,
            ],
            ace: flagged(self.aces),
            double_fault: flagged(self.double_faults),
        })
    }
}

impl PointsCell {
    fn parse(text: &str) -> Result<Self> {
        match text.trim() {
            "AD" => Ok(Self::Advantage),
            "GAME" => Ok(Self::Game),
            number => {
                let shown = number.parse().ok().filter(|shown| *shown <= POINTS_MAX);
                let reason = || DecodeError::value(format!("{number:?} is no score of a game"));
                shown.map(Self::Number).ok_or_else(reason)
            }
        }
    }
}

/// Reads a whole match file.
///
/// # Errors
///
/// If it lacks `match_id`, `player1` or `player2`. A row that is not one is passed over: its match
/// goes without names.
pub fn matches(bytes: &[u8]) -> Result<Vec<MatchRow>> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.headers().map_err(|error| csv_error(&error))?.clone();
    let column = |name: &str| header.iter().position(|field| field == name);
    if let Some(name) = ["match_id", "player1", "player2"].iter().find(|n| column(n).is_none()) {
        return Err(DecodeError::syntax(format!("column {name} is missing")));
    }
    let row = |row: StringRecord| {
        let field = |name| {
            let cell = column(name).and_then(|at| row.get(at)).unwrap_or_default();
            cell.trim().to_owned()
        };
        MatchRow {
            match_id: field("match_id"),
            players: [field("player1"), field("player2")],
            partners: [field("partner1"), field("partner2")],
            status: field("status"),
            winner: bounded_or_zero(&field("winner"), 2).unwrap_or(0),
        }
    };
    Ok(reader.records().filter_map(Result::ok).map(row).collect())
}

/// The fields of one line. Rows are unquoted, but the older headers are quoted. A reader is made for
/// those alone: that costs thirty times what a row does.
fn fields(line: &[u8]) -> Result<StringRecord> {
    if let Ok(text) = str::from_utf8(line)
        && !text.contains(['"', '\r', '\n'])
    {
        return Ok(text.split(',').collect());
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .buffer_capacity(line.len().max(1))
        .from_reader(line);
    let mut record = StringRecord::new();
    reader.read_record(&mut record).map_err(|error| csv_error(&error))?;
    Ok(record)
}

fn bounded(text: &str, most: u8) -> Result<u8> {
    let number = text.trim().parse().ok().filter(|number| *number <= most);
    number
        .ok_or_else(|| DecodeError::value(format!("{text:?} where a number up to {most} is meant")))
}

fn bounded_or_zero(text: &str, most: u8) -> Result<u8> {
    if text.trim().is_empty() { Ok(0) } else { bounded(text, most) }
}

fn optional(text: &str, most: u8) -> Result<Option<u8>> {
    if text.trim().is_empty() { Ok(None) } else { bounded(text, most).map(Some) }
}

/// `H:MM:SS`; a match of a hundred hours is a broken clock.
fn elapsed(text: &str) -> Result<Option<u32>> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let parts: Vec<Option<u32>> = text.trim().split(':').map(|part| part.parse().ok()).collect();
    match parts[..] {
        [Some(h), Some(m), Some(s)] if h < 100 && m < 60 && s < 60 => {
            Ok(Some(h * 3600 + m * 60 + s))
        }
        _ => Err(DecodeError::value(format!("{text:?} is no time H:MM:SS"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "match_id,\"ElapsedTime\",SetNo,P1GamesWon,P2GamesWon,SetWinner,\
        PointNumber,PointWinner,PointServer,P1Score,P2Score,P1Ace,P2Ace";

    fn row(line: &str) -> Result<PointRow> {
        PointColumns::from_header(HEADER.as_bytes()).unwrap().row(line.as_bytes())
    }

    #[track_caller]
    fn refused(line: &str, reason: &str) {
        assert_eq!(row(line).unwrap_err().reason, reason, "of {line}");
    }

    #[test]
    fn row_is_read_by_the_names_of_the_columns() {
        let row = row("m,0:01:05,1,2,3,0,31,2,4,40,AD,0,1").unwrap();
        assert_eq!((row.elapsed_s, row.winner, row.server), (Some(65), 2, 4));
        assert_eq!(row.shown, [PointsCell::Number(40), PointsCell::Advantage]);
        assert!(row.ace && !row.double_fault);
    }

    #[test]
    fn empty_optional_columns_are_absent() {
        let row = row("m,,1,,,,31,2,,40,GAME,,").unwrap();
        assert_eq!((row.elapsed_s, row.set_winner, row.server), (None, None, 0));
        assert_eq!((row.games, row.shown[1]), (None, PointsCell::Game));
    }

    #[test]
    fn wrong_types_are_refused_with_the_value() {
        refused("m,0:00:00,1,2,x,0,1,1,1,15,0,0,0", "\"x\" where a number up to 200 is meant");
        refused("m,0:00:00,1,2,3,0,1,3,1,15,0,0,0", "\"3\" where a number up to 2 is meant");
        refused("m,0:00:00,1,2,3,0,1,1,1,15,love,0,0", "\"love\" is no score of a game");
        refused("m,0:61:00,1,2,3,0,1,1,1,15,0,0,0", "\"0:61:00\" is no time H:MM:SS");
        refused("m,0:00:00,1", "3 fields where the header has 13");
    }

    #[test]
    fn missing_column_is_named() {
        let error = PointColumns::from_header(b"match_id,SetNo").unwrap_err();
        assert_eq!(error.reason, "column PointNumber is missing");
        assert_eq!(matches(b"match_id,player1").unwrap_err().reason, "column player2 is missing");
    }
}
