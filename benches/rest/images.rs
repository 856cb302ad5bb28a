//! The cost of rendering an image, of serving a cached one, and the effect on sockets while clients
//! request images as fast as they can.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use tokio::{runtime::Builder, time::Instant};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use super::{
    Effort, length,
    program::{Program, connected, head, say},
};

/// Concurrent image clients; each requests the next image as soon as it has one.
const ASKING: u64 = 8;
/// The interval between two commands of a socket.
const PAUSE: Duration = Duration::from_millis(5);

/// Kinds of subjects of the archive, and what is requested for each.
const IMAGES: [(&str, &str, &str); 7] = [
    ("crest, 128, PNG", "team", "size=128&format=png"),
    ("crest, 128, WebP", "team", "size=128&format=webp"),
    ("crest, 512, PNG", "team", "size=512&format=png"),
    ("crest, 512, WebP", "team", "size=512&format=webp"),
    ("portrait, 128, PNG", "tennis-player", "size=128&format=png"),
    ("portrait, 128, WebP", "tennis-player", "size=128&format=webp"),
    ("portrait, 512, PNG", "tennis-player", "size=512&format=png"),
];

/// In tennis the teams are players; one of five competitions is tennis.
fn ids(kind: &str) -> impl Iterator<Item = u64> + use<> {
    let is_tennis = kind == "tennis-player";
    let competitions = (0..250_u64).filter(move |it| it.is_multiple_of(5) == is_tennis);
    competitions.flat_map(|competition| (0..20).map(move |index| competition * 100 + index))
}

pub(crate) fn images(hub: &Program, key: &str, effort: Effort) {
    let count = effort.pages;
    for (name, kind, query) in IMAGES {
        let mut stream = connected(hub.address);
        let mut bytes = 0;
        let mut all = || {
            for id in ids(kind).take(count) {
                bytes += image(&mut stream, &format!("/img/{kind}/{id}/?{query}"));
            }
        };
        let drawn = hub.cost(&mut all, count);
        let kept = hub.cost(&mut all, count);
        say(&format!(
            "image, {name:20} drawn in {:6.2} ms of processor time, kept {:3.0} us; {} bytes",
            drawn.cpu_us / 1_000.0,
            kept.cpu_us,
            bytes / count / 2,
        ));
    }
    latencies(hub, key, effort);
}

/// The answers of a shard to one socket, while idle and while images are rendered.
fn latencies(hub: &Program, key: &str, effort: Effort) {
    let mut socket = socket(hub.address, &format!("/stream/v1?token={key}"));
    let timer = Builder::new_current_thread().enable_time().build().expect("a timer");
    let mut round = || {
        let sent = Instant::now();
        socket.send(Message::text(r#"{"op":"ping"}"#)).expect("it is sent");
        while !is_pong(&socket.read().expect("it arrives")) {}
        let took_us = sent.elapsed().as_secs_f64() * 1e6;
        timer.block_on(async { tokio::time::sleep(PAUSE).await });
        took_us
    };
    let mut measure = |what: &str| {
        let mut took_us: Vec<f64> = (0..effort.pages * 20).map(|_| round()).collect();
        took_us.sort_unstable_by(f64::total_cmp);
        let at = |share: usize| took_us[(took_us.len() - 1) * share / 100];
        let (p50, p99, most) = (at(50), at(99), at(100));
        say(&format!("a ping, {what}: p50 {p50:.0} us, p99 {p99:.0} us, most {most:.0} us"));
    };
    measure("nothing else asked");
    let (stop, drawn) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for number in 0..ASKING {
            let (stop, drawn) = (&stop, &drawn);
            scope.spawn(move || ask_on(hub.address, number, stop, drawn));
        }
        let begun = Instant::now();
        measure("images drawn all the while");
        let rate = drawn.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
        say(&format!("    which were {rate:.0} a second"));
        stop.store(true, Ordering::Relaxed);
    });
}

/// Requests images that are not cached, one of so many of them.
fn ask_on(address: SocketAddr, number: u64, stop: &AtomicBool, drawn: &AtomicU64) {
    let mut stream = connected(address);
    let all =
        [192, 256, 384, 96].into_iter().flat_map(|size| ids("team").map(move |id| (size, id)));
    for (size, id) in all.filter(|(_, id)| id % ASKING == number) {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        image(&mut stream, &format!("/img/team/{id}/?size={size}"));
        drawn.fetch_add(1, Ordering::Relaxed);
    }
}

/// The length of an image in bytes.
fn image(stream: &mut TcpStream, path: &str) -> usize {
    let request = format!("GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let head = head(stream);
    assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
    let mut body = vec![0; length(&head)];
    stream.read_exact(&mut body).expect("the body");
    body.len()
}

fn socket(address: SocketAddr, path: &str) -> WebSocket<TcpStream> {
    let (socket, _) =
        client(format!("ws://{address}{path}"), connected(address)).expect("it is upgraded");
    socket
}

/// Others are `hello` and beats.
fn is_pong(message: &Message) -> bool {
    message.to_text().is_ok_and(|text| text.contains(r#""type":"pong""#))
}
