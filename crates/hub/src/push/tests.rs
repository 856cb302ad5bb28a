//! Pushes to a hub whose receivers the tests hold.

use base::work::Work;
use fanout::{Limits, socket::SocketOptions};

use super::*;
use crate::{ids::PublicIds, pipeline};

const LINE: &[u8] = br#"{"at":1,"sport":"hockey","match":"m","fact":{"fixture":{}}}"#;

/// Limits of a fan-out without sockets.
pub(crate) fn limits() -> Limits {
    Limits {
        shards: 1,
        outbox_bytes: 1 << 18,
        outbox_age_ms: 2_000,
        write_bytes_max: 1 << 18,
        channels_max: 8,
        channels_max_per_payer: usize::MAX,
        patterns_max: 8,
        command_bytes_max: 1 << 14,
        command_fragments_max: 16,
        from_bytes_max: 1 << 14,
        catch_up_burst: 8,
        catch_ups_per_second: 8,
        work: Work::unlimited(),
        mailbox_max: 64,
        beat_ms: 5_000,
        idle_ms: 0,
        stall_ms: 60_000,
        sockets: SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 },
    }
}

/// Sources in front of a hub with room for one input, and the receivers of its queues.
fn sources(wait_ms: u64) -> (PushSources, pipeline::HubReceivers) {
    let (hub_handle, receivers) = pipeline::channel(1, 8, PublicIds::default());
    let fanout = Fanout::start(limits(), "test", Box::new(hub_handle.clone()));
    let settings = IngestConfig { wait_ms, ..IngestConfig::default() };
    (PushSources::new(settings, hub_handle, fanout.expect("it starts")), receivers)
}

/// A line without facts.
fn line(id: Option<&str>, at: Option<Micros>) -> PushedLine {
    PushedLine {
        batch: Batch { at, price_changes: 0, events: Vec::new() },
        location: Place { file: "acme".into(), line: 1 },
        bytes: Bytes::new(),
        fingerprint: id.map(Fingerprint::of_id),
    }
}

#[test]
fn line_is_taken_once_whatever_the_clocks_of_nodes_say() {
    let (mut order, source) = (PushOrder::default(), SourceNumber(0));
    order.lead(1_000);
    let [older, newer] = ["a-1", "a-2"].map(|id| line(Some(id), None));
    assert!(order.admits(source, 2_000));
    for line in [&older, &newer] {
        assert!(!order.has_taken(source, line));
        order.take(source, line.fingerprint, None);
    }
    // By a node whose clock is ahead, which was asked first.
    assert!(order.admits(source, 700_000));
    assert!(order.has_taken(source, &older) && order.has_taken(source, &newer));
    assert!(!order.has_taken(SourceNumber(1), &older), "the line of another source");
    let untimed = line(None, None);
    order.take(source, untimed.fingerprint, None);
    assert!(!order.has_taken(source, &untimed), "without an id and a time it may be news");
}

#[test]
fn line_that_another_leader_took_is_not_taken_after_newer_ones() {
    let (mut order, source) = (PushOrder::default(), SourceNumber(0));
    let [older, newer, newest] = [10, 20, 30].map(|at| line(Some(&at.to_string()), Some(at)));
    order.follow(source, &older.batch);
    order.follow(source, &newer.batch);
    order.lead(1_000);
    assert!(order.has_taken(source, &older));
    assert!(!order.has_taken(source, &newer), "nothing newer would be undone");
    assert!(!order.has_taken(source, &newest) && !order.has_taken(SourceNumber(1), &older));
    order.take(source, newest.fingerprint, newest.batch.at);
    assert!(order.has_taken(source, &newer) && order.has_taken(source, &newest));
    // It led, followed, and leads again.
    order.lead(2_000);
    assert!([older, newer, newest].iter().all(|line| order.has_taken(source, line)));
}

#[test]
fn push_that_was_overtaken_is_not_admitted() {
    let mut order = PushOrder::default();
    order.lead(100);
    let (one, other) = (SourceNumber(0), SourceNumber(1));
    assert!(!order.admits(one, 99), "before this node led");
    assert!(order.admits(one, 110));
    // Parts of a body have the same time.
    assert!(order.admits(one, 110));
    assert!(order.admits(one, 130));
    assert!(!order.admits(one, 120), "overtaken");
    assert!(order.admits(other, 120));
}

#[tokio::test]
async fn push_to_a_full_hub_waits_until_a_timeout() {
    let (sources, receivers) = sources(20);
    let full = sources.hub_handle.inputs.try_reserve().expect("there is room for one");
    let source = sources.source("acme");
    let mut source = source.lock().await;
    let taken = sources.take(&mut source, &Bytes::from_static(LINE), false, None).await;
    assert_eq!(taken, Err((PushError::Full, PushReport::default())));
    drop(full);
    drop(receivers);
    let taken = sources.take(&mut source, &Bytes::from_static(LINE), false, None).await;
    assert_eq!(taken, Err((PushError::Stopping, PushReport::default())));
    // Nothing was accepted, so nothing is a duplicate.
    assert!(!source.recent.holds(Fingerprint::of_content(LINE)));
}

/// The log refuses records: the writer waits.
#[tokio::test]
async fn refused_push_gets_an_error_and_is_taken_once() {
    let (sources, mut receivers) = sources(20);
    let source = sources.source("acme");
    let mut source = source.lock().await;
    let body = Bytes::from_static(LINE);
    for _ in 0..2 {
        let taken = sources.take(&mut source, &body, false, None).await;
        assert_eq!(taken, Err((PushError::Full, PushReport::default())));
    }
    let Some(Input::Push(pushed)) = receivers.next_input().await else { panic!("no push") };
    let answer = PushAnswer { verdicts: vec![None], deadline_us: None };
    pushed.reply.send(answer).expect("it is waited for");
    // The second one was not handed in: there is room, and the line is a duplicate, which is a sign of life.
    drop(sources.hub_handle.inputs.try_reserve().expect("there is room"));
    let reader = async {
        let Some(Input::Push(pushed)) = receivers.next_input().await else { panic!("no push") };
        assert!(pushed.lines.is_empty());
        let answer = PushAnswer { verdicts: Vec::new(), deadline_us: None };
        pushed.reply.send(answer).expect("it is waited for");
    };
    let (answer, ()) = tokio::join!(sources.take(&mut source, &body, false, None), reader);
    let answer = answer.expect("it is taken");
    assert_eq!((answer.accepted, answer.duplicate), (0, 1));
}

#[tokio::test]
async fn push_is_answered_after_the_hub_has_applied_it() {
    let (sources, mut receivers) = sources(60_000);
    let body = Bytes::from([LINE, b"\nwrong\n", LINE].concat());
    let pushing = async {
        let source = sources.source("acme");
        let mut source = source.lock().await;
        sources.take(&mut source, &body, false, Some(5_000_000)).await
    };
    let reader = async {
        let Some(Input::Push(pushed)) = receivers.next_input().await else { panic!("no push") };
        assert_eq!((pushed.lines.len(), pushed.refusals.len()), (1, 1));
        assert_eq!((pushed.lines[0].location.line, &pushed.lines[0].bytes[..]), (1, LINE));
        assert_eq!(pushed.deadline_us, Some(5_000_000));
        let verdicts = vec![Some("no".to_owned())];
        let answer = PushAnswer { verdicts, deadline_us: Some(7_000_000) };
        pushed.reply.send(answer).expect("it is waited for");
    };
    let (answer, ()) = tokio::join!(pushing, reader);
    let answer = answer.expect("it is taken");
    assert_eq!((answer.accepted, answer.duplicate, answer.refused), (0, 1, 2));
    assert_eq!(answer.deadline_ms, Some(7_000));
    let lines: Vec<u64> = answer.refusals.iter().map(|it| it.line).collect();
    assert_eq!(lines, [2, 1]);
}

/// The hub hears of each body that is not refused as a whole, once at least, also without anything new.
#[tokio::test]
async fn unchanged_body_is_a_sign_of_life() {
    let (sources, mut receivers) = sources(60_000);
    // A hub that runs alone.
    drop(receivers.take_leader_requests());
    let many = (0..LINES_AT_ONCE * 2 + 1).map(|_| LINE).collect::<Vec<_>>().join(&b'\n');
    for (body, lines) in [
        (&b""[..], [0].as_slice()),
        (b"\n \n", &[0]),
        (br#"{"batch":[]}"#, &[1]),
        // The same again, whose line is a repetition.
        (br#"{"batch":[]}"#, &[0]),
        (LINE, &[1]),
        (LINE, &[0]),
        (&many, &[0]),
    ] {
        let body = Bytes::copy_from_slice(body);
        let pushing = async {
            let source = sources.source("acme");
            let mut source = source.lock().await;
            sources.take(&mut source, &body, false, None).await
        };
        let reader = async {
            for expected in lines {
                let Some(Input::Push(pushed)) = receivers.next_input().await else {
                    panic!("no push")
                };
                assert_eq!((pushed.lines.len(), pushed.refusals.len()), (*expected, 0));
                let verdicts = vec![None; pushed.lines.len()];
                let answer = PushAnswer { verdicts, deadline_us: None };
                pushed.reply.send(answer).expect("it is waited for");
            }
        };
        let (answer, ()) = tokio::join!(pushing, reader);
        assert_eq!(answer.map(|answer| answer.refused), Ok(0), "{body:?}");
    }
}
