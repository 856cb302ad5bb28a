use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use accounts::limits::LimitUse;
use cluster::{Stream, limit_reports};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::support::{Server, config, with_each_server};

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn node_hears_what_was_used_at_another_one() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let stream = Stream::connect(&config(&[&server])).await.expect("the server listens");
        let (heard, mut hears) = mpsc::channel(1);
        // A report is not repeated: the other node may not be subscribed yet.
        let used = AtomicU64::new(0);
        let whose = || used.fetch_add(1, Ordering::Relaxed);
        let here = || vec![LimitUse { limit: 3, whose: whose(), amount: 9 }];
        let echoes = Mutex::new(0);
        let one =
            limit_reports::exchange(&stream, "a", here, |_| *echoes.lock().expect("no panic") += 1);
        let other = limit_reports::exchange(&stream, "b", Vec::new, |uses| {
            // One is enough.
            heard.try_send(uses.to_vec()).ok();
        });
        let uses = tokio::select! {
            ended = one => panic!("it ends: {ended:?}"),
            ended = other => panic!("it ends: {ended:?}"),
            uses = hears.recv() => uses.expect("it is open"),
        };
        let [LimitUse { limit: 3, whose, amount: 9 }] = uses[..] else { panic!("{uses:?}") };
        assert!(whose < used.load(Ordering::Relaxed));
        assert_eq!(*echoes.lock().expect("no panic"), 0, "a node does not hear itself");
    });
}
