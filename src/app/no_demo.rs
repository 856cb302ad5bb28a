//! In place of `demo` in a program without the feature `demo`. The settings refuse to play it, so nothing here has a value.

use std::iter::Empty;

use ingest::recording::Step;

use hub::{feeds::SourceNumber, pipeline::Startup, test_channels::TestMatch};
use log::AppendError;

pub(super) enum DemoRun {}

impl DemoRun {
    pub(super) fn is_resumed(&self) -> bool {
        match *self {}
    }

    pub(super) fn announce(
        &self,
        _: &mut Startup,
    ) -> Result<(SourceNumber, Empty<Step>), AppendError> {
        match *self {}
    }
}

/// Without the simulator there is no match.
pub(super) fn test_match() -> TestMatch {
    TestMatch::new(|_| Vec::new())
}
