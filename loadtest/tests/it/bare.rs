//! Fan-out only, where the tool itself publishes.

use std::{process::Command, time::Duration};

use crate::support::{
    RunOutput,
    bare::{Fault, serve},
    loadtest, run,
};

/// Runs a profile against a server with this fault. The checks of the tool's own load are off:
/// these tests are about what arrives, on busy machines.
fn against(fault: Fault, profile: &str, words: &str) -> RunOutput {
    let url = serve(fault);
    let patient = "--lag-ms-max 5000 --slip-ms-max 5000 --busy-max 2";
    loadtest(&format!("{profile} --raw {url} {patient} --warmup 0 {words}"))
}

#[test]
fn steady_run_is_clean_and_complete() {
    let ran = against(Fault::None, "fanout", "--sockets 40 --channels 4 --rate 400 --seconds 2");
    ran.ends_with(0, "OK");
    // 100 messages a second on each of the channels, to ten sockets each.
    let received = ran.number("/totals/received");
    assert!((received - ran.number("/totals/expected")).abs() < 0.5);
    assert!(ran.number("/throughput/messages") >= 4_000.0, "{}", ran.output);
    assert!((ran.number("/reach") - 1.0).abs() < 1e-9);
    assert!(ran.number("/spread/count") >= 400.0);
}

/// Other programs read these fields.
#[test]
fn report_has_its_fields() {
    let ran = against(Fault::None, "many", "--sockets 20 --channels 5 --seconds 1");
    for pointer in [
        "/version",
        "/verdict/status",
        "/verdict/reasons",
        "/verdict/notes",
        "/profile",
        "/target",
        "/command",
        "/at",
        "/machine/cores",
        "/machine/kernel",
        "/options/sockets",
        "/options/rate",
        "/connections/upgrades_per_s",
        "/connections/connect/p99_us",
        "/totals/gaps",
        "/totals/duplicates",
        "/totals/reorders",
        "/totals/missing",
        "/reach",
        "/throughput/messages_per_s",
        "/throughput/mb_per_s",
        "/latency/corrected/p9999_us",
        "/latency/uncorrected/p50_us",
        "/phases/0/classes/0/corrected/p99_us",
        "/classes/0/reach",
        "/spread/p99_us",
        "/documents/different",
        "/generator/busy_max",
        "/generator/lag/p99_us",
        "/publisher/slip/p99_us",
        "/publisher/blocked",
        "/series/0/p99_us",
        "/curves/corrected/0",
        "/faults",
    ] {
        assert!(ran.report.pointer(pointer).is_some(), "no {pointer} in:\n{}", ran.report);
    }
}

#[test]
fn stall_of_a_second_shows_in_the_percentiles() {
    let ran = against(
        Fault::Delay(100, Duration::from_secs(1)),
        "fanout",
        "--sockets 5 --rate 50 --seconds 6",
    );
    // Everything queued behind it is late too, evenly up to a second. On a busy machine some are later still.
    let (p999, max) = (ran.ms("latency/corrected/p999"), ran.ms("latency/corrected/max"));
    assert!(max >= 990.0 && p999 > 950.0, "{}", ran.output);
    // The publisher was never blocked, so its own latency has the stall as well.
    assert!(ran.ms("latency/uncorrected/max") > 950.0, "{}", ran.output);
}

#[test]
fn publisher_stall_counts_in_the_corrected_latency() {
    // Messages so large that the kernel buffers only some of them: the publisher has to wait.
    let ran = against(
        Fault::Delay(100, Duration::from_secs(1)),
        "fanout",
        "--sockets 1 --rate 60 --bytes 300000 --seconds 5",
    );
    let corrected = ran.ms("latency/corrected/mean");
    let uncorrected = ran.ms("latency/uncorrected/mean");
    assert!(ran.ms("latency/corrected/p90") > 500.0, "{}", ran.output);
    assert!(ran.number("/publisher/blocked") > 0.05, "{}", ran.output);
    // The system decides how much the kernel buffers, and so how long the publisher waits.
    assert!(corrected > uncorrected + 5.0, "{corrected} {uncorrected}\n{}", ran.output);
}

#[test]
fn dropped_messages_are_missing() {
    let ran = against(Fault::Drop(50), "fanout", "--sockets 3 --rate 500 --seconds 1");
    assert_eq!(ran.code, 1, "{}", ran.output);
    assert!(ran.number("/totals/missing") >= 27.0, "{}", ran.output);
    assert!(ran.number("/reach") < 0.99, "{}", ran.output);
}

#[test]
fn messages_received_twice_are_duplicates() {
    let ran = against(Fault::Twice(50), "fanout", "--sockets 3 --rate 500 --seconds 1");
    assert_eq!(ran.code, 1, "{}", ran.output);
    assert!(ran.number("/totals/duplicates") >= 27.0, "{}", ran.output);
    assert!(ran.number("/totals/missing") < 0.5, "{}", ran.output);
}

#[test]
fn swapped_messages_are_out_of_order_and_not_missing() {
    let ran = against(Fault::Swap(50), "fanout", "--sockets 3 --rate 510 --seconds 1");
    assert_eq!(ran.code, 1, "{}", ran.output);
    assert!(ran.number("/totals/reorders") >= 27.0, "{}", ran.output);
    // At most the one message that is held at the end never arrives.
    assert!(ran.number("/totals/missing") <= 3.0, "{}", ran.output);
}

#[test]
fn closed_connections_are_reported() {
    let ran = against(Fault::Close(300), "fanout", "--sockets 3 --rate 500 --seconds 1");
    ran.ends_with(1, "connections ended");
    assert!(ran.number("/totals/closed") >= 3.0, "{}", ran.output);
}

#[test]
fn generator_without_a_core_fails_the_run() {
    let url = serve(Fault::None);
    // One core for the program and for some busy loops.
    let core = first_core();
    let mut spinning: Vec<_> = (0..5)
        .map(|_| {
            let mut spin = Command::new("taskset");
            spin.args(["-c", &core, "sh", "-c", "while :; do :; done"]).spawn().unwrap()
        })
        .collect();
    // The program has less of it than the server has of a busy machine.
    let mut starved = Command::new("nice");
    starved.args(["-n", "10", "taskset", "-c", &core, env!("CARGO_BIN_EXE_matchwire-loadtest")]);
    let ran = run(
        starved,
        &format!("fanout --raw {url} --sockets 100 --rate 1000 --seconds 1 --warmup 0"),
    );
    for spin in &mut spinning {
        spin.kill().unwrap();
        spin.wait().unwrap();
    }
    ran.ends_with(3, "the generator was the bottleneck");
    assert!(ran.number("/generator/starved_max") > 0.3, "{}", ran.output);
}

/// A core that this process may use.
fn first_core() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    line.trim().split([',', '-']).next().unwrap().to_owned()
}

#[test]
fn saturation_counts_and_does_not_blame_the_generator() {
    let ran = against(Fault::None, "fanout", "--sockets 4 --saturate --seconds 1");
    ran.ends_with(0, "OK");
    assert!(ran.number("/throughput/messages_per_s") > 1000.0, "{}", ran.output);
    assert!((ran.number("/reach") - 1.0).abs() < 1e-9, "{}", ran.output);
}

#[test]
fn storm_reconnects_all_sockets() {
    let ran = against(Fault::None, "storm", "--sockets 20 --untouched 3 --rate 200 --seconds 2");
    assert!((ran.number("/connections/resume/count") - 20.0).abs() < 0.5, "{}", ran.output);
    assert_eq!(ran.report["phases"][2]["name"], "after", "{}", ran.output);
    assert_eq!(ran.code, 0, "{}", ran.output);
}

#[test]
fn several_threads_report_the_same_as_one() {
    let words = "--sockets 30 --channels 3 --rate 300 --seconds 1 --threads 3";
    let ran = against(Fault::None, "fanout", words);
    ran.ends_with(0, "OK");
    // Each message has one first and one last receiver, in whichever thread.
    let (spreads, messages) = (ran.number("/spread/count"), ran.number("/throughput/messages"));
    assert!((messages - spreads * 10.0).abs() < 0.5, "{}", ran.output);
    assert_eq!(ran.report["generator"]["threads"].as_array().map(Vec::len), Some(3));
}

#[test]
fn slow_readers_are_reported_separately() {
    let ran = against(Fault::None, "slow", "--sockets 20 --share 0.2 --rate 300 --seconds 3");
    ran.ends_with(0, "OK");
    let classes = &ran.report["phases"][1]["classes"];
    assert_eq!((&classes[0]["class"], &classes[1]["class"]), (&"others".into(), &"slow".into()));
    assert!(classes[1]["corrected"]["max_us"].as_f64() > Some(900_000.0), "{}", ran.output);
    let others = ran.ms("latency/corrected/max");
    assert!(others < classes[1]["corrected"]["max_us"].as_f64().unwrap() / 1e3, "{}", ran.output);
}

#[test]
fn ramp_ends_at_its_maximum_or_at_the_latency_target() {
    let words = "--from 2 --to 8 --step-seconds 0.3";
    let ran = against(Fault::None, "ramp", &format!("{words} --p99-ms 5000"));
    assert!((ran.number("/extra/most_sockets") - 8.0).abs() < 0.1, "{}", ran.output);
    let ran = against(Fault::None, "ramp", &format!("{words} --p99-ms 0"));
    assert!(ran.number("/extra/most_sockets") < 0.5, "{}", ran.output);
    assert_eq!(ran.report["extra"]["limited_by"], "the target");
}

#[test]
fn idle_sockets_have_their_memory_measured() {
    let ran = against(Fault::None, "idle", "--sockets 100 --seconds 0.5");
    ran.ends_with(0, "OK");
    // The server is in this process, which the tool has found by the port.
    assert!((ran.number("/server/pid") - f64::from(std::process::id())).abs() < 0.5);
    assert!(ran.number("/extra/pss_bytes_each").is_finite(), "{}", ran.output);
}

#[test]
fn only_this_machine_can_be_loaded() {
    let ran = loadtest("fanout --raw ws://192.0.2.1:80 --sockets 1");
    assert_eq!(ran.code, 2, "{}", ran.output);
    assert!(ran.output.contains("not this machine"), "{}", ran.output);
}
