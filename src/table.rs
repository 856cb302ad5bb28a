//! The output of every command that prints a list: tab-separated text with column heads, or JSON lines.
//!
//! It knows columns and cells, not what they are about. Every row has exactly one cell per column, which
//! the compiler checks. An absent value is `-` in text and null in JSON.

use std::io::{self, Write};

use fanout::Micros;
use jiff::Timestamp;
use serde::Serializer as _;

/// How a list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A line of column heads in upper case, then one line of tab-separated fields per row.
    Text,
    /// One JSON object per row and line. Its keys are the columns, its values strings or null.
    JsonLines,
}

/// Prints rows to a writer, each as soon as it is known.
#[derive(Debug)]
pub(crate) struct Table<'a, W, const N: usize> {
    out: &'a mut W,
    format: Format,
    columns: [&'static str; N],
}

impl<'a, W: Write, const N: usize> Table<'a, W, N> {
    /// Starts a table and prints its head, if the format has one. Columns are named in
    /// `lower_snake_case`.
    pub(crate) fn new(
        out: &'a mut W,
        format: Format,
        columns: [&'static str; N],
    ) -> io::Result<Self> {
        if format == Format::Text {
            writeln!(out, "{}", columns.join("\t").to_ascii_uppercase())?;
        }
        Ok(Self { out, format, columns })
    }

    /// Prints one row. An empty cell is absent as well.
    pub(crate) fn row(&mut self, cells: [Option<&str>; N]) -> io::Result<()> {
        match self.format {
            Format::Text => line(self.out, &cells.map(Option::unwrap_or_default)),
            Format::JsonLines => {
                let values = cells.map(|cell| cell.filter(|text| !text.is_empty()));
                let object = self.columns.iter().zip(values);
                serde_json::Serializer::new(&mut *self.out).collect_map(object)?;
                self.out.write_all(b"\n")
            }
        }
    }
}

/// Prints one line of tab-separated fields, `-` for an empty one.
///
/// Control characters become spaces: what a feed or a customer wrote must not pass for two fields or
/// lines, and must not control a terminal.
pub(crate) fn line(out: &mut impl Write, fields: &[&str]) -> io::Result<()> {
    let plain = |field: &&str| match *field {
        "" => "-".to_owned(),
        field => field.replace(char::is_control, " "),
    };
    writeln!(out, "{}", fields.iter().map(plain).collect::<Vec<_>>().join("\t"))
}

/// RFC 3339, to the second.
pub(crate) fn time(at: Micros) -> String {
    // Past the year 9999 there is only the number.
    Timestamp::from_microsecond(at).map_or_else(|_| at.to_string(), |at| format!("{at:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [&str; 3] = ["id", "a_side", "note"];

    #[track_caller]
    fn check(format: Format, rows: &[[Option<&str>; 3]], expected: &str) {
        let mut out = Vec::new();
        let mut table = Table::new(&mut out, format, COLUMNS).unwrap();
        rows.iter().for_each(|row| table.row(*row).unwrap());
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn text_has_a_header_in_upper_case() {
        let rows = [[Some("1"), Some("Ajax"), None], [Some("2"), None, Some("late start")]];
        let expected = "ID\tA_SIDE\tNOTE\n1\tAjax\t-\n2\t-\tlate start\n";
        check(Format::Text, &rows, expected);
    }

    #[test]
    fn json_has_one_object_per_line_with_keys_in_column_order() {
        let rows = [[Some("1"), Some("Ajax"), None], [Some("2"), None, Some("a \"b\"")]];
        let expected = "{\"id\":\"1\",\"a_side\":\"Ajax\",\"note\":null}\n\
                        {\"id\":\"2\",\"a_side\":null,\"note\":\"a \\\"b\\\"\"}\n";
        check(Format::JsonLines, &rows, expected);
    }

    #[test]
    fn empty_list_is_only_the_header_in_text_and_nothing_in_json() {
        check(Format::Text, &[], "ID\tA_SIDE\tNOTE\n");
        check(Format::JsonLines, &[], "");
    }

    #[test]
    fn empty_cell_is_a_dash_in_text_and_null_in_json() {
        let rows = [[Some("1"), Some(""), Some("-")]];
        check(Format::Text, &rows, "ID\tA_SIDE\tNOTE\n1\t-\t-\n");
        check(Format::JsonLines, &rows, "{\"id\":\"1\",\"a_side\":null,\"note\":\"-\"}\n");
    }

    /// Foreign text cannot inject a field or a line. JSON escapes it instead, so that nothing is lost.
    #[test]
    fn cell_stays_one_field_on_one_line() {
        let rows = [[Some("1"), Some("b\tc\nd\u{1b}[31m"), Some("e")]];
        check(Format::Text, &rows, "ID\tA_SIDE\tNOTE\n1\tb c d [31m\te\n");
        let expected = "{\"id\":\"1\",\"a_side\":\"b\\tc\\nd\\u001b[31m\",\"note\":\"e\"}\n";
        check(Format::JsonLines, &rows, expected);
    }

    #[test]
    fn time_is_formatted_to_the_second() {
        assert_eq!(time(1_788_280_000_999_999), "2026-09-01T16:26:40Z");
        assert_eq!(time(Micros::MAX), Micros::MAX.to_string());
    }
}
