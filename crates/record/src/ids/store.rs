//! The table of public ids, and all the SQL for it.

use std::fmt::Write;

use facts::event::Id;
use sqlx::{AnyConnection, AssertSqlSafe};

use database::{Database, WriteBudget};

/// Rows of one `INSERT`.
const ROWS_MAX: usize = 200;

/// All assigned numbers.
pub(super) async fn load(database: &Database) -> sqlx::Result<Vec<(Id, u32)>> {
    let rows: Vec<(i64, i64)> =
        sqlx::query_as("SELECT own, id FROM public_ids").fetch_all(database.pool()).await?;
    let number =
        |(digest, id): (i64, i64)| Some((Id(digest.cast_unsigned()), u32::try_from(id).ok()?));
    Ok(rows.into_iter().filter_map(number).collect())
}

/// Writes numbers. Again changes nothing. Gives those digests whose number another program has given to
/// something else, or that another program has given another number.
pub(super) async fn write(database: &Database, numbers: &[(Id, u32)]) -> sqlx::Result<Vec<Id>> {
    let mut pace = WriteBudget::default();
    let mut steps = database.batch_writer(&mut pace);
    let mut contested = Vec::new();
    for chunk in numbers.chunks(ROWS_MAX) {
        let connection = steps.next().await?;
        let mut statement = String::from("INSERT INTO public_ids (own, id) VALUES ");
        for row in 0..chunk.len() {
            let comma = if row == 0 { "" } else { ", " };
            // Writing to a text does not fail.
            write!(statement, "{comma}(${}, ${})", 2 * row + 1, 2 * row + 2).ok();
        }
        statement.push_str(" ON CONFLICT DO NOTHING");
        let mut query = sqlx::query(AssertSqlSafe(statement)).persistent(chunk.len() == ROWS_MAX);
        for (digest, number) in chunk {
            query = query.bind(digest.0.cast_signed()).bind(i64::from(*number));
        }
        let written = query.execute(&mut *connection).await?.rows_affected();
        if written < chunk.len() as u64 {
            contested.extend(contested_of(connection, chunk).await?);
        }
    }
    steps.finish().await?;
    Ok(contested)
}

async fn contested_of(
    connection: &mut AnyConnection,
    numbers: &[(Id, u32)],
) -> sqlx::Result<Vec<Id>> {
    let mut contested = Vec::new();
    for (digest, number) in numbers {
        let stored: Option<i64> = sqlx::query_scalar("SELECT id FROM public_ids WHERE own = $1")
            .bind(digest.0.cast_signed())
            .fetch_optional(&mut *connection)
            .await?;
        if stored != Some(i64::from(*number)) {
            contested.push(*digest);
        }
    }
    Ok(contested)
}
