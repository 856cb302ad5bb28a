//! Sportradar's Unified Odds Feed: messages over AMQP 0.9.1, and recoveries requested over HTTP.
//!
//! The queue is deleted with its connection, so messages sent while disconnected are lost and must
//! be recovered. Each product (live odds, pre-match odds) sends `alive` every 10 seconds. A product
//! that does not, or that says that messages were missed, has a gap and is recovered too. One that is down is recovered in
//! full, since its markets were suspended. The source
//! continues from the position of an earlier run of the hub, which is reported whenever it changes. It
//! is `Live` while all its products are, and `Recovering` from a connection or a gap until the
//! `snapshot_complete` that ends the last recovery.
//!
//! Messages name events and markets by their ids. The fixture of each event is requested over HTTP when it first occurs, and
//! when a message says that it has changed; the descriptions of markets are requested at the start and each day. These
//! documents are interpreted like messages.
//!
//! A message is acknowledged once its results have been sent. A message that is too long is refused
//! after it was received, because AMQP has no limit that the client could set.

mod broker;
mod descriptions;
mod fixtures;
mod product;
mod rates;
mod recovery;

use std::{convert::Infallible, future, time::Duration};

use lapin::{message::Delivery, options::BasicAckOptions};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};

pub use self::{
    broker::Broker,
    product::Product,
    rates::{Rate, RecoveryRates},
    recovery::{Api, ApiError},
};
use self::{
    broker::BrokerSubscription,
    descriptions::Descriptions,
    fixtures::Fixtures,
    product::{Products, RecoveryRequest},
    recovery::{RecoveryClient, RecoveryError},
};
use crate::{
    Resume, SourceSender,
    config::SportradarUofConfig,
    reconnect::{ConnectionEnd, Disconnect, Reconnector},
    signal_capture::SignalCapture,
};
use base::{
    backoff::{self, Backoff},
    clock,
};
use hub::{feeds::FeedState, pipeline::HubStopped};
use ingest::{
    decode::sportradar_uof::ControlMessage,
    error::{DecodeError, RefusalKind},
    normalize::Interpret,
};

/// How to reach the feed, and its time limits.
#[derive(Debug, Clone)]
pub struct UofSettings {
    pub broker: Broker,
    pub api: Api,
    pub products: Vec<Product>,
    /// Whether the fixtures of events are requested, with the names of their sides.
    pub fixtures: bool,
    /// Whether the descriptions of markets are requested, with the names of markets and outcomes.
    pub descriptions: bool,
    /// A product without an `alive` message for this long has a gap. Default: that of the settings, twice the period of
    /// the messages and a second.
    pub alive_within: Duration,
    /// A recovery that takes longer is requested again. Default: 20 min, twice the duration of a
    /// full recovery of pre-match odds.
    pub recovery_within: Duration,
    /// How often the provider lets a product be recovered.
    pub recovery_rates: RecoveryRates,
    /// The longest message, in bytes. Default: 8 MiB.
    pub message_bytes_max: usize,
    /// The upper bound of the first wait after a disconnect, and after a refused recovery request.
    /// Default: 1 s.
    pub backoff_first: Duration,
    /// The longest wait after a disconnect. After a recovery was denied it is the first one, and doubles up to ten times as
    /// long. Default: 60 s.
    pub backoff_most: Duration,
}

impl UofSettings {
    #[must_use]
    pub fn new(broker: Broker, api: Api, products: Vec<Product>) -> Self {
        Self {
            broker,
            api,
            products,
            fixtures: SportradarUofConfig::fixtures(),
            descriptions: SportradarUofConfig::descriptions(),
            alive_within: Duration::from_millis(SportradarUofConfig::alive_ms()),
            recovery_within: Duration::from_secs(20 * 60),
            recovery_rates: RecoveryRates::default(),
            message_bytes_max: 8 << 20,
            backoff_first: Duration::from_secs(1),
            backoff_most: Duration::from_secs(60),
        }
    }

    /// Which messages the feed is of: a position of another one means nothing.
    fn feed(&self) -> String {
        let Broker { host, vhost, routing_keys, .. } = &self.broker;
        format!("{host} {vhost} {}", routing_keys.join(" "))
    }
}

/// Follows the feed until the hub has stopped. `route` is called with the routing
/// key of each message before the interpreter gets the body: only the key says which sport it is
/// about.
pub async fn run(
    settings: UofSettings,
    interpreter: Box<dyn Interpret>,
    route: impl FnMut(&str) + Send,
    mut sender: SourceSender,
) {
    let resume = sender.take_resume();
    let mut feed = OddsFeed::new(&settings, interpreter, route, &sender);
    if let Some(resume) = resume {
        feed.resume(resume);
    }
    let source = async {
        let mut reconnector = Reconnector::new(settings.backoff_first, settings.backoff_most);
        loop {
            let end = feed.follow(&mut reconnector).await;
            reconnector.wait(end, &sender).await?;
        }
    };
    sender.until_closed(source).await;
}

/// The next document of a fixture. Waits for ever if none are requested.
async fn next_fixture(fixtures: &mut Option<Fixtures>) -> Vec<u8> {
    match fixtures {
        Some(fixtures) => fixtures.answer().await,
        None => future::pending().await,
    }
}

/// The next document with descriptions. Waits for ever if none are requested.
async fn next_descriptions(descriptions: &mut Option<Descriptions>) -> Vec<u8> {
    match descriptions {
        Some(descriptions) => descriptions.answer().await,
        None => future::pending().await,
    }
}

struct OddsFeed<'a, R> {
    settings: &'a UofSettings,
    sender: &'a SourceSender,
    interpreter: SignalCapture,
    route: R,
    products: Products,
    recovery: RecoveryClient,
    /// `None` if they are not requested.
    fixtures: Option<Fixtures>,
    /// `None` if they are not requested.
    descriptions: Option<Descriptions>,
    /// The back-off after failed recovery requests.
    backoff: Backoff,
    /// That after denied ones.
    denials: Backoff,
    rng: ChaCha8Rng,
    /// Messages so far, for the place in a refusal.
    number: u64,
    /// The state reported last.
    live: bool,
}

/// A recovery request and its result.
type RecoveryResult = (RecoveryRequest, Result<(), RecoveryError>);

impl<'a, R: FnMut(&str) + Send> OddsFeed<'a, R> {
    fn new(
        settings: &'a UofSettings,
        interpreter: Box<dyn Interpret>,
        route: R,
        sender: &'a SourceSender,
    ) -> Self {
        let UofSettings { products, alive_within, recovery_within, recovery_rates, .. } =
            settings.clone();
        let mut rng = backoff::rng();
        // Random, so that the end of a recovery that an earlier run requested is not mistaken for ours.
        let first_id = rng.random_range(1..=0x3fff_ffff);
        let now = Instant::now();
        Self {
            settings,
            sender,
            interpreter: SignalCapture::new(interpreter),
            route,
            products: Products::new(
                products,
                alive_within,
                recovery_within,
                recovery_rates,
                first_id,
                now,
            ),
            recovery: RecoveryClient::new(settings.api.clone()),
            fixtures: settings.fixtures.then(|| Fixtures::start(settings, sender.name())),
            descriptions: settings
                .descriptions
                .then(|| Descriptions::start(settings, sender.name())),
            backoff: Backoff::new(settings.backoff_first, settings.backoff_most),
            denials: Backoff::new(settings.backoff_most, settings.backoff_most * 10),
            rng,
            number: 0,
            live: false,
        }
    }

    /// Goes on from where an earlier run has ended. Without what came before, only the limits of recoveries go on.
    fn resume(&mut self, Resume { position, matches }: Resume) {
        let (feed, wall_ms) = (self.settings.feed(), clock::now() / 1000);
        let feed = matches.as_ref().map(|_| &*feed);
        if self.products.resume(&position, feed, Instant::now(), wall_ms) {
            self.interpreter.resume(matches.unwrap_or_default());
        }
    }

    async fn report_position(&mut self) -> Result<(), HubStopped> {
        let (feed, wall_ms) = (self.settings.feed(), clock::now() / 1000);
        match self.products.take_position(&feed, Instant::now(), wall_ms) {
            Some(position) => self.sender.position(position.into()).await,
            None => Ok(()),
        }
    }

    async fn follow(&mut self, reconnector: &mut Reconnector) -> Result<Infallible, ConnectionEnd> {
        let mut messages = self.settings.broker.subscribe().await?;
        reconnector.connected();
        self.products.connected(Instant::now());
        self.live = false;
        self.sender.state(FeedState::Recovering).await?;
        let mut pending = JoinSet::new();
        self.request_recoveries(&mut pending);
        self.request_names();
        loop {
            self.step(&mut messages, &mut pending).await?;
            self.request_recoveries(&mut pending);
            self.request_names();
            self.report_state().await?;
            self.report_position().await?;
            if self.live {
                reconnector.succeeded();
            }
        }
    }

    /// Handles the next event. Messages have priority: an alive product must not count as silent
    /// because this task was busy.
    async fn step(
        &mut self,
        messages: &mut BrokerSubscription,
        pending: &mut JoinSet<RecoveryResult>,
    ) -> Result<(), ConnectionEnd> {
        let deadline = self.products.deadline();
        tokio::select! {
            biased;
            delivery = messages.next() => match delivery {
                Some(Ok(delivery)) => self.handle(delivery).await,
                Some(Err(error)) => Err(self.settings.broker.disconnect(&error).into()),
                None => Err(Disconnect::Broken("the broker ended the subscription".to_owned()).into()),
            },
            Some(Ok((request, result))) = pending.join_next() => {
                self.handle_recovery_result(&request, &result);
                Ok(())
            }
            document = next_fixture(&mut self.fixtures) => self.take(&document).await,
            document = next_descriptions(&mut self.descriptions) => self.take(&document).await,
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => Ok(()),
        }
    }

    /// Sends the next requests for names, if there are any.
    fn request_names(&mut self) {
        self.fixtures.iter_mut().for_each(Fixtures::request);
        self.descriptions.iter_mut().for_each(Descriptions::request);
    }

    /// Takes a document of the HTTP interface.
    async fn take(&mut self, document: &[u8]) -> Result<(), ConnectionEnd> {
        self.number += 1;
        Ok(self.sender.message(&mut self.interpreter, document, self.number).await?)
    }

    async fn handle(&mut self, delivery: Delivery) -> Result<(), ConnectionEnd> {
        self.number += 1;
        let body = delivery.data.as_slice();
        if body.len() > self.settings.message_bytes_max {
            let most = self.settings.message_bytes_max;
            let why = format!("a message of {} bytes is longer than {most}", body.len());
            let error = DecodeError::new(RefusalKind::TooLong, why);
            self.sender.refuse(error, self.number, body).await?;
        } else {
            (self.route)(delivery.routing_key.as_str());
            if let Some(fixtures) = &mut self.fixtures {
                fixtures.note(delivery.routing_key.as_str());
            }
            self.sender.message(&mut self.interpreter, body, self.number).await?;
            self.handle_control(body);
        }
        let acked = delivery.acker.ack(BasicAckOptions::default()).await;
        acked.map(|_| ()).map_err(|error| self.settings.broker.disconnect(&error).into())
    }

    fn handle_control(&mut self, body: &[u8]) {
        match ControlMessage::parse(body) {
            Some(ControlMessage::Alive { product, timestamp, subscribed }) => {
                self.products.alive(product, timestamp, subscribed, Instant::now());
            }
            Some(ControlMessage::SnapshotComplete { product, request_id }) => {
                let is_pending = self.products.complete(product, request_id);
                if is_pending {
                    self.backoff.succeeded();
                }
                // A product that is denied waits longer each time, however well another one does.
                if is_pending && self.products.all_live() {
                    self.denials.succeeded();
                }
            }
            Some(ControlMessage::Down { product }) => self.products.down(product),
            None => {}
        }
    }

    /// Requests the recoveries that are due. A full recovery of all products brings an image, so the
    /// interpreter drops its state; after a partial one the rest of its state stays valid.
    fn request_recoveries(&mut self, pending: &mut JoinSet<RecoveryResult>) {
        let requests = self.products.due_requests(Instant::now(), clock::now() / 1000);
        if requests.len() == self.settings.products.len()
            && requests.iter().all(|request| request.after.is_none())
        {
            self.interpreter.restart();
        }
        for request in requests {
            let recovery = self.recovery.clone();
            let product = self.products.name(request.index).to_owned();
            pending.spawn(async move {
                let result = recovery.send(&product, &request).await;
                (request, result)
            });
        }
    }

    fn handle_recovery_result(
        &mut self,
        request: &RecoveryRequest,
        result: &Result<(), RecoveryError>,
    ) {
        let Err(error) = result else { return };
        let now = clock::now();
        let wait = match error {
            RecoveryError::Unsent | RecoveryError::Transient => {
                self.backoff.failed(now, &mut self.rng)
            }
            RecoveryError::Denied(_) => {
                self.denials.failed(now, &mut self.rng).max(self.settings.backoff_most)
            }
        };
        tracing::warn!(
            source = &**self.sender.name(),
            product = self.products.name(request.index),
            wait_s = wait.as_secs(),
            %error,
            "a recovery was refused"
        );
        if matches!(error, RecoveryError::Unsent) {
            self.products.unsent(request);
        }
        self.products.failed(request, Instant::now() + wait);
    }

    async fn report_state(&mut self) -> Result<(), HubStopped> {
        let live = self.products.all_live();
        if live == self.live {
            return Ok(());
        }
        self.live = live;
        self.sender.state(if live { FeedState::Live } else { FeedState::Recovering }).await
    }
}
