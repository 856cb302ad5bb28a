//! Reads the log of the cluster from its stream, from the first record on, and writes it to files for the checker.

use std::{path::PathBuf, sync::Arc};

use base::clock::now;
use cluster::{Body, ClusterConfig, Stream};
use fanout::Micros;
use log::{EncodedRecords, FileLog, Log, LogSettings};
use tempfile::TempDir;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use crate::faults::BOOT_ID;

#[derive(Debug)]
pub(crate) struct Recorder {
    folder: Arc<TempDir>,
    reached: watch::Receiver<u64>,
    stream: Stream,
    /// Dropped: it ends.
    stop: mpsc::Sender<()>,
    recording: JoinHandle<RecordedStream>,
}

/// What the files do not tell.
#[derive(Debug, Default)]
pub(crate) struct RecordedStream {
    pub(crate) terms: u64,
    last_term: u64,
    /// When records were made, and when the stream had them.
    pub(crate) seen: Vec<(Micros, Micros)>,
}

impl Recorder {
    pub(crate) async fn start(config: &ClusterConfig) -> Self {
        let stream = Stream::connect(config).await.expect("the servers run");
        let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        let settings = LogSettings {
            records_keep_us: 86_400_000_000,
            segment_bytes: 1 << 30,
            ..LogSettings::new(folder.path().join("log"))
        };
        let boot = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
        let (mut log, _) = FileLog::open(settings, boot.trim(), now()).expect("an empty log");
        let mut following = stream.follow(0).await.expect("the stream");
        let (reach, reached) = watch::channel(0);
        let (stop, mut stopped) = mpsc::channel(1);
        let recording = tokio::spawn(async move {
            let mut recorded = RecordedStream::default();
            loop {
                let followed = tokio::select! {
                    followed = following.recv() => followed.expect("the stream is whole"),
                    _ = stopped.recv() => break,
                };
                let message = followed.message;
                assert!(message.term >= recorded.last_term, "terms never decrease");
                match message.body {
                    Body::Records(records) => {
                        let records = EncodedRecords::read(records.bytes).expect("whole records");
                        let newest = recorded.last_term;
                        assert_eq!(message.term, newest, "a deposed leader appends nothing");
                        recorded.seen.push((records.end().at, now()));
                        log.append_encoded(&records).expect("they follow one another");
                    }
                    Body::Term { position, .. } => {
                        let end = log.end();
                        let ours = (end.number, end.chain);
                        assert_eq!((position.number, position.chain), ours, "a term loses nothing");
                        recorded.terms += 1;
                        recorded.last_term = message.term;
                    }
                    Body::HandOver { .. } => {}
                }
                reach.send_replace(followed.seq);
            }
            Box::new(log).close().expect("it closes");
            recorded
        });
        Self { folder, reached, stream, stop, recording }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Waits until it has all that the stream has now.
    pub(crate) async fn catch_up(&mut self) {
        let last = self.stream.end().await.expect("the servers run").last;
        self.reached.wait_for(|reached| *reached >= last).await.expect("it runs");
    }

    /// Ends after what the stream has now. Returns the folder with the records.
    pub(crate) async fn finish(mut self) -> (Arc<TempDir>, RecordedStream) {
        self.catch_up().await;
        drop(self.stop);
        let recorded = self.recording.await.expect("it does not panic");
        (self.folder, recorded)
    }
}
