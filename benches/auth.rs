//! What authentication costs: requests with a key beside the same requests to the same handler where
//! none is asked for, and upgrades of sockets, on the real program over loopback.
//!
//! The machine is shared as a rule, so what counts is the processor time that the hub takes for one
//! request, and not how many it gets done; both are told. Kinds take turns within a round, and a ratio
//! is the median of those of the rounds. Not a matter of criterion's: `cargo bench --bench auth`.

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use matchwire::{
    accounts::{Accounts, Addon},
    clock::now,
    config::UsageConfig,
    products::Product,
    usage::Meter,
};
use tokio::time::Instant;

/// Connections that ask at the same time.
const CONNECTIONS: usize = 8;

/// How much is done: little where the bench is only to be seen running.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    requests: usize,
    upgrades: usize,
    looks: u32,
}

/// What one kind of work took.
#[derive(Clone, Copy)]
struct Cost {
    /// Microseconds of the hub's processor time for one.
    cpu_us: f64,
    a_second: f64,
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
    let (paying, free) = (hub.key(&["--addon", "websocket"]), hub.key(&[]));
    requests(&hub, &paying, &free, effort);
    upgrades(&hub, &paying, effort);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(look_ups(effort.looks));
}

/// The same answer of the same handler, which knows no such address: below a product, where a key is
/// needed, and beside it.
fn requests(hub: &Hub, paying: &str, free: &str, effort: Effort) {
    let request = |path: &str, key: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Token {key}\r\n\r\n")
    };
    let kinds = [
        ("request, no key asked for", request("/ipa/v2/none/", paying)),
        ("request, with a key", request("/api/v2/none/", paying)),
        ("request, with a key and a quota", request("/api/v2/none/", free)),
    ];
    let mut lines = kinds.each_ref().map(|(_, request)| Lines::connect(hub.address, request));
    compare(&kinds.each_ref().map(|kind| kind.0), effort.rounds, |kind| {
        let ask = || lines[kind].ask(effort.requests / CONNECTIONS);
        hub.cost(ask, effort.requests)
    });
}

/// From the connection to the answer of the upgrade, and the end of the socket. The measuring door
/// asks for no key; it has no place in a registry to give and no `hello` to say either.
fn upgrades(hub: &Hub, key: &str, effort: Effort) {
    let request = |path: &str, more: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nhost: bench\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
        )
    };
    let with_key = request("/stream/v1", &format!("authorization: Token {key}\r\n"));
    let kinds = [
        ("upgrade, measuring door", hub.bench, request("/sub/000001", "")),
        ("upgrade, refused without a key", hub.address, request("/stream/v1", "")),
        ("upgrade, with a key", hub.address, with_key),
    ];
    compare(&kinds.each_ref().map(|kind| kind.0), effort.rounds, |kind| {
        let (_, address, request) = &kinds[kind];
        let upgrade = || {
            for _ in 0..effort.upgrades / CONNECTIONS {
                let mut streams = [(); CONNECTIONS].map(|()| connected(*address));
                streams.iter_mut().for_each(|it| it.write_all(request.as_bytes()).expect("sent"));
                streams.iter_mut().for_each(|it| drop(head(it)));
            }
            hub.until_no_sockets();
        };
        hub.cost(upgrade, effort.upgrades)
    });
}

/// What of that is recognising the key, and counting the call.
async fn look_ups(looks: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let accounts = Accounts::open(&folder.path().join("hub.db")).await.expect("it opens");
    let key = accounts.create_key(None, &[(Addon::Websocket, 30)], now()).await.expect("a key");
    let meter = Meter::new(accounts.database().clone(), &UsageConfig::default(), 1);
    let account = accounts.authenticate(key.expose(), now()).await.expect("it answers");
    let account = account.expect("the key is good").account;
    let begun = Instant::now();
    for _ in 0..looks {
        accounts.authenticate(key.expose(), now()).await.expect("it answers").expect("a caller");
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

/// Measures kinds of work in turn, and tells medians and ratios to the first.
fn compare<const N: usize>(
    names: &[&str; N],
    rounds: usize,
    mut measure: impl FnMut(usize) -> Cost,
) {
    // The first round warms up.
    for kind in 0..N {
        measure(kind);
    }
    let mut costs = [(); N].map(|()| Vec::new());
    for round in 0..rounds {
        for turn in 0..N {
            let kind = (round + turn) % N;
            costs[kind].push(measure(kind));
        }
    }
    for (name, own) in names.iter().zip(&costs) {
        let ratios = own.iter().zip(&costs[0]).map(|(own, first)| own.cpu_us / first.cpu_us);
        let (ratio, range) = median(ratios.collect());
        let (cpu_us, _) = median(own.iter().map(|cost| cost.cpu_us).collect());
        let (a_second, _) = median(own.iter().map(|cost| cost.a_second).collect());
        let [least, most] = range;
        say(&format!(
            "{name:33} {cpu_us:6.2} us of processor time, {a_second:7.0} a second, \
             ratio {ratio:.3} ({least:.3} to {most:.3})"
        ));
    }
}

/// The middle one, and the least and the greatest.
fn median(mut values: Vec<f64>) -> (f64, [f64; 2]) {
    values.sort_unstable_by(f64::total_cmp);
    (values[values.len() / 2], [values[0], values[values.len() - 1]])
}

fn say(line: &str) {
    writeln!(io::stdout(), "{line}").expect("somebody reads this");
}

/// Connections that stay open, and what is asked on each again and again.
struct Lines {
    streams: Vec<TcpStream>,
    request: String,
    answer: Vec<u8>,
}

impl Lines {
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

    /// Every answer is as long as the first, but for the digits of a quota that is used up.
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

/// The head of an answer, read byte by byte so that nothing behind it is taken.
fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("an answer");
        head.push(byte[0]);
    }
    String::from_utf8(head).expect("a head is text")
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it connects");
    stream.set_nodelay(true).expect("it may send at once");
    stream
}

/// The program, on a database of its own.
struct Hub {
    process: Child,
    address: SocketAddr,
    bench: SocketAddr,
    db: String,
}

impl Hub {
    fn start(folder: &Path) -> Self {
        let db = folder.join("hub.db").to_str().expect("a path of text").to_owned();
        let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let bench = free.expect("a free port");
        let mut process = Command::new(env!("CARGO_BIN_EXE_matchwire"))
            .args(["serve", "--listen", "127.0.0.1:0", "--db", &db, "--bench-port"])
            .arg(bench.port().to_string())
            .env("MATCHWIRE_DEMO_ENABLED", "false")
            .env("MATCHWIRE_FANOUT_SOCKETS_MAX_PER_ACCOUNT", "5000")
            .env("MATCHWIRE_LIMITS_ADDRESS_PER_SECOND", "0")
            .env("MATCHWIRE_LIMITS_FOOTBALL_PER_DAY", "1000000000")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut first = String::new();
        let stdout = process.stdout.as_mut().expect("its output is piped");
        BufReader::new(stdout).read_line(&mut first).expect("its output is text");
        let address = first.trim().strip_prefix("listening on http://").expect("it has started");
        Self { address: address.parse().expect("an address"), process, bench, db }
    }

    fn key(&self, more: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_matchwire"));
        let output = command.args(["key", "create", "--db", &self.db]).args(more).output();
        let output = output.expect("the command runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a key is text").trim().to_owned()
    }

    /// What so many of something cost the hub.
    fn cost(&self, work: impl FnOnce(), count: usize) -> Cost {
        let (begun, cpu_ns) = (Instant::now(), self.cpu_ns());
        work();
        let (took, cpu_ns) = (begun.elapsed().as_secs_f64(), self.cpu_ns() - cpu_ns);
        let count = count as f64;
        Cost { cpu_us: cpu_ns as f64 / 1_000.0 / count, a_second: count / took }
    }

    /// Processor time of all its threads so far.
    fn cpu_ns(&self) -> u64 {
        let tasks = format!("/proc/{}/task", self.process.id());
        let tasks = fs::read_dir(tasks).expect("Linux tells of its threads");
        let of_task = |path: &Path| {
            // A thread may end meanwhile.
            let told = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
            told.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0)
        };
        tasks.flatten().map(|task| of_task(&task.path())).sum()
    }

    /// What sockets leave behind is part of what they cost.
    fn until_no_sockets(&self) {
        loop {
            let mut stream = connected(self.address);
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

impl Drop for Hub {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
