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
use crate::rest::{
    ApiError, ApiRequest, ApiResult, Param, Spec,
    kind::Text,
    match_filter::{IdParams, MatchListParams},
    params::STATUS,
    view::View,
};
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
pub(super) const fn spec(params: &'static [&'static [Param]]) -> Spec {
    Spec { aliases: ALIASES, tolerated: TOLERATED, ..Spec::new(params) }
}

/// The parameters of an endpoint without its own.
pub(super) const NONE: Spec = spec(&[]);

/// Those of a list without filters.
pub(super) const PAGE: Spec = NONE.paged();

params! {
    pub(super) struct DateParams {
        date_from: Begin = "From this day or timestamp, UTC.",
        date_to: End = "Up to the end of this day, or this timestamp, UTC.",
        date: Day = "Only this day, UTC.",
    }
    pub(super) struct LeagueParams { league: Ids = "One or more leagues." }
    pub(super) struct TournamentParams { tournament: Ids = "One or more tournaments." }
    pub(super) struct PlayerParams { player: Ids = "One or more players." }
    pub(super) struct TeamParams { team: IdsOrName = "One or more teams by their IDs, or by a part of the name." }
    pub(super) struct SearchParams { search: Name = "Part of the name, case-insensitive." }
}

/// `status` of lists of what is in play, where it has no effect.
pub(super) const HIDDEN_STATUS: &[Param] = &[Param::new::<Text>(STATUS, "")];

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
        let tournament = TournamentParams::read(params)?.tournament;
        let competition =
            if tournament.is_set() { tournament } else { LeagueParams::read(params)?.league };
        let (competition, competitions) = competition.one_or_several();
        let (team, teams) = PlayerParams::read(params)?.player.one_or_several();
        let mut filter = MatchQuery {
            from,
            before,
            zone: params.zone().cloned(),
            competition,
            competitions,
            team,
            teams,
            statuses: params.statuses(params.text(STATUS), Vocabulary::Sport(sport)),
            newest_first: from.is_none(),
            window: self.window,
            ..MatchQuery::of_sport(sport)
        };
        let (ids, name) = TeamParams::read(params)?.team;
        if ids.is_set() {
            (filter.team, filter.teams) = ids.one_or_several();
        }
        if let Some(name) = name {
            filter.teams = Some(self.teams_like(sport, &name));
        }
        let ids = IdParams::read(params)?.ids;
        MatchListParams::read(params)?.narrow(self, &ids, filter)
    }

    /// `date_from` and `date_to`, or `date`.
    pub(super) fn days(&self) -> Result<(Option<Micros>, Option<Micros>), ApiError> {
        let DateParams { date_from, date_to, date: [day, end] } = DateParams::read(&self.params)?;
        Ok((date_from.or(day), date_to.or(end)))
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
