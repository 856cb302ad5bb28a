//! Requests of the REST interface, as handlers receive them.

use std::any::Any;

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};
use serde::Serialize;

use super::{Api, ApiError, CacheControl, Page, PageUrl, Params, Spec, response::json, zone};
use accounts::Caller;
use history::query::Window;
use record::Key;

/// The parameters of the request that had no effect: `tz` of version 1 if there is no such zone, for example.
const IGNORED: HeaderName = HeaderName::from_static("x-matchwire-ignored");

/// What is missing in the answers and is being added: `past`, that of the demo.
const PARTIAL: HeaderName = HeaderName::from_static("x-matchwire-partial");

/// The result of a handler.
pub type ApiResult = Result<Response, ApiError>;

/// A request, with everything that handlers need.
#[derive(Debug)]
pub struct ApiRequest {
    pub api: Api,
    pub params: Params,
    /// The requested page; everything for an endpoint without pages.
    pub window: Window,
    /// The parameters in the path.
    path: Vec<(String, String)>,
    parts: Parts,
}

impl FromRequest<Api> for ApiRequest {
    type Rejection = Response;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Response> {
        let (mut parts, _) = request.into_parts();
        let path = Path::<Vec<(String, String)>>::from_request_parts(&mut parts, api).await;
        let Path(path) = path.map_err(IntoResponse::into_response)?;
        let params = Params::default();
        Ok(Self { api: api.clone(), params, window: Window::ALL, path, parts })
    }
}

impl ApiRequest {
    /// Reads the query, before anything else of a request.
    ///
    /// # Errors
    ///
    /// If the endpoint does not accept one of the parameters, or if the page is not valid.
    pub fn read(mut self, spec: Spec) -> Result<Self, ApiError> {
        self.params = Params::read(self.parts.uri.query(), spec)?;
        if let Some(size) = spec.page {
            self.window = self.params.window_of(size)?;
        }
        Ok(self)
    }

    /// The headers of the request.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// A parameter in the path, or an empty string if the path has none with this name.
    #[must_use]
    pub fn path(&self, name: &str) -> &str {
        let named = self.path.iter().find(|(key, _)| key == name);
        named.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// The id in the path.
    ///
    /// # Errors
    ///
    /// If it is not an id: nothing is found then.
    pub fn id(&self) -> Result<Key, ApiError> {
        self.key("id")
    }

    /// An id in the path by the name of its parameter.
    ///
    /// # Errors
    ///
    /// If it is not an id: nothing is found then.
    pub fn key(&self, name: &str) -> Result<Key, ApiError> {
        self.path(name).parse().map_err(|_| ApiError::NotFound)
    }

    /// The account of the request's key.
    ///
    /// # Errors
    ///
    /// If the path is not of a product, for whose paths `http::authorize` adds the caller.
    pub fn caller(&self) -> Result<&Caller, ApiError> {
        self.extension()
    }

    /// What a layer of the router added to the request.
    ///
    /// # Errors
    ///
    /// If the router has no such layer.
    pub fn extension<T: Any + Send + Sync>(&self) -> Result<&T, ApiError> {
        self.parts.extensions.get().ok_or(ApiError::Internal)
    }

    /// Responds with a value.
    ///
    /// # Errors
    ///
    /// If it cannot be serialized.
    pub fn answer(&self, cache: CacheControl, value: &impl Serialize) -> ApiResult {
        let body = json(value)?;
        let body = match self.params.zone() {
            Some(zone) => zone::converted(&body, zone).into(),
            None => body,
        };
        Ok(self.name_ignored(cache.answer_bytes(self.headers(), body)))
    }

    /// Adds the names of parameters without effect to a response, and what is missing in it.
    pub fn name_ignored(&self, mut response: Response) -> Response {
        if self.api.history.archive().is_partial() {
            response.headers_mut().insert(PARTIAL, HeaderValue::from_static("past"));
        }
        if let Some(Ok(names)) = self.params.ignored().map(HeaderValue::try_from) {
            response.headers_mut().insert(IGNORED, names);
        }
        response
    }

    /// Responds with the requested page, given its rows and the number of rows of all pages.
    ///
    /// # Errors
    ///
    /// If a row cannot be serialized.
    pub fn page<T: Serialize>(&self, cache: CacheControl, count: usize, rows: Vec<T>) -> ApiResult {
        self.answer(cache, &Page::new(&self.page_url(), self.window, count, rows))
    }

    /// Responds with the requested page of a complete list, whose rows are converted to their public shape.
    ///
    /// # Errors
    ///
    /// If a row cannot be serialized.
    pub fn page_of<S, T: Serialize>(
        &self,
        cache: CacheControl,
        all: impl IntoIterator<Item = S, IntoIter: ExactSizeIterator>,
        row: impl FnMut(S) -> T,
    ) -> ApiResult {
        let all = all.into_iter();
        let count = all.len();
        let rows = all.skip(self.window.offset).take(self.window.limit).map(row).collect();
        self.page(cache, count, rows)
    }

    /// The URL of the request, from which the URLs of other pages are built.
    #[must_use]
    pub fn page_url(&self) -> PageUrl<'_> {
        let Self { api, params, parts, .. } = self;
        PageUrl { api, headers: &parts.headers, path: parts.uri.path(), params }
    }
}
