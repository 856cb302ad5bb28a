//! `matchwire probe` as the health check of an image runs it.

use std::process::Output;

use crate::support::{Hub, QUIET, program};

fn probe(arguments: &[&str]) -> (Option<i32>, String) {
    let output = program().arg("probe").args(arguments).output();
    let Output { status, stdout, stderr } = output.expect("it runs");
    (status.code(), String::from_utf8([stdout, stderr].concat()).expect("text"))
}

#[tokio::test]
async fn hub_that_serves_is_ready_and_one_that_has_stopped_is_not() {
    let mut hub = Hub::start_with(&["serve"], &[QUIET]);
    let address = hub.address.clone();
    assert_eq!(probe(&["--listen", &address]), (Some(0), String::new()));
    hub.stop();
    let (code, said) = probe(&["--listen", &address]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with(&format!("matchwire: no answer from {address}: ")), "{said}");
}

#[test]
fn port_must_be_known() {
    let (code, said) = probe(&["--listen", "127.0.0.1:0"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("--listen"), "{said}");
}
