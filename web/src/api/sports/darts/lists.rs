//! Players, rankings, tournaments and predictions of darts.

use std::sync::Arc;

use axum::extract::Path;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        forecast::{Forecast, Model, percent},
        lists::{self, Inactive, Named},
        matches,
        predicted::{self, Predicted},
        request::{self, ApiResult, DateParams, PageParams, SportsRequest},
        shape::{self, LeagueRow, NamedRow},
        sport_stats::{self, SportStats},
        status,
    },
    matches::{DartsPlayerBrief, DartsTournament},
};
use crate::{
    api::{
        Api, ApiError, CacheControl, Page,
        error::{ErrorBody, UnknownParametersBody},
    },
    archive::{Entity, EntityKind, Filter},
    rating::{self, Rating},
    record::{Key, MatchRecord},
};

const SPORT: Sport = Sport::Darts;

/// The types of rankings, each Elo over archived results: `PDC` covers all of them, `ProTour` those of the
/// tour's tournaments.
const TYPES: [&str; 2] = ["PDC", "ProTour"];

/// Words in the names of the tour's tournaments, in lower case.
const TOUR: [&str; 4] = ["protour", "pro tour", "players championship", "european tour"];

/// What no feed of ours tells of players is null.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsPlayer {
    id: Key,
    api_id: Option<u64>,
    name: String,
    short_name: Option<String>,
    country_code: Option<String>,
    country_name: String,
    /// Our own, from the results that are kept; null where there is none.
    elo_overall: Option<i64>,
    elo_major: Option<i64>,
    elo_protour: Option<i64>,
    avg_average: Option<f64>,
    avg_checkout_pct: Option<f64>,
    avg_180s: Option<f64>,
    legs_won_pct: Option<f64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsRanking {
    position: usize,
    /// No feed of ours tells it.
    prize_money: Option<u64>,
    /// The rating, rounded.
    points: i64,
    player: Option<NamedRow>,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// The same id as its match: there is one prediction of each.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DartsPrediction {
    id: Key,
    match_id: Key,
    tournament: Option<DartsTournament>,
    player1: Option<DartsPlayerBrief>,
    player2: Option<DartsPlayerBrief>,
    match_date: Option<String>,
    status: &'static str,
    /// In percent; null where neither prices nor results tell anything.
    prob_player1_wins: Option<f64>,
    prob_player2_wins: Option<f64>,
    /// 1 or 2.
    predicted_winner: Option<u8>,
    /// How likely that is, in percent.
    confidence: Option<f64>,
    /// `consensus`: the bookmakers' prices without their margin. `elo`: from earlier results.
    model: Option<Model>,
    /// 1 or 2, once it is known.
    actual_winner: Option<u8>,
    was_winner_correct: Option<bool>,
}

/// Players, by name.
#[utoipa::path(get, path = "/darts/api/v2/players/", tag = "darts",
    params(
        Named,
        PageParams,
    ),
    responses(
        (status = 200, body = Page<DartsPlayer>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn players(request: SportsRequest) -> ApiResult {
    lists::sides(&request, SPORT, DartsPlayer::of).await
}

/// One player.
#[utoipa::path(get, path = "/darts/api/v2/players/{id}/", tag = "darts",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = DartsPlayer),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn player(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    lists::side(&request, SPORT, &id, DartsPlayer::of).await
}

/// The ranking of all players who have a result, the strongest first. A ranking of another type is
/// empty. Where no tournament is known to be of the tour, `ProTour` is of all results, too.
#[utoipa::path(get, path = "/darts/api/v2/rankings/", tag = "darts",
    params(
        ("type" = Option<String>, Query, description = "`PDC` (default) or `ProTour`, case-insensitive."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<DartsRanking>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn rankings(request: SportsRequest) -> ApiResult {
    let query = request.read(request::spec(&["limit", "offset", "type"]))?;
    let wanted = query.params.text("type").unwrap_or(TYPES[0]);
    let kind = TYPES.into_iter().find(|kind| kind.eq_ignore_ascii_case(wanted));
    let (kind, ranked) = match kind {
        Some(kind) if kind == TYPES[1] => (kind, tour(&request).await?.table.ranked()),
        Some(kind) => (kind, request.sport_stats(SPORT).await?.table.ranked()),
        None => (TYPES[0], Vec::new()),
    };
    let rows: Vec<_> = (1..).zip(ranked).collect();
    query.page(CacheControl::REFERENCE, &rows, |row| DartsRanking::of(&request.api, row, kind))
}

/// The statistics over the tour's results; over all tournaments if none is known to be part of the tour.
async fn tour(request: &SportsRequest) -> Result<Arc<SportStats>, ApiError> {
    let archive = &request.api.archive;
    let is_of_tour = |it: &Entity| {
        let category = it.about.get("category").and_then(|category| category.as_str());
        let texts = [&*it.name, category.unwrap_or_default()].map(str::to_lowercase);
        TOUR.iter().any(|word| texts.iter().any(|text| text.contains(word)))
    };
    let of_tour =
        archive.entities(EntityKind::Competition, |it| it.sport == SPORT && is_of_tour(it));
    if of_tour.is_empty() {
        return request.sport_stats(SPORT).await;
    }
    let competitions = Some(of_tour.iter().map(|it| it.id).collect());
    let filter = Filter { sport: Some(SPORT), competitions, ..Filter::default() };
    SportStats::under(archive, filter).await
}

/// One row of the ranking, by the player's id.
#[utoipa::path(get, path = "/darts/api/v2/rankings/{id}/", tag = "darts",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = DartsRanking),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn ranking(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    request.read(request::NONE)?;
    let sport_stats = request.sport_stats(SPORT).await?;
    let player = request::key(&id)?;
    let mut rows = (1..).zip(sport_stats.table.ranked());
    let row = rows.find(|(_, (own, _))| *own == player).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::REFERENCE, &DartsRanking::of(&request.api, &row, TYPES[0]))
}

/// Tournaments: those of which most is played first.
#[utoipa::path(get, path = "/darts/api/v2/tournaments/", tag = "darts",
    params(
        Named,
        Inactive,
        PageParams,
    ),
    responses(
        (status = 200, body = Page<LeagueRow>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn tournaments(request: SportsRequest) -> ApiResult {
    lists::leagues(&request, SPORT).await
}

/// One tournament.
#[utoipa::path(get, path = "/darts/api/v2/tournaments/{id}/", tag = "darts",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = LeagueRow),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn tournament(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    lists::league(&request, SPORT, &id).await
}

/// Predictions: unless something else is asked for, of matches that are still to begin.
#[utoipa::path(get, path = "/darts/api/v2/predictions/", tag = "darts",
    params(
        Predicted,
        DateParams,
        PageParams,
    ),
    responses(
        (status = 200, body = Page<DartsPrediction>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn predictions(request: SportsRequest) -> ApiResult {
    predicted::list(&request, SPORT, DartsPrediction::of).await
}

/// The prediction of one match, by the match's id.
#[utoipa::path(get, path = "/darts/api/v2/predictions/{id}/", tag = "darts",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = DartsPrediction),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn prediction(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::one(&request, SPORT, &id, CacheControl::PREDICTIONS, DartsPrediction::of).await
}

impl DartsPlayer {
    fn of(player: &Entity, sport_stats: &SportStats) -> Self {
        Self {
            id: player.id,
            api_id: None,
            name: player.name.to_string(),
            short_name: None,
            country_code: shape::country_code(player.country.as_ref()),
            country_name: shape::country_name(player.country.as_ref()),
            elo_overall: sport_stats.elo(player.id),
            elo_major: None,
            elo_protour: None,
            avg_average: None,
            avg_checkout_pct: None,
            avg_180s: None,
            legs_won_pct: None,
        }
    }
}

impl DartsRanking {
    fn of(
        api: &Api,
        (position, (player, rated)): &(usize, (Key, Rating)),
        kind: &'static str,
    ) -> Self {
        let entity = api.archive.entity(EntityKind::Player, *player);
        Self {
            position: *position,
            prize_money: None,
            points: sport_stats::whole(rated.rating),
            player: entity.map(|entity| NamedRow::of_entity(&entity)),
            kind,
        }
    }
}

impl DartsPrediction {
    fn of(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let forecast = Forecast::of(record, sport_stats);
        let predicted = forecast.map(|it| u8::from(it.winner() == 1) + 1);
        let actual = rating::winner(&record.brief).map(|winner| winner + 1);
        let [player1, player2] = DartsPlayerBrief::both(api, record, sport_stats);
        Self {
            id: record.brief.id,
            match_id: record.brief.id,
            tournament: DartsTournament::of(record),
            player1,
            player2,
            match_date: shape::start(record),
            status: status::word(SPORT, record.brief.status),
            prob_player1_wins: forecast.map(|it| percent(it.first)),
            prob_player2_wins: forecast.map(|it| percent(it.second)),
            predicted_winner: predicted,
            confidence: forecast.map(|it| percent(it.confidence())),
            model: forecast.map(|it| it.model),
            actual_winner: actual,
            was_winner_correct: predicted.zip(actual).map(|(own, actual)| own == actual),
        }
    }
}
