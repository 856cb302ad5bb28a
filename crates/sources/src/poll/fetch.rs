//! One request and its outcome.

use std::{error::Error, fmt, time::Duration};

use reqwest::{
    Client, Response, StatusCode,
    header::{
        ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
        RETRY_AFTER,
    },
    redirect,
};

use super::{PollSettings, Request};

/// The longest honoured Retry-After: a day, within which every daily quota is reset.
const RETRY_AFTER_MOST: Duration = Duration::from_secs(24 * 60 * 60);

/// The HTTP client. One for all requests, so that connections are reused.
#[derive(Debug)]
pub(super) struct Fetcher {
    client: Client,
    body_bytes_max: usize,
}

/// The outcome of a request, and the response headers if there was a response.
pub(super) struct FetchResult {
    pub(super) outcome: FetchOutcome,
    pub(super) headers: Option<HeaderMap>,
}

pub(super) enum FetchOutcome {
    /// The whole body, decompressed.
    Body(Vec<u8>, Validators),
    /// The last body is still current.
    NotModified,
    Failed(Failure),
}

/// The validators of a response, for conditional requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Validators {
    etag: Option<HeaderValue>,
    modified: Option<HeaderValue>,
}

/// Why a request failed, which decides when to retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// A retry may succeed.
    Transient { why: String },
    /// There was a response, but it cannot be used. A retry costs as much quota as the request did.
    Unusable { why: String },
    /// The provider asks the client to wait, and may say for how long.
    Wait { why: String, wait: Option<Duration> },
    /// The provider denies access; retrying soon would not help.
    Denied { why: String },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Transient { why }
        | Self::Unusable { why }
        | Self::Wait { why, .. }
        | Self::Denied { why }) = self;
        f.write_str(why)
    }
}

impl Fetcher {
    pub(super) fn new(settings: &PollSettings) -> Self {
        let client = Client::builder()
            .tls_backend_preconfigured(settings.tls.as_ref().clone())
            .user_agent(concat!("matchwire/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(settings.connect_timeout)
            .timeout(settings.timeout)
            .build()
            .expect("the TLS settings are of the rustls that the client is built with");
        Self { client, body_bytes_max: settings.body_bytes_max }
    }

    pub(super) async fn fetch(&self, request: &Request, validators: &Validators) -> FetchResult {
        let sent =
            self.client.get(request.url()).headers(headers(request, validators)).send().await;
        match sent {
            Ok(response) => {
                let headers = Some(response.headers().clone());
                FetchResult { outcome: self.read(response).await, headers }
            }
            Err(error) => FetchResult { outcome: failed(&error), headers: None },
        }
    }

    async fn read(&self, response: Response) -> FetchOutcome {
        match response.status() {
            StatusCode::OK => self.body(response).await,
            StatusCode::NOT_MODIFIED => FetchOutcome::NotModified,
            status => FetchOutcome::Failed(refusal(status, response.headers())),
        }
    }

    async fn body(&self, mut response: Response) -> FetchOutcome {
        let validators = Validators::from_headers(response.headers());
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > self.body_bytes_max => {
                    let why = format!("the answer is longer than {} bytes", self.body_bytes_max);
                    return FetchOutcome::Failed(Failure::Unusable { why });
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return FetchOutcome::Body(body, validators),
                Err(error) => return failed(&error),
            }
        }
    }
}

impl Validators {
    fn from_headers(headers: &HeaderMap) -> Self {
        Self { etag: headers.get(ETAG).cloned(), modified: headers.get(LAST_MODIFIED).cloned() }
    }
}

fn headers(request: &Request, validators: &Validators) -> HeaderMap {
    let mut headers: HeaderMap = request.header().into_iter().collect();
    let conditions: [(HeaderName, _); 2] =
        [(IF_NONE_MATCH, &validators.etag), (IF_MODIFIED_SINCE, &validators.modified)];
    for (name, value) in conditions {
        headers.extend(value.clone().map(|value| (name, value)));
    }
    headers
}

fn refusal(status: StatusCode, headers: &HeaderMap) -> Failure {
    let why = format!("answered {}", status.as_u16());
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Failure::Denied { why },
        StatusCode::TOO_MANY_REQUESTS => Failure::Wait { why, wait: retry_after(headers) },
        _ => match retry_after(headers) {
            Some(wait) => Failure::Wait { why, wait: Some(wait) },
            None => Failure::Transient { why },
        },
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let wait = base::retry_after::retry_after(text(RETRY_AFTER)?, text(reqwest::header::DATE))?;
    Some(wait.min(RETRY_AFTER_MOST))
}

/// Omits the address, which may contain a secret.
fn failed(error: &reqwest::Error) -> FetchOutcome {
    let cause = cause(error);
    let why = if error.is_timeout() {
        "no whole answer in time".to_owned()
    } else if error.is_connect() {
        format!("cannot connect: {cause}")
    } else {
        format!("the answer was cut off: {cause}")
    };
    FetchOutcome::Failed(Failure::Transient { why })
}

/// The innermost cause: an error of the socket or of the TLS library, which never contains an
/// address.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: Option<&dyn Error> = error.source();
    while let Some(deeper) = innermost.and_then(Error::source) {
        innermost = Some(deeper);
    }
    innermost.map_or_else(|| "no reason is known".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_honoured() {
        let check = |value: &str, expected: Option<u64>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            let date = "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap();
            headers.insert(reqwest::header::DATE, date);
            assert_eq!(retry_after(&headers), expected.map(Duration::from_secs), "{value}");
        };
        check("7", Some(7));
        check("Sun, 06 Nov 1994 08:50:07 GMT", Some(30));
        check("Sun, 06 Nov 1994 08:00:00 GMT", Some(0));
        check("999999999999", Some(86400));
        check("soon", None);
    }
}
