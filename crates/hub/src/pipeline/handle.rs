//! The handle of the hub: what other threads and tasks send to the writer, and the queues for it.
//!
//! Both queues are bounded. A source waits until there is room for its input. The fan-out never waits: the
//! queue of requests has room for one request of each socket.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use base::work::{self, Payer, Pool};
use facts::event::Batch;
use fanout::{
    Micros, Seq,
    catch_up::{Cost, Host, HostRequest, HostResponse, ShardRequest},
    channel::ChannelId,
};
use ingest::error::Refusal;
use log::EncodedRecords;
use metrics::counter;
use tokio::sync::{mpsc, oneshot, watch};

use super::waiting::{LeaderLink, ReaderNumber};
use crate::{
    catch_up::ChannelImage,
    clock::{self, now},
    forward::{LeaderRequest, LegacyUse},
    hub::{
        HubInput, HubSettings, SourceFacts,
        feeds::{Health, SourceNumber, SourcePolicy},
    },
    identity::NumberedOrder,
    ids::PublicIds,
    push::PushRequest,
    signals::SignalSettings,
    supervisor::fault,
    watch::ChannelWatches,
};

/// What a source sends to the writer.
#[derive(Debug)]
pub enum Input {
    /// An input of the hub. The writer applies it at its own time instead of the time at which it was sent.
    Hub(HubInput),
    /// Several batches at once, of a source that produces many per millisecond.
    Batches { source: SourceNumber, batches: Vec<Batch>, received: Micros },
    /// A push. The first one registers its source.
    Push(Box<PushRequest>),
    /// A message that could not be used, for the quarantine.
    Refused { source: SourceNumber, refusal: Refusal },
    /// Answered when all inputs before are in the log: with the time of the source's last message, if there was one.
    Committed { source: SourceNumber, reply: oneshot::Sender<Option<Micros>> },
}

impl From<HubInput> for Input {
    fn from(input: HubInput) -> Self {
        Self::Hub(input)
    }
}

/// A request to the writer.
#[derive(Debug)]
pub enum Request {
    FanOut(ShardRequest),
    /// The image of a channel, as soon as it has reached `at_least`.
    Image {
        channel: String,
        at_least: Seq,
        /// Who has a limited number of requests that wait.
        payer: Payer,
        /// With the processor time that it took.
        reply: oneshot::Sender<(Option<ChannelImage>, Duration)>,
    },
    /// The names of all open channels, in no order.
    Channels(oneshot::Sender<Vec<ChannelId>>),
    /// What leads a reader within the process from its position to the head of a channel: as for a
    /// subscriber, from the tail or as the image.
    CatchUp {
        request: HostRequest,
        /// With what it cost.
        reply: oneshot::Sender<(HostResponse, Cost)>,
    },
    /// An operator's order about matches.
    Order(NumberedOrder),
    /// A source that runs from now on, with its first health, or one that has another policy. It is registered, unless
    /// there is one of this name and kind.
    Source {
        name: Arc<str>,
        kind: &'static str,
        policy: SourcePolicy,
        health: Option<Health>,
        reply: oneshot::Sender<SourceNumber>,
    },
    /// What the hub has of a source.
    Facts {
        source: SourceNumber,
        reply: oneshot::Sender<SourceFacts>,
    },
    /// What sources told that are not among these, and do not push, is void.
    RetireOthers(Vec<SourceNumber>),
    /// Channels of the older sockets have followers on another node.
    KeepLegacy(Vec<LegacyUse>),
    Stop,
}

/// What drives a hub that shares its log with others, in order.
#[derive(Debug)]
pub enum DriverInput {
    /// Records that the leader has committed.
    Records(EncodedRecords),
    /// This hub leads from now on: it applies inputs of its own, with these settings. Answered when it does.
    Lead { settings: HubSettings, signals: SignalSettings, reply: oneshot::Sender<()> },
    /// It no longer leads. Answered when all that it has applied is in the log.
    Yield(oneshot::Sender<()>),
    /// The records sent before include all that the log had after the readers up to this one began to wait
    /// ([`HubHandle::waiting_readers`]).
    CaughtUp(ReaderNumber),
}

/// The sending ends of the writer's queues.
#[derive(Debug, Clone)]
pub struct HubHandle {
    pub inputs: InputSender,
    pub requests: mpsc::Sender<Request>,
    /// Notices changes of single channels.
    pub watches: ChannelWatches,
    /// Makes the hub lead, or follow another one.
    pub driver: mpsc::Sender<DriverInput>,
    /// What this hub asks of the leader's.
    pub(crate) leader: mpsc::Sender<LeaderRequest>,
    /// The last reader that began to wait for what the shared log has.
    pub waiting_readers: watch::Receiver<ReaderNumber>,
    leadership: Arc<Leadership>,
}

/// Whether this hub leads, for other threads.
#[derive(Debug)]
pub(super) struct Leadership {
    leads: AtomicBool,
    /// It leads, or has led and no other hub has since.
    led_last: AtomicBool,
}

impl Leadership {
    fn new() -> Self {
        Self { leads: AtomicBool::new(true), led_last: AtomicBool::new(true) }
    }

    /// `follows`: records of another hub have come.
    pub(super) fn set(&self, leads: bool, follows: bool) {
        self.leads.store(leads, Ordering::Release);
        if leads || follows {
            self.led_last.store(leads, Ordering::Release);
        }
    }
}

/// Sends inputs to the hub. Replaces digests by public ids, on the thread or task of the source.
#[derive(Debug, Clone)]
pub struct InputSender {
    queue: mpsc::Sender<Input>,
    ids: Option<PublicIds>,
}

type HubResult<T> = Result<T, HubStopped>;

/// The hub no longer accepts inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HubStopped;

/// A reserved place in the queue for one input.
#[derive(Debug)]
pub struct InputPermit<'a> {
    permit: mpsc::Permit<'a, Input>,
    ids: Option<&'a PublicIds>,
}

impl InputSender {
    /// `ids`: `None` where a source is followed without a hub, and ids stay digests.
    #[must_use]
    pub fn new(queue: mpsc::Sender<Input>, ids: Option<PublicIds>) -> Self {
        Self { queue, ids }
    }

    /// Waits until the hub has stopped.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }

    /// Sends an input; waits for room in the queue.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn send(&self, input: impl Into<Input>) -> HubResult<()> {
        self.reserve().await?.put(input.into());
        Ok(())
    }

    /// Sends an input from a blocking thread.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub fn blocking_send(&self, input: impl Into<Input>) -> HubResult<()> {
        let mut input: Input = input.into();
        input.number(self.ids.as_ref());
        self.queue.blocking_send(input).map_err(|_| HubStopped)
    }

    /// Waits for room in the queue.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn reserve(&self) -> HubResult<InputPermit<'_>> {
        let permit = self.queue.reserve().await.map_err(|_| HubStopped)?;
        Ok(InputPermit { permit, ids: self.ids.as_ref() })
    }

    #[cfg(test)]
    pub(crate) fn try_reserve(&self) -> HubResult<InputPermit<'_>> {
        let permit = self.queue.try_reserve().map_err(|_| HubStopped)?;
        Ok(InputPermit { permit, ids: self.ids.as_ref() })
    }
}

impl InputPermit<'_> {
    pub fn put(self, mut input: Input) {
        input.number(self.ids);
        self.permit.send(input);
    }
}

impl Input {
    /// Replaces digests by public ids.
    fn number(&mut self, ids: Option<&PublicIds>) {
        let Some(ids) = ids else { return };
        match self {
            Self::Hub(HubInput::Batch { batch, .. }) => ids.number_batch(batch),
            Self::Batches { batches, .. } => {
                batches.iter_mut().for_each(|batch| ids.number_batch(batch));
            }
            Self::Push(pushed) => {
                pushed.lines.iter_mut().for_each(|line| ids.number_batch(&mut line.batch));
            }
            Self::Hub(_) | Self::Refused { .. } | Self::Committed { .. } => {}
        }
    }
}

/// The receiving ends, which the writer holds.
#[derive(Debug)]
pub struct HubReceivers {
    pub(super) inputs: mpsc::Receiver<Input>,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) watches: ChannelWatches,
    pub(super) driver: mpsc::Receiver<DriverInput>,
    pub(super) link: LeaderLink,
    pub(super) leadership: Arc<Leadership>,
    leader_requests: Option<mpsc::Receiver<LeaderRequest>>,
}

/// Requests to the leader's hub that may wait for the node. Beyond it a push waits.
const LEADER_REQUESTS_MAX: usize = 64;

/// Inputs of its driver that may wait for the writer. Beyond it the log is read no further.
const DRIVER_INPUTS_MAX: usize = 16;

impl HubHandle {
    /// Whether this hub applies inputs of its own sources. Always, unless it follows another one.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.leadership.leads.load(Ordering::Acquire)
    }

    /// Whether this hub leads, or has given up the lead and has not seen anything of another one since: nobody else writes
    /// what it did last.
    #[must_use]
    pub fn led_last(&self) -> bool {
        self.leadership.led_last.load(Ordering::Acquire)
    }

    /// Whether other hubs take pushes too.
    pub fn has_peers(&self) -> bool {
        !self.leader.is_closed()
    }

    /// The names of all open channels, in no order.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn channels(&self) -> HubResult<Vec<ChannelId>> {
        self.ask(Request::Channels).await
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> HubResult<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.map_err(|_| HubStopped)?;
        answer.await.map_err(|_| HubStopped)
    }

    /// The image of a channel; `None` if there is no such channel.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn image(&self, channel: &str) -> HubResult<Option<ChannelImage>> {
        self.image_at(channel, 0).await
    }

    /// The image of a channel, as soon as it has reached a sequence. The payer of the calling task is charged.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn image_at(&self, channel: &str, at_least: Seq) -> HubResult<Option<ChannelImage>> {
        let payer = work::current().map_or(Payer::Hub, |(_, payer)| payer);
        let channel = channel.to_owned();
        let request = |reply| Request::Image { channel, at_least, payer, reply };
        let (image, used) = self.ask(request).await?;
        charge(used);
        Ok(image)
    }

    /// What leads from a position to the head of a channel, and where channels stand. The payer of the calling task is
    /// charged.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn catch_up(&self, request: HostRequest) -> HubResult<HostResponse> {
        let (response, cost) = self.ask(|reply| Request::CatchUp { request, reply }).await?;
        charge(cost.used);
        Ok(response)
    }

    /// Registers a source with its first health, or finds the one of this name and kind.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn source(
        &self,
        name: &Arc<str>,
        kind: &'static str,
        policy: SourcePolicy,
        health: Option<Health>,
    ) -> HubResult<SourceNumber> {
        let name = Arc::clone(name);
        self.ask(|reply| Request::Source { name, kind, policy, health, reply }).await
    }

    /// What the hub has of a source.
    ///
    /// # Errors
    ///
    /// If the hub has stopped, or no longer leads.
    pub async fn source_facts(&self, source: SourceNumber) -> HubResult<SourceFacts> {
        self.ask(|reply| Request::Facts { source, reply }).await
    }
}

/// Charges the writer's time to the payer of the calling task, if it has one.
fn charge(used: Duration) {
    if let Some((work, payer)) = work::current() {
        work.charge(payer, Pool::Writer, used, work.now());
    }
}

/// Creates the writer's queues. `inputs_max`: batches that may wait. `requests_max`: the maximum
/// number of sockets, since each has at most one open question, plus some for readers over HTTP.
#[must_use]
pub fn channel(
    inputs_max: usize,
    requests_max: usize,
    ids: PublicIds,
) -> (HubHandle, HubReceivers) {
    let (queue, input_queue) = mpsc::channel(inputs_max);
    let inputs = InputSender::new(queue, Some(ids));
    let (requests, request_queue) = mpsc::channel(requests_max);
    let watches = ChannelWatches::default();
    let (driver, driver_queue) = mpsc::channel(DRIVER_INPUTS_MAX);
    let (leader, leader_requests) = mpsc::channel(LEADER_REQUESTS_MAX);
    let (last, waiting_readers) = watch::channel(0);
    let leadership = Arc::new(Leadership::new());
    let receivers = HubReceivers {
        inputs: input_queue,
        requests: request_queue,
        watches: watches.clone(),
        driver: driver_queue,
        link: LeaderLink { requests: leader.clone(), last },
        leadership: Arc::clone(&leadership),
        leader_requests: Some(leader_requests),
    };
    let handle =
        HubHandle { inputs, requests, watches, driver, leader, waiting_readers, leadership };
    (handle, receivers)
}

impl HubReceivers {
    /// What the hub asks of the leader's. Once.
    pub fn take_leader_requests(&mut self) -> Option<mpsc::Receiver<LeaderRequest>> {
        self.leader_requests.take()
    }
}

#[cfg(test)]
impl HubReceivers {
    /// The next input, for tests without a hub.
    pub(crate) async fn next_input(&mut self) -> Option<Input> {
        self.inputs.recv().await
    }
}

impl Host for HubHandle {
    fn submit(&self, request: ShardRequest) {
        // On the thread of the requesting shard.
        fault::point();
        if self.requests.try_send(Request::FanOut(request)).is_err() {
            // Only while stopping: the queue has room for a question of every socket.
            counter!("matchwire_questions_dropped_total").increment(1);
        }
    }

    fn stamp(&self) -> Micros {
        now()
    }

    fn time_of_day(&self) -> Micros {
        clock::wall()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hub_that_gives_up_the_lead_has_led_last_until_it_follows_another_one() {
        let (handle, receivers) = channel(1, 1, PublicIds::default());
        let state = || (handle.leads(), handle.led_last());
        receivers.leadership.set(false, true);
        assert_eq!(state(), (false, false));
        receivers.leadership.set(true, false);
        assert_eq!(state(), (true, true));
        receivers.leadership.set(false, false);
        assert_eq!(state(), (false, true), "it gives up the lead");
        receivers.leadership.set(false, true);
        receivers.leadership.set(false, false);
        assert_eq!(state(), (false, false), "another one leads");
    }
}
