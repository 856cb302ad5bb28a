//! The cost of authentication: requests with a key compared with the same requests to the same
//! handler without authentication, and upgrades of sockets, on the real program over loopback.
//!
//! The machine is usually shared, so the measure is the hub's CPU time per request and not the
//! throughput; the bench prints both. The kinds take turns within a round, and a ratio is the
//! median of the ratios of the rounds. It does not use criterion: `cargo bench --bench auth`.

#[path = "support/program.rs"]
mod program;

use std::{
    env,
    io::{Read, Write},
    net::Ipv4Addr,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::Command,
};

use accounts::{Accounts, Addon, products::Product, usage::Meter};
use base::clock::now;
use matchwire::config::UsageConfig;
use tokio::time::Instant;

use self::program::{CONNECTIONS, Program, compare, connected, head, key, say};

/// How much work to do: little if the bench only has to run once.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    requests: usize,
    upgrades: usize,
    looks: u32,
}

fn main() {
    let measured = env::args().any(|argument| argument == "--bench");
    let effort = if measured {
        Effort { rounds: 15, requests: 20_000, upgrades: 1_000, looks: 2_000_000 }
    } else {
        Effort { rounds: 1, requests: 80, upgrades: 16, looks: 1_000 }
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let hub = Hub::start(folder.path());
    let (paying, free) = (key(&hub.db, &["--addon", "websocket"]), key(&hub.db, &[]));
    requests(&hub, &paying, &free, effort);
    upgrades(&hub, &paying, effort);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(look_ups(effort.looks));
}

/// The same response of the same handler for an unknown path: below a product, where a key is
/// required, and outside it.
fn requests(hub: &Hub, paying: &str, free: &str, effort: Effort) {
    let request = |path: &str, key: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Token {key}\r\n\r\n")
    };
    let kinds = [
        ("request, no key required", request("/ipa/v2/none/", paying)),
        ("request, with a key", request("/api/v2/none/", paying)),
        ("request, with a key and a quota", request("/api/v2/none/", free)),
    ];
    let mut lines =
        kinds.each_ref().map(|(_, request)| Connections::connect(hub.program.address, request));
    compare(&kinds.each_ref().map(|kind| kind.0), effort.rounds, |kind| {
        let ask = || lines[kind].ask(effort.requests / CONNECTIONS);
        hub.program.cost(ask, effort.requests)
    });
}

/// From the connection to the response to the upgrade, and the end of the socket. One that is refused
/// looks up no key, has no registry entry and gets no `hello`, but an `error` and a close frame.
fn upgrades(hub: &Hub, key: &str, effort: Effort) {
    let request = |path: &str, more: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nhost: bench\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
        )
    };
    let with_key = request("/stream/v1", &format!("authorization: Token {key}\r\n"));
    let kinds = [
        ("upgrade, refused without a key", request("/stream/v1", "")),
        ("upgrade, with a key", with_key),
    ];
    compare(&kinds.each_ref().map(|kind| kind.0), effort.rounds, |kind| {
        let (_, request) = &kinds[kind];
        let upgrade = || {
            for _ in 0..effort.upgrades / CONNECTIONS {
                let mut streams = [(); CONNECTIONS].map(|()| connected(hub.program.address));
                streams.iter_mut().for_each(|it| it.write_all(request.as_bytes()).expect("sent"));
                streams.iter_mut().for_each(|it| drop(head(it)));
            }
            hub.until_no_sockets();
        };
        hub.program.cost(upgrade, effort.upgrades)
    });
}

/// The part of it that recognising the key and counting the call take.
async fn look_ups(looks: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let accounts = Accounts::open(&folder.path().join("hub.db")).await.expect("it opens");
    let key = accounts.create_key(None, &[(Addon::Websocket, 30)], now()).await.expect("a key");
    let meter = Meter::new(accounts.database().clone(), &UsageConfig::default(), 1);
    let account = accounts
        .authenticate(key.expose(), Ipv4Addr::LOCALHOST.into(), now())
        .await
        .expect("it answers");
    let account = account.expect("the key is good").account;
    let begun = Instant::now();
    for _ in 0..looks {
        accounts
            .authenticate(key.expose(), Ipv4Addr::LOCALHOST.into(), now())
            .await
            .expect("it answers")
            .expect("a caller");
    }
    let looked = Instant::now();
    for _ in 0..looks {
        meter.call(account, Product::Football, now());
    }
    let nanoseconds = |span: std::time::Duration| span.as_secs_f64() * 1e9 / f64::from(looks);
    say(&format!("a key recognised: {:.0} ns", nanoseconds(looked - begun)));
    say(&format!("a call counted: {:.0} ns", nanoseconds(looked.elapsed())));
    accounts.close().await;
}

/// Keep-alive connections, and the request repeated on each.
struct Connections {
    streams: Vec<TcpStream>,
    request: String,
    answer: Vec<u8>,
}

impl Connections {
    fn connect(address: SocketAddr, request: &str) -> Self {
        let mut streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connected(address)).collect();
        let mut bytes = 0;
        for stream in &mut streams {
            stream.write_all(request.as_bytes()).expect("it is sent");
            let head = head(stream);
            assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.expect("a length").parse().expect("a number");
            stream.read_exact(&mut vec![0; length]).expect("the body");
            bytes = head.len() + length;
        }
        Self { streams, request: request.to_owned(), answer: vec![0; bytes] }
    }

    /// Every response is as long as the first, except for the digits of the remaining quota.
    fn ask(&mut self, times: usize) {
        for _ in 0..times {
            for stream in &mut self.streams {
                stream.write_all(self.request.as_bytes()).expect("it is sent");
            }
            for stream in &mut self.streams {
                let mut read = 0;
                while read + 64 < self.answer.len() || !self.answer[..read].ends_with(b"}") {
                    let count = stream.read(&mut self.answer[read..]).expect("an answer");
                    assert!(count > 0, "the hub closed");
                    read += count;
                }
            }
        }
    }
}

/// The program, with a temporary database.
struct Hub {
    program: Program,
    db: PathBuf,
}

impl Hub {
    fn start(folder: &Path) -> Self {
        let db = folder.join("hub.db");
        let mut command = Command::new(env!("CARGO_BIN_EXE_matchwire"));
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .arg("--db")
            .arg(&db)
            .env("MATCHWIRE_DEMO_ENABLED", "false")
            .env("MATCHWIRE_FANOUT_SOCKETS_MAX_PER_ACCOUNT", "5000")
            .env("MATCHWIRE_LIMITS_ADDRESS_PER_SECOND", "0")
            .env("MATCHWIRE_LIMITS_FOOTBALL_PER_DAY", "1000000000");
        Self { program: Program::start(&mut command), db }
    }

    /// The cleanup after a socket is part of its cost.
    fn until_no_sockets(&self) {
        loop {
            let mut stream = connected(self.program.address);
            let request = b"GET /metrics HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n";
            stream.write_all(request).expect("it is sent");
            let mut text = String::new();
            stream.read_to_string(&mut text).expect("an answer");
            if text.lines().any(|line| line == "matchwire_sockets 0") {
                return;
            }
        }
    }
}
