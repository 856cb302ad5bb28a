//! Brings the node's own log up to the stream, and restores the hub from it.
//!
//! The node's log is a copy of the stream's records. If it ends at a record that the stream has, the node copies what
//! is missing. If not, it takes the snapshot of another node. If there is none, it begins a generation: all channels
//! get other epochs.

use std::{mem, time::Duration};

use base::{Micros, supervisor};
use hub::{
    Hub,
    pipeline::Startup,
    restart::{self, HubStart, OpenedLog, RestartError, RestoredState},
};
use log::{
    EncodedRecords, Log, LogPosition,
    files::{Continuity, FileLog, LogSettings, SnapshotStore},
};
use tokio::{
    fs::File,
    runtime::Handle,
    task::block_in_place,
    time::{Instant, sleep, timeout},
};
use tracing::{info, warn};

use super::{Cluster, ClusterFailure, FORMATS};
use crate::{
    AppendError, Beats, Body, Message, Stream, StreamEnd, StreamEntry, WholeMessage,
    beat::BEAT_INTERVAL,
    node_log::{HeldTerm, NodeLog},
};

/// Where a node is in the stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StreamPosition {
    /// The last message that it has applied.
    pub seq: u64,
    /// The last record.
    pub position: LogPosition,
    /// The newest term that it has seen.
    pub term: u64,
}

/// Why a node cannot go on where it is. It then joins again, and takes what the others have.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("message {seq} of the stream does not follow record {number} of this node")]
    Other { seq: u64, number: u64 },
    /// The stream has lost records, and a node went on with what it had.
    #[error(
        "message {seq} of the stream begins a generation behind record {}, and this node is at record {number}",
        position.number
    )]
    Generation { seq: u64, position: LogPosition, number: u64 },
    #[error("message {seq} of the stream cannot be read: {problem}")]
    Malformed { seq: u64, problem: &'static str },
}

impl StreamPosition {
    /// Goes on to the next message. Returns its records, if it has any.
    pub(super) fn advance(
        &mut self,
        WholeMessage { seq, message }: &WholeMessage,
    ) -> Result<Option<EncodedRecords>, HistoryError> {
        let seq = *seq;
        let is_here = |position: LogPosition| {
            (position.number, position.chain) == (self.position.number, self.position.chain)
        };
        let number = self.position.number;
        let records = match &message.body {
            Body::Records(records) => {
                let records = EncodedRecords::read(records.bytes.clone())
                    .map_err(|problem| HistoryError::Malformed { seq, problem })?;
                if !is_here(records.before()) {
                    return Err(HistoryError::Other { seq, number });
                }
                Some(records)
            }
            Body::Term { position, .. } if !is_here(*position) => {
                return Err(HistoryError::Generation { seq, position: *position, number });
            }
            Body::Term { .. } | Body::HandOver { .. } => None,
        };
        if let Some(records) = &records {
            self.position = records.end();
        }
        (self.seq, self.term) = (seq, self.term.max(message.term));
        Ok(records)
    }
}

/// What a node has when it has joined: the log, and where it is in the stream.
type Joined = (OpenedLog, StreamPosition);

/// The pause before a node that cannot join yet looks again.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// How often a node that cannot join says why.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// How long it waits for a node that can give a snapshot, before it begins a generation.
const PEERS_WITHIN: Duration = Duration::from_secs(3);

/// How long PostgreSQL may take to tell which terms there were. Without an answer only the stream tells.
const DATABASE_WITHIN: Duration = Duration::from_secs(2);

/// The node's log and snapshots.
struct NodeFiles {
    log: FileLog,
    snapshots: SnapshotStore,
    settings: LogSettings,
    /// Its end, if it can be gone on from: there are records of this database, and none is missing.
    usable: Option<LogPosition>,
}

impl NodeFiles {
    fn open(settings: &LogSettings, start: &HubStart<'_>) -> Result<Self, RestartError> {
        let settings = settings.clone();
        let (log, report) = restart::open_files(&settings)?;
        let snapshots = SnapshotStore::open(&settings).map_err(RestartError::Snapshot)?;
        let is_ours = restart::belongs_to(&settings.folder, &start.database);
        let is_whole = report.last > 0 && report.continuity == Continuity::Proven;
        let usable = (is_ours && is_whole).then_some(report.end);
        Ok(Self { log, snapshots, settings, usable })
    }

    /// Moves records, snapshots and films away, if there are any, and begins an empty log after this record.
    fn begin_after(
        self,
        position: LogPosition,
        database: &str,
        why: &str,
    ) -> Result<Self, RestartError> {
        let Self { mut log, snapshots, settings, .. } = self;
        if log.end().number > 0 {
            log.close()?;
            restart::set_aside_all(&settings.folder, why)?;
            (log, _) = restart::open_files(&settings)?;
        }
        log.begin_after(position)?;
        restart::write_database_name(&settings.folder, database)?;
        Ok(Self { log, snapshots, settings, usable: Some(position) })
    }
}

/// See [`Cluster::join`].
pub(super) async fn join(
    settings: &LogSettings,
    cluster: &Cluster,
    start: &HubStart<'_>,
    fresh: impl FnOnce() -> Hub,
) -> Result<Joined, ClusterFailure> {
    match retry(async || find_position(settings, cluster, start).await).await? {
        JoinOutcome::Joined(joined) => Ok(*joined),
        JoinOutcome::NoState(generation) => {
            let Generation { files, begun, restored } = *generation;
            let hub = restored.map_or_else(fresh, |state| state.hub.hub);
            Ok(begin_generation(cluster, start, files, begun, hub)?)
        }
    }
}

/// Tries again for as long as NATS does not answer.
pub(super) async fn retry<T>(
    mut attempt: impl AsyncFnMut() -> Result<T, ClusterFailure>,
) -> Result<T, ClusterFailure> {
    let mut reported: Option<Instant> = None;
    loop {
        match attempt().await {
            Err(failure) if failure.is_passing() => {
                if reported.is_none_or(|at| at.elapsed() > REPORT_EVERY) {
                    let error = &failure as &dyn std::error::Error;
                    warn!(error, "cannot join the cluster yet");
                    reported = Some(Instant::now());
                }
                sleep(RETRY_AFTER).await;
            }
            other => return other,
        }
    }
}

/// How an attempt to join ended.
enum JoinOutcome {
    /// A position from which to follow.
    Joined(Box<Joined>),
    /// No node has the state of the cluster: this one has begun a term without it.
    NoState(Box<Generation>),
}

/// A term that begins without the state of the cluster.
struct Generation {
    files: NodeFiles,
    begun: BegunTerm,
    /// The state of the node's log.
    restored: Option<RestoredState>,
}

async fn find_position(
    settings: &LogSettings,
    cluster: &Cluster,
    start: &HubStart<'_>,
) -> Result<JoinOutcome, ClusterFailure> {
    let stream = &cluster.stream;
    let mut files = NodeFiles::open(settings, start)?;
    // Whether a leader is of this version is known when it was heard.
    timeout(2 * BEAT_INTERVAL, leader(&cluster.beats)).await.ok();
    let mut reported = "";
    let mut failed: Option<Instant> = None;
    let mut wait_for = async |what: &'static str| {
        if mem::replace(&mut reported, what) != what {
            info!("waiting for {what}");
        }
        sleep(RETRY_AFTER).await;
    };
    loop {
        let other = cluster.beats.leader().filter(|leader| leader.beat.formats != FORMATS);
        if let Some(leader) = other {
            // The next process may be of that release.
            if supervisor::has_restarted() {
                return Err(ClusterFailure::OtherFormats(leader.beat.node));
            }
            wait_for("a leader of this version: the one that leads has other formats").await;
            continue;
        }
        let end = stream.end().await?;
        let found = match files.usable {
            Some(position) => stream.find(position).await?,
            None => None,
        };
        let mut restored = None;
        if let Some(seq) = found {
            let here = stream.read(seq).await?;
            let term = here.map_or(0, |stored| stored.message.term);
            let mut reached = StreamPosition { seq, position: files.log.end(), term };
            let copied = copy(stream, &mut files.log, &mut reached, end).await;
            files.usable = Some(files.log.end());
            restored = restore(start, &files);
            match (copied, restored.take()) {
                (Ok(()), Some(state)) if state.is_as_logged() => {
                    let opened = follow(cluster, files, state)?;
                    return Ok(JoinOutcome::Joined(Box::new((opened, reached))));
                }
                // The stream lost records while this node was away, and others went on with theirs.
                (Ok(()) | Err(ClusterFailure::History(_)), other) => {
                    restored = other;
                }
                (Err(error), _) => return Err(error),
            }
        }
        if end.last > 0
            && let Some(node) = peer(cluster).await
        {
            let taken = take_snapshot(cluster, start, files, &node, end).await;
            files = NodeFiles::open(settings, start)?;
            match taken {
                Ok(()) => info!(from = node, "took the state of another node"),
                Err(error) => {
                    if failed.is_none_or(|at| at.elapsed() > REPORT_EVERY) {
                        let error = &error as &dyn std::error::Error;
                        warn!(error, from = node, "cannot take the state of another node yet");
                        failed = Some(Instant::now());
                    }
                    sleep(RETRY_AFTER).await;
                }
            }
            continue;
        }
        if !cluster.config.role.may_lead() {
            wait_for("a node of the cluster from which to take the state").await;
            continue;
        }
        if restored.is_none() && files.usable.is_some() {
            restored = restore(start, &files);
        }
        let Some(begun) = begin_term(cluster, &files, end).await? else { continue };
        return Ok(JoinOutcome::NoState(Box::new(Generation { files, begun, restored })));
    }
}

/// Waits until a leader was heard.
async fn leader(beats: &Beats) {
    let mut beats = beats.clone();
    while beats.leader().is_none() {
        beats.changed().await;
    }
}

/// Copies what the stream has after this position, up to its end.
async fn copy(
    stream: &Stream,
    log: &mut FileLog,
    reached: &mut StreamPosition,
    end: StreamEnd,
) -> Result<(), ClusterFailure> {
    if reached.seq >= end.last {
        return Ok(());
    }
    let mut following = stream.follow(reached.seq).await?;
    // The rest of records in parts may never come.
    while following.end_behind(reached.seq) < end.last {
        let Some(followed) = following.recv_or_read().await? else { continue };
        if let Some(records) = reached.advance(&followed)? {
            log.append_encoded(&records).map_err(RestartError::from)?;
        }
    }
    Ok(())
}

/// The state at the end of the node's log.
fn restore(start: &HubStart<'_>, files: &NodeFiles) -> Option<RestoredState> {
    let last = files.log.end().number;
    block_in_place(|| restart::restore(start, &files.log, last, true, &files.snapshots))
}

/// Goes on from the node's log as a node that follows.
fn follow(
    cluster: &Cluster,
    files: NodeFiles,
    state: RestoredState,
) -> Result<OpenedLog, RestartError> {
    let NodeFiles { log, snapshots, .. } = files;
    let RestoredState { hub, followed, snapshot, .. } = state;
    info!(record = hub.applied, matches = hub.hub.matches(), "follows the cluster");
    let startup = Startup::new(hub.hub, node_log(cluster, log)?);
    let (snapshot, snapshots) = (snapshot.at, Some(snapshots));
    Ok(OpenedLog { startup, followed, snapshot, snapshots, leads: false })
}

fn node_log(cluster: &Cluster, log: FileLog) -> Result<Box<dyn Log>, RestartError> {
    let Cluster { stream, node, lead, .. } = cluster;
    let (log, runtime) = (Box::new(log), Handle::current());
    Ok(Box::new(NodeLog::new(log, stream.clone(), node.clone(), lead.clone(), runtime)?))
}

/// A node that has a snapshot of this version's formats. Waits a little for one.
async fn peer(cluster: &Cluster) -> Option<String> {
    let mut beats = cluster.beats.clone();
    let found = async {
        loop {
            let able = beats.all().into_iter().find(|received| {
                let beat = &received.beat;
                beat.in_sync && beat.formats == FORMATS && *beat.node != *cluster.node
            });
            if let Some(received) = able {
                return received.beat.node;
            }
            beats.changed().await;
        }
    };
    timeout(PEERS_WITHIN, found).await.ok()
}

/// Takes the newest snapshot of another node, and the records of the stream from as long before it as clients may
/// resume. Nobody resumes from before the generation that it is of.
async fn take_snapshot(
    cluster: &Cluster,
    start: &HubStart<'_>,
    files: NodeFiles,
    node: &str,
    end: StreamEnd,
) -> Result<(), ClusterFailure> {
    let Cluster { stream, peers, .. } = cluster;
    let snapshot = peers.snapshot(node).await?;
    let (number, chain, at) = (snapshot.number, snapshot.chain, snapshot.at);
    let position = LogPosition { number, chain, at };
    let Some(seq) = stream.find(position).await? else {
        return Err(ClusterFailure::NoSnapshot(node.to_owned()));
    };
    let since = at - start.settings.window.age_us;
    let (after, before) = position_at(stream, since, end.first, seq).await?;
    let before = before.unwrap_or(position);
    let mut files = files.begin_after(before, &start.database, "of-another-history")?;
    let mut reached = StreamPosition { seq: after, position: before, term: 0 };
    loop {
        match copy(stream, &mut files.log, &mut reached, end).await {
            Ok(()) => break,
            Err(ClusterFailure::History(HistoryError::Generation {
                seq: begins,
                position,
                ..
            })) if begins <= seq => {
                files = files.begin_after(position, &start.database, "of-another-generation")?;
                reached = StreamPosition { seq: begins, position, term: 0 };
            }
            Err(error) => return Err(error),
        }
    }
    let file = files.snapshots.begin_receiving().map_err(RestartError::Snapshot)?;
    let mut file = File::from_std(file);
    peers.download(node, &snapshot, &mut file).await?;
    let received = files.snapshots.receive(number, &file.into_std().await);
    received.map_err(|error| RestartError::Snapshot(std::io::Error::other(error)))?;
    files.log.close().map_err(RestartError::from)?;
    Ok(())
}

/// The first message with records that were made at this time or later, of those up to `last`: the message before it,
/// and the record. If there are none, the records begin after `last`.
async fn position_at(
    stream: &Stream,
    since: Micros,
    first: u64,
    last: u64,
) -> Result<(u64, Option<LogPosition>), ClusterFailure> {
    let (mut low, mut high) = (first, last + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let stored = stream.read(middle).await?;
        if stored.is_none_or(|stored| stored.message.position().at < since) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for seq in low..=last {
        let Some(StreamEntry { message, .. }) = stream.read(seq).await? else { continue };
        if let Body::Records(records) = message.body
            && records.part.index == 0
        {
            let (number, chain) = (records.first - 1, records.before);
            return Ok((seq - 1, Some(LogPosition { number, chain, at: 0 })));
        }
    }
    Ok((last, None))
}

/// A term that has begun, without a state of the cluster.
struct BegunTerm {
    held: HeldTerm,
    /// The record after which it begins.
    position: LogPosition,
}

/// Begins a term behind the end of the stream. `None` if another node was faster.
async fn begin_term(
    cluster: &Cluster,
    files: &NodeFiles,
    end: StreamEnd,
) -> Result<Option<BegunTerm>, ClusterFailure> {
    let Cluster { stream, node, database, .. } = cluster;
    let (last, newest) = last_position(stream, end).await?;
    // The stream may have lost terms. A leader of one of these may be suspended and wake up.
    let stored = timeout(DATABASE_WITHIN, database.stored_term(&stream.identity())).await;
    let stored = stored.ok().and_then(Result::ok).unwrap_or(0);
    // What this node has beyond the stream's end was published, so its numbers are not used again.
    let position = files.usable.filter(|end| end.number >= last.number).unwrap_or(last);
    let term = newest.max(stored) + 1;
    match append_term(stream, end.last, term, node, position).await {
        Ok(seq) => Ok(Some(BegunTerm { held: HeldTerm { term, seq }, position })),
        Err(AppendError::Refused { .. } | AppendError::Unavailable(_)) => {
            sleep(RETRY_AFTER).await;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// The last record of the stream, and its newest term.
async fn last_position(
    stream: &Stream,
    end: StreamEnd,
) -> Result<(LogPosition, u64), ClusterFailure> {
    let mut newest = 0;
    for seq in (end.first.max(1)..=end.last).rev() {
        let Some(StreamEntry { message, .. }) = stream.read(seq).await? else { break };
        newest = newest.max(message.term);
        // Parts without the last one were never published.
        let is_whole = match &message.body {
            Body::Records(records) => records.part.is_last(),
            Body::Term { .. } | Body::HandOver { .. } => true,
        };
        if is_whole {
            return Ok((message.position(), newest));
        }
    }
    Ok((LogPosition::default(), newest))
}

/// Appends a term of this node behind a message of the stream and a record.
pub(super) async fn append_term(
    stream: &Stream,
    seq: u64,
    term: u64,
    node: &str,
    position: LogPosition,
) -> Result<u64, AppendError> {
    let body = Body::Term { position, formats: FORMATS };
    let message = Message { term, node: node.to_owned(), body };
    // The same term of the same node is not the same message after another one.
    stream.append(seq, &message, &format!("{node}-{term}-term-{seq}")).await
}

/// Leads from a state that need not be what clients have seen: all channels begin new epochs.
fn begin_generation(
    cluster: &Cluster,
    start: &HubStart<'_>,
    mut files: NodeFiles,
    BegunTerm { held, position }: BegunTerm,
    hub: Hub,
) -> Result<Joined, RestartError> {
    warn!(
        term = held.term,
        "no node has the state of the stream's end: all channels begin new epochs"
    );
    let end = files.log.end();
    if (end.number, end.chain) != (position.number, position.chain) {
        files = files.begin_after(position, &start.database, "of-another-history")?;
    }
    restart::write_database_name(&files.settings.folder, &start.database)?;
    cluster.lead.take(held);
    cluster.fence.lead(&cluster.stream.identity(), held.term, true);
    let NodeFiles { log, snapshots, .. } = files;
    let log = node_log(cluster, log)?;
    let opened = block_in_place(|| restart::begin(hub, log, Some(snapshots)))?;
    let position = opened.startup.records().end();
    let seq = cluster.lead.get().map_or(held.seq, |held| held.seq);
    Ok((opened, StreamPosition { seq, position, term: held.term }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_log_that_has_something_is_set_aside() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = LogSettings::new(folder.path());
        let (log, _) = restart::open_files(&settings).expect("a new log");
        let snapshots = SnapshotStore::open(&settings).expect("a new folder");
        let files = NodeFiles { log, snapshots, settings, usable: None };
        let aside = folder.path().join("damaged");
        let mut position = LogPosition { number: 7, ..LogPosition::default() };
        let files = files.begin_after(position, "d", "of-another-history").expect("it is empty");
        assert_eq!((files.log.end(), aside.exists()), (position, false));
        position.number = 9;
        let files = files.begin_after(position, "d", "of-another-history").expect("it is moved");
        assert_eq!((files.log.end(), aside.exists()), (position, true));
    }
}
