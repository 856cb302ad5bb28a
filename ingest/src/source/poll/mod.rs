//! A provider that is asked over HTTP, again and again.
//!
//! Requests are asked in turn, never two at once, each with its own interval. An answer is a whole
//! image; one that has not changed since (304) is as fresh as a new one. The source is `Live` once
//! each request has been answered whole, and `Down` from the second failure in a row on: of one
//! request, or of whichever are asked. It stays so until the requests that failed are answered.
//!
//! No proxy is used and no redirection followed: the request carries a secret, and goes where the
//! operator said or nowhere.

mod answer;
mod quota;
mod request;

use std::{convert::Infallible, sync::Arc, time::Duration};

use rand_chacha::ChaCha8Rng;
use rustls::ClientConfig;
use tokio::time::{Instant, sleep_until};

use self::{
    answer::{Answer, Asker, Failure, Validators},
    quota::Allowance,
};
pub use self::{
    quota::Quota,
    request::{AddressError, Credential, Request},
};
use super::{
    ReceiverClosed, Report, ReportSender,
    backoff::{self, Backoff},
    verdict::Judged,
};
use crate::normalize::{Interpret, Signal};

/// What is asked, and how patiently.
#[derive(Debug, Clone)]
pub struct Settings {
    pub requests: Vec<Request>,
    /// Whom to trust; see [`super::tls::client`].
    pub tls: Arc<ClientConfig>,
    /// How long a connection may take. Default: 5 s.
    pub connect_timeout: Duration,
    /// How long a request may take in all, to the last byte of its answer. Default: 15 s.
    pub timeout: Duration,
    /// Bytes of an answer, unpacked; a longer one is a failure. Default: 32 MiB, all of it in
    /// memory at once.
    pub body_bytes_max: usize,
    /// What the provider counts, and how much of it is not to be spent at full pace. Default: none.
    pub quotas: Vec<Quota>,
    /// The longest first wait after a failure. Default: 1 s.
    pub backoff_first: Duration,
    /// The longest wait after failures, and the wait after the provider has denied access (401,
    /// 403). Default: 60 s.
    pub backoff_most: Duration,
}

impl Settings {
    #[must_use]
    pub fn new(requests: Vec<Request>, tls: Arc<ClientConfig>) -> Self {
        Self {
            requests,
            tls,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(15),
            body_bytes_max: 32 << 20,
            quotas: Vec::new(),
            backoff_first: Duration::from_secs(1),
            backoff_most: Duration::from_secs(60),
        }
    }
}

/// Follows the provider until nobody listens any more.
pub async fn run(settings: Settings, interpreter: Box<dyn Interpret>, reports: ReportSender) {
    let mut poller = Poller::new(settings, interpreter, &reports);
    reports.until_closed(poller.follow()).await;
}

struct Poller<'a> {
    reports: &'a ReportSender,
    interpreter: Judged,
    asker: Asker,
    followed: Vec<Followed>,
    allowance: Allowance,
    backoff_most: Duration,
    /// Nothing is asked before: the provider has said so, or has denied access.
    not_before: Instant,
    /// Failures in a row, of whichever request.
    failures: u32,
    /// What was told last, as far as it need not be told again.
    recovering: bool,
    /// Answers that were interpreted.
    number: u64,
    dice: ChaCha8Rng,
}

/// A request and how it has gone.
struct Followed {
    request: Request,
    due: Instant,
    validators: Validators,
    content: Content,
    /// Failures in a row, of this one.
    failures: u32,
    /// It has failed so that what it last told cannot be relied on.
    missing: bool,
    backoff: Backoff,
}

/// What the last whole answer to a request was worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// There was none, or it said itself that something is lost.
    Incomplete,
    /// It said itself that it lags behind.
    Late,
    Whole,
}

impl<'a> Poller<'a> {
    fn new(settings: Settings, interpreter: Box<dyn Interpret>, reports: &'a ReportSender) -> Self {
        let now = Instant::now();
        let asker = Asker::new(&settings);
        let Settings { requests, quotas, backoff_first, backoff_most, .. } = settings;
        let backoff = Backoff::new(backoff_first, backoff_most);
        let followed =
            requests.into_iter().map(|request| Followed::new(request, backoff.clone(), now));
        Self {
            reports,
            interpreter: Judged::new(interpreter),
            asker,
            followed: followed.collect(),
            allowance: Allowance::new(quotas),
            backoff_most,
            not_before: now,
            failures: 0,
            recovering: false,
            number: 0,
            dice: backoff::dice(),
        }
    }

    async fn follow(&mut self) -> Result<Infallible, ReceiverClosed> {
        loop {
            let next = (0..self.followed.len()).min_by_key(|place| self.followed[*place].due);
            let Some(place) = next else { std::future::pending().await };
            sleep_until(self.followed[place].due.max(self.not_before)).await;
            self.poll(place).await?;
        }
    }

    async fn poll(&mut self, place: usize) -> Result<(), ReceiverClosed> {
        let began = Instant::now();
        let Followed { request, validators, .. } = &self.followed[place];
        let answered = self.asker.ask(request, validators).await;
        if let Some(headers) = &answered.headers {
            self.allowance.note(headers);
        }
        let taken = match answered.answer {
            Answer::Whole(body, validators) => self.interpret(place, &body, validators).await?,
            Answer::Unchanged => {
                self.reports.send(Report::Heartbeat).await?;
                Ok(())
            }
            Answer::Failed(failure) => Err(failure),
        };
        match taken {
            Ok(()) => self.succeeded(place, began).await,
            Err(failure) => self.failed(place, began, failure).await,
        }
    }

    /// What cannot be used is asked for again whole: an unchanged answer would be no better.
    async fn interpret(
        &mut self,
        place: usize,
        body: &[u8],
        validators: Validators,
    ) -> Result<Result<(), Failure>, ReceiverClosed> {
        self.number += 1;
        self.reports.message(&mut self.interpreter, body, self.number).await?;
        let followed = &mut self.followed[place];
        if self.interpreter.verdict.refused {
            followed.validators = Validators::default();
            let why = "the answer could not be used".to_owned();
            return Ok(Err(Failure::Unusable { why }));
        }
        followed.validators = validators;
        followed.content = match self.interpreter.verdict.signal {
            Some(Signal::Recovering) => Content::Incomplete,
            Some(Signal::Late) => Content::Late,
            Some(Signal::Fresh | Signal::Alive) | None => Content::Whole,
        };
        Ok(Ok(()))
    }

    async fn succeeded(&mut self, place: usize, began: Instant) -> Result<(), ReceiverClosed> {
        let now = self.reports.now();
        let followed = &mut self.followed[place];
        if !followed.backoff.is_connected() {
            followed.backoff.connected(now);
        }
        followed.failures = 0;
        followed.missing = false;
        followed.due = began + self.allowance.interval(followed.request.interval());
        self.failures = 0;
        self.say_how_it_is().await
    }

    async fn say_how_it_is(&mut self) -> Result<(), ReceiverClosed> {
        let any = |is: fn(&Followed) -> bool| self.followed.iter().any(is);
        // One that fails on and on keeps the source down, or it would go up and down for ever.
        if any(|it| it.missing) {
            return Ok(());
        }
        let report = if any(|it| it.content == Content::Incomplete) {
            if self.recovering {
                return Ok(());
            }
            Report::Recovering
        } else if any(|it| it.content == Content::Late) {
            Report::Late
        } else {
            Report::Live
        };
        self.recovering = report == Report::Recovering;
        self.reports.send(report).await
    }

    async fn failed(
        &mut self,
        place: usize,
        began: Instant,
        failure: Failure,
    ) -> Result<(), ReceiverClosed> {
        let followed = &mut self.followed[place];
        let wait = followed.backoff.failed(self.reports.now(), &mut self.dice);
        let now = Instant::now();
        followed.failures += 1;
        self.failures += 1;
        match failure {
            Failure::Passing { .. } => followed.due = now + wait,
            Failure::Unusable { .. } => {
                let interval = self.allowance.interval(followed.request.interval());
                followed.due = (began + interval).max(now + wait);
            }
            Failure::Wait { wait: asked, .. } => {
                followed.due = began + followed.request.interval();
                self.not_before = now + asked.unwrap_or(wait);
            }
            Failure::Denied { .. } => self.not_before = now + self.backoff_most,
        }
        let denied = matches!(failure, Failure::Denied { .. });
        if denied || followed.failures.max(self.failures) >= 2 {
            followed.missing = true;
            self.recovering = false;
            let why = format!("{}: {failure}", followed.request);
            return self.reports.send(Report::Down(why.into())).await;
        }
        Ok(())
    }
}

impl Followed {
    fn new(request: Request, backoff: Backoff, due: Instant) -> Self {
        Self {
            request,
            due,
            validators: Validators::default(),
            content: Content::Incomplete,
            failures: 0,
            missing: false,
            backoff,
        }
    }
}
