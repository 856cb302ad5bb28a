//! A page of a list: SERVICE section 1.2.

use hyper::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Api, Params};
use crate::http::base_url::base_url;
use history::query::Window;

#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    /// Rows of all pages together.
    pub count: usize,
    /// The address of the next page.
    pub next: Option<String>,
    pub previous: Option<String>,
    pub results: Vec<T>,
    /// What of the request was not understood although it was accepted, and what the list lacks until it is added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The URL of a list, from which the URLs of its other pages are built.
#[derive(Debug)]
pub struct PageUrl<'a> {
    pub api: &'a Api,
    pub headers: &'a HeaderMap,
    /// The path, with a trailing slash.
    pub path: &'a str,
    pub params: &'a Params,
}

impl<T> Page<T> {
    /// The page in this window of a list with `count` rows.
    #[must_use]
    pub fn new(page_url: &PageUrl<'_>, window: Window, count: usize, results: Vec<T>) -> Self {
        let Window { offset, limit } = window;
        let next = offset.checked_add(limit).filter(|next| *next < count);
        let previous = (offset > 0).then(|| offset.saturating_sub(limit));
        let address = |offset: usize| page_url.address(limit, ("offset", offset.to_string()));
        let (next, previous) = (next.map(address), previous.map(address));
        Self { count, next, previous, results, warnings: page_url.warnings() }
    }
}

/// Also the header `X-Matchwire-Partial: past`.
const PAST_IS_MISSING: &str = "Past matches are still being added; some are missing.";

impl PageUrl<'_> {
    /// What the list says about itself and its request.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.params.warnings();
        if self.api.history.archive().is_partial() {
            warnings.push(PAST_IS_MISSING.to_owned());
        }
        warnings
    }

    /// The URL of the page that begins at this offset or cursor.
    pub(super) fn address(&self, limit: usize, (name, at): (&str, String)) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.params.filters());
        query.append_pair("limit", &limit.to_string());
        query.append_pair(name, &at);
        format!("{}{}?{}", self.base(), self.path, query.finish())
    }

    /// Where the client reaches the hub, without a trailing slash.
    pub(super) fn base(&self) -> String {
        base_url(self.headers, &self.api.public_url, self.api.configured_url)
    }
}
