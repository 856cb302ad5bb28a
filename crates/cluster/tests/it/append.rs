use std::collections::BTreeSet;

use cluster::{AppendError, Body, ClusterConfig, Stream, StreamError};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::support::{
    LOOK, Server, append, bytes, config, last, leader, position, records, stream, term,
    three_servers, with_each_server,
};

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn racing_writers_never_get_the_same_sequence() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let config = config(&[&server]);
        let log = stream(&config).await;
        race(&config, &log, async || {}).await;
    });
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn racing_writers_never_get_the_same_sequence_while_the_leader_of_the_stream_is_killed() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let mut servers = three_servers(&program, &dir);
        let config = config(&servers.iter().collect::<Vec<_>>());
        let log = stream(&config).await;
        let kill = async || {
            let leader = leader(&log).await;
            let server = servers.iter_mut().find(|server| server.name() == leader);
            server.expect("it is one of ours").kill();
        };
        race(&config, &log, kill).await;
    });
}

/// Each of several writers appends behind what it has seen, and follows whoever was faster. The fault happens when a
/// quarter of the messages is there.
async fn race(config: &ClusterConfig, log: &Stream, fault: impl AsyncFnOnce()) {
    const WRITERS: u64 = 6;
    const APPENDS: u64 = 40;
    let mut following = log.follow(0).await.expect("it can be followed");
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        // From an empty stream on, where 0 must be an expectation like any other.
        let log = Stream::connect(config).await.expect("a server listens");
        writers.push(tokio::spawn(async move {
            let (mut expected, mut written) = (0, Vec::new());
            let mut number = 0;
            while (written.len() as u64) < APPENDS {
                number += 1;
                let id = format!("{writer}-{number}");
                match append(&log, expected, &term(writer, number), &id).await {
                    Ok(seq) => {
                        assert_eq!(seq, expected + 1);
                        written.push((seq, id));
                        expected = seq;
                    }
                    Err(AppendError::Refused { last, .. }) => expected = last,
                    Err(error) => panic!("{error}"),
                }
            }
            written
        }));
    }
    let mut followed = Vec::new();
    for _ in 0..WRITERS * APPENDS / 4 {
        followed.push(following.recv().await.expect("it is there"));
    }
    fault().await;
    let mut given = Vec::new();
    for writer in writers {
        given.extend(writer.await.expect("it does not panic"));
    }
    let seqs: BTreeSet<u64> = given.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs.len(), given.len(), "no sequence is given twice");
    // Nothing is stored for which a writer was refused.
    assert_eq!(last(log).await, WRITERS * APPENDS);
    while (followed.len() as u64) < WRITERS * APPENDS {
        followed.push(following.recv().await.expect("it is there"));
    }
    for (seq, id) in given {
        let stored = loop {
            match log.read(seq).await {
                Err(StreamError::Unavailable(_)) => sleep(LOOK).await,
                stored => break stored.expect("it can be read").expect("it is there"),
            }
        };
        assert_eq!(stored.id, id);
        let index = usize::try_from(seq - 1).expect("it is small");
        assert_eq!((followed[index].seq, &followed[index].message), (seq, &stored.message));
    }
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn repeated_append_gives_the_same_sequence() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let mut server = Server::start(&program, &dir);
        let log = stream(&config(&[&server])).await;
        let message = records(1, 3, "abc");
        assert_eq!(log.append(0, &message, "one").await.expect("it is empty"), 1);
        assert_eq!(log.append(0, &message, "one").await.expect("it is stored"), 1);
        assert_eq!(log.append(1, &term(2, 3), "two").await.expect("it ends at 1"), 2);
        assert_eq!(log.append(0, &message, "one").await.expect("it is stored"), 1);
        // The same id with other bytes is another message.
        let other = log.append(0, &records(1, 3, "abd"), "one").await;
        assert!(
            matches!(other, Err(AppendError::Refused { expected: 0, last: 2, .. })),
            "{other:?}"
        );
        server.kill();
        let lost = log.append(2, &term(3, 3), "three").await;
        assert!(matches!(lost, Err(AppendError::Unavailable(_))), "{lost:?}");
        server.run();
        assert_eq!(append(&log, 2, &term(3, 3), "three").await.expect("it is repeated"), 3);
        assert_eq!(append(&log, 0, &message, "one").await.expect("it is stored"), 1);
    });
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn refusal_names_the_message_that_is_there() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let log = stream(&config(&[&server])).await;
        log.append(0, &records(1, 1, "abc"), "one").await.expect("it is empty");
        let winner = term(7, 1);
        log.append(1, &winner, "winner").await.expect("it ends at 1");
        log.append(2, &records(2, 1, "def"), "two").await.expect("it ends at 2");
        match log.append(1, &term(8, 1), "loser").await {
            Err(AppendError::Refused { expected: 1, last: 3, by: Some(by) }) => {
                assert_eq!((by.seq, &*by.id, by.message), (2, "winner", winner));
            }
            other => panic!("{other:?}"),
        }
        // A writer that knows more than the stream has.
        match log.append(10, &term(8, 1), "ahead").await {
            Err(AppendError::Refused { expected: 10, last: 3, by: None }) => {}
            other => panic!("{other:?}"),
        }
    });
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn large_records_are_stored_in_parts_and_followed_as_one() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let log = stream(&config(&[&server])).await;
        let mut following = log.follow(0).await.expect("it can be followed");
        let large = records(1, 1_000, bytes(3 << 20));
        // As if the writer was interrupted after two of six parts.
        let Body::Records(whole) = &large.body else { panic!("they are records") };
        for index in 0..2_u16 {
            let mut part = whole.clone();
            part.part = cluster::Part { index, count: 6 };
            let from = usize::from(index) * (512 << 10);
            part.bytes = whole.bytes.slice(from..from + (512 << 10));
            let part = cluster::Message { body: Body::Records(part), ..large.clone() };
            let id = format!("large.{index}");
            log.append(u64::from(index), &part, &id).await.expect("it is appended");
        }
        assert_eq!(log.append(0, &large, "large").await.expect("it is continued"), 6);
        assert_eq!(log.append(0, &large, "large").await.expect("it is stored"), 6);
        let followed = following.recv().await.expect("it is there");
        assert!(followed.message == large, "the bytes are the same");
        assert_eq!(followed.seq, 6);
        assert_eq!(log.find(position(1_000)).await.expect("the server answers"), Some(6));

        // Another leader cuts them off.
        let more = records(1_001, 1, bytes(1 << 20));
        let Body::Records(whole) = &more.body else { panic!("they are records") };
        let mut part = whole.clone();
        part.part = cluster::Part { index: 0, count: 2 };
        part.bytes = whole.bytes.slice(..512 << 10);
        let part = cluster::Message { body: Body::Records(part), ..more.clone() };
        log.append(6, &part, "more.0").await.expect("it ends at 6");
        // Its leader has ended: nothing more comes, and the next one goes on behind the part.
        assert_eq!(following.end_behind(5), 5, "message 6 is whole");
        while following.end_behind(6) < 7 {
            assert_eq!(following.recv_or_read().await.expect("it is read"), None);
        }
        let mut late = log.follow(6).await.expect("it can be followed");
        while late.end_behind(6) < 7 {
            assert_eq!(late.recv_or_read().await.expect("it is read"), None);
        }
        let winner = term(2, 1_000);
        log.append(7, &winner, "winner").await.expect("it ends at 7");
        match log.append(6, &more, "more").await {
            Err(AppendError::Refused { expected: 7, last: 8, by: Some(by) }) => {
                assert_eq!(by.message, winner);
            }
            other => panic!("{other:?}"),
        }
        let followed = following.recv().await.expect("it is there");
        assert_eq!((followed.seq, followed.message), (8, winner));
        assert_eq!(log.find(position(1_000)).await.expect("the server answers"), Some(8));
    });
}
