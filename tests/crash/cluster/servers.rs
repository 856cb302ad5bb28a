//! Three servers of NATS, and PostgreSQL, as processes of the test.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::{
    sync::{mpsc as orders, oneshot},
    time::sleep,
};

use crate::{hub::free_address, rng::Rng};

#[path = "../../it/support/cluster.rs"]
mod postgres;

use self::postgres::Cluster as Postgres;

/// How long a server may take until it is ready.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server of NATS that can be killed, suspended and started again with what it has stored.
#[derive(Debug)]
pub(crate) struct NatsServer {
    program: PathBuf,
    folder: PathBuf,
    pub(crate) address: SocketAddr,
    process: Option<Child>,
}

/// The programs to test with, from `TEST_NATS_SERVERS`, with colons between them; otherwise that of the system.
#[expect(clippy::disallowed_methods, reason = "the programs of tests are no settings of the hub")]
pub(crate) fn programs() -> Vec<PathBuf> {
    if let Ok(given) = std::env::var("TEST_NATS_SERVERS") {
        let programs = given.split(':').filter(|path| !path.is_empty()).map(PathBuf::from);
        return programs.filter(|path| path.exists()).collect();
    }
    let system = PathBuf::from("/usr/sbin/nats-server");
    if system.exists() { vec![system] } else { Vec::new() }
}

/// The settings of a server, in its folder.
const CONFIG: &str = "nats.conf";

/// What a server stores, in its folder.
const STORE: &str = "jetstream";

/// Three servers in a cluster of their own.
pub(crate) fn start_nats(program: &Path, folder: &TempDir, rng: &mut Rng) -> Vec<NatsServer> {
    let routes: Vec<String> = (0..3).map(|_| free_address(rng)).collect();
    let all = routes.iter().map(|route| format!("nats://{route}")).collect::<Vec<_>>().join(", ");
    let mut servers = Vec::new();
    for (number, route) in routes.iter().enumerate() {
        let address = free_address(rng);
        let folder = folder.path().join(format!("nats-{number}"));
        fs::create_dir(&folder).expect("a new folder");
        // Nodes learn of no server past the relays of the test.
        let text = format!(
            "server_name: s{number}\nlisten: {address}\njetstream {{ store_dir: \"{}\", max_file: 4G }}\n\
             cluster {{ name: test, listen: {route}, routes: [{all}], no_advertise: true }}\n",
            folder.display()
        );
        fs::write(folder.join(CONFIG), text).expect("a new file");
        let address = address.parse().expect("an address");
        servers.push(NatsServer { program: program.to_owned(), folder, address, process: None });
    }
    for server in &mut servers {
        server.start();
    }
    servers
}

impl NatsServer {
    /// Starts it, and waits until it listens.
    pub(crate) fn start(&mut self) {
        let mut process = Command::new(&self.program)
            .arg("-c")
            .arg(self.folder.join(CONFIG))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = BufReader::new(process.stderr.take().expect("it is piped"));
        self.process = Some(process);
        let (ready, is_ready) = mpsc::sync_channel(1);
        // To the end, or the server would block on its output.
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if line.contains("Server is ready") {
                    ready.send(()).ok();
                }
            }
        });
        is_ready.recv_timeout(PATIENCE).expect("the server is ready");
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it is killed");
            process.wait().expect("it has ended");
        }
    }

    /// Asks it to end. [`Self::kill`] waits until it has.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        let process = self.process.as_mut();
        process.is_none_or(|process| process.try_wait().expect("its state is known").is_some())
    }

    /// Copies what it has stored. It must have ended.
    pub(crate) fn copy_store(&self, to: &Path) {
        copy_folder(&self.folder.join(STORE), to);
    }

    /// Replaces what it has stored with a copy, or with nothing. It must have ended.
    pub(crate) fn replace_store(&self, copy: Option<&Path>) {
        let store = self.folder.join(STORE);
        fs::remove_dir_all(&store).expect("it has stored something");
        if let Some(copy) = copy {
            copy_folder(copy, &store);
        }
    }

    /// Suspends it, or lets it go on.
    pub(crate) fn hang(&self, hangs: bool) {
        self.signal(if hangs { Signal::STOP } else { Signal::CONT });
    }

    fn signal(&self, signal: Signal) {
        let Some(process) = &self.process else { return };
        let pid = Pid::from_raw(process.id().cast_signed()).expect("an id of a process");
        kill_process(pid, signal).expect("the server gets a signal");
    }
}

/// Copies a folder with all that is in it.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("its type").is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// PostgreSQL that can be killed, suspended and started again. It ends with the thread that has started it, so it has one
/// of its own.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) address: SocketAddr,
    orders: Option<orders::Sender<(DatabaseOrder, Reply)>>,
    thread: Option<JoinHandle<()>>,
}

/// The processes to which a signal was sent.
type Reply = oneshot::Sender<Vec<u32>>;

#[derive(Debug)]
enum DatabaseOrder {
    Hang(bool),
    Kill,
    Start,
}

impl Database {
    /// `None`, with a message, if PostgreSQL is not installed.
    pub(crate) fn start_or_skipped() -> Option<Self> {
        let (orders, mut given) = orders::channel::<(DatabaseOrder, Reply)>(1);
        let (started, start) = mpsc::sync_channel(1);
        let thread = thread::spawn(move || {
            let mut postgres = Postgres::start_or_skipped();
            started.send(postgres.as_ref().map(Postgres::url)).expect("it is waited for");
            let Some(postgres) = &mut postgres else { return };
            while let Some((order, done)) = given.blocking_recv() {
                let signalled = match order {
                    DatabaseOrder::Hang(true) => signal_all(postgres, Signal::STOP),
                    DatabaseOrder::Hang(false) => signal_all(postgres, Signal::CONT),
                    DatabaseOrder::Kill => {
                        let killed = signal_all(postgres, Signal::KILL);
                        postgres.stop();
                        killed
                    }
                    DatabaseOrder::Start => {
                        postgres.start();
                        Vec::new()
                    }
                };
                done.send(signalled).ok();
            }
        });
        let url = start.recv().expect("PostgreSQL starts")?;
        let address = url.split(['@', '/']).find_map(|part| part.parse().ok());
        let address = address.expect("an address");
        Some(Self { address, orders: Some(orders), thread: Some(thread) })
    }

    pub(crate) fn url(&self) -> String {
        self.url_at(&self.address.to_string())
    }

    /// The URL for connections through a relay.
    pub(crate) fn url_at(&self, address: &str) -> String {
        format!("postgres://postgres@{address}/postgres")
    }

    /// Suspends all of its processes, or lets them go on.
    pub(crate) async fn hang(&self, hangs: bool) {
        self.order(DatabaseOrder::Hang(hangs)).await;
    }

    /// Kills all of its processes, as a crash would.
    pub(crate) async fn kill(&self) {
        let killed = self.order(DatabaseOrder::Kill).await;
        // It does not start while a process has its memory.
        while killed.iter().any(|id| stat(*id).is_some_and(|(state, _)| state != "Z")) {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Starts it with what it has stored, and waits until it takes connections.
    pub(crate) async fn start(&self) {
        self.order(DatabaseOrder::Start).await;
    }

    async fn order(&self, order: DatabaseOrder) -> Vec<u32> {
        let (reply, done) = oneshot::channel();
        let orders = self.orders.as_ref().expect("taken on drop only");
        orders.send((order, reply)).await.expect("its thread runs");
        done.await.expect("its thread does not panic")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Sends a signal to each process of PostgreSQL, to the one that starts the others first. Returns which got it.
fn signal_all(postgres: &Postgres, signal: Signal) -> Vec<u32> {
    let Some(first) = postgres.process_id() else { return Vec::new() };
    let mut signalled = Vec::new();
    let mut send = |id: u32| {
        let pid = Pid::from_raw(id.cast_signed()).expect("an id of a process");
        // A connection may have ended meanwhile.
        if kill_process(pid, signal).is_ok() {
            signalled.push(id);
        }
    };
    send(first);
    children(first).into_iter().for_each(&mut send);
    signalled
}

fn children(parent_id: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.filter(|id| stat(*id).is_some_and(|(_, parent)| parent == parent_id)).collect()
}

/// The state of a process, and its parent.
fn stat(id: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program can have spaces.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}
