//! The channels below `test/`: a made-up match for ever, whose whole output is known in advance.
//!
//! Time is divided into rounds of [`ROUND_US`], counted from 1970. Each has a match of its own, and all that is published
//! in it follows from its number and the program's version: the documents, the numbers, the times, the epoch. So all hubs
//! of a version publish the same at the same time, a hub that starts in the middle of a round continues it, and
//! [`TestTruth`] lists the whole round, with the hash of each document.
//!
//! The rounds have a hub of their own, without a log, an archive and a part in anything else. Requests about its channels
//! reach it through [`TestHost`]. Nothing is played before the first one.

mod round;
mod truth;

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use base::work::measure;
use facts::event::Timed;
use fanout::{
    ChannelId, Epoch, Fanout, Micros, Position,
    catch_up::{Cost, Host, HostRequest, HostResponse, Located, Requester, ShardRequest},
    channel::is_test,
    replay::ReplayRequest,
};
use metrics::counter;
use tokio::sync::{mpsc, oneshot, watch};

use self::round::Round;
pub use self::truth::{RoundSummary, TestTruth};
use crate::{
    catch_up::WorkBudget,
    clock::now,
    pipeline::{HubHandle, Request},
};

/// How long a round lasts.
pub const ROUND_US: Micros = 300_000_000;

/// The number of a round, counted from 1970.
pub type RoundNumber = u32;

/// The match of a round.
#[derive(Clone)]
pub struct TestMatch(Arc<dyn Fn(RoundNumber) -> Vec<Timed> + Send + Sync>);

impl fmt::Debug for TestMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestMatch")
    }
}

impl TestMatch {
    /// `play`: all that happens in the match of a round, in order, with the times at which it is published. The same for the
    /// same number, in every process. What is later than the end of the round is left out.
    pub fn new(play: impl Fn(RoundNumber) -> Vec<Timed> + Send + Sync + 'static) -> Self {
        Self(Arc::new(play))
    }
}

/// The round at this time.
fn round_at(at: Micros) -> RoundNumber {
    RoundNumber::try_from(at / ROUND_US).unwrap_or_default()
}

/// When a round begins.
#[must_use]
pub fn begins(round: RoundNumber) -> Micros {
    Micros::from(round) * ROUND_US
}

/// The epoch of a round. Another version may render documents differently.
fn epoch_of(round: RoundNumber) -> Epoch {
    let version = env!("CARGO_PKG_VERSION").bytes();
    let version = version.fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    // Neighbours in both have different epochs.
    Epoch(version.wrapping_mul(1 << 20).wrapping_add(round))
}

/// The pause before the hub is asked again, which cannot answer while the log refuses records.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// Sends requests about test channels to them, and all others to the host.
#[derive(Debug)]
pub struct TestHost<H> {
    pub host: H,
    /// Has room for as many requests as there may be sockets, since each has at most one open request. `None`: there are no
    /// test channels, and the host says so.
    pub tests: Option<mpsc::Sender<ShardRequest>>,
}

/// Whether a request is about test channels, at least in part.
fn concerns_tests(request: &HostRequest) -> bool {
    match request {
        HostRequest::CatchUp { channel: pattern, .. }
        | HostRequest::MatchChannels { pattern, .. } => is_test(pattern.as_str()),
        HostRequest::Locate { channels } => channels.iter().any(|(name, _)| is_test(name.as_str())),
        HostRequest::StartGroup { .. } => false,
    }
}

impl<H: Host> Host for TestHost<H> {
    fn submit(&self, request: ShardRequest) {
        match &self.tests {
            Some(tests) if concerns_tests(&request.request) => {
                if tests.try_send(request).is_err() {
                    // Only while stopping: the queue has room for a request of every socket.
                    counter!("matchwire_questions_dropped_total").increment(1);
                }
            }
            _ => self.host.submit(request),
        }
    }

    fn offers_replays(&self) -> bool {
        self.host.offers_replays()
    }

    fn replay(&self, request: ReplayRequest) {
        self.host.replay(request);
    }

    fn stamp(&self) -> Micros {
        self.host.stamp()
    }

    fn time_of_day(&self) -> Micros {
        self.host.time_of_day()
    }
}

/// The cost limit of an answer, see [`WorkBudget`].
const ANSWER_WORK: usize = 64 * 1024;

/// Numbers of test channels begin after this one, so that they are not those of the hub's own channels.
const NUMBERS_AFTER: u32 = 1 << 30;

/// Plays the rounds, and answers requests about them.
#[derive(Debug)]
pub struct TestChannels {
    play: TestMatch,
    hub_handle: HubHandle,
    fanout: Fanout,
    /// The running one, after the first request.
    round: Option<Round>,
}

impl TestChannels {
    #[must_use]
    pub fn new(play: TestMatch, hub_handle: HubHandle, fanout: Fanout) -> Self {
        Self { play, hub_handle, fanout, round: None }
    }

    /// Runs until `stopped` turns true.
    pub async fn run(
        mut self,
        mut requests: mpsc::Receiver<ShardRequest>,
        mut stopped: watch::Receiver<bool>,
    ) {
        loop {
            let due = self.round.as_ref().map(Round::due);
            tokio::select! {
                request = requests.recv() => match request {
                    Some(request) => {
                        self.advance(now());
                        self.answer(request);
                    }
                    None => return,
                },
                () = until(due.unwrap_or_default()), if due.is_some() => self.advance(now()),
                _ = stopped.wait_for(|stop| *stop) => return,
            }
        }
    }

    /// Publishes what is due, and begins the round of this time, if it is another one.
    fn advance(&mut self, now: Micros) {
        let mut changes = Vec::new();
        let number = round_at(now);
        let mut round = match self.round.take() {
            Some(round) if round.number() == number => round,
            earlier => {
                let mut numbers = NUMBERS_AFTER;
                if let Some(mut earlier) = earlier {
                    earlier.advance(now, &mut changes);
                    numbers = earlier.close(&mut changes);
                }
                Round::begin(number, &self.play, numbers, &mut changes)
            }
        };
        round.advance(now, &mut changes);
        self.round = Some(round);
        if !changes.is_empty() {
            self.fanout.publish(&changes);
        }
    }

    fn answer(&mut self, ShardRequest { requester, request }: ShardRequest) {
        let Some(round) = &mut self.round else { return };
        let mut work = WorkBudget::up_to(ANSWER_WORK);
        let (response, used) = measure(|| round.hub().answer_within(&request, &mut work));
        let cost = Cost { bytes: work.spent, used };
        match (request, response) {
            (HostRequest::Locate { channels }, HostResponse::Located(located)) => {
                self.locate_others(requester, channels, located, cost);
            }
            (_, response) => self.fanout.respond(requester, response, cost),
        }
    }

    /// Completes the answer about channels of which some are the hub's.
    fn locate_others(
        &self,
        requester: Requester,
        channels: Vec<(ChannelId, Option<Position>)>,
        mut located: Vec<Option<Located>>,
        cost: Cost,
    ) {
        let is_other = |(name, _): &(ChannelId, _)| !is_test(name.as_str());
        let places: Vec<usize> =
            (0..channels.len()).filter(|index| is_other(&channels[*index])).collect();
        let others: Vec<_> = channels.into_iter().filter(is_other).collect();
        let (fanout, hub) = (self.fanout.clone(), self.hub_handle.clone());
        let respond = move |located, cost| {
            fanout.respond(requester, HostResponse::Located(located), cost);
        };
        if others.is_empty() {
            return respond(located, cost);
        }
        // There is at most one for each socket.
        tokio::spawn(async move {
            let (found, others_cost) = loop {
                let (reply, answer) = oneshot::channel();
                let request = HostRequest::Locate { channels: others.clone() };
                if hub.requests.send(Request::CatchUp { request, reply }).await.is_err() {
                    return;
                }
                match answer.await {
                    Ok((HostResponse::Located(found), cost)) => break (found, cost),
                    Ok(_) => return,
                    Err(_) => tokio::time::sleep(RETRY_AFTER).await,
                }
            };
            for (index, found) in places.into_iter().zip(found) {
                located[index] = found;
            }
            respond(located, cost + others_cost);
        });
    }
}

async fn until(due: Micros) {
    let wait = u64::try_from(due - now()).unwrap_or(0);
    tokio::time::sleep(Duration::from_micros(wait)).await;
}
