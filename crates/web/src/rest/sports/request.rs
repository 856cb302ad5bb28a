//! Reading requests of these sports, and responses that they share.

use std::sync::Arc;

use base::names::NamePart;
use facts::event::Sport;
use fanout::Micros;
use serde::Serialize;

use super::{
    horseracing::{RaceCardCache, RaceCards},
    sport_stats::{SportStats, SportStatsCache},
};
use crate::rest::{ApiError, ApiRequest, ApiResult, Param, Spec, match_filter, view::View};
use history::query::{Entity, EntityKind, MatchQuery};
use record::{Key, MatchRecord, Vocabulary};

/// Aliases of parameters, from clients of older interfaces.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("event", "match"),
    ("event_id", "match"),
    ("league_id", "league"),
    ("match_id", "match"),
    ("page", "offset"),
    ("page_size", "limit"),
    ("player_name", "search"),
    ("race_id", "race"),
    ("team_id", "team"),
    ("team_name", "team"),
    ("tournament_id", "tournament"),
];

/// Accepted everywhere; `date` is a single day, the others are ignored.
pub(super) const TOLERATED: &[&str] = &["date", "full", "ordering", "tz"];

/// The parameters of an endpoint.
pub(super) const fn spec(params: &'static [Param]) -> Spec {
    Spec { aliases: ALIASES, tolerated: TOLERATED, ..Spec::new(params) }
}

/// The parameters of an endpoint without its own.
pub(super) const NONE: Spec = spec(&[]);

/// Those of a list without filters.
pub(super) const PAGE: Spec = NONE.paged();

pub(super) const DATE_FROM: Param = Param::text("date_from", "From this day or timestamp, UTC.");
pub(super) const DATE_TO: Param =
    Param::text("date_to", "Up to the end of this day, or this timestamp, UTC.");
pub(super) const DATE: Param = Param::text("date", "Only this day, UTC.");
pub(super) const LEAGUE: Param = Param::ids("league", "One or more leagues.");
pub(super) const PLAYER: Param = Param::ids("player", "One or more players.");
pub(super) const SEARCH: Param = Param::text("search", "Part of the name, case-insensitive.");
pub(super) const TEAM: Param =
    Param::text("team", "One or more teams by their IDs, or by a part of the name.");
pub(super) const TOURNAMENT: Param = Param::ids("tournament", "One or more tournaments.");

/// One day, in microseconds.
pub(super) const DAY: Micros = 24 * 60 * 60 * 1_000_000;

/// What the handlers of these sports compute once for many requests; clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct SportsCaches {
    pub(super) sport_stats: SportStatsCache,
    pub(super) race_cards: RaceCardCache,
}

impl ApiRequest {
    /// The statistics over all matches of a sport.
    pub(super) async fn sport_stats(&self, sport: Sport) -> Result<Arc<SportStats>, ApiError> {
        self.extension::<SportsCaches>()?.sport_stats.load(&self.api, sport).await
    }

    /// All races.
    pub(super) async fn race_cards(&self) -> Result<Arc<RaceCards>, ApiError> {
        self.extension::<SportsCaches>()?.race_cards.all(&self.api).await
    }

    /// The filters that lists of matches share. The newest come first, unless the request has a start date.
    pub(super) fn filter(&self, sport: Sport) -> Result<MatchQuery, ApiError> {
        let params = &self.params;
        let (from, before) = self.days()?;
        let league = if params.text("tournament").is_some() { "tournament" } else { "league" };
        let (competition, competitions) = match_filter::one_or_several(params, league)?;
        let (team, teams) = match_filter::one_or_several(params, "player")?;
        let mut filter = MatchQuery {
            from,
            before,
            zone: params.zone().cloned(),
            competition,
            competitions,
            team,
            teams,
            statuses: params.statuses(Vocabulary::Sport(sport)),
            newest_first: from.is_none(),
            window: self.window,
            ..MatchQuery::of_sport(sport)
        };
        if let Some(team) = params.text("team") {
            if params.ids("team").is_ok() {
                (filter.team, filter.teams) = match_filter::one_or_several(params, "team")?;
            } else {
                filter.teams = Some(self.teams_like(sport, team));
            }
        }
        match_filter::choose(&self.api, params, filter)
    }

    /// `date_from` and `date_to`, or `date`.
    pub(super) fn days(&self) -> Result<(Option<Micros>, Option<Micros>), ApiError> {
        let (day, end) = (self.params.from("date")?, self.params.before("date")?);
        Ok((self.params.from("date_from")?.or(day), self.params.before("date_to")?.or(end)))
    }

    fn teams_like(&self, sport: Sport, name: &str) -> Vec<Key> {
        let part = NamePart::new(name);
        let teams = [EntityKind::Team, EntityKind::Player].into_iter().flat_map(|kind| {
            self.api.history.entities(kind, |it| it.sport == sport && part.is_in(&it.name))
        });
        teams.map(|team| team.id).collect()
    }

    /// The page of the matches that pass a filter.
    pub(super) async fn matches<T: Serialize>(
        &self,
        filter: &MatchQuery,
        row: impl Fn(&MatchRecord) -> T,
    ) -> ApiResult {
        let view = View::now(&self.api.history, filter.sport);
        let (filter, found) = self.find_page(&view, filter.clone())?;
        let records = view.records(&filter, &found.summaries).await?;
        let rows = records.iter().map(|record| row(record)).collect();
        self.match_page(&filter, &found, rows)
    }

    /// The match in the path, which must be of this sport.
    pub(super) async fn record(&self, sport: Sport) -> Result<Arc<MatchRecord>, ApiError> {
        let record = self.api.record(self.id()?).await?;
        record.filter(|record| record.summary.sport == sport).ok_or(ApiError::NotFound)
    }

    /// The entity in the path, which must be of this sport.
    pub(super) fn entity(&self, kind: EntityKind, sport: Sport) -> Result<Arc<Entity>, ApiError> {
        let entity = self.api.history.entity(kind, self.id()?);
        entity.filter(|entity| entity.sport == sport).ok_or(ApiError::NotFound)
    }
}
