//! A hub with one channel that changes on a schedule, and with faults.

use std::{
    collections::VecDeque,
    io::Write,
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
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
    subscribers: Vec<TcpStream>,
}

type Shared = Arc<Mutex<Hub>>;

/// Starts a hub, and returns its URL.
pub(crate) fn serve(fault: Fault) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let hub = Shared::default();
    let source = Arc::clone(&hub);
    thread::spawn(move || change(&source, fault));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let hub = Arc::clone(&hub);
            thread::spawn(move || connection(stream.unwrap(), &hub, fault));
        }
    });
    format!("ws://{address}/stream/v1")
}

#[expect(clippy::disallowed_methods, reason = "a source has a clock")]
fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "to be on time, or late, is what this server is for")]
fn change(hub: &Shared, fault: Fault) {
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
        hub.tail.push_back((seq, frame.clone()));
        let times = match fault {
            Fault::Skip(every) if is_nth(every) => 0,
            Fault::Twice(every) if is_nth(every) => 2,
            _ => 1,
        };
        for _ in 0..times {
            hub.subscribers.retain_mut(|stream| stream.write_all(&frame).is_ok());
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

fn connection(mut stream: TcpStream, hub: &Shared, fault: Fault) {
    stream.set_nodelay(true).unwrap();
    if ws::accept(&mut stream).is_err() {
        return;
    }
    let say = |value: Value, stream: &mut TcpStream| {
        stream.write_all(&ws::frame(1, value.to_string().as_bytes())).is_ok()
    };
    say(json!({"type": "hello", "now": now(), "beat_ms": 5000}), &mut stream);
    while let Ok((1, text)) = ws::read(&mut stream) {
        let command: Value = serde_json::from_slice(&text).unwrap();
        let mut hub = hub.lock().unwrap();
        let (id, ch) = (&command["id"], &command["ch"]);
        if command["op"] == "unsubscribe" {
            let port = stream.peer_addr().unwrap();
            hub.subscribers.retain(|other| other.peer_addr().ok() != Some(port));
            say(json!({"type": "unsubscribed", "id": id, "ch": ch}), &mut stream);
            continue;
        }
        let from = &command["from"];
        let from = from["seq"].as_u64().or_else(|| from[CHANNEL]["seq"].as_u64());
        let resumed = from.is_some() && !matches!(fault, Fault::Forget);
        let mut subscribed = json!({"type": "subscribed", "id": id, "ch": ch});
        if ch == CHANNEL {
            subscribed["resumed"] = resumed.into();
        } else {
            subscribed["channels"] = 1.into();
        }
        say(subscribed, &mut stream);
        if let Some(from) = from.filter(|_| resumed) {
            for (_, frame) in hub.tail.iter().filter(|(seq, _)| *seq > from) {
                stream.write_all(frame).ok();
            }
        } else {
            say(hub.image(), &mut stream);
        }
        let writer = stream.try_clone().unwrap();
        hub.subscribers.push(writer);
    }
}

impl Hub {
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
