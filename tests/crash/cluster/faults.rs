//! What happens to the parts of the cluster while clients follow it.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use cluster::Stream;
use tokio::time::{Instant, sleep};

use super::{
    Node, WHOLE_WITHIN, Watcher, is_ready,
    quota::QuotaUse,
    relay::{End, Line},
    servers::{Database, NatsServer},
};
use crate::{
    client::{self, takes_client},
    faults::FaultLog,
    load::PushCounters,
    rng::{Deck, Rng},
};

/// What happens to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    KillLeader,
    /// Suspended for longer than its lease, and then let go on.
    HangLeader,
    StopLeader,
    HandOver,
    KillStandby,
    KillEdge,
    /// All nodes at the same time.
    KillAll,
    KillServer,
    HangServer,
    /// The leader and the servers of NATS do not hear each other.
    CutLeader,
    /// The same, without an error on its connections.
    StallLeader,
    /// What the leader sends does not get through, and it hears the servers.
    StallLeaderOut,
    /// What the leader sends gets through, and it hears nothing.
    StallLeaderIn,
    /// The leader is cut off until it has sent its clients to the others, of which one leads.
    IsolateLeader,
    CutEdge,
    StallEdgeOut,
    StallEdgeIn,
    /// An edge hears the log more slowly than it grows.
    ThrottleEdge,
    /// What the leader and the servers of NATS send each other arrives later.
    DelayLeader,
    DelayEdge,
    /// A key with a socket at each node is revoked.
    RevokeKey,
    /// An operator sends the clients of an edge away, and lets it take clients again.
    DrainEdge,
    /// PostgreSQL is suspended.
    HangDatabase,
    KillDatabase,
    /// The leader and PostgreSQL do not hear each other.
    CutDatabase,
    StallDatabase,
    /// Another node takes the lead while PostgreSQL is gone.
    KillLeaderWithoutDatabase,
}

/// Each at least once in a round: they are different with another version of NATS.
const OF_EACH_ROUND: [Fault; 12] = [
    Fault::KillLeader,
    Fault::HangLeader,
    Fault::StopLeader,
    Fault::HandOver,
    Fault::KillAll,
    Fault::KillServer,
    Fault::HangServer,
    Fault::CutLeader,
    Fault::StallLeader,
    Fault::StallLeaderOut,
    Fault::StallLeaderIn,
    Fault::CutEdge,
];

/// Each at least once in one of the rounds.
const OF_ANY_ROUND: [Fault; 15] = [
    Fault::KillStandby,
    Fault::IsolateLeader,
    Fault::HangDatabase,
    Fault::KillDatabase,
    Fault::CutDatabase,
    Fault::StallDatabase,
    Fault::StallEdgeOut,
    Fault::StallEdgeIn,
    Fault::ThrottleEdge,
    Fault::DelayLeader,
    Fault::DelayEdge,
    Fault::RevokeKey,
    Fault::DrainEdge,
    Fault::KillEdge,
    Fault::KillLeaderWithoutDatabase,
];

/// The number of a round, and how many there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundNumber {
    pub(crate) number: usize,
    pub(crate) count: usize,
}

impl RoundNumber {
    /// The faults of this round.
    fn faults(self) -> Vec<Fault> {
        let of_any = OF_ANY_ROUND.into_iter().skip(self.number).step_by(self.count);
        OF_EACH_ROUND.into_iter().chain(of_any).collect()
    }
}

/// Bytes a second of each connection. The log grows faster.
const THROTTLED: u32 = 8_000;

/// Messages of sources that are taken while PostgreSQL is away.
const PUSHED_MIN: u64 = 20;

/// Records of a leader that goes on: quiet, it makes four a second.
pub(super) const RECORDS_MIN: u64 = 8;

/// The parts that fail, and what must go on meanwhile.
pub(super) struct TestCluster<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) servers: Vec<NatsServer>,
    pub(super) database: Database,
    pub(super) watcher: Watcher,
    pub(super) stream: Stream,
    pub(super) shared: Arc<client::Shared>,
    pub(super) pushes: Arc<PushCounters>,
    pub(super) quota: Arc<QuotaUse>,
    /// Of a customer.
    pub(super) key: String,
}

impl TestCluster<'_> {
    /// Does what a deck of faults deals until the time is over and each has happened.
    pub(super) async fn inject(
        &mut self,
        round: RoundNumber,
        rng: &mut Rng,
        until: Instant,
        faults: &mut FaultLog,
    ) {
        let all = round.faults();
        let mut deck = Deck::new(&all);
        loop {
            // A leader that was cut off for a moment may end only now.
            sleep(rng.millis(200, 1_500)).await;
            match self.watcher.until_whole(&mut self.nodes).await {
                Ok(time) => faults.ready.push(time),
                Err(problem) => {
                    faults.failures.push(problem);
                    return;
                }
            }
            let missing = all.iter().any(|fault| faults.times(fault) == 0);
            if Instant::now() >= until && !missing {
                return;
            }
            let Some(leader) = self.watcher.leader() else { continue };
            let Some(leads) = self.nodes.iter().position(|node| node.name == leader) else {
                continue;
            };
            let fault = deck.deal(rng);
            faults.did(fault);
            let done = self.fail(fault, leads, rng, faults).await;
            faults.failures.extend(done.err().map(|problem| format!("{fault:?}: {problem}")));
        }
    }

    /// # Errors
    ///
    /// If something that must go on does not.
    async fn fail(
        &mut self,
        fault: Fault,
        leads: usize,
        rng: &mut Rng,
        faults: &mut FaultLog,
    ) -> Result<(), String> {
        let follows = 1 - leads;
        let edge = 2 + rng.index(self.nodes.len() - 2);
        match fault {
            Fault::KillLeader => kill(&mut self.nodes[leads], faults).await,
            Fault::KillStandby => kill(&mut self.nodes[follows], faults).await,
            Fault::KillEdge => kill(&mut self.nodes[edge], faults).await,
            Fault::KillAll => {
                for node in &mut self.nodes {
                    kill(node, faults).await;
                }
            }
            Fault::StopLeader => {
                if let Some(hub) = self.nodes[leads].hub.take() {
                    faults.note(hub.stop().await);
                    faults.stops += 1;
                    faults.stopped.push(0);
                }
            }
            Fault::HandOver => {
                self.shared.site.cluster_command(&["hand-over"]).await?;
            }
            Fault::HangLeader => {
                if let Some(hub) = &self.nodes[leads].hub {
                    hub.hang(true);
                    sleep(rng.millis(1_500, 3_000)).await;
                    hub.hang(false);
                }
            }
            Fault::CutLeader => disturb(&self.nodes[leads], Line::Cut, rng).await,
            Fault::StallLeader => disturb(&self.nodes[leads], Line::Stalled, rng).await,
            Fault::StallLeaderOut => {
                disturb(&self.nodes[leads], Line::StalledTo(End::Server), rng).await;
            }
            Fault::StallLeaderIn => {
                disturb(&self.nodes[leads], Line::StalledTo(End::Client), rng).await;
            }
            Fault::IsolateLeader => self.isolate(&self.nodes[leads]).await?,
            Fault::CutEdge => disturb(&self.nodes[edge], Line::Cut, rng).await,
            Fault::StallEdgeOut => {
                disturb(&self.nodes[edge], Line::StalledTo(End::Server), rng).await;
            }
            Fault::StallEdgeIn => {
                disturb(&self.nodes[edge], Line::StalledTo(End::Client), rng).await;
            }
            Fault::ThrottleEdge => {
                let node = &self.nodes[edge];
                let set_all = |line| node.links.nats.iter().for_each(|link| link.set_line(line));
                set_all(Line::Throttled(THROTTLED));
                let notices = until_ready(node, false).await;
                sleep(rng.millis(0, 1_500)).await;
                set_all(Line::Open);
                notices?;
            }
            Fault::DelayLeader => {
                disturb(&self.nodes[leads], Line::Delayed(rng.millis(5, 60)), rng).await;
            }
            Fault::DelayEdge => {
                disturb(&self.nodes[edge], Line::Delayed(rng.millis(50, 400)), rng).await;
            }
            Fault::RevokeKey => self.revoke_key(faults).await?,
            Fault::DrainEdge => self.drain(edge, rng).await?,
            Fault::KillServer => {
                let server = &mut self.servers[rng.index(3)];
                server.kill();
                sleep(rng.millis(100, 2_000)).await;
                tokio::task::block_in_place(|| server.start());
            }
            Fault::HangServer => {
                let server = &self.servers[rng.index(3)];
                server.hang(true);
                sleep(rng.millis(500, 3_000)).await;
                server.hang(false);
            }
            Fault::HangDatabase => {
                self.serve_all().await?;
                self.quota.database_is_away(None);
                self.database.hang(true).await;
                let goes_on = self.goes_on().await;
                sleep(rng.millis(500, 1_500)).await;
                self.database.hang(false).await;
                self.quota.database_is_back();
                goes_on?;
            }
            Fault::KillDatabase => {
                self.serve_all().await?;
                self.quota.database_is_away(None);
                self.database.kill().await;
                let goes_on = self.goes_on().await;
                sleep(rng.millis(0, 1_000)).await;
                self.database.start().await;
                self.quota.database_is_back();
                goes_on?;
            }
            Fault::CutDatabase => self.cut_database(leads, Line::Cut, rng).await?,
            Fault::StallDatabase => self.cut_database(leads, Line::Stalled, rng).await?,
            Fault::KillLeaderWithoutDatabase => {
                self.quota.database_is_away(None);
                self.database.kill().await;
                kill(&mut self.nodes[leads], faults).await;
                let taken =
                    self.watcher.until_other_leads(&self.nodes[leads].name, RECORDS_MIN).await;
                self.database.start().await;
                self.quota.database_is_back();
                taken?;
            }
        }
        Ok(())
    }

    /// A leader that does not reach the servers of NATS takes no clients once another node leads, and says why.
    async fn isolate(&self, leader: &Node<'_>) -> Result<(), String> {
        let set_all = |line| leader.links.nats.iter().for_each(|link| link.set_line(line));
        set_all(Line::Cut);
        let begun = Instant::now();
        let isolated = loop {
            let is_told = leader.site.output().contains("another one leads: its clients are sent");
            let takes_clients = takes_client(&leader.site.address, &self.key).await.is_ok();
            if is_told && !takes_clients {
                break Ok(());
            }
            if begun.elapsed() > WHOLE_WITHIN {
                let problem = if takes_clients {
                    "keeps its clients"
                } else {
                    "does not say why it takes no clients"
                };
                break Err(format!("node {} {problem}", leader.name));
            }
            sleep(Duration::from_millis(100)).await;
        };
        set_all(Line::Open);
        isolated
    }

    /// The leader goes on, and leads, while it does not reach PostgreSQL.
    async fn cut_database(&self, leads: usize, line: Line, rng: &mut Rng) -> Result<(), String> {
        self.serve_all().await?;
        let leader = &self.nodes[leads];
        self.quota.database_is_away(Some(&leader.site.address));
        leader.links.database.set_line(line);
        let goes_on = self.goes_on().await;
        sleep(rng.millis(500, 1_500)).await;
        leader.links.database.set_line(Line::Open);
        self.quota.database_is_back();
        let begun = Instant::now();
        while self.watcher.leader().is_none() && begun.elapsed() < Duration::from_secs(5) {
            sleep(Duration::from_millis(20)).await;
        }
        match self.watcher.leader() {
            Some(name) if name == leader.name => goes_on,
            other => Err(format!("{other:?} leads in place of {}", leader.name)),
        }
    }

    /// Waits until sources were answered while PostgreSQL is away, and each node takes clients with a key that it knows.
    pub(super) async fn goes_on(&self) -> Result<(), String> {
        let messages = || self.pushes.messages.load(Ordering::Relaxed);
        let (begun, before) = (Instant::now(), messages());
        self.serve_all().await?;
        while messages() < before + PUSHED_MIN {
            if begun.elapsed() > WHOLE_WITHIN {
                return Err("sources are not answered".to_owned());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Each node takes a client.
    async fn serve_all(&self) -> Result<(), String> {
        for node in &self.nodes {
            let address = &node.site.address;
            let Err(problem) = takes_client(address, &self.key).await else { continue };
            // On a busy machine it may have heard nothing of the leader for so long that it sends its clients away.
            if is_ready(address).await {
                return Err(problem);
            }
            until_ready(node, true).await?;
            takes_client(address, &self.key).await?;
        }
        Ok(())
    }

    /// Drains a node for a while. It is not ready meanwhile, and takes clients afterwards.
    async fn drain(&self, node: usize, rng: &mut Rng) -> Result<(), String> {
        self.begin_drain(node).await?;
        // Its clients are sent away after 2 s.
        sleep(rng.millis(500, 4_000)).await;
        let (site, node) = (&self.shared.site, &self.nodes[node]);
        site.cluster_command(&["drain", &node.name, "--end"]).await?;
        until_ready(node, true).await?;
        takes_client(&node.site.address, &self.key).await
    }

    /// Drains a node. It is not ready from then on, and sends its clients away 2 s later.
    pub(super) async fn begin_drain(&self, node: usize) -> Result<(), String> {
        let node = &self.nodes[node];
        self.shared.site.cluster_command(&["drain", &node.name]).await?;
        until_ready(node, false).await
    }
}

async fn until_ready(node: &Node<'_>, expected: bool) -> Result<(), String> {
    let begun = Instant::now();
    while is_ready(&node.site.address).await != expected {
        if begun.elapsed() > WHOLE_WITHIN {
            return Err(format!("node {} is still ready: {}", node.name, !expected));
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

async fn kill(node: &mut Node<'_>, faults: &mut FaultLog) {
    if let Some(hub) = node.hub.take() {
        faults.note(hub.kill().await);
        faults.kills += 1;
    }
}

/// Disturbs the connections of a node for a while.
async fn disturb(node: &Node<'_>, line: Line, rng: &mut Rng) {
    node.links.nats.iter().for_each(|link| link.set_line(line));
    sleep(rng.millis(300, 4_000)).await;
    node.links.nats.iter().for_each(|link| link.set_line(Line::Open));
}

#[test]
fn rounds_share_what_happens_in_any_of_them() {
    let [first, second] = [0, 1].map(|number| RoundNumber { number, count: 2 }.faults());
    let both: Vec<Fault> = first.iter().filter(|it| second.contains(it)).copied().collect();
    assert_eq!(both, OF_EACH_ROUND);
    assert_eq!(
        first.len() + second.len() - both.len(),
        RoundNumber { number: 0, count: 1 }.faults().len()
    );
}
