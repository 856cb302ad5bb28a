//! `/admin/`: the live figures, as a page and as JSON for the script that refreshes them.

use std::sync::Arc;

use askama::Template;
use axum::{
    Extension, Json,
    extract::State,
    response::{IntoResponse, Response},
};
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, HeaderValue},
};

use super::{
    figures::{FigureHistory, Figures, Tile},
    operator::Operator,
};
use crate::{
    clock::wall,
    http::{Shared, error::HttpError},
    site::{Moment, Shell, SiteError, html},
};
use cluster::NodeState;

#[derive(Debug, Template)]
#[template(path = "admin/live.html")]
struct AdminLivePage<'a> {
    shell: Shell<'a>,
    at: Moment,
    tiles: &'a [Tile],
    figures: &'a Figures,
    tables: Vec<Table<'a>>,
}

#[derive(Debug)]
struct Table<'a> {
    name: &'static str,
    title: &'static str,
    by: &'static str,
    rows: &'a [(String, u64)],
}

/// The tables of counts: name, title, and what they count by.
const TABLES: [(&str, &str, &str); 3] = [
    ("closes", "Sockets closed", "Reason"),
    ("refusals", "Sockets rejected", "Reason"),
    ("requests", "Requests rejected", "Reason"),
];

/// The class of a node's chip.
fn tone(state: &NodeState) -> &'static str {
    match state {
        NodeState::Leads | NodeState::Follows => "live",
        NodeState::Drained => "warn",
        NodeState::Refuses | NodeState::Behind => "bad",
    }
}

/// `/admin/`
pub(super) async fn show(
    operator: Operator,
    Extension(history): Extension<Arc<FigureHistory>>,
) -> Result<Response, SiteError> {
    let figures = Figures::read(&operator.shared, &history, operator.now).await?;
    let table = |(name, title, by)| Table {
        name,
        title,
        by,
        rows: figures.tables.get(name).map(Vec::as_slice).unwrap_or_default(),
    };
    let page = AdminLivePage {
        shell: operator.shell("/admin/"),
        at: Moment::minute(figures.at),
        tiles: &figures.tiles,
        figures: &figures,
        tables: TABLES.map(table).into(),
    };
    html(StatusCode::OK, &page)
}

/// `/admin/figures.json`. Without a session it answers 401, because a script cannot distinguish a redirect to
/// the log-in page from the response that it requested.
pub(super) async fn figures(
    State(shared): State<Arc<Shared>>,
    Extension(history): Extension<Arc<FigureHistory>>,
    headers: HeaderMap,
) -> Response {
    match read(&shared, &history, &headers).await {
        Ok(Some(figures)) => {
            let mut response = Json(figures).into_response();
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Ok(None) => {
            HttpError::Refused(StatusCode::UNAUTHORIZED, "log in at /admin/login/").into_response()
        }
        Err(_) => HttpError::Internal.into_response(),
    }
}

async fn read(
    shared: &Arc<Shared>,
    history: &FigureHistory,
    headers: &HeaderMap,
) -> Result<Option<Figures>, SiteError> {
    match Operator::from_headers(headers, shared).await? {
        Some(_) => Ok(Some(Figures::read(shared, history, wall()).await?)),
        None => Ok(None),
    }
}
