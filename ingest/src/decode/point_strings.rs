//! Point strings collected by Tennis Abstract: a CSV with one whole match on each row.
//!
//! Format: github.com/JeffSackmann/tennis_pointbypoint. `pbp` holds the points (`S` server won, `R`
//! receiver won, `A` ace, `D` double fault), `;` ends a game, `.` a set, and `/` changes the server
//! within a tie-break. These marks are kept with their points; what they make of the score is not
//! decided here. Columns are found by their names.
//!
//! Ignored: `wh_minutes`, which may be negative and is never needed, `adf_flag` (aces and double
//! faults are where they are), and columns that we do not know.

use csv::StringRecord;

use super::csv_error;
use crate::error::{DecodeError, Result};

/// One match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// `pbp_id`, never empty.
    pub id: String,
    /// `DD Mon YY`, as it stands.
    pub date: String,
    pub tournament: String,
    /// `ATP`, `WTA`, `CH`, ...
    pub tour: String,
    /// `Main` or `Qual`.
    pub draw: String,
    /// The first serves first.
    pub players: [String; 2],
    /// 1 or 2; 0 if unknown.
    pub winner: u8,
    /// As it stands, from the winner's side.
    pub score: String,
    pub points: Vec<Stroke>,
    /// What stands among the points and is none, each once.
    pub strange: Vec<char>,
}

/// One point and the marks that follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stroke {
    pub server_won: bool,
    pub ace: bool,
    pub double_fault: bool,
    /// The server changes after it, within a tie-break.
    pub changes: bool,
    pub ends: PointEnd,
    /// What the game that it belongs to is, by its marks.
    pub game: Form,
}

/// What a mark says that a point has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointEnd {
    Nothing,
    Game,
    Set,
    /// The string ends here, and only the rules know what else does.
    String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Ordinary,
    TieBreak,
    /// One point alone, which may be either.
    Unclear,
}

/// A row that cannot be used, and the line that it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRow {
    pub line: u64,
    pub error: DecodeError,
}

/// Points of one match. The longest ever played had 980.
const POINTS_MAX: usize = 5000;

/// Sets of one match: five are played. Each point has the score of all sets, so that a match of
/// thousands would cost gigabytes.
const SETS_MAX: usize = 9;

/// The most odd characters reported for one string.
const STRANGE_MAX: usize = 8;

const COLUMNS: [&str; 4] = ["pbp_id", "server1", "server2", "pbp"];

/// Reads a whole file.
///
/// # Errors
///
/// If it lacks a column that every match needs.
pub fn rows(bytes: &[u8]) -> Result<Vec<Result<Row, RefusedRow>>> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.headers().map_err(|error| csv_error(&error))?.clone();
    let column = |name: &str| header.iter().position(|field| field.trim() == name);
    if let Some(name) = COLUMNS.iter().find(|name| column(name).is_none()) {
        return Err(DecodeError::syntax(format!("column {name} is missing")));
    }
    let read = |record: Result<StringRecord, csv::Error>| match record {
        Ok(record) => row(&record, |name| record.get(column(name)?))
            .map_err(|error| RefusedRow { line: line(record.position()), error }),
        Err(error) => Err(RefusedRow { line: line(error.position()), error: csv_error(&error) }),
    };
    Ok(reader.records().map(read).collect())
}

fn line(position: Option<&csv::Position>) -> u64 {
    position.map_or(0, csv::Position::line)
}

fn row<'r>(record: &StringRecord, field: impl Fn(&str) -> Option<&'r str>) -> Result<Row> {
    let text = |name: &str| field(name).unwrap_or_default().trim().to_owned();
    if field("pbp").is_none() {
        return Err(DecodeError::syntax(format!(
            "{} fields, and the points are not among them",
            record.len()
        )));
    }
    let (id, players) = (text("pbp_id"), [text("server1"), text("server2")]);
    if id.is_empty() {
        return Err(DecodeError::value("match without its id"));
    }
    if players.iter().any(String::is_empty) {
        return Err(DecodeError::value(format!("match {id} without the name of a player")));
    }
    let (points, strange) = strokes(&text("pbp"));
    if points.is_empty() || points.len() > POINTS_MAX {
        return Err(DecodeError::value(format!("match {id} with {} points", points.len())));
    }
    let sets = points.iter().filter(|stroke| stroke.ends == PointEnd::Set).count();
    if sets > SETS_MAX {
        return Err(DecodeError::value(format!("match {id} with {sets} sets")));
    }
    let winner = text("winner").parse().ok().filter(|winner| *winner <= 2).unwrap_or(0);
    Ok(Row {
        id,
        date: text("date"),
        tournament: text("tny_name"),
        tour: text("tour"),
        draw: text("draw"),
        players,
        winner,
        score: text("score"),
        points,
        strange,
    })
}

fn strokes(pbp: &str) -> (Vec<Stroke>, Vec<char>) {
    let mut strokes: Vec<Stroke> = Vec::new();
    let mut strange = Vec::new();
    // Where the game in progress begins.
    let mut game = 0;
    for letter in pbp.chars() {
        match letter {
            'S' | 'R' | 'A' | 'D' => strokes.push(Stroke::from_letter(letter)),
            '/' => strokes[game..].iter_mut().rev().take(1).for_each(|it| it.changes = true),
            ';' | '.' => {
                let ends = if letter == '.' { PointEnd::Set } else { PointEnd::Game };
                // Of `;.` the set counts, and of `..` one of them.
                strokes.iter_mut().rev().take(1).for_each(|it| it.ends = it.ends.or(ends));
                close(&mut strokes[game..]);
                game = strokes.len();
            }
            space if space.is_whitespace() => {}
            other if strange.len() < STRANGE_MAX && !strange.contains(&other) => {
                strange.push(other);
            }
            _ => {}
        }
    }
    close(&mut strokes[game..]);
    if let Some(last) = strokes.last_mut().filter(|last| last.ends != PointEnd::Set) {
        last.ends = PointEnd::String;
    }
    (strokes, strange)
}

/// Says of each point of a game what the game is.
fn close(game: &mut [Stroke]) {
    let form = match game {
        _ if game.iter().any(|stroke| stroke.changes) => Form::TieBreak,
        [only] if only.ends == PointEnd::Nothing => Form::Unclear,
        _ => Form::Ordinary,
    };
    game.iter_mut().for_each(|stroke| stroke.game = form);
}

impl Stroke {
    fn from_letter(letter: char) -> Self {
        Self {
            server_won: matches!(letter, 'S' | 'A'),
            ace: letter == 'A',
            double_fault: letter == 'D',
            changes: false,
            ends: PointEnd::Nothing,
            game: Form::Ordinary,
        }
    }
}

impl PointEnd {
    fn or(self, mark: Self) -> Self {
        if self == Self::Set { self } else { mark }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points written back: who won, with the marks as they were understood.
    fn check(pbp: &str, expected: &str) {
        let (strokes, _) = strokes(pbp);
        let written: String = strokes
            .iter()
            .map(|point| {
                let won = if point.server_won { "s" } else { "r" };
                let form = match point.game {
                    Form::Ordinary => "",
                    Form::TieBreak => "t",
                    Form::Unclear => "?",
                };
                let change = if point.changes { "/" } else { "" };
                let ends = match point.ends {
                    PointEnd::Nothing => "",
                    PointEnd::Game => ";",
                    PointEnd::Set => ".",
                    PointEnd::String => "$",
                };
                format!("{won}{form}{change}{ends}")
            })
            .collect();
        assert_eq!(written, expected, "of {pbp}");
    }

    #[test]
    fn marks_stay_with_their_points() {
        check("SRSA;DR", "srss;rr$");
        check("S/RR/S.SS", "st/rtrt/st.ss$");
        check("SSSS;S", "ssss;s?$");
        check("SSSS.", "ssss.");
        check("SSSS;.", "ssss.");
        check(".;/SS", "ss$");
        check("", "");
    }

    #[test]
    fn odd_characters_are_reported_once() {
        let (strokes, strange) = strokes("S x x-S");
        assert_eq!((strokes.len(), strange), (2, vec!['x', '-']));
    }

    #[test]
    fn invalid_row_does_not_affect_the_others() {
        let text = "pbp_id,server1,server2,pbp,winner\n1,Ann,Bea,SSSS,9\n,Ann,Bea,SS\n3\n4,A,B,;\n";
        let rows = rows(text.as_bytes()).unwrap();
        assert_eq!(rows[0].as_ref().map(|row| row.winner), Ok(0));
        let refused: Vec<_> = rows[1..].iter().map(|row| row.as_ref().unwrap_err().line).collect();
        assert_eq!(refused, [3, 4, 5]);
        assert_eq!(super::rows(b"pbp_id,pbp\n").unwrap_err().reason, "column server1 is missing");
    }
}
