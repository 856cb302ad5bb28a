//! Clients over HTTP: images with entity tags, and a model that waits for changes over MCP.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base::clock::now;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    client::{Phase, Shared},
    history::{Dialect, Entry, History, ImageRequest, WaitCall},
    http::{self, Failure, Response},
    rng::Rng,
};

/// CallCounters of an account, as its clients know them.
#[derive(Debug, Default)]
pub(crate) struct CallCounters {
    /// Those with a response that counts.
    pub(crate) responded: AtomicU64,
    /// Those of which the client does not know whether the hub handled them.
    pub(crate) unknown: AtomicU64,
}

impl CallCounters {
    fn count(&self, response: &Result<Response, Failure>) {
        match response {
            Ok(response) if matches!(response.status, 200 | 304) => &self.responded,
            Err(Failure::NotSent) => return,
            // Whether a request for a channel that has ended counts is not promised.
            Ok(_) | Err(Failure::NoResponse) => &self.unknown,
        }
        .fetch_add(1, Ordering::Relaxed);
    }
}

/// Fetches images of some channels until the run is over.
pub(crate) async fn poll(
    shared: Arc<Shared>,
    number: u64,
    seed: u64,
    key: String,
    calls: Arc<CallCounters>,
    address: impl Fn() -> Option<String>,
    phase: watch::Receiver<Phase>,
) -> History {
    let mut rng = Rng::new(seed, 10_000 + number);
    let mut tags: BTreeMap<String, (Arc<str>, u64)> = BTreeMap::new();
    let mut history = History::new(format!("REST client {number}"), Dialect::Rest);
    let token = format!("Token {key}");
    while matches!(*phase.borrow(), Phase::Running) {
        sleep(rng.millis(5, 150)).await;
        let Some(channel) = choose(&shared, &mut rng, &tags) else { continue };
        let (tag, seq) = tags.get(&channel).cloned().unzip();
        let at_least = seq.filter(|_| rng.once_in(3)).map(|seq| seq + rng.below(4));
        let tag = tag.filter(|_| at_least.is_none());
        let mut path = format!("/stream/v1/channels/{channel}");
        if let Some(seq) = at_least {
            path += &format!("?at_least={seq}");
        }
        let mut headers = vec![("authorization", &*token)];
        headers.extend(tag.as_deref().map(|tag| ("if-none-match", tag)));
        // No node takes it.
        let Some(node) = address() else { continue };
        let (sent_at, begun) = (now(), Instant::now());
        let response = http::get(&node, &path, &headers).await;
        let waited = begun.elapsed();
        calls.count(&response);
        let Ok(response) = response else { continue };
        let new_tag = response.header("etag").map(Arc::from);
        if response.status == 200
            && let Some(new_tag) = &new_tag
            && let Some(seq) = response.body.split_once(r#","seq":"#)
            && let Some((seq, _)) = seq.1.split_once(',')
        {
            tags.insert(channel.clone(), (Arc::clone(new_tag), seq.parse().unwrap_or_default()));
        } else if response.status == 404 {
            tags.remove(&channel);
        }
        history.entries.push(Entry::ImageRequest(Box::new(ImageRequest {
            channel: channel.into(),
            tag,
            at_least,
            sent_at,
            waited,
            status: response.status,
            is_behind: address().is_none(),
            new_tag,
            body: shared.interner.intern(&response.body),
        })));
    }
    history
}

/// Mostly a channel that it knows.
fn choose(
    shared: &Shared,
    rng: &mut Rng,
    tags: &BTreeMap<String, (Arc<str>, u64)>,
) -> Option<String> {
    if tags.len() > 5 && !rng.once_in(10) {
        let index = rng.index(tags.len());
        return tags.keys().nth(index).cloned();
    }
    let all = shared.channels.lock().expect("no panic");
    if all.is_empty() { None } else { Some(rng.pick(&all).clone()) }
}

/// Waits for changes of one match after the other, as a model does over MCP.
pub(crate) async fn wait_for_changes(
    shared: Arc<Shared>,
    seed: u64,
    key: String,
    phase: watch::Receiver<Phase>,
) -> History {
    let mut rng = Rng::new(seed, 20_000);
    let mut history = History::new("MCP client", Dialect::Mcp);
    let mut followed: Option<(u64, Value)> = None;
    while matches!(*phase.borrow(), Phase::Running) {
        let Some((id, since)) = followed.take().or_else(|| {
            let all = shared.channels.lock().expect("no panic").clone();
            let matches =
                all.iter().filter_map(|name| name.strip_prefix("football/")?.parse().ok());
            let matches: Vec<u64> = matches.collect();
            (!matches.is_empty()).then(|| (*rng.pick(&matches), Value::Null))
        }) else {
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let mut arguments = json!({"match_id": id, "timeout_s": rng.below(4)});
        if !since.is_null() {
            arguments["since"] = since.clone();
        }
        let Some(result) = call(&shared.site.address, &key, "wait_for_change", &arguments).await
        else {
            // The hub is down: the next call continues from the same positions.
            followed = Some((id, since));
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let result = result.and_then(|result| {
            let answer = result["structuredContent"].clone();
            let is_answer = result["isError"] != true && answer["data"]["positions"].is_object();
            if is_answer { Ok(answer) } else { Err(result.to_string()) }
        });
        if let Ok(answer) = &result
            && !rng.once_in(20)
        {
            followed = Some((id, answer["data"]["positions"].clone()));
        }
        let call = WaitCall { match_id: id, since, answer: result };
        history.entries.push(Entry::WaitCall(Box::new(call)));
    }
    history
}

/// The result of a tool, or the error of the request. `None` if the hub is down, starting or stopping.
async fn call(
    address: &str,
    key: &str,
    tool: &str,
    arguments: &Value,
) -> Option<Result<Value, String>> {
    const META: &str = "io.modelcontextprotocol";
    const VERSION: &str = "2026-07-28";
    let mut params = json!({"name": tool, "arguments": arguments});
    params["_meta"] = json!({
        format!("{META}/protocolVersion"): VERSION,
        format!("{META}/clientInfo"): {"name": "crash", "version": "1"},
        format!("{META}/clientCapabilities"): {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let token = format!("Bearer {key}");
    let headers = [
        ("authorization", &*token),
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", VERSION),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    let response =
        http::request(address, "POST", "/mcp", &headers, &body.to_string()).await.ok()?;
    if response.status == 503 {
        return None;
    }
    let message: Option<Value> = if response.body.starts_with('{') {
        serde_json::from_str(&response.body).ok()
    } else {
        let data = response.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let messages = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
        let found = messages.into_iter().find(|message| message.get("id").is_some());
        // The hub was killed before the event with the result, which is not the end of a chunk.
        if found.is_none() && response.status == 200 {
            return None;
        }
        found
    };
    match message {
        Some(message) if response.status == 200 && message["result"].is_object() => {
            Some(Ok(message["result"].clone()))
        }
        _ => Some(Err(format!("{}: {}", response.status, response.body))),
    }
}
