use cluster::{Body, StreamEntry};
use futures_util::TryStreamExt;
use tempfile::TempDir;

use crate::support::{Server, config, message, position, records, stream, term, with_each_server};

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn position_is_found_by_number_and_chain() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let log = stream(&config(&[&server])).await;
        assert_eq!(log.find(position(0)).await.expect("the server answers"), None);
        let mut messages = vec![term(1, 0)];
        // Three records each: 3, 6, .. 60.
        messages.extend((0..20).map(|index| records(3 * index + 1, 3, "abc")));
        messages.push(message(1, Body::HandOver { position: position(60), to: "b".to_owned() }));
        messages.push(term(2, 60));
        messages.push(records(61, 1, "abc"));
        messages.push(message(2, Body::HandOver { position: position(61), to: String::new() }));
        for (seq, message) in (0..).zip(&messages) {
            log.append(seq, message, &seq.to_string()).await.expect("it is appended");
        }
        let find = async |number| log.find(position(number)).await.expect("the server answers");
        assert_eq!(find(0).await, Some(1));
        for index in 1..20 {
            assert_eq!(find(3 * index).await, Some(index + 1));
            assert_eq!(find(3 * index - 1).await, None, "it lies inside of a message");
        }
        assert_eq!(find(60).await, Some(23), "behind the term");
        assert_eq!(find(61).await, Some(24), "before the hand-over");
        assert_eq!(find(62).await, None);
        let mut other = position(30);
        other.chain = [9; 16];
        assert_eq!(log.find(other).await.expect("the server answers"), None);

        let range: Vec<StreamEntry> =
            log.read_range(5, 20).try_collect().await.expect("all are there");
        assert!(range.iter().map(|stored| stored.seq).eq(5..=20));
        assert!(range.iter().map(|stored| &stored.message).eq(&messages[4..20]));
        let beyond: Result<Vec<StreamEntry>, _> = log.read_range(20, 30).try_collect().await;
        assert!(matches!(beyond, Err(cluster::StreamError::Gone { seq: 26, first: 1, last: 25 })));
        assert_eq!(log.read_at_leader(5).await.expect("it answers"), Some(range[0].clone()));
    });
}
