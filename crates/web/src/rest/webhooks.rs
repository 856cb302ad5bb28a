//! `/api/v2/webhooks/`: the webhooks of the account of a key, and their deliveries.

use std::sync::Arc;

use axum::{
    Extension, Json, body,
    extract::{Path, Query, Request, State},
    response::{IntoResponse, Response},
};
use hyper::{
    StatusCode,
    header::{CACHE_CONTROL, HeaderValue},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use utoipa::{OpenApi, ToSchema};

use super::error::ErrorBody;
use crate::{
    clock::{now, wall},
    http::{Shared, error::HttpError},
};
use ::webhooks::{
    Delivery, EventKind, InvalidWebhook, PriceBound, PriceCondition, Webhook, WebhookError,
    WebhookTerms, Webhooks,
};
use accounts::{AccountsError, Caller, Micros, access::Resource};

/// Bytes of a request's body. Fifty patterns of channels of the greatest length fit.
const BODY_BYTES_MAX: usize = 16 * 1024;
/// Deliveries in a response, if the request does not say how many, and at most.
const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 200;

/// A new webhook.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWebhook {
    /// Where events are posted to: an `https://` URL that leads to a public address.
    url: String,
    /// `goal`, `card`, `retract`, `correct`, `match_end`, `suspend`, `resume`, `price`, `feed_down`, `feed_up`; at least one.
    #[schema(min_items = 1)]
    events: Vec<String>,
    /// Names and patterns of channels, as in subscriptions; at most 50. Empty: all that the account may follow.
    #[serde(default)]
    #[schema(max_items = 50)]
    channels: Vec<String>,
    /// The conditions of the event `price`, which needs `channels` too.
    #[serde(default)]
    #[schema(max_items = 20)]
    prices: Vec<PriceRow>,
}

/// A condition on the price of a selection: one of `at_least` and `at_most`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = PriceCondition)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriceRow {
    /// The key of the market in the document of the channel, such as `match_winner` or `over_under@2.5` in the consensus.
    market: String,
    /// The key of the selection, such as `home`.
    selection: String,
    /// A decimal number, such as `2.5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_least: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<String>,
}

/// A change of a webhook. What is absent stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookChange {
    url: Option<String>,
    events: Option<Vec<String>>,
    channels: Option<Vec<String>>,
    prices: Option<Vec<PriceRow>>,
    /// True enables a webhook that was disabled.
    enabled: Option<bool>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookList {
    /// The oldest first.
    webhooks: Vec<WebhookRow>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Webhook)]
pub(crate) struct WebhookRow {
    id: i64,
    url: String,
    events: Vec<&'static str>,
    channels: Vec<String>,
    prices: Vec<PriceRow>,
    created: String,
    enabled: bool,
    /// When and why it was disabled: by its owner, or because its endpoint failed for too long.
    disabled: Option<String>,
    disabled_reason: Option<String>,
    /// Failed attempts since the last that succeeded, and the time of the first of them.
    failures: u32,
    failing_since: Option<String>,
    /// Deliveries that were dropped because too many were waiting.
    dropped: u64,
    /// The secret that signs requests: only in the responses that create it.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookDeliveries {
    /// The newest first.
    deliveries: Vec<DeliveryRow>,
    /// What `before` must be to get the next ones; `null` if there are none.
    next_before: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookDelivery)]
struct DeliveryRow {
    /// The header `webhook-id`.
    id: String,
    /// The kind of event, or `test`.
    event: String,
    ch: String,
    eid: String,
    created: String,
    /// `waiting`, `delivered`, `failed` or `dropped`.
    state: String,
    attempts: u32,
    /// When the next attempt is due, while it waits.
    next: Option<String>,
    /// The HTTP status of the last response, and why the last attempt failed.
    status: Option<u16>,
    error: Option<String>,
    /// When it was delivered, given up or dropped.
    done: Option<String>,
    body: String,
}

/// What was queued to be sent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueuedDelivery {
    /// The header `webhook-id`.
    id: String,
}

fn check_scopes(shared: &Shared, caller: &Caller) -> Result<(), HttpError> {
    let entitlement = &shared.parts.admission.entitlement;
    let decided = entitlement.check(caller, Resource::WebhookTerms, wall());
    decided.map_err(|denial| shared.denied(denial))
}

#[derive(Debug, Deserialize)]
pub(crate) struct DeliveryPage {
    limit: Option<u64>,
    before: Option<i64>,
}

/// What the document says of them.
#[derive(OpenApi)]
#[openapi(paths(list, create, show, change, delete, rotate, test, deliveries, resend))]
pub(crate) struct WebhooksDocument;

/// The webhooks of the account.
#[utoipa::path(
    get, path = "/api/v2/webhooks/",
    responses((status = 200, description = "The webhooks, the oldest first", body = WebhookList))
)]
pub(crate) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, HttpError> {
    let webhooks = shared.parts.customers.webhooks.list(caller.account.number()).await?;
    let webhooks = webhooks.into_iter().map(|webhook| WebhookRow::new(webhook, None)).collect();
    Ok(answer(StatusCode::OK, WebhookList { webhooks }))
}

/// Adds a webhook.
///
/// The response has the secret, which is not shown again.
#[utoipa::path(
    post, path = "/api/v2/webhooks/",
    request_body(
        content = NewWebhook,
        example = json!({"url": "https://example.org/hook", "events": ["goal"], "channels": ["football/*"]})
    ),
    responses(
        (status = 201, description = "The webhook, with its secret", body = WebhookRow),
        (status = 409, description = "The account has its maximum of webhooks", body = ErrorBody),
    )
)]
pub(crate) async fn create(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, HttpError> {
    check_scopes(&shared, &caller)?;
    let NewWebhook { url, events, channels, prices } = read(request).await?;
    let (events, prices) = (kinds(&events)?, conditions(&prices)?);
    let terms = WebhookTerms { url, events, channels, prices };
    let webhooks = &shared.parts.customers.webhooks;
    let webhook = webhooks.create(caller.account.number(), &terms, now()).await?;
    Ok(answer(StatusCode::CREATED, WebhookRow::with_secret(webhook, webhooks)))
}

/// A webhook.
#[utoipa::path(
    get, path = "/api/v2/webhooks/{id}/",
    responses((status = 200, description = "The webhook", body = WebhookRow))
)]
pub(crate) async fn show(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, HttpError> {
    let webhook =
        shared.parts.customers.webhooks.get(caller.account.number(), number(&id)?).await?;
    Ok(answer(StatusCode::OK, WebhookRow::new(webhook, None)))
}

/// Changes a webhook, or enables or disables it.
///
/// A disabled webhook gets no events, also not later. Its waiting deliveries go on when it is enabled again.
#[utoipa::path(
    post, path = "/api/v2/webhooks/{id}/", request_body = WebhookChange,
    responses((status = 200, description = "The webhook as it is now", body = WebhookRow))
)]
pub(crate) async fn change(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, HttpError> {
    let (account, id) = (caller.account.number(), number(&id)?);
    let WebhookChange { url, events, channels, prices, enabled } = read(request).await?;
    if url.is_some() || events.is_some() || channels.is_some() || prices.is_some() {
        check_scopes(&shared, &caller)?;
    }
    let webhooks = &shared.parts.customers.webhooks;
    let mut terms = webhooks.get(account, id).await?.terms;
    if let Some(url) = url {
        terms.url = url;
    }
    if let Some(events) = events {
        terms.events = kinds(&events)?;
    }
    if let Some(channels) = channels {
        terms.channels = channels;
    }
    if let Some(prices) = prices {
        terms.prices = conditions(&prices)?;
    }
    let webhook = webhooks.change(account, id, &terms, enabled, now()).await?;
    Ok(answer(StatusCode::OK, WebhookRow::new(webhook, None)))
}

/// Deletes a webhook with all its deliveries.
#[utoipa::path(
    delete, path = "/api/v2/webhooks/{id}/",
    responses((status = 204, description = "It is deleted"))
)]
pub(crate) async fn delete(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, HttpError> {
    check_scopes(&shared, &caller)?;
    shared.parts.customers.webhooks.delete(caller.account.number(), number(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Replaces the secret.
///
/// The response has the new one, which is not shown again. For 24 hours requests are signed with the one before as well.
#[utoipa::path(
    post, path = "/api/v2/webhooks/{id}/rotate/",
    responses((status = 200, description = "The webhook, with its new secret", body = WebhookRow))
)]
pub(crate) async fn rotate(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, HttpError> {
    check_scopes(&shared, &caller)?;
    let webhooks = &shared.parts.customers.webhooks;
    let webhook = webhooks.rotate(caller.account.number(), number(&id)?, wall()).await?;
    Ok(answer(StatusCode::OK, WebhookRow::with_secret(webhook, webhooks)))
}

/// Sends an event of the type `test`.
#[utoipa::path(
    post, path = "/api/v2/webhooks/{id}/test/",
    responses(
        (status = 202, description = "It will be sent", body = QueuedDelivery),
        (status = 409, description = "The webhook is disabled", body = ErrorBody),
        (status = 429, description = "Ten tests of the webhook wait already", body = ErrorBody),
    )
)]
pub(crate) async fn test(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, HttpError> {
    let id =
        shared.parts.customers.webhooks.test(caller.account.number(), number(&id)?, wall()).await?;
    Ok(answer(StatusCode::ACCEPTED, QueuedDelivery { id }))
}

/// What was sent to a webhook, and what waits.
#[utoipa::path(
    get, path = "/api/v2/webhooks/{id}/deliveries/",
    params(
        ("limit" = Option<u64>, Query, description = "Deliveries in the response, 50 by default and at most 200"),
        ("before" = Option<i64>, Query, description = "The `next_before` of the previous response"),
    ),
    responses((status = 200, description = "The deliveries, the newest first", body = WebhookDeliveries))
)]
pub(crate) async fn deliveries(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, HttpError> {
    check_scopes(&shared, &caller)?;
    let refused = |_| HttpError::BadRequest("limit and before are integers");
    let Query(page): Query<DeliveryPage> = Query::try_from_uri(request.uri()).map_err(refused)?;
    let limit = page.limit.and_then(|limit| u32::try_from(limit).ok().or(Some(LIMIT_MAX)));
    let limit = limit.unwrap_or(LIMIT).min(LIMIT_MAX);
    let (account, id) = (caller.account.number(), number(&id)?);
    let mut found =
        shared.parts.customers.webhooks.deliveries(account, id, page.before, limit + 1).await?;
    let has_more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next_before = found.last().map(|last| last.id).filter(|_| has_more);
    let deliveries = found.into_iter().map(DeliveryRow::from).collect();
    Ok(answer(StatusCode::OK, WebhookDeliveries { deliveries, next_before }))
}

/// Sends a delivery again, with the same `webhook-id`, whether it was delivered or not.
#[utoipa::path(
    post, path = "/api/v2/webhooks/{id}/deliveries/{message}/resend/",
    params(("message" = String, Path, description = "The `id` of the delivery")),
    responses(
        (status = 202, description = "It will be sent", body = QueuedDelivery),
        (status = 409, description = "The webhook is disabled", body = ErrorBody),
    )
)]
pub(crate) async fn resend(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path((id, message)): Path<(String, String)>,
) -> Result<Response, HttpError> {
    check_scopes(&shared, &caller)?;
    let (account, id) = (caller.account.number(), number(&id)?);
    shared.parts.customers.webhooks.resend(account, id, &message, wall()).await?;
    Ok(answer(StatusCode::ACCEPTED, QueuedDelivery { id: message }))
}

impl WebhookRow {
    fn with_secret(webhook: Webhook, webhooks: &Webhooks) -> Self {
        let secret = webhooks.secret(&webhook).to_string();
        Self::new(webhook, Some(secret))
    }

    fn new(webhook: Webhook, secret: Option<String>) -> Self {
        let Webhook { id, terms, created, failures, failing_since, dropped, disabled, .. } =
            webhook;
        let (disabled, disabled_reason) = disabled.unzip();
        Self {
            id,
            url: terms.url,
            events: terms.events.into_iter().map(EventKind::as_str).collect(),
            channels: terms.channels,
            prices: terms.prices.into_iter().map(PriceRow::from).collect(),
            created: rfc_3339(created),
            enabled: disabled.is_none(),
            disabled: disabled.map(rfc_3339),
            disabled_reason,
            failures,
            failing_since: failing_since.map(rfc_3339),
            dropped,
            secret,
        }
    }
}

impl From<PriceCondition> for PriceRow {
    fn from(PriceCondition { market, selection, bound }: PriceCondition) -> Self {
        let (at_least, at_most) = match bound {
            PriceBound::AtLeast(price) => (Some(price.to_string()), None),
            PriceBound::AtMost(price) => (None, Some(price.to_string())),
        };
        Self { market, selection, at_least, at_most }
    }
}

impl TryFrom<&PriceRow> for PriceCondition {
    type Error = InvalidWebhook;

    fn try_from(row: &PriceRow) -> Result<Self, InvalidWebhook> {
        let decimal = |text: &str| {
            text.parse().map_err(|_| InvalidWebhook("prices must have decimal numbers as text"))
        };
        let bound = match (&row.at_least, &row.at_most) {
            (Some(price), None) => PriceBound::AtLeast(decimal(price)?),
            (None, Some(price)) => PriceBound::AtMost(decimal(price)?),
            _ => return Err(InvalidWebhook("prices must have one of `at_least` and `at_most`")),
        };
        Self::new(&row.market, &row.selection, bound)
    }
}

impl From<Delivery> for DeliveryRow {
    fn from(delivery: Delivery) -> Self {
        let is_waiting = delivery.done.is_none();
        Self {
            id: delivery.message_id,
            event: delivery.kind,
            ch: delivery.channel,
            eid: delivery.eid,
            created: rfc_3339(delivery.created),
            state: delivery.outcome.unwrap_or_else(|| "waiting".to_owned()),
            attempts: delivery.attempts,
            next: is_waiting.then(|| rfc_3339(delivery.next)),
            status: delivery.status,
            error: delivery.error,
            done: delivery.done.map(rfc_3339),
            body: delivery.body,
        }
    }
}

impl From<WebhookError> for HttpError {
    fn from(error: WebhookError) -> Self {
        match error {
            WebhookError::Invalid(problem) => Self::BadRequest(problem.0),
            WebhookError::TooMany { .. } => {
                Self::Refused(StatusCode::CONFLICT, "the account has its maximum of webhooks")
            }
            WebhookError::Unknown => Self::NotFound,
            WebhookError::Disabled => {
                Self::Refused(StatusCode::CONFLICT, "the webhook is disabled: enable it first")
            }
            WebhookError::TooManyTests => {
                let detail = "tests of the webhook wait already: its endpoint takes them one after the other";
                Self::Refused(StatusCode::TOO_MANY_REQUESTS, detail)
            }
            WebhookError::Store(source) => AccountsError::from(source).into(),
        }
    }
}

/// The body of a request, as JSON.
async fn read<T: DeserializeOwned>(request: Request) -> Result<T, HttpError> {
    let body = body::to_bytes(request.into_body(), BODY_BYTES_MAX).await;
    let body = body.map_err(|_| HttpError::BadRequest("the body is too long, or broke off"))?;
    serde_json::from_slice(&body).map_err(|_| {
        HttpError::BadRequest("the body must be JSON with the fields of docs/WEBHOOKS.md")
    })
}

fn kinds(names: &[String]) -> Result<Vec<EventKind>, HttpError> {
    let kinds: Result<Vec<_>, _> = names.iter().map(|name| name.parse()).collect();
    kinds.map_err(|_| HttpError::BadRequest("events has an unknown kind of event"))
}

fn conditions(rows: &[PriceRow]) -> Result<Vec<PriceCondition>, HttpError> {
    let conditions: Result<_, _> = rows.iter().map(PriceCondition::try_from).collect();
    conditions.map_err(|InvalidWebhook(problem)| HttpError::BadRequest(problem))
}

/// The number in a path. Anything else identifies nothing.
fn number(id: &str) -> Result<i64, HttpError> {
    id.parse().map_err(|_| HttpError::NotFound)
}

fn answer(status: StatusCode, body: impl Serialize) -> Response {
    let mut response = (status, Json(body)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn rfc_3339(at: Micros) -> String {
    Timestamp::from_microsecond(at).unwrap_or_default().to_string()
}
