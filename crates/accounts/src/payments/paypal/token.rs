//! The access token for PayPal: fetched once, and again shortly before it expires.

use std::time::Duration;

use base::secret::Secret;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use tokio::{sync::Mutex, time::Instant};

use crate::payments::{ProviderError, client::ProviderClient};

/// How long before its expiry a token is replaced, so that a request still arrives with a valid
/// one.
const MARGIN: Duration = Duration::from_secs(60);

/// The client's credentials at PayPal.
#[derive(Debug)]
pub(super) struct ClientCredentials {
    pub(super) id: String,
    pub(super) secret: Secret,
}

/// The current token, if any. Locked while a new one is fetched, so that concurrent requests share
/// it.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    current: Mutex<Option<Token>>,
}

#[derive(Debug)]
struct Token {
    secret: Secret,
    until: Instant,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    /// Seconds.
    expires_in: u32,
}

impl Tokens {
    /// A token that is valid for one more request.
    pub(super) async fn token(
        &self,
        client: &ProviderClient,
        credentials: &ClientCredentials,
    ) -> Result<Secret, ProviderError> {
        let mut current = self.current.lock().await;
        if let Some(token) = current.as_ref().filter(|token| Instant::now() < token.until) {
            return Ok(token.secret.clone());
        }
        let requested = Instant::now();
        let response = fetch(client, credentials).await?;
        let lasts = Duration::from_secs(response.expires_in.into()).saturating_sub(MARGIN);
        let secret = Secret::from(response.access_token);
        *current = Some(Token { secret: secret.clone(), until: requested + lasts });
        Ok(secret)
    }

    /// Drops a token that was refused before its expiry.
    pub(super) async fn forget(&self, refused: &Secret) {
        let mut current = self.current.lock().await;
        if current.as_ref().is_some_and(|token| token.secret == *refused) {
            *current = None;
        }
    }
}

async fn fetch(
    client: &ProviderClient,
    credentials: &ClientCredentials,
) -> Result<TokenResponse, ProviderError> {
    const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
    let request = client
        .post("/v1/oauth2/token")
        .basic_auth(&credentials.id, Some(credentials.secret.expose()))
        .header(CONTENT_TYPE, FORM)
        .body("grant_type=client_credentials");
    let body = client.send(request).await?.done("/error")?;
    serde_json::from_value(body).map_err(|_| ProviderError::Unusable { why: "it is no token" })
}
