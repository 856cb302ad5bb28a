//! The servers of NATS lose records that the nodes have and clients have seen: their stores are put back to an older copy,
//! or are empty.
//!
//! No node can go on then. Each joins again with what is in its own log, in the same process: the one that leads begins a
//! generation. The nodes still have every acknowledged record, so none is lost. All clients get new epochs.

use std::{path::PathBuf, time::Duration};

use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use super::{
    Node, TestCluster, WHOLE_WITHIN, recorder::Recorder, relay::Line, servers::NatsServer, set_up,
};
use crate::{faults::FaultLog, http, observer::Observer, rng::Rng};

/// How long `verify` may be repeated until it has compared everything.
const COMPARED_WITHIN: Duration = Duration::from_secs(60);

/// What the servers lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// Their stores are put back to an older copy. An edge was stopped before that was made, and starts after the loss.
    OlderCopies,
    /// The same while an edge is cut off. When it is back, the stream has other messages in place of those that it has.
    UnseenByEdge,
    /// Their stores are empty, so the stream is gone and is created again.
    EmptyStores,
}

const LOSSES: [Loss; 3] = [Loss::OlderCopies, Loss::UnseenByEdge, Loss::EmptyStores];

/// Messages that are lost, at least.
const LOST_MIN: u64 = 50;

/// How long the servers may take to end.
const STOPPED_WITHIN: Duration = Duration::from_secs(30);

/// The edge that is stopped or cut off, the last of the nodes.
const AWAY: usize = 3;

/// Prints what is done, each step with its time.
struct Steps(Instant);

impl Steps {
    #[expect(clippy::print_stdout, reason = "says where a run is that hangs")]
    fn say(&self, what: impl std::fmt::Display) {
        println!("loss: {:.1} s: {what}", self.0.elapsed().as_secs_f64());
    }
}

impl TestCluster<'_> {
    /// Lets the servers lose records, once in each way. Returns the recorder of what follows the last loss.
    ///
    /// # Errors
    ///
    /// If the cluster does not go on.
    pub(super) async fn lose_records(
        &mut self,
        mut recorder: Recorder,
        observer: &mut Observer,
        rng: &mut Rng,
        faults: &mut FaultLog,
    ) -> Result<Recorder, String> {
        let steps = Steps(Instant::now());
        for loss in LOSSES {
            steps.say(format_args!("{loss:?}"));
            faults.did(loss);
            let lost = self.lose(loss, recorder, observer, rng, (faults, &steps)).await;
            let (next, ready) = lost.map_err(|problem| format!("{loss:?}: {problem}"))?;
            recorder = next;
            faults.ready.push(ready);
        }
        Ok(recorder)
    }

    /// Returns how long it took until all nodes were ready again.
    async fn lose(
        &mut self,
        loss: Loss,
        mut recorder: Recorder,
        observer: &mut Observer,
        rng: &mut Rng,
        (faults, steps): (&mut FaultLog, &Steps),
    ) -> Result<(Recorder, Duration), String> {
        self.watcher.until_whole(&mut self.nodes).await?;
        let joining = if loss == Loss::EmptyStores { self.nodes.len() } else { AWAY };
        let running = if loss == Loss::OlderCopies { AWAY } else { self.nodes.len() };
        for node in &mut self.nodes[running..] {
            if let Some(hub) = node.hub.take() {
                faults.note(hub.stop().await);
                faults.stops += 1;
            }
        }
        let copies = if loss == Loss::EmptyStores { None } else { Some(self.copy_stores().await?) };
        let after_copy = self.watcher.until_whole(&mut self.nodes[..running]).await?;
        steps.say(format_args!("stores are copied; all are ready again after {after_copy:.1?}"));
        if loss != Loss::EmptyStores {
            // So that a term is lost too.
            self.shared.site.cluster_command(&["hand-over"]).await?;
        }
        recorder.until(recorder.reached() + LOST_MIN).await?;
        sleep(rng.millis(0, 500)).await;

        let set_line = |nodes: &[Node<'_>], line| {
            nodes[AWAY].links.nats.iter().for_each(|link| link.set_line(line));
        };
        if loss == Loss::UnseenByEdge {
            set_line(&self.nodes, Line::Cut);
        }
        self.servers.iter_mut().for_each(NatsServer::kill);
        let last = recorder.reached();
        steps.say(format_args!("the servers are killed at message {last}"));
        let recorder = recorder.stop().await;
        let before: Vec<usize> = self.nodes.iter().map(joins).collect();
        let starts: Vec<usize> = self.nodes.iter().map(|node| node.site.start_number()).collect();
        let replaced = Instant::now();
        tokio::task::block_in_place(|| {
            observer.copy_left(&recorder.folder());
            // Nodes may have the last messages, which the recorder may not.
            for node in &self.nodes {
                observer.change_log();
                observer.heads(&node.site.log_folder());
            }
            for (number, server) in self.servers.iter_mut().enumerate() {
                let copy = copies.as_ref().map(|copies| copy_of(copies, number));
                server.replace_store(copy.as_deref());
                server.start();
            }
        });
        steps.say("the servers run with other stores");
        if loss == Loss::EmptyStores {
            // Nobody but an operator creates a stream.
            sleep(rng.millis(1_000, 4_000)).await;
            self.answer_calls().await?;
            steps.say("each node answers with what it has");
            set_up(&self.shared.site).await;
            steps.say("the stream is created");
        }
        self.until_joined_again(joining, &before).await?;
        let ready = replaced.elapsed();
        steps.say(format_args!("{joining} nodes have joined again after {ready:.1?}"));
        let (mut recorder, after) = recorder.go_on_after_loss().await?;
        observer.replace_log(after);
        steps.say(format_args!("a generation begins after record {after}"));
        if loss == Loss::UnseenByEdge {
            recorder.until(last + LOST_MIN).await?;
            set_line(&self.nodes, Line::Open);
            steps.say(format_args!("the edge is back, at message {}", recorder.reached()));
        }
        self.until_joined_again(self.nodes.len(), &before).await?;
        let mut nodes = self.nodes[..running].iter().zip(starts);
        if let Some((node, _)) = nodes.find(|(node, start)| node.site.start_number() != *start) {
            return Err(format!("node {} has ended, and did not join again by itself", node.name));
        }
        steps.say("all nodes have joined");
        self.goes_on().await?;
        steps.say("sources are answered");
        self.until_compared().await?;
        steps.say("the nodes have the same documents");
        Ok((recorder, ready))
    }

    /// Each node answers calls with what it has, and says that this may be old.
    async fn answer_calls(&self) -> Result<(), String> {
        let token = format!("Token {}", self.key);
        for node in &self.nodes {
            let headers = [("authorization", &*token)];
            let response = http::get(&node.site.address, "/api/v2/events/?limit=1", &headers).await;
            if !matches!(&response, Ok(response) if response.status == 200) {
                return Err(format!("node {} answers {response:?}", node.name));
            }
            let until = Instant::now() + COMPARED_WITHIN;
            while let Ok(response) = http::get(&node.site.address, "/readyz", &[]).await
                && response.status == 200
            {
                if Instant::now() >= until {
                    return Err(format!("node {} is ready without a stream", node.name));
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(())
    }

    /// Waits until all documents were compared and are the same. A busy node may not answer in time.
    async fn until_compared(&self) -> Result<(), String> {
        let until = Instant::now() + COMPARED_WITHIN;
        loop {
            match self.shared.site.cluster_command(&["verify"]).await {
                Ok(_) => return Ok(()),
                // Documents that differ are reported at once.
                Err(problem) if problem.contains("different\t") || Instant::now() >= until => {
                    return Err(problem);
                }
                Err(_) => {}
            }
        }
    }

    /// Copies the stores of the servers, which are stopped for it.
    async fn copy_stores(&mut self) -> Result<TempDir, String> {
        self.servers.iter().for_each(NatsServer::terminate);
        let ended = async {
            while !self.servers.iter_mut().all(NatsServer::has_ended) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let ended = timeout(STOPPED_WITHIN, ended).await;
        ended.map_err(|_| "the servers of NATS do not stop".to_owned())?;
        let copies = tempfile::tempdir().expect("a temporary folder");
        tokio::task::block_in_place(|| {
            for (number, server) in self.servers.iter_mut().enumerate() {
                server.kill();
                server.copy_store(&copy_of(&copies, number));
                server.start();
            }
        });
        Ok(copies)
    }

    /// Waits until these nodes, the first ones, have joined again, and are ready. `before`: how often they had joined.
    async fn until_joined_again(&mut self, count: usize, before: &[usize]) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            self.watcher.until_whole(&mut self.nodes[..count]).await?;
            let mut nodes = self.nodes[..count].iter().zip(before);
            let Some((node, _)) = nodes.find(|(node, before)| joins(node) == **before) else {
                return Ok(());
            };
            if begun.elapsed() > WHOLE_WITHIN {
                let name = &node.name;
                return Err(format!("node {name} goes on with messages that the stream has lost"));
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// How often the node has joined the cluster, and served.
fn joins(node: &Node<'_>) -> usize {
    node.site.output().matches("the hub is running").count()
}

fn copy_of(copies: &TempDir, server: usize) -> PathBuf {
    copies.path().join(server.to_string())
}
