//! The SMTP server that accepts mail, as its URL describes it.

use std::net::IpAddr;

use lettre::transport::smtp::{authentication::Credentials, extension::ClientId};
use reqwest::Url;

use crate::percent;

/// Where and how mail is submitted. `Debug` does not show the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpServer {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) encryption: Encryption,
    pub(super) credentials: Option<Credentials>,
    /// The name the hub sends in EHLO.
    pub(super) hello: ClientId,
}

/// When the connection becomes TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    /// From the first byte.
    Always,
    /// After STARTTLS; without it nothing is sent.
    Required,
    /// After STARTTLS if the server offers it, which a man in the middle can prevent.
    Opportunistic,
    Never,
}

/// Why a URL does not describe a server. It does not repeat the URL, which contains a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SmtpUrlError {
    #[error("not a URL")]
    Malformed,
    #[error("the scheme is neither smtp nor smtps")]
    Scheme,
    #[error("the host is missing")]
    Host,
    #[error("the query must be tls=required, tls=opportunistic or tls=none, and only with smtp")]
    Query,
    #[error("user and password must be given together, percent-encoded")]
    Credentials,
    #[error("the password would be sent unencrypted: it needs smtps or tls=required")]
    Cleartext,
}

impl SmtpServer {
    /// Reads `smtp[s]://[user:password@]host[:port][/name][?tls=required|opportunistic|none]`.
    ///
    /// # Errors
    ///
    /// If the URL has another form, or would send a password unencrypted to another machine.
    pub fn parse(url: &str) -> Result<Self, SmtpUrlError> {
        let url = Url::parse(url).map_err(|_| SmtpUrlError::Malformed)?;
        let encryption = encryption(&url)?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(SmtpUrlError::Host)?;
        let credentials = credentials(&url)?;
        let safe = matches!(encryption, Encryption::Always | Encryption::Required);
        if credentials.is_some() && !safe && !is_loopback(host) {
            return Err(SmtpUrlError::Cleartext);
        }
        let name = url.path().trim_matches('/');
        let hello = match name {
            "" => ClientId::default(),
            name => ClientId::Domain(name.to_owned()),
        };
        let port = url.port().unwrap_or_else(|| encryption.port());
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port, encryption, credentials, hello })
    }
}

impl Encryption {
    fn port(self) -> u16 {
        match self {
            Self::Always => 465,
            Self::Required | Self::Opportunistic => 587,
            Self::Never => 25,
        }
    }
}

fn encryption(url: &Url) -> Result<Encryption, SmtpUrlError> {
    match (url.scheme(), url.query()) {
        ("smtps", None) => Ok(Encryption::Always),
        ("smtp", None | Some("tls=required")) => Ok(Encryption::Required),
        ("smtp", Some("tls=opportunistic")) => Ok(Encryption::Opportunistic),
        ("smtp", Some("tls=none")) => Ok(Encryption::Never),
        ("smtp" | "smtps", Some(_)) => Err(SmtpUrlError::Query),
        _ => Err(SmtpUrlError::Scheme),
    }
}

fn credentials(url: &Url) -> Result<Option<Credentials>, SmtpUrlError> {
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) | (_, None) => Err(SmtpUrlError::Credentials),
        (user, Some(password)) => {
            let decode = |text| percent::decode(text).ok_or(SmtpUrlError::Credentials);
            Ok(Some(Credentials::new(decode(user)?, decode(password)?)))
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, host: &str, port: u16, encryption: Encryption) -> SmtpServer {
        let server = SmtpServer::parse(url).unwrap();
        assert_eq!((&*server.host, server.port), (host, port), "{url}");
        assert_eq!(server.encryption, encryption, "{url}");
        server
    }

    #[test]
    fn url_selects_host_port_and_encryption() {
        check("smtps://mx.example.org", "mx.example.org", 465, Encryption::Always);
        check("smtp://mx.example.org", "mx.example.org", 587, Encryption::Required);
        check("smtp://h:25?tls=opportunistic", "h", 25, Encryption::Opportunistic);
        check("smtp://[::1]?tls=none", "::1", 25, Encryption::Never);
        let named = check("smtp://h/hub.example.org?tls=required", "h", 587, Encryption::Required);
        assert_eq!(named.hello, ClientId::Domain("hub.example.org".to_owned()));
    }

    #[test]
    fn credentials_are_decoded_and_absent_from_debug_output() {
        let server = SmtpServer::parse("smtps://me%40x.org:s%3Acr%C3%A9t@h").unwrap();
        let expected = Credentials::new("me@x.org".to_owned(), "s:crét".to_owned());
        assert_eq!(server.credentials, Some(expected));
        assert!(!format!("{server:?}").contains("crét"), "{server:?}");
    }

    #[test]
    fn password_over_an_unencrypted_network_is_refused() {
        for url in ["smtp://me:secret@h?tls=none", "smtp://me:secret@h?tls=opportunistic"] {
            assert_eq!(SmtpServer::parse(url), Err(SmtpUrlError::Cleartext));
        }
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            assert!(SmtpServer::parse(&format!("smtp://me:secret@{host}?tls=none")).is_ok());
        }
    }

    #[test]
    fn invalid_url_is_refused_without_repeating_secrets() {
        for (url, error) in [
            ("mx.example.org", SmtpUrlError::Malformed),
            ("http://me:secret@h", SmtpUrlError::Scheme),
            ("smtp:secret", SmtpUrlError::Host),
            ("smtp://h?tls=maybe", SmtpUrlError::Query),
            ("smtps://h?tls=none", SmtpUrlError::Query),
            ("smtps://me@h", SmtpUrlError::Credentials),
            ("smtps://me:secret%@h", SmtpUrlError::Credentials),
        ] {
            assert_eq!(SmtpServer::parse(url), Err(error), "{url}");
            assert!(!error.to_string().contains("secret"));
        }
    }
}
