//! The query layer: questions about matches, whether the hub still has them or only the archive.
//!
//! In: a [`MatchQuery`], an id, or the matches of a league. Out: matches in the order of lists, and the
//! rules of tables, seasons, head-to-head records and form, one each. REST, pages and other interfaces
//! ask here; nothing else reads the archive to answer a client. This module knows neither HTTP nor
//! accounts, and no public JSON.

mod ranking;
mod regulations;
mod seasons;
mod side_match;
mod standings;
mod view;

use std::sync::Arc;

use facts::event::Sport;

pub use self::{
    ranking::{Ranking, SplitPoints, TableMatch, TableRule},
    regulations::{Competitions, Regulations},
    seasons::{Calendar, CurrentSeason, SeasonSpan, latest_season, season_name, season_year},
    side_match::{DecidedBy, HeadToHead, Outcome, SideMatch, earlier_results},
    standings::{
        DeductionOfTeam, ExpectedGoalsTally, FootballTables, StandingsRow, StandingsRule, Tally,
        football_tables, league_table, regulation,
    },
    view::{View, pair},
};
use crate::{archive::Archive, reader::Reader};
pub use crate::{
    archive::{
        Appearance, AppearanceFilter, DEDUCTIONS_MAX, Entity, EntityKind, Leader, LeaderRow,
        Movement, OddsFilter, OddsRow, Period, Properties, StoredDeduction, Tick, TooManyPrices,
    },
    match_query::{GROUP_STAGE, MatchPage, MatchQuery, Window},
};
use record::{Key, MatchRecord, MatchSummary};

/// The number of latest results in a form.
pub const FORM: usize = 5;

/// All matches: current ones from the hub, others from the archive. Clones share them.
#[derive(Debug, Clone)]
pub struct History {
    reader: Reader,
    archive: Archive,
    competitions: Competitions,
}

impl History {
    /// The history of these two: `reader` has the current state of what `archive` stores.
    #[must_use]
    pub fn new(reader: Reader, archive: Archive) -> Self {
        Self { reader, archive, competitions: Competitions::default() }
    }

    /// The same, with the operator's rules of competitions.
    #[must_use]
    pub fn with_competitions(self, competitions: Competitions) -> Self {
        Self { competitions, ..self }
    }

    /// The tables of a season of a football competition, of these matches in order of start. `country` is the name
    /// of the competition's country, or empty.
    ///
    /// # Errors
    ///
    /// If the archive, which has the deductions that operators entered, fails.
    pub async fn football_tables(
        &self,
        competition: &Entity,
        country: &str,
        season: Option<Key>,
        matches: &[Arc<MatchSummary>],
    ) -> sqlx::Result<FootballTables> {
        let first = matches.iter().find_map(|summary| summary.start);
        let first = first.and_then(|start| jiff::Timestamp::from_microsecond(start).ok());
        let season = season.and_then(|id| self.name(EntityKind::Season, id)).unwrap_or_default();
        let first_day = first.map(|first| first.to_string());
        let (name, first_day) = (&*competition.name, first_day.as_deref());
        let mut regulations = self.competitions.regulations(country, name, &season, first_day);
        for StoredDeduction { competition, deduction, .. } in self.archive.deductions().await? {
            if regulations::is_named(&competition, country, name)
                && regulations::is_of_season(&deduction, &season, first_day)
            {
                regulations.deductions.push(deduction);
            }
        }
        let name = |team| self.name(EntityKind::Team, team).unwrap_or_default();
        let matches = matches.iter().map(AsRef::as_ref);
        Ok(football_tables(matches, true, regulations, name))
    }

    /// The matches that a query selects, of all sports unless it names one.
    #[must_use]
    pub fn find(&self, query: &MatchQuery) -> MatchPage {
        View::now(self, query.sport).find(query)
    }

    /// What is stored.
    #[must_use]
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The current record of a match that the hub has.
    #[must_use]
    pub fn current(&self, id: Key) -> Option<Arc<MatchRecord>> {
        self.reader.get(id)
    }

    /// The matches of a sport in play, by start and id; those without a start come last.
    #[must_use]
    pub fn live(&self, sport: Sport) -> Vec<Arc<MatchRecord>> {
        self.reader.live(sport)
    }

    /// The version of the hub's matches: equal versions mean equal content.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.reader.version()
    }

    /// The complete record of a match: its current state while the hub has it, else the archived one.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn record(&self, id: Key) -> sqlx::Result<Option<Arc<MatchRecord>>> {
        match self.reader.get(id) {
            Some(record) => Ok(Some(record)),
            None => Ok(self.archived(&[id]).await?.pop()),
        }
    }

    /// The archived records of these matches, with no price on offer that the hub has removed.
    async fn archived(&self, ids: &[Key]) -> sqlx::Result<Vec<Arc<MatchRecord>>> {
        let mut records = self.archive.records(ids).await?;
        for record in records.iter_mut().filter(|it| self.reader.has_removed(it.summary.id)) {
            Arc::make_mut(record).close_prices();
        }
        Ok(records)
    }

    /// The summary of a match: the current one while the hub has it, else the archived one.
    #[must_use]
    pub fn summary(&self, id: Key) -> Option<Arc<MatchSummary>> {
        let current = self.reader.get(id).map(|record| Arc::clone(&record.summary));
        current.or_else(|| self.archive.summary(id))
    }

    /// The entity of an id.
    #[must_use]
    pub fn entity(&self, kind: EntityKind, id: Key) -> Option<Arc<Entity>> {
        self.archive.entity(kind, id)
    }

    /// The name of an entity.
    #[must_use]
    pub fn name(&self, kind: EntityKind, id: Key) -> Option<String> {
        self.archive.entity(kind, id).map(|entity| entity.name.to_string())
    }

    /// The version of the entities: equal versions mean equal content.
    #[must_use]
    pub fn entities_version(&self) -> u64 {
        self.archive.entities_version()
    }

    /// All entities of a kind that pass a condition, by name and id.
    #[must_use]
    pub fn entities(
        &self,
        kind: EntityKind,
        condition: impl Fn(&Entity) -> bool,
    ) -> Vec<Arc<Entity>> {
        self.archive.entities(kind, condition)
    }

    /// The prices that a filter selects: how many, and those in the window, as they are now. Prices that are new since the last
    /// write of the archive are missing.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn odds(
        &self,
        filter: &OddsFilter,
        window: Window,
    ) -> sqlx::Result<(usize, Vec<OddsRow>)> {
        let odds = self.archive.odds(filter, window, |id| self.reader.get(id)).await;
        odds.map(|(count, rows)| (count, self.on_offer(rows)))
    }

    /// These prices, of which none is open whose match the hub has removed.
    fn on_offer(&self, mut rows: Vec<OddsRow>) -> Vec<OddsRow> {
        rows.iter_mut().for_each(|row| row.is_open &= !self.reader.has_removed(row.match_id));
        rows
    }

    /// The price of this id.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn odds_row(&self, id: Key) -> sqlx::Result<Option<OddsRow>> {
        let Some(row) = self.archive.odds_row(id).await? else { return Ok(None) };
        let any = OddsFilter { period: Period::Any, ..OddsFilter::default() };
        let current = self.reader.get(row.match_id);
        Ok(self.on_offer(any.select(vec![row], current.as_deref())).pop())
    }

    /// The price history of these rows of a match, row by row, oldest first.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn ticks(&self, match_id: Key, rows: &[Key]) -> sqlx::Result<Vec<Tick>> {
        self.archive.ticks(match_id, rows).await
    }

    /// The slugs of all bookmakers with prices, and of the consensus, sorted.
    #[must_use]
    pub fn bookmakers(&self) -> Vec<Arc<str>> {
        self.archive.bookmakers()
    }

    /// The appearances that a filter selects: how many, and those in the window, the latest match first.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn appearances(
        &self,
        filter: &AppearanceFilter,
        window: Window,
    ) -> sqlx::Result<(usize, Vec<Appearance>)> {
        self.archive.appearances(filter, window).await
    }

    /// The leaders of a season in one statistic, best first.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn leaders(
        &self,
        season: Key,
        leader: Leader,
        limit: usize,
    ) -> sqlx::Result<Vec<LeaderRow>> {
        self.archive.leaders(season, leader, limit).await
    }

    /// The number of matches of a season in which players are known, from which its leaders are counted.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn leader_matches(&self, season: Key, leader: Leader) -> sqlx::Result<u64> {
        self.archive.leader_matches(season, leader).await
    }
}

#[cfg(test)]
mod tests;
