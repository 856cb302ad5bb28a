//! What is done with every request around the router, from the outside inwards.
//!
//! None of it is a layer of the router: each would have a future in a box, and a copy of all that is below it,
//! for every request.

use std::{net::IpAddr, sync::Arc};

use axum::{Router, extract::Request, response::Response};
use hyper::{
    HeaderMap,
    header::{CACHE_CONTROL, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
    service::Service as _,
};
use hyper_util::service::TowerToHyperService;

use super::{
    Peer, Shared, address,
    arrival::{self, Asked},
    compression::Wish,
    cors,
    credential::InQuery,
    gate,
};
use crate::products::Product;

/// The router and what stands before it.
#[derive(Debug, Clone)]
pub(super) struct Front {
    shared: Arc<Shared>,
    router: TowerToHyperService<Router>,
}

impl Front {
    pub(super) fn new(shared: Arc<Shared>, router: Router) -> Self {
        Self { shared, router: TowerToHyperService::new(router) }
    }

    /// Answers a request that came over a connection from this address.
    pub(super) async fn answer(&self, connection: IpAddr, mut request: Request) -> Response {
        let (peer, asked) = arrival::receive(&self.shared, connection, &mut request);
        let had_secret = request.extensions().get::<InQuery>().is_some();
        let wish = Wish::of(&mut request);
        let response = match asked {
            Asked::Product(_) | Asked::Open => self.answer_any_origin(peer, asked, request).await,
            Asked::Other => self.route(request).await,
        };
        let mut response = wish.fulfil(response).await;
        secure(response.headers_mut(), had_secret);
        response
    }

    /// Pages of any origin may ask.
    async fn answer_any_origin(&self, peer: Peer, asked: Asked, request: Request) -> Response {
        if let Some(answer) = cors::preflight(&request) {
            return answer;
        }
        let mut response = match asked {
            Asked::Product(product) => self.pass_gate(peer, product, request).await,
            Asked::Open | Asked::Other => self.route(request).await,
        };
        cors::allow(response.headers_mut());
        response
    }

    async fn pass_gate(&self, peer: Peer, product: Product, mut request: Request) -> Response {
        match gate::admit(&self.shared, peer, product, &mut request).await {
            Ok(standing) => {
                let mut response = self.route(request).await;
                gate::tell(response.headers_mut(), standing);
                response
            }
            Err(refusal) => refusal,
        }
    }

    async fn route(&self, request: Request) -> Response {
        if let Some(refusal) = address::refuse(request.uri()) {
            return refusal;
        }
        match self.router.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// What every answer carries: no address of ours goes to others, no body is guessed at, and nothing
/// that was asked with a secret in the address is kept.
fn secure(headers: &mut HeaderMap, had_secret: bool) {
    if had_secret {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(HeaderName::from_static("x-frame-options"), HeaderValue::from_static("DENY"));
}
