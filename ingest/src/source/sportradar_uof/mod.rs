//! Sportradar's Unified Odds Feed: messages over AMQP 0.9.1, and recoveries that are asked for over
//! HTTP.
//!
//! A queue of our own ends with its connection, so what is sent meanwhile is lost and must be asked
//! for. Each product (live odds, pre-match odds) says every few seconds that it is alive; one that
//! does not, or that says that we miss messages, has a gap and is recovered too. The source is
//! `Live` while all its products are, and `Recovering` from a connection or a gap to the
//! `snapshot_complete` that ends the last recovery.
//!
//! Messages are acknowledged once what they say has been handed on. A message that is too long is
//! refused after it was received: the protocol has no limit that could be told to the broker.

mod broker;
mod control;
mod product;
mod recovery;

use std::{convert::Infallible, time::Duration};

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
    recovery::{Api, ApiError},
};
use self::{
    broker::Subscription,
    control::Control,
    product::{Ask, Products},
    recovery::{Recovery, Refused},
};
use super::{
    ReceiverClosed, Report, ReportSender,
    again::{Again, Cut, End},
    backoff::{self, Backoff},
    verdict::Judged,
};
use crate::{
    error::{DecodeError, Place, Refusal, RefusalKind},
    normalize::Interpret,
};

/// Where the feed is, and what is expected of it.
#[derive(Debug, Clone)]
pub struct Settings {
    pub broker: Broker,
    pub api: Api,
    pub products: Vec<Product>,
    /// A product that does not say that it is alive for so long has a gap. Default: 10 s.
    pub alive_within: Duration,
    /// A recovery that takes longer is asked for again. Default: 20 min, twice what a full one of
    /// pre-match odds takes.
    pub recovery_within: Duration,
    /// Bytes of a message. Default: 8 MiB.
    pub message_bytes_max: usize,
    /// The longest first wait after a cut, and after a recovery was refused. Default: 1 s.
    pub backoff_first: Duration,
    /// The longest wait after cuts, and the wait after access was denied. Default: 60 s.
    pub backoff_most: Duration,
}

impl Settings {
    #[must_use]
    pub fn new(broker: Broker, api: Api, products: Vec<Product>) -> Self {
        Self {
            broker,
            api,
            products,
            alive_within: Duration::from_secs(10),
            recovery_within: Duration::from_secs(20 * 60),
            message_bytes_max: 8 << 20,
            backoff_first: Duration::from_secs(1),
            backoff_most: Duration::from_secs(60),
        }
    }
}

/// Follows the feed until nobody listens any more. `route` is told the routing key of each message
/// before the interpreter gets its body: the key alone says which sport it is about.
pub async fn run(
    settings: Settings,
    interpreter: Box<dyn Interpret>,
    route: impl FnMut(&str) + Send,
    reports: ReportSender,
) {
    let mut feed = Feed::new(&settings, interpreter, route, &reports);
    let followed = async {
        let mut again = Again::new(settings.backoff_first, settings.backoff_most);
        loop {
            let end = feed.follow(&mut again).await;
            again.wait(end, &reports).await?;
        }
    };
    reports.until_closed(followed).await;
}

struct Feed<'a, R> {
    settings: &'a Settings,
    reports: &'a ReportSender,
    interpreter: Judged,
    route: R,
    products: Products,
    recovery: Recovery,
    /// Of recoveries that are refused.
    backoff: Backoff,
    dice: ChaCha8Rng,
    /// Messages, for places.
    number: u64,
    /// What was told last.
    live: bool,
}

/// What became of a request for a recovery.
type Asked = (Ask, Result<(), Refused>);

impl<'a, R: FnMut(&str) + Send> Feed<'a, R> {
    fn new(
        settings: &'a Settings,
        interpreter: Box<dyn Interpret>,
        route: R,
        reports: &'a ReportSender,
    ) -> Self {
        let Settings { products, alive_within, recovery_within, .. } = settings.clone();
        let mut dice = backoff::dice();
        // By chance, so that the end of a recovery that another run of ours asked for is not ours.
        let first_id = dice.random_range(1..=0x3fff_ffff);
        let now = Instant::now();
        Self {
            settings,
            reports,
            interpreter: Judged::new(interpreter),
            route,
            products: Products::new(products, alive_within, recovery_within, first_id, now),
            recovery: Recovery::new(settings.api.clone()),
            backoff: Backoff::new(settings.backoff_first, settings.backoff_most),
            dice,
            number: 0,
            live: false,
        }
    }

    async fn follow(&mut self, again: &mut Again) -> Result<Infallible, End> {
        let mut messages = self.settings.broker.subscribe().await?;
        again.connected(self.reports);
        self.products.connected(Instant::now());
        self.live = false;
        self.reports.send(Report::Recovering).await?;
        let mut asked = JoinSet::new();
        self.ask(&mut asked);
        loop {
            self.step(&mut messages, &mut asked).await?;
            self.ask(&mut asked);
            self.tell().await?;
        }
    }

    /// Takes what comes next. Messages go first: a product that is alive must not be taken for
    /// silent because we were busy.
    async fn step(
        &mut self,
        messages: &mut Subscription,
        asked: &mut JoinSet<Asked>,
    ) -> Result<(), End> {
        let deadline = self.products.deadline();
        tokio::select! {
            biased;
            delivery = messages.next() => match delivery {
                Some(Ok(delivery)) => self.take(delivery).await,
                Some(Err(error)) => Err(self.settings.broker.cut(&error).into()),
                None => Err(Cut::Broken("the broker ended the subscription".to_owned()).into()),
            },
            Some(Ok((ask, answered))) = asked.join_next() => {
                self.answered(&ask, &answered);
                Ok(())
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => Ok(()),
        }
    }

    async fn take(&mut self, delivery: Delivery) -> Result<(), End> {
        self.number += 1;
        let body = delivery.data.as_slice();
        if body.len() > self.settings.message_bytes_max {
            let refused = self.too_long(body);
            self.reports.send(Report::Refused(refused)).await?;
        } else {
            (self.route)(delivery.routing_key.as_str());
            self.reports.message(&mut self.interpreter, body, self.number).await?;
            self.control(body);
        }
        let acked = delivery.acker.ack(BasicAckOptions::default()).await;
        acked.map(|_| ()).map_err(|error| self.settings.broker.cut(&error).into())
    }

    fn too_long(&self, body: &[u8]) -> Refusal {
        let most = self.settings.message_bytes_max;
        let why = format!("a message of {} bytes is longer than {most}", body.len());
        let error = DecodeError::new(RefusalKind::TooLong, why);
        let place = Place { file: self.reports.name().clone(), line: self.number };
        Refusal::new(error, place, body)
    }

    fn control(&mut self, body: &[u8]) {
        match Control::of(body) {
            Some(Control::Alive { product, timestamp, subscribed }) => {
                self.products.alive(product, timestamp, subscribed, Instant::now());
            }
            Some(Control::SnapshotComplete { product, request_id }) => {
                let awaited = self.products.complete(product, request_id);
                if awaited {
                    self.backoff.connected(self.reports.now());
                }
            }
            None => {}
        }
    }

    /// Asks for what must be recovered. Where it is everything of all products, an image follows and
    /// what the interpreter knew is no longer to be relied on; else what is not told anew is as it
    /// was.
    fn ask(&mut self, asked: &mut JoinSet<Asked>) {
        let asks = self.products.due(Instant::now(), self.reports.now() / 1000);
        if asks.len() == self.settings.products.len() && asks.iter().all(|ask| ask.after.is_none())
        {
            self.interpreter.restart();
        }
        for ask in asks {
            let recovery = self.recovery.clone();
            let product = self.products.name(ask.place).to_owned();
            asked.spawn(async move {
                let answered = recovery.ask(&product, &ask).await;
                (ask, answered)
            });
        }
    }

    fn answered(&mut self, ask: &Ask, answered: &Result<(), Refused>) {
        let Err(refused) = answered else { return };
        let wait = self.backoff.failed(self.reports.now(), &mut self.dice);
        let wait = match refused {
            Refused::Passing => wait,
            Refused::Denied => self.settings.backoff_most,
        };
        self.products.refused(ask, Instant::now() + wait);
    }

    async fn tell(&mut self) -> Result<(), ReceiverClosed> {
        let live = self.products.all_live();
        if live == self.live {
            return Ok(());
        }
        self.live = live;
        self.reports.send(if live { Report::Live } else { Report::Recovering }).await
    }
}
