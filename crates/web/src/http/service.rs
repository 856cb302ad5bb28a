//! The steps around the router for every request, from the outside inwards.
//!
//! They are not layers of the router: each layer would cost a boxed future and a copy of everything below it,
//! for every request.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse, Response},
};
use base::work::{self, Busy, Payer, Permit, Pool};
use hyper::{
    HeaderMap, StatusCode, Uri,
    header::{
        CACHE_CONTROL, HeaderName, HeaderValue, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, VARY,
        X_CONTENT_TYPE_OPTIONS,
    },
    service::Service as _,
};
use hyper_util::service::TowerToHyperService;

use super::{
    Peer, ServerParts, Shared,
    acceptor::OPERATOR_PATHS,
    address,
    authorize::{self, Admission},
    body_deadline,
    compression::AcceptEncoding,
    cors,
    credential::QueryCredentials,
    error::HttpError,
    error_page::{self, ErrorPage},
    holders,
    request_context::{self, RequestTarget},
};
use crate::{limits::RetryAfter, products::Product};

/// The router and the steps around it.
#[derive(Debug, Clone)]
pub(super) struct HttpService {
    shared: Arc<Shared>,
    router: TowerToHyperService<Router>,
    error_page: ErrorPage,
    /// The value of `Strict-Transport-Security`, if it is sent.
    hsts: Option<HeaderValue>,
}

impl HttpService {
    pub(super) fn new(shared: Arc<Shared>, router: Router, error_page: ErrorPage) -> Self {
        let hsts = hsts(&shared.parts);
        Self { shared, router: TowerToHyperService::new(router), error_page, hsts }
    }

    /// Answers a request that arrived over a connection from this address.
    pub(super) async fn answer(&self, connection: IpAddr, mut request: Request) -> Response {
        let proxies = &self.shared.parts.connections.proxies;
        let (peer, target) = request_context::prepare(&self.shared, connection, &mut request);
        let (work, payer) = (self.shared.parts.admission.limits.work(), Payer::address(peer.0));
        let is_reported =
            proxies.may_stand_for_many(connection) && !proxies.may_stand_for_many(peer.0);
        if is_reported {
            holders::set_payer(&request, payer);
        }
        let is_operator = OPERATOR_PATHS.contains(&request.uri().path());
        let had_secret = request.extensions().get::<QueryCredentials>().is_some();
        let accept_encoding = AcceptEncoding::from_request(&request);
        let answer = async {
            match target {
                _ if let Some(answer) = address::answer_head(&request) => answer,
                RequestTarget::Product(_) | RequestTarget::Open => {
                    self.answer_any_origin(peer, target, request).await
                }
                RequestTarget::Other if is_push(request.uri()) => {
                    // Feeds are the hub's.
                    let response = work.run(Payer::Hub, Pool::Rest, self.route(request)).await;
                    let is_granted = response.status().is_success();
                    let mut response = varying_by_key(response);
                    response.extensions_mut().insert(if is_granted { Payer::Hub } else { payer });
                    response
                }
                RequestTarget::Other => {
                    let is_page = error_page::is_wanted(&request);
                    let response = work.run(payer, Pool::Rest, self.route(request)).await;
                    match is_page {
                        true => error_page::in_place_of(response, self.error_page),
                        false => response,
                    }
                }
            }
        };
        let response = work::scope(work.clone(), payer, answer).await;
        let payer = response.extensions().get().copied().unwrap_or(payer);
        let encoded = accept_encoding.encode_response(response);
        let mut response = work::scope(work.clone(), payer, encoded).await;
        // Operators' tools and feeds never wait.
        if !is_operator {
            // For the turns of its connection.
            response.extensions_mut().insert(payer);
        }
        // A proxy's own address does not identify the reader.
        let reader = Some(peer).filter(|peer| !proxies.may_stand_for_many(peer.0));
        let mut response = self.shared.connections.count_body(reader, response).await;
        secure(response.headers_mut(), had_secret);
        if let Some(hsts) = &self.hsts {
            response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
        }
        response
    }

    /// Answers requests that pages of any origin may send.
    async fn answer_any_origin(
        &self,
        peer: Peer,
        target: RequestTarget,
        request: Request,
    ) -> Response {
        if let Some(answer) = cors::preflight(&request) {
            return answer;
        }
        let mut response = match target {
            RequestTarget::Product(product) => self.answer_product(peer, product, request).await,
            RequestTarget::Open | RequestTarget::Other => self.answer_stranger(peer, request).await,
        };
        cors::allow(response.headers_mut());
        response
    }

    /// Answers a request without a key, once its address is within its CPU budget. One that may stand for many
    /// has none.
    async fn answer_stranger(&self, peer: Peer, request: Request) -> Response {
        let (payer, parts) = (Payer::address(peer.0), &self.shared.parts);
        if parts.connections.proxies.may_stand_for_many(peer.0) {
            return parts.admission.limits.work().run(payer, Pool::Rest, self.route(request)).await;
        }
        match parts.admission.limits.cpu_permit(payer, Pool::Rest).await {
            Ok(permit) => self.route_in_turn(permit, request).await,
            Err(retry_after) => HttpError::RateLimited(retry_after).into_response(),
        }
    }

    async fn answer_product(&self, peer: Peer, product: Product, mut request: Request) -> Response {
        let admitted = authorize::authorize(&self.shared, peer, product, &mut request).await;
        let response = match admitted {
            Ok(Admission { standing, permit, of_address: _in_flight }) => {
                let payer = permit.payer();
                let mut response = self.route_in_turn(permit, request).await;
                // For what is done with the response.
                response.extensions_mut().insert(payer);
                authorize::add_rate_limit_headers(response.headers_mut(), standing);
                response
            }
            Err(refusal) => refusal,
        };
        varying_by_key(response)
    }

    /// Routes an admitted request, in turn with the work of other payers if the requests of its payer are long.
    async fn route_in_turn(&self, permit: Permit, request: Request) -> Response {
        let (work, payer) = (self.shared.parts.admission.limits.work().clone(), permit.payer());
        let service = self.clone();
        let routed = async move { service.route(request).await };
        let response = permit.run_in_turn(Box::pin(work::scope(work, payer, routed))).await;
        response.unwrap_or_else(|Busy| {
            HttpError::RateLimited(RetryAfter { seconds: 1 }).into_response()
        })
    }

    async fn route(&self, request: Request) -> Response {
        if let Some(refusal) = address::refuse(request.uri()) {
            return refusal;
        }
        let parts = &self.shared.parts;
        let body_time = match is_push(request.uri()) {
            true => Duration::from_millis(parts.settings.ingest.body_ms),
            false => Duration::from_millis(parts.settings.server.body_timeout_ms),
        };
        let (request, deadline) = body_deadline::limit(request, body_time);
        match self.router.call(request).await {
            // The handler saw a body that broke off.
            Ok(_) if deadline.is_missed() => {
                let detail = "the body did not come in time";
                HttpError::Refused(StatusCode::REQUEST_TIMEOUT, detail).into_response()
            }
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

fn is_push(uri: &Uri) -> bool {
    uri.path().starts_with("/ingest/")
}

/// A response that depends on the key: a browser may use several, and none.
fn varying_by_key(mut response: Response) -> Response {
    response.headers_mut().append(VARY, HeaderValue::from_static("authorization"));
    response
}

/// `Strict-Transport-Security`, if clients reach the hub over TLS. Never for a loopback name: it would apply
/// to everything else that a developer serves there.
fn hsts(parts: &ServerParts) -> Option<HeaderValue> {
    let host: Uri = parts.settings.public_url.strip_prefix("https://")?.parse().ok()?;
    let name = host.host()?.trim_matches(['[', ']']);
    let is_loopback = name == "localhost"
        || name.ends_with(".localhost")
        || name.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    if is_loopback || parts.settings.server.hsts_days == 0 {
        return None;
    }
    let seconds = u64::from(parts.settings.server.hsts_days) * 24 * 60 * 60;
    HeaderValue::try_from(format!("max-age={seconds}")).ok()
}

/// Headers on every response: no referrer, no content sniffing, no framing, and no caching if the URL
/// contained a secret.
fn secure(headers: &mut HeaderMap, had_secret: bool) {
    if had_secret {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(HeaderName::from_static("x-frame-options"), HeaderValue::from_static("DENY"));
}
