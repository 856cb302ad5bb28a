//! `/odds/api/sports/`.

use axum::{extract::State, http::Uri, response::Response};
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    api::{Api, ApiError, CacheControl, Page, PageUrl, Params, Spec, odds::status, view::View},
    archive::{Filter, Window},
    clock::now,
};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SportRow {
    /// As `sport` takes it.
    sport: &'static str,
    name: &'static str,
    /// Matches in play.
    live: usize,
    /// Matches that have not begun.
    upcoming: usize,
}

impl SportRow {
    fn new(api: &Api, sport: Sport) -> Self {
        let filter = Filter {
            sport: Some(sport),
            statuses: status::parse("upcoming"),
            from: Some(now()),
            ..Filter::default()
        };
        Self {
            sport: sport.as_str(),
            name: name(sport),
            live: api.reader.live(sport).len(),
            upcoming: View::now(api, Some(sport))
                .find(&filter, Window { offset: 0, limit: 0 })
                .count,
        }
    }
}

fn name(sport: Sport) -> &'static str {
    match sport {
        Sport::Football => "Football",
        Sport::Tennis => "Tennis",
        Sport::Cs2 => "CS2",
        Sport::Darts => "Darts",
        Sport::Hockey => "Hockey",
        Sport::Basketball => "Basketball",
        Sport::HorseRacing => "Horse racing",
        Sport::Cricket => "Cricket",
        Sport::Other => "Other",
    }
}

const LIST: Spec = Spec { accepted: &["limit", "offset"], aliases: &[], tolerated: &["tz"] };

/// The sports that prices are told of.
#[utoipa::path(
    get, path = "/odds/api/sports/", tag = "odds",
    params(
        ("limit" = Option<u64>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<u64>, Query),
    ),
    responses((status = 200, body = Page<SportRow>), (status = 400, description = "Unknown parameter or invalid value"))
)]
pub(super) async fn sports(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let params = Params::read(uri.query(), LIST)?;
    let all = Sport::ALL.into_iter().map(|sport| SportRow::new(&api, sport)).collect();
    let page_url = PageUrl { api: &api, headers: &headers, path: uri.path(), params: &params };
    CacheControl::LIST.answer(&headers, &Page::of_all(&page_url, params.window()?, all))
}
