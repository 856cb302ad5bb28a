//! Over TLS, with an authority of our own.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::{server::Server, *};

/// An authority and what it has signed, as files.
struct Authority {
    folder: TempDir,
}

impl Authority {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = certificate.signed_by(&key, &authority).unwrap();
        fs::write(folder.path().join("authority.pem"), authority.pem()).unwrap();
        fs::write(folder.path().join("server.pem"), certificate.pem()).unwrap();
        fs::write(folder.path().join("server.key"), key.serialize_pem()).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    async fn server(&self, more: &[&str]) -> Option<Server> {
        let (certificate, key) = (self.path("server.pem"), self.path("server.key"));
        let arguments = ["--certificate", &*certificate, "--key", &*key];
        Server::start(&[&arguments, more].concat()).await
    }

    fn settings(&self, url_text: &str) -> MailConfig {
        let authority = self.path("authority.pem").into();
        MailConfig { smtp_url: url(url_text), authority, ..settings(0) }
    }
}

#[tokio::test]
async fn connection_is_upgraded_before_credentials_are_sent() {
    let authority = Authority::new();
    let login = ["--user", "me", "--password", "secret"];
    let Some(mut server) = authority.server(&login).await else { return };
    let port = server.port;
    for tls in ["", "?tls=required"] {
        let config = authority.settings(&format!("smtp://me:secret@127.0.0.1:{port}{tls}"));
        let mailer = TestMailer::start(&config).await;
        mailer.put("ann@example.com").await;
        assert_eq!(server.mail().await["tls"], true);
        mailer.stop().await;
    }
}

#[tokio::test]
async fn opportunistic_tls_is_used_if_offered() {
    let authority = Authority::new();
    let Some(mut server) = authority.server(&[]).await else { return };
    let url = format!("smtp://127.0.0.1:{}?tls=opportunistic", server.port);
    let mailer = TestMailer::start(&authority.settings(&url)).await;
    mailer.put("ann@example.com").await;
    assert_eq!(server.mail().await["tls"], true);
    mailer.stop().await;
}

/// The mail waits, and the server has received nothing.
async fn check_waits(config: &MailConfig, server: &Server) {
    let mailer = TestMailer::start(config).await;
    let mail = mailer.put("ann@example.com").await;
    let row = mailer.until(mail, |_| true).await;
    assert_eq!(row, Row { attempts: 0, sent_us: None, failed_us: None, error: None });
    assert!(!server.has_unread(), "the server was given something");
    mailer.stop().await;
}

#[tokio::test]
async fn server_with_untrusted_certificate_receives_nothing() {
    let authority = Authority::new();
    let Some(server) = authority.server(&["--user", "me", "--password", "secret"]).await else {
        return;
    };
    let url = format!("smtp://me:secret@127.0.0.1:{}", server.port);
    let other = Authority::new();
    let trusting_others = other.settings(&url);
    check_refused(&trusting_others, "certificate").await;
    check_waits(&trusting_others, &server).await;
}

#[tokio::test]
async fn server_without_starttls_receives_nothing() {
    let Some(server) = Server::start(&["--user", "me", "--password", "secret"]).await else {
        return;
    };
    let authority = Authority::new();
    let config = authority.settings(&format!("smtp://me:secret@127.0.0.1:{}", server.port));
    check_refused(&config, "STARTTLS").await;
    check_waits(&config, &server).await;
}

/// The reason for which no connection is made.
async fn check_refused(config: &MailConfig, why: &str) {
    let server = SmtpServer::parse(config.smtp_url.resolve().unwrap().expose()).unwrap();
    let endpoint = SmtpEndpoint::new(server, &config.authority, PATIENCE).unwrap();
    let refused = SmtpConnection::new(&Arc::new(endpoint)).ready().await.unwrap_err();
    let text = refused.to_string();
    assert!(text.contains(why), "{text}");
    assert!(!text.contains("secret"), "{text}");
}
