//! Three servers of NATS, and PostgreSQL, as processes of the test.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use tempfile::TempDir;

use crate::{hub::free_address, rng::Rng};

#[path = "../../it/support/cluster.rs"]
mod postgres;

pub(crate) use self::postgres::Cluster as Postgres;

/// How long a server may take until it is ready.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server of NATS that can be killed, suspended and started again with what it has stored.
#[derive(Debug)]
pub(crate) struct NatsServer {
    program: PathBuf,
    config: PathBuf,
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

/// Three servers in a cluster of their own.
pub(crate) fn start_nats(program: &Path, folder: &TempDir, rng: &mut Rng) -> Vec<NatsServer> {
    let routes: Vec<String> = (0..3).map(|_| free_address(rng)).collect();
    let all = routes.iter().map(|route| format!("nats://{route}")).collect::<Vec<_>>().join(", ");
    let mut servers = Vec::new();
    for (number, route) in routes.iter().enumerate() {
        let address = free_address(rng);
        let store = folder.path().join(format!("nats-{number}"));
        std::fs::create_dir(&store).expect("a new folder");
        let config = store.join("nats.conf");
        // Nodes learn of no server past the relays of the test.
        let text = format!(
            "server_name: s{number}\nlisten: {address}\njetstream {{ store_dir: \"{}\", max_file: 4G }}\n\
             cluster {{ name: test, listen: {route}, routes: [{all}], no_advertise: true }}\n",
            store.display()
        );
        std::fs::write(&config, text).expect("a new file");
        let address = address.parse().expect("an address");
        servers.push(NatsServer { program: program.to_owned(), config, address, process: None });
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
            .arg(&self.config)
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

    /// Suspends it, or lets it go on.
    pub(crate) fn hang(&self, hangs: bool) {
        let Some(process) = &self.process else { return };
        let signal = if hangs { "-STOP" } else { "-CONT" };
        let sent = Command::new("kill").args([signal, &process.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the server gets a signal");
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}
