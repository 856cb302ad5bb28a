//! The hub as a process that is started again and again in one place.

use std::{
    fs::{self, File, OpenOptions},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{ExitStatus, Output, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

use crate::{http, rng::Rng};

/// How long a hub may take until it serves, or until it has stopped.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Where the hub runs: its folder, its address and its settings.
#[derive(Debug)]
pub(crate) struct Site {
    folder: TempDir,
    pub(crate) address: String,
    /// A file or a URL.
    database: String,
    /// Settings of this place alone.
    settings: Vec<(String, String)>,
    /// How many times it was started.
    starts: AtomicUsize,
    /// What the next start runs. Commands are those of the program that is tested.
    program: Mutex<PathBuf>,
}

/// The program that is tested.
pub(crate) fn new_program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_matchwire"))
}

/// Small files and frequent snapshots, so that they are interrupted, and nothing that limits 300 clients.
const SETTINGS: &[(&str, &str)] = &[
    ("DEMO_ENABLED", "false"),
    ("LOG_SEGMENT_BYTES", "250000"),
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

impl Site {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let database = folder.path().join("matchwire.db").display().to_string();
        Self::at(folder, free_address(rng), database, Vec::new())
    }

    /// A place for a node of a cluster, or for the balancer before its nodes.
    pub(crate) fn of_cluster(
        address: String,
        database: &str,
        settings: Vec<(String, String)>,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::at(folder, address, database.to_owned(), settings)
    }

    fn at(
        folder: TempDir,
        address: String,
        database: String,
        settings: Vec<(String, String)>,
    ) -> Self {
        fs::create_dir(folder.path().join("log")).expect("a new folder");
        let (starts, program) = (AtomicUsize::new(0), Mutex::new(new_program()));
        Self { folder, address, database, settings, starts, program }
    }

    /// Its next start runs this program.
    pub(crate) fn set_program(&self, program: PathBuf) {
        *self.program.lock().expect("no panic") = program;
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
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

    fn last_output(&self) -> String {
        let output = self.output();
        let lines: Vec<&str> = output.lines().rev().take(30).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
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
        let program = self.program.lock().expect("no panic").clone();
        let process = self
            .command(&program)
            .args(["serve", "--listen", &self.address, "--db", &self.database])
            .env("MATCHWIRE_LOG_FOLDER", self.log_folder())
            .envs(SETTINGS.iter().map(|(name, value)| (format!("MATCHWIRE_{name}"), value)))
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        Hub { site: self, process, started: Instant::now() }
    }

    #[expect(clippy::disallowed_methods, reason = "no setting is read here, they are taken away")]
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MATCHWIRE_")) {
            command.env_remove(name);
        }
        command.current_dir(self.folder.path());
        command
    }

    /// A key of a customer with every add-on.
    pub(crate) async fn customer_key(&self) -> String {
        let addons = ["websocket", "sports", "odds"].iter().flat_map(|addon| ["--addon", addon]);
        self.run(&[&["key", "create"], &*addons.collect::<Vec<_>>()].concat()).await
    }

    /// A key of a customer without add-ons.
    pub(crate) async fn key(&self) -> String {
        self.run(&["key", "create"]).await
    }

    pub(crate) async fn revoke_key(&self, key: &str) {
        self.run(&["key", "revoke", key]).await;
    }

    /// A key of a source.
    pub(crate) async fn feed_key(&self, source: &str) -> String {
        self.run(&["feeds", "key", "create", source]).await
    }

    /// Reads the log of a hub that is stopped with the program's own command.
    pub(crate) async fn verify_log(&self) -> Result<(), String> {
        let mut command = self.command(&new_program());
        command.args(["log", "verify"]).env("MATCHWIRE_LOG_FOLDER", self.log_folder());
        let Output { status, stdout, stderr } = command.output().await.expect("the command runs");
        if status.success() {
            return Ok(());
        }
        let [stdout, stderr] = [stdout, stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        Err(format!("log verify: {status}: {stdout}{stderr}"))
    }

    /// Runs a command on the cluster.
    pub(crate) async fn cluster_command(&self, words: &[&str]) -> Result<String, String> {
        let mut command = self.command(&new_program());
        command.arg("cluster").args(words);
        command.env("MATCHWIRE_SERVER_DB", &self.database).env("MATCHWIRE_DEMO_ENABLED", "false");
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.kill_on_drop(true);
        let output = timeout(TIMEOUT, command.output()).await;
        let output = output.map_err(|_| format!("{words:?} does not end"))?;
        let Output { status, stdout, stderr } = output.expect("the command runs");
        let [stdout, stderr] = [stdout, stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        if status.success() {
            Ok(stdout)
        } else {
            Err(format!("{words:?}: {status}: {stderr}{stdout}"))
        }
    }

    async fn run(&self, words: &[&str]) -> String {
        let output =
            self.command(&new_program()).args(words).args(["--db", &self.database]).output().await;
        let Output { status, stdout, stderr } = output.expect("the command runs");
        assert!(status.success(), "{words:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).expect("an answer is text").trim().to_owned()
    }
}

/// An address at which nothing listens. It is below the ports of outgoing connections, of which one could take it
/// while the hub is down.
pub(crate) fn free_address(rng: &mut Rng) -> String {
    loop {
        let address = format!("127.0.0.1:{}", 10_000 + rng.below(22_000));
        if TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

/// A running hub. It is killed on drop.
#[derive(Debug)]
pub(crate) struct Hub<'a> {
    site: &'a Site,
    process: Child,
    started: Instant,
}

impl Hub<'_> {
    /// Suspends it or lets it go on.
    pub(crate) fn hang(&self, hangs: bool) {
        if let Some(pid) = self.process.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            let signal = if hangs { Signal::STOP } else { Signal::CONT };
            kill_process(pid, signal).expect("it gets a signal");
        }
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.process.try_wait().expect("its state is known").is_some()
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    ///
    /// If it goes on.
    pub(crate) async fn ended(mut self) -> Result<(), String> {
        match timeout(TIMEOUT, self.process.wait()).await {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("the hub does not end: {}", self.site.last_output())),
        }
    }

    /// Waits until it serves, and returns how long that took.
    pub(crate) async fn until_ready(&mut self) -> Duration {
        let address = &self.site.address;
        let ready = async {
            loop {
                let ready = http::get(address, "/readyz", &[]).await;
                if ready.is_ok_and(|response| response.status == 200) {
                    break;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = ready => self.started.elapsed(),
            ended = self.process.wait() => {
                panic!("the hub ended ({ended:?}): {}", self.site.last_output())
            }
            () = sleep(TIMEOUT) => {
                panic!("the hub does not get ready: {}", self.site.last_output())
            }
        }
    }

    /// Kills it, as a crash would.
    ///
    /// # Errors
    ///
    /// If it had ended by itself.
    pub(crate) async fn kill(mut self) -> Result<(), String> {
        if let Some(status) = self.process.try_wait().expect("its state is known") {
            return Err(format!("the hub ended by itself, {status}: {}", self.site.last_output()));
        }
        self.process.kill().await.expect("it is killed");
        Ok(())
    }

    /// Stops it in order.
    ///
    /// # Errors
    ///
    /// If it had ended by itself, does not stop, or fails.
    pub(crate) async fn stop(mut self) -> Result<(), String> {
        self.terminate()?;
        match timeout(TIMEOUT, self.process.wait()).await {
            Ok(status) => self.check_exit(status.expect("its state is known")),
            Err(_) => Err(format!("the hub does not stop: {}", self.site.last_output())),
        }
    }

    /// Stops it in order, and kills it if it has not stopped by then. Returns whether it was killed.
    ///
    /// # Errors
    ///
    /// If it had ended by itself, or fails.
    pub(crate) async fn stop_or_kill(mut self, after: Duration) -> Result<bool, String> {
        self.terminate()?;
        match timeout(after, self.process.wait()).await {
            Ok(status) => self.check_exit(status.expect("its state is known")).map(|()| false),
            Err(_) => {
                self.process.kill().await.expect("it is killed");
                Ok(true)
            }
        }
    }

    fn terminate(&mut self) -> Result<(), String> {
        if let Some(status) = self.process.try_wait().expect("its state is known") {
            return Err(format!("the hub ended by itself, {status}: {}", self.site.last_output()));
        }
        let pid = self.process.id().expect("it runs");
        let pid = Pid::from_raw(pid.cast_signed()).expect("an id of a process");
        kill_process(pid, Signal::TERM).expect("it gets a signal");
        Ok(())
    }

    fn check_exit(&self, status: ExitStatus) -> Result<(), String> {
        if status.success() {
            return Ok(());
        }
        Err(format!("the hub stopped with {status}: {}", self.site.last_output()))
    }
}
