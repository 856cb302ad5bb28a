//! Servers that speak TLS.

use std::net::SocketAddr;

use crate::support::{
    RunOutput, bare, loadtest,
    stream::{CHANNEL, Fault, Nodes, serve_nodes},
    tls::Certificate,
};

/// These tests are about what arrives, on busy machines.
const PATIENT: &str = "--lag-ms-max 5000 --slip-ms-max 5000 --busy-max 2 --warmup 0";

/// The flags that name these nodes, each behind a server that speaks TLS.
fn flags(certificate: &Certificate, nodes: &Nodes) -> String {
    let urls = nodes
        .addresses
        .iter()
        .map(|address| format!("--url wss://localhost:{}/stream/v1", certificate.front(*address)));
    format!("{} {}", certificate.flag(), urls.collect::<Vec<_>>().join(" "))
}

fn against(nodes: &Nodes, profile: &str, words: &str) -> RunOutput {
    let certificate = Certificate::new();
    let flags = flags(&certificate, nodes);
    loadtest(&format!("{profile} {flags} --key k --channel {CHANNEL} {PATIENT} {words}"))
}

#[test]
fn steady_run_is_clean_and_its_documents_are_compared() {
    let ran = against(&serve_nodes(1, Fault::None), "fanout", "--sockets 20 --seconds 2");
    ran.ends_with(0, "OK");
    assert!((ran.number("/documents/compared") - 4.0).abs() < 0.5, "{}", ran.output);
    assert!(ran.number("/throughput/messages") >= 2_000.0, "{}", ran.output);
    assert!((ran.number("/reach") - 1.0).abs() < 1e-9, "{}", ran.output);
    // The kernel's timestamps are those of the encrypted bytes.
    assert!(ran.number("/generator/lag/count") > 0.0, "{}", ran.output);
}

#[test]
fn faults_are_found_as_without_tls() {
    let ran = against(&serve_nodes(1, Fault::Skip(30)), "fanout", "--sockets 5 --seconds 1.5");
    ran.ends_with(1, "gaps");
    assert!(ran.number("/totals/gaps") >= 15.0, "{}", ran.output);
}

#[test]
fn sockets_of_a_hub_that_ends_continue_at_the_next() {
    for profile in ["storm --untouched 4", "soak --cuts 20"] {
        let ran = against(&serve_nodes(2, Fault::End(100)), profile, "--sockets 20 --seconds 3");
        ran.ends_with(0, "OK");
        assert!(ran.number("/totals/missing") < 0.5, "{}", ran.output);
        assert!(ran.number("/hubs/0/sockets_at_end") < 0.5, "{}", ran.output);
        assert!(ran.number("/totals/moved") >= 1.0, "{}", ran.output);
    }
}

#[test]
fn follow_and_listed_channels_work_over_https_urls() {
    let certificate = Certificate::new();
    let port = certificate.front(serve_nodes(1, Fault::None).addresses[0]);
    let common = format!("{} --url https://127.0.0.1:{port}/stream/v1 --key k", certificate.flag());
    let pattern = "--channel football/*/odds/* --sockets 4 --seconds 1";
    loadtest(&format!("many {common} {pattern} {PATIENT}")).ends_with(0, "OK");
    let ran = loadtest(&format!("follow {common} {pattern}"));
    assert_eq!(ran.code, 0, "{}", ran.output);
    assert!(ran.number("/compared") >= 1.0, "{}", ran.output);
}

#[test]
fn bare_channels_are_published_and_received() {
    // Messages of several TLS records, and small ones.
    for words in ["--rate 50 --bytes 300000", "--rate 2000", "--saturate"] {
        let certificate = Certificate::new();
        let address = bare::serve(bare::Fault::None);
        let address: SocketAddr = address.trim_start_matches("ws://").parse().unwrap();
        let (port, flag) = (certificate.front(address), certificate.flag());
        let ran = loadtest(&format!(
            "fanout --raw wss://127.0.0.1:{port} {flag} --sockets 4 --seconds 1 {PATIENT} {words}"
        ));
        ran.ends_with(0, "OK");
        assert!((ran.number("/reach") - 1.0).abs() < 1e-9, "{}", ran.output);
    }
}

#[test]
fn unknown_authority_is_refused() {
    let port = Certificate::new().front(serve_nodes(1, Fault::None).addresses[0]);
    let other = Certificate::new();
    let flag = other.flag();
    let ran = loadtest(&format!("fanout --url wss://localhost:{port}/ {flag} --key k"));
    ran.ends_with(1, "invalid peer certificate");
}
