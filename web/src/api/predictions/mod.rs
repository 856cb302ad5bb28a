//! Predicted results of matches: `/api/v2/predictions/`, `/api/v2/events/{id}/prediction/`.
//!
//! They exist for matches that are not over, in leagues with enough results. [`crate::predict`] documents the
//! model. Matches that are over have none, because today's model knows their results.

pub(in crate::api) mod row;

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::Sport;
use utoipa_axum::{router::OpenApiRouter, routes};

use self::row::{Names, Prediction, Recommendations, confidence};
use super::{
    Api, ApiError, CacheControl, Page, PageUrl, Params, Spec,
    odds::{football_record, id_of, status},
    view::View,
};
use crate::{
    archive::{EntityKind, Filter, Window},
    clock::now,
    predict::Forecast,
    record::{Key, MatchSummary, Status},
};

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(of_event)).routes(routes!(list)).routes(routes!(detail))
}

const LIST: Spec = Spec {
    accepted: &[
        "date_from",
        "date_to",
        "league_id",
        "limit",
        "min_confidence",
        "offset",
        "recommended",
        "season_id",
        "status",
        "team_id",
        "upcoming",
    ],
    aliases: &[
        ("league", "league_id"),
        ("season", "season_id"),
        ("team", "team_id"),
        ("page_size", "limit"),
        ("page", "offset"),
    ],
    tolerated: &["tz", "full", "ordering"],
};

const ONE: Spec = Spec { accepted: &[], aliases: &[], tolerated: &["tz", "full"] };

const TOO_FEW: ApiError = ApiError::Unavailable(
    "There are not enough results of the league or of one of the teams yet to predict from.",
);

/// What the model makes of a match, if it has one for it.
fn forecast(api: &Api, brief: &MatchSummary) -> Option<Forecast> {
    let fitted = api.predictor.of(brief.competition?)?;
    fitted.model.forecast(brief.sides?, brief.neutral == Some(true))
}

/// The same as a row.
fn row(api: &Api, brief: &MatchSummary) -> Option<Prediction> {
    let (competition, sides) = (brief.competition?, brief.sides?);
    let fitted = api.predictor.of(competition)?;
    let forecast = fitted.model.forecast(sides, brief.neutral == Some(true))?;
    let name = |kind, id| api.archive.entity(kind, id).map(|entity| entity.name.to_string());
    let names = Names {
        league: name(EntityKind::Competition, competition),
        sides: sides.map(|side| name(EntityKind::Team, side)),
    };
    Some(Prediction::new(brief, sides, names, &fitted, &forecast))
}

/// The filters of the list of predictions.
#[derive(Debug, Default)]
pub(in crate::api) struct PredictionQuery {
    pub(in crate::api) filter: Filter,
    /// A single match.
    pub(in crate::api) event: Option<Key>,
    /// 0 to 1.
    pub(in crate::api) confidence_min: Option<f64>,
    pub(in crate::api) recommended: Option<bool>,
}

impl PredictionQuery {
    /// Matches that are not over.
    pub(in crate::api) fn not_over() -> Self {
        let filter = Filter {
            sport: Some(Sport::Football),
            statuses: Some(status::not_over()),
            ..Filter::default()
        };
        Self { filter, ..Self::default() }
    }

    /// Matches that have not begun and are expected to.
    pub(in crate::api) fn upcoming(&mut self) {
        let now = now();
        self.filter.from = Some(self.filter.from.map_or(now, |from| from.max(now)));
        self.narrow(&[Status::NotStarted]);
    }

    /// Only matches with these statuses.
    pub(in crate::api) fn narrow(&mut self, to: &[Status]) {
        if let Some(statuses) = &mut self.filter.statuses {
            statuses.retain(|status| to.contains(status));
        }
    }

    /// The number of rows, and those in the window.
    pub(in crate::api) fn rows(&self, api: &Api, window: Window) -> (usize, Vec<Prediction>) {
        let found = View::now(api, Some(Sport::Football)).all(&self.filter);
        let is_wanted = |brief: &MatchSummary| {
            if self.event.is_some_and(|event| event != brief.id) {
                return false;
            }
            let Some(forecast) = forecast(api, brief) else { return false };
            let recommends = || Recommendations::of(&forecast).is_recommended();
            self.confidence_min.is_none_or(|least| confidence(&forecast) >= least)
                && self.recommended.is_none_or(|wanted| recommends() == wanted)
        };
        let wanted: Vec<_> = found.iter().filter(|brief| is_wanted(brief)).collect();
        let page = wanted.iter().skip(window.offset).take(window.limit);
        (wanted.len(), page.filter_map(|brief| row(api, brief)).collect())
    }
}

/// The prediction of a match that is not over.
pub(in crate::api) async fn one(api: &Api, id: Key) -> Result<Prediction, ApiError> {
    let record = football_record(api, id).await?;
    if record.brief.status.is_over() {
        return Err(ApiError::NotFound);
    }
    row(api, &record.brief).ok_or(TOO_FEW)
}

/// What a match may end like.
#[utoipa::path(
    get, path = "/api/v2/events/{id}/prediction/", tag = "football v2",
    params(("id" = u64, Path, description = "The event's ID")),
    responses((status = 200, body = Prediction), (status = 400, description = "Unknown parameter"), (status = 404, description = "No such event, or it has ended"), (status = 503, description = "Not enough results for a prediction"))
)]
async fn of_event(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), ONE)?;
    CacheControl::PREDICTIONS.answer(&headers, &one(&api, id_of(&id)?).await?)
}

/// The same; a prediction has the id of its event.
#[utoipa::path(
    get, path = "/api/v2/predictions/{id}/", tag = "football v2",
    params(("id" = u64, Path, description = "The prediction's ID, which is the event's ID")),
    responses((status = 200, body = Prediction), (status = 400, description = "Unknown parameter"), (status = 404, description = "No such event, or it has ended"), (status = 503, description = "Not enough results for a prediction"))
)]
async fn detail(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), ONE)?;
    CacheControl::PREDICTIONS.answer(&headers, &one(&api, id_of(&id)?).await?)
}

/// Predictions of matches that are not over, by their start.
#[utoipa::path(
    get, path = "/api/v2/predictions/", tag = "football v2",
    params(
        ("status" = Option<String>, Query, description = "Status of the event"),
        ("league_id" = Option<u64>, Query),
        ("season_id" = Option<u64>, Query),
        ("team_id" = Option<u64>, Query, description = "Team, home or away"),
        ("date_from" = Option<String>, Query, description = "A day or a timestamp"),
        ("date_to" = Option<String>, Query, description = "A day (inclusive) or a timestamp"),
        ("min_confidence" = Option<f64>, Query, minimum = 0, maximum = 1, description = "0 to 1"),
        ("recommended" = Option<bool>, Query, description = "Whether a bet on the result is recommended"),
        ("upcoming" = Option<bool>, Query, description = "Only matches that have not started"),
        ("limit" = Option<u64>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<u64>, Query),
    ),
    responses((status = 200, body = Page<Prediction>), (status = 400, description = "Unknown parameter or invalid value"))
)]
async fn list(State(api): State<Api>, uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    let params = Params::read(uri.query(), LIST)?;
    let mut prediction_query = PredictionQuery::not_over();
    prediction_query.filter.competition = params.id("league_id")?;
    prediction_query.filter.season = params.id("season_id")?;
    prediction_query.filter.team = params.id("team_id")?;
    prediction_query.filter.from = params.from("date_from")?;
    prediction_query.filter.before = params.before("date_to")?;
    prediction_query.confidence_min =
        params.parsed("min_confidence", "a number from 0 to 1", |text| {
            text.parse().ok().filter(|it| (0.0..=1.0).contains(it))
        })?;
    prediction_query.recommended = params.flag("recommended")?;
    if let Some(statuses) = params.text("status").and_then(status::parse) {
        prediction_query.narrow(&statuses);
    }
    if params.flag("upcoming")? == Some(true) {
        prediction_query.upcoming();
    }
    let window = params.window()?;
    let (count, rows) = prediction_query.rows(&api, window);
    let page_url = PageUrl { api: &api, headers: &headers, path: uri.path(), params: &params };
    CacheControl::PREDICTIONS.answer(&headers, &Page::new(&page_url, window, count, rows))
}
