//! Requests the descriptions of markets, since messages name markets by their ids alone.

use std::{sync::Arc, time::Duration};

use base::backoff::BackoffPolicy;
use reqwest::Client;
use tokio::time::Instant;

use super::{UofSettings, recovery::Api};
use crate::lookup::{self, Lookup, LookupClient, LookupError, LookupSettings};

/// How often they are requested again. New markets are rare.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// The descriptions of all markets.
#[derive(Debug)]
pub(super) struct Descriptions {
    lookup: Lookup<()>,
    due: Instant,
}

struct DescriptionClient {
    http: Client,
    api: Api,
}

impl Descriptions {
    /// `name`: that of the source.
    pub(super) fn start(settings: &UofSettings, name: &Arc<str>) -> Self {
        let api = settings.api.clone();
        let client = DescriptionClient { http: lookup::http_client(api.tls()), api };
        let settings = LookupSettings {
            source: Arc::clone(name),
            what: "descriptions of markets",
            retry: BackoffPolicy { first: settings.backoff_first, max: settings.backoff_most },
            pause: Duration::ZERO,
        };
        Self { lookup: Lookup::start(client, settings), due: Instant::now() }
    }

    /// Sends the request when it is due.
    pub(super) fn request(&mut self) {
        let now = Instant::now();
        if self.due <= now
            && let Some(permit) = self.lookup.permit()
        {
            permit.send(());
            self.due = now + EVERY;
        }
    }

    /// The next document. Cancel safe.
    pub(super) async fn answer(&mut self) -> Vec<u8> {
        self.lookup.answer().await
    }
}

impl LookupClient for DescriptionClient {
    type Request = ();

    async fn fetch(&self, _: &()) -> Result<Option<Vec<u8>>, LookupError> {
        let response =
            self.api.authorized(self.http.get(self.api.descriptions_url())).send().await?;
        lookup::body(response).await.map(Some)
    }
}
