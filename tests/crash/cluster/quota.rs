//! Clients of one account without add-ons, which call any node as fast as they can: together they get as many answers as
//! its quota has calls, and never one more.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, time::sleep};

use crate::{client::Phase, http, rng::Rng};

/// The setting `limits.football_per_day` of the nodes.
pub(crate) const PER_DAY: u64 = 1_000;

/// What a node leases of the quota at most: a sixteenth.
const LEASE_MAX: u64 = PER_DAY / 16;

/// The calls of all clients.
#[derive(Debug, Default)]
pub(crate) struct QuotaUse {
    admitted: AtomicU64,
    refused: AtomicU64,
    /// Without a response: a node may have counted them.
    unknown: AtomicU64,
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
        let count = match http::get(node, "/api/v2/events/?limit=1", &headers).await {
            Ok(response) if response.status == 429 => {
                sleep(Duration::from_millis(100)).await;
                &quota.refused
            }
            Ok(response) if response.status == 200 => &quota.admitted,
            Ok(_) | Err(http::Failure::NoResponse) => &quota.unknown,
            Err(http::Failure::NotSent) => continue,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl QuotaUse {
    /// `starts`: of all nodes together. Each may have kept a lease when it was killed.
    ///
    /// # Errors
    ///
    /// If there were more answers than the quota has calls, or calls were refused although some were left.
    pub(crate) fn check(&self, starts: usize) -> Result<(), String> {
        let [admitted, refused, unknown] =
            [&self.admitted, &self.refused, &self.unknown].map(|it| it.load(Ordering::Relaxed));
        let kept = LEASE_MAX * u64::try_from(starts).expect("small");
        let is_short = refused > 0 && admitted + unknown + kept < PER_DAY;
        if admitted > PER_DAY || is_short || admitted == 0 {
            return Err(format!(
                "{admitted} calls were admitted of {PER_DAY}, {refused} refused, {unknown} unknown, in {starts} starts"
            ));
        }
        Ok(())
    }
}
