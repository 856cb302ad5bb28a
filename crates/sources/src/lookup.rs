//! Requests over HTTP for what a stream leaves out, such as names, beside the stream.
//!
//! A task sends one request after the other, and repeats those that fail. Its answers are interpreted like messages of the
//! stream. The source is live without them.

use std::{error::Error, ops::RangeInclusive, sync::Arc, time::Duration};

use base::backoff::{self, BackoffPolicy};
use reqwest::{Client, Response, StatusCode, redirect::Policy};
use rustls::ClientConfig;
use tokio::{sync::mpsc, task::JoinSet, time::sleep};
use tracing::{info, warn};

/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Sources that failed together are not repeated together.
const JITTER: RangeInclusive<f64> = 0.75..=1.25;

/// Why a request failed. Nothing of an answer is shown, since it may repeat what was sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookupError {
    #[error("no credentials")]
    Credentials(#[source] std::io::Error),
    #[error("credentials that no header can hold")]
    Header,
    #[error("no answer")]
    Http(#[from] reqwest::Error),
    #[error("refused with {0}")]
    Refused(StatusCode),
    #[error("an answer of more than {ANSWER_BYTES_MAX} bytes")]
    TooLong,
}

/// What sends the requests.
pub(super) trait LookupClient: Send + Sync + 'static {
    type Request: Send + Sync;

    /// The answer; `None` if there is none and never will be.
    fn fetch(
        &self,
        request: &Self::Request,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, LookupError>> + Send;
}

/// How requests are sent.
#[derive(Debug, Clone)]
pub(super) struct LookupSettings {
    /// The name of the source, for the log.
    pub(super) source: Arc<str>,
    /// What is requested, for the log.
    pub(super) what: &'static str,
    /// The waits after failures.
    pub(super) retry: BackoffPolicy,
    /// The pause after a request.
    pub(super) pause: Duration,
}

/// The requests of a source. Their task ends when this is dropped.
#[derive(Debug)]
pub(super) struct Lookup<T> {
    wanted: mpsc::Sender<T>,
    answers: mpsc::Receiver<Vec<u8>>,
    _task: JoinSet<()>,
}

impl<T: Send + Sync + 'static> Lookup<T> {
    pub(super) fn start(client: impl LookupClient<Request = T>, settings: LookupSettings) -> Self {
        let (wanted, requests) = mpsc::channel(1);
        let (answered, answers) = mpsc::channel(1);
        let mut task = JoinSet::new();
        task.spawn(run(client, settings, requests, answered));
        Self { wanted, answers, _task: task }
    }

    /// A place for the next request; `None` while one waits.
    pub(super) fn permit(&self) -> Option<mpsc::Permit<'_, T>> {
        self.wanted.try_reserve().ok()
    }

    /// An answer, if one has come.
    pub(super) fn try_answer(&mut self) -> Option<Vec<u8>> {
        self.answers.try_recv().ok()
    }

    /// The next answer. Cancel safe.
    #[cfg(feature = "amqp")]
    pub(super) async fn answer(&mut self) -> Vec<u8> {
        match self.answers.recv().await {
            Some(answer) => answer,
            // The task has failed, and no answer comes.
            None => std::future::pending().await,
        }
    }
}

async fn run<C: LookupClient>(
    client: C,
    settings: LookupSettings,
    mut requests: mpsc::Receiver<C::Request>,
    answers: mpsc::Sender<Vec<u8>>,
) {
    let LookupSettings { source, what, retry, pause } = settings;
    let source = &*source;
    let mut rng = backoff::rng();
    while let Some(request) = requests.recv().await {
        let mut failures = 0;
        let answer = loop {
            match client.fetch(&request).await {
                Ok(answer) => break answer,
                Err(error) => {
                    if failures == 0 {
                        let error = &error as &dyn Error;
                        warn!(error, source, "no {what}; the request is repeated until there are");
                    }
                    failures += 1;
                    sleep(retry.wait(failures, JITTER, &mut rng)).await;
                }
            }
        };
        if failures > 0 {
            info!(source, "{what} are received again");
        }
        if let Some(answer) = answer
            && answers.send(answer).await.is_err()
        {
            return;
        }
        sleep(pause).await;
    }
}

/// The client that sends requests with this trust.
pub(super) fn http_client(tls: &ClientConfig) -> Client {
    Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .user_agent(concat!("matchwire/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .no_proxy()
        .timeout(TIMEOUT)
        .build()
        .expect("the TLS settings are of the rustls that the client is built with")
}

/// The body of a response that is 200.
pub(super) async fn body(mut response: Response) -> Result<Vec<u8>, LookupError> {
    if response.status() != StatusCode::OK {
        return Err(LookupError::Refused(response.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(LookupError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
