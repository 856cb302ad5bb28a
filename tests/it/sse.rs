//! Server-sent events: the frames of a socket over plain HTTP, resumed by `Last-Event-ID`.

use std::collections::BTreeMap;

use reqwest::{Client as HttpClient, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    auth::TWO_SOCKETS,
    support::{
        ALL_ADDONS, ChannelState, Client, Hub, PATIENCE, QUIET, Setting, ended, shared, until,
    },
};

/// Tennis matches and the market of another one: six seconds at this speed.
const FILES: [&str; 2] = [
    "slam-pointbypoint/2012-ausopen-1701.points.csv.gz",
    "betfair-stream/tennis-29788105.pro.jsonl.gz",
];
const SPEED: &str = "3000";

/// All channels of the recordings.
const PATTERNS: [&str; 4] = ["*/*/odds/*", "*/*/odds", "*/*", "*"];

/// A window that no client leaves, however slow the test machine is.
const PATIENT: Setting = ("HUB_TAIL_BYTES", "1000000000");

/// An open stream of events, and what its frames lead to.
struct EventStream {
    response: Response,
    unread: String,
    /// The `id` of the last event that had one.
    last_id: String,
    /// The delay that the hub named last, in milliseconds.
    retry: Option<String>,
    channels: BTreeMap<String, ChannelState>,
    others: Vec<Value>,
}

impl EventStream {
    /// Opens a stream, or goes on with the state of an earlier one.
    async fn open(hub: &Hub, key: &str, query: &str, earlier: Option<Self>) -> Self {
        let (last_id, channels) =
            earlier.map(|earlier| (earlier.last_id, earlier.channels)).unwrap_or_default();
        let response = get(hub, key, query, &last_id).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        let (unread, retry, others) = (String::new(), None, Vec::new());
        Self { response, unread, last_id, retry, channels, others }
    }

    /// The next frame, applied; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.unread = rest;
                if let Some(frame) = self.take(&event) {
                    return Some(frame);
                }
                continue;
            }
            let chunk = timeout(PATIENCE, self.response.chunk()).await.expect("an event in time");
            let chunk = chunk.expect("the response lasts")?;
            self.unread += str::from_utf8(&chunk).expect("events are text");
        }
    }

    fn take(&mut self, event: &str) -> Option<Value> {
        let mut frame = None;
        for line in event.lines() {
            match line.split_once(": ").expect("a field and its value") {
                ("data", text) => {
                    frame = Some(serde_json::from_str(text).expect("a frame is JSON"))
                }
                ("id", id) => id.clone_into(&mut self.last_id),
                ("retry", ms) => self.retry = Some(ms.to_owned()),
                other => panic!("{other:?}"),
            }
        }
        let frame: Value = frame?;
        let name = frame["ch"].as_str().unwrap_or_default();
        match frame["type"].as_str().expect("a frame has a type") {
            "image" => self.channels.entry(name.to_owned()).or_default().image(&frame),
            "update" => {
                let channel = self.channels.get_mut(name).expect("an update follows an image");
                channel.update(name, &frame);
            }
            _ => self.others.push(frame.clone()),
        }
        Some(frame)
    }

    async fn until(&mut self, condition: impl Fn(&Self) -> bool) {
        let reading = async {
            while !condition(self) {
                assert!(self.next().await.is_some(), "the stream ended");
            }
        };
        timeout(PATIENCE, reading).await.expect("it comes in time");
    }
}

async fn get(hub: &Hub, key: &str, query: &str, last_id: &str) -> Response {
    // The library asks for one even without TLS. Another test may have installed it.
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = HttpClient::builder().no_proxy().build().expect("a client");
    let mut request = client.get(format!("http://{}/stream/v1/sse?{query}", hub.address));
    if !key.is_empty() {
        request = request.header("authorization", format!("Token {key}"));
    }
    if !last_id.is_empty() {
        request = request.header("last-event-id", last_id);
    }
    request.send().await.expect("a response")
}

fn query() -> String {
    PATTERNS.map(|pattern| format!("ch={pattern}")).join("&")
}

/// A reader that loses its connection repeatedly gets what a socket gets that keeps its own: each event once, and the
/// same documents.
#[tokio::test(flavor = "multi_thread")]
async fn cut_streams_resume_by_their_last_event_id() {
    const CUTS: usize = 40;
    let Some(files) = FILES.map(shared).into_iter().collect::<Option<Vec<_>>>() else { return };
    let files = files.iter().map(|path| path.to_str().expect("a path of text"));
    let arguments: Vec<_> =
        ["replay", "--speed", SPEED, "--hold"].into_iter().chain(files).collect();
    let hub = Hub::start_with(&arguments, &[PATIENT, ("FANOUT_BEAT_MS", "50")]);
    let key = hub.key(&ALL_ADDONS);
    let mut whole = Client::connect(&hub.address, &key).await;
    for pattern in PATTERNS {
        whole.subscribe(pattern).await;
    }
    let whole = async {
        whole.until(ended).await;
        whole.channels
    };
    let cut = async {
        let mut stream = EventStream::open(&hub, &key, &query(), None).await;
        for cut in 0..CUTS {
            // Each stream is cut behind another number of frames; the first gets all images.
            let frames = if cut == 0 { 20 } else { 3 + 7 * (cut % 9) };
            for _ in 0..frames {
                stream.next().await.expect("the stream lasts");
            }
            let resyncs = stream.others.iter().filter(|frame| frame["type"] == "resync").count();
            assert_eq!(resyncs, 0, "after cut {cut}");
            stream = EventStream::open(&hub, &key, &query(), Some(stream)).await;
        }
        stream
    };
    let (whole, mut cut) = tokio::join!(whole, cut);
    cut.until(|stream| {
        whole.iter().all(|(name, last)| {
            stream.channels.get(name).is_some_and(|resumed| resumed.seq >= last.seq)
        })
    })
    .await;
    let mut compared = 0;
    for (name, whole) in &whole {
        let resumed = &cut.channels[name];
        assert_eq!((&resumed.epoch, resumed.seq), (&whole.epoch, whole.seq), "{name}");
        assert_eq!(resumed.data, whole.data, "{name}");
        // Each has the events since its own first image.
        let both = resumed.events.len().min(whole.events.len());
        let since = |events: &[Value]| events[events.len() - both..].to_vec();
        assert_eq!(since(&resumed.events), since(&whole.events), "{name}");
        compared += both;
    }
    assert!(compared > 300, "{compared} events were compared");
}

/// A browser reconnects behind what it has, when the hub said.
#[tokio::test]
async fn stopping_hub_names_the_time_to_reconnect() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET, ("SERVER_DRAIN_MS", "60000")]);
    let key = hub.key(&ALL_ADDONS);
    let mut stream =
        EventStream::open(&hub, &key, "ch=feeds&ch=football/9&every_ms=250", None).await;
    stream.until(|stream| stream.channels.contains_key("feeds")).await;
    let answer = stream.others.iter().find(|frame| frame["type"] == "subscribed");
    let answer = answer.expect("it is answered");
    assert_eq!(
        (&answer["every_ms"], &answer["chs"]["feeds"]["resumed"]),
        (&json!(250), &json!(false))
    );
    assert_eq!(answer["chs"]["football/9"]["error"], "not_tracked");
    let state = &stream.channels["feeds"];
    assert_eq!(stream.last_id, format!("feeds={}.{}", state.epoch, state.seq));
    assert_eq!(stream.retry.as_deref(), Some("1000"));
    hub.terminate();
    stream.until(|stream| stream.others.iter().any(|frame| frame["type"] == "bye")).await;
    let bye = stream.others.last().expect("it came");
    assert_eq!(stream.retry, Some(bye["reconnect_after_ms"].to_string()));
    while stream.next().await.is_some() {}
    assert_eq!(hub.wait(), Some(0));
}

#[tokio::test]
async fn streams_are_refused_like_any_request() {
    let hub = Hub::shared(&["serve"], &TWO_SOCKETS);
    let key = hub.key(&ALL_ADDONS);
    let status = async |key: &str, query: &str| get(&hub, key, query, "").await.status().as_u16();
    assert_eq!(status("", "ch=feeds").await, 401);
    assert_eq!(status(&hub.key(&[]), "ch=feeds").await, 402);
    for query in ["", "ch=a//b", "ch=feeds&every_ms=7", "ch=feeds&on_slow=skip"] {
        assert_eq!(status(&key, query).await, 400, "{query}");
    }
    let streams = [
        EventStream::open(&hub, &key, "ch=feeds", None).await,
        EventStream::open(&hub, &key, "ch=feeds", None).await,
    ];
    assert_eq!(status(&key, "ch=feeds").await, 429, "they count as sockets");
    drop(streams);
    until("room for another", async || status(&key, "ch=feeds").await == 200).await;
}
