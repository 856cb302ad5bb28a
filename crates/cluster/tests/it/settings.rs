use std::fs;

use cluster::{ClusterError, Peers, Stream};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;

use crate::support::{Server, config, stream, with_each_server};

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn wrong_settings_of_the_stream_are_reported() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start(&program, &dir);
        let mut config = config(&[&server]);
        let log = Stream::connect(&config).await.expect("the server listens");
        assert!(matches!(log.check().await, Err(ClusterError::NoStream { .. })));
        let log = stream(&config).await;
        log.set_up().await.expect("it is idempotent");
        log.check().await.expect("it was created so");
        assert!(log.server_version().starts_with("2."), "{}", log.server_version());
        config.log_age_ms = 300_000;
        let other = Stream::connect(&config).await.expect("the server listens");
        let error = other.check().await.expect_err("the age differs").to_string();
        assert_eq!(error, "the stream MW_test has max_age 900s, and must have 300s");
        assert!(other.set_up().await.is_err(), "an existing stream is left alone");
    });
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn server_that_cannot_be_reached_is_named() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let mut server = Server::start(&program, &dir);
        server.kill();
        let error = Stream::connect(&config(&[&server])).await.expect_err("nobody listens");
        assert_eq!(error.to_string(), format!("cannot connect to NATS at {}", server.url()));
    });
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn login_and_certificate_are_used() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let [cert_file, key_file] = ["cert.pem", "key.pem"].map(|name| dir.path().join(name));
        fs::write(&cert_file, cert.pem()).expect("a file of our own");
        fs::write(&key_file, signing_key.serialize_pem()).expect("a file of our own");
        let lines = format!(
            "authorization {{ user: node, password: secret }}\n\
             tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n",
            cert_file.display(),
            key_file.display()
        );
        let server = Server::start_with(&program, &dir, &lines);
        let mut config = config(&[&server]);
        config.nats_ca = cert_file;
        config.nats_user = "node".into();
        config.nats_password = "secret".into();
        stream(&config).await.check().await.expect("it is set up");
        Peers::connect(&config).await.expect("it uses the same login");
        config.nats_password = "wrong".into();
        let refused = Stream::connect(&config).await;
        assert!(matches!(refused, Err(ClusterError::Connect { .. })), "{refused:?}");
        config.nats_ca = std::path::PathBuf::new();
        config.nats_password = "secret".into();
        let refused = Stream::connect(&config).await;
        assert!(matches!(refused, Err(ClusterError::Connect { .. })), "it is not trusted");
    });
}

#[test]
#[ignore = "needs NATS: make test-systems runs it"]
fn server_that_takes_only_small_messages_is_refused() {
    with_each_server(async |program| {
        let dir = TempDir::new().expect("a directory");
        let server = Server::start_with(&program, &dir, "max_payload: 524288\n");
        let error = Stream::connect(&config(&[&server])).await.expect_err("it is too small");
        let expected =
            "the NATS server takes messages of at most 524288 bytes, and must take 528384";
        assert_eq!(error.to_string(), expected);
    });
}
