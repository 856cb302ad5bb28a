//! Records the messages of a live source as they arrive, so that they can be replayed.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    sync::Arc,
    time::Duration,
};

use ingest::recording::container;
use tokio::{signal, sync::mpsc};

use crate::{cli::RecordArgs, config::Config};
use base::clock::now;
use hub::{
    HubInput,
    feeds::{FeedState, SourceNumber},
    pipeline::{Input, InputSender},
};
use sources::{
    RawMessage, SourceSender,
    config::SourceConfig,
    follow::{self, FollowError},
};

/// Why the recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("no source {name:?} in the settings; configured: {names}")]
    Unknown { name: String, names: String },
    #[error("cannot follow source {name:?}")]
    Follow { name: String, source: FollowError },
    #[error("cannot write {path}")]
    Write { path: String, source: io::Error },
    #[error("the standard output was closed")]
    Output(#[source] io::Error),
    #[error("the source ended unexpectedly")]
    Ended,
}

/// Maximum messages waiting to be written. The source waits if the disk is slower.
const WAITING_MAX: usize = 1024;

/// How often pending messages are checked for a flush.
const FLUSH_LOOK: Duration = Duration::from_millis(250);

/// Records the source until the program is interrupted. Prints a line for each change of its state.
///
/// # Errors
///
/// If there is no such source, if it cannot connect, or if the file cannot be written.
pub async fn run(
    args: &RecordArgs,
    config: &Config,
    out: &mut impl Write,
) -> Result<(), RecordError> {
    let source = find(config, &args.source)?;
    let (queue, inputs) = mpsc::channel(WAITING_MAX);
    let (tap, mut raw) = mpsc::channel(WAITING_MAX);
    let start = follow::follow(source)
        .map_err(|error| RecordError::Follow { name: source.name.clone(), source: error })?;
    let (name, sender) = (Arc::from(source.name.as_str()), InputSender::new(queue, None));
    let following = start(SourceSender::new(SourceNumber(0), name, sender).with_raw(tap));
    let write = |error| RecordError::Write { path: args.to.display().to_string(), source: error };
    // A provider's licensed data must not be readable by other users.
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&args.to);
    let file = BufWriter::new(file.map_err(write)?);
    let format = source.kind.format();
    let mut writer = container::Writer::new(file, format, &source.name, now()).map_err(write)?;
    let recorded = tokio::select! {
        recorded = record(&mut writer, &mut raw) => recorded.map_err(write),
        printed = print_states(inputs, out) => printed,
        () = following => Err(RecordError::Ended),
        _ = signal::ctrl_c() => Ok(()),
    };
    let finished = finish(writer, &mut raw).map_err(write);
    recorded.and(finished)
}

fn find<'a>(config: &'a Config, name: &str) -> Result<&'a SourceConfig, RecordError> {
    config.sources.iter().find(|source| source.name == name).ok_or_else(|| {
        let names: Vec<&str> = config.sources.iter().map(|source| source.name.as_str()).collect();
        RecordError::Unknown { name: name.to_owned(), names: names.join(", ") }
    })
}

async fn record(
    writer: &mut container::Writer<BufWriter<File>>,
    raw: &mut mpsc::Receiver<RawMessage>,
) -> io::Result<()> {
    let mut look = tokio::time::interval(FLUSH_LOOK);
    loop {
        tokio::select! {
            Some(RawMessage { received, bytes }) = raw.recv() => writer.message(received, &bytes)?,
            _ = look.tick() => writer.flush_due(now())?,
        }
    }
}

/// Messages received before the end are included.
fn finish(
    mut writer: container::Writer<BufWriter<File>>,
    raw: &mut mpsc::Receiver<RawMessage>,
) -> io::Result<()> {
    while let Ok(RawMessage { received, bytes }) = raw.try_recv() {
        writer.message(received, &bytes)?;
    }
    writer.finish()?.flush()
}

/// One line for each state; messages are not interpreted here.
async fn print_states(
    mut inputs: mpsc::Receiver<Input>,
    out: &mut impl Write,
) -> Result<(), RecordError> {
    while let Some(input) = inputs.recv().await {
        let line = match input {
            Input::Hub(HubInput::Health { health, .. }) => match (health.feed, health.why) {
                (FeedState::Down, Some(why)) => format!("down: {why}"),
                (feed, _) => feed.as_str().to_owned(),
            },
            Input::Refused { refusal, .. } => format!("refused: {}", refusal.reason),
            _ => continue,
        };
        writeln!(out, "{line}").and_then(|()| out.flush()).map_err(RecordError::Output)?;
    }
    std::future::pending().await
}
