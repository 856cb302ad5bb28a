//! When a node sends its clients to other nodes: when it is cut off, or when an operator drains it.
//!
//! The leader notes in PostgreSQL once a second that it commits. A node that follows and has heard nothing of it for
//! `cluster.isolated_ms` looks there. If the leader goes on, the node is cut off, and closes its sockets until it is
//! back. If it does not, other nodes may know no more than this one, and the sockets stay. If PostgreSQL has not answered
//! for as long, the node cannot learn of revoked keys: it closes its sockets and accepts no key until one of both is back.
//!
//! If all servers of NATS are gone, no node is cut off from the others, but the last note of the leader is newer than
//! what was last heard of it. So only a note counts that is too new to be its last one: see [`sign_within`]. Therefore
//! a node may notice only a second after `cluster.isolated_ms` that it is cut off, or after 4 s if that is less.
//!
//! A leader that cannot append for so long does the same: a note names its node, so that its own is no sign of another.
//!
//! A node that follows a stream that has lost records serves what it has until the one that led has joined again.
//!
//! A node that is drained goes on serving: its sockets close one after the other, and their clients are served elsewhere at
//! once. One that is cut off has nothing to serve, and closes all.

use std::{sync::Arc, time::Duration};

use base::clock::now;
use database::{LeaderSigns, within};
use fanout::Drain;
use log::RecordSource;
use metrics::counter;
use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};
use tracing::{debug, info, warn};

use crate::{Beats, NodeParts, Unready, node_log::Lead};

/// Between two notes of the leader, and between two looks of a node that does not hear it.
const EVERY: Duration = Duration::from_secs(1);
/// How long a note may take. A later one would be taken for that of a leader that goes on.
const NOTED_WITHIN: Duration = Duration::from_millis(500);
/// A leader that noted nothing for so long may have ended.
const RECENT: Duration = Duration::from_millis(2_500);
/// How long a node that is drained is not ready before it sends its clients away: balancers look meanwhile.
const NOTICE: Duration = Duration::from_secs(2);
/// A leader that can no longer append has made its last note within this time after it was last heard: 250 ms in which
/// it commits what others do not hear, [`EVERY`] until it notes that, [`NOTED_WITHIN`], and 250 ms to spare.
const LAST_NOTE_WITHIN: Duration = Duration::from_secs(2);
/// How long PostgreSQL may take to answer a look.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// How long a node that follows serves what it has after the stream has lost records, at most. The one that led needs up to
/// 9 s to join again: it waits for what others have.
const REPLACED_WITHIN: Duration = Duration::from_secs(12);

/// Serves what the node has, which is old, until clients can go to the one that leads: all nodes must join again, and not all
/// at the same time.
pub(super) async fn serve_old(parts: &NodeParts, beats: Beats) {
    if !parts.health.has(Unready::Behind) {
        parts.health.set(Unready::Behind, true);
        parts.fanout.set_stale(Some(now()));
    }
    leader_is_back(beats).await;
}

/// Waits until clients can go to the node that leads, but not for ever. One whose log refuses records joins again first.
async fn leader_is_back(mut beats: Beats) {
    let back = async {
        while beats.leader().is_none_or(|leader| !leader.beat.ready) {
            beats.changed().await;
        }
        // It listens soon, and balancers look meanwhile.
        sleep(NOTICE).await;
    };
    timeout(REPLACED_WITHIN, back).await.ok();
}

/// Notes once a second that this node leads and commits. A quiet leader commits four times a second.
pub(super) async fn note_commits(lead: Lead, records: Arc<dyn RecordSource>, signs: LeaderSigns) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = records.end().number;
    loop {
        ticks.tick().await;
        let number = records.end().number;
        if lead.get().is_some()
            && number > seen
            && let Err(error) = within(NOTED_WITHIN, signs.note()).await
        {
            debug!(%error, "cannot note in the database that this node leads");
        }
        seen = number;
    }
}

/// How old a note may be from which a node concludes that the leader goes on, although it was silent for so long.
fn sign_within(silent: Duration) -> Duration {
    silent.saturating_sub(LAST_NOTE_WITHIN).min(RECENT)
}

/// Whether a node that has heard nothing of its cluster, and nothing of changed keys, for so long accepts no keys.
fn is_alone(silent: Duration, keys_silent: Duration, isolated_after: Duration) -> bool {
    silent.min(keys_silent) >= isolated_after
}

/// Whether a node serves clients.
pub(super) struct ClientService {
    parts: NodeParts,
    signs: LeaderSigns,
    isolated_after: Duration,
    look: Option<JoinHandle<bool>>,
    next_look: Instant,
    /// Sends clients away once the notice is over. Set while an operator drains the node.
    drain: Option<JoinHandle<()>>,
}

impl ClientService {
    pub(super) fn new(isolated_ms: u64, parts: NodeParts, signs: LeaderSigns) -> Self {
        Self {
            parts,
            signs,
            isolated_after: Duration::from_millis(isolated_ms),
            look: None,
            next_look: Instant::now(),
            drain: None,
        }
    }

    /// An operator drains the node, or ends that.
    pub(super) fn drain(&mut self, ends: bool) {
        self.parts.health.set(Unready::Drained, !ends);
        if !ends {
            let (fanout, window_ms) = (self.parts.fanout.clone(), self.parts.drain_ms);
            let drain = async move {
                sleep(NOTICE).await;
                fanout.drain(Drain::Spread { over_ms: window_ms });
            };
            self.drain.get_or_insert_with(|| tokio::spawn(drain));
            info!("this node is drained: its clients are sent to other nodes");
        } else if let Some(drain) = self.drain.take() {
            drain.abort();
            self.take_clients();
            info!("this node is no longer drained");
        }
    }

    /// The node has all that the leader has, or leads itself.
    pub(super) fn is_back(&self) {
        if self.parts.health.has(Unready::Isolated) {
            self.parts.health.set(Unready::Isolated, false);
            self.take_clients();
            info!("this node hears the cluster again");
        }
    }

    /// Takes clients, unless there is another reason not to.
    fn take_clients(&self) {
        let health = &self.parts.health;
        let is_cut_off = health.has(Unready::Isolated) || health.has(Unready::Alone);
        if self.drain.is_none() && !is_cut_off {
            self.parts.fanout.end_drain();
        }
    }

    fn send_clients_away(&self) {
        self.parts.fanout.drain(Drain::AtOnce { after_ms: 0, window_ms: self.parts.drain_ms });
        counter!("matchwire_cluster_isolated_total").increment(1);
    }

    fn look_for_keys(&self, silent: Duration) {
        let is_alone = is_alone(silent, self.parts.accounts.changes_silent(), self.isolated_after);
        if is_alone == self.parts.health.has(Unready::Alone) {
            return;
        }
        self.parts.health.set(Unready::Alone, is_alone);
        if is_alone {
            self.send_clients_away();
            warn!("this node reaches neither the cluster nor the database: it accepts no keys");
        } else {
            self.take_clients();
            info!("this node can learn of revoked keys again");
        }
    }

    /// The node leads.
    pub(super) async fn look_as_leader(&mut self) {
        let refused_since = self.parts.log_state.refused_since();
        let refused = refused_since.map_or(Duration::ZERO, |since| since.elapsed());
        self.look(refused, refused_since.is_some()).await;
    }

    /// `silent`: how long nothing was heard of the leader. `is_stale`: whether the node may lack what it published.
    pub(super) async fn look(&mut self, silent: Duration, is_stale: bool) {
        self.look_for_keys(silent);
        if self.parts.health.has(Unready::Isolated) {
            if !is_stale {
                self.is_back();
            }
            return;
        }
        if silent < self.isolated_after {
            self.look = None;
            return;
        }
        if let Some(look) = self.look.take_if(|look| look.is_finished()) {
            self.next_look = Instant::now() + EVERY;
            if look.await.unwrap_or(false) {
                self.parts.health.set(Unready::Isolated, true);
                self.send_clients_away();
                warn!(
                    "this node is cut off, and another one leads: its clients are sent to other nodes"
                );
            }
        } else if self.look.is_none() && Instant::now() >= self.next_look {
            let (signs, sign_within) = (self.signs.clone(), sign_within(silent));
            self.look = Some(tokio::spawn(async move {
                let other = signs.has_other_leader(sign_within);
                matches!(within(ANSWER_WITHIN, other).await, Ok(true))
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Beat,
        beat::tests::{beat, heard},
    };

    /// Between two commits of a quiet leader.
    const COMMITS_EVERY: Duration = Duration::from_millis(250);

    /// From 2 to 10 s.
    fn silences() -> impl Iterator<Item = Duration> {
        (2_000..=10_000).step_by(50).map(Duration::from_millis)
    }

    #[test]
    fn last_note_of_a_leader_is_no_sign_that_it_goes_on() {
        // Begun at the latest, and made at the latest.
        let begun = COMMITS_EVERY + EVERY;
        for silent in silences() {
            for noted in [Duration::ZERO, begun, begun + NOTED_WITHIN] {
                let age = silent.saturating_sub(noted);
                assert!(age >= sign_within(silent), "{noted:?} of {silent:?}");
            }
        }
    }

    #[test]
    fn keys_are_accepted_while_one_of_both_tells_of_revoked_ones() {
        let after = Duration::from_secs(3);
        let [none, short, long] = [0, 2_999, 3_000].map(Duration::from_millis);
        for (silent, keys_silent, expected) in [
            (long, long, true),
            (long, short, false),
            (short, long, false),
            (none, 20 * long, false),
            (20 * long, none, false),
            (20 * long, long, true),
        ] {
            assert_eq!(
                is_alone(silent, keys_silent, after),
                expected,
                "{silent:?} {keys_silent:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn node_serves_until_a_leader_is_back() {
        let waited = async |leader: Beat| {
            let began = Instant::now();
            leader_is_back(heard(vec![leader])).await;
            began.elapsed().as_secs()
        };
        let leader = Beat { leads: true, ..beat("a") };
        assert_eq!(waited(leader.clone()).await, NOTICE.as_secs());
        let refusing = Beat { refused: true, ready: false, ..leader };
        assert_eq!(waited(refusing).await, REPLACED_WITHIN.as_secs());
        assert_eq!(waited(beat("a")).await, REPLACED_WITHIN.as_secs(), "nobody leads");
    }

    #[test]
    fn leader_that_goes_on_is_seen_soon() {
        // Its newest note, at worst.
        let age = EVERY + NOTED_WITHIN;
        for silent in silences().filter(|silent| *silent > Duration::from_millis(3_500)) {
            assert!(age < sign_within(silent), "{silent:?}");
        }
        assert_eq!(sign_within(Duration::from_secs(60)), RECENT);
    }
}
