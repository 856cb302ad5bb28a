//! Reads the log of the cluster from its stream, from the first record on, and writes it to files for the checker.

use std::{path::PathBuf, sync::Arc};

use base::clock::now;
use cluster::{Body, ClusterConfig, Message, Stream};
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

impl RecordedStream {
    /// Takes the next message.
    ///
    /// # Errors
    ///
    /// If it may not follow those before it.
    fn take(&mut self, log: &mut dyn Log, message: Message) -> Result<(), String> {
        let newest = self.last_term;
        match message.body {
            Body::Records(records) => {
                if message.term != newest {
                    return Err(format!("records of term {} in term {newest}", message.term));
                }
                let records = EncodedRecords::read(records.bytes).map_err(str::to_owned)?;
                self.seen.push((records.end().at, now()));
                log.append_encoded(&records).map_err(|error| error.to_string())?;
            }
            Body::Term { position, .. } => {
                let end = log.end();
                if message.term <= newest {
                    return Err(format!("term {} in term {newest}", message.term));
                }
                if (position.number, position.chain) != (end.number, end.chain) {
                    return Err(format!(
                        "term {} at {position:?}, and the log ends at {end:?}",
                        message.term
                    ));
                }
                self.terms += 1;
                self.last_term = message.term;
            }
            Body::HandOver { .. } if message.term != newest => {
                return Err(format!("term {} is handed over in term {newest}", message.term));
            }
            Body::HandOver { .. } => {}
        }
        Ok(())
    }
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
                recorded
                    .take(&mut log, followed.message)
                    .expect("the stream is the log of one cluster");
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use cluster::{
        Formats,
        message::{Part, Records},
    };
    use log::{LogPosition, codec::Encoder, memory::MemoryLog, record::Record};

    use super::*;

    /// Messages of a cluster, one after the other.
    struct Messages {
        term: u64,
        end: LogPosition,
        all: Vec<Message>,
    }

    impl Messages {
        /// The leader of the first term makes two records, and that of the second one more.
        fn new() -> Self {
            let mut messages = Self { term: 0, end: LogPosition::default(), all: Vec::new() };
            messages.begin_term();
            messages.record(1);
            messages.record(2);
            messages.begin_term();
            messages.record(3);
            messages
        }

        fn begin_term(&mut self) {
            self.term += 1;
            let formats = Formats { state: 1, inputs: 1, document: 1 };
            self.push(Body::Term { position: self.end, formats });
        }

        /// Appends a record that was made at this time.
        fn record(&mut self, at: Micros) {
            let number = self.end.number + 1;
            let record = Record { number, at, inputs: Bytes::new(), outputs: Vec::new() };
            let mut encoder = Encoder::new().expect("an encoder");
            let encoded = EncodedRecords::encode(&mut encoder, self.end, &[record]);
            let encoded = encoded.expect("a record");
            let before = self.end.chain;
            self.end = encoded.end();
            self.push(Body::Records(Records {
                first: number,
                count: 1,
                before,
                end: self.end,
                part: Part { index: 0, count: 1 },
                bytes: encoded.bytes().clone(),
            }));
        }

        fn push(&mut self, body: Body) {
            self.all.push(Message { term: self.term, node: "a".to_owned(), body });
        }

        fn check(self) -> Result<RecordedStream, String> {
            let mut log = MemoryLog::new(1 << 20).expect("a log");
            let mut recorded = RecordedStream::default();
            for message in self.all {
                recorded.take(&mut log, message)?;
            }
            Ok(recorded)
        }
    }

    #[test]
    fn stream_of_one_cluster_is_taken() {
        let recorded = Messages::new().check().expect("nothing is wrong");
        assert_eq!((recorded.terms, recorded.seen.len()), (2, 3));
    }

    #[test]
    fn planted_faults_of_the_stream_are_found() {
        let finds = |words: &str, plant: &dyn Fn(&mut Messages)| {
            let mut messages = Messages::new();
            plant(&mut messages);
            let found = messages.check().expect_err(words);
            assert!(found.contains(words), "{found}");
        };
        finds("records of term 1 in term 2", &|it| {
            it.term = 1;
            it.record(4);
        });
        finds("term 1 is handed over in term 2", &|it| {
            it.term = 1;
            it.push(Body::HandOver { position: it.end, to: String::new() });
        });
        finds("term 2 in term 2", &|it| {
            it.term = 1;
            it.begin_term();
        });
        // A node leads that lacks the last record.
        finds("term 3 at", &|it| {
            let end = it.end;
            it.record(4);
            it.end = end;
            it.begin_term();
        });
        // Lost, doubled, and of another history with the same numbers.
        finds("record", &|it| drop(it.all.remove(1)));
        finds("record", &|it| it.all.push(it.all[4].clone()));
        finds("record", &|it| {
            let mut other = Messages { term: 2, end: it.end, all: Vec::new() };
            other.end.chain[0] ^= 1;
            other.record(4);
            it.all.append(&mut other.all);
        });
    }
}
