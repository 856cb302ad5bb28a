//! The program under test, as a separate process on a free port.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write as _},
    net::TcpListener,
    os::fd::OwnedFd,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use accounts::{Accounts, Addon, RevokeOutcome, config::AccountsConfig};
use database::DatabaseName;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::timeout;

use super::{
    PATIENCE,
    http::{self, Answer},
    pause,
    shared_hub::{self, Watchdog},
    test_database::TestDatabase,
    until,
};

/// A running hub. It is stopped, and its folder removed, on drop.
pub(crate) struct Hub {
    process: Child,
    pub(crate) address: String,
    pub(crate) folder: Arc<TempDir>,
    pub(crate) database: TestDatabase,
    /// All its output so far, on both streams, and the thread that collects it.
    printed: Arc<Mutex<String>>,
    collectors: Vec<JoinHandle<()>>,
    pub(super) watchdog: Option<Watchdog>,
}

/// A setting as an environment variable without its prefix: `("FANOUT_BEAT_MS", "50")`.
pub(crate) type Setting = (&'static str, &'static str);

/// Every add-on, for a key that may follow everything.
pub(crate) const ALL_ADDONS: [&str; 3] = ["websocket", "sports", "odds"];

/// How long the add-ons of a key last, as with `matchwire key create`.
const KEY_DAYS: u32 = 30;

/// `serve` without the demo: the `feeds` channel is the only one, and it never changes.
pub(crate) const QUIET: Setting = ("DEMO_ENABLED", "false");

impl Hub {
    /// Starts the program with these arguments, a database and a free port in a temporary folder.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_in(Arc::new(tempfile::tempdir().expect("a temporary folder")), arguments)
    }

    /// The same with these settings.
    pub(crate) fn start_with(arguments: &[&str], settings: &[Setting]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::start_in_with(Arc::new(folder), arguments, settings)
    }

    /// The same on a database of any kind that outlives it.
    pub(crate) fn start_on(
        database: &TestDatabase,
        arguments: &[&str],
        settings: &[Setting],
    ) -> Self {
        Self::start_listening("127.0.0.1:0", database, arguments, settings)
    }

    /// The same in a folder that may contain the database of an earlier run.
    pub(crate) fn start_in(folder: Arc<TempDir>, arguments: &[&str]) -> Self {
        Self::start_in_with(folder, arguments, &[])
    }

    pub(crate) fn start_in_with(
        folder: Arc<TempDir>,
        arguments: &[&str],
        settings: &[Setting],
    ) -> Self {
        Self::start_at("127.0.0.1:0", folder, arguments, settings)
    }

    /// The same on this address, where another hub may have run before.
    pub(crate) fn start_at(
        listen: &str,
        folder: Arc<TempDir>,
        arguments: &[&str],
        settings: &[Setting],
    ) -> Self {
        Self::start_listening(listen, &TestDatabase::in_folder(folder), arguments, settings)
    }

    pub(crate) fn start_listening(
        listen: &str,
        database: &TestDatabase,
        arguments: &[&str],
        settings: &[Setting],
    ) -> Self {
        Self::spawn(&mut Self::command(listen, database, arguments, settings), database)
    }

    /// The same on a socket that outlives it, as a service manager passes it.
    pub(crate) fn start_on_socket(
        socket: &TcpListener,
        database: &TestDatabase,
        arguments: &[&str],
        settings: &[Setting],
    ) -> Self {
        // Nothing listens there: the address of the socket counts.
        let mut command = Self::command("127.0.0.1:1", database, arguments, settings);
        let socket = socket.try_clone().expect("another handle");
        command.stdin(OwnedFd::from(socket));
        command.env("LISTEN_FDS", "1").env("LISTEN_FDS_FIRST_FD", "0");
        Self::spawn(&mut command, database)
    }

    /// `serve` with this many file descriptors at most, and these settings.
    pub(crate) fn start_with_descriptors(limit: u32, settings: &[Setting]) -> Self {
        let database = TestDatabase::file();
        let limited = Self::command("127.0.0.1:0", &database, &["serve"], settings);
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -n {limit}; exec \"$0\" \"$@\""));
        command.arg(limited.get_program()).args(limited.get_args());
        for (name, value) in limited.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self::spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()), &database)
    }

    fn command(
        listen: &str,
        database: &TestDatabase,
        arguments: &[&str],
        settings: &[Setting],
    ) -> Command {
        let mut command = database.program();
        command
            .args(&arguments[..1])
            .args(["--listen", listen, "--db", &database.db()])
            .args(&arguments[1..])
            .env("MATCHWIRE_LOGGING_FILTER", "trace")
            // All tests share one address, and some poll.
            .env("MATCHWIRE_LIMITS_ADDRESS_PER_SECOND", "0")
            .env("MATCHWIRE_LIMITS_WRONG_KEYS_PER_MINUTE", "0")
            .env("MATCHWIRE_LIMITS_ACCOUNT_CPU_PERCENT", "0")
            // Enough for matches in play. A test that needs second halves sets more.
            .env("MATCHWIRE_DEMO_HEAD_START_MINUTES", "10")
            // Playing a season takes a while, and few tests look at it.
            .env("MATCHWIRE_DEMO_PAST", "false")
            .envs(settings.iter().map(|(name, value)| (format!("MATCHWIRE_{name}"), value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn spawn(command: &mut Command, database: &TestDatabase) -> Self {
        shared_hub::end_unused();
        let mut process = command.spawn().expect("the program starts");
        let printed = Arc::new(Mutex::new(String::new()));
        let mut stdout = BufReader::new(process.stdout.take().expect("its output is piped"));
        let stderr = process.stderr.take().expect("its errors are piped");
        let errors = collect(stderr, Arc::clone(&printed));
        let mut first = String::new();
        stdout.read_line(&mut first).expect("its output is text");
        let Some(address) = first
            .trim()
            .strip_prefix("listening on http")
            .and_then(|url| Some(url.split_once("://")?.1))
        else {
            let status = process.wait();
            errors.join().expect("no panic");
            let printed = printed.lock().expect("no panic").clone();
            panic!("the hub did not start ({status:?}): {first}{printed}");
        };
        let address = address.to_owned();
        let collectors = vec![errors, collect(stdout, Arc::clone(&printed))];
        let (folder, database) = (Arc::clone(&database.folder), database.clone());
        Self { process, address, folder, database, printed, collectors, watchdog: None }
    }

    /// Makes a key of a new account in the hub's database, with these add-ons.
    ///
    /// As `matchwire key create` does, from another process than the hub: from this one, since starting the program once more
    /// takes much longer. With a clock of the hub's own it has to be the program, whose clock can be set.
    pub(crate) fn key(&self, addons: &[&str]) -> String {
        if self.database.has_own_clock() {
            return self.key_command("create", addons.iter().flat_map(|addon| ["--addon", addon]));
        }
        let addons = addons.iter().map(|addon| addon.parse().expect("an add-on"));
        let addons: Vec<(Addon, u32)> = addons.map(|addon| (addon, KEY_DAYS)).collect();
        self.in_accounts(async move |accounts| {
            let key = accounts.create_key(None, &addons, base::clock::now()).await;
            key.expect("a key is made").expose().to_owned()
        })
    }

    /// Revokes a key, as an operator does: from another process.
    pub(crate) fn revoke(&self, key: &str) {
        let key = key.to_owned();
        let outcome = self.in_accounts(async move |accounts| {
            accounts.revoke(&key, base::clock::now()).await.expect("the database answers")
        });
        assert_ne!(outcome, RevokeOutcome::Unknown);
    }

    /// Changes the accounts in the hub's database, beside the hub. On a thread of its own, because a test may already be in a
    /// runtime.
    fn in_accounts<T: Send + 'static, F: Future<Output = T>>(
        &self,
        change: impl FnOnce(Accounts) -> F + Send + 'static,
    ) -> T {
        let database = DatabaseName::from(&*self.db());
        let changing = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let accounts = Accounts::open_existing(&database, &AccountsConfig::default()).await;
                let accounts = accounts.expect("the hub's database opens");
                let changed = change(accounts.clone()).await;
                accounts.close().await;
                changed
            })
        });
        changing.join().expect("the accounts are changed")
    }

    /// Runs `matchwire key` on the hub's database; returns what it prints.
    pub(crate) fn key_command<'a>(
        &self,
        word: &str,
        more: impl IntoIterator<Item = &'a str>,
    ) -> String {
        let mut command = self.database.program();
        let output = command.args(["key", word, "--db", &self.db()]).args(more).output();
        let Output { status, stdout, stderr } = output.expect("the key command runs");
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).expect("an answer is text").trim().to_owned()
    }

    /// Sends an HTTP request without a key.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[]).await
    }

    /// The same with this key.
    pub(crate) async fn get_as(&self, key: &str, path: &str) -> Answer {
        self.request("GET", path, &[("authorization", &format!("Token {key}"))]).await
    }

    /// A successful response to a request with this key.
    pub(crate) async fn json(&self, key: &str, path: &str) -> Value {
        let answer = self.get_as(key, path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    /// The same, repeated until the condition holds: changes become visible with a delay.
    pub(crate) async fn json_until(
        &self,
        key: &str,
        path: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut last = None;
        let asking = async {
            loop {
                let answer = self.get_as(key, path).await;
                if answer.status == 200 && is_so(&answer.json()) {
                    return answer.json();
                }
                last = Some(answer);
                pause().await;
            }
        };
        let result = timeout(PATIENCE, asking).await;
        result.unwrap_or_else(|_| panic!("{path} did not come so far: {last:?}"))
    }

    /// Pushes lines of facts to the source `acme`, which accepts all of them.
    pub(crate) async fn push(&self, feed_key: &str, lines: &[String]) {
        self.push_from("acme", feed_key, lines).await;
    }

    /// The same to this source.
    pub(crate) async fn push_from(&self, source: &str, feed_key: &str, lines: &[String]) {
        let headers = [("authorization", &*format!("Token {feed_key}"))];
        let path = format!("/ingest/v1/{source}");
        let answer = self.post(&path, &headers, lines.join("\n").as_bytes()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let counts = answer.json();
        assert_eq!(counts["refused"], 0, "{counts}");
    }

    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        http::request(&self.address, method, path, headers).await
    }

    /// Sends a request with a body.
    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let length = body.len().to_string();
        let headers = [headers, &[("content-length", &*length)]].concat();
        http::request_with(&self.address, "POST", path, &headers, body).await
    }

    /// Makes a key for a pushing source.
    pub(crate) fn feed_key(&self, source: &str, more: &[&str]) -> String {
        if !more.is_empty() || self.database.has_own_clock() {
            return self.feeds_key_command("create", source, more);
        }
        let source = source.to_owned();
        self.in_accounts(async move |accounts| {
            let key = accounts.create_feed_key(&source, false, None, base::clock::now()).await;
            key.expect("a key is made").expose().to_owned()
        })
    }

    /// Revokes the keys of a source, from another process.
    pub(crate) fn revoke_feed_keys(&self, source: &str) {
        self.feeds_key_command("revoke", source, &[]);
    }

    fn feeds_key_command(&self, word: &str, source: &str, more: &[&str]) -> String {
        let mut command = self.database.program();
        let command = command.args(["feeds", "key", word, source, "--db", &self.db()]);
        let Output { status, stdout, stderr } = command.args(more).output().expect("it runs");
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).expect("an answer is text").trim().to_owned()
    }

    /// The value of this metric in `/metrics`, with its labels; 0 if it is absent.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").await.body;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0.0, |value| value.parse().expect("a metric is a number"))
    }

    /// Waits until this counter is above 0.
    pub(crate) async fn until_counted(&self, name: &str) {
        self.until_counted_to(name, 1.0).await;
    }

    /// Waits until this counter has reached a value.
    pub(crate) async fn until_counted_to(&self, name: &str, count: f64) {
        until(&format!("{name} {count}"), async || self.metric(name).await >= count).await;
    }

    /// Its peak memory so far, in bytes, without what is mapped from files: the program itself, which is large in a
    /// debug build. The kernel counts in batches, so a later value can be slightly smaller.
    pub(crate) fn memory_peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("the process runs");
        let bytes = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_suffix("kB"));
            value.expect("a value").trim().parse::<u64>().expect("a number") * 1024
        };
        bytes("VmHWM:") - bytes("RssFile:")
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The panics of its threads that no test injected, as it has printed them.
    pub(super) fn panics(&self) -> String {
        let Ok(printed) = self.printed.lock() else { return String::new() };
        let is_panic = |line: &&str| line.contains("panicked") && !line.contains("injected");
        printed.lines().filter(is_panic).collect::<Vec<_>>().join("\n")
    }

    /// Its database as `--db` takes it.
    pub(crate) fn db(&self) -> String {
        self.database.db()
    }

    pub(crate) fn printed(&self) -> String {
        self.printed.lock().expect("no panic").clone()
    }

    /// The value of this line in its banner: `channels`, `demo key`.
    pub(crate) async fn said(&self, what: &str) -> String {
        let saying = async {
            loop {
                let printed = self.printed();
                let said = printed.lines().find_map(|line| line.trim().strip_prefix(what));
                if let Some(said) = said.filter(|said| !said.trim().is_empty()) {
                    return said.trim().to_owned();
                }
                pause().await;
            }
        };
        let said = timeout(PATIENCE, saying).await;
        said.unwrap_or_else(|_| panic!("{what} was not said: {}", self.printed()))
    }

    /// Waits until it has printed this.
    pub(crate) async fn until_printed(&self, text: &str) {
        let printing = async {
            while !self.printed().contains(text) {
                pause().await;
            }
        };
        let printed = timeout(PATIENCE, printing).await;
        printed.unwrap_or_else(|_| panic!("{text} was not printed: {}", self.printed()));
    }

    /// Waits until it exits without being stopped, and returns its exit code.
    pub(crate) async fn until_ended(&mut self) -> Option<i32> {
        let ending = async {
            while matches!(self.process.try_wait(), Ok(None)) {
                pause().await;
            }
        };
        let ended = timeout(PATIENCE, ending).await;
        ended.unwrap_or_else(|_| panic!("it did not end: {}", self.printed()));
        self.wait()
    }

    /// Stops it, waits until it has exited, and returns its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.terminate();
        self.wait()
    }

    /// Kills it, as a crash would, and waits until it has exited.
    pub(crate) fn kill(&mut self) {
        self.signal("-KILL");
        self.wait();
    }

    /// Sends the stop signal.
    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Waits until it has exited and its output is collected; returns its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let code = self.process.wait().expect("it ends").code();
        self.collectors.drain(..).for_each(|collector| collector.join().expect("no panic"));
        code
    }

    /// Sends a signal, given as an option of `kill`.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        Command::new("kill").args([signal, &pid]).status().expect("kill runs");
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.process.kill().ok();
            self.process.wait().ok();
        }
        // A panicked thread of the hub would otherwise show only as something that never happened.
        let panics = self.panics();
        if !panics.is_empty() {
            writeln!(std::io::stderr(), "the hub itself: {panics}").ok();
        }
    }
}

/// The program under test.
#[expect(clippy::disallowed_methods, reason = "no setting is read here, they are taken away")]
pub(crate) fn program() -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_matchwire")));
    // Settings in the environment of the test run do not apply.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MATCHWIRE_")) {
        command.env_remove(name);
    }
    command
}

/// Collects whole lines, so that those of the other stream do not tear them.
fn collect(output: impl Read + Send + 'static, printed: Arc<Mutex<String>>) -> JoinHandle<()> {
    let mut output = BufReader::new(output);
    thread::spawn(move || {
        let mut line = Vec::new();
        while let Ok(1..) = output.read_until(b'\n', &mut line) {
            printed.lock().expect("no panic").push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    })
}
