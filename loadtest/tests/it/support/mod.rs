//! What the tests share: the program, and servers for it.

pub(crate) mod bare;
pub(crate) mod stream;
pub(crate) mod tls;
pub(crate) mod ws;

use std::process::Command;

use serde_json::Value;

/// The result of a run.
pub(crate) struct RunOutput {
    pub(crate) code: i32,
    pub(crate) report: Value,
    pub(crate) output: String,
}

/// Runs the program with these arguments.
pub(crate) fn loadtest(words: &str) -> RunOutput {
    run(Command::new(env!("CARGO_BIN_EXE_matchwire-loadtest")), words)
}

/// Runs this command, the load test or a wrapper that starts it, with these arguments.
pub(crate) fn run(mut command: Command, words: &str) -> RunOutput {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.json");
    command.args(words.split_whitespace()).arg("--quiet").arg("--json").arg(&file);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let output_text = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let report = std::fs::read(&file)
        .ok()
        .map_or(Value::Null, |json| serde_json::from_slice(&json).expect("the report is JSON"));
    RunOutput { code: output.status.code().unwrap_or(-1), report, output: output_text }
}

impl RunOutput {
    /// A number from the report.
    #[track_caller]
    pub(crate) fn number(&self, pointer: &str) -> f64 {
        let found = self.report.pointer(pointer).and_then(Value::as_f64);
        found.unwrap_or_else(|| panic!("no {pointer} in:\n{}", self.output))
    }

    /// Milliseconds of a percentile, given as `latency/corrected/p99`.
    #[track_caller]
    pub(crate) fn ms(&self, name: &str) -> f64 {
        self.number(&format!("/{name}_us")) / 1e3
    }

    #[track_caller]
    pub(crate) fn ends_with(&self, code: i32, reason: &str) {
        assert_eq!(self.code, code, "{}", self.output);
        assert!(self.output.contains(reason), "no {reason:?} in:\n{}", self.output);
    }
}
