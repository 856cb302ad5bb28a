//! Requests the names of markets from Betfair's Betting API (`listMarketCatalogue`), since the stream has none.

use std::{sync::Arc, time::Duration};

use base::{backoff::BackoffPolicy, secret::Secret};
use reqwest::{
    Client,
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use rustls::ClientConfig;
use serde_json::json;

use super::{session::Session, settings::BetfairSettings};
use crate::lookup::{self, Lookup, LookupClient, LookupError, LookupSettings};

/// Markets of one request. Betfair allows more for what is requested here, which weighs nothing.
pub(super) const MARKETS_MAX: usize = 100;

/// The pause after a request. Betfair allows few at a time.
const PAUSE: Duration = Duration::from_secs(1);

/// The requests of a source, each for some markets.
pub(super) type Catalogue = Lookup<Vec<Arc<str>>>;

struct CatalogueClient {
    http: Client,
    url: String,
    app_key: Secret,
    session: Session,
}

/// `None` if the settings do not want names. `name`: that of the source.
pub(super) fn start(
    settings: &BetfairSettings,
    tls: &ClientConfig,
    name: &Arc<str>,
) -> Option<Catalogue> {
    let url = settings.catalogue.as_ref()?;
    let client = CatalogueClient {
        http: lookup::http_client(tls),
        url: format!("{}/listMarketCatalogue/", url.trim_end_matches('/')),
        app_key: settings.app_key.clone(),
        session: settings.session.clone(),
    };
    let [first, max] =
        [settings.backoff_first_ms, settings.backoff_most_ms].map(Duration::from_millis);
    let settings = LookupSettings {
        source: Arc::clone(name),
        what: "names of markets",
        retry: BackoffPolicy { first, max },
        pause: PAUSE,
    };
    Some(Lookup::start(client, settings))
}

impl LookupClient for CatalogueClient {
    type Request = Vec<Arc<str>>;

    async fn fetch(&self, markets: &Vec<Arc<str>>) -> Result<Option<Vec<u8>>, LookupError> {
        let session = self.session.read().await.map_err(LookupError::Credentials)?;
        let body = json!({
            "filter": {"marketIds": markets},
            "marketProjection": ["COMPETITION", "EVENT", "RUNNER_DESCRIPTION"],
            "maxResults": markets.len(),
        });
        let request = self
            .http
            .post(&self.url)
            .header("X-Application", header(&self.app_key)?)
            .header("X-Authentication", header(&session)?)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json");
        lookup::body(request.body(body.to_string()).send().await?).await.map(Some)
    }
}

fn header(secret: &Secret) -> Result<HeaderValue, LookupError> {
    let mut value = HeaderValue::try_from(secret.expose()).map_err(|_| LookupError::Header)?;
    value.set_sensitive(true);
    Ok(value)
}
