//! The server: posts a message, and passes on what it answers.

use std::{error::Error, net::IpAddr, sync::Mutex, time::Duration};

use base::{
    config::SecretRef,
    redact::redact_keys,
    secret::Secret,
    tls::{self, TrustError},
};
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing::warn;

use super::{
    MESSAGE_BYTES_MAX,
    event_stream::EventStream,
    message::{Message, error_line},
};

/// How long a connection may take to be established.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The code of the bridge's own errors, from the range that JSON-RPC leaves to implementations.
const BRIDGE_ERROR: i64 = -32000;

/// Why there is no connection to the server at all.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("the key contains characters that no HTTP header can hold")]
    Key,
    #[error("cannot check certificates")]
    Trust(#[from] TrustError),
    #[error("cannot prepare HTTP")]
    Http(#[from] reqwest::Error),
}

#[derive(Debug)]
pub(super) struct Server {
    http: Client,
    url: Url,
    authorization: HeaderValue,
    /// Where the key came from, for messages.
    key_source: String,
    timeout: Duration,
    /// The protocol version that the server chose for an older client.
    negotiated: Mutex<Option<HeaderValue>>,
}

/// Why a message got no answer of the server's own.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("cannot reach {origin} ({cause}): check --url, and that the hub is running")]
    Unreachable { origin: String, cause: String },
    #[error("{origin} sent nothing for {seconds} s: try again, or set a longer --timeout")]
    Timeout { origin: String, seconds: u64 },
    #[error("the connection to {origin} broke before the answer was complete: try again")]
    Broken { origin: String },
    #[error(
        "the answer is longer than {MESSAGE_BYTES_MAX} bytes: ask for less, for example with limit"
    )]
    TooLong,
    #[error("{url} answered, but not with a message of the protocol: check --url")]
    NoMcp { url: String },
    #[error("{text}")]
    Refused { status: StatusCode, text: String, body: Value },
}

impl Server {
    /// # Errors
    ///
    /// If the key cannot be sent, or if no certificate could be checked.
    pub(super) fn new(
        url: Url,
        key: &Secret,
        source: &SecretRef,
        timeout: Duration,
    ) -> Result<Self, ServerError> {
        let mut authorization = HeaderValue::try_from(format!("Bearer {}", key.expose().trim()))
            .map_err(|_| ServerError::Key)?;
        authorization.set_sensitive(true);
        let mut http = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(timeout)
            // The key is for this server only.
            .redirect(Policy::none());
        http = match url.scheme() {
            "https" => http.tls_backend_preconfigured(tls::client(None)?.as_ref().clone()),
            _ => http.tls_backend_preconfigured(tls::without_authorities().as_ref().clone()),
        };
        if is_loopback(&url) {
            http = http.no_proxy();
        } else if url.scheme() == "http" {
            warn!("the key is sent without encryption: use https");
        }
        let key_source = match source {
            SecretRef::Env(name) => format!("the variable {name}"),
            SecretRef::File(path) => format!("the file {}", path.display()),
            SecretRef::Given(_) => "--key".to_owned(),
        };
        let negotiated = Mutex::default();
        Ok(Self { http: http.build()?, url, authorization, key_source, timeout, negotiated })
    }

    /// Posts the message and writes each message of the answer to `lines`. If there is none, a request is
    /// answered with an error.
    pub(super) async fn forward(&self, message: &Message, lines: &mpsc::Sender<Vec<u8>>) {
        let Err(failure) = self.exchange(message, lines).await else { return };
        let Some(id) = &message.id else {
            warn!(method = message.method, %failure, "a notification was not delivered");
            return;
        };
        let data = match &failure {
            Failure::Refused { status, body, .. } => {
                let mut data = json!({"status": status.as_u16()});
                for name in ["code", "detail", "register", "pricing_url", "retry_after_s"] {
                    if let Some(value) = body.get(name) {
                        data[name] = value.clone();
                    }
                }
                Some(data)
            }
            _ => None,
        };
        send(lines, error_line(id, BRIDGE_ERROR, &failure.to_string(), data)).await;
    }

    async fn exchange(
        &self,
        message: &Message,
        lines: &mpsc::Sender<Vec<u8>>,
    ) -> Result<(), Failure> {
        let response = self.post(message).await?;
        if !response.status().is_success() {
            return self.pass_refusal(response, message, lines).await;
        }
        let Some(id) = &message.id else { return Ok(()) };
        match media_type(response.headers()) {
            "application/json" => {
                let body = self.body(response).await?;
                let answer = single_line(body);
                if !is_answer(&answer, id) {
                    return Err(self.no_mcp());
                }
                self.note_version(message, &answer);
                send(lines, answer).await;
                Ok(())
            }
            "text/event-stream" => self.pass_events(response, message, id, lines).await,
            _ => Err(self.no_mcp()),
        }
    }

    /// Posts the message. If the connection breaks before the answer begins, it is posted once more: the
    /// server may have closed an idle connection, and repeating a message changes nothing there.
    async fn post(&self, message: &Message) -> Result<Response, Failure> {
        match self.post_once(message).await {
            Err(error) if !error.is_timeout() && !error.is_connect() && error.is_request() => {
                self.post_once(message).await
            }
            answered => answered,
        }
        .map_err(|error| self.failure(&error))
    }

    async fn post_once(&self, message: &Message) -> reqwest::Result<Response> {
        let headers = {
            let negotiated = self.negotiated.lock().unwrap_or_else(|poison| poison.into_inner());
            message.headers(negotiated.as_ref())
        };
        self.http
            .post(self.url.clone())
            .headers(headers)
            .header(AUTHORIZATION, self.authorization.clone())
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(message.text.clone())
            .send()
            .await
    }

    /// Passes on the messages of a stream up to the answer to the request.
    async fn pass_events(
        &self,
        mut response: Response,
        message: &Message,
        id: &Value,
        lines: &mpsc::Sender<Vec<u8>>,
    ) -> Result<(), Failure> {
        let mut stream = EventStream::default();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failure(&error))? {
            for event in stream.push(&chunk).map_err(|_| Failure::TooLong)? {
                let event = single_line(event);
                if serde_json::from_slice::<IgnoredAny>(&event).is_err() {
                    return Err(self.no_mcp());
                }
                let is_last = is_answer(&event, id);
                if is_last {
                    self.note_version(message, &event);
                }
                send(lines, event).await;
                if is_last {
                    return Ok(());
                }
            }
        }
        Err(Failure::Broken { origin: self.origin() })
    }

    /// Passes on an error of the protocol. Everything else becomes an error that says what to do.
    async fn pass_refusal(
        &self,
        response: Response,
        message: &Message,
        lines: &mpsc::Sender<Vec<u8>>,
    ) -> Result<(), Failure> {
        let (status, headers) = (response.status(), response.headers().clone());
        // The status says enough if the body does not arrive.
        let body = self.body(response).await.unwrap_or_default();
        let mut body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let is_protocol_error = body.get("jsonrpc").is_some() && body.get("error").is_some();
        match &message.id {
            Some(id) if is_protocol_error => {
                body["id"] = id.clone();
                send(lines, body.to_string().into_bytes()).await;
                Ok(())
            }
            _ => Err(self.refused(status, &headers, body)),
        }
    }

    fn refused(&self, status: StatusCode, headers: &HeaderMap, body: Value) -> Failure {
        let field = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let (detail, origin, source) = (field("detail"), self.origin(), &self.key_source);
        let number = status.as_u16();
        let text = match number {
            401 => format!(
                "the server refused the key (401): check that {source} holds your current key; make a new \
                 one at {origin}/dashboard/"
            ),
            402 => {
                let pricing = Some(field("pricing_url")).filter(|url| !url.is_empty());
                let pricing = pricing.map_or_else(|| format!("{origin}/pricing/"), str::to_owned);
                format!("this needs an add-on (402): {detail} Buy it at {pricing}")
            }
            429 => {
                let wait = headers.get(RETRY_AFTER).and_then(|wait| wait.to_str().ok());
                let wait = wait.unwrap_or("a few");
                format!("too many requests (429): wait {wait} seconds and try again. {detail}")
            }
            403 => format!("the server refuses this client (403). {detail}"),
            404 | 405 => format!("there is no MCP server at {} ({number}): check --url", self.url),
            300..=399 => {
                format!("the server redirects ({number}): set --url to its final address")
            }
            503 => format!("the server is busy (503): try again in a few seconds. {detail}"),
            _ => format!("the server answered with status {number}. {detail}"),
        };
        Failure::Refused { status, text: redacted(text.trim()), body }
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failure(&error))? {
            if body.len() + chunk.len() > MESSAGE_BYTES_MAX {
                return Err(Failure::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Keeps the protocol version of an older client's session.
    fn note_version(&self, message: &Message, answer: &[u8]) {
        #[derive(Deserialize)]
        struct Answer {
            result: Initialized,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Initialized {
            protocol_version: String,
        }
        if message.method != "initialize" {
            return;
        }
        let Ok(Answer { result }) = serde_json::from_slice(answer) else { return };
        let version = HeaderValue::try_from(result.protocol_version).ok();
        *self.negotiated.lock().unwrap_or_else(|poison| poison.into_inner()) = version;
    }

    fn failure(&self, error: &reqwest::Error) -> Failure {
        let origin = self.origin();
        if error.is_connect() {
            return Failure::Unreachable { origin, cause: root_cause(error) };
        }
        match error.is_timeout() {
            true => Failure::Timeout { origin, seconds: self.timeout.as_secs() },
            false => Failure::Broken { origin },
        }
    }

    fn no_mcp(&self) -> Failure {
        Failure::NoMcp { url: self.url.to_string() }
    }

    fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

/// What went wrong in the end, such as a refused connection or an unknown certificate.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = host.parse().is_ok_and(|host: IpAddr| host.is_loopback());
    is_loopback || host == "localhost"
}

fn media_type(headers: &HeaderMap) -> &str {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim()
}

/// Whether this is the response to the request.
fn is_answer(text: &[u8], id: &Value) -> bool {
    #[derive(Deserialize)]
    struct Envelope {
        #[serde(default)]
        id: Value,
        method: Option<IgnoredAny>,
    }
    let read = serde_json::from_slice::<Envelope>(text);
    read.is_ok_and(|it| it.method.is_none() && it.id == *id)
}

/// In JSON, line breaks stand only between tokens, where they mean the same as spaces.
fn single_line(mut text: Vec<u8>) -> Vec<u8> {
    text.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    text.trim_ascii().to_vec()
}

/// The text without a key that the server may have repeated.
fn redacted(text: &str) -> String {
    String::from_utf8_lossy(&redact_keys(text.as_bytes())).into_owned()
}

/// Queues a line for the host. If the host no longer reads, the bridge is about to end.
pub(super) async fn send(lines: &mpsc::Sender<Vec<u8>>, line: Vec<u8>) {
    lines.send(line).await.ok();
}
