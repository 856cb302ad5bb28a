//! `/tennis/api/v2/tournaments/`.

use axum::extract::Path;
use fanout::Micros;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        request::{self, ApiResult, PageParams, SportsRequest},
        shape,
        sport_stats::SportStats,
    },
    row,
};
use crate::{
    api::{
        CacheControl, Page,
        error::{ErrorBody, UnknownParametersBody},
        time,
    },
    archive::{Entity, EntityKind},
    clock,
    record::Key,
};

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct TennisTournament {
    id: Key,
    name: String,
    /// `ATP` or `WTA`, where its name or category says it.
    circuit: Option<&'static str>,
    category: Option<String>,
    surface: Option<String>,
    /// No feed of ours tells it.
    location: Option<String>,
    /// Its name; empty where no feed tells it.
    country: String,
    /// Of its latest edition: the days of the first and the last match that are known.
    start_date: Option<String>,
    end_date: Option<String>,
    /// No feed of ours tells it.
    winner_points: Option<u32>,
    /// Whether a match of it is still to be played, or was within a year.
    active: bool,
}

/// Tournaments, by name.
#[utoipa::path(get, path = "/tennis/api/v2/tournaments/", tag = "tennis",
    params(
        ("circuit" = Option<String>, Query, description = "`ATP` or `WTA`, case-insensitive."),
        ("category" = Option<String>, Query, description = "`grand_slam`, `masters_1000`, `atp_500`, \
            `atp_250`, `wta_1000`, `wta_500`, `wta_250`."),
        ("surface" = Option<String>, Query, description = "`hard`, `clay`, `grass` or `carpet`."),
        ("include_inactive" = Option<bool>, Query, description = "Include tournaments without a match in the last year."),
        ("search" = Option<String>, Query, description = "Part of the name, case-insensitive."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<TennisTournament>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn list(request: SportsRequest) -> ApiResult {
    let spec = request::spec(&[
        "category",
        "circuit",
        "include_inactive",
        "limit",
        "offset",
        "search",
        "surface",
    ]);
    let query = request.read(spec)?;
    let sport_stats = request.sport_stats(Sport::Tennis).await?;
    let params = &query.params;
    let all = params.flag("include_inactive")?.unwrap_or(false);
    let is_like = request::search(params.text("search").unwrap_or_default());
    let is = |own: Option<&str>, name: &str| {
        params.text(name).is_none_or(|query| own.is_some_and(|own| own.eq_ignore_ascii_case(query)))
    };
    let tournaments = request
        .api
        .archive
        .entities(EntityKind::Competition, |it| it.sport == Sport::Tennis && is_like(&it.name));
    let rows = tournaments.iter().map(|it| TennisTournament::of(it, &sport_stats, query.now));
    let rows: Vec<_> = rows
        .filter(|row| {
            (all || row.active)
                && is(row.circuit, "circuit")
                && is(row.category.as_deref(), "category")
                && is(row.surface.as_deref(), "surface")
        })
        .collect();
    query.page(CacheControl::LIST, &rows, Clone::clone)
}

/// One tournament.
#[utoipa::path(get, path = "/tennis/api/v2/tournaments/{id}/", tag = "tennis",
    params(("id" = u64, Path)),
    responses((status = 200, body = TennisTournament), (status = 404, body = ErrorBody))
)]
pub(super) async fn detail(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    request.read(request::NONE)?;
    let tournament = request::entity(&request.api, EntityKind::Competition, Sport::Tennis, &id)?;
    let sport_stats = request.sport_stats(Sport::Tennis).await?;
    request.answer(
        CacheControl::REFERENCE,
        &TennisTournament::of(&tournament, &sport_stats, clock::now()),
    )
}

impl TennisTournament {
    fn of(entity: &Entity, sport_stats: &SportStats, now: Micros) -> Self {
        let about = |key: &str| entity.about.get(key).and_then(|value| value.as_str());
        let edition = sport_stats.edition(entity.id);
        let day = |at: Micros| time::zulu(at).map(|at| at.chars().take(10).collect());
        Self {
            id: entity.id,
            name: entity.name.to_string(),
            circuit: row::circuit(&entity.name, about("category")),
            category: row::category(about("category")),
            surface: about("surface").map(str::to_lowercase),
            location: None,
            country: shape::country_name(entity.country.as_ref()),
            start_date: edition.and_then(|it| day(it.first)),
            end_date: edition.and_then(|it| day(it.last)),
            winner_points: None,
            active: edition.is_none_or(|it| it.is_active(now)),
        }
    }
}
