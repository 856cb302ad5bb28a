//! In place of `films` in a program without the feature `films`: nothing is recorded or replayed. Films that another
//! program has recorded stay.

#![expect(clippy::needless_pass_by_ref_mut, reason = "`films` changes what it is passed")]

pub(crate) use std::convert::Infallible as FilmError;
use std::{io, path::Path};

use fanout::{ChannelId, Fanout, catch_up::Host};
use hub::{catch_up::ChannelImage, pipeline::Startup};
use log::{RecordNumber, record::Record};

use crate::config::Config;

#[derive(Clone)]
pub(super) struct FilmList;

pub(crate) fn size(_: &Path) -> Result<Option<(u64, usize)>, FilmError> {
    Ok(None)
}

pub(super) struct FilmRecorder;

impl FilmRecorder {
    pub(super) fn open(_: &Config, _: &Startup, _: RecordNumber) -> Self {
        Self
    }

    pub(super) fn list(&self) -> FilmList {
        FilmList
    }

    pub(super) fn record(&mut self, _: &Record) {}

    pub(super) fn take_lacking(&mut self) -> Vec<ChannelId> {
        Vec::new()
    }

    pub(super) fn image(&mut self, _: &Record, _: &ChannelId, _: &ChannelImage) {}

    pub(super) fn sync(&mut self) {}
}

pub(super) struct Replays;

impl Replays {
    pub(super) fn new(_: &Config, _: FilmList) -> Self {
        Self
    }

    pub(super) fn host(&self, host: impl Host) -> Box<dyn Host> {
        Box::new(host)
    }

    pub(super) fn start(&self, _: &Fanout) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn stop(&self) {}
}
