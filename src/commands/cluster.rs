//! `matchwire cluster`: sets up the stream of a cluster, shows and changes which node leads, and compares the nodes.

mod verify;

use std::{
    io::{self, Write},
    time::Duration,
};

use cluster::{
    Beat, Beats, CLOCK_UNFIT_US, ClusterError, PeerError, PeerRequest, Peers, Stream, StreamError,
    StreamState,
};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use crate::{cli::cluster::ClusterCommand, config::Config};

/// A leader first writes what it has taken to the log. If a NATS server has ended, the others elect one for up to 13 s.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(20);

/// How long beats are collected. Each node sends four a second.
const LISTEN: Duration = Duration::from_millis(1_100);

/// Why a command on the cluster failed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterCommandError {
    #[error("cluster.name is not set: this is a single machine")]
    NoCluster,
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error("the log of the cluster cannot be read")]
    Stream(#[from] StreamError),
    #[error("no node leads")]
    NoLeader,
    #[error(transparent)]
    Peer(#[from] PeerError),
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// How a cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterHealth {
    /// A node leads, and another could take over.
    Whole,
    /// A node leads, and no other could take over, or fewer servers have the stream than should.
    Reduced,
    /// No node leads, or the log takes no records.
    Broken,
}

impl ClusterHealth {
    fn new(nodes: &[Beat]) -> Self {
        let is_current = |it: &Beat| it.in_sync && (it.ready || it.drained);
        let spare = nodes.iter().any(|it| !it.leads && is_current(it) && it.role.may_lead());
        match nodes.iter().any(|it| it.leads && !it.refused) {
            true if spare => Self::Whole,
            true => Self::Reduced,
            false => Self::Broken,
        }
    }

    /// The exit code of `matchwire cluster status`.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Whole => 0,
            Self::Reduced => 1,
            Self::Broken => 2,
        }
    }
}

/// What `status --json` prints.
#[derive(Debug, Serialize)]
struct Status {
    cluster: String,
    leader: Option<String>,
    term: u64,
    nodes: Vec<Beat>,
    stream: Option<StreamStatus>,
}

#[derive(Debug, Serialize)]
struct StreamStatus {
    #[serde(flatten)]
    state: StreamState,
    server_version: String,
}

/// Runs the command, and prints its output.
///
/// # Errors
///
/// If NATS or a node does not do what it is asked, or if the output cannot be written.
pub async fn run(
    command: &ClusterCommand,
    config: &Config,
    out: &mut impl Write,
) -> Result<ClusterHealth, ClusterCommandError> {
    if !config.cluster.is_enabled() {
        return Err(ClusterCommandError::NoCluster);
    }
    let stream = Stream::connect(&config.cluster).await?;
    match command {
        ClusterCommand::Init(_) => {
            stream.set_up().await?;
            writeln!(out, "the stream of cluster {} is ready", config.cluster.name)?;
            Ok(ClusterHealth::Whole)
        }
        ClusterCommand::Status(args) => status(&stream, config, args.json, out).await,
        ClusterCommand::HandOver(args) => {
            let nodes = nodes(&stream).await?;
            let leader = nodes.iter().find(|beat| beat.leads);
            let leader = &leader.ok_or(ClusterCommandError::NoLeader)?.node;
            let request = PeerRequest::HandOver { to: args.to.clone() };
            let peers = Peers::connect(&config.cluster).await?;
            peers.ask_within(HAND_OVER_WITHIN, leader, &request).await?;
            writeln!(out, "{leader} has handed the lead over")?;
            Ok(ClusterHealth::Whole)
        }
        ClusterCommand::Drain(args) => {
            let request = PeerRequest::Drain { ends: args.end };
            Peers::connect(&config.cluster).await?.ask(&args.node, &request).await?;
            let does = if args.end { "takes clients again" } else { "sends its clients away" };
            writeln!(out, "{} {does}", args.node)?;
            Ok(ClusterHealth::Whole)
        }
        ClusterCommand::Verify(_) => {
            let nodes = nodes(&stream).await?;
            if !nodes.iter().any(|beat| beat.leads) {
                return Err(ClusterCommandError::NoLeader);
            }
            verify::run(&Peers::connect(&config.cluster).await?, &nodes, out).await
        }
    }
}

/// The nodes that are heard, by name.
async fn nodes(stream: &Stream) -> Result<Vec<Beat>, ClusterCommandError> {
    let mut beats = Beats::subscribe(stream).await?;
    let until = Instant::now() + LISTEN;
    while timeout_at(until, beats.changed()).await.is_ok() {}
    let mut nodes: Vec<Beat> = beats.all().into_iter().map(|received| received.beat).collect();
    mark_deposed(&mut nodes);
    // It would not take the lead.
    let is_unfit = |node| beats.clock_offset(node).is_some_and(|it| it.abs() >= CLOCK_UNFIT_US);
    nodes.iter_mut().for_each(|beat| beat.in_sync &= !is_unfit(&beat.node));
    Ok(nodes)
}

/// Of a node that was deposed, an older beat may still say that it leads. It ends, so it cannot take over either.
fn mark_deposed(nodes: &mut [Beat]) {
    let term = nodes.iter().filter(|it| it.leads).map(|it| it.term).max();
    for node in nodes.iter_mut().filter(|it| it.leads && Some(it.term) != term) {
        (node.leads, node.ready, node.in_sync) = (false, false, false);
    }
}

async fn status(
    stream: &Stream,
    config: &Config,
    json: bool,
    out: &mut impl Write,
) -> Result<ClusterHealth, ClusterCommandError> {
    let (nodes, state) = tokio::join!(nodes(stream), stream.state());
    let nodes = nodes?;
    let leader = nodes.iter().find(|beat| beat.leads);
    let health = match (&state, ClusterHealth::new(&nodes)) {
        (Err(_), _) => ClusterHealth::Broken,
        (Ok(state), ClusterHealth::Whole) if state.lacks_copies() => ClusterHealth::Reduced,
        (Ok(_), health) => health,
    };
    if json {
        let status = Status {
            cluster: config.cluster.name.clone(),
            leader: leader.map(|beat| beat.node.clone()),
            term: nodes.iter().map(|beat| beat.term).max().unwrap_or(0),
            stream: state.ok().map(|state| {
                let server_version = stream.server_version();
                StreamStatus { state, server_version }
            }),
            nodes,
        };
        serde_json::to_writer_pretty(&mut *out, &status).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(health);
    }
    match leader {
        Some(leader) => writeln!(out, "leader\t{} in term {}", leader.node, leader.term)?,
        None => writeln!(out, "leader\tnone")?,
    }
    match state {
        Ok(state) => writeln!(out, "stream\t{state}, nats-server {}", stream.server_version())?,
        Err(error) => writeln!(out, "stream\t{error}")?,
    }
    for beat in &nodes {
        let (Beat { node, version, number, lag_ms, sockets, .. }, does) = (beat, describe(beat));
        writeln!(
            out,
            "node\t{node}\t{does}\tversion {version}\trecord {number}\t{lag_ms} ms behind\t{sockets} sockets"
        )?;
    }
    Ok(health)
}

/// What a node does, in words.
fn describe(beat: &Beat) -> &'static str {
    match (beat.leads, beat.ready) {
        (true, _) if beat.refused => "leads, but the log takes no records",
        (true, _) if beat.drained => "leads, drained",
        (true, _) => "leads",
        (false, _) if beat.drained => "drained",
        (false, true) => "follows",
        (false, false) => "is behind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster::{Formats, Role, StreamEnd};

    fn beat(node: &str, term: u64, leads: bool) -> Beat {
        Beat {
            node: node.to_owned(),
            role: Role::All,
            version: "0.1.0".to_owned(),
            term,
            leads,
            ready: true,
            drained: false,
            refused: false,
            in_sync: true,
            seq: 9,
            number: 7,
            chain: [0; 16],
            lag_ms: 3,
            sockets: 5,
            formats: Formats::default(),
            at: 0,
        }
    }

    #[test]
    fn cluster_whose_log_takes_no_records_is_broken() {
        let refusing = Beat { refused: true, ready: false, ..beat("b", 5, true) };
        assert_eq!(describe(&refusing), "leads, but the log takes no records");
        let nodes = [beat("a", 5, false), refusing];
        assert_eq!(ClusterHealth::new(&nodes).exit_code(), 2);
    }

    #[test]
    fn stream_is_flat_in_json() {
        let end = StreamEnd { first: 3, last: 7 };
        let state = StreamState { end, bytes: 90, leader: None, copies: 2, replicas: 3 };
        let status = StreamStatus { state, server_version: "2.10.27".to_owned() };
        let json = r#"{"first":3,"last":7,"bytes":90,"leader":null,"copies":2,"replicas":3,"server_version":"2.10.27"}"#;
        assert_eq!(serde_json::to_string(&status).expect("plain values"), json);
    }

    #[test]
    fn node_that_was_deposed_is_no_spare() {
        let health = |mut nodes: Vec<Beat>| {
            mark_deposed(&mut nodes);
            ClusterHealth::new(&nodes)
        };
        assert_eq!(health(vec![beat("a", 4, false), beat("b", 5, true)]), ClusterHealth::Whole);
        // It hung, and has not ended yet since it woke up.
        let deposed = vec![beat("a", 4, true), beat("b", 5, true)];
        assert_eq!(health(deposed), ClusterHealth::Reduced);
        assert_eq!(health(vec![beat("a", 4, false)]), ClusterHealth::Broken);
    }
}
