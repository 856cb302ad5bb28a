//! In place of `webhooks` in a program without the feature `webhooks`: nothing is recorded and sent.

use std::io;

use super::{
    StartContext,
    running_hub::HubServices,
    stopping::{RunningPart, StopDeadline},
    stores::Stores,
};
use crate::config::Config;
use accounts::Accounts;
use web::http::Webhooks;

pub(super) struct RunningWebhooks;

pub(super) fn open(_: &Accounts, _: &Config) -> Webhooks {
    Webhooks
}

impl RunningWebhooks {
    pub(super) fn start(_: StartContext<'_>, _: &Stores, _: &HubServices) -> io::Result<Self> {
        Ok(Self)
    }
}

impl RunningPart for RunningWebhooks {
    async fn stop(self, _: StopDeadline) {}
}
