//! Statements whose length depends on the query or the data.

use std::fmt::Write;

use sqlx::{Any, any::AnyArguments, query::Query};

use record::Key;

/// Values of one `INSERT`. SQLite accepts 32,766. A statement costs two switches of threads, which
/// 1,000 values share; and each connection keeps statements, with their last values.
const VALUES_MAX: usize = 1_024;

/// Maximum rows of one `INSERT` with this number of columns.
pub(super) const fn rows_max(columns: usize) -> usize {
    VALUES_MAX / columns
}

/// A statement whose single row `packed` is a JSON array with an array for each row of the query.
/// sqlx takes about 50 us for each row that it returns, which for lists was most of the time;
/// writing and parsing the JSON takes 2 us.
///
/// `rest` is what follows `SELECT columns`.
pub(super) fn packed(is_sqlite: bool, columns: &str, rest: &str) -> String {
    if is_sqlite {
        format!(
            "SELECT json_group_array(json_array({columns})) AS packed FROM (SELECT {columns} {rest})"
        )
    } else {
        format!(
            "SELECT CAST(coalesce(json_agg(json_build_array({columns})), '[]') AS TEXT) AS packed
             FROM (SELECT {columns} {rest}) AS selected"
        )
    }
}

/// Maximum ids of one query.
pub(super) const IDS_MAX: usize = 500;

pub(super) type Statement<'q> = Query<'q, Any, AnyArguments>;

/// Placeholders of this number of rows: `($1, $2), ($3, $4)`, or `(?, ?), (?, ?)` for SQLite. For each
/// value that is bound, SQLite searches the names of all placeholders; `?` has no name.
pub(super) fn rows(is_sqlite: bool, columns: usize, rows: usize) -> String {
    let unnamed = format!("({})", vec!["?"; columns].join(", "));
    let row = |row| if is_sqlite { unnamed.clone() } else { list(row * columns + 1, columns) };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// Placeholders from this number on: `($1, $2)`.
pub(super) fn list(first: usize, count: usize) -> String {
    let mut list = String::with_capacity(count * 6);
    for number in first..first + count {
        let before = if number == first { "($" } else { ", $" };
        // Writing to a string does not fail.
        write!(list, "{before}{number}").ok();
    }
    list.push(')');
    list
}

/// The conditions of a query, and the values bound to them.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    texts: Vec<String>,
    values: Vec<Value>,
}

#[derive(Debug)]
enum Value {
    Number(i64),
    /// As [`id_array`] writes them.
    Ids(String),
}

impl Conditions {
    /// `condition` has one `?` for the number.
    pub(super) fn number(&mut self, condition: &str, number: impl Into<Option<i64>>) {
        if let Some(number) = number.into() {
            self.values.push(Value::Number(number));
            self.texts.push(condition.replace('?', &format!("${}", self.values.len())));
        }
    }

    /// This column is one of these ids.
    pub(super) fn ids(&mut self, is_sqlite: bool, column: &str, ids: Option<&[Key]>) {
        if let Some(ids) = ids {
            self.values.push(Value::Ids(id_array(ids)));
            let wanted = ids_in(is_sqlite, &format!("${}", self.values.len()));
            self.texts.push(format!("{column} IN {wanted}"));
        }
    }

    /// `WHERE` and all conditions, or nothing.
    pub(super) fn text_of_all(&self) -> String {
        if self.texts.is_empty() {
            return String::new();
        }
        format!("WHERE {}", self.texts.join(" AND "))
    }

    /// The number of placeholders in use.
    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    pub(super) fn bind<'q>(&self, query: Statement<'q>) -> Statement<'q> {
        self.values.iter().fold(query, |query, value| match value {
            Value::Number(number) => query.bind(*number),
            Value::Ids(ids) => query.bind(ids.clone()),
        })
    }
}

/// A query for the ids in the JSON array that is bound to this placeholder, such as `$1`.
///
/// A list of placeholders would make a statement of its own for each number of ids. A connection
/// caches a hundred statements, and one with 500 placeholders takes some 100 KiB.
pub(super) fn ids_in(is_sqlite: bool, placeholder: &str) -> String {
    if is_sqlite {
        format!("(SELECT value FROM json_each({placeholder}))")
    } else {
        format!("(SELECT CAST(jsonb_array_elements_text(CAST({placeholder} AS jsonb)) AS BIGINT))")
    }
}

/// Ids in the form that [`ids_in`] expects.
pub(super) fn id_array(ids: &[Key]) -> String {
    format!("{ids:?}")
}

pub(super) fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
