//! Where codes may be sent.

use reqwest::Url;

use super::id;

const BYTES_MAX: usize = 2048;

/// Schemes of the browser, and those that systems open with programs of their own, which are nobody's application.
const NEVER: &str = "about blob callto chrome data facetime file filesystem ftp geo im intent itms javascript ldap magnet mailto \
    market news nfs rdp search search-ms sftp shell sip sips sms ssh tel telnet vbscript view-source webcal ws wss";

/// How the schemes of other programs of the system begin: Windows' (`ms-msdt:`, `ms-settings:`), Apple's, and shared folders.
const NEVER_BEGINNINGS: [&str; 5] = ["ms-", "x-apple", "itms-", "smb", "vnc"];

/// The URL of a client that receives codes: an https URL, an http URL on loopback, or one with the
/// private scheme of an installed application (RFC 8252).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectUri {
    text: String,
    url: Url,
}

impl RedirectUri {
    /// Parses a redirect URI; `None` if a code must not be sent there.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let is_plain = text.len() <= BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
        let may_be_sent = match url.scheme() {
            "https" => url.has_host(),
            "http" => is_loopback(&url),
            scheme => {
                !NEVER.split_whitespace().any(|never| never == scheme)
                    && !NEVER_BEGINNINGS.iter().any(|beginning| scheme.starts_with(beginning))
            }
        };
        let is_bare =
            url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
        (is_plain && may_be_sent && is_bare).then(|| Self { text: text.to_owned(), url })
    }

    /// Whether a request may name `requested` where the document has this one: they are equal, or
    /// differ in the port of loopback, which an installed application does not choose.
    #[must_use]
    pub fn covers(&self, requested: &Self) -> bool {
        if self.text == requested.text {
            return true;
        }
        if self.url.scheme() != "http" || !is_loopback(&self.url) {
            return false;
        }
        let without_port = |url: &Url| {
            let mut url = url.clone();
            url.set_port(None).ok().map(|()| url)
        };
        without_port(&self.url).is_some_and(|url| Some(url) == without_port(&requested.url))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Where a code goes, for people: the host, `this device`, or the scheme of an installed
    /// application.
    #[must_use]
    pub fn destination(&self) -> String {
        match self.url.scheme() {
            "http" => "this device".to_owned(),
            "https" => id::host(&self.url),
            scheme => format!("an application for {scheme}: links"),
        }
    }

    /// Whether it leads to a program that listens on the customer's device, and neither to a website nor to whatever opens the
    /// links of a scheme.
    #[must_use]
    pub fn is_on_loopback(&self) -> bool {
        self.url.scheme() == "http"
    }

    /// The source expression that lets a form lead there, for a Content-Security-Policy.
    #[must_use]
    pub fn csp_source(&self) -> String {
        match self.url.scheme() {
            // A source expression cannot name an IPv6 address.
            scheme @ ("http" | "https") if !id::host(&self.url).contains('[') => {
                format!("{scheme}://{}", id::host(&self.url))
            }
            scheme => format!("{scheme}:"),
        }
    }

    /// The URL with these parameters added to its query.
    #[must_use]
    pub fn with(&self, parameters: &[(&str, &str)]) -> String {
        let mut url = self.url.clone();
        url.query_pairs_mut().extend_pairs(parameters);
        url.into()
    }
}

fn is_loopback(url: &Url) -> bool {
    matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> RedirectUri {
        RedirectUri::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn redirects_match_exactly_except_for_the_port_of_loopback() {
        let check = |registered: &str, requested: &str, expected: bool| {
            assert_eq!(
                uri(registered).covers(&uri(requested)),
                expected,
                "{registered} {requested}"
            );
        };
        check("https://app.example/cb", "https://app.example/cb", true);
        check("https://app.example/cb", "https://app.example/cb/", false);
        check("https://app.example/cb", "https://app.example/cb?a=b", false);
        check("https://app.example/cb", "https://app.example:8443/cb", false);
        check("https://app.example/cb", "https://evil.example/cb", false);
        check("http://127.0.0.1/cb", "http://127.0.0.1:49152/cb", true);
        check("http://localhost:1/cb", "http://localhost:2/cb", true);
        check("http://[::1]/cb", "http://[::1]:2/cb", true);
        check("http://127.0.0.1/cb", "http://localhost:2/cb", false);
        check("http://127.0.0.1/cb", "http://127.0.0.1:2/other", false);
        check("http://127.0.0.1/cb", "https://127.0.0.1:2/cb", false);
        check("cursor://app/cb", "cursor://app/cb", true);
        check("cursor://app/cb", "cursor://app/cb2", false);
    }

    #[test]
    fn codes_are_not_sent_in_clear_or_to_scripts() {
        for bad in [
            "",
            "/cb",
            "http://app.example/cb",
            "http://127.0.0.2/cb",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///tmp/x",
            "mailto:victim@example.org",
            "tel:+15550100",
            "sms:+15550100",
            "ms-msdt:/id",
            "MS-Settings:privacy",
            "search-ms:query=x",
            "itms-apps://x",
            "smb://host/share",
            "intent://x#Intent;end",
            "https://app.example/cb#fragment",
            "https://me@app.example/cb",
            "https://app.example/a b",
            "https://app.example/\r\nlocation:x",
        ] {
            assert!(RedirectUri::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn parameters_are_added_to_the_query() {
        let with = |text: &str| uri(text).with(&[("code", "a b"), ("iss", "https://x")]);
        assert_eq!(with("https://a.test/cb"), "https://a.test/cb?code=a+b&iss=https%3A%2F%2Fx");
        assert_eq!(
            with("https://a.test/cb?x=1"),
            "https://a.test/cb?x=1&code=a+b&iss=https%3A%2F%2Fx"
        );
        assert_eq!(uri("cursor://app/cb").with(&[("code", "c")]), "cursor://app/cb?code=c");
    }

    #[test]
    fn destination_names_what_gets_the_code() {
        let check = |text: &str, destination: &str, source: &str| {
            assert_eq!(uri(text).destination(), destination);
            assert_eq!(uri(text).csp_source(), source);
        };
        check("https://a.test:8443/cb", "a.test:8443", "https://a.test:8443");
        check("http://localhost:49152/cb", "this device", "http://localhost:49152");
        check("http://[::1]:49152/cb", "this device", "http:");
        check("cursor://app/cb", "an application for cursor: links", "cursor:");
    }
}
