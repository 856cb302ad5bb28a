use std::{collections::BTreeMap, path::Path, time::Duration};

use cluster::{Stream, StreamEntry, StreamError};
use futures_util::TryStreamExt;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::support::{
    LOOK, append, config, last, leader, records, stream, three_servers, with_each_server,
};

/// What happens to the server that leads the stream.
#[derive(Clone, Copy)]
enum Fault {
    Kill,
    /// It comes back when another leads.
    Hang,
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn killed_leader_of_the_stream_loses_and_doubles_nothing() {
    with_each_server(async |program| check(&program, Fault::Kill).await);
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn leader_of_the_stream_that_hangs_and_wakes_loses_and_doubles_nothing() {
    with_each_server(async |program| check(&program, Fault::Hang).await);
}

/// A leader of the stream that nobody follows may have been replaced, and then has no current end.
#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn end_is_current_only_while_most_servers_follow_their_leader() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let servers = three_servers(&program, &dir);
        let log = stream(&config(&servers.iter().collect::<Vec<_>>())).await;
        append(&log, 0, &records(1, 1, "first"), "first").await.expect("it is appended");
        // Nothing is appended meanwhile: the servers hear of each other all the same.
        let is_quiet = Instant::now() + Duration::from_secs(4);
        while Instant::now() < is_quiet || log.current_end().await.is_err() {
            sleep(LOOK).await;
        }
        assert_eq!(log.end().await.expect("they all run").last, 1);
        let leader = leader(&log).await;
        let others = || servers.iter().filter(|server| server.name() != leader);
        others().for_each(|server| server.hang(true));
        while log.current_end().await.is_ok() {
            sleep(LOOK).await;
        }
        others().for_each(|server| server.hang(false));
        while log.current_end().await.is_err() {
            sleep(LOOK).await;
        }
    });
}

/// Every append that returned is in the stream exactly once, and a follower gets all of them.
async fn check(program: &Path, fault: Fault) {
    const BEFORE: u64 = 200;
    const MESSAGES: u64 = 600;
    let dir = TempDir::new().expect("a directory");
    let mut servers = three_servers(program, &dir);
    let config = config(&servers.iter().collect::<Vec<_>>());
    let log = stream(&config).await;
    let reader = Stream::connect(&config).await.expect("the servers listen");
    let mut following = reader.follow(0).await.expect("it can be followed");
    let writer = {
        let log = log.clone();
        tokio::spawn(async move {
            for number in 1..=MESSAGES {
                let id = number.to_string();
                let seq = append(&log, number - 1, &records(number, 1, id.clone()), &id).await;
                assert_eq!(seq.expect("there is no other writer"), number);
            }
        })
    };
    let mut faulty = None;
    for number in 1..=MESSAGES {
        let followed = following.recv().await.expect("nothing is lost");
        assert_eq!((followed.seq, followed.message.position().number), (number, number));
        if number == BEFORE {
            let leader = leader(&log).await;
            let server = servers.iter_mut().find(|server| server.name() == leader);
            let server = server.expect("it is one of ours");
            match fault {
                Fault::Kill => server.kill(),
                Fault::Hang => server.hang(true),
            }
            faulty = Some(leader);
        }
        if number == BEFORE + 200 {
            assert_ne!(Some(leader(&log).await), faulty, "another one leads");
            if let Fault::Hang = fault {
                servers.iter().for_each(|server| server.hang(false));
            }
        }
    }
    writer.await.expect("all are appended");
    let end = last(&log).await;
    // A server that wakes answers for a moment that it is unavailable.
    let stored: Vec<StreamEntry> = loop {
        match log.read_range(1, end).try_collect().await {
            Err(StreamError::Unavailable(_)) => sleep(LOOK).await,
            stored => break stored.expect("all are there"),
        }
    };
    let ids: BTreeMap<&str, u64> = stored.iter().map(|it| (&*it.id, it.seq)).collect();
    assert_eq!((ids.len() as u64, end), (MESSAGES, MESSAGES), "each is there once");
}
