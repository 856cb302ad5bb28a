//! The cost of the public interface over HTTP: the most requested endpoints, compared with a bare
//! axum handler that returns the same responses; pages of the list of all matches, with an archive
//! of 400,000; and images.
//!
//! The hub is the real program with the demo in play, a real key and the limits on. The bare
//! handler is a separate process that this one starts with the responses recorded from the hub.
//! Both receive the same requests, over equally many connections, in turn. With `taskset` they have
//! one core and this tool the other. With `wrk` it measures too: `cargo bench --bench rest`.

#[path = "rest/floor.rs"]
mod floor;
#[path = "support/history.rs"]
mod history;
#[path = "rest/images.rs"]
mod images;
#[path = "rest/lists.rs"]
mod lists;
#[path = "support/program.rs"]
mod program;
#[path = "rest/wrk.rs"]
mod wrk;

use std::{
    env, fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
};

use self::{
    lists::lists,
    program::{CONNECTIONS, Program, compare, connected, head, key, say},
};

/// How much work to do: little if the bench only has to run once.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    requests: usize,
    /// Matches of the archive.
    matches: u64,
    pages: usize,
}

fn main() {
    let mut arguments = env::args().skip(1);
    if arguments.next().as_deref() == Some("floor") {
        return floor::serve(&arguments.collect::<Vec<_>>());
    }
    let is_measured = env::args().any(|argument| argument == "--bench");
    let effort = if is_measured {
        Effort { rounds: 15, requests: 20_000, matches: 400_000, pages: 41 }
    } else {
        Effort { rounds: 1, requests: 80, matches: 2_000, pages: 1 }
    };
    if is_measured {
        alone_on("1", process::id());
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let db = folder.path().join("hub.db");
    lists::fill(&db, effort.matches);
    let addons = ["--addon", "websocket", "--addon", "odds", "--addon", "sports"];
    let (paying, free) = (key(&db, &addons), key(&db, &[]));
    let hub = Program::start(&mut hub(&db));
    if is_measured {
        say(&format!(
            "resident with {} matches: {} kB",
            effort.matches,
            resident_kb(hub.process.id())
        ));
    }
    live(&hub, (&paying, &free), folder.path(), effort);
    lists(&hub, &paying, effort);
    images::images(&hub, &paying, effort);
}

/// The hub's configuration, except for the limit per address, which a customer's servers share
/// here.
fn hub(db: &Path) -> Command {
    let mut command = on_first_core(Path::new(env!("CARGO_BIN_EXE_matchwire")));
    command
        .args(["serve", "--listen", "127.0.0.1:0"])
        .arg("--db")
        .arg(db)
        .env("MATCHWIRE_DEMO_PAST", "false")
        .env("MATCHWIRE_LIMITS_ADDRESS_PER_SECOND", "1000000")
        .env("MATCHWIRE_LIMITS_FOOTBALL_PER_DAY", "1000000000");
    command
}

/// What is in play, and one match of it, as requested by different clients.
fn live(hub: &Program, (paying, free): (&str, &str), folder: &Path, effort: Effort) {
    let list = "/api/v2/events/live/";
    let in_play = lists::json(hub.address, list, paying);
    let id = in_play["events"][0]["id"].as_u64().expect("the demo has a match in play");
    let detail = format!("/api/v2/events/{id}/");
    let gzip = "accept-encoding: gzip\r\n";
    let unchanged = "if-none-match: *\r\n";
    let kinds = [
        ("live", list, paying, ""),
        ("live, with a quota", list, free, ""),
        ("live, 304", list, paying, unchanged),
        ("live, gzip", list, paying, gzip),
        ("detail", &*detail, paying, ""),
        ("detail, 304", &*detail, paying, unchanged),
        ("detail, gzip", &*detail, paying, gzip),
    ];
    let requests: Vec<_> = kinds
        .iter()
        .map(|(name, path, key, more)| BenchRequest { name, path, key: (*key).to_owned(), more })
        .collect();
    let files: Vec<PathBuf> = requests
        .iter()
        .enumerate()
        .map(|(number, request)| {
            let file = folder.join(number.to_string());
            fs::write(&file, request.answer(hub.address)).expect("it is written");
            file
        })
        .collect();
    let mut command = on_first_core(&env::current_exe().expect("this program has a name"));
    command.arg("floor").args(&files).stderr(Stdio::inherit());
    let floor = Program::start(&mut command);
    for (number, kind) in requests.iter().enumerate() {
        let request = kind.request(kind.path);
        let at_floor = kind.request(&floor::path(number));
        let mut lines = [
            (&floor, Connections::connect(floor.address, &at_floor)),
            (hub, Connections::connect(hub.address, &request)),
        ];
        let names = [format!("{}: bare handler", kind.name), format!("{}: hub", kind.name)];
        compare(&names.each_ref().map(String::as_str), effort.rounds, |kind| {
            let (program, lines) = &mut lines[kind];
            program.cost(|| lines.ask(effort.requests / CONNECTIONS), effort.requests)
        });
        drop(lines);
        if effort.rounds > 1 {
            wrk::compare(
                [(floor.address, &*floor::path(number)), (hub.address, kind.path)],
                &kind.headers(),
                effort.rounds,
            );
        }
    }
}

/// A request that is repeated.
struct BenchRequest<'a> {
    name: &'a str,
    path: &'a str,
    key: String,
    /// Additional header lines.
    more: &'a str,
}

impl BenchRequest<'_> {
    fn request(&self, path: &str) -> String {
        let Self { key, more, .. } = self;
        format!("GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Token {key}\r\n{more}\r\n")
    }

    /// The header lines in the form that `wrk` accepts.
    fn headers(&self) -> Vec<String> {
        let authorization = format!("authorization: Token {}", self.key);
        [authorization].into_iter().chain(self.more.lines().map(ToOwned::to_owned)).collect()
    }

    /// The response, head and body.
    fn answer(&self, address: SocketAddr) -> Vec<u8> {
        let mut stream = connected(address);
        stream.write_all(self.request(self.path).as_bytes()).expect("it is sent");
        let head = head(&mut stream);
        let mut body = vec![0; length(&head)];
        stream.read_exact(&mut body).expect("the body");
        [head.into_bytes(), body].concat()
    }
}

/// The length of the body after a head.
fn length(head: &str) -> usize {
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.map_or(0, |length| length.parse().expect("a number"))
}

/// Keep-alive connections, and the request repeated on each.
struct Connections {
    streams: Vec<TcpStream>,
    request: String,
    read: Vec<u8>,
}

impl Connections {
    fn connect(address: SocketAddr, request: &str) -> Self {
        let streams = (0..CONNECTIONS).map(|_| connected(address)).collect();
        Self { streams, request: request.to_owned(), read: vec![0; 1 << 20] }
    }

    fn ask(&mut self, times: usize) {
        for _ in 0..times {
            for stream in &mut self.streams {
                stream.write_all(self.request.as_bytes()).expect("it is sent");
            }
            for stream in &mut self.streams {
                take_answer(stream, &mut self.read);
            }
        }
    }
}

fn take_answer(stream: &mut TcpStream, buffer: &mut [u8]) {
    let (mut read, mut whole) = (0, None);
    while whole.is_none_or(|whole| read < whole) {
        let count = stream.read(&mut buffer[read..]).expect("an answer");
        assert!(count > 0, "the connection was closed");
        read += count;
        if whole.is_none()
            && let Some(end) = buffer[..read].windows(4).position(|it| it == b"\r\n\r\n")
        {
            let head = std::str::from_utf8(&buffer[..end]).expect("a head is text");
            assert!(["200", "304"].contains(&&head[9..12]), "{head}");
            whole = Some(end + 4 + length(head));
        }
    }
}

/// The resident memory of a process, in kB.
fn resident_kb(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.expect("Linux reports its processes");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A program pinned to the first core, if `taskset` is installed.
fn on_first_core(program: &Path) -> Command {
    let can_be = Command::new("taskset").arg("--version").stdout(Stdio::null()).status();
    if !can_be.is_ok_and(|status| status.success()) {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(program);
    command
}

/// Pins a process to one core, if there is another one and `taskset` is installed.
fn alone_on(core: &str, process: u32) {
    let mut command = Command::new("taskset");
    command.args(["-cp", core, &process.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    // Without it the figures are those of a machine on which everything shares the cores.
    command.status().ok();
}
