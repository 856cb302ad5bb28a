//! Clients of one account without add-ons, which call any node as fast as they can: together they get as many answers as
//! its quota has calls, and never one more.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base::{Micros, clock::now};
use jiff::Timestamp;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{client::Phase, http, hub::Site, rng::Rng};

/// The setting `limits.football_per_day` of the nodes.
pub(crate) const PER_DAY: u64 = 1_000;

/// What a node leases of the quota at most: a sixteenth.
const LEASE_MAX: u64 = PER_DAY / 16;

/// How long after an outage a node may have no answer of PostgreSQL: a call that waited for a connection when it ended may
/// do so for `database.acquire_ms`, and then the node does not ask for a second.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(5 + 1);

/// What a node logs if it waited for a connection to PostgreSQL for `database.acquire_ms`, as on a busy machine.
const WAITED: &str = "pool timed out";

/// How far such a line and a call may be apart that was served uncounted for the same reason: the wait of up to 5 s, after
/// which the node does not ask for a second, and the clocks of nodes.
const WAITED_US: Micros = 7_000_000;

/// The calls of all clients.
#[derive(Debug, Default)]
pub(crate) struct QuotaUse {
    /// While the nodes reach PostgreSQL: when they were sent, and to which node.
    admitted: Mutex<Vec<(Micros, String)>>,
    /// While the node may not have reached it: then calls are served that nobody counts.
    uncounted: AtomicU64,
    refused: AtomicU64,
    /// Without a response: a node may have counted them.
    unknown: AtomicU64,
    outages: Mutex<Vec<Outage>>,
}

/// PostgreSQL was out of reach.
#[derive(Debug)]
struct Outage {
    /// The address of the only node that did not reach it, if the others did.
    node: Option<String>,
    ended: Option<Instant>,
}

/// Calls until the run is over.
pub(crate) async fn use_up(
    mut rng: Rng,
    key: String,
    quota: Arc<QuotaUse>,
    ready: Arc<Mutex<Vec<String>>>,
    phase: watch::Receiver<Phase>,
) {
    let token = format!("Token {key}");
    while matches!(*phase.borrow(), Phase::Running) {
        sleep(rng.millis(5, 60)).await;
        let nodes = ready.lock().expect("no panic").clone();
        if nodes.is_empty() {
            continue;
        }
        let node = &nodes[rng.index(nodes.len())];
        let headers = [("authorization", &*token)];
        let (sent, sent_at) = (Instant::now(), now());
        let count = match http::get(node, "/api/v2/events/?limit=1", &headers).await {
            Ok(response) if response.status == 429 => {
                sleep(Duration::from_millis(100)).await;
                &quota.refused
            }
            Ok(response) if response.status == 200 => {
                if quota.was_away(node, sent) {
                    &quota.uncounted
                } else {
                    let call = (sent_at, node.clone());
                    quota.admitted.lock().expect("no panic").push(call);
                    continue;
                }
            }
            Ok(_) | Err(http::Failure::NoResponse) => &quota.unknown,
            Err(http::Failure::NotSent) => continue,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl QuotaUse {
    /// Nodes do not reach PostgreSQL from now on: all of them, or the one at this address.
    pub(crate) fn database_is_away(&self, node: Option<&str>) {
        let outage = Outage { node: node.map(str::to_owned), ended: None };
        self.outages.lock().expect("no panic").push(outage);
    }

    /// They reach it again.
    pub(crate) fn database_is_back(&self) {
        if let Some(outage) = self.outages.lock().expect("no panic").last_mut() {
            outage.ended = Some(Instant::now());
        }
    }

    /// Whether a node may have had no answer of PostgreSQL to a call that was sent then.
    fn was_away(&self, node: &str, sent: Instant) -> bool {
        let outages = self.outages.lock().expect("no panic");
        outages.iter().any(|Outage { node: only, ended }| {
            only.as_ref().is_none_or(|only| only == node)
                && ended.is_none_or(|ended| sent <= ended + ASKED_AGAIN_AFTER)
        })
    }

    /// Calls while their node had to wait for PostgreSQL for too long.
    fn uncounted_by(&self, site: &Site) -> u64 {
        let output = site.output();
        let lines = output.lines().filter(|line| line.contains(WAITED));
        let times = lines.filter_map(|line| line.split_once(' ')?.0.parse::<Timestamp>().ok());
        let times: Vec<Micros> = times.map(Timestamp::as_microsecond).collect();
        let is_near = |at: Micros| times.iter().any(|time| (time - at).abs() < WAITED_US);
        let admitted = self.admitted.lock().expect("no panic");
        let uncounted = admitted.iter().filter(|(at, node)| *node == site.address && is_near(*at));
        uncounted.count() as u64
    }

    /// Of all nodes together. Each start may have kept a lease when it was killed, and each node one whose answer it did
    /// not get when PostgreSQL was away.
    ///
    /// # Errors
    ///
    /// If there were more answers than the quota has calls, or calls were refused although some were left.
    pub(crate) fn check(&self, sites: &[Site]) -> Result<(), String> {
        let [uncounted, refused, unknown] =
            [&self.uncounted, &self.refused, &self.unknown].map(|it| it.load(Ordering::Relaxed));
        let busy: u64 = sites.iter().map(|site| self.uncounted_by(site)).sum();
        let admitted = self.admitted.lock().expect("no panic").len() as u64 - busy;
        let uncounted = uncounted + busy;
        let (starts, nodes) = (sites.iter().map(Site::start_number).sum::<usize>(), sites.len());
        let outages = self.outages.lock().expect("no panic").len();
        let kept = LEASE_MAX * u64::try_from(starts + outages * nodes).expect("small");
        let is_short = refused > 0 && admitted + uncounted + unknown + kept < PER_DAY;
        if admitted > PER_DAY || is_short || admitted == 0 {
            return Err(format!(
                "{admitted} calls were admitted of {PER_DAY}, {uncounted} without PostgreSQL, {refused} refused, \
                 {unknown} unknown, in {starts} starts and {outages} outages"
            ));
        }
        Ok(())
    }
}
