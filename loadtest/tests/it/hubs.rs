//! Several hubs that number alike, as the nodes of a cluster do.

use std::net::{IpAddr, Ipv4Addr, TcpListener};

use crate::support::{
    RunOutput, loadtest,
    stream::{CHANNEL, Fault, Nodes, serve_nodes},
};

/// Runs a profile against these nodes.
fn against(nodes: &Nodes, profile: &str, words: &str) -> RunOutput {
    let urls = nodes.flags();
    // These tests are about what arrives, on busy machines.
    let patient = "--lag-ms-max 5000 --busy-max 2";
    loadtest(&format!("{profile} {urls} --key k --channel {CHANNEL} {patient} --warmup 0 {words}"))
}

/// Checks that nothing was wrong, and the counts of these fields.
#[track_caller]
fn check(ran: &RunOutput, counts: &[(&str, u64)]) {
    ran.ends_with(0, "OK");
    let zero = ["missing", "gaps", "duplicates", "reorders", "errors", "closed", "not_resumed"];
    let zero = zero.map(|name| (format!("/totals/{name}"), 0));
    let counts = counts.iter().map(|(pointer, count)| ((*pointer).to_owned(), *count));
    for (pointer, count) in zero.into_iter().chain(counts) {
        let found = ran.report.pointer(&pointer).and_then(serde_json::Value::as_u64);
        assert_eq!(found, Some(count), "{pointer} in:\n{}{}", ran.report["hubs"], ran.output);
    }
}

#[test]
fn sockets_are_spread_evenly_and_documents_compared_between_hubs() {
    let nodes = serve_nodes(3, Fault::None);
    let ran = against(&nodes, "fanout", "--sockets 30 --seconds 1 --threads 2");
    let hub = |nth: usize| [format!("/hubs/{nth}/sockets"), format!("/hubs/{nth}/sockets_at_end")];
    let hubs: Vec<_> = (0..3).flat_map(hub).collect();
    let counts: Vec<_> = hubs.iter().map(|pointer| (pointer.as_str(), 10)).collect();
    check(&ran, &counts);
    check(&ran, &[("/documents/compared", 4), ("/documents/different", 0)]);
    // All nodes are threads of this process, which counts once.
    assert!(ran.report["hubs"][0]["server"]["pid"] == std::process::id(), "{}", ran.report);
    assert!(ran.report["hubs"][1]["server"].is_null(), "{}", ran.report["hubs"]);
}

#[test]
fn cut_sockets_resume_at_the_next_hub() {
    let nodes = serve_nodes(2, Fault::None);
    let ran = against(&nodes, "storm", "--sockets 20 --untouched 4 --seconds 2");
    let counts = [
        ("/totals/resumed", 20),
        ("/totals/moved", 0),
        ("/connections/caught_up/count", 20),
        ("/hubs/0/sockets", 12),
        ("/hubs/0/upgrades", 22),
        ("/hubs/1/upgrades", 22),
        ("/hubs/1/sockets_at_end", 12),
    ];
    check(&ran, &counts);
}

#[test]
fn sockets_of_a_hub_that_ends_continue_at_the_others() {
    for words in ["fanout --sockets 20", "soak --sockets 20 --cuts 20 --pauses 0"] {
        let nodes = serve_nodes(3, Fault::End(100));
        let ran = against(&nodes, words, "--seconds 2.5");
        check(&ran, &[("/hubs/0/sockets_at_end", 0)]);
        let at_end = ran.number("/hubs/1/sockets_at_end") + ran.number("/hubs/2/sockets_at_end");
        assert!((at_end - 20.0).abs() < 0.5, "{}", ran.output);
        // With cuts, some of its sockets may be at other hubs when it ends.
        assert!(ran.number("/totals/moved") >= 1.0, "{}", ran.output);
        assert!(ran.output.contains("continued at the next"), "{}", ran.output);
        assert!(ran.number("/documents/compared") >= 4.0, "{}", ran.output);
    }
}

#[test]
fn sockets_that_a_hub_sends_away_continue_at_the_next() {
    let nodes = serve_nodes(2, Fault::Drain(60));
    let ran = against(&nodes, "fanout", "--sockets 20 --seconds 1.5");
    let counts = [("/totals/moved", 10), ("/hubs/0/closed", 10), ("/hubs/1/sockets_at_end", 20)];
    check(&ran, &counts);
    assert_eq!(ran.report["faults"].as_array().map(Vec::len), Some(0), "{}", ran.output);
}

#[test]
fn hub_that_is_gone_is_counted_and_not_fatal() {
    let mut nodes = serve_nodes(1, Fault::None);
    // Nothing listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    nodes.addresses.push(gone);
    let ran = against(&nodes, "fanout", "--sockets 20 --seconds 1");
    let counts = [
        ("/totals/unreached", 10),
        ("/totals/refused", 0),
        ("/hubs/1/unreached", 10),
        ("/hubs/1/sockets_at_end", 0),
        ("/hubs/0/sockets_at_end", 20),
    ];
    check(&ran, &counts);
}

#[test]
fn run_without_any_hub_fails() {
    let addresses = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let urls = addresses.map(|gone| format!("--url ws://{}/", gone.local_addr().unwrap()));
    let ran = loadtest(&format!("fanout {} --key k", urls.join(" ")));
    ran.ends_with(1, "did not let us in");
}

#[test]
fn change_that_is_lost_between_two_hubs_is_a_gap() {
    let nodes = serve_nodes(2, Fault::SkipOnResume);
    let ran = against(&nodes, "storm", "--sockets 20 --untouched 2 --seconds 2");
    ran.ends_with(1, "gaps");
    assert!(ran.number("/totals/gaps") >= 1.0, "{}", ran.output);
    assert!((ran.number("/totals/gaps") - ran.number("/totals/missing")).abs() < 0.5);
}

#[test]
fn every_hub_is_reached_from_all_source_addresses() {
    let nodes = serve_nodes(2, Fault::None);
    let ran = against(&nodes, "fanout", "--sockets 8 --seconds 0.5 --addresses 2");
    ran.ends_with(0, "OK");
    for node in 0..2 {
        let sources: Vec<_> = nodes.sources(node).into_iter().collect();
        assert_eq!(sources, [1, 2].map(|last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last))));
    }
}
