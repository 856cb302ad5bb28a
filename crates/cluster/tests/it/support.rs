//! NATS servers with directories of their own, all ended and removed with their value, and messages for tests.

use std::{
    future::Future,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use bytes::Bytes;
use cluster::{
    AppendError, Body, ClusterConfig, Formats, Message, Part, Records, Stream, StreamError,
};
use futures_util::future::join_all;
use log::{Chain, LogPosition};
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

#[path = "../../../../tests/ports/mod.rs"]
mod ports;

use self::ports::free_ports;

/// How long a test may take with one server.
const PATIENCE: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(20);
/// Between two looks at something that gives no event.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

/// Runs a test with each program.
pub(crate) fn with_each_server<F: Future<Output = ()>>(test: impl Fn(PathBuf) -> F) {
    let programs = programs();
    if programs.is_empty() {
        skipped();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    // At the same time, because elections of servers take seconds in which nothing happens.
    let tests = programs.into_iter().map(|program| {
        let name = program.display().to_string();
        let test = test(program);
        async move {
            timeout(PATIENCE, test)
                .await
                .unwrap_or_else(|_| panic!("it takes too long with {name}"))
        }
    });
    runtime.block_on(join_all(tests));
}

#[expect(clippy::disallowed_methods, reason = "the programs of tests are no settings of the hub")]
fn programs() -> Vec<PathBuf> {
    if let Ok(given) = std::env::var("TEST_NATS_SERVERS") {
        let programs = given.split(':').filter(|path| !path.is_empty()).map(PathBuf::from);
        return programs.filter(|path| path.exists()).collect();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin"]);
    let found = folders.map(|folder| Path::new(folder).join("nats-server"));
    found.into_iter().find(|program| program.exists()).into_iter().collect()
}

#[expect(clippy::print_stdout, reason = "reports a skipped test")]
fn skipped() {
    println!("skipped: there is no nats-server; TEST_NATS_SERVERS may name some");
}

/// A server, alone or in a cluster of three.
pub(crate) struct Server {
    program: PathBuf,
    dir: PathBuf,
    port: u16,
    config: PathBuf,
    child: Option<Child>,
}

impl Server {
    fn new(program: &Path, dir: &Path, port: u16, cluster: &str) -> Self {
        let dir = dir.join(port.to_string());
        std::fs::create_dir_all(&dir).expect("a directory of our own");
        let config = dir.join("nats.conf");
        let text = format!(
            "server_name: s{port}\nlisten: 127.0.0.1:{port}\n\
             jetstream {{ store_dir: \"{}\", max_mem: 64M, max_file: 1G }}\n{cluster}",
            dir.display()
        );
        std::fs::write(&config, text).expect("a file of our own");
        Self { program: program.to_owned(), dir, port, config, child: None }
    }

    /// A server with nothing stored.
    pub(crate) fn start(program: &Path, dir: &TempDir) -> Self {
        Self::start_with(program, dir, "")
    }

    /// A server with nothing stored, and with these lines in its configuration.
    pub(crate) fn start_with(program: &Path, dir: &TempDir, lines: &str) -> Self {
        let [port] = free_ports();
        let mut server = Self::new(program, dir.path(), port, lines);
        server.run();
        server
    }

    /// Starts it, with what it has stored, and waits until it listens.
    pub(crate) fn run(&mut self) {
        let mut child = Command::new(&self.program)
            .arg("-c")
            .arg(&self.config)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        self.child = Some(child);
        let (tx, started) = mpsc::sync_channel(1);
        // Reads to the end; otherwise the server would block on its output.
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if line.contains("Server is ready") {
                    tx.send(()).expect("the test waits for it");
                }
            }
        });
        started.recv_timeout(START).expect("the server has started");
    }

    /// Kills it, as a crash would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it is ours");
        }
    }

    /// Suspends or resumes it: its sockets stay open without any data.
    pub(crate) fn hang(&self, hangs: bool) {
        let Some(child) = &self.child else { return };
        let signal = if hangs { "-STOP" } else { "-CONT" };
        let kill = format!("kill {signal} {}", child.id());
        let sent = Command::new("/bin/sh").args(["-c", &kill]).status().expect("a shell");
        assert!(sent.success(), "{kill}");
    }

    /// Deletes what it has stored. It must not run.
    pub(crate) fn forget(&self) {
        std::fs::remove_dir_all(self.dir.join("jetstream")).expect("a directory of our own");
    }

    /// Keeps a copy of what it has stored. It must not run.
    pub(crate) fn save(&self) {
        copy(&self.dir.join("jetstream"), &self.dir.join("saved"));
    }

    /// Puts the copy back. It must not run.
    pub(crate) fn restore(&self) {
        let store = self.dir.join("jetstream");
        std::fs::remove_dir_all(&store).expect("a directory of our own");
        copy(&self.dir.join("saved"), &store);
    }

    pub(crate) fn name(&self) -> String {
        format!("s{}", self.port)
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory of our own");
    for entry in std::fs::read_dir(from).expect("it exists") {
        let path = entry.expect("it can be read").path();
        let to = to.join(path.file_name().expect("it has a name"));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).expect("it can be copied");
        }
    }
}

/// Three servers in a cluster.
pub(crate) fn three_servers(program: &Path, dir: &TempDir) -> Vec<Server> {
    let [a, b, c, x, y, z] = free_ports();
    let routes = [x, y, z].map(|port| format!("nats://127.0.0.1:{port}")).join(", ");
    let server = |(port, route): (u16, u16)| {
        let cluster =
            format!("cluster {{ name: test, listen: 127.0.0.1:{route}, routes: [{routes}] }}\n");
        Server::new(program, dir.path(), port, &cluster)
    };
    let mut servers: Vec<Server> = [(a, x), (b, y), (c, z)].into_iter().map(server).collect();
    for server in &mut servers {
        server.run();
    }
    servers
}

pub(crate) fn config(servers: &[&Server]) -> ClusterConfig {
    let nats = servers.iter().map(|server| server.url()).collect::<Vec<_>>().join(",");
    ClusterConfig {
        name: "test".to_owned(),
        node: "a".to_owned(),
        nats,
        replicas: servers.len(),
        log_bytes: 256 << 20,
        // A single server answers when it gets to it; of several, the next one may have to.
        answer_ms: if servers.len() == 1 { 10_000 } else { 500 },
        ..ClusterConfig::default()
    }
}

/// A connection with the stream set up.
pub(crate) async fn stream(config: &ClusterConfig) -> Stream {
    let stream = Stream::connect(config).await.expect("the server listens");
    // The servers of a cluster must find each other first.
    let mut result = stream.set_up().await;
    let start = Instant::now();
    while result.is_err() && start.elapsed() < START {
        sleep(LOOK).await;
        result = stream.set_up().await;
    }
    result.expect("the stream can be set up");
    stream
}

pub(crate) fn chain(number: u64) -> Chain {
    u128::from(number).to_be_bytes()
}

pub(crate) fn position(number: u64) -> LogPosition {
    LogPosition { number, chain: chain(number), at: 0 }
}

pub(crate) fn message(term: u64, body: Body) -> Message {
    Message { term, node: "a".to_owned(), body }
}

/// Records from `first` on, with these bytes.
pub(crate) fn records(first: u64, count: u32, bytes: impl Into<Bytes>) -> Message {
    let end = position(first + u64::from(count) - 1);
    let (before, part, bytes) = (chain(first - 1), Part::WHOLE, bytes.into());
    message(1, Body::Records(Records { first, count, before, end, part, bytes }))
}

pub(crate) fn term(term: u64, number: u64) -> Message {
    message(term, Body::Term { position: position(number), formats: Formats::default() })
}

/// Bytes that do not repeat.
pub(crate) fn bytes(length: usize) -> Bytes {
    let mut state = 1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..length).map(next).collect()
}

/// Appends it, repeated until the outcome is known.
pub(crate) async fn append(
    stream: &Stream,
    expected: u64,
    message: &Message,
    id: &str,
) -> Result<u64, AppendError> {
    loop {
        match stream.append(expected, message, id).await {
            Err(AppendError::Unavailable(_)) => sleep(LOOK).await,
            outcome => return outcome,
        }
    }
}

/// The last sequence, repeated until it is known.
pub(crate) async fn last(stream: &Stream) -> u64 {
    loop {
        match stream.end().await {
            Err(StreamError::Unavailable(_)) => sleep(LOOK).await,
            end => return end.expect("the stream exists").last,
        }
    }
}

/// The server that leads the stream, as soon as one says so.
pub(crate) async fn leader(log: &Stream) -> String {
    loop {
        match log.state().await.map(|state| state.leader) {
            Ok(Some(leader)) => return leader,
            Ok(None) | Err(StreamError::Unavailable(_)) => sleep(LOOK).await,
            Err(error) => panic!("{error}"),
        }
    }
}
