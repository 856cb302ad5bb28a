//! The URL that identifies a client.

use std::fmt;

use reqwest::Url;

use super::ClientError;

/// No known client has an id of more than 100 bytes.
const BYTES_MAX: usize = 1024;

/// The URL of a client's metadata document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientId(Url);

impl ClientId {
    /// Parses the parameter `client_id`: an https URL with a path, without user, password and
    /// fragment, in its normal form. `allow_http`: for development.
    ///
    /// # Errors
    ///
    /// [`ClientError::Id`].
    pub fn parse(text: &str, allow_http: bool) -> Result<Self, ClientError> {
        let url = Url::parse(text).map_err(|_| ClientError::Id)?;
        let is_scheme = url.scheme() == "https" || allow_http && url.scheme() == "http";
        let is_document = url.has_host()
            && url.path() != "/"
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        // Ids are compared as text, so only one text may denote a document. This also refuses dot
        // segments, which parsing removes.
        let is_normal = url.as_str() == text && text.len() <= BYTES_MAX;
        if is_scheme && is_document && is_normal { Ok(Self(url)) } else { Err(ClientError::Id) }
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The host that publishes the document, with its port if it is not the default one.
    #[must_use]
    pub fn host(&self) -> String {
        host(&self.0)
    }
}

/// The host of a URL, with its port if it is not the default one.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_normal_https_urls_with_a_path_identify_clients() {
        for good in [
            "https://claude.ai/oauth/mcp-oauth-client-metadata",
            "https://app.example:8443/client.json",
            "https://app.example/client.json?v=1",
        ] {
            assert_eq!(ClientId::parse(good, false).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "client",
            "https://app.example",
            "https://app.example/",
            "http://app.example/client.json",
            "https://App.example/client.json",
            "https://app.example:443/client.json",
            "https://app.example/a/../client.json",
            "https://app.example/./client.json",
            "https://app.example/client.json#a",
            "https://me@app.example/client.json",
            "https://me:pw@app.example/client.json",
            " https://app.example/client.json",
            "https://app.example/client json",
            "file:///etc/passwd",
            "https:///client.json",
            &format!("https://app.example/{}", "a".repeat(BYTES_MAX)),
        ] {
            assert_eq!(ClientId::parse(bad, false), Err(ClientError::Id), "{bad}");
        }
        assert!(ClientId::parse("http://127.0.0.1:8000/client.json", true).is_ok());
    }
}
