//! Writes down what a live source sends, as it sends it, so that a bad day can be played again.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    sync::Arc,
    time::Duration,
};

use ingest::{
    recording::container,
    source::{Outlet, Raw, Report, SourceMessage},
};
use tokio::{signal, sync::mpsc};

use crate::{
    cli::RecordArgs,
    clock::now,
    config::{Config, sources::SourceConfig},
    sources::follow::{self, FollowError},
};

/// Why nothing could be recorded, or no more.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("no source {name:?} among the settings; there are: {known}")]
    Unknown { name: String, known: String },
    #[error("source {name:?} cannot be followed")]
    Follow { name: String, source: FollowError },
    #[error("{path} cannot be written")]
    Write { path: String, source: io::Error },
    #[error("the standard output is gone")]
    Output(#[source] io::Error),
    #[error("the source has ended by itself")]
    Ended,
}

/// Messages that may wait to be written. A source waits when the disk is slower than it.
const WAITING_MAX: usize = 1024;

/// How often it is looked whether anything has waited for long enough to be flushed.
const FLUSH_LOOK: Duration = Duration::from_millis(250);

/// Follows the source until the program is interrupted. How it is is told line by line.
///
/// # Errors
///
/// If there is no such source, if it cannot be followed, or if the file cannot be written.
pub async fn run(
    args: &RecordArgs,
    config: &Config,
    out: &mut impl Write,
) -> Result<(), RecordError> {
    let source = find(config, &args.source)?;
    let (tell, told) = mpsc::channel(WAITING_MAX);
    let (tap, mut raw) = mpsc::channel(WAITING_MAX);
    let outlet = Outlet::new(Arc::from(source.name.as_str()), tell, now).tapped(tap);
    let following = follow::follow(source, outlet)
        .map_err(|error| RecordError::Follow { name: source.name.clone(), source: error })?;
    let write = |error| RecordError::Write { path: args.to.display().to_string(), source: error };
    // What a provider sends under a contract is for nobody else on this machine.
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&args.to);
    let file = BufWriter::new(file.map_err(write)?);
    let format = source.kind.format();
    let mut writer = container::Writer::new(file, format, &source.name, now()).map_err(write)?;
    let recorded = tokio::select! {
        recorded = record(&mut writer, &mut raw) => recorded.map_err(write),
        told = tell_states(told, out) => told,
        () = following => Err(RecordError::Ended),
        _ = signal::ctrl_c() => Ok(()),
    };
    let finished = finish(writer, &mut raw).map_err(write);
    recorded.and(finished)
}

fn find<'a>(config: &'a Config, name: &str) -> Result<&'a SourceConfig, RecordError> {
    config.sources.iter().find(|source| source.name == name).ok_or_else(|| {
        let known: Vec<&str> = config.sources.iter().map(|source| source.name.as_str()).collect();
        RecordError::Unknown { name: name.to_owned(), known: known.join(", ") }
    })
}

async fn record(
    writer: &mut container::Writer<BufWriter<File>>,
    raw: &mut mpsc::Receiver<Raw>,
) -> io::Result<()> {
    let mut look = tokio::time::interval(FLUSH_LOOK);
    loop {
        tokio::select! {
            Some(Raw { received, bytes }) = raw.recv() => writer.message(received, &bytes)?,
            _ = look.tick() => writer.flush_due(now())?,
        }
    }
}

/// What was received before the end is part of it.
fn finish(
    mut writer: container::Writer<BufWriter<File>>,
    raw: &mut mpsc::Receiver<Raw>,
) -> io::Result<()> {
    while let Ok(Raw { received, bytes }) = raw.try_recv() {
        writer.message(received, &bytes)?;
    }
    writer.finish()?.flush()
}

/// One line for each state; what the messages mean is not looked at here.
async fn tell_states(
    mut messages: mpsc::Receiver<SourceMessage>,
    out: &mut impl Write,
) -> Result<(), RecordError> {
    while let Some(SourceMessage { report, .. }) = messages.recv().await {
        let line = match report {
            Report::Recovering => "recovering".to_owned(),
            Report::Live => "live".to_owned(),
            Report::Late => "late".to_owned(),
            Report::Down(why) => format!("down: {why}"),
            Report::Refused(refusal) => format!("refused: {}", refusal.reason),
            Report::Heard | Report::Batch(_) => continue,
        };
        writeln!(out, "{line}").and_then(|()| out.flush()).map_err(RecordError::Output)?;
    }
    std::future::pending().await
}
