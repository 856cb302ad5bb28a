//! The Unified Odds Feed's source against a real broker and a test API.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{
    broker::{Broker, PASSWORD, VHOST},
    http::{Reply, Server},
    provider::{Provider, Recovery},
};
use crate::support::{Listener, Report, SECRET, Small, goals, listener::now};
use base::{secret::Secret, tls};
use facts::event::Micros;
use ingest::{
    error::DecodeError,
    normalize::{Interpret, Interpretation},
};
use sources::sportradar_uof::{self, Api, Product, RecoveryRates, UofSettings};

/// Odds as small test messages, and the feed's control messages, which the interpreter does not
/// know.
struct Odds;

impl Interpret for Odds {
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Interpretation,
    ) -> Result<(), DecodeError> {
        if bytes.starts_with(b"<") { Ok(()) } else { Small.message(bytes, received, out) }
    }
}

async fn odds(provider: &Provider, goals: u16) {
    let body = format!(r#"{{"goals":{goals}}}"#);
    provider.publish("hi.-.live.odds_change.1.sr:match.7.-", &body).await;
}

fn settings(broker: &Broker, api: &Server) -> UofSettings {
    let trust = tls::client(Some(&broker.certificate())).expect("the certificate is there");
    let token = Secret::from(SECRET.to_owned());
    let api = Api::new(&api.url("/uof/"), &token, trust.clone()).expect("an address");
    let mut broker_settings =
        sportradar_uof::Broker::new("localhost".to_owned(), VHOST.to_owned(), token, Some(trust));
    broker_settings.port = broker.tls_port;
    broker_settings.password = Secret::from(PASSWORD.to_owned());
    broker_settings.prefetch = 10;
    let products = vec![Product::live_odds(), Product::pre_match()];
    let settings = UofSettings {
        backoff_first: Duration::from_millis(20),
        backoff_most: Duration::from_millis(200),
        fixtures: false,
        descriptions: false,
        alive_within: Duration::from_secs(120),
        recovery_rates: RecoveryRates { short: vec![], day: vec![], full: vec![] },
        ..UofSettings::new(broker_settings, api, products)
    };
    let shown = format!("{settings:?}");
    assert!(!shown.contains(SECRET) && !shown.contains(PASSWORD), "{shown}");
    settings
}

fn start(settings: UofSettings, keys: &Arc<Mutex<Vec<String>>>) -> Listener {
    let keys = Arc::clone(keys);
    let route = move |key: &str| keys.lock().unwrap().push(key.to_owned());
    Listener::start(|reports| sportradar_uof::run(settings, Box::new(Odds), route, reports))
}

/// One broker for all tests, because starting one takes seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs RabbitMQ: make test-systems runs it"]
async fn the_feed_is_followed_through_gaps_and_crashes_of_its_broker() {
    let Some(mut broker) = Broker::start() else { return };
    untrusted_connections_are_refused(&broker).await;
    missed_messages_are_recovered(&mut broker).await;
    a_silent_product_is_recovered(&broker).await;
    refused_recovery_is_requested_again(&broker).await;
    a_broker_that_hangs_is_disconnected(&broker).await;
}

async fn untrusted_connections_are_refused(broker: &Broker) {
    let api = Server::shared(|_| Reply::status(202)).await;
    let check = async |what: &str, change: fn(&mut UofSettings), expected: &str| {
        let mut settings = settings(broker, &api);
        change(&mut settings);
        let mut listener = start(settings, &Arc::default());
        let (_, why) = listener.until_down().await;
        assert!(why.contains(expected), "{what}: {why}");
        assert!(!why.contains(PASSWORD) && !why.contains("another-token"), "{what}: {why}");
        listener.stop().await;
    };
    let other_token = |it: &mut UofSettings| it.broker.token = "another-token".to_owned().into();
    check("another token", other_token, "access was denied").await;
    let other_vhost = |it: &mut UofSettings| it.broker.vhost = "/unifiedfeed/2".to_owned();
    check("another virtual host", other_vhost, "access was denied").await;
    let no_exchange = |it: &mut UofSettings| it.broker.exchange = "nothing".to_owned();
    check("no such exchange", no_exchange, "NOT_FOUND").await;
    let stranger = |it: &mut UofSettings| it.broker.tls = tls::client(None).ok();
    check("no trust", stranger, "invalid peer certificate").await;
}

async fn missed_messages_are_recovered(broker: &mut Broker) {
    let mut api = Server::shared(|_| Reply::status(202)).await;
    let provider = Provider::connect(broker).await;
    let keys = Arc::default();
    let mut listener = start(settings(broker, &api), &keys);
    assert_eq!(listener.next().await, Report::Recovering);

    // The first time everything is requested, and the source is live when both products have sent
    // it.
    let began = now() / 1000;
    provider.alive(1, began, 0).await;
    provider.alive(3, began, 1).await;
    let [live, pre] = Recovery::both(&mut api).await;
    assert_eq!([live.after, pre.after], [None, None]);
    odds(&provider, 1).await;
    provider.complete(&live).await;
    odds(&provider, 2).await;
    provider.complete(&pre).await;
    assert_eq!(goals(&listener.until_live().await), [1, 2]);
    let sports = |keys: &Arc<Mutex<Vec<String>>>| {
        keys.lock().unwrap().iter().filter(|key| key.contains("odds_change")).count()
    };
    assert_eq!(sports(&keys), 2);

    // More than the maximum of unacknowledged messages: each is acknowledged.
    for number in 0..100 {
        odds(&provider, number).await;
    }
    provider.alive(1, began + 1000, 1).await;

    // The provider reports that messages were missed.
    provider.alive(1, began + 2000, 0).await;
    let reports = listener.until(|report| *report == Report::Recovering).await;
    assert_eq!(goals(&reports), (0..100).collect::<Vec<_>>());
    let gap = Recovery::next(&mut api).await;
    assert_eq!((gap.product, gap.after), (1, Some(began + 1000)));
    provider.alive(1, began + 3000, 1).await;
    provider.complete(&live).await;
    odds(&provider, 7).await;
    provider.complete(&gap).await;
    let reports = listener.until_live().await;
    assert_eq!(goals(&reports), [7], "the end of an old recovery is none of this one: {reports:?}");

    // The broker crashes. Messages from that time are sent with the recovery.
    broker.kill();
    let (_, why) = listener.until_down().await;
    assert!(!why.is_empty());
    broker.run();
    let provider = Provider::connect(broker).await;
    let reports = listener.until(|report| *report == Report::Recovering).await;
    assert_eq!(goals(&reports), [] as [u16; 0]);
    provider.alive(1, began + 4000, 1).await;
    provider.alive(3, began + 4000, 1).await;
    let [live, pre] = Recovery::both(&mut api).await;
    assert_eq!([live.after, pre.after], [Some(began + 3000), Some(began)]);
    odds(&provider, 8).await;
    provider.complete(&live).await;
    odds(&provider, 9).await;
    provider.complete(&pre).await;
    assert_eq!(goals(&listener.until_live().await), [8, 9]);
    listener.stop().await;
}

async fn a_silent_product_is_recovered(broker: &Broker) {
    let mut api = Server::shared(|_| Reply::status(202)).await;
    let provider = Provider::connect(broker).await;
    let mut settings = settings(broker, &api);
    settings.products.truncate(1);
    settings.alive_within = Duration::from_secs(2);
    settings.message_bytes_max = 200;
    let mut listener = start(settings, &Arc::default());
    assert_eq!(listener.next().await, Report::Recovering);
    provider.alive(1, now() / 1000, 1).await;
    let first = Recovery::next(&mut api).await;
    provider.publish("hi.-.live.odds_change.1.sr:match.7.-", &" ".repeat(201)).await;
    // It is alive until it is live, however long that takes.
    let mut began = now() / 1000;
    let reports = {
        let live = async {
            provider.complete(&first).await;
            listener.until_live().await
        };
        tokio::pin!(live);
        loop {
            began = began.max(now() / 1000);
            provider.alive(1, began, 1).await;
            tokio::select! {
                reports = &mut live => break reports,
                () = tokio::time::sleep(Duration::from_millis(500)) => {}
            }
        }
    };
    assert!(reports.iter().any(|report| matches!(report, Report::Refused(_))), "{reports:?}");
    // Two seconds of silence.
    let reports = listener.until(|report| *report == Report::Recovering).await;
    // What made it live may have been repeated meanwhile.
    let is_expected = |it: &Report| matches!(it, Report::Heartbeat | Report::Recovering);
    assert!(reports.iter().all(is_expected), "{reports:?}");
    provider.alive(1, began + 2500, 1).await;
    let again = Recovery::next(&mut api).await;
    assert_eq!(again.after, Some(began));
    provider.complete(&again).await;
    listener.until_live().await;
    listener.stop().await;
}

async fn refused_recovery_is_requested_again(broker: &Broker) {
    let mut api = Server::shared(|request| match request.number {
        0 => Reply::status(503),
        1 => Reply::status(429),
        _ => Reply::status(202),
    })
    .await;
    let provider = Provider::connect(broker).await;
    let mut settings = settings(broker, &api);
    settings.products.truncate(1);
    let mut listener = start(settings, &Arc::default());
    assert_eq!(listener.next().await, Report::Recovering);
    provider.alive(1, now() / 1000, 1).await;
    let refused = Recovery::next(&mut api).await;
    let limited = Recovery::next(&mut api).await;
    let accepted = Recovery::next(&mut api).await;
    for recovery in [refused, limited, accepted] {
        provider.complete(&recovery).await;
    }
    listener.until_live().await;
    listener.stop().await;
}

async fn a_broker_that_hangs_is_disconnected(broker: &Broker) {
    let api = Server::shared(|_| Reply::status(202)).await;
    let mut settings = settings(broker, &api);
    settings.broker.heartbeat_s = 1;
    settings.broker.connect_timeout = Duration::from_secs(5);
    let mut listener = start(settings, &Arc::default());
    assert_eq!(listener.next().await, Report::Recovering);
    broker.hang(true);
    let (_, why) = listener.until_down().await;
    assert_eq!(why, "no heartbeat received from server for too long");
    broker.hang(false);
    listener.until(|report| *report == Report::Recovering).await;
    listener.stop().await;
}
