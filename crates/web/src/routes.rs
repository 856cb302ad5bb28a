//! Every route, and the server that has them: where `http`, `rest` and `site` meet.
//!
//! `rest` and `site` use `http`, for requests and their errors, and not each other; `http` uses neither.

use std::{io, net, sync::Arc};

use axum::{
    Router,
    routing::{any, get, post},
};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    http::{
        self, ServerParts, Shared, channel, error, health, ingest, legacy_sockets, mcp, oauth,
        payment_reports, sse, ticket, ws,
    },
    rest::{self, RestParts, account, images, schema, test_channels},
    site,
};

/// Serves until `stop` turns true, then stops accepting. Returns the requests that are still being answered,
/// to be awaited.
///
/// # Errors
///
/// If the listener cannot be registered with the poll.
pub async fn serve(
    listener: net::TcpListener,
    parts: ServerParts,
    stop: watch::Receiver<bool>,
) -> io::Result<JoinSet<()>> {
    let openapi = schema::openapi();
    let shared = Arc::new(Shared::new(parts, schema::known_paths(&openapi), stop));
    let streams = CancellationToken::new();
    let router = router(Arc::clone(&shared));
    let servers =
        mcp::routes(&shared, router.clone(), &openapi, site::mcp_pages(), streams.clone());
    let router = router.merge(servers);
    // Some MB, which nothing reads while the hub serves.
    drop(openapi);
    http::serve(listener, shared, router, site::error_page, streams).await
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .merge(site::routes())
        .merge(documents())
        .merge(customer_webhooks())
        .merge(replays())
        .merge(oauth::routes())
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/stream/v1", any(ws::socket))
        .route("/stream/v1/", any(ws::socket))
        .merge(legacy_sockets::routes())
        .route("/stream/v1/channels/{*channel}", get(channel::show))
        .route("/stream/v1/sse/", get(sse::events))
        .route("/api/v2/stream/ticket/", post(ticket::sell))
        .route("/api/v2/account/", get(account::show))
        .route("/ingest/v1/{source}", post(ingest::post).get(ingest::socket))
        .route("/ingest/v1/{source}/", post(ingest::post).get(ingest::socket))
        .route("/webhooks/stripe/", post(payment_reports::stripe))
        .route("/webhooks/paypal/", post(payment_reports::paypal))
        .route("/test/", get(test_channels::rounds))
        .route("/test/{epoch}/", get(test_channels::output))
        .route("/img/{*path}", get(images::show))
        .merge(rest::routes(
            RestParts {
                history: shared.parts.matches.history.clone(),
                signals: shared.parts.matches.signals.clone(),
                predictor: shared.parts.matches.predictor.clone(),
                public_url: shared.parts.settings.public_url.as_str().into(),
                configured_url: !shared.parts.settings.server.public_url.is_empty(),
                prices: shared.parts.customers.prices.clone(),
            }
            .into(),
        ))
        .fallback(ws::unknown)
        .method_not_allowed_fallback(error::method_not_allowed)
        .with_state(shared)
}

/// The API documents, and the page that shows them.
fn documents() -> Router<Arc<Shared>> {
    Router::new()
        .route("/api/schema/", get(schema::show_openapi))
        .route("/api/schema/documents/", get(schema::stream_schema))
        .route("/api/asyncapi/", get(schema::asyncapi))
        .route("/api/docs", get(schema::to_the_page))
        .route("/api/docs/", get(schema::swagger::page))
        .route("/api/docs/{file}", get(schema::swagger::file))
        .route("/api/redoc", get(schema::to_the_page))
        .route("/api/redoc/", get(schema::to_the_page))
}

/// The webhooks of customers.
#[cfg(feature = "webhooks")]
fn customer_webhooks() -> Router<Arc<Shared>> {
    use rest::webhooks::{change, create, delete, deliveries, list, resend, rotate, show, test};

    Router::new()
        .route("/api/v2/webhooks/", get(list).post(create))
        .route("/api/v2/webhooks/{id}/", get(show).post(change).delete(delete))
        .route("/api/v2/webhooks/{id}/rotate/", post(rotate))
        .route("/api/v2/webhooks/{id}/test/", post(test))
        .route("/api/v2/webhooks/{id}/deliveries/", get(deliveries))
        .route("/api/v2/webhooks/{id}/deliveries/{message}/resend/", post(resend))
}

#[cfg(not(feature = "webhooks"))]
fn customer_webhooks() -> Router<Arc<Shared>> {
    Router::new()
}

/// The films that sockets can replay.
fn replays() -> Router<Arc<Shared>> {
    let router = Router::new();
    #[cfg(feature = "films")]
    let router = router.route("/stream/v1/replays/", get(http::replays::list));
    router
}
