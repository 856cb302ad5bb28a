//! The format of a page: HTML for people, Markdown for agents.

use std::{convert::Infallible, sync::Arc};

use axum::extract::FromRequestParts;
use hyper::{HeaderMap, header::ACCEPT, http::request::Parts};

use crate::http::Shared;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Html,
    /// Requested by an address that ends in `.md`, or by `Accept: text/markdown`.
    Markdown,
}

impl Format {
    fn negotiate(path: &str, headers: &HeaderMap) -> Self {
        match path.ends_with(".md") || prefers_markdown(headers) {
            true => Self::Markdown,
            false => Self::Html,
        }
    }
}

impl FromRequestParts<Arc<Shared>> for Format {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Shared>) -> Result<Self, Infallible> {
        Ok(Self::negotiate(parts.uri.path(), &parts.headers))
    }
}

/// Whether the client names Markdown and does not prefer HTML. Among equals, the first one named counts. A
/// wildcard does not count, because browsers send it.
fn prefers_markdown(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let entries: Vec<_> = lines.flat_map(|line| line.split(',')).map(entry).collect();
    let index = |name: &str| entries.iter().position(|(it, _)| it.eq_ignore_ascii_case(name));
    let Some(markdown) = index("text/markdown") else { return false };
    let quality = entries[markdown].1;
    let is_best = index("text/html").is_none_or(|html| match entries[html].1 {
        other if other == quality => markdown < html,
        other => quality > other,
    });
    quality > 0.0 && is_best
}

/// A media type and its quality. An unreadable quality counts as not accepted.
fn entry(text: &str) -> (&str, f32) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let quality = parts.find_map(|part| part.strip_prefix("q="));
    (name, quality.map_or(1.0, |text| text.parse().unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, accept: &str, expected: Format) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        assert_eq!(Format::negotiate(path, &headers), expected, "{path} {accept}");
    }

    #[test]
    fn markdown_is_for_those_who_request_it() {
        check("/docs.md", "text/html", Format::Markdown);
        check("/docs/", "text/markdown", Format::Markdown);
        check("/docs/", "text/markdown, text/html;q=0.9, */*;q=0.8", Format::Markdown);
        check("/docs/", "text/markdown, text/html, */*", Format::Markdown);
        check("/docs/", "text/html, text/markdown", Format::Html);
        check("/docs/", "text/markdown;q=0.5, text/html", Format::Html);
        check("/docs/", "text/markdown;q=0", Format::Html);
        check("/docs/", "text/html,application/xhtml+xml,*/*;q=0.8", Format::Html);
        check("/docs/", "*/*", Format::Html);
        check("/docs/", "", Format::Html);
    }
}
