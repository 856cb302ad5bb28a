//! The hub's own protocol, where the hub publishes.

use std::time::Duration;

use crate::support::{
    RunOutput, loadtest,
    stream::{CHANNEL, Fault, serve},
};

/// Runs a profile against a hub with this fault.
fn against(fault: Fault, profile: &str, words: &str) -> RunOutput {
    let url = serve(fault);
    let key = if words.contains("--key") { "" } else { "--key k" };
    // These tests are about what arrives, on busy machines.
    let patient = "--lag-ms-max 5000 --busy-max 2";
    loadtest(&format!("{profile} --url {url} {key} --channel {CHANNEL} {patient} {words}"))
}

#[test]
fn steady_run_is_clean_and_its_documents_are_compared() {
    let ran = against(Fault::None, "fanout", "--sockets 20 --seconds 2 --warmup 0.2");
    ran.ends_with(0, "OK");
    assert!((ran.number("/documents/compared") - 4.0).abs() < 0.5, "{}", ran.output);
    assert!(ran.number("/throughput/messages") >= 2_000.0, "{}", ran.output);
    assert!((ran.number("/reach") - 1.0).abs() < 1e-9, "{}", ran.output);
}

#[test]
fn compressed_frames_are_read_and_their_documents_compared() {
    let ran = against(Fault::None, "fanout", "--sockets 8 --deflate 0.5 --seconds 2 --warmup 0");
    ran.ends_with(0, "OK");
    assert!((ran.number("/documents/compared") - 4.0).abs() < 0.5, "{}", ran.output);
    let ran = against(Fault::Skip(30), "fanout", "--sockets 2 --deflate --seconds 1 --warmup 0");
    ran.ends_with(1, "gaps");
}

#[test]
fn change_that_a_pick_leaves_out_is_not_missing() {
    let words = "--sockets 6 --pick /price --pick= --seconds 2 --warmup 0";
    let ran = against(Fault::None, "fanout", words);
    ran.ends_with(0, "OK");
    assert!((ran.number("/reach") - 1.0).abs() < 1e-9, "{}", ran.output);
    // Half of the sockets get half of the changes.
    let messages = ran.number("/throughput/messages");
    assert!((400.0..960.0).contains(&messages), "{messages} messages: {}", ran.output);
    // A change that the pick has is missing.
    let ran =
        against(Fault::Skip(30), "fanout", "--sockets 2 --pick /price --seconds 1.5 --warmup 0");
    ran.ends_with(1, "gaps");
}

#[test]
fn patterns_are_followed_as_names_are() {
    let url = serve(Fault::None);
    let ran = loadtest(&format!(
        "many --url {url} --key k --channel football/*/odds/* --sockets 8 --seconds 1 --warmup 0 --lag-ms-max 5000 --busy-max 2"
    ));
    ran.ends_with(0, "OK");
}

#[test]
fn late_change_counts_from_its_scheduled_time() {
    let fault = Fault::Stall(100, Duration::from_secs(1));
    let ran = against(fault, "fanout", "--sockets 5 --seconds 4 --warmup 0");
    assert!(ran.ms("latency/corrected/p90") > 500.0, "{}", ran.output);
    assert!(ran.ms("latency/corrected/max") > 900.0, "{}", ran.output);
    let (corrected, uncorrected) =
        (ran.ms("latency/corrected/p50"), ran.ms("latency/uncorrected/p50"));
    assert!(corrected > 3.0 * uncorrected, "{}", ran.output);
}

#[test]
fn omitted_change_is_a_gap() {
    let ran = against(Fault::Skip(30), "fanout", "--sockets 5 --seconds 1.5 --warmup 0");
    ran.ends_with(1, "gaps");
    assert!(ran.number("/totals/gaps") >= 15.0, "{}", ran.output);
    assert!((ran.number("/totals/gaps") - ran.number("/totals/missing")).abs() < 0.5);
}

#[test]
fn repeated_change_is_a_duplicate() {
    let ran = against(Fault::Twice(30), "fanout", "--sockets 5 --seconds 1.5 --warmup 0");
    ran.ends_with(1, "duplicates");
    assert!(ran.number("/totals/missing") < 0.5, "{}", ran.output);
}

#[test]
fn document_that_differs_from_the_image_is_reported() {
    let ran = against(Fault::Forge(3), "fanout", "--sockets 5 --seconds 1 --warmup 0");
    ran.ends_with(1, "documents different");
}

#[test]
fn storm_resumes_without_a_gap() {
    let ran = against(Fault::None, "storm", "--sockets 20 --untouched 3 --seconds 2 --warmup 0");
    ran.ends_with(0, "OK");
    assert!((ran.number("/totals/resumed") - 20.0).abs() < 0.5, "{}", ran.output);
    assert!((ran.number("/connections/caught_up/count") - 20.0).abs() < 0.5, "{}", ran.output);
}

#[test]
fn image_in_place_of_a_resume_is_reported_and_not_missing() {
    let ran = against(Fault::Forget, "storm", "--sockets 6 --untouched 1 --seconds 2 --warmup 0");
    assert!((ran.number("/totals/not_resumed") - 6.0).abs() < 0.5, "{}", ran.output);
    assert!(ran.number("/totals/missing") < 0.5, "{}", ran.output);
}

#[test]
fn soak_churns_without_a_fault() {
    let ran = against(
        Fault::None,
        "soak",
        "--sockets 12 --seconds 2 --warmup 0 --cuts 10 --resubscribes 10 --pauses 2 --pause-seconds 0.5",
    );
    ran.ends_with(0, "OK");
    assert!(ran.number("/extra/cuts") >= 15.0, "{}", ran.output);
}

#[test]
fn key_is_not_in_the_report() {
    let ran =
        against(Fault::None, "fanout", "--sockets 1 --seconds 0.3 --warmup 0 --key hush-hush");
    assert!(!ran.report.to_string().contains("hush-hush") && !ran.output.contains("hush-hush"));
    assert!(ran.report["command"].as_str().unwrap().contains("--key ***"), "{}", ran.report);
}
