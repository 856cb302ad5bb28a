//! `/tennis/api/v2/tournaments/`.

use facts::event::Sport;
use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        index::{ANY, index},
        request::{self, NONE, SearchParams},
        shape,
        sport_stats::SportStats,
    },
    row,
};
use crate::{
    clock,
    rest::{ApiRequest, ApiResult, CacheControl, Page, Spec, time},
};
use history::query::{Entity, EntityKind};
use record::Key;

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct TennisTournament {
    id: Key,
    name: String,
    /// `ATP` or `WTA`, where its name or category says it.
    circuit: Option<&'static str>,
    category: Option<String>,
    surface: Option<String>,
    /// No feed provides it.
    location: Option<String>,
    /// Its name; empty if no feed reports it.
    country: String,
    /// Of its latest edition: the days of the first and the last match that are known.
    start_date: Option<String>,
    end_date: Option<String>,
    /// No feed provides it.
    winner_points: Option<u32>,
    /// Whether a match of it is still to be played, or was within a year.
    active: bool,
}

params! {
    struct ListParams {
        circuit: Word = "`ATP` or `WTA`, case-insensitive.",
        category: Word = "`grand_slam`, `masters_1000`, `atp_500`, `atp_250`, `wta_1000`, `wta_500`, `wta_250`.",
        surface: Word = "`hard`, `clay`, `grass` or `carpet`.",
        include_inactive: Flag = "Include tournaments without a match in the last year.",
    }
}

const LIST: Spec = request::spec(&[ListParams::PARAMS, SearchParams::PARAMS]).paged();

endpoints! {
    /// The lists of this product, by their names.
    "/tennis/api/v2/", params(ANY), answers(BTreeMap<String, String>), |request| index(&request);

    /// Tournaments, by name.
    "/tennis/api/v2/tournaments/", params(LIST), answers(Page<TennisTournament>),
        |request| list(&request).await;

    /// One tournament.
    "/tennis/api/v2/tournaments/{id}/", params(NONE), answers(TennisTournament),
        |request| detail(&request).await;
}

async fn list(request: &ApiRequest) -> ApiResult {
    let sport_stats = request.sport_stats(Sport::Tennis).await?;
    let filters = ListParams::read(&request.params)?;
    let all = filters.include_inactive.unwrap_or(false);
    let SearchParams { search } = SearchParams::read(&request.params)?;
    let tournaments = request.api.history.entities(EntityKind::Competition, |entity| {
        entity.sport == Sport::Tennis && search.is_in(&entity.name)
    });
    let now = clock::now();
    let rows = tournaments.iter().map(|it| TennisTournament::new(it, &sport_stats, now));
    let rows: Vec<_> = rows
        .filter(|row| {
            (all || row.active)
                && filters.circuit.passes(row.circuit)
                && filters.category.passes(row.category.as_deref())
                && filters.surface.passes(row.surface.as_deref())
        })
        .collect();
    request.page_of(CacheControl::LIST, rows, |row| row)
}

async fn detail(request: &ApiRequest) -> ApiResult {
    let tournament = request.entity(EntityKind::Competition, Sport::Tennis)?;
    let sport_stats = request.sport_stats(Sport::Tennis).await?;
    request.answer(
        CacheControl::REFERENCE,
        &TennisTournament::new(&tournament, &sport_stats, clock::now()),
    )
}

impl TennisTournament {
    fn new(entity: &Entity, sport_stats: &SportStats, now: Micros) -> Self {
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
