use base::clock::now;
use cluster::{Beat, BeatSender, Beats, Formats, Role, Stream};
use tempfile::TempDir;

use crate::support::{Server, chain, config, with_each_server};

fn beat(node: &str, term: u64, leads: bool) -> Beat {
    Beat {
        node: node.to_owned(),
        role: Role::Writer,
        version: "0.1.0".to_owned(),
        term,
        leads,
        ready: true,
        drained: false,
        refused: false,
        in_sync: true,
        seq: 5,
        number: 9,
        chain: chain(9),
        lag_ms: 3,
        sockets: 12,
        formats: Formats { state: 1, inputs: 2, document: 3 },
        at: 77,
    }
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn nodes_hear_each_other_and_notice_who_is_gone() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let stream = Stream::connect(&config(&[&server])).await.expect("the server listens");
        let mut beats = Beats::subscribe(&stream).await.expect("it can be subscribed");
        assert!(beats.leader().is_none());
        let _deposed = BeatSender::start(&stream, || beat("a", 1, true));
        let leader = BeatSender::start(&stream, || beat("b", 2, true));
        while beats.all().len() < 2 {
            beats.changed().await;
        }
        let heard: Vec<Beat> = beats.all().into_iter().map(|received| received.beat).collect();
        assert_eq!(heard, [beat("a", 1, true), beat("b", 2, true)]);
        assert_eq!(beats.leader().map(|it| it.beat.node).as_deref(), Some("b"));
        drop(leader);
        while beats.all().iter().any(|received| received.beat.node == "b") {
            beats.changed().await;
        }
        assert_eq!(beats.leader().map(|it| it.beat.node).as_deref(), Some("a"));
    });
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn clock_that_differs_from_the_others_is_found() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let stream = Stream::connect(&config(&[&server])).await.expect("the server listens");
        let mut beats = Beats::subscribe(&stream).await.expect("it can be subscribed");
        let sender = |node: &'static str, ahead| {
            BeatSender::start(&stream, move || Beat { at: now() + ahead, ..beat(node, 1, false) })
        };
        let _two = [sender("a", 0), sender("b", 3_600_000_000)];
        while beats.all().len() < 2 {
            beats.changed().await;
        }
        assert_eq!(beats.clock_offset("b"), None, "either may be wrong");
        let _third = sender("c", 0);
        while beats.all().len() < 3 {
            beats.changed().await;
        }
        let offset = |node| beats.clock_offset(node).expect("there are three");
        assert!(offset("b") > 3_500_000_000, "{}", offset("b"));
        // Less the time that beats are on their way, which is no hour.
        assert!(offset("a").abs() < 1_800_000_000 && offset("c").abs() < 1_800_000_000);
        assert_eq!(beats.clock_offset("d"), None, "it is not there");
    });
}
