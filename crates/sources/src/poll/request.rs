//! A request to poll: its address, its secret and its interval.

use std::{fmt, time::Duration};

use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
};

use base::secret::Secret;

/// An address to poll. `Display` and `Debug` omit the query, which may contain a secret.
#[derive(Clone)]
pub struct Request {
    url: Url,
    credential: Option<Credential>,
    interval: Duration,
}

/// How the request authenticates.
#[derive(Debug, Clone)]
pub enum Credential {
    /// In a header of this name: `x-apisports-key`.
    Header(String, Secret),
    /// In a parameter of this name: `apiKey`.
    Query(String, Secret),
}

/// Why an address cannot be polled. It does not repeat the address, which may contain a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("is no URL")]
    NotUrl,
    #[error("is neither http nor https")]
    Scheme,
    #[error("names no header, or its secret cannot stand in one")]
    Header,
}

impl Request {
    /// `interval`: from the start of one request to the start of the next.
    ///
    /// # Errors
    ///
    /// When the address is not an HTTP address, or the secret is not a valid header value.
    pub fn new(
        url: &str,
        query: &[(&str, &str)],
        credential: Option<Credential>,
        interval: Duration,
    ) -> Result<Self, RequestError> {
        let mut url = Url::parse(url).map_err(|_| RequestError::NotUrl)?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(RequestError::Scheme);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = Self { url, credential, interval };
        if matches!(request.credential, Some(Credential::Header(..))) {
            request.header().ok_or(RequestError::Header)?;
        }
        Ok(request)
    }

    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    /// The whole address, including the secret if that is a query parameter.
    pub(super) fn url(&self) -> Url {
        let mut url = self.url.clone();
        if let Some(Credential::Query(name, secret)) = &self.credential {
            url.query_pairs_mut().append_pair(name, secret.expose());
        }
        url
    }

    pub(super) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let Some(Credential::Header(name, secret)) = &self.credential else { return None };
        let name = HeaderName::try_from(name).ok()?;
        let mut value = HeaderValue::try_from(secret.expose()).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    }
}

/// Scheme, host, port and path.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.url.scheme(), self.url.host_str().unwrap_or_default())?;
        if let Some(port) = self.url.port() {
            write!(f, ":{port}")?;
        }
        f.write_str(self.url.path())
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({self} every {:?})", self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn secret() -> Secret {
        Secret::from("s3cret&".to_owned())
    }

    #[test]
    fn display_and_debug_contain_no_secret() {
        let credential = Credential::Query("apiKey".to_owned(), secret());
        let url = "https://me:s3cret@api.example.com:8443/v4/odds?token=s3cret";
        let request = Request::new(url, &[("regions", "eu")], Some(credential), MINUTE).unwrap();
        assert_eq!(request.to_string(), "https://api.example.com:8443/v4/odds");
        assert!(!format!("{request:?}").contains("s3cret"));
        let url = request.url();
        assert_eq!(url.query(), Some("token=s3cret&regions=eu&apiKey=s3cret%26"));
    }

    #[test]
    fn invalid_requests_are_rejected() {
        let check = |url: &str, credential, expected| {
            let error = Request::new(url, &[], credential, MINUTE).map(|_| ()).unwrap_err();
            assert_eq!(error, expected, "{url}");
        };
        check("here", None, RequestError::NotUrl);
        check("ftp://example.com/", None, RequestError::Scheme);
        let header = |name: &str, secret: &str| {
            Some(Credential::Header(name.to_owned(), Secret::from(secret.to_owned())))
        };
        check("http://example.com/", header("no header", "a"), RequestError::Header);
        check("http://example.com/", header("x-key", "a\nb"), RequestError::Header);
    }
}
