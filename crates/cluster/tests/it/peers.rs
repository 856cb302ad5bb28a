use std::sync::Arc;

use bytes::Bytes;
use cluster::{
    ChannelDigest, ClusterConfig, PeerError, PeerHandler, PeerReply, PeerRequest, Peers,
    SnapshotInfo,
};
use tempfile::TempDir;

use crate::support::{Server, bytes, chain, config, with_each_server};

const PART: usize = 512 << 10;
const DIGEST: ChannelDigest = ChannelDigest { epoch: 3, seq: 14, digest: [15; 16] };

fn channels() -> Vec<String> {
    (0..4_500).map(|number| format!("football/{number:04}")).collect()
}

/// A node with one snapshot.
struct Node {
    snapshot: Bytes,
}

impl PeerHandler for Node {
    async fn answer(&self, request: PeerRequest) -> PeerReply {
        match request {
            PeerRequest::Snapshot => PeerReply::Snapshot(SnapshotInfo {
                number: 7,
                chain: chain(7),
                at: 70,
                format: 3,
                bytes: self.snapshot.len() as u64,
            }),
            PeerRequest::Part { number: 7, offset } => {
                let from = self.snapshot.len().min(usize::try_from(offset).expect("it is small"));
                let to = self.snapshot.len().min(from + PART);
                PeerReply::Part(self.snapshot.slice(from..to))
            }
            PeerRequest::Part { number, .. } => {
                PeerReply::Refused(format!("there is no snapshot {number}"))
            }
            PeerRequest::Channels { after } => {
                let names = channels().into_iter().filter(|name| *name > after);
                PeerReply::Channels(names.take(2_000).collect())
            }
            PeerRequest::Digests { channels } => PeerReply::Digests(
                channels.iter().map(|name| (name != "gone").then_some(DIGEST)).collect(),
            ),
            PeerRequest::HandOver { to } if to == "b" => PeerReply::Done,
            PeerRequest::Ping | PeerRequest::Drain { ends: false } => PeerReply::Done,
            PeerRequest::Drain { ends: true } => PeerReply::Refused("it is not drained".to_owned()),
            PeerRequest::Forward(bytes) => PeerReply::Forwarded(bytes),
            PeerRequest::HandOver { .. } => PeerReply::Refused("it does not lead".to_owned()),
        }
    }
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn snapshot_is_downloaded_exactly() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let config = config(&[&server]);
        let node = Peers::connect(&config).await.expect("the server listens");
        let snapshot = bytes(5_000_000);
        let handler = Arc::new(Node { snapshot: snapshot.clone() });
        let serving = tokio::spawn(async move { node.serve(handler).await });
        let config = ClusterConfig { node: "b".to_owned(), ..config };
        let peers = Peers::connect(&config).await.expect("the server listens");
        // Until it is subscribed.
        let info = loop {
            match peers.snapshot("a").await {
                Err(PeerError::Away { .. }) => tokio::task::yield_now().await,
                info => break info.expect("it has one"),
            }
        };
        assert_eq!((info.number, info.bytes), (7, 5_000_000));
        let mut read = Vec::new();
        peers.download("a", &info, &mut read).await.expect("it answers");
        assert!(read == snapshot, "the bytes are the same");

        let old = SnapshotInfo { number: 6, ..info.clone() };
        let error = peers.download("a", &old, &mut read).await.expect_err("it is gone");
        assert_eq!(error.to_string(), "node a refuses: there is no snapshot 6");
        let longer = SnapshotInfo { bytes: info.bytes + 1, ..info };
        let error = peers.download("a", &longer, &mut read).await.expect_err("it is shorter");
        assert!(matches!(error, PeerError::Invalid { .. }), "{error}");

        let hand_over = PeerRequest::HandOver { to: "b".to_owned() };
        assert_eq!(peers.ask("a", &hand_over).await.expect("it may"), PeerReply::Done);
        let hand_over = PeerRequest::HandOver { to: "c".to_owned() };
        let refused = peers.ask("a", &hand_over).await;
        assert!(matches!(refused, Err(PeerError::Refused { .. })), "{refused:?}");
        assert_eq!(peers.ask("a", &PeerRequest::Ping).await.expect("it answers"), PeerReply::Done);
        let drain = |ends| PeerRequest::Drain { ends };
        assert_eq!(peers.ask("a", &drain(false)).await.expect("it answers"), PeerReply::Done);
        peers.ask("a", &drain(true)).await.expect_err("as it was asked");
        let request = PeerRequest::Forward(bytes(800_000));
        let answer = peers.ask("a", &request).await.expect("it answers");
        assert_eq!(answer, PeerReply::Forwarded(bytes(800_000)));
        let request = PeerRequest::Forward(bytes(950_000));
        let refused = peers.ask("a", &request).await;
        assert!(matches!(refused, Err(PeerError::Refused { .. })), "{refused:?}");
        assert_eq!(peers.channels("a").await.expect("it answers"), channels());
        let digests = peers.digests("a", &["football/0001".to_owned(), "gone".to_owned()]).await;
        assert_eq!(digests.expect("it answers"), [Some(DIGEST), None]);
        serving.abort();
    });
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn node_that_is_away_is_noticed_at_once() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let peers = Peers::connect(&config(&[&server])).await.expect("the server listens");
        let error = peers.snapshot("nobody").await.expect_err("there is no such node");
        assert!(matches!(error, PeerError::Away { .. }), "{error}");
    });
}
