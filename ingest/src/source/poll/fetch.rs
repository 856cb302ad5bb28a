//! One request and what came of it.

use std::{error::Error, fmt, time::Duration};

use jiff::{Timestamp, fmt::rfc2822};
use reqwest::{
    Client, Response, StatusCode,
    header::{
        ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
        RETRY_AFTER,
    },
    redirect,
};

use super::{Request, Settings};

/// No provider is waited for longer, whatever it asks: a day, within which every quota that is
/// counted by the day begins anew.
const RETRY_AFTER_MOST: Duration = Duration::from_secs(24 * 60 * 60);

/// Who asks: one client, so that connections are used again.
#[derive(Debug)]
pub(super) struct Asker {
    client: Client,
    body_bytes_max: usize,
}

/// An answer, and its headers if it got so far.
pub(super) struct Answered {
    pub(super) answer: Answer,
    pub(super) headers: Option<HeaderMap>,
}

pub(super) enum Answer {
    /// All of it, unpacked.
    Whole(Vec<u8>, Validators),
    /// What was told last is what is so.
    Unchanged,
    Failed(Failure),
}

/// What an answer is known by, to ask whether it has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Validators {
    etag: Option<HeaderValue>,
    modified: Option<HeaderValue>,
}

/// Why there is no answer, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// It may go better the next time.
    Passing { why: String },
    /// There was an answer, and it is of no use; another costs as much as this one.
    Unusable { why: String },
    /// The provider asks not to be asked for so long, or does not say how long.
    Wait { why: String, wait: Option<Duration> },
    /// The provider does not know us; to ask again soon would not help.
    Denied { why: String },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Passing { why }
        | Self::Unusable { why }
        | Self::Wait { why, .. }
        | Self::Denied { why }) = self;
        f.write_str(why)
    }
}

impl Asker {
    pub(super) fn new(settings: &Settings) -> Self {
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

    pub(super) async fn ask(&self, request: &Request, known: &Validators) -> Answered {
        let sent = self.client.get(request.url()).headers(headers(request, known)).send().await;
        match sent {
            Ok(response) => {
                let headers = Some(response.headers().clone());
                Answered { answer: self.read(response).await, headers }
            }
            Err(error) => Answered { answer: failed(&error), headers: None },
        }
    }

    async fn read(&self, response: Response) -> Answer {
        match response.status() {
            StatusCode::OK => self.body(response).await,
            StatusCode::NOT_MODIFIED => Answer::Unchanged,
            status => Answer::Failed(refusal(status, response.headers())),
        }
    }

    async fn body(&self, mut response: Response) -> Answer {
        let validators = Validators::of(response.headers());
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > self.body_bytes_max => {
                    let why = format!("the answer is longer than {} bytes", self.body_bytes_max);
                    return Answer::Failed(Failure::Unusable { why });
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Answer::Whole(body, validators),
                Err(error) => return failed(&error),
            }
        }
    }
}

impl Validators {
    fn of(headers: &HeaderMap) -> Self {
        Self { etag: headers.get(ETAG).cloned(), modified: headers.get(LAST_MODIFIED).cloned() }
    }
}

fn headers(request: &Request, known: &Validators) -> HeaderMap {
    let mut headers: HeaderMap = request.header().into_iter().collect();
    let known: [(HeaderName, _); 2] =
        [(IF_NONE_MATCH, &known.etag), (IF_MODIFIED_SINCE, &known.modified)];
    for (name, value) in known {
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
            None => Failure::Passing { why },
        },
    }
}

/// Seconds, or a date by the provider's own clock: that is told in the same answer.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let asked = text(RETRY_AFTER)?.trim();
    let wait = match asked.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = moment(asked)?;
            let now = moment(text(reqwest::header::DATE)?)?;
            Duration::try_from(until.duration_since(now)).unwrap_or_default()
        }
    };
    Some(wait.min(RETRY_AFTER_MOST))
}

fn moment(date: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
}

/// The address is left out: it may hold a secret.
fn failed(error: &reqwest::Error) -> Answer {
    let cause = cause(error);
    let why = if error.is_timeout() {
        "no whole answer in time".to_owned()
    } else if error.is_connect() {
        format!("cannot connect: {cause}")
    } else {
        format!("the answer was cut off: {cause}")
    };
    Answer::Failed(Failure::Passing { why })
}

/// The innermost cause: what the socket or the TLS library said, neither of which knows addresses.
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
    fn a_provider_is_not_asked_before_it_says() {
        let check = |asked: &str, expected: Option<u64>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, asked.parse().unwrap());
            let date = "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap();
            headers.insert(reqwest::header::DATE, date);
            assert_eq!(retry_after(&headers), expected.map(Duration::from_secs), "{asked}");
        };
        check("7", Some(7));
        check("Sun, 06 Nov 1994 08:50:07 GMT", Some(30));
        check("Sun, 06 Nov 1994 08:00:00 GMT", Some(0));
        check("999999999999", Some(86400));
        check("soon", None);
    }
}
