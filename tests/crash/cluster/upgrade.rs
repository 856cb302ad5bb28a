//! The nodes are upgraded one by one while clients follow: drained, stopped and started with another program, first those
//! that follow, and the one that leads once it has handed over. At last a node of a release with other formats leads.

use std::{path::PathBuf, time::Duration};

use base::clock::now;
use cluster::{Beat, BeatSender, Body, Formats, Message};
use tokio::time::{Instant, sleep};

use super::{Node, TestCluster, faults::RECORDS_MIN};
use crate::{faults::FaultLog, hub::new_program, rng::Rng};

/// The program of the release before, from `TEST_OLD_PROGRAM`; otherwise the one that is tested.
#[expect(clippy::disallowed_methods, reason = "the programs of tests are no settings of the hub")]
pub(crate) fn old_program() -> PathBuf {
    std::env::var("TEST_OLD_PROGRAM").map_or_else(|_| new_program(), PathBuf::from)
}

/// What is done to the cluster.
#[derive(Debug, Clone, Copy)]
enum Step {
    UpgradeFollower,
    /// To a node with the new program, which the old ones follow.
    HandOverToNew,
    /// The old program takes over from the new one.
    KillNewLeader,
    UpgradeLast,
    /// A node of a release with other formats leads for a while.
    OtherFormats,
}

/// How long a node may take to say that it does not follow a leader.
const REFUSED_WITHIN: Duration = Duration::from_secs(60);

/// The name of the leader with other formats.
const STRANGER: &str = "z";

/// How long the nodes of both programs run side by side, in milliseconds.
const MIXED_MS: (u64, u64) = (1_000, 3_000);

/// How long a drained node takes to send its clients away: 2 s, and then `server.drain_ms`.
const DRAINED_AFTER: Duration = Duration::from_millis(3_200);

impl TestCluster<'_> {
    /// Upgrades all nodes, which run the old program, and goes on with them until the time is over.
    ///
    /// # Errors
    ///
    /// If the cluster does not go on.
    pub(super) async fn upgrade(
        &mut self,
        rng: &mut Rng,
        until: Instant,
        faults: &mut FaultLog,
    ) -> Result<(), String> {
        self.until_whole(faults).await?;
        let leads = self.leader()?;
        let standby = 1 - leads;
        for follower in [2, standby, 3] {
            faults.did(Step::UpgradeFollower);
            self.upgrade_node(follower, faults).await?;
            sleep(rng.millis(MIXED_MS.0, MIXED_MS.1)).await;
        }
        faults.did(Step::HandOverToNew);
        self.hand_over(leads).await?;
        self.until_whole(faults).await?;
        sleep(rng.millis(MIXED_MS.0, MIXED_MS.1)).await;

        faults.did(Step::KillNewLeader);
        if let Some(hub) = self.nodes[standby].hub.take() {
            faults.note(hub.kill().await);
            faults.kills += 1;
        }
        self.watcher.until_other_leads(&self.nodes[standby].name, RECORDS_MIN).await?;
        self.until_whole(faults).await?;

        faults.did(Step::UpgradeLast);
        self.hand_over(leads).await?;
        self.upgrade_node(leads, faults).await?;
        while Instant::now() < until {
            sleep(Duration::from_millis(200)).await;
        }
        faults.did(Step::OtherFormats);
        self.refuse_other_formats(faults).await?;
        self.shared.site.cluster_command(&["verify"]).await.map(|_| ())
    }

    /// As an operator does: its clients are at other nodes before it stops.
    async fn upgrade_node(&mut self, node: usize, faults: &mut FaultLog) -> Result<(), String> {
        self.begin_drain(node).await?;
        sleep(DRAINED_AFTER).await;
        let node = &mut self.nodes[node];
        if let Some(hub) = node.hub.take() {
            faults.note(hub.stop().await);
            faults.stops += 1;
        }
        node.site.set_program(new_program());
        self.until_whole(faults).await
    }

    async fn hand_over(&mut self, leads: usize) -> Result<(), String> {
        self.shared.site.cluster_command(&["hand-over"]).await?;
        self.watcher.until_other_leads(&self.nodes[leads].name, RECORDS_MIN).await
    }

    /// A node of a release with other formats takes the lead. Those that follow end, and all wait until it has gone.
    async fn refuse_other_formats(&mut self, faults: &mut FaultLog) -> Result<(), String> {
        let leader_beat = self.watcher.beats.leader().ok_or("no node leads")?.beat;
        for node in &mut self.nodes[..2] {
            if let Some(hub) = node.hub.take() {
                faults.note(hub.kill().await);
                faults.kills += 1;
            }
        }
        let formats = Formats { inputs: leader_beat.formats.inputs + 1, ..leader_beat.formats };
        let (seq, term) = self.append_term(formats).await?;
        for index in 2..self.nodes.len() {
            self.until_says(index, "which is of a release with other formats").await?;
        }
        let beat = move || Beat {
            node: STRANGER.to_owned(),
            leads: true,
            formats,
            seq,
            term,
            at: now(),
            ..leader_beat.clone()
        };
        let beats = BeatSender::start(&self.stream, beat);
        for node in &mut self.nodes {
            if let Some(hub) = node.hub.take() {
                hub.ended().await?;
            }
            node.hub = Some(node.site.start());
        }
        for index in 0..self.nodes.len() {
            self.until_says(index, "waiting for a leader of this version").await?;
        }
        drop(beats);
        self.until_whole(faults).await
    }

    /// Appends a term of a node with these formats. Returns its sequence, and its number.
    async fn append_term(&self, formats: Formats) -> Result<(u64, u64), String> {
        let stream = &self.stream;
        let last = stream.end().await.map_err(|error| error.to_string())?.last;
        let stored = stream.read_at_leader(last).await.map_err(|error| error.to_string())?;
        let before = stored.ok_or("the stream is empty")?.message;
        let (term, position) = (before.term + 1, before.position());
        let body = Body::Term { position, formats };
        let message = Message { term, node: STRANGER.to_owned(), body };
        let appended = stream.append(last, &message, &format!("{STRANGER}-{term}")).await;
        Ok((appended.map_err(|error| error.to_string())?, term))
    }

    async fn until_says(&self, node: usize, words: &str) -> Result<(), String> {
        let Node { name, site, .. } = &self.nodes[node];
        let begun = Instant::now();
        while !site.output().contains(words) {
            if begun.elapsed() > REFUSED_WITHIN {
                return Err(format!("node {name} does not say {words:?}"));
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// The place of the node that leads.
    fn leader(&self) -> Result<usize, String> {
        let leader = self.watcher.leader().ok_or("no node leads")?;
        let index = self.nodes.iter().position(|node| node.name == leader);
        index.ok_or_else(|| format!("{leader} leads, which is no node"))
    }

    async fn until_whole(&mut self, faults: &mut FaultLog) -> Result<(), String> {
        faults.ready.push(self.watcher.until_whole(&mut self.nodes).await?);
        Ok(())
    }
}
