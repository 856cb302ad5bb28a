//! `/dashboard/webhooks/`: the webhooks of the account, and the deliveries of each.

use askama::Template;
use axum::{extract::Path, response::Response};
use hyper::StatusCode;

use super::{
    error::{SiteError, see_other},
    form::SignedForm,
    moment::Moment,
    page::Shell,
    register::sentence,
    visit::SignedIn,
};
use crate::{clock, http::form::Fields};
use ::webhooks::{
    Delivery, EventKind, InvalidWebhook, PriceCondition, Webhook, WebhookError, WebhookTerms,
    Webhooks,
};
use accounts::AccountsError;

/// The newest deliveries that are shown. REST has the others.
const DELIVERIES_SHOWN: u32 = 50;

#[derive(Debug, Template)]
#[template(path = "webhooks.html")]
struct WebhooksPage<'a> {
    shell: Shell<'a>,
    problem: Option<String>,
    webhooks: Vec<WebhookSummary>,
    /// What the form contains.
    url: &'a str,
    channels: &'a str,
    prices: &'a str,
    kinds: Vec<KindField>,
}

#[derive(Debug, Template)]
#[template(path = "webhook.html")]
struct WebhookPage<'a> {
    shell: Shell<'a>,
    problem: Option<String>,
    webhook: WebhookSummary,
    secret: &'a str,
    is_enabled: bool,
    /// Why it was disabled.
    reason: String,
    failures: u32,
    failing_since: Option<Moment>,
    dropped: u64,
    deliveries: Vec<DeliverySummary>,
}

/// A kind of event in the form.
#[derive(Debug)]
struct KindField {
    name: &'static str,
    label: &'static str,
    is_chosen: bool,
}

#[derive(Debug)]
struct WebhookSummary {
    id: i64,
    url: String,
    events: String,
    channels: String,
    prices: Vec<String>,
    created: Moment,
    state: &'static str,
    /// The class of the chip.
    tone: &'static str,
}

#[derive(Debug)]
struct DeliverySummary {
    message: String,
    kind: String,
    channel: String,
    created: Moment,
    state: String,
    tone: &'static str,
    attempts: u32,
    /// The answer, or why there was none.
    answer: String,
}

impl From<&Webhook> for WebhookSummary {
    fn from(webhook: &Webhook) -> Self {
        let (state, tone) = match (&webhook.disabled, webhook.failing_since) {
            (Some(_), _) => ("Disabled", ""),
            (None, Some(_)) => ("Failing", "bad"),
            (None, None) => ("Active", "live"),
        };
        let channels = &webhook.terms.channels;
        let events: Vec<_> = webhook.terms.events.iter().map(|kind| label(*kind)).collect();
        Self {
            id: webhook.id,
            url: webhook.terms.url.clone(),
            events: events.join(", "),
            channels: if channels.is_empty() { "all".to_owned() } else { channels.join(" ") },
            prices: webhook.terms.prices.iter().map(ToString::to_string).collect(),
            created: Moment::minute(webhook.created),
            state,
            tone,
        }
    }
}

impl From<Delivery> for DeliverySummary {
    fn from(delivery: Delivery) -> Self {
        let state = delivery.outcome.unwrap_or_else(|| "waiting".to_owned());
        let tone = match state.as_str() {
            "delivered" => "live",
            "failed" | "dropped" => "bad",
            _ => "",
        };
        let status = delivery.status.map(|status| status.to_string());
        Self {
            message: delivery.message_id,
            kind: delivery.kind,
            channel: delivery.channel,
            created: Moment::minute(delivery.created),
            state,
            tone,
            attempts: delivery.attempts,
            answer: delivery.error.or(status).unwrap_or_default(),
        }
    }
}

/// `/dashboard/webhooks/`
pub(super) async fn show(signed_in: SignedIn) -> Result<Response, SiteError> {
    show_list(&signed_in, StatusCode::OK, None, &["goal"], ["", "", ""]).await
}

/// Adds a webhook.
pub(super) async fn add(
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    let added = match terms(&fields) {
        Ok(terms) => webhooks(&signed_in).create(account(&signed_in), &terms, clock::now()).await,
        Err(invalid) => Err(invalid.into()),
    };
    match added {
        Ok(webhook) => Ok(see_other(&path(webhook.id))),
        Err(error) => {
            let problem = Some(problem(error)?);
            let names: Vec<_> = chosen(&fields).iter().map(|kind| kind.as_str()).collect();
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            let texts = ["url", "channels", "prices"].map(|name| fields.text(name));
            show_list(&signed_in, status, problem, &names, texts).await
        }
    }
}

/// The terms in the form.
fn terms(fields: &Fields) -> Result<WebhookTerms, InvalidWebhook> {
    let prices = fields.text("prices").lines().filter(|line| !line.trim().is_empty());
    Ok(WebhookTerms {
        url: fields.text("url").to_owned(),
        channels: fields.text("channels").split_whitespace().map(str::to_owned).collect(),
        events: chosen(fields),
        prices: prices.map(PriceCondition::parse).collect::<Result<_, _>>()?,
    })
}

/// `/dashboard/webhooks/{id}/`
pub(super) async fn show_one(
    Path(id): Path<String>,
    signed_in: SignedIn,
) -> Result<Response, SiteError> {
    show_webhook(&signed_in, number(&id)?, StatusCode::OK, None).await
}

/// What the buttons of a webhook do: the field `do`.
pub(super) async fn act(
    Path(id): Path<String>,
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    let (webhooks, account, id) = (webhooks(&signed_in), account(&signed_in), number(&id)?);
    let now = signed_in.visit.now;
    let done = match fields.text("do") {
        "test" => webhooks.test(account, id, now).await.map(|_| ()),
        "resend" => webhooks.resend(account, id, fields.text("message"), now).await,
        "rotate" => webhooks.rotate(account, id, now).await.map(|_| ()),
        "enable" => set_enabled(&signed_in, id, true).await,
        "disable" => set_enabled(&signed_in, id, false).await,
        "delete" => {
            webhooks.delete(account, id).await.map_err(failure)?;
            return Ok(see_other("/dashboard/webhooks/"));
        }
        _ => return Err(SiteError::NotFound),
    };
    match done {
        Ok(()) => Ok(see_other(&path(id))),
        Err(error) => {
            let problem = Some(problem(error)?);
            show_webhook(&signed_in, id, StatusCode::UNPROCESSABLE_ENTITY, problem).await
        }
    }
}

async fn set_enabled(signed_in: &SignedIn, id: i64, enabled: bool) -> Result<(), WebhookError> {
    let (webhooks, account) = (webhooks(signed_in), account(signed_in));
    let terms = webhooks.get(account, id).await?.terms;
    webhooks.change(account, id, &terms, Some(enabled), clock::now()).await.map(|_| ())
}

async fn show_list(
    signed_in: &SignedIn,
    status: StatusCode,
    problem: Option<String>,
    chosen: &[&str],
    [url, channels, prices]: [&str; 3],
) -> Result<Response, SiteError> {
    let found = webhooks(signed_in).list(account(signed_in)).await;
    let found = found.map_err(failure)?;
    let kinds = EventKind::ALL.into_iter().map(|kind| KindField {
        name: kind.as_str(),
        label: label(kind),
        is_chosen: chosen.contains(&kind.as_str()),
    });
    let page = WebhooksPage {
        shell: signed_in.visit.shell("/dashboard/webhooks/"),
        problem,
        webhooks: found.iter().map(WebhookSummary::from).collect(),
        url,
        channels,
        prices,
        kinds: kinds.collect(),
    };
    signed_in.visit.show_as(status, &page)
}

async fn show_webhook(
    signed_in: &SignedIn,
    id: i64,
    status: StatusCode,
    problem: Option<String>,
) -> Result<Response, SiteError> {
    let (webhooks, account) = (webhooks(signed_in), account(signed_in));
    let webhook = webhooks.get(account, id).await.map_err(failure)?;
    let deliveries = webhooks.deliveries(account, id, None, DELIVERIES_SHOWN).await;
    let deliveries = deliveries.map_err(failure)?;
    let secret = webhooks.secret(&webhook);
    let page = WebhookPage {
        shell: signed_in.visit.shell("/dashboard/webhooks/"),
        problem,
        webhook: WebhookSummary::from(&webhook),
        secret: &secret,
        is_enabled: webhook.disabled.is_none(),
        reason: webhook.disabled.map(|(_, why)| sentence(&why)).unwrap_or_default(),
        failures: webhook.failures,
        failing_since: webhook.failing_since.map(Moment::minute),
        dropped: webhook.dropped,
        deliveries: deliveries.into_iter().map(DeliverySummary::from).collect(),
    };
    signed_in.visit.show_as(status, &page)
}

fn webhooks(signed_in: &SignedIn) -> &Webhooks {
    &signed_in.visit.shared.parts.customers.webhooks
}

fn account(signed_in: &SignedIn) -> i64 {
    signed_in.customer.account.number()
}

fn path(id: i64) -> String {
    format!("/dashboard/webhooks/{id}/")
}

fn number(id: &str) -> Result<i64, SiteError> {
    id.parse().map_err(|_| SiteError::NotFound)
}

fn chosen(fields: &Fields) -> Vec<EventKind> {
    EventKind::ALL.into_iter().filter(|kind| fields.has(kind.as_str())).collect()
}

/// What the customer can mend, as a sentence; other failures are errors.
fn problem(error: WebhookError) -> Result<String, SiteError> {
    match error {
        WebhookError::Unknown | WebhookError::Store(_) => Err(failure(error)),
        _ => Ok(sentence(&error.to_string())),
    }
}

fn failure(error: WebhookError) -> SiteError {
    match error {
        WebhookError::Store(source) => AccountsError::from(source).into(),
        _ => SiteError::NotFound,
    }
}

fn label(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Goal => "Goals",
        EventKind::Card => "Cards",
        EventKind::Retract => "Retractions",
        EventKind::Correct => "Corrections",
        EventKind::MatchEnd => "Ends of matches",
        EventKind::Suspend => "Suspensions",
        EventKind::Resume => "Ends of suspensions",
        EventKind::Price => "Prices",
        EventKind::FeedDown => "Feed down",
        EventKind::FeedUp => "Feed live again",
    }
}
