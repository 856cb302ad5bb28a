//! Compresses responses with what the client accepts: Brotli, Zstandard or gzip.
//!
//! Only complete text bodies that are long enough to save a packet are compressed. Event streams and upgrades
//! have no length and pass unchanged; images are compressed already. Pages are excluded because they contain
//! form tokens next to text that others may have sent: the compressed length of both would reveal the token.

use std::io::{self, Write as _};

use axum::{
    body::{Body, HttpBody as _, to_bytes},
    extract::Request,
    response::Response,
};
use base::work::{self, Busy, Pool};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use hyper::{
    HeaderMap, Method, StatusCode,
    header::{
        ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
        HeaderValue, VARY,
    },
};
use metrics::counter;
use tracing::warn;

use super::body::{CODINGS, EncodedBodies};
use crate::etag;

/// Shorter bodies are not worth compressing: about the size of a packet.
const BYTES_MIN: u64 = 1_200;
/// Longer bodies are compressed on another thread, to not block this one.
const BYTES_IN_PLACE: usize = 32 * 1024;

/// The supported content codings, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Brotli,
    Zstd,
    Gzip,
}

impl Coding {
    const ALL: [Self; CODINGS] = [Self::Brotli, Self::Zstd, Self::Gzip];

    fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// The coding that the client prefers; among equals the best. `None` if it accepts none.
    fn negotiate(headers: &HeaderMap) -> Option<Self> {
        let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        let entries: Vec<_> = lines.flat_map(|line| line.split(',')).map(entry).collect();
        let quality = |coding: Self| {
            let find = |name: &str| entries.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
            find(coding.name()).or_else(|| find("*")).map_or(0, |(_, quality)| *quality)
        };
        let taken = Self::ALL.into_iter().filter(|coding| quality(*coding) > 0);
        // Among equals, `max_by_key` returns the last.
        taken.rev().max_by_key(|coding| quality(*coding))
    }

    /// Uses low levels: most bodies are rendered again for each request.
    fn compress(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::with_capacity(bytes.len() / 4);
        match self {
            Self::Brotli => {
                let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, 4, 19);
                encoder.write_all(bytes)?;
            }
            Self::Zstd => out = zstd::bulk::compress(bytes, 3)?,
            Self::Gzip => {
                let mut encoder = GzEncoder::new(&mut out, Compression::new(4));
                encoder.write_all(bytes)?;
                encoder.finish()?;
            }
        }
        Ok(out)
    }
}

/// An entry of `Accept-Encoding` and its quality in thousandths.
fn entry(text: &str) -> (&str, u16) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let quality =
        parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let quality = quality.map_or(Some(1.0), |text| text.parse::<f32>().ok());
    // An unreadable quality counts as not accepted.
    let thousandths = quality.map_or(0.0, |it| it.clamp(0.0, 1.0) * 1000.0);
    (name, thousandths.round() as u16)
}

/// The content coding negotiated for one request.
#[derive(Debug)]
pub(super) struct AcceptEncoding {
    coding: Option<Coding>,
    is_head: bool,
}

impl AcceptEncoding {
    pub(super) fn from_request(request: &Request) -> Self {
        let is_head = request.method() == Method::HEAD;
        Self { coding: Coding::negotiate(request.headers()), is_head }
    }

    /// Compresses the response if the client accepts it and the body is worth it.
    pub(super) async fn encode_response(self, mut response: Response) -> Response {
        if !is_text(&response) {
            return response;
        }
        response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
        let Some(coding) = self.coding else { return response };
        if self.is_head {
            // The length of the answer to GET is only known after compressing it.
            response.headers_mut().remove(CONTENT_LENGTH);
            return response;
        }
        match response.body().size_hint().exact() {
            Some(BYTES_MIN..) => encode(response, coding).await,
            Some(_) | None => response,
        }
    }
}

/// Whether the content type is one that is compressed, at any length.
fn is_text(response: &Response) -> bool {
    let headers = response.headers();
    let is_whole = !headers.contains_key(CONTENT_ENCODING) && !headers.contains_key(CONTENT_RANGE);
    let has_body = response.status() != StatusCode::SWITCHING_PROTOCOLS
        && response.status() != StatusCode::NO_CONTENT;
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_text = [
        "application/json",
        "application/schema+json",
        "application/yaml",
        "application/x-ndjson",
        "image/svg+xml",
        "text/css",
        "text/javascript",
        "text/markdown",
        "text/plain",
    ];
    is_whole
        && has_body
        && (is_text.contains(&kind) || response.status() == StatusCode::NOT_MODIFIED)
}

async fn encode(response: Response, coding: Coding) -> Response {
    let encoded = response.extensions().get::<EncodedBodies>().cloned();
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        // The body has a known length and failed to arrive; the connection would have to end as well.
        parts.status = StatusCode::INTERNAL_SERVER_ERROR;
        return Response::from_parts(parts, Body::empty());
    };
    let compressed = match encoded {
        Some(encoded) => {
            encoded.get_or_make(coding as usize, compressed(bytes.clone(), coding)).await
        }
        None => compressed(bytes.clone(), coding).await,
    };
    let body = match compressed {
        Some(compressed) => {
            set_content_encoding(&mut parts.headers, coding);
            compressed
        }
        None => bytes,
    };
    Response::from_parts(parts, Body::from(body))
}

/// The body in this coding; `None` if that is not shorter. Large bodies are compressed on other threads, in
/// turn with those of other payers; if too many of this payer wait already, the body is sent as it is.
async fn compressed(bytes: Bytes, coding: Coding) -> Option<Bytes> {
    let length = bytes.len();
    counter!("matchwire_http_compressions_total").increment(1);
    let compressed = if length <= BYTES_IN_PLACE {
        work::run_here(Pool::Compression, || coding.compress(&bytes))
    } else {
        let compressed = work::run_blocking(Pool::Compression, move || coding.compress(&bytes));
        match compressed.await {
            Ok(compressed) => compressed,
            Err(Busy) => return None,
        }
    };
    match compressed {
        Ok(compressed) => (compressed.len() < length).then(|| compressed.into()),
        Err(error) => {
            warn!(%error, coding = coding.name(), "a response could not be compressed");
            None
        }
    }
}

/// Sets the headers for this coding.
fn set_content_encoding(headers: &mut HeaderMap, coding: Coding) {
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    etag::weaken(headers);
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn wanted(accepted: &str) -> Option<Coding> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, accepted.parse().unwrap());
        Coding::negotiate(&headers)
    }

    #[test]
    fn client_gets_the_coding_it_prefers() {
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", Some(Coding::Brotli)),
            ("gzip, zstd", Some(Coding::Zstd)),
            ("br;q=0.5, gzip;q=0.9", Some(Coding::Gzip)),
            ("BR;q=0, GZIP", Some(Coding::Gzip)),
            ("*", Some(Coding::Brotli)),
            ("*, br;q=0", Some(Coding::Zstd)),
            ("identity", None),
            ("br;q=nonsense", None),
            ("", None),
        ] {
            assert_eq!(wanted(accepted), expected, "{accepted}");
        }
        assert_eq!(Coding::negotiate(&HeaderMap::new()), None);
    }

    #[test]
    fn compressed_bodies_decompress_to_the_original() {
        let text = "{\"home\":\"Alpha\",\"away\":\"Beta\"},".repeat(500);
        for coding in Coding::ALL {
            let compressed = coding.compress(text.as_bytes()).unwrap();
            assert!(compressed.len() < text.len() / 10, "{coding:?}: {}", compressed.len());
            let mut again = Vec::new();
            match coding {
                Coding::Brotli => {
                    let mut reader = brotli::Decompressor::new(&*compressed, 4096);
                    reader.read_to_end(&mut again).unwrap();
                }
                Coding::Zstd => again = zstd::decode_all(&*compressed).unwrap(),
                Coding::Gzip => {
                    let mut reader = flate2::read::GzDecoder::new(&*compressed);
                    reader.read_to_end(&mut again).unwrap();
                }
            }
            assert_eq!(again, text.as_bytes(), "{coding:?}");
        }
    }
}
