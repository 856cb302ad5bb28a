//! Entity tags: what identifies a body, and whether a client already has what it asks for.
//!
//! Not by the `headers` crate: where debug assertions are on, its parser panics on a tag with a space in it,
//! which any client can send.

use std::hash::Hasher;

use hyper::{
    HeaderMap,
    header::{ETAG, HeaderValue, IF_NONE_MATCH},
};
use rustc_hash::FxHasher;

/// The tag of a body. Weak, since it is the same for every content coding.
pub(crate) fn of_body(body: &[u8]) -> HeaderValue {
    let mut hasher = FxHasher::default();
    hasher.write(body);
    let etag = format!("W/\"{:x}-{:016x}\"", body.len(), hasher.finish());
    // Always a valid header value: digits and punctuation.
    HeaderValue::try_from(etag).unwrap_or(HeaderValue::from_static("W/\"\""))
}

/// Whether `If-None-Match` contains this tag, or `*`, which matches everything.
///
/// It compares weakly (RFC 9110, 13.1.2): a tag that was sent as weak because its body was compressed matches
/// the strong tag of the endpoint. The hub's tags contain no comma, so a list can be split at each.
pub(crate) fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let lines = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut tags = lines.flat_map(|line| line.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || opaque(tag) == opaque(etag))
}

/// Makes the tag of a response weak: a strong one identifies the bytes, which have changed.
pub(crate) fn weaken(headers: &mut HeaderMap) {
    let strong = headers.get(ETAG).and_then(|tag| tag.to_str().ok());
    let weak = strong.filter(|tag| tag.starts_with('"')).map(|tag| format!("W/{tag}"));
    if let Some(Ok(weak)) = weak.map(HeaderValue::try_from) {
        headers.insert(ETAG, weak);
    }
}

/// A tag without its weakness prefix.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_tag_matches_the_strong_one() {
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, "\"k3-8\"".parse().unwrap());
        weaken(&mut headers);
        assert_eq!(headers[ETAG], "W/\"k3-8\"");
        weaken(&mut headers);
        assert_eq!(headers[ETAG], "W/\"k3-8\"", "weak already");
        assert!(!is_known(&headers, "\"k3-8\""), "no condition");
        headers.insert(IF_NONE_MATCH, "W/\"a\", \"b\"".parse().unwrap());
        headers.append(IF_NONE_MATCH, "W/\"k3-8\"".parse().unwrap());
        for header in ["\"a\"", "W/\"b\"", "\"k3-8\"", "W/\"k3-8\""] {
            assert!(is_known(&headers, header), "{header}");
        }
        for unknown in ["\"k3\"", "k3-8", "\"c\"", "*"] {
            assert!(!is_known(&headers, unknown), "{unknown}");
        }
    }

    #[test]
    fn asterisk_matches_every_tag() {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, "*".parse().unwrap());
        assert!(is_known(&headers, "\"a\""));
    }
}
