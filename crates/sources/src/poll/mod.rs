//! Polls a provider over HTTP.
//!
//! Requests are sent one at a time, each at its own interval. A response is a whole image; 304 (not
//! modified) is as fresh as a new one. The source is `Live` once every request has had a complete
//! response, and `Down` from the second consecutive failure, of one request or across requests, or
//! once the provider denies access or asks to wait. It stays down until the failed requests succeed.
//!
//! No proxy is used and no redirect followed: the request carries a secret and must only go where
//! the operator configured.

mod fetch;
mod quota;
mod request;

use std::{convert::Infallible, sync::Arc, time::Duration};

use rand_chacha::ChaCha8Rng;
use rustls::ClientConfig;
use tokio::time::{Instant, sleep_until};

use self::{
    fetch::{Failure, FetchOutcome, Fetcher, Validators},
    quota::Allowance,
};
pub use self::{
    quota::Quota,
    request::{Credential, Request, RequestError},
};
use crate::{SourceSender, signal_capture::SignalCapture};
use base::{
    backoff::{self, Backoff},
    clock,
};
use hub::{feeds::FeedState, pipeline::HubStopped};
use ingest::normalize::{Interpret, Signal};

/// The time limit of a request, in milliseconds.
pub(crate) const TIMEOUT_MS: u64 = 15_000;

/// The requests and their limits.
#[derive(Debug, Clone)]
pub struct PollSettings {
    pub requests: Vec<Request>,
    /// The trusted authorities; see [`base::tls::client`].
    pub tls: Arc<ClientConfig>,
    /// The time limit for connecting. Default: 5 s.
    pub connect_timeout: Duration,
    /// The time limit for a whole request, to the last byte of the response. Default: 15 s.
    pub timeout: Duration,
    /// The longest response, in bytes after decompression; a longer one is a failure. Default:
    /// 32 MiB, held in memory at once.
    pub body_bytes_max: usize,
    /// The quotas of the provider, and the reserve below which polling slows down. Default: none.
    pub quotas: Vec<Quota>,
    /// The upper bound of the first wait after a failure. Default: 1 s.
    pub backoff_first: Duration,
    /// The longest wait after failures, and the wait after the provider has denied access (401,
    /// 403). Default: 60 s.
    pub backoff_most: Duration,
}

impl PollSettings {
    #[must_use]
    pub fn new(requests: Vec<Request>, tls: Arc<ClientConfig>) -> Self {
        Self {
            requests,
            tls,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_millis(TIMEOUT_MS),
            body_bytes_max: 32 << 20,
            quotas: Vec::new(),
            backoff_first: Duration::from_secs(1),
            backoff_most: Duration::from_secs(60),
        }
    }
}

/// Polls the provider until the hub has stopped.
pub async fn run(settings: PollSettings, interpreter: Box<dyn Interpret>, sender: SourceSender) {
    let mut poller = Poller::new(settings, interpreter, &sender);
    sender.until_closed(poller.follow()).await;
}

struct Poller<'a> {
    sender: &'a SourceSender,
    interpreter: SignalCapture,
    fetcher: Fetcher,
    requests: Vec<RequestState>,
    allowance: Allowance,
    backoff_most: Duration,
    /// No request is sent before this: the provider requested the delay or denied access.
    not_before: Instant,
    /// Consecutive failures, across requests.
    failures: u32,
    /// `Recovering` was reported and need not be repeated.
    recovering: bool,
    /// Interpreted responses so far, for the place in a refusal.
    number: u64,
    rng: ChaCha8Rng,
}

/// A request and its state.
struct RequestState {
    request: Request,
    due: Instant,
    validators: Validators,
    completeness: Completeness,
    /// Consecutive failures of this request.
    failures: u32,
    /// It has failed, so its last response cannot be relied on.
    missing: bool,
    backoff: Backoff,
}

/// How complete the last response to a request was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completeness {
    /// There was none, or the interpreter signalled a loss.
    Incomplete,
    /// The interpreter signalled that the data lags behind.
    Late,
    Complete,
}

impl<'a> Poller<'a> {
    fn new(
        settings: PollSettings,
        interpreter: Box<dyn Interpret>,
        sender: &'a SourceSender,
    ) -> Self {
        let now = Instant::now();
        let fetcher = Fetcher::new(&settings);
        let PollSettings { requests, quotas, backoff_first, backoff_most, .. } = settings;
        let backoff = Backoff::new(backoff_first, backoff_most);
        let states =
            requests.into_iter().map(|request| RequestState::new(request, backoff.clone(), now));
        Self {
            sender,
            interpreter: SignalCapture::new(interpreter),
            fetcher,
            requests: states.collect(),
            allowance: Allowance::new(quotas),
            backoff_most,
            not_before: now,
            failures: 0,
            recovering: false,
            number: 0,
            rng: backoff::rng(),
        }
    }

    async fn follow(&mut self) -> Result<Infallible, HubStopped> {
        loop {
            let next = (0..self.requests.len()).min_by_key(|index| self.requests[*index].due);
            let Some(index) = next else { std::future::pending().await };
            sleep_until(self.requests[index].due.max(self.not_before)).await;
            self.poll(index).await?;
        }
    }

    async fn poll(&mut self, index: usize) -> Result<(), HubStopped> {
        let began = Instant::now();
        let RequestState { request, validators, .. } = &self.requests[index];
        let result = self.fetcher.fetch(request, validators).await;
        if let Some(headers) = &result.headers {
            self.allowance.note(headers);
        }
        let outcome = match result.outcome {
            FetchOutcome::Body(body, validators) => {
                self.interpret(index, &body, validators).await?
            }
            FetchOutcome::NotModified => {
                self.sender.alive().await?;
                Ok(())
            }
            FetchOutcome::Failed(failure) => Err(failure),
        };
        match outcome {
            Ok(()) => self.succeeded(index, began).await,
            Err(failure) => self.failed(index, began, failure).await,
        }
    }

    /// An unusable response drops the validators, so that the next request gets a whole body: a 304
    /// would be no better.
    async fn interpret(
        &mut self,
        index: usize,
        body: &[u8],
        validators: Validators,
    ) -> Result<Result<(), Failure>, HubStopped> {
        self.number += 1;
        self.sender.message(&mut self.interpreter, body, self.number).await?;
        let state = &mut self.requests[index];
        if self.interpreter.outcome.refused {
            state.validators = Validators::default();
            let why = "the answer could not be used".to_owned();
            return Ok(Err(Failure::Unusable { why }));
        }
        state.validators = validators;
        state.completeness = match self.interpreter.outcome.signal {
            Some(Signal::Recovering) => Completeness::Incomplete,
            Some(Signal::Late) => Completeness::Late,
            Some(Signal::Fresh | Signal::Alive) | None => Completeness::Complete,
        };
        Ok(Ok(()))
    }

    async fn succeeded(&mut self, index: usize, began: Instant) -> Result<(), HubStopped> {
        let state = &mut self.requests[index];
        state.backoff.succeeded();
        state.failures = 0;
        state.missing = false;
        state.due = began + self.allowance.interval(state.request.interval());
        self.failures = 0;
        self.report_state().await
    }

    async fn report_state(&mut self) -> Result<(), HubStopped> {
        let any = |is: fn(&RequestState) -> bool| self.requests.iter().any(is);
        // A request that keeps failing keeps the source down; otherwise the state would flap.
        if any(|it| it.missing) {
            return Ok(());
        }
        let state = if any(|it| it.completeness == Completeness::Incomplete) {
            if self.recovering {
                return Ok(());
            }
            FeedState::Recovering
        } else if any(|it| it.completeness == Completeness::Late) {
            FeedState::Late
        } else {
            FeedState::Live
        };
        self.recovering = state == FeedState::Recovering;
        self.sender.state(state).await
    }

    async fn failed(
        &mut self,
        index: usize,
        began: Instant,
        failure: Failure,
    ) -> Result<(), HubStopped> {
        let state = &mut self.requests[index];
        let wait = state.backoff.failed(clock::now(), &mut self.rng);
        let now = Instant::now();
        state.failures += 1;
        self.failures += 1;
        match failure {
            Failure::Transient { .. } => state.due = now + wait,
            Failure::Unusable { .. } => {
                let interval = self.allowance.interval(state.request.interval());
                state.due = (began + interval).max(now + wait);
            }
            Failure::Wait { wait: requested, .. } => {
                state.due = began + state.request.interval();
                self.not_before = now + requested.unwrap_or(wait);
            }
            Failure::Denied { .. } => self.not_before = now + self.backoff_most,
        }
        // Nothing comes for a while: the provider has said so.
        let is_told = matches!(failure, Failure::Denied { .. } | Failure::Wait { .. });
        if is_told || state.failures.max(self.failures) >= 2 {
            state.missing = true;
            self.recovering = false;
            let why = format!("{}: {failure}", state.request);
            return self.sender.down(why.into()).await;
        }
        Ok(())
    }
}

impl RequestState {
    fn new(request: Request, backoff: Backoff, due: Instant) -> Self {
        Self {
            request,
            due,
            validators: Validators::default(),
            completeness: Completeness::Incomplete,
            failures: 0,
            missing: false,
            backoff,
        }
    }
}
