use cluster::{AppendError, Stream, StreamError, Unavailable};
use tempfile::TempDir;

use crate::support::{Server, append, config, records, stream, with_each_server};

/// A writer appends while the server is killed and restarted twice.
#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn following_is_complete_and_in_order_over_restarts_of_the_server() {
    const MESSAGES: u64 = 600;
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let mut server = Server::start(&program, &dir);
        let config = config(&[&server]);
        let log = stream(&config).await;
        let reader = Stream::connect(&config).await.expect("the server listens");
        let mut following = reader.follow(0).await.expect("it can be followed");
        let writer = tokio::spawn(async move {
            for number in 1..=MESSAGES {
                let id = number.to_string();
                let seq = append(&log, number - 1, &records(number, 1, id.clone()), &id).await;
                assert_eq!(seq.expect("there is no other writer"), number);
            }
        });
        for number in 1..=MESSAGES {
            let followed = following.recv().await.expect("nothing is lost");
            assert_eq!(followed.seq, number);
            assert_eq!(followed.message, records(number, 1, number.to_string()));
            if number % 200 == 50 {
                server.kill();
                server.run();
            }
        }
        writer.await.expect("all are appended");
    });
}

/// Nothing is published for what was stored before, or while nobody subscribed.
#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn missed_messages_are_read_from_the_stream() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let log = stream(&config(&[&server])).await;
        for number in 1..=300 {
            let message = records(number, 1, "");
            log.append(number - 1, &message, &number.to_string()).await.expect("it is appended");
        }
        let mut late = log.follow(100).await.expect("it can be followed");
        late.note_end(300);
        for number in 101..=300 {
            assert_eq!(late.recv().await.expect("it is in the stream").seq, number);
        }
        // The queue of a reader that does not read is full.
        let mut slow = log.follow(0).await.expect("it can be followed");
        for number in 301..=2_000 {
            let message = records(number, 1, "");
            log.append(number - 1, &message, &number.to_string()).await.expect("it is appended");
        }
        for number in 1..=2_000 {
            assert_eq!(slow.recv().await.expect("it is in the stream").seq, number);
        }
    });
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn message_that_the_stream_no_longer_has_is_an_error() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let mut config = config(&[&server]);
        config.log_bytes = 64 << 20;
        let log = stream(&config).await;
        let bytes = crate::support::bytes(512 << 10);
        for number in 1..=140 {
            let message = records(number, 1, bytes.clone());
            append(&log, number - 1, &message, &number.to_string()).await.expect("it is appended");
        }
        let first = log.end().await.expect("it exists").first;
        assert!(first > 5, "the oldest were deleted, {first}");
        let mut following = log.follow(1).await.expect("it can be followed");
        match following.recv().await {
            Err(StreamError::Gone { seq: 2, .. }) => {}
            other => panic!("{other:?}"),
        }
        assert!(matches!(following.recv().await, Err(StreamError::Ended)));
        assert_eq!(log.read(1).await.expect("the server answers"), None);
    });
}

/// As after a power cut: the server comes back with an older copy of its store.
#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn stream_that_lost_messages_is_an_error() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let mut server = Server::start(&program, &dir);
        let log = stream(&config(&[&server])).await;
        log.append(0, &records(1, 1, "a"), "one").await.expect("it is empty");
        server.kill();
        server.save();
        server.run();
        let mut following = log.follow(0).await.expect("it can be followed");
        append(&log, 1, &records(2, 1, "b"), "two").await.expect("it ends at 1");
        for number in 1..=2 {
            assert_eq!(following.recv().await.expect("it is there").seq, number);
        }
        let end = following.end_reader();
        assert_eq!(end.current().await.expect("it has what was read").last, 2);
        server.kill();
        server.restore();
        server.run();
        // The stream ends at 1, and who has read message 2 does not take that for its end.
        while log.current_end().await.is_err() {
            let ended = end.current().await;
            assert!(ended.is_err(), "{ended:?}");
        }
        let ended = end.current().await;
        assert!(matches!(ended, Err(StreamError::Unavailable(Unavailable::Behind))), "{ended:?}");
        match following.recv().await {
            Err(StreamError::Lost { seen: 2, last: 1 }) => {}
            other => panic!("{other:?}"),
        }
        // Somebody appends another message in its place.
        let mut following = log.follow(0).await.expect("it can be followed");
        append(&log, 1, &records(2, 1, "c"), "other").await.expect("it ends at 1");
        for number in 1..=2 {
            assert_eq!(following.recv().await.expect("it is there").seq, number);
        }
        server.kill();
        server.restore();
        server.run();
        append(&log, 1, &records(2, 1, "d"), "third").await.expect("it ends at 1");
        append(&log, 2, &records(3, 1, "e"), "fourth").await.expect("it ends at 2");
        let ended = following.recv().await;
        assert!(
            matches!(ended, Err(StreamError::Lost { .. } | StreamError::Replaced { seq: 2 })),
            "{ended:?}"
        );
    });
}

/// Servers that lost their stores: a node goes on with what it has until the stream is made again.
#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn stream_that_is_gone_is_unavailable_until_it_is_made_again() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let mut server = Server::start(&program, &dir);
        let log = stream(&config(&[&server])).await;
        log.append(0, &records(1, 1, "a"), "one").await.expect("it is empty");
        let mut following = log.follow(0).await.expect("it can be followed");
        assert_eq!(following.recv().await.expect("it is in the stream").seq, 1);
        server.kill();
        server.forget();
        server.run();
        let end = log.end().await;
        assert!(matches!(end, Err(StreamError::Unavailable(_))), "{end:?}");
        let appended = log.append(1, &records(2, 1, "b"), "two").await;
        assert!(matches!(appended, Err(AppendError::Unavailable(_))), "{appended:?}");
        log.set_up().await.expect("it is made again");
        let lost = following.recv().await;
        assert!(matches!(lost, Err(StreamError::Lost { seen: 1, last: 0 })), "{lost:?}");
    });
}
