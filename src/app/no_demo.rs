//! In place of `demo` in a program without the feature `demo`. The settings refuse to play it, so nothing here has a value.

use std::iter::Empty;

use ingest::recording::Step;
use tokio::task::JoinHandle;

use super::{AppError, StartContext, stores::Stores};
use accounts::Accounts;
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

#[expect(clippy::unused_async, reason = "as with the demo")]
pub(super) async fn resume_or_start(
    _: StartContext<'_>,
    _: &Accounts,
) -> Result<Option<DemoRun>, AppError> {
    Ok(None)
}

pub(super) fn archive(_: StartContext<'_>, _: &Stores) -> Option<JoinHandle<()>> {
    None
}

/// Without the simulator there is no match.
pub(super) fn test_match() -> TestMatch {
    TestMatch::new(|_| Vec::new())
}
