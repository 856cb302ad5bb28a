//! A private RabbitMQ broker on loopback, with its own directories, ports, cookie and port mapper,
//! all removed with it.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::{ports::free_ports, support::SECRET};

/// The program of Debian's package `rabbitmq-server`; `/usr/sbin/rabbitmq-server` requires the
/// system's directories.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Starting it takes four seconds of CPU time.
const START: Duration = Duration::from_secs(120);

pub(crate) const PASSWORD: &str = "s3cret-password";
pub(crate) const VHOST: &str = "/unifiedfeed/1";

pub(crate) struct Broker {
    dir: PathBuf,
    pub(crate) port: u16,
    pub(crate) tls_port: u16,
    dist_port: u16,
    mapper_port: u16,
    mapper: Child,
    server: Option<Child>,
}

impl Broker {
    /// `None`, with a message, if RabbitMQ is not installed.
    pub(crate) fn start() -> Option<Self> {
        if !Path::new(SERVER).exists() {
            skipped();
            return None;
        }
        let [port, tls_port, dist_port, mapper_port] = free_ports();
        let dir = std::env::temp_dir().join(format!("matchwire-broker-{}", std::process::id()));
        prepare(&dir, port, tls_port);
        let mapper = Command::new("epmd")
            .args(["-address", "127.0.0.1", "-port", &mapper_port.to_string()])
            .env_clear()
            .env("PATH", PATH)
            .stdin(Stdio::null())
            .spawn()
            .expect("epmd comes with Erlang");
        let server = None;
        let mut broker = Self { dir, port, tls_port, dist_port, mapper_port, mapper, server };
        broker.run();
        Some(broker)
    }

    /// Starts the server, with its data if it has run before, and waits until it listens.
    pub(crate) fn run(&mut self) {
        let dir = |name: &str| self.dir.join(name);
        let mut server = Command::new(SERVER)
            .current_dir(&self.dir)
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", dir("home"))
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("ERL_EPMD_PORT", self.mapper_port.to_string())
            // The script then becomes the server instead of starting it, so the child is the
            // server.
            .env("RUNNING_UNDER_SYSTEMD", "true")
            .env("RABBITMQ_NODENAME", format!("matchwire{}@localhost", self.port))
            .env("RABBITMQ_DIST_PORT", self.dist_port.to_string())
            .env(
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                // Its threads do not spin while they wait: the machine has other work.
                "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none",
            )
            .env("RABBITMQ_MNESIA_BASE", dir("mnesia"))
            .env("RABBITMQ_LOG_BASE", dir("log"))
            .env("RABBITMQ_PID_FILE", dir("pid"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", dir("plugins"))
            .env("RABBITMQ_CONFIG_FILE", dir("rabbitmq.conf"))
            .env("RABBITMQ_CONF_ENV_FILE", dir("none"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server can be started");
        let lines = BufReader::new(server.stdout.take().expect("it is piped")).lines();
        self.server = Some(server);
        let (tx, started) = mpsc::sync_channel(1);
        // Reads to the end; otherwise the server would block on its output.
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if line.contains("Starting broker... completed") {
                    tx.send(()).expect("the test waits for it");
                }
            }
        });
        started.recv_timeout(START).expect("the broker has started");
        let pid = fs::read_to_string(self.dir.join("pid")).expect("its pid");
        let server = self.server.as_ref().map(Child::id);
        assert_eq!(pid.trim().parse().ok(), server, "the child is the server itself");
    }

    /// Kills the server, as a crash would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().expect("it runs");
            server.wait().expect("it is ours");
        }
    }

    /// Suspends or resumes the server: its sockets stay open without any data.
    pub(crate) fn hang(&self, hangs: bool) {
        let Some(server) = &self.server else { return };
        let signal = if hangs { "-STOP" } else { "-CONT" };
        let kill = format!("kill {signal} {}", server.id());
        let sent = Command::new("/bin/sh").args(["-c", &kill]).status().expect("a shell");
        assert!(sent.success(), "{kill}");
    }

    /// The server's certificate, in PEM.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.dir.join("cert.pem")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let ours = self.server.as_mut().into_iter().chain([&mut self.mapper]);
        for child in ours {
            // Anything still to end has ended already.
            drop(child.kill().and_then(|()| child.wait()));
        }
        drop(fs::remove_dir_all(&self.dir));
    }
}

fn prepare(dir: &Path, port: u16, tls_port: u16) {
    for name in ["home", "log", "mnesia"] {
        fs::create_dir_all(dir.join(name)).expect("a directory of our own");
    }
    let cookie = dir.join("home/.erlang.cookie");
    fs::write(&cookie, format!("MATCHWIRE{port}")).expect("a file of our own");
    let private = fs::Permissions::from_mode(0o400);
    fs::set_permissions(&cookie, private).expect("a file of our own");
    fs::write(dir.join("plugins"), "").expect("a file of our own");
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    fs::write(dir.join("cert.pem"), cert.pem()).expect("a file of our own");
    fs::write(dir.join("key.pem"), signing_key.serialize_pem()).expect("a file of our own");
    let conf = format!(
        "listeners.tcp.1 = 127.0.0.1:{port}\n\
         listeners.ssl.1 = 127.0.0.1:{tls_port}\n\
         ssl_options.certfile = {dir}/cert.pem\n\
         ssl_options.keyfile = {dir}/key.pem\n\
         default_user = {SECRET}\n\
         default_pass = {PASSWORD}\n\
         default_vhost = {VHOST}\n",
        dir = dir.display()
    );
    fs::write(dir.join("rabbitmq.conf"), conf).expect("a file of our own");
}

#[expect(clippy::print_stdout, reason = "reports a skipped test")]
fn skipped() {
    println!("skipped: there is no {SERVER}");
}
