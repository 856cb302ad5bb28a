//! A bridge for hosts that start MCP servers as local programs: it forwards the messages on its standard input
//! to an MCP server of the hub, and writes the answers to its standard output.
//!
//! Messages are lines of JSON. Each is posted by itself, so a long one holds up no other. Standard output has
//! nothing but messages; logs go to standard error.
//!
//! # Limits
//!
//! A line of the host has at most 1 MiB, a message of the server 4 MiB; longer ones are answered with an error.
//! 32 messages are posted at the same time, and up to 256 are on their way; more are answered with an error. A
//! `subscriptions/listen` waits for no other message, and there are up to 16. If the host does not read, answers
//! wait in the connections to the server.

mod event_stream;
mod message;
mod server;

use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader, Read, Write},
    sync::Arc,
    thread,
    time::Duration,
};

use base::config::SecretError;
use reqwest::Url;
use serde_json::Value;
use tokio::{
    sync::{Semaphore, mpsc},
    task::{self, AbortHandle, JoinSet},
};
use tracing::{debug, warn};

use self::{
    message::{Message, Rejection, error_line},
    server::{Server, send},
};
use crate::cli::McpArgs;

pub use self::server::ServerError;

/// Bytes of one line of the host. The servers of the hub take much less.
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of one message of the server.
const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Messages that are posted at the same time.
const CONCURRENT_MAX: usize = 32;

/// Messages that were read and are not answered yet, subscriptions included.
const WAITING_MAX: usize = 256;

/// Streams of `subscriptions/listen` at the same time.
const LISTENS_MAX: usize = 16;

/// Lines that wait between the bridge and each of its threads.
const LINES_MAX: usize = 16;

/// Why the bridge failed.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("--url {url:?}: {problem}")]
    Url { url: String, problem: &'static str },
    #[error("there is no key")]
    Secret(#[from] SecretError),
    #[error("the key is empty")]
    EmptyKey,
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    #[error("cannot read standard input")]
    Input(#[source] io::Error),
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
}

/// Forwards messages until the input ends and all requests are answered. Subscriptions end with the input.
///
/// # Errors
///
/// If the arguments are wrong, or if the input or the output fails.
pub async fn run(
    args: &McpArgs,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), McpError> {
    let url = server_url(args)?;
    let key = args.key.resolve()?;
    if key.expose().trim().is_empty() {
        return Err(McpError::EmptyKey);
    }
    let server = Server::new(url, &key, &args.key, Duration::from_secs(args.timeout))?;
    let (lines_tx, lines) = mpsc::channel(LINES_MAX);
    let (answers, answers_rx) = mpsc::channel(LINES_MAX);
    let reader = thread::Builder::new().name("mcp-input".to_owned());
    reader.spawn(move || read_lines(input, &lines_tx)).map_err(McpError::Thread)?;
    let mut writer = task::spawn_blocking(move || write_lines(output, answers_rx));
    let bridge = Bridge::new(server, answers);
    let forwarded = tokio::select! {
        forwarded = bridge.forward(lines) => forwarded,
        // The host no longer reads.
        written = &mut writer => return written_result(written),
    };
    let written = written_result(writer.await);
    forwarded.and(written)
}

fn written_result(written: Result<io::Result<()>, task::JoinError>) -> Result<(), McpError> {
    written.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(McpError::Output)
}

/// The URL of the MCP server: the one given, or that of the sport below the hub's.
fn server_url(args: &McpArgs) -> Result<Url, McpError> {
    let wrong = |problem| McpError::Url { url: shown(&args.url), problem };
    let mut url: Url = args.url.parse().map_err(|_| wrong("not a URL"))?;
    if !["http", "https"].contains(&url.scheme()) || url.host().is_none() {
        return Err(wrong("expected https://HOST"));
    }
    let has_secret = url.query_pairs().any(|(name, _)| name == "token");
    if has_secret || !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("the key does not belong in the URL: use --key env:NAME"));
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    let is_server = path == "/mcp" || path.ends_with("/mcp");
    match &args.sport {
        Some(_) if is_server => {
            return Err(wrong("--sport needs the URL of the hub, without /mcp"));
        }
        None if is_server => {}
        None => url.set_path(&format!("{path}/mcp")),
        Some(sport) if sport == "football" => url.set_path(&format!("{path}/mcp")),
        Some(sport) => url.set_path(&format!("{path}/{sport}/mcp")),
    }
    Ok(url)
}

/// The URL without what may be a secret.
fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => url.to_owned(),
    }
}

/// What the thread of the input reads.
#[derive(Debug)]
enum Line {
    Text(Vec<u8>),
    /// Longer than a message may be.
    TooLong,
    Failed(io::Error),
}

/// Reads lines until the input or the bridge ends.
fn read_lines(input: impl Read, lines: &mpsc::Sender<Line>) {
    let mut input = BufReader::new(input);
    loop {
        let line = match read_line(&mut input) {
            Ok(Some(Line::Text(text))) if text.trim_ascii().is_empty() => continue,
            Ok(Some(line)) => line,
            Ok(None) => return,
            Err(error) => Line::Failed(error),
        };
        let is_last = matches!(line, Line::Failed(_));
        if lines.blocking_send(line).is_err() || is_last {
            return;
        }
    }
}

/// The next line; `None` at the end of the input.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut text = Vec::new();
    let max = LINE_BYTES_MAX as u64 + 1;
    if input.by_ref().take(max).read_until(b'\n', &mut text)? == 0 {
        return Ok(None);
    }
    if text.ends_with(b"\n") || text.len() <= LINE_BYTES_MAX {
        return Ok(Some(Line::Text(text.trim_ascii().to_vec())));
    }
    input.skip_until(b'\n')?;
    Ok(Some(Line::TooLong))
}

/// Writes each answer as one line.
fn write_lines(mut output: impl Write, mut answers: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(mut answer) = answers.blocking_recv() {
        answer.push(b'\n');
        output.write_all(&answer)?;
        output.flush()?;
    }
    Ok(())
}

/// The messages on their way.
struct Bridge {
    server: Arc<Server>,
    answers: mpsc::Sender<Vec<u8>>,
    slots: Arc<Semaphore>,
    tasks: JoinSet<()>,
    /// The requests among the tasks, by the text of their id.
    requests: HashMap<String, PendingRequest>,
}

struct PendingRequest {
    task: AbortHandle,
    is_listen: bool,
}

impl Bridge {
    fn new(server: Server, answers: mpsc::Sender<Vec<u8>>) -> Self {
        Self {
            server: Arc::new(server),
            answers,
            slots: Arc::new(Semaphore::new(CONCURRENT_MAX)),
            tasks: JoinSet::new(),
            requests: HashMap::new(),
        }
    }

    async fn forward(mut self, mut lines: mpsc::Receiver<Line>) -> Result<(), McpError> {
        let mut ended = Ok(());
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(Line::Text(text)) => self.take(text).await,
                    Some(Line::TooLong) => {
                        self.refuse(&Value::Null, -32600, "the message is too long").await;
                    }
                    Some(Line::Failed(error)) => {
                        ended = Err(McpError::Input(error));
                        break;
                    }
                    None => break,
                },
                Some(_) = self.tasks.join_next() => self.forget_finished(),
            }
        }
        for request in self.requests.values().filter(|request| request.is_listen) {
            request.task.abort();
        }
        while self.tasks.join_next().await.is_some() {}
        ended
    }

    async fn take(&mut self, text: Vec<u8>) {
        let message = match Message::parse(text) {
            Ok(message) => message,
            Err(Rejection::Error { id, code, message }) => {
                return self.refuse(&id, code, message).await;
            }
            Err(Rejection::Response) => {
                debug!("ignored a response: the servers send no requests");
                return;
            }
        };
        match &message.cancels {
            Some(id) => self.cancel(id),
            None => self.post(message).await,
        }
    }

    /// Closes the connection of a request, which cancels it at the server.
    fn cancel(&mut self, id: &Value) {
        if let Some(request) = self.requests.remove(&id.to_string()) {
            request.task.abort();
        }
    }

    async fn post(&mut self, message: Message) {
        self.forget_finished();
        let is_listen = message.is_listen();
        let listens = self.requests.values().filter(|request| request.is_listen).count();
        let problem = match &message.id {
            _ if self.tasks.len() >= WAITING_MAX => Some("too many requests at the same time"),
            Some(_) if is_listen && listens >= LISTENS_MAX => {
                Some("too many subscriptions at the same time")
            }
            Some(id) if self.requests.contains_key(&id.to_string()) => {
                Some("a request with this id is not answered yet")
            }
            Some(_) | None => None,
        };
        if let Some(problem) = problem {
            let Some(id) = &message.id else {
                warn!(method = message.method, problem, "a notification was not delivered");
                return;
            };
            return self.refuse(id, -32600, problem).await;
        }
        let id = message.id.clone();
        let (server, slots) = (Arc::clone(&self.server), Arc::clone(&self.slots));
        let answers = self.answers.clone();
        let task = self.tasks.spawn(async move {
            // The semaphore is never closed.
            let _slot = if is_listen { None } else { slots.acquire().await.ok() };
            server.forward(&message, &answers).await;
        });
        if let Some(id) = id {
            self.requests.insert(id.to_string(), PendingRequest { task, is_listen });
        }
    }

    fn forget_finished(&mut self) {
        self.requests.retain(|_, request| !request.task.is_finished());
    }

    async fn refuse(&self, id: &Value, code: i64, message: &str) {
        send(&self.answers, error_line(id, code, message, None)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(url: &str, sport: Option<&str>) -> McpArgs {
        McpArgs {
            url: url.to_owned(),
            key: "mw_test".into(),
            sport: sport.map(str::to_owned),
            timeout: 1,
        }
    }

    #[track_caller]
    fn check_url(url: &str, sport: Option<&str>, expected: Option<&str>) {
        let found = server_url(&args(url, sport)).ok();
        assert_eq!(found.as_ref().map(Url::as_str), expected, "{url} {sport:?}");
    }

    #[test]
    fn server_is_below_the_hub() {
        check_url("https://api.test", None, Some("https://api.test/mcp"));
        check_url("https://api.test/", Some("football"), Some("https://api.test/mcp"));
        check_url("https://api.test", Some("tennis"), Some("https://api.test/tennis/mcp"));
        check_url("https://api.test/hub/", Some("csgo"), Some("https://api.test/hub/csgo/mcp"));
        check_url("https://api.test?tools=core", None, Some("https://api.test/mcp?tools=core"));
    }

    #[test]
    fn url_of_a_server_is_used_as_it_is() {
        check_url("https://api.test/mcp", None, Some("https://api.test/mcp"));
        check_url("https://api.test/api/mcp/", None, Some("https://api.test/api/mcp/"));
        check_url("http://127.0.0.1:1/tennis/mcp", None, Some("http://127.0.0.1:1/tennis/mcp"));
        check_url("https://api.test/mcp", Some("tennis"), None);
    }

    #[test]
    fn url_that_cannot_be_meant_is_refused() {
        for url in ["", "api.test", "ftp://api.test", "https://me:pass@api.test", "mailto:a@b"] {
            check_url(url, None, None);
        }
        let error = server_url(&args("https://a:b@api.test/?token=mw_1", None)).unwrap_err();
        assert!(
            !error.to_string().contains("mw_1") && !error.to_string().contains("a:b"),
            "{error}"
        );
    }

    #[test]
    fn lines_are_read_up_to_their_maximum() {
        let mut text = vec![b'x'; LINE_BYTES_MAX + 10];
        text.extend(b"\n{}\r\n");
        text.extend(vec![b'y'; LINE_BYTES_MAX]);
        let mut input = &text[..];
        assert!(matches!(read_line(&mut input), Ok(Some(Line::TooLong))));
        assert!(matches!(read_line(&mut input), Ok(Some(Line::Text(text))) if text == b"{}"));
        let last = read_line(&mut input);
        assert!(matches!(last, Ok(Some(Line::Text(text))) if text.len() == LINE_BYTES_MAX));
        assert!(matches!(read_line(&mut input), Ok(None)));
    }
}
