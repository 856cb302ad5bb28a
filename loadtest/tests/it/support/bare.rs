//! A server of bare channels, with faults that the tool must detect.

use std::{
    collections::HashMap,
    io::{BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use super::ws;

/// The fault, applied to every so many messages of the publisher.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    None,
    /// Holds it, and all messages after it, for this long.
    Delay(u64, Duration),
    Drop(u64),
    Twice(u64),
    /// Sends it after the next one.
    Swap(u64),
    /// Disconnects all subscribers.
    Close(u64),
}

type Subscribers = Arc<Mutex<HashMap<Vec<u8>, Vec<TcpStream>>>>;

/// Starts a server, and returns its URL.
pub(crate) fn serve(fault: Fault) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let subscribers = Subscribers::default();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let subscribers = Arc::clone(&subscribers);
            thread::spawn(move || connection(stream.unwrap(), &subscribers, fault));
        }
    });
    format!("ws://{address}")
}

fn connection(mut stream: TcpStream, subscribers: &Subscribers, fault: Fault) {
    stream.set_nodelay(true).unwrap();
    let Ok(upgrade) = ws::read_upgrade(&mut stream) else { return };
    match upgrade.path.strip_prefix("/sub/") {
        Some(channel) => {
            // Nothing is published between the response and the subscription.
            let mut all = subscribers.lock().unwrap();
            if upgrade.accept(&mut stream).is_ok() {
                all.entry(channel.as_bytes().to_vec()).or_default().push(stream);
            }
        }
        None if upgrade.accept(&mut stream).is_ok() => publish(stream, subscribers, fault),
        None => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "to be late is what this server is for")]
fn publish(stream: TcpStream, subscribers: &Subscribers, fault: Fault) {
    let mut stream = BufReader::with_capacity(64 << 10, stream);
    let mut held = None;
    for nth in 1_u64.. {
        let Ok((2, payload)) = ws::read(&mut stream) else { return };
        let mut times = 1;
        match fault {
            Fault::Delay(every, delay) if nth % every == 0 => thread::sleep(delay),
            Fault::Drop(every) if nth % every == 0 => times = 0,
            Fault::Twice(every) if nth % every == 0 => times = 2,
            Fault::Swap(every) if nth % every == 0 => {
                held = Some(payload);
                continue;
            }
            Fault::Close(every) if nth % every == 0 => subscribers.lock().unwrap().clear(),
            _ => {}
        }
        let mut all = subscribers.lock().unwrap();
        let channel = all.entry(payload[1..7].to_vec()).or_default();
        for payload in [Some(payload), held.take()].into_iter().flatten() {
            let frame = ws::frame(2, &payload);
            for _ in 0..times {
                channel.retain_mut(|stream| stream.write_all(&frame).is_ok());
            }
        }
    }
}
