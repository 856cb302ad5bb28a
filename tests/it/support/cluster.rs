//! A private PostgreSQL cluster for one test, which can be stopped and started under a running hub.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
};

use tempfile::TempDir;

use super::PATIENCE;
use crate::ports::free_ports;

/// Where Debian installs each version's programs, by version number.
const VERSIONS: &str = "/usr/lib/postgresql";
/// It refuses to run as root. Debian's package creates this user for it.
const USER: &str = "postgres";

/// It is stopped, and its folder removed, on drop.
pub(crate) struct Cluster {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    server: Option<Child>,
}

impl Cluster {
    /// `None`, with a message, if PostgreSQL is not installed.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    pub(crate) fn start_or_skipped() -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("skipped: PostgreSQL is not installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        if is_root() {
            run(Command::new("chown").arg(format!("{USER}:")).arg(folder.path()));
        }
        let data = folder.path().join("data");
        let mut initdb = unprivileged(&programs.join("initdb"));
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "-D"]);
        run(initdb.arg(data).current_dir(folder.path()));
        let [port] = free_ports();
        let mut cluster = Self { programs, folder, port, server: None };
        cluster.start();
        Some(cluster)
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Starts it again, on the same port with the same data.
    pub(crate) fn start(&mut self) {
        let mut command = unprivileged(&self.programs.join("postgres"));
        let mut server = command
            .arg("-D")
            .arg(self.folder.path().join("data"))
            .arg("-k")
            .arg(self.folder.path())
            .args([
                "-p",
                &self.port.to_string(),
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "fsync=off",
            ])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("PostgreSQL starts");
        let said = BufReader::new(server.stderr.take().expect("its errors are piped"));
        self.server = Some(server);
        let (ready, is_ready) = mpsc::sync_channel(1);
        thread::spawn(move || {
            // Read to the end, or the process would block on its output.
            for line in said.lines().map_while(Result::ok) {
                if line.contains("ready to accept connections") {
                    ready.send(()).ok();
                }
            }
        });
        is_ready.recv_timeout(PATIENCE).expect("PostgreSQL takes connections");
    }

    /// The id of its first process, of which the others are children. `None` while it is stopped.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.server.as_ref().map(Child::id)
    }

    /// Stops it at once but in order: it closes its connections.
    pub(crate) fn stop(&mut self) {
        let Some(id) = self.process_id() else { return };
        let Some(mut server) = self.server.take() else { return };
        let stopped = Command::new("kill").args(["-INT", &id.to_string()]).status();
        if !stopped.is_ok_and(|status| status.success()) {
            server.kill().ok();
        }
        server.wait().expect("PostgreSQL ends");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Those of the newest version.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.flatten();
    let versions = versions.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    let path = |version: u32| PathBuf::from(VERSIONS).join(version.to_string()).join("bin");
    versions.max().map(path).filter(|programs| programs.join("initdb").exists())
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("the process knows itself");
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    uids.is_some_and(|uids| uids.split_whitespace().nth(1) == Some("0"))
}

/// Runs the program as a user that it accepts. setpriv becomes the program, so the pid is the
/// program's.
fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let user = [format!("--reuid={USER}"), format!("--regid={USER}")];
    command.args(user).args(["--clear-groups", "--pdeathsig=INT", "--"]).arg(program);
    command
}

fn run(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
