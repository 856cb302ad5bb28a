//! A live source is recorded, and the recording is replayed as if it were live.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use super::{
    one,
    peers::socket::{Peer, say},
    websocket::{begun, lines, table},
};
use crate::{
    replay::ALL,
    support::{Client, Hub, PATIENCE, SECRET, ended, program},
};

/// The program while recording; [`Self::stop`] stops it and waits for it.
struct Recorder(Child);

impl Recorder {
    fn start(folder: &Path, tables: &str) -> Self {
        let settings = folder.join("matchwire.toml");
        fs::write(&settings, tables).expect("a file of settings");
        let mut command = program();
        let command = command.args(["record", "lines", "--to"]).arg(folder.join("lines.zst"));
        let command = command.arg("--config").arg(&settings).stdout(Stdio::piped());
        Self(command.stderr(Stdio::piped()).spawn().expect("the program starts"))
    }

    /// Waits until it reports this state of the source.
    async fn wait_for_state(&mut self, state: &'static str) {
        let said = BufReader::new(self.0.stdout.take().expect("it has one reader"));
        let reading = tokio::task::spawn_blocking(move || {
            let mut lines = said.lines().map_while(Result::ok);
            assert!(lines.any(|line| line == state), "it ended without being {state}");
        });
        let read = tokio::time::timeout(PATIENCE, reading).await.expect("it says so in time");
        read.expect("it says so");
    }

    /// Interrupts it, like Ctrl-C; returns its standard error.
    fn stop(self) -> String {
        let pid = self.0.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().expect("kill runs");
        let ended = self.0.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(0), "{errors}");
        errors
    }
}

#[tokio::test]
async fn recording_of_a_source_is_replayed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let peer = Peer::start().await;
    let mut recorder = Recorder::start(folder.path(), &table(&peer));
    let mut socket = begun(&peer).await;
    say(&mut socket, &lines([2, 1], "2.10")).await;
    recorder.wait_for_state("live").await;
    let printed = recorder.stop();
    assert!(!printed.contains(SECRET), "{printed}");

    let file = folder.path().join("lines.zst");
    let recorded = fs::read(&file).expect("it was written");
    assert!(!String::from_utf8_lossy(&recorded).contains(SECRET));
    let file = file.to_str().expect("a path of text");
    let hub = Hub::start(&["replay", "--speed", "max", "--hold", file]);
    let mut client = Client::connect(&hub.address, &hub.key(&crate::support::ALL_ADDONS)).await;
    for pattern in ALL {
        client.subscribe(pattern).await;
    }
    // `ended` may preempt the queued frames of a slow client.
    client.until(|client| ended(client) && one(client, "/odds/acme").is_some()).await;
    let book = one(&client, "/odds/acme").expect("its odds are there");
    assert_eq!(book.data["markets"]["m1"]["selections"]["1"]["price"], "2.10");
    let (_, a_match) = super::ending(&client, "")
        .into_iter()
        .find(|(name, it)| name.starts_with("football/") && it.data["score"].is_object())
        .expect("the match is there");
    assert_eq!(
        (&a_match.data["score"]["home"], &a_match.data["score"]["away"]),
        (&2.into(), &1.into())
    );
}

#[tokio::test]
async fn existing_recording_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let peer = Peer::start().await;
    fs::write(folder.path().join("lines.zst"), "an older one").expect("a file");
    let recorder = Recorder::start(folder.path(), &table(&peer));
    let ended = recorder.0.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(1));
    let recorded = fs::read(folder.path().join("lines.zst")).expect("it is there");
    assert_eq!(recorded, b"an older one");
}
