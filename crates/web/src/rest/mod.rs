//! The public REST interface over what the hub and the archive know, compatible with existing clients.
//!
//! Every request here has passed `http::authorize`. A handler reads its parameters, asks the query layer
//! ([`History`]) and converts the answer to public shapes, whose source is noted next to them. Nothing here
//! changes data or reads the archive directly.
//!
//! `account`, `webhooks`, `images`, `test_channels` and `schema`, the documents of it all, answer from the state of `http`;
//! the crate's `routes` lists their paths. Nothing here uses `site`.

#[macro_use]
mod endpoints;

pub(crate) mod account;
mod cursor;
pub mod error;
pub mod football;
pub(crate) mod images;
mod index;
mod kind;
pub(crate) mod match_filter;
pub mod number;
pub mod odds;
pub mod page;
pub mod params;
pub mod predictions;
pub mod request;
pub mod response;
pub(crate) mod schema;
pub mod signals;
pub mod sports;
pub(crate) mod test_channels;
pub mod v1;
mod view;
#[cfg(feature = "webhooks")]
pub(crate) mod webhooks;
mod zone;

pub use ::base::time_format as time;

use std::{ops::Deref, sync::Arc};

use axum::{Extension, Router};
use fanout::Micros;
use utoipa::{OpenApi, openapi::OpenApi as Document};
use utoipa_axum::router::OpenApiRouter;

pub use self::{
    error::ApiError,
    number::Number,
    page::{Page, PageUrl},
    params::{PageSize, Param, Params, Spec},
    request::{ApiRequest, ApiResult},
    response::CacheControl,
};
use crate::{predict::Predictor, products::CurrentCatalogue};
use accounts::{
    Caller,
    access::{self, Resource},
};
use history::{query::History, signal_board::SignalBoard};
use record::{Key, MatchRecord};

/// What handlers answer from; clones share it. Every request clones it twice, which touches a single
/// reference count.
#[derive(Debug, Clone)]
pub struct Api {
    parts: Arc<RestParts>,
}

impl Deref for Api {
    type Target = RestParts;

    fn deref(&self) -> &RestParts {
        &self.parts
    }
}

impl From<RestParts> for Api {
    fn from(parts: RestParts) -> Self {
        Self { parts: parts.into() }
    }
}

/// The parts of [`Api`].
#[derive(Debug)]
pub struct RestParts {
    pub history: History,
    pub signals: SignalBoard,
    pub predictor: Predictor,
    /// Where clients reach the hub, without a trailing slash.
    pub public_url: Arc<str>,
    /// Whether that is a setting; if not, URLs are built from the one that the client used.
    pub configured_url: bool,
    pub prices: CurrentCatalogue,
}

impl Api {
    /// Whether the caller has prices by bookmaker.
    ///
    /// # Errors
    ///
    /// If it has not.
    pub fn check_bookmakers(&self, caller: &Caller, now: Micros) -> Result<(), ApiError> {
        let decided = access::decide(caller, None, Resource::Bookmakers, &self.prices.now(), now);
        decided.map_err(ApiError::Denied)
    }

    /// Everything known of a match: its current state while it is in play, else its archived one.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub async fn record(&self, id: Key) -> Result<Option<Arc<MatchRecord>>, ApiError> {
        Ok(self.history.record(id).await?)
    }
}

/// The header of the document; each product adds its paths.
#[derive(OpenApi)]
#[openapi(info(title = "Matchwire", description = "Sports data over HTTP"))]
struct Title;

fn all() -> OpenApiRouter<Api> {
    OpenApiRouter::with_openapi(Title::openapi())
        .merge(
            football::routes()
                .merge(v1::routes())
                .layer(Extension(football::MatchStatsCache::default())),
        )
        .merge(index::routes())
        .merge(odds::routes())
        .merge(predictions::routes())
        .merge(signals::routes())
        .merge(sports::routes())
}

/// Every route of the interface.
pub fn routes<S: Clone + Send + Sync + 'static>(api: Api) -> Router<S> {
    all().split_for_parts().0.with_state(api)
}

/// The OpenAPI document of all of it.
#[must_use]
pub fn document() -> Document {
    all().split_for_parts().1
}
