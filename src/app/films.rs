//! Films of matches: recorded behind the log, and replayed on sockets.

use std::{error::Error, io, path::Path};

use fanout::{ChannelId, Fanout, catch_up::Host, encode::payload};
use hub::{catch_up::ChannelImage, channels::needs_of_name, pipeline::Startup};
pub(crate) use log::film::FilmError;
use log::{
    ReadError, RecordNumber,
    film::{FilmQuery, FilmSettings, FilmWriter, Films, ReplayHost, ReplayService, ReplaySettings},
    record::Record,
};
use tracing::warn;

use super::log_files;
use crate::config::{Config, LogEngine};

/// The folder of films in that of the log.
const FOLDER: &str = "films";

/// The films that there are. `None` if none are kept.
pub(super) type FilmList = Option<Films>;

/// The bytes of all films beside a log, and of how many matches they are. `None` without films.
///
/// # Errors
///
/// If the films cannot be read.
pub(crate) fn size(log_folder: &Path) -> Result<Option<(u64, usize)>, FilmError> {
    let folder = log_folder.join(FOLDER);
    if !folder.is_dir() {
        return Ok(None);
    }
    let films = Films::open(&folder)?;
    Ok(Some((films.bytes(), films.list(FilmQuery::default()).len())))
}

/// Records films from the records of the log, if the settings say so.
pub(super) struct FilmRecorder {
    writer: Option<FilmWriter>,
    has_failed: bool,
}

impl FilmRecorder {
    /// The log must be open, so that no other process writes its films. Records between what the films have and
    /// `until`, where the follower begins, are added. Nothing is recorded if the folder of films cannot be used.
    pub(super) fn open(config: &Config, startup: &Startup, until: RecordNumber) -> Self {
        let is_on = config.log.engine == LogEngine::Files && config.log.films_keep_ms > 0;
        let writer = if is_on { open_writer(config) } else { None };
        let mut recorder = Self { writer, has_failed: false };
        if let Some(writer) = &mut recorder.writer {
            fill(writer, startup, until);
        }
        recorder
    }

    pub(super) fn list(&self) -> FilmList {
        self.writer.as_ref().map(|writer| writer.films().clone())
    }

    pub(super) fn record(&mut self, record: &Record) {
        self.write(|writer| writer.record(record));
    }

    /// The matches whose images the films need.
    pub(super) fn take_lacking(&mut self) -> Vec<ChannelId> {
        self.writer.as_mut().map(FilmWriter::take_lacking).unwrap_or_default()
    }

    pub(super) fn image(&mut self, record: &Record, channel: &ChannelId, image: &ChannelImage) {
        if let Some(writer) = &mut self.writer {
            let position = (record.number, record.at);
            writer.image(position, channel, (image.epoch, image.seq), payload(&image.frame));
        }
    }

    /// Writes what is left of the films.
    pub(super) fn sync(&mut self) {
        self.write(FilmWriter::sync);
    }

    /// A failure is reported once until none has failed. The writer tries again.
    fn write(&mut self, write: impl FnOnce(&mut FilmWriter) -> Result<(), FilmError>) {
        let Some(writer) = &mut self.writer else { return };
        match write(writer) {
            Ok(()) => self.has_failed = false,
            Err(error) if !self.has_failed => {
                self.has_failed = true;
                warn!(error = &error as &dyn Error, "cannot write films of matches");
            }
            Err(_) => {}
        }
    }
}

fn open_writer(config: &Config) -> Option<FilmWriter> {
    let folder = log_files::folder(config).join(FOLDER);
    let opened = FilmWriter::open(&folder, FilmSettings::from_config(&config.log));
    opened.inspect_err(warn_of).ok()
}

/// Adds the records of the log that the films lack, to the last one.
fn fill(writer: &mut FilmWriter, startup: &Startup, last: RecordNumber) {
    let mut reader = startup.records().read_after(writer.sync_position());
    loop {
        match reader.next() {
            Ok(Some(record)) if record.number <= last => {
                writer.record(&record).inspect_err(warn_of).ok();
            }
            // Without films, a log that begins later has no gap: a node that joins has only what it needs.
            Ok(_) | Err(ReadError::Gone(1)) => break,
            Err(error) => {
                let error = &error as &dyn Error;
                warn!(error, "films have a gap: records that they need are no longer in the log");
                break;
            }
        }
    }
}

fn warn_of(error: &FilmError) {
    warn!(error = error as &dyn Error, "cannot record films of matches");
}

/// Replays films on sockets, if there are any.
pub(super) struct Replays(Option<ReplayService>);

impl Replays {
    pub(super) fn new(config: &Config, films: FilmList) -> Self {
        let settings = ReplaySettings::from_config(&config.log);
        let needs = |channel: &ChannelId| needs_of_name(channel.as_str());
        Self(films.map(|films| ReplayService::new(films, settings, needs)))
    }

    /// The host, which also replays films.
    pub(super) fn host(&self, host: impl Host) -> Box<dyn Host> {
        match self.0.clone() {
            Some(replays) => Box::new(ReplayHost { host, replays }),
            None => Box::new(host),
        }
    }

    /// Starts the threads that read films.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub(super) fn start(&self, fanout: &Fanout) -> io::Result<()> {
        if let Some(service) = &self.0 {
            let fanout = fanout.clone();
            service.start(move |to, response| fanout.respond_replay(to, response))?;
        }
        Ok(())
    }

    pub(super) fn stop(&self) {
        if let Some(service) = &self.0 {
            service.stop();
        }
    }
}
