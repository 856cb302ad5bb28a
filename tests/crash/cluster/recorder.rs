//! Reads the log of the cluster from its stream, from the first record on, and writes it to files for the checker.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use base::clock::now;
use cluster::{Body, ClusterConfig, Following, Message, Stream, WholeMessage};
use fanout::Micros;
use log::{Chain, EncodedRecords, FileLog, Log, LogPosition, LogSettings, RecordNumber};
use tempfile::TempDir;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::timeout,
};

use crate::faults::BOOT_ID;

/// How long the stream may take to have what the recorder waits for.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Recorder {
    stream: Stream,
    folder: Arc<TempDir>,
    reached: watch::Receiver<u64>,
    /// Dropped: it ends.
    stop: mpsc::Sender<()>,
    recording: JoinHandle<RecordedStream>,
}

/// A recorder that was stopped before the stream loses messages.
#[derive(Debug)]
pub(crate) struct StoppedRecorder {
    stream: Stream,
    folder: Arc<TempDir>,
    recorded: RecordedStream,
}

/// What the files do not tell.
#[derive(Debug, Default)]
pub(crate) struct RecordedStream {
    pub(crate) terms: u64,
    last_term: u64,
    /// When records were made, and when the stream had them.
    pub(crate) seen: Vec<(Micros, Micros)>,
    /// The term and the chain of each message, by its sequence.
    messages: BTreeMap<u64, (u64, Chain)>,
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
        let following = stream.follow(0).await.expect("the stream");
        let log = open(&folder);
        Self::record(stream, folder, log, (following, None), RecordedStream::default())
    }

    /// Takes the messages from this one on.
    fn record(
        stream: Stream,
        folder: Arc<TempDir>,
        mut log: FileLog,
        (mut following, mut first): (Following, Option<WholeMessage>),
        mut recorded: RecordedStream,
    ) -> Self {
        let (reach, reached) = watch::channel(0);
        let (stop, mut stopped) = mpsc::channel(1);
        let recording = tokio::spawn(async move {
            loop {
                let followed = match first.take() {
                    Some(first) => first,
                    None => tokio::select! {
                        followed = following.recv() => followed.expect("the stream is whole"),
                        _ = stopped.recv() => break,
                    },
                };
                let WholeMessage { seq, message } = followed;
                recorded.messages.insert(seq, (message.term, message.position().chain));
                recorded.take(&mut log, message).expect("the stream is the log of one cluster");
                reach.send_replace(seq);
            }
            Box::new(log).close().expect("it closes");
            recorded
        });
        Self { stream, folder, reached, stop, recording }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// The last message that it has.
    pub(crate) fn reached(&self) -> u64 {
        *self.reached.borrow()
    }

    /// Waits until it has this message.
    ///
    /// # Errors
    ///
    /// If the stream does not get it.
    pub(crate) async fn until(&mut self, seq: u64) -> Result<(), String> {
        let reached = self.reached.wait_for(|reached| *reached >= seq);
        let is_there = timeout(PATIENCE, reached).await.map(|reached| reached.is_ok());
        match is_there {
            Ok(true) => Ok(()),
            Ok(false) => Err("the recorder has ended".to_owned()),
            Err(_) => Err(format!("the stream ends at {}, and does not get {seq}", self.reached())),
        }
    }

    /// Waits until it has all that the stream has now.
    pub(crate) async fn catch_up(&mut self) {
        let last = self.stream.end().await.expect("the servers run").last;
        self.until(last).await.expect("it follows the stream");
    }

    /// Stops with what it has.
    pub(crate) async fn stop(self) -> StoppedRecorder {
        drop(self.stop);
        let recorded = self.recording.await.expect("it does not panic");
        StoppedRecorder { stream: self.stream, folder: self.folder, recorded }
    }

    /// Ends after what the stream has now. Returns the folder with the records.
    pub(crate) async fn finish(mut self) -> (Arc<TempDir>, RecordedStream) {
        self.catch_up().await;
        let StoppedRecorder { folder, recorded, .. } = self.stop().await;
        (folder, recorded)
    }
}

impl StoppedRecorder {
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Goes on after the stream has lost messages. What follows the messages that it has kept must be a term that begins
    /// a generation, behind a record that the stream need not have. The records of the generation are in another folder.
    /// Returns the record after which it begins.
    ///
    /// # Errors
    ///
    /// If the stream has no such term.
    pub(crate) async fn go_on_after_loss(self) -> Result<(Recorder, RecordNumber), String> {
        let Self { stream, mut recorded, .. } = self;
        let mut following = stream.follow(0).await.map_err(|error| error.to_string())?;
        let kept = |followed: &WholeMessage| {
            let message = &followed.message;
            let before = recorded.messages.get(&followed.seq);
            before.is_some_and(|before| *before == (message.term, message.position().chain))
        };
        let first = loop {
            let next = timeout(PATIENCE, following.recv()).await;
            let next = next.map_err(|_| "no generation begins in the stream".to_owned())?;
            let next = next.map_err(|error| error.to_string())?;
            if !kept(&next) {
                break next;
            }
        };
        let Body::Term { position, .. } = first.message.body else {
            let (seq, position) = (first.seq, first.message.position());
            return Err(format!("message {seq} at {position:?} follows a loss, and is no term"));
        };
        recorded.messages.split_off(&first.seq);
        if first.seq == 1 {
            // Another stream, which has terms of its own.
            recorded.last_term = 0;
        }
        let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        let mut log = open(&folder);
        if position != LogPosition::default() {
            log.begin_after(position).expect("it is empty");
        }
        let following = (following, Some(first));
        Ok((Recorder::record(stream, folder, log, following, recorded), position.number))
    }
}

/// An empty log in this folder.
fn open(folder: &TempDir) -> FileLog {
    let settings = LogSettings {
        records_keep_us: 86_400_000_000,
        segment_bytes: 1 << 30,
        ..LogSettings::new(folder.path().join("log"))
    };
    let boot = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
    let (log, _) = FileLog::open(settings, boot.trim(), now()).expect("an empty log");
    log
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use cluster::{
        Formats,
        message::{Part, Records},
    };
    use log::{codec::Encoder, memory::MemoryLog, record::Record};

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
        finds("records of term 1 in term 2", &|messages| {
            messages.term = 1;
            messages.record(4);
        });
        finds("term 1 is handed over in term 2", &|messages| {
            messages.term = 1;
            messages.push(Body::HandOver { position: messages.end, to: String::new() });
        });
        finds("term 2 in term 2", &|messages| {
            messages.term = 1;
            messages.begin_term();
        });
        // A node leads that lacks the last record.
        finds("term 3 at", &|messages| {
            let end = messages.end;
            messages.record(4);
            messages.end = end;
            messages.begin_term();
        });
        // Lost, doubled, and of another history with the same numbers.
        finds("record", &|it| drop(it.all.remove(1)));
        finds("record", &|it| it.all.push(it.all[4].clone()));
        finds("record", &|messages| {
            let mut other = Messages { term: 2, end: messages.end, all: Vec::new() };
            other.end.chain[0] ^= 1;
            other.record(4);
            messages.all.append(&mut other.all);
        });
    }
}
