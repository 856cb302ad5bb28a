//! A real SMTP server of our own on loopback: aiosmtpd, in the Python that `tests/run` prepares. Part
//! of the tests of the library and of those of the program; each has its `PATIENCE` and `skipped`.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use serde_json::Value;
use tokio::sync::mpsc;

use super::{PATIENCE, skipped};

const PYTHON: &str = ".tools/venv/bin/python";
const SCRIPT: &str = "tests/smtp/server.py";
/// Reports that may wait for a test to read them.
const REPORTS_MAX: usize = 1_000;

/// A file of the workspace. The program is at its top, the library in a folder of it.
fn in_workspace(file: &str) -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.find(|it| it.join(SCRIPT).exists()).expect("the top of the workspace").join(file)
}

pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    reports: mpsc::Receiver<Value>,
}

impl Server {
    /// `None` if aiosmtpd is missing; prints that the test is skipped.
    pub(crate) async fn start(arguments: &[&str]) -> Option<Self> {
        if !has_aiosmtpd() {
            skipped("there is no aiosmtpd in .tools/venv; tests/run installs it");
            return None;
        }
        let mut process = Command::new(in_workspace(PYTHON))
            .arg(in_workspace(SCRIPT))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // It warns about what the tests provoke.
            .stderr(Stdio::null())
            .spawn()
            .expect("Python starts");
        let mut lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let (sender, reports) = mpsc::channel(REPORTS_MAX);
        let (listening, port) = tokio::sync::oneshot::channel();
        thread::spawn(move || {
            let first = lines.next().expect("it prints its port").expect("text");
            let port = first.strip_prefix("listening ").expect("its port").parse().unwrap();
            listening.send(port).unwrap();
            for line in lines.map_while(Result::ok) {
                let what = serde_json::from_str(&line).expect("JSON");
                if sender.blocking_send(what).is_err() {
                    return;
                }
            }
        });
        let port = tokio::time::timeout(PATIENCE, port).await.expect("in time").expect("it runs");
        Some(Self { process, port, reports })
    }

    /// Its next report.
    pub(crate) async fn next_report(&mut self) -> Value {
        let report = tokio::time::timeout(PATIENCE, self.reports.recv()).await;
        report.expect("the server reports in time").expect("the server runs")
    }

    /// The next mail that it accepts; skips other reports.
    pub(crate) async fn mail(&mut self) -> Value {
        loop {
            let report = self.next_report().await;
            if report["mail"].is_string() {
                return report;
            }
        }
    }

    /// Whether it has reported something that the test has not read yet.
    pub(crate) fn has_unread(&self) -> bool {
        !self.reports.is_empty()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill().and_then(|()| self.process.wait()));
    }
}

fn has_aiosmtpd() -> bool {
    let import = Command::new(in_workspace(PYTHON))
        .args(["-c", "import aiosmtpd"])
        .stderr(Stdio::null())
        .status();
    in_workspace(PYTHON).exists() && import.is_ok_and(|status| status.success())
}
