//! The hub as a process that is started again and again in one place.

use std::{
    fs::{self, File, OpenOptions},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tempfile::TempDir;
use tokio::time::Instant;

use crate::http;

/// How long a hub may take until it serves, or until it has stopped.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Where the hub runs: its folder, its address and its settings.
#[derive(Debug)]
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) address: String,
    /// How many times it was started.
    starts: AtomicUsize,
}

/// Small files and frequent snapshots, so that they are interrupted, and nothing that limits 300 clients.
const SETTINGS: &[(&str, &str)] = &[
    ("DEMO_ENABLED", "false"),
    ("LOG_SEGMENT_BYTES", "1000000"),
    ("LOG_SNAPSHOT_MS", "1000"),
    // All records of a run, for the checker.
    ("LOG_RECORDS_KEEP_MS", "86400000"),
    // No client may leave the window.
    ("HUB_TAIL_BYTES", "1000000000"),
    ("HUB_TAIL_MS", "3600000"),
    // Matches are evicted during a run.
    ("HUB_ENDED_KEEP_MS", "5000"),
    ("FANOUT_SOCKETS_MAX_PER_ACCOUNT", "1000"),
    ("FANOUT_CATCH_UP_BURST", "1000000"),
    ("FANOUT_CATCH_UPS_PER_SECOND", "1000000"),
    ("FANOUT_BEAT_MS", "1000"),
    // Readers that are slow on purpose are slow for the hub too.
    ("FANOUT_OUTBOX_BYTES", "65536"),
    ("FANOUT_SEND_BUFFER_BYTES", "32768"),
    ("FANOUT_WRITE_BYTES_MAX", "32768"),
    ("ARCHIVE_WRITE_MS", "200"),
    ("LIMITS_ADDRESS_PER_SECOND", "0"),
    ("LIMITS_WRONG_KEYS_PER_MINUTE", "0"),
    ("LIMITS_ACCOUNT_CPU_PERCENT", "0"),
    ("SERVER_DRAIN_MS", "1000"),
];

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("an address").to_string();
        fs::create_dir(folder.path().join("log")).expect("a new folder");
        Self { folder, address, starts: AtomicUsize::new(0) }
    }

    pub(crate) fn log_folder(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("matchwire.db")
    }

    /// All output of all starts.
    pub(crate) fn output(&self) -> String {
        fs::read_to_string(self.output_path()).unwrap_or_default()
    }

    fn output_path(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// The number of the current start, from 0.
    pub(crate) fn start_number(&self) -> usize {
        self.starts.load(Ordering::SeqCst)
    }

    /// Starts the hub, without waiting for it.
    pub(crate) fn start(&self) -> Hub<'_> {
        // Whoever connects from now on is connected to this one.
        self.starts.fetch_add(1, Ordering::SeqCst);
        let output = OpenOptions::new().create(true).append(true).open(self.output_path());
        let output = output.expect("a file for its output");
        let errors: File = output.try_clone().expect("the same file");
        let process = self
            .program()
            .args(["serve", "--listen", &self.address, "--db"])
            .arg(self.database())
            .env("MATCHWIRE_LOG_FOLDER", self.log_folder())
            .envs(SETTINGS.iter().map(|(name, value)| (format!("MATCHWIRE_{name}"), value)))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .expect("the program starts");
        Hub { place: self, process, started: Instant::now() }
    }

    #[expect(clippy::disallowed_methods, reason = "no setting is read here, they are taken away")]
    fn program(&self) -> Command {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_matchwire")));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MATCHWIRE_")) {
            command.env_remove(name);
        }
        command.current_dir(self.folder.path());
        command
    }

    /// A key of a customer with every add-on.
    pub(crate) fn customer_key(&self) -> String {
        let addons = ["websocket", "sports", "odds"].iter().flat_map(|addon| ["--addon", addon]);
        self.command(&[&["key", "create"], &*addons.collect::<Vec<_>>()].concat())
    }

    /// A key of a source.
    pub(crate) fn feed_key(&self, source: &str) -> String {
        self.command(&["feeds", "key", "create", source])
    }

    fn command(&self, words: &[&str]) -> String {
        let output = self.program().args(words).arg("--db").arg(self.database()).output();
        let Output { status, stdout, stderr } = output.expect("the command runs");
        assert!(status.success(), "{words:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).expect("an answer is text").trim().to_owned()
    }
}

/// A running hub. It is killed on drop.
#[derive(Debug)]
pub(crate) struct Hub<'a> {
    place: &'a Place,
    process: Child,
    started: Instant,
}

impl Hub<'_> {
    /// Waits until it serves, and returns how long that took.
    pub(crate) async fn until_ready(&mut self) -> Duration {
        loop {
            let ready = http::get(&self.place.address, "/readyz", &[]).await;
            if ready.is_ok_and(|response| response.status == 200) {
                return self.started.elapsed();
            }
            let ended = self.process.try_wait().expect("its state is known");
            assert!(ended.is_none(), "the hub ended ({ended:?}): {}", self.last_output());
            let late = self.started.elapsed() > TIMEOUT;
            assert!(!late, "the hub does not get ready: {}", self.last_output());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn last_output(&self) -> String {
        let output = self.place.output();
        let lines: Vec<&str> = output.lines().rev().take(30).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Kills it, as a crash would.
    pub(crate) fn kill(mut self) {
        self.process.kill().expect("it is killed");
        self.process.wait().expect("it has ended");
    }

    /// Stops it in order.
    pub(crate) async fn stop(mut self) {
        let pid = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        let begun = Instant::now();
        while self.process.try_wait().expect("its state is known").is_none() {
            assert!(begun.elapsed() < TIMEOUT, "the hub does not stop: {}", self.last_output());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.process.try_wait().expect("its state is known").is_some()
    }
}

impl Drop for Hub<'_> {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
