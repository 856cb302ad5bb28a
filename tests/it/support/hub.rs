//! The program under test, as a process of its own on a free port.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use tempfile::TempDir;

/// A running hub. It is stopped, and its folder removed, when this is dropped.
pub(crate) struct Hub {
    process: Child,
    pub(crate) address: String,
    pub(crate) folder: Arc<TempDir>,
    /// Everything it has printed so far, on both outputs.
    printed: Arc<Mutex<String>>,
}

/// A setting as the environment has it, without its prefix: `("FANOUT_BEAT_MS", "50")`.
pub(crate) type Setting = (&'static str, &'static str);

impl Hub {
    /// Starts the program with these arguments, a database and a free port in a folder of its own.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_in(Arc::new(tempfile::tempdir().expect("a temporary folder")), arguments)
    }

    /// The same with these settings.
    pub(crate) fn start_with(arguments: &[&str], settings: &[Setting]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::start_in_with(Arc::new(folder), arguments, settings)
    }

    /// The same in a folder that may hold the database of an earlier run.
    pub(crate) fn start_in(folder: Arc<TempDir>, arguments: &[&str]) -> Self {
        Self::start_in_with(folder, arguments, &[])
    }

    pub(crate) fn start_in_with(
        folder: Arc<TempDir>,
        arguments: &[&str],
        settings: &[Setting],
    ) -> Self {
        let db = folder.path().join("hub.db");
        let mut process = program()
            .args(&arguments[..1])
            .args(["--listen", "127.0.0.1:0", "--db"])
            .arg(db)
            .args(&arguments[1..])
            .env("MATCHWIRE_LOG_FILTER", "trace")
            .envs(settings.iter().map(|(name, value)| (format!("MATCHWIRE_{name}"), value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let printed = Arc::new(Mutex::new(String::new()));
        let mut stdout = BufReader::new(process.stdout.take().expect("its output is piped"));
        let stderr = process.stderr.take().expect("its errors are piped");
        let errors = collect(stderr, Arc::clone(&printed));
        let mut first = String::new();
        stdout.read_line(&mut first).expect("its output is text");
        let Some(address) = first.trim().strip_prefix("listening on http://") else {
            let status = process.wait();
            errors.join().expect("no panic");
            let printed = printed.lock().expect("no panic").clone();
            panic!("the hub did not start ({status:?}): {first}{printed}");
        };
        let address = address.to_owned();
        collect(stdout, Arc::clone(&printed));
        Self { process, address, folder, printed }
    }

    /// Makes a key in the hub's database, with these add-ons.
    pub(crate) fn key(&self, addons: &[&str]) -> String {
        let mut command = program();
        command.args(["key", "create", "--db"]).arg(self.db());
        for addon in addons {
            command.args(["--addon", addon]);
        }
        let output = command.output().expect("the key command runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a key is text").trim().to_owned()
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.folder.path().join("hub.db")
    }

    pub(crate) fn printed(&self) -> String {
        self.printed.lock().expect("no panic").clone()
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Asks it to stop, waits until it has, and returns its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.signal("-TERM");
        self.process.wait().expect("it ends").code()
    }

    fn signal(&self, signal: &str) {
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
    }
}

/// The program under test.
#[expect(clippy::disallowed_methods, reason = "no setting is read here, they are taken away")]
pub(crate) fn program() -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_matchwire")));
    // Settings of whoever runs the tests are not part of them.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MATCHWIRE_")) {
        command.env_remove(name);
    }
    command
}

fn collect(mut output: impl Read + Send + 'static, printed: Arc<Mutex<String>>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = output.read(&mut part) {
            printed.lock().expect("no panic").push_str(&String::from_utf8_lossy(&part[..count]));
        }
    })
}
