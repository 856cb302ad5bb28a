//! Compares the documents of all channels between the nodes of a cluster, while they change.
//!
//! A node tells a digest of each document with its position. Documents are compared where two nodes have told the same
//! position of a channel. Where they have not, because the channel goes on, they are asked again.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io::Write,
    mem,
    time::Duration,
};

use cluster::{Beat, ChannelDigest, PeerError, Peers, peer::REQUEST_BYTES_MAX};
use tokio::{task::JoinSet, time::sleep};

use super::{ClusterCommandError, ClusterHealth};

/// Maximum attempts to compare a channel.
const ROUNDS_MAX: u32 = 40;
/// Between two rounds.
const AGAIN_AFTER: Duration = Duration::from_millis(50);
/// Lines about single channels at most. The counts are of all.
const LINES_MAX: usize = 20;
/// Of a request that carries no names.
const REQUEST_BYTES: usize = 64;

/// Compares all nodes with the one that leads, and prints what it finds.
pub(super) async fn run(
    peers: &Peers,
    nodes: &[Beat],
    out: &mut impl Write,
) -> Result<ClusterHealth, ClusterCommandError> {
    let (mut names, mut silent) = (Vec::new(), Vec::new());
    let mut channels = BTreeSet::new();
    let (leader, others): (Vec<_>, Vec<_>) = nodes.iter().partition(|beat| beat.leads);
    for Beat { node, .. } in leader.into_iter().chain(others) {
        match peers.channels(node).await {
            Ok(listed) => {
                channels.extend(listed);
                names.push(node.clone());
            }
            Err(error) => silent.push(error),
        }
    }
    let listed = channels.len();
    let mut comparison = Comparison::new(names.len(), channels);
    for round in 0..ROUNDS_MAX {
        if round > 0 {
            sleep(AGAIN_AFTER).await;
        }
        for request in requests(comparison.open()) {
            match ask_all(peers, &names, &request).await {
                Ok(answers) => comparison.note(&request, &answers),
                Err(error) => {
                    silent.push(error);
                    return report(&comparison, &names, listed, &silent, out);
                }
            }
        }
        if comparison.open.is_empty() {
            break;
        }
    }
    report(&comparison, &names, listed, &silent, out)
}

/// Asks all nodes at the same time, so that they are at nearly the same position.
async fn ask_all(
    peers: &Peers,
    nodes: &[String],
    channels: &[String],
) -> Result<Vec<Vec<Option<ChannelDigest>>>, PeerError> {
    let mut asking = JoinSet::new();
    for (index, node) in nodes.iter().enumerate() {
        let (peers, node, channels) = (peers.clone(), node.clone(), channels.to_vec());
        asking.spawn(async move { (index, peers.digests(&node, &channels).await) });
    }
    let mut answers = vec![Vec::new(); nodes.len()];
    while let Some(Ok((index, answer))) = asking.join_next().await {
        answers[index] = answer?;
    }
    Ok(answers)
}

/// The names in parts that fit in a request.
fn requests(names: Vec<String>) -> Vec<Vec<String>> {
    let mut requests = Vec::new();
    let (mut request, mut bytes) = (Vec::new(), REQUEST_BYTES);
    for name in names {
        // Quotation marks and a comma.
        bytes += name.len() + 3;
        if bytes > REQUEST_BYTES_MAX && !request.is_empty() {
            bytes = REQUEST_BYTES + name.len() + 3;
            requests.push(mem::take(&mut request));
        }
        request.push(name);
    }
    requests.extend((!request.is_empty()).then_some(request));
    requests
}

/// What is known of the channels' documents at each node. The first node is the one that others are compared with.
#[derive(Debug)]
struct Comparison {
    nodes: usize,
    /// Channels that are not yet compared.
    open: BTreeMap<String, OpenChannel>,
    equal: usize,
    /// Channels that all nodes have closed.
    closed: usize,
    different: BTreeMap<String, Difference>,
}

#[derive(Debug, Default)]
struct OpenChannel {
    /// By position, the digest of each node that was there.
    digests: HashMap<(u32, u64), Vec<Option<[u8; 16]>>>,
    /// Whether each node has the channel, as of its last answer.
    has: Vec<bool>,
}

/// A node that has another document than the first one at the same position.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    node: usize,
    epoch: u32,
    seq: u64,
}

impl Comparison {
    fn new(nodes: usize, channels: BTreeSet<String>) -> Self {
        let open = channels.into_iter().map(|name| (name, OpenChannel::default())).collect();
        Self { nodes, open, equal: 0, closed: 0, different: BTreeMap::new() }
    }

    /// The channels that are not yet compared.
    fn open(&self) -> Vec<String> {
        self.open.keys().cloned().collect()
    }

    /// `answers`: of each node, for each of these channels.
    fn note(&mut self, channels: &[String], answers: &[Vec<Option<ChannelDigest>>]) {
        for (index, name) in channels.iter().enumerate() {
            let Some(channel) = self.open.get_mut(name) else { continue };
            channel.has = answers.iter().map(|digests| digests[index].is_some()).collect();
            for (node, digests) in answers.iter().enumerate() {
                if let Some(ChannelDigest { epoch, seq, digest }) = digests[index] {
                    let nodes = self.nodes;
                    let at = channel.digests.entry((epoch, seq));
                    at.or_insert_with(|| vec![None; nodes])[node] = Some(digest);
                }
            }
            if let Some(difference) = channel.difference() {
                self.different.insert(name.clone(), difference);
            } else if !channel.has.contains(&true) {
                self.closed += 1;
            } else if channel.is_compared(self.nodes) {
                self.equal += 1;
            } else {
                continue;
            }
            self.open.remove(name);
        }
    }
}

impl OpenChannel {
    fn difference(&self) -> Option<Difference> {
        self.digests.iter().find_map(|(&(epoch, seq), digests)| {
            let first = digests[0]?;
            let node = digests.iter().position(|it| it.is_some_and(|digest| digest != first))?;
            Some(Difference { node, epoch, seq })
        })
    }

    /// Whether each node was at a position at which the first one was too.
    fn is_compared(&self, nodes: usize) -> bool {
        let shared = || self.digests.values().filter(|digests| digests[0].is_some());
        (0..nodes).all(|node| shared().any(|digests| digests[node].is_some()))
    }
}

fn report(
    comparison: &Comparison,
    nodes: &[String],
    listed: usize,
    silent: &[PeerError],
    out: &mut impl Write,
) -> Result<ClusterHealth, ClusterCommandError> {
    let Comparison { open, equal, closed, different, .. } = comparison;
    writeln!(out, "nodes\t{}", nodes.join(", "))?;
    for error in silent {
        writeln!(out, "not compared\t{error}")?;
    }
    for (name, Difference { node, epoch, seq }) in different.iter().take(LINES_MAX) {
        let (first, node) = (&nodes[0], &nodes[*node]);
        writeln!(out, "different\t{name}\t{first} and {node} at {epoch}:{seq}")?;
    }
    for (name, channel) in open.iter().take(LINES_MAX) {
        let without: Vec<&str> = channel
            .has
            .iter()
            .zip(nodes)
            .filter(|(has, _)| !**has)
            .map(|(_, node)| &**node)
            .collect();
        match without.is_empty() {
            true => writeln!(out, "not compared\t{name}\tnodes are never at the same position")?,
            false => writeln!(out, "not compared\t{name}\tnot open at {}", without.join(", "))?,
        }
    }
    writeln!(
        out,
        "channels\t{listed}: {equal} equal, {} different, {} not compared, {closed} closed meanwhile",
        different.len(),
        open.len()
    )?;
    let is_whole = silent.is_empty() && open.is_empty() && different.is_empty();
    Ok(if is_whole { ClusterHealth::Whole } else { ClusterHealth::Reduced })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(names: &[&str]) -> Comparison {
        Comparison::new(2, names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn at(seq: u64, digest: u8) -> Option<ChannelDigest> {
        Some(ChannelDigest { epoch: 1, seq, digest: [digest; 16] })
    }

    fn note(
        comparison: &mut Comparison,
        first: Option<ChannelDigest>,
        second: Option<ChannelDigest>,
    ) {
        comparison.note(&["feeds".to_owned()], &[vec![first], vec![second]]);
    }

    #[test]
    fn channel_is_compared_once_both_nodes_were_at_one_position() {
        let mut compared = comparison(&["feeds"]);
        note(&mut compared, at(5, 5), at(4, 4));
        assert_eq!(compared.open(), ["feeds"], "they have told no common position");
        note(&mut compared, at(6, 6), at(5, 5));
        assert_eq!((compared.equal, compared.open().len()), (1, 0));
    }

    #[test]
    fn other_document_at_the_same_position_is_a_difference() {
        let mut compared = comparison(&["feeds"]);
        note(&mut compared, at(5, 5), at(4, 4));
        note(&mut compared, at(7, 7), at(5, 6));
        assert_eq!(compared.different["feeds"], Difference { node: 1, epoch: 1, seq: 5 });
    }

    #[test]
    fn channel_that_one_node_lacks_is_not_compared_and_one_that_is_gone_is_closed() {
        let mut compared = comparison(&["feeds"]);
        note(&mut compared, at(5, 5), None);
        let (nodes, mut text) = (["a".to_owned(), "b".to_owned()], Vec::new());
        let health = report(&compared, &nodes, 1, &[], &mut text).expect("memory takes it");
        assert_eq!(health, ClusterHealth::Reduced);
        let text = String::from_utf8(text).expect("text");
        assert!(text.contains("not compared\tfeeds\tnot open at b\n"), "{text}");
        note(&mut compared, None, None);
        assert_eq!((compared.closed, compared.open().len()), (1, 0));
    }

    #[test]
    fn names_are_divided_into_requests_that_a_node_takes() {
        let names: Vec<String> = (0..500).map(|it| format!("football/{it:0>60}")).collect();
        let requests = requests(names.clone());
        for request in &requests {
            let request = cluster::PeerRequest::Digests { channels: request.clone() };
            let bytes = serde_json::to_vec(&request).expect("plain values").len();
            assert!(bytes <= REQUEST_BYTES_MAX, "{bytes} bytes");
        }
        assert_eq!(requests.concat(), names);
    }
}
