//! Players in matches in the database.

use std::sync::Arc;

use base::Micros;
use serde::Deserialize;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

use super::{
    ArchiveStore, encode, signed,
    statement::{Conditions, id_array, ids_in, rows, rows_max, whole},
    unsigned,
};
use crate::{
    archive::appearance::{Appearance, AppearanceFilter, Leader, LeaderRow},
    match_query::Window,
};
use database::{BatchWriter, STATEMENT_MAX, within};
use record::Key;

const COLUMNS: &str = "public_id, match_id, player, team, season, start_us, starter, played, position, number, \
                       goals, assists, yellow, red, fouls, stats";

impl ArchiveStore {
    /// The total, and the rows in the window: the latest match first, and within a match by team,
    /// with the starting players first.
    pub(in crate::archive) async fn appearances(
        &self,
        filter: &AppearanceFilter,
        window: Window,
    ) -> sqlx::Result<(usize, Vec<Appearance>)> {
        let mut conditions = Conditions::default();
        let is_sqlite = self.database.is_sqlite();
        conditions.number("public_id = ?", filter.id.map(signed));
        conditions.ids(is_sqlite, "match_id", filter.matches.as_deref());
        conditions.ids(is_sqlite, "player", filter.players.as_deref());
        conditions.ids(is_sqlite, "team", filter.teams.as_deref());
        conditions.number("start_us >= ?", filter.from);
        conditions.number("start_us < ?", filter.before);
        let played = "(played = 1 OR yellow + red > 0) AND (start_us IS NULL OR start_us <= ?)";
        conditions.number(played, filter.played_by);
        let count = self.count("archive_appearances", &conditions).await?;
        let order =
            "start_us DESC NULLS LAST, match_id, team, starter DESC, number NULLS LAST, player";
        let page = self.page(COLUMNS, "archive_appearances", &conditions, order, window).await?;
        let page = page.map(PackedAppearance::appearance);
        Ok((count, page.collect::<Result<_, _>>()?))
    }

    /// All rows of the players of these matches.
    pub(in crate::archive) async fn appearances_in(
        &self,
        matches: &[Key],
    ) -> sqlx::Result<Vec<Appearance>> {
        let ids = ("match_id", matches);
        let rows = self.rows_with(COLUMNS, "archive_appearances", ids, "").await?;
        rows.into_iter().map(PackedAppearance::appearance).collect()
    }

    /// The players with the highest values first, and among equal values those with fewer matches. `matches`: those of the
    /// season.
    pub(in crate::archive) async fn leaders(
        &self,
        (season, matches): (Key, &[Key]),
        leader: Leader,
        limit: usize,
    ) -> sqlx::Result<Vec<LeaderRow>> {
        let is_sqlite = self.database.is_sqlite();
        let (counted, of_season) = (leader.expression(is_sqlite), ids_in(is_sqlite, "$3"));
        let leaders = format!(
            "SELECT player, value, matches,
                 (SELECT team FROM archive_appearances last
                  WHERE last.player = sums.player AND last.season = $1
                  ORDER BY start_us DESC NULLS LAST, match_id DESC LIMIT 1) AS team
             FROM (SELECT player, CAST(sum({counted}) AS BIGINT) AS value,
                       CAST(sum(played) AS BIGINT) AS matches
                   FROM archive_appearances WHERE match_id IN {of_season} GROUP BY player) sums
             WHERE value > 0 ORDER BY value DESC, matches, player LIMIT $2"
        );
        let leaders = sqlx::query(AssertSqlSafe(leaders)).bind(signed(season)).bind(whole(limit));
        let leaders = leaders.bind(id_array(matches));
        let leaders = leaders.try_map(|row: AnyRow| {
            let number = |column: &str| row.try_get::<i64, _>(column).map(unsigned);
            Ok(LeaderRow {
                player: number("player")?,
                team: number("team")?,
                value: number("value")?,
                matches: number("matches")?,
            })
        });
        leaders.fetch_all(self.database.pool()).await
    }

    /// Of these, matches with players who were on the pitch; for what only some feeds count, those with one.
    pub(in crate::archive) async fn leader_matches(
        &self,
        matches: &[Key],
        leader: Leader,
    ) -> sqlx::Result<u64> {
        let is_sqlite = self.database.is_sqlite();
        let (counted, wanted) = (leader.expression(is_sqlite), ids_in(is_sqlite, "$1"));
        let counts = match leader.is_rarely_counted() {
            true => format!(" AND {counted} > 0"),
            false => String::new(),
        };
        let counted = format!(
            "SELECT CAST(count(DISTINCT match_id) AS BIGINT) FROM archive_appearances
             WHERE match_id IN {wanted} AND played = 1{counts}"
        );
        let counted = sqlx::query_scalar(AssertSqlSafe(counted)).bind(id_array(matches));
        counted.fetch_one(self.database.pool()).await.map(unsigned)
    }
}

pub(super) async fn put(
    steps: &mut BatchWriter<'_>,
    appearances: &[Appearance],
) -> sqlx::Result<()> {
    for chunk in appearances.chunks(rows_max(16)) {
        let statement = format!(
            "INSERT INTO archive_appearances ({COLUMNS}) VALUES {}
             ON CONFLICT (match_id, player) DO UPDATE SET team = excluded.team,
                 season = excluded.season, start_us = excluded.start_us,
                 starter = excluded.starter, played = excluded.played,
                 position = excluded.position, number = excluded.number, goals = excluded.goals,
                 assists = excluded.assists, yellow = excluded.yellow, red = excluded.red,
                 fouls = excluded.fouls, stats = excluded.stats,
                 public_id = coalesce(archive_appearances.public_id, excluded.public_id)",
            rows(steps.is_sqlite(), 16, chunk.len())
        );
        let mut query =
            sqlx::query(AssertSqlSafe(statement)).persistent(chunk.len() == rows_max(16));
        for appearance in chunk {
            query = query
                .bind(appearance.public_id.map(signed))
                .bind(signed(appearance.match_id))
                .bind(signed(appearance.player))
                .bind(signed(appearance.team))
                .bind(appearance.season.map(signed))
                .bind(appearance.start)
                .bind(i64::from(appearance.starter))
                .bind(i64::from(appearance.played))
                .bind(appearance.position.as_ref().map(|position| position.to_string()))
                .bind(appearance.number.map(i64::from))
                .bind(i64::from(appearance.goals))
                .bind(i64::from(appearance.assists))
                .bind(i64::from(appearance.yellow))
                .bind(i64::from(appearance.red))
                .bind(i64::from(appearance.fouls))
                .bind(serde_json::to_string(&appearance.stats).map_err(encode)?);
        }
        within(STATEMENT_MAX, query.execute(steps.next().await?)).await?;
    }
    Ok(())
}

/// Removes players who are no longer in a match.
pub(super) async fn remove(steps: &mut BatchWriter<'_>, gone: &[(Key, Key)]) -> sqlx::Result<()> {
    for (match_id, player) in gone {
        let remove =
            sqlx::query("DELETE FROM archive_appearances WHERE match_id = $1 AND player = $2");
        let remove = remove.bind(signed(*match_id)).bind(signed(*player));
        within(STATEMENT_MAX, remove.execute(steps.next().await?)).await?;
    }
    Ok(())
}

/// A row as the database packs it: an array of [`COLUMNS`], in this order.
#[derive(Debug, Deserialize)]
struct PackedAppearance {
    public_id: Option<i64>,
    match_id: i64,
    player: i64,
    team: i64,
    season: Option<i64>,
    start: Option<Micros>,
    starter: i64,
    played: i64,
    position: Option<Arc<str>>,
    number: Option<u16>,
    goals: u32,
    assists: u32,
    yellow: u32,
    red: u32,
    fouls: u32,
    stats: String,
}

impl PackedAppearance {
    fn appearance(self) -> sqlx::Result<Appearance> {
        let stats = serde_json::from_str(&self.stats);
        Ok(Appearance {
            public_id: self.public_id.map(unsigned),
            match_id: unsigned(self.match_id),
            player: unsigned(self.player),
            team: unsigned(self.team),
            season: self.season.map(unsigned),
            start: self.start,
            starter: self.starter != 0,
            played: self.played != 0,
            position: self.position,
            number: self.number,
            goals: self.goals,
            assists: self.assists,
            yellow: self.yellow,
            red: self.red,
            fouls: self.fouls,
            stats: stats.map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
        })
    }
}
