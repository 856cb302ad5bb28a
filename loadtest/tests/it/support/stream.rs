//! A hub with one channel that changes on a schedule, and with faults. It may have several nodes,
//! as a cluster has: one state behind several addresses.

use std::{
    collections::{BTreeSet, VecDeque},
    io::{self, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use super::ws;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    None,
    /// Stops for this long before every so many changes.
    Stall(u64, Duration),
    /// Omits a change.
    Skip(u64),
    /// Sends a change twice.
    Twice(u64),
    /// Sends something other than it stores.
    Forge(u64),
    /// Ignores the position of a subscription.
    Forget,
    /// Omits the first change after the position of a subscription.
    SkipOnResume,
    /// The first node ends, this many changes after its first subscription.
    End(u64),
    /// The first node sends its sockets away, this many changes after its first subscription, and
    /// accepts new ones.
    Drain(u64),
}

/// The name of the one channel.
pub(crate) const CHANNEL: &str = "football/1/odds/steady";

/// Changes a second.
const RATE: u64 = 100;

#[derive(Debug, Default)]
struct Hub {
    seq: u64,
    price: u64,
    tail: VecDeque<(u64, Vec<u8>)>,
    subscribers: Vec<Subscriber>,
    /// The position at the first subscription to the first node.
    first_seq: Option<u64>,
    /// Whether the first node has ended.
    has_ended: bool,
    /// The addresses from which each node was reached.
    sources: Vec<BTreeSet<IpAddr>>,
}

#[derive(Debug)]
struct Subscriber {
    node: usize,
    stream: TcpStream,
    deflates: bool,
    /// The last change that it was sent, if it gets only every second one: its pick.
    picks_from: Option<u64>,
}

/// A subscriber with a pick gets a beat for every so many changes.
const CHANGES_PER_BEAT: u64 = 50;

type Shared = Arc<Mutex<Hub>>;

/// The nodes of a hub.
pub(crate) struct Nodes {
    pub(crate) addresses: Vec<SocketAddr>,
    hub: Shared,
}

/// Starts a hub, and returns its URL.
pub(crate) fn serve(fault: Fault) -> String {
    url(serve_nodes(1, fault).addresses[0])
}

fn url(address: SocketAddr) -> String {
    format!("ws://{address}/stream/v1")
}

/// Starts a hub with this many nodes.
pub(crate) fn serve_nodes(count: usize, fault: Fault) -> Nodes {
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<_> =
        listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
    let hub = Shared::default();
    hub.lock().unwrap().sources.resize_with(count, BTreeSet::new);
    let (source, first) = (Arc::clone(&hub), addresses[0]);
    thread::spawn(move || change(&source, first, fault));
    for (node, listener) in listeners.into_iter().enumerate() {
        let hub = Arc::clone(&hub);
        thread::spawn(move || accept(&listener, node, &hub, fault));
    }
    Nodes { addresses, hub }
}

impl Nodes {
    /// The flags that name all nodes.
    pub(crate) fn flags(&self) -> String {
        let flags = self.addresses.iter().map(|address| format!("--url {}", url(*address)));
        flags.collect::<Vec<_>>().join(" ")
    }

    /// The addresses from which a node was reached.
    pub(crate) fn sources(&self, node: usize) -> BTreeSet<IpAddr> {
        self.hub.lock().unwrap().sources[node].clone()
    }
}

/// Accepts the connections of a node until it ends.
fn accept(listener: &TcpListener, node: usize, hub: &Shared, fault: Fault) {
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        let mut state = hub.lock().unwrap();
        if state.has_ended && node == 0 {
            return;
        }
        state.sources[node].insert(stream.peer_addr().unwrap().ip());
        drop(state);
        let hub = Arc::clone(hub);
        thread::spawn(move || connection(stream, node, &hub, fault));
    }
}

#[expect(clippy::disallowed_methods, reason = "a source has a clock")]
fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "to be on time, or late, is what this server is for")]
fn change(hub: &Shared, first_node: SocketAddr, fault: Fault) {
    let start = now();
    for nth in 1_u64.. {
        let intended = start + nth * 1_000_000 / RATE;
        thread::sleep(Duration::from_micros(intended.saturating_sub(now())));
        if let Fault::Stall(every, pause) = fault
            && nth % every == 0
        {
            thread::sleep(pause);
        }
        let mut hub = hub.lock().unwrap();
        hub.seq += 1;
        hub.price = nth;
        let is_nth = |every: u64| nth.is_multiple_of(every);
        let value = if matches!(fault, Fault::Forge(every) if is_nth(every)) { 0 } else { nth };
        let field = format!("p{}", nth % 7);
        let update = json!({
            "type": "update", "ch": CHANNEL, "seq": hub.seq, "prev": hub.seq - 1,
            "at": {"src": intended, "in": now(), "pub": now()},
            "patch": {field: value.to_string(), "price": value.to_string()},
        });
        let frame = ws::frame(1, fields_first(&update).as_bytes());
        let seq = hub.seq;
        hub.tail.push_back((seq, frame));
        let times = match fault {
            Fault::Skip(every) if is_nth(every) => 0,
            Fault::Twice(every) if is_nth(every) => 2,
            _ => 1,
        };
        for _ in 0..times {
            hub.subscribers.retain_mut(|subscriber| subscriber.update(&update, seq).is_ok());
        }
        let since_first = hub.first_seq.map_or(0, |first| hub.seq - first);
        match fault {
            Fault::End(after) if since_first == after => {
                hub.send_away(false);
                hub.has_ended = true;
                // Wakes the thread that accepts connections.
                drop(TcpStream::connect(first_node));
            }
            Fault::Drain(after) if since_first == after => hub.send_away(true),
            _ => {}
        }
    }
}

/// In the field order of the hub: the type and the channel come first.
fn fields_first(update: &Value) -> String {
    let (seq, prev, at, patch) = (&update["seq"], &update["prev"], &update["at"], &update["patch"]);
    format!(
        r#"{{"type":"update","ch":"{CHANNEL}","seq":{seq},"prev":{prev},"at":{at},"patch":{patch}}}"#
    )
}

/// The hub, once it has a change after this position.
fn changed_since(shared: &Shared, from: u64) -> MutexGuard<'_, Hub> {
    loop {
        let hub = shared.lock().unwrap();
        if hub.seq > from {
            return hub;
        }
        drop(hub);
        thread::yield_now();
    }
}

fn connection(mut stream: TcpStream, node: usize, shared: &Shared, fault: Fault) {
    stream.set_nodelay(true).unwrap();
    let Ok(upgrade) = ws::read_upgrade(&mut stream) else { return };
    let deflates = upgrade.deflates;
    if upgrade.accept(&mut stream).is_err() {
        return;
    }
    let say = |value: Value, stream: &mut TcpStream| {
        stream.write_all(&ws::frame(1, value.to_string().as_bytes())).is_ok()
    };
    say(json!({"type": "hello", "now": now(), "beat_ms": 5000}), &mut stream);
    while let Ok((1, text)) = ws::read(&mut stream) {
        let command: Value = serde_json::from_slice(&text).unwrap();
        let from = &command["from"];
        let from = from["seq"].as_u64().or_else(|| from[CHANNEL]["seq"].as_u64());
        let mut hub = match (fault, from) {
            // Otherwise there may be nothing to omit yet.
            (Fault::SkipOnResume, Some(from)) => changed_since(shared, from),
            _ => shared.lock().unwrap(),
        };
        let (id, ch) = (&command["id"], &command["ch"]);
        if command["op"] == "unsubscribe" {
            // A client may connect to two nodes from the same port.
            let peer = stream.peer_addr().ok();
            hub.subscribers.retain(|it| it.node != node || it.stream.peer_addr().ok() != peer);
            say(json!({"type": "unsubscribed", "id": id, "ch": ch}), &mut stream);
            continue;
        }
        let resumed = from.is_some() && !matches!(fault, Fault::Forget);
        let mut subscribed = json!({"type": "subscribed", "id": id, "ch": ch});
        if ch == CHANNEL {
            subscribed["resumed"] = resumed.into();
        } else {
            subscribed["channels"] = 1.into();
        }
        say(subscribed, &mut stream);
        if let Some(from) = from.filter(|_| resumed) {
            let from = from + u64::from(matches!(fault, Fault::SkipOnResume));
            for (_, frame) in hub.tail.iter().filter(|(seq, _)| *seq > from) {
                stream.write_all(frame).ok();
            }
        } else {
            say(hub.image(), &mut stream);
        }
        if node == 0 {
            if hub.has_ended {
                return;
            }
            let seq = hub.seq;
            hub.first_seq.get_or_insert(seq);
        }
        let writer = stream.try_clone().unwrap();
        let picks_from = command.get("pick").map(|_| hub.seq);
        hub.subscribers.push(Subscriber { node, stream: writer, deflates, picks_from });
    }
}

impl Subscriber {
    fn update(&mut self, update: &Value, seq: u64) -> io::Result<()> {
        let mut update = update.clone();
        if let Some(last) = self.picks_from {
            if seq.is_multiple_of(CHANGES_PER_BEAT) {
                let beat = json!({"type": "beat", "heads": {CHANNEL: seq}});
                self.picks_from = Some(seq);
                return self.stream.write_all(&ws::frame(1, beat.to_string().as_bytes()));
            }
            if !seq.is_multiple_of(2) {
                return Ok(());
            }
            update["prev"] = last.into();
            self.picks_from = Some(seq);
        }
        let text = fields_first(&update);
        let frame = if self.deflates {
            ws::deflated_frame(text.as_bytes())
        } else {
            ws::frame(1, text.as_bytes())
        };
        self.stream.write_all(&frame)
    }
}

impl Hub {
    /// Ends the connections of the first node.
    fn send_away(&mut self, says_so: bool) {
        let bye = json!({"type": "bye", "why": "drain", "reconnect_after_ms": 0}).to_string();
        for Subscriber { mut stream, .. } in self.subscribers.extract_if(.., |it| it.node == 0) {
            if says_so {
                stream.write_all(&ws::frame(1, bye.as_bytes())).ok();
                stream.write_all(&ws::frame(8, &1001_u16.to_be_bytes())).ok();
            }
            stream.shutdown(Shutdown::Both).ok();
        }
    }

    fn image(&self) -> Value {
        let first = self.price.saturating_sub(6).max(1);
        let mut data = json!({"price": self.price.to_string()});
        for nth in first..=self.price {
            data[format!("p{}", nth % 7)] = nth.to_string().into();
        }
        if self.price == 0 {
            data = json!({});
        }
        json!({"type": "image", "ch": CHANNEL, "epoch": "e", "seq": self.seq, "at": {}, "data": data})
    }
}
