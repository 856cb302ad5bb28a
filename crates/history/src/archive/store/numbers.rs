//! Public ids of appearances, which are too many to be held in memory; the table keeps them unique.

use std::collections::HashSet;

use facts::event::Id;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

use super::{
    ArchiveStore,
    statement::{IDS_MAX, id_array, ids_in},
    unsigned,
};
use crate::{
    archive::write_cache::PendingRows,
    ids::{NUMBERS_MAX, choices},
};
use database::{STATEMENT_MAX, within};
use record::Key;

impl ArchiveStore {
    /// Gives each new appearance the first of its choices that no other row uses. If another
    /// program takes that number before these rows are written, the write fails, and the next
    /// attempt succeeds.
    pub(in crate::archive) async fn number(&self, entries: &mut PendingRows) -> sqlx::Result<()> {
        let mut new: Vec<_> = entries
            .appearances
            .iter_mut()
            .map(|it| (it.digest(), &mut it.public_id))
            .filter(|(_, number)| number.is_none())
            .collect();
        self.choose(NUMBERS_MAX, &mut new).await
    }

    /// `rows`: the digest of each, and where its number is stored. `count`: how many numbers exist.
    async fn choose(&self, count: u32, rows: &mut [(Key, &mut Option<Key>)]) -> sqlx::Result<()> {
        let mut chosen = HashSet::with_capacity(rows.len());
        for chunk in rows.chunks_mut(IDS_MAX) {
            let mut open: Vec<_> = chunk
                .iter_mut()
                .map(|(digest, number)| (choices(Id(*digest), count), number))
                .collect();
            while !open.is_empty() {
                let wanted: Vec<Key> = open
                    .iter_mut()
                    .filter_map(|(choices, _)| {
                        choices.map(Key::from).find(|number| chosen.insert(*number))
                    })
                    .collect();
                if wanted.len() < open.len() {
                    return Err(sqlx::Error::Encode("there are as many appearances as ids".into()));
                }
                let taken = self.taken(&wanted).await?;
                let mut left = Vec::new();
                for ((choices, number), wanted) in open.into_iter().zip(wanted) {
                    if taken.contains(&wanted) {
                        left.push((choices, number));
                    } else {
                        **number = Some(wanted);
                    }
                }
                open = left;
            }
        }
        Ok(())
    }

    async fn taken(&self, ids: &[Key]) -> sqlx::Result<HashSet<Key>> {
        let wanted = ids_in(self.database.is_sqlite(), "$1");
        let taken =
            format!("SELECT public_id FROM archive_appearances WHERE public_id IN {wanted}");
        let taken = sqlx::query(AssertSqlSafe(taken)).bind(id_array(ids));
        let taken = taken.try_map(|row: AnyRow| Ok(unsigned(row.try_get("public_id")?)));
        let taken = within(STATEMENT_MAX, taken.fetch_all(self.database.pool())).await?;
        Ok(taken.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::testing::on_each;

    #[tokio::test]
    async fn rows_with_the_same_first_choice_get_different_numbers() {
        on_each(async |database| {
            let store = ArchiveStore::new(&database);
            // Stored rows use two of the eleven numbers.
            for public_id in [1_i64, 4] {
                sqlx::query(
                    "INSERT INTO archive_appearances (public_id, match_id, player, team, starter, \
                     played, goals, assists, yellow, red, fouls, stats) \
                     VALUES ($1, $1, 1, 1, 0, 0, 0, 0, 0, 0, 0, '{}')",
                )
                .bind(public_id)
                .execute(database.pool())
                .await
                .unwrap();
            }
            let mut numbers = [None; 9];
            // All prefer number 1, which is that of 0, 11, 22, ..
            let digests = (0..9_u64).map(|number| number * 11);
            let mut rows: Vec<_> = digests.zip(numbers.iter_mut()).collect();
            store.choose(11, &mut rows).await.unwrap();
            let mut given: Vec<Key> = numbers.into_iter().flatten().collect();
            given.sort_unstable();
            assert_eq!(given, [2, 3, 5, 6, 7, 8, 9, 10, 11]);
            let mut more = None;
            let mut rows = [(99, &mut more)];
            store.choose(3, &mut rows).await.unwrap();
            assert!(matches!(more, Some(2 | 3)), "{more:?}");
        })
        .await;
    }
}
