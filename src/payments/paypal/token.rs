//! The token with which PayPal knows us: asked for once, and again shortly before it ends.

use std::time::Duration;

use ingest::source::secret::Secret;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use tokio::{sync::Mutex, time::Instant};

use crate::payments::{ProviderError, peer::Peer};

/// So long before its end a token is not used any more: a request must arrive with it.
const MARGIN: Duration = Duration::from_secs(60);

/// Who we are there.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Secret,
}

/// The token that is in use, if any. Locked while a new one is fetched, so that one is enough for all.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    kept: Mutex<Option<Token>>,
}

#[derive(Debug)]
struct Token {
    secret: Secret,
    until: Instant,
}

#[derive(Deserialize)]
struct Given {
    access_token: String,
    /// Seconds.
    expires_in: u32,
}

impl Tokens {
    /// A token that will do for one request.
    pub(super) async fn token(
        &self,
        peer: &Peer,
        client: &Client,
    ) -> Result<Secret, ProviderError> {
        let mut kept = self.kept.lock().await;
        if let Some(token) = kept.as_ref().filter(|token| Instant::now() < token.until) {
            return Ok(token.secret.clone());
        }
        let asked = Instant::now();
        let given = fetch(peer, client).await?;
        let lasts = Duration::from_secs(given.expires_in.into()).saturating_sub(MARGIN);
        let secret = Secret::from(given.access_token);
        *kept = Some(Token { secret: secret.clone(), until: asked + lasts });
        Ok(secret)
    }

    /// It was refused, whatever it said of its end.
    pub(super) async fn forget(&self, refused: &Secret) {
        let mut kept = self.kept.lock().await;
        if kept.as_ref().is_some_and(|token| token.secret == *refused) {
            *kept = None;
        }
    }
}

async fn fetch(peer: &Peer, client: &Client) -> Result<Given, ProviderError> {
    const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
    let request = peer
        .post("/v1/oauth2/token")
        .basic_auth(&client.id, Some(client.secret.expose()))
        .header(CONTENT_TYPE, FORM)
        .body("grant_type=client_credentials");
    let body = peer.ask(request).await?.done("/error")?;
    serde_json::from_value(body).map_err(|_| ProviderError::Unusable { why: "it is no token" })
}
