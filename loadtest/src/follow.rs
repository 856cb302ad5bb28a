//! `follow`: many sockets follow the same channels. Every frame of every socket is checked; at the
//! end the documents of some sockets are compared with the images that a new subscriber receives.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_tungstenite::tungstenite::http::Uri;

use crate::{
    address, documents,
    follower::Follower,
    hub::{self, Hub},
    report::Report,
    socket::{ReadOutcome, Socket},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The hub's socket, on this machine; repeatable, for the nodes of a cluster. Sockets are spread over them. One
    /// that is closed continues at the next node, and documents are compared with those of the next node.
    #[arg(
        long = "url", default_value = "ws://127.0.0.1:8080/stream/v1", value_parser = address::loopback
    )]
    urls: Vec<Uri>,
    /// Certificates in PEM that are trusted in addition to those of the system, for `wss://`.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// A key with the WebSocket add-on. Set it in the environment to keep it out of the process
    /// list.
    #[arg(long, env = "LOADTEST_KEY", hide_env_values = true)]
    key: String,
    /// A channel or a pattern to follow; repeatable.
    #[arg(long = "channel", required = true)]
    channels: Vec<String>,
    #[arg(long, default_value_t = 1)]
    sockets: usize,
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How many sockets keep their documents for the comparison at the end. This costs the load
    /// test more than the hub.
    #[arg(long, default_value_t = 10)]
    documents: usize,
    /// Seconds of warm-up before counting starts.
    #[arg(long, default_value_t = 0)]
    warmup: u64,
    /// Write the results to this JSON file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report to this HTML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print only faults.
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// The stage of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Warmup,
    Counting,
    Over,
}

/// How long a document may take to reach a sequence that the new subscriber also has.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long no node may accept a socket that was closed, and how long until the next is tried.
const NO_NODE_MAX: Duration = Duration::from_secs(30);
const NEXT_NODE_AFTER: Duration = Duration::from_millis(50);

/// How long a node may take for an upgrade. A process that hangs accepts connections all the same.
const OPENING_MAX: Duration = Duration::from_secs(10);

/// The number of faults that are described in words.
const FAULTS_REPORTED_MAX: usize = 10;

/// Where to follow, and what.
#[derive(Debug)]
pub(crate) struct Plan {
    /// At least one; several are nodes of a cluster.
    pub(crate) hubs: Vec<Hub>,
    pub(crate) key: String,
    pub(crate) channels: Vec<String>,
}

/// How the documents of one socket compare with those of a new subscriber.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) same: usize,
    pub(crate) different: Vec<String>,
    /// Channels for which the two have not reached a common sequence yet.
    pub(crate) pending: BTreeSet<String>,
}

/// Follows the channels, checks every frame, and reports.
///
/// # Errors
///
/// If a connection cannot be opened.
pub(crate) async fn run(args: Args) -> Result<Report> {
    let Args { urls, ca, key, channels, sockets, seconds, documents, warmup, .. } = args;
    let plan = Arc::new(Plan { hubs: hub::hubs(&urls, ca.as_deref())?, key, channels });
    let (phase, phases) = watch::channel(Phase::Warmup);
    let mut followers = JoinSet::new();
    for number in 0..sockets {
        let mut node = number;
        let socket = plan.open(&mut node).await.with_context(|| format!("socket {number}"))?;
        // Read from the start: a socket that waits for the others would be a slow reader.
        let mut follower = Follower::new(number < documents);
        follower.moves = plan.hubs.len() > 1;
        followers.spawn(follow(Arc::clone(&plan), node, socket, follower, phases.clone()));
    }
    sleep(Duration::from_secs(warmup)).await;
    phase.send_replace(Phase::Counting);
    let began = Instant::now();
    sleep(Duration::from_secs(seconds)).await;
    let mut report = Report { sockets, lasted: began.elapsed(), ..Report::default() };
    phase.send_replace(Phase::Over);
    while let Some(followed) = followers.join_next().await {
        let (follower, comparison) = followed.context("a follower panicked")??;
        report.add(&follower, &comparison);
    }
    Ok(report)
}

async fn follow(
    plan: Arc<Plan>,
    mut node: usize,
    mut socket: Socket,
    mut follower: Follower,
    mut phases: watch::Receiver<Phase>,
) -> Result<(Follower, Comparison)> {
    loop {
        tokio::select! {
            read = socket.read() => match read {
                ReadOutcome::Text(text) => drop(follower.take(&text)),
                ReadOutcome::End(how) => {
                    let Some(next) = plan.resume(&mut node, &follower).await else {
                        follower.cut_off(how);
                        return Ok((follower, Comparison::default()));
                    };
                    follower.counts.resumes += 1;
                    socket = next;
                }
            },
            _ = phases.changed() => match *phases.borrow_and_update() {
                Phase::Warmup => {}
                Phase::Counting => follower.counts = follower.counts.faults_and_images(),
                Phase::Over => break,
            },
        }
    }
    let comparison = if follower.keeps_documents() {
        compare(&plan, node + 1, &mut socket, &mut follower).await?
    } else {
        Comparison::default()
    };
    Ok((follower, comparison))
}

/// Subscribes again and reads on both sides until every document has been compared with its image
/// at the same sequence.
///
/// # Errors
///
/// If the new subscriber cannot connect.
pub(crate) async fn compare(
    plan: &Plan,
    mut node: usize,
    socket: &mut Socket,
    follower: &mut Follower,
) -> Result<Comparison> {
    let mut fresh_socket = plan.open(&mut node).await?;
    let mut fresh = Follower::new(true);
    let pending = follower.channels.keys().cloned().collect();
    let mut comparison = Comparison { pending, ..Comparison::default() };
    let patience = sleep(PATIENCE);
    tokio::pin!(patience);
    while !comparison.pending.is_empty() {
        // The side that is ahead waits for the other, so that they meet on a busy channel too.
        let (ahead, behind) = comparison.leads(follower, &fresh);
        let (read, side) = tokio::select! {
            read = socket.read(), if !ahead => (read, &mut *follower),
            read = fresh_socket.read(), if !behind => (read, &mut fresh),
            () = &mut patience => break,
        };
        match read {
            ReadOutcome::Text(text) => {
                if let Some(channel) = side.take(&text) {
                    comparison.compare(&channel, follower, &fresh);
                }
            }
            ReadOutcome::End(how) => {
                side.cut_off(how);
                break;
            }
        }
        comparison.pending.retain(|channel| follower.channels.contains_key(channel));
    }
    Ok(comparison)
}

impl Plan {
    /// A node; after the last one comes the first.
    fn hub(&self, node: usize) -> &Hub {
        &self.hubs[node % self.hubs.len()]
    }

    /// Follows the channels at this node, or at the next one that accepts the socket.
    pub(crate) async fn open(&self, node: &mut usize) -> Result<Socket> {
        self.connect(node, &documents::subscribe(&self.channels)).await
    }

    /// Connects to this node, or to the next one that accepts the socket, and sends these commands.
    pub(crate) async fn connect(&self, node: &mut usize, commands: &[Value]) -> Result<Socket> {
        let mut left = self.hubs.len();
        loop {
            let opening = Socket::open(self.hub(*node), &self.key, commands);
            let opened = timeout(OPENING_MAX, opening).await;
            let opened = opened.context("no answer to the upgrade").flatten();
            left -= 1;
            if opened.is_ok() || left == 0 {
                return opened;
            }
            *node += 1;
        }
    }

    /// Continues at the next node that accepts the socket; `None` if there is only one, or none does.
    async fn resume(&self, node: &mut usize, follower: &Follower) -> Option<Socket> {
        let until = Instant::now() + NO_NODE_MAX;
        while self.hubs.len() > 1 && Instant::now() < until {
            *node += 1;
            let commands = documents::resume(follower, &self.channels);
            if let Ok(socket) = self.connect(node, &commands).await {
                return Some(socket);
            }
            sleep(NEXT_NODE_AFTER).await;
        }
        None
    }
}

impl Comparison {
    /// How the two compare on the first channel that is still open.
    fn leads(&self, one: &Follower, other: &Follower) -> (bool, bool) {
        let head = |follower: &Follower| {
            let channel = follower.channels.get(self.pending.first()?)?;
            Some((channel.epoch.clone(), channel.seq))
        };
        match (head(one), head(other)) {
            (Some((epoch, one)), Some((same, other))) if epoch == same => {
                (one > other, one < other)
            }
            _ => (false, false),
        }
    }

    /// Compares the documents of a channel if both are at the same sequence.
    fn compare(&mut self, name: &str, one: &Follower, other: &Follower) {
        let (Some(one), Some(other)) = (one.channels.get(name), other.channels.get(name)) else {
            return;
        };
        if (&one.epoch, one.seq) != (&other.epoch, other.seq) || !self.pending.remove(name) {
            return;
        }
        if one.document == other.document {
            self.same += 1;
        } else {
            self.different.push(format!("{name}: another document than the image at {}", one.seq));
        }
    }
}

impl Report {
    fn add(&mut self, follower: &Follower, comparison: &Comparison) {
        let Comparison { same, different, pending } = comparison;
        self.channels += follower.channels.len();
        self.counts.add(&follower.counts);
        self.compared += same + different.len();
        self.different += different.len();
        self.not_compared += pending.len();
        let never_met = pending.iter().map(|name| format!("{name}: never at one sequence"));
        self.faults.extend(follower.faults.iter().chain(different).cloned().chain(never_met));
        self.faults.truncate(FAULTS_REPORTED_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follower(seq: u64, data: &str) -> Follower {
        let mut follower = Follower::new(true);
        follower
            .take(&format!(r#"{{"type":"image","ch":"a","epoch":"e","seq":{seq},"data":{data}}}"#));
        follower
    }

    #[track_caller]
    fn check(one: (u64, &str), other: (u64, &str), expected: (usize, usize, usize)) {
        let mut comparison =
            Comparison { pending: BTreeSet::from(["a".to_owned()]), ..Comparison::default() };
        for _ in 0..2 {
            comparison.compare("a", &follower(one.0, one.1), &follower(other.0, other.1));
        }
        let Comparison { same, different, pending } = comparison;
        assert_eq!((same, different.len(), pending.len()), expected);
    }

    #[test]
    fn documents_are_compared_once_at_the_same_sequence() {
        check((4, r#"{"x":1,"y":2}"#), (4, r#"{"y":2,"x":1}"#), (1, 0, 0));
        check((4, r#"{"x":1}"#), (4, r#"{"x":2}"#), (0, 1, 0));
        check((4, r#"{"x":1}"#), (5, r#"{"x":1}"#), (0, 0, 1));
    }
}
