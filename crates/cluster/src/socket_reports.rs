//! How many sockets accounts have at each node, so that a limit holds for all nodes together.
//!
//! Each node tells the others ten times a second which accounts have many, and at least once a second that it is there.
//! What a node knows of others is up to 100 ms old, and lacks accounts with fewer sockets than it tells.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::{
    beat::{BEAT_TIMEOUT, NODES_MAX},
    config::{NODE_BYTES_MAX, is_name},
    stream::{Stream, StreamError},
};

/// Between two reports of a node.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// A report that says the same is sent again after so many of them.
const SAME_REPORTS_MAX: u32 = 10;
/// Accounts of a report: those with the most sockets.
const ACCOUNTS_MAX: usize = 4_000;
/// Bytes of an account in a report: its number and its sockets.
const ACCOUNT_BYTES: usize = 8 + 4;

/// The sockets of accounts at one node.
pub type AccountSockets = Vec<(i64, u32)>;

/// Tells other nodes the sockets of accounts at this one, and `others` those at all others together, until it is
/// dropped.
///
/// # Errors
///
/// If the client has ended.
pub async fn exchange(
    stream: &Stream,
    node: &str,
    local: impl Fn() -> AccountSockets,
    others: impl Fn(HashMap<i64, usize>),
) -> Result<(), StreamError> {
    let client = &stream.connection().client;
    let prefix = format!("mw.{}.sockets", stream.config().name);
    let subscribed = client.subscribe(format!("{prefix}.*")).await;
    let mut reports = subscribed.map_err(|_| StreamError::Ended)?;
    let subject = format!("{prefix}.{node}");
    let (mut nodes, mut told, mut same) = (SocketReports::default(), Bytes::new(), 0);
    let mut ticks = interval(REPORT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        let is_changed = tokio::select! {
            report = reports.next() => {
                let report = report.ok_or(StreamError::Ended)?;
                let from = report.subject.rsplit('.').next().unwrap_or_default();
                from != node && nodes.hear(from, &report.payload, Instant::now())
            }
            now = ticks.tick() => {
                let report = encode(local());
                same = if report == told { same + 1 } else { 0 };
                // Without a connection the client would keep old reports in memory.
                if (same == 0 || same >= SAME_REPORTS_MAX) && stream.is_connected() {
                    same = 0;
                    told = report.clone();
                    client.publish(subject.clone(), report).await.map_err(|_| StreamError::Ended)?;
                }
                nodes.forget_silent(now)
            }
        };
        if is_changed {
            others(nodes.sums());
        }
    }
}

/// The last report of each node.
#[derive(Debug, Default)]
struct SocketReports {
    nodes: BTreeMap<String, (Instant, AccountSockets)>,
}

impl SocketReports {
    /// Returns whether it says something new.
    fn hear(&mut self, node: &str, report: &Bytes, now: Instant) -> bool {
        let is_known = self.nodes.contains_key(node);
        if !is_name(node, NODE_BYTES_MAX) || !is_known && self.nodes.len() >= NODES_MAX {
            return false;
        }
        let Some(sockets) = decode(report) else { return false };
        let before = self.nodes.insert(node.to_owned(), (now, sockets));
        before.map(|(_, sockets)| sockets).unwrap_or_default() != self.nodes[node].1
    }

    /// Returns whether a node with sockets is gone.
    fn forget_silent(&mut self, now: Instant) -> bool {
        let mut is_changed = false;
        self.nodes.retain(|_, (heard, sockets)| {
            let is_gone = now.saturating_duration_since(*heard) >= BEAT_TIMEOUT;
            is_changed |= is_gone && !sockets.is_empty();
            !is_gone
        });
        is_changed
    }

    fn sums(&self) -> HashMap<i64, usize> {
        let mut sums = HashMap::new();
        for (account, sockets) in self.nodes.values().flat_map(|(_, sockets)| sockets) {
            *sums.entry(*account).or_default() += *sockets as usize;
        }
        sums
    }
}

fn encode(mut sockets: AccountSockets) -> Bytes {
    sockets.sort_unstable_by_key(|&(account, sockets)| (std::cmp::Reverse(sockets), account));
    sockets.truncate(ACCOUNTS_MAX);
    let account = |(account, sockets): (i64, u32)| {
        account.to_be_bytes().into_iter().chain(sockets.to_be_bytes())
    };
    sockets.into_iter().flat_map(account).collect()
}

/// `None` if it is no report.
fn decode(report: &Bytes) -> Option<AccountSockets> {
    let (accounts, []) = report.as_chunks::<ACCOUNT_BYTES>() else { return None };
    if accounts.len() > ACCOUNTS_MAX {
        return None;
    }
    let account = |bytes: &[u8; ACCOUNT_BYTES]| {
        let (account, sockets) = bytes.split_first_chunk::<8>()?;
        Some((i64::from_be_bytes(*account), u32::from_be_bytes(sockets.try_into().ok()?)))
    };
    accounts.iter().map(account).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_has_the_accounts_with_the_most_sockets() {
        assert_eq!(decode(&encode(vec![(1, 7), (-2, 9)])), Some(vec![(-2, 9), (1, 7)]));
        assert_eq!(decode(&Bytes::from_static(b"")), Some(vec![]));
        assert_eq!(decode(&Bytes::from_static(b"thirteen byte")), None);
        let many = (0..5_000).map(|account| (account, 5_000 - account as u32)).collect();
        let told = decode(&encode(many)).expect("a report");
        assert_eq!((told.len(), told[0], told[3_999]), (4_000, (0, 5_000), (3_999, 1_001)));
        assert_eq!(decode(&Bytes::from(vec![0; ACCOUNT_BYTES * 4_001])), None);
    }

    #[test]
    fn sockets_of_all_other_nodes_are_added_up_until_a_node_is_gone() {
        let (mut nodes, start) = (SocketReports::default(), Instant::now());
        assert!(!nodes.hear("a", &encode(vec![]), start), "nothing yet");
        assert!(nodes.hear("a", &encode(vec![(7, 3), (8, 1)]), start));
        assert!(nodes.hear("b", &encode(vec![(7, 2)]), start + Duration::from_secs(1)));
        assert!(
            !nodes.hear("b", &encode(vec![(7, 2)]), start + Duration::from_secs(2)),
            "the same"
        );
        assert!(!nodes.hear("b", &Bytes::from_static(b"x"), start), "no report");
        assert_eq!(nodes.sums(), HashMap::from([(7, 5), (8, 1)]));
        assert!(!nodes.forget_silent(start + Duration::from_millis(2_999)));
        assert!(nodes.forget_silent(start + BEAT_TIMEOUT));
        assert_eq!(nodes.sums(), HashMap::from([(7, 2)]));
    }
}
