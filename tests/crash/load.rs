//! Sources that push matches and odds from a seeded generator, as fast as their rate and the hub allow.
//!
//! Facts are absolute. What was not acknowledged when the hub was killed is pushed again, unchanged.

mod generator;

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

pub(crate) use self::generator::Generator;
use self::generator::PushMessage;
use crate::http::{self, Failure};

/// Bookmakers of each match.
pub(crate) const BOOKMAKERS: [&str; 5] = ["alpha", "bravo", "charlie", "delta", "echo"];

/// Messages without a response at a time.
const WINDOW: usize = 32;

/// The pause between two messages is a multiple of this.
const TICK: Duration = Duration::from_millis(10);

/// How long a message may wait for its response. A hub that is down is started again sooner.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What sources have done.
#[derive(Debug, Default)]
pub(crate) struct PushCounters {
    pub(crate) messages: AtomicU64,
    pub(crate) lines: AtomicU64,
    pub(crate) duplicates: AtomicU64,
    pub(crate) refused: AtomicU64,
    /// Refused lines of matches that had ended when they were sent again: the hub has evicted the match.
    pub(crate) refused_after_end: AtomicU64,
    pub(crate) stops: AtomicBool,
    problems: Mutex<Vec<String>>,
}

impl PushCounters {
    /// Reports a response that no hub may give.
    fn problem(&self, problem: impl fmt::Display) {
        self.problems.lock().expect("no panic").push(problem.to_string());
    }

    /// What was wrong with responses.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.problems.lock().expect("no panic").clone()
    }

    fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }
}

/// A source that pushes over a WebSocket, until it is told to stop and all is acknowledged. Returns its
/// matches as they are then.
pub(crate) async fn push_over_socket(
    address: String,
    source: &'static str,
    key: String,
    mut generator: Generator,
    per_second: u64,
    counters: Arc<PushCounters>,
) -> Generator {
    let mut waiting: VecDeque<PushMessage> = VecDeque::new();
    let mut last_response = Instant::now();
    loop {
        if counters.stops() && waiting.is_empty() {
            return generator;
        }
        if last_response.elapsed() > TIMEOUT {
            counters.problem(format_args!("{source}: no response for {TIMEOUT:?}"));
            return generator;
        }
        let url = format!("ws://{address}/ingest/v1/{source}?token={key}");
        let request = url.into_client_request().expect("a URL");
        let mut socket = match timeout(Duration::from_secs(10), connect_async(request)).await {
            Ok(Ok((socket, _))) => socket,
            Ok(Err(Error::Http(response))) if response.status() != 503 => {
                counters.problem(format_args!("{source}: {} to its socket", response.status()));
                return generator;
            }
            Ok(Err(_)) | Err(_) => {
                sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        waiting.iter_mut().for_each(|message| message.is_repeated = true);
        let mut unsent: VecDeque<String> = waiting.iter().map(|it| it.text.clone()).collect();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut credit = 0;
        loop {
            while let Some(text) = unsent.pop_front() {
                if socket.send(Message::text(text)).await.is_err() {
                    break;
                }
            }
            let stops = counters.stops();
            if stops && waiting.is_empty() {
                socket.close(None).await.ok();
                return generator;
            }
            tokio::select! {
                _ = ticks.tick() => {
                    credit = (credit + per_second * 10).min(per_second * 1000);
                    while !stops && waiting.len() < WINDOW && credit >= 1000 {
                        let message = generator.message();
                        credit = credit.saturating_sub(1000 * message.lines);
                        unsent.push_back(message.text.clone());
                        waiting.push_back(message);
                    }
                    if waiting.is_empty() {
                        last_response = Instant::now();
                    } else if last_response.elapsed() > TIMEOUT {
                        break;
                    }
                }
                response = socket.next() => match response {
                    Some(Ok(Message::Text(response))) => {
                        last_response = Instant::now();
                        let Some(message) = waiting.pop_front() else {
                            counters.problem(format_args!("{source}: {response} to no message"));
                            continue;
                        };
                        // No node of the cluster leads at the moment. It is sent again, with all after it.
                        if response.contains(r#""detail":"#) {
                            waiting.push_front(message);
                            break;
                        }
                        generator.take_response(&message, &response, &counters);
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => break,
                }
            }
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// The same over HTTP, one request after the other.
pub(crate) async fn push_over_http(
    address: String,
    source: &'static str,
    key: String,
    mut generator: Generator,
    per_second: u64,
    counters: Arc<PushCounters>,
) -> Generator {
    let path = format!("/ingest/v1/{source}");
    let token = format!("Token {key}");
    let headers = [("authorization", &*token)];
    // Some ten requests a second, each with what came up since the last one.
    let lines = (per_second / 10).max(1);
    let mut ticks = interval(Duration::from_millis(100));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !counters.stops() {
        ticks.tick().await;
        let mut body = PushMessage::default();
        while body.lines < lines {
            let message = generator.message();
            body.text += &message.text;
            body.text.push('\n');
            body.lines += message.lines;
            body.matches.extend(message.matches);
        }
        let begun = Instant::now();
        loop {
            match http::request(&address, "POST", &path, &headers, &body.text).await {
                Ok(response) if response.status == 200 => {
                    generator.take_response(&body, &response.body, &counters);
                    break;
                }
                // It is stopping, or its queue is full.
                Ok(response) if response.status == 503 => body.is_repeated = true,
                Ok(response) => {
                    let (status, body) = (response.status, response.body);
                    counters.problem(format_args!("{source}: {status} to a push: {body}"));
                    return generator;
                }
                Err(Failure::NotSent) => {}
                Err(Failure::NoResponse) => body.is_repeated = true,
            }
            if begun.elapsed() > TIMEOUT {
                counters.problem(format_args!("{source}: no response for {TIMEOUT:?}"));
                return generator;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
    generator
}
