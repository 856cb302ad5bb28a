//! A hub that is killed at any moment, and some hundred clients that must not lose anything.
//!
//! [`load`] pushes matches and odds, [`client`] and [`rest`] follow them and keep what they saw, [`faults`]
//! kills the hub and damages its log, [`observer`] reads the log, and [`checker`] compares: each event
//! exactly once and in order, documents equal at each position, another epoch only where the log was damaged.

mod afterwards;
mod checker;
mod client;
#[path = "../clock/mod.rs"]
mod clock_offset;
mod cluster;
mod damage;
mod faults;
mod history;
mod http;
mod hub;
mod load;
#[path = "../it/support/merge_patch.rs"]
mod merge_patch;
mod observer;
#[path = "../ports/mod.rs"]
mod ports;
mod rest;
mod rng;
mod run;

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use base::clock::now;

use self::{
    cluster::{RoundKind, RoundNumber},
    run::{Outcome, Plan, round},
};

/// Kills of a round at most, unless `TEST_CRASH_ROUND_KILLS` says otherwise.
const KILLS_PER_ROUND: u64 = 40;

/// The log is damaged in every second round.
const ROUNDS: u64 = 2;

/// The name of the test, for the process that runs it in a mount namespace of its own.
const TEST: &str = "hub_that_is_killed_at_any_moment_loses_nothing";

/// `TEST_CRASH_SECONDS` is the time of a round, `TEST_CRASH_ROUND_KILLS` the number of its kills at most,
/// `TEST_CRASH_KILLS` the number of kills after which the last round ends, and `TEST_CRASH_SEED` repeats a
/// run.
#[test]
#[ignore = "it takes more than a minute, and most of the machine: the suite crash runs it"]
fn hub_that_is_killed_at_any_moment_loses_nothing() {
    if variable("TEST_CRASH_NAMESPACE").is_none() && run_in_namespace() {
        return;
    }
    let seed =
        variable("TEST_CRASH_SEED").unwrap_or_else(|| u64::try_from(now()).expect("after 1970"));
    let kills = variable("TEST_CRASH_KILLS");
    let plan = Plan {
        seed,
        clients: variable("TEST_CRASH_CLIENTS").unwrap_or(300),
        rate: variable("TEST_CRASH_RATE").unwrap_or(800),
        duration: Duration::from_secs(variable("TEST_CRASH_SECONDS").unwrap_or(20)),
        kills_max: variable("TEST_CRASH_ROUND_KILLS").unwrap_or(KILLS_PER_ROUND),
        damages: false,
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (mut killed, mut number, mut findings) = (0, 0, String::new());
    loop {
        let plan = Plan {
            seed: seed + number,
            damages: number % 2 == 1 || variable("TEST_CRASH_DAMAGES").is_some(),
            ..plan
        };
        let outcome = runtime.block_on(async { tokio::spawn(round(plan)).await });
        let outcome = outcome.expect("a round does not panic");
        killed += outcome.faults.kills;
        findings += &print(&outcome);
        number += 1;
        let is_over = kills.map_or(number >= ROUNDS, |kills| killed >= kills);
        if is_over {
            break;
        }
    }
    assert!(findings.is_empty(), "findings in {number} rounds from seed {seed}:\n{findings}");
}

/// `TEST_CLUSTER_SECONDS` is the time of a round. There is one for each program of `TEST_NATS_SERVERS`.
#[test]
#[ignore = "it takes more than a minute, and most of the machine: the suite cluster runs it"]
fn cluster_whose_parts_fail_loses_nothing() {
    cluster_rounds(false, RoundKind::Faults);
}

/// A round for each program of `TEST_NATS_SERVERS`.
#[test]
#[ignore = "it takes more than a minute, and most of the machine: the suite cluster runs it"]
fn cluster_whose_servers_lose_records_tells_its_clients() {
    cluster_rounds(true, |_| RoundKind::Losses);
}

/// A round for each program of `TEST_NATS_SERVERS`. `TEST_OLD_PROGRAM` is what the nodes are upgraded from.
#[test]
#[ignore = "it takes more than a minute, and most of the machine: the suite cluster-long runs it"]
#[expect(clippy::print_stdout, reason = "says what it tests")]
fn cluster_that_is_upgraded_loses_nothing() {
    println!("upgrade from {}", cluster::old_program().display());
    cluster_rounds(false, |_| RoundKind::Upgrade);
}

/// `damages`: whether records are lost.
#[expect(clippy::print_stdout, reason = "says what is skipped")]
fn cluster_rounds(damages: bool, kind: impl Fn(RoundNumber) -> RoundKind) {
    let seed =
        variable("TEST_CRASH_SEED").unwrap_or_else(|| u64::try_from(now()).expect("after 1970"));
    let plan = Plan {
        seed,
        clients: variable("TEST_CRASH_CLIENTS").unwrap_or(80),
        rate: variable("TEST_CRASH_RATE").unwrap_or(250),
        duration: Duration::from_secs(variable("TEST_CLUSTER_SECONDS").unwrap_or(20)),
        kills_max: u64::MAX,
        damages,
    };
    let programs = cluster::programs();
    if programs.is_empty() {
        println!("skipped: there is no nats-server");
        return;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (mut findings, count) = (String::new(), programs.len());
    for (number, program) in programs.into_iter().enumerate() {
        println!("cluster: {}", program.display());
        let Some(database) = cluster::Database::start_or_skipped() else { return };
        let round = cluster::round(plan, kind(RoundNumber { number, count }), program, database);
        let outcome = runtime.block_on(async { tokio::spawn(round).await });
        findings += &print(&outcome.expect("a round does not panic"));
    }
    assert!(findings.is_empty(), "findings from seed {seed}:\n{findings}");
}

/// Runs the test in a mount namespace of its own, so that what it mounts is gone with its process, however
/// that ends. `false`, with a message, if this process may not have one.
#[expect(clippy::print_stdout, reason = "what the test prints, and what is skipped")]
fn run_in_namespace() -> bool {
    let may = |options: &&&str| {
        let mut unshare = Command::new("unshare");
        unshare.args([**options, "true"]).stderr(Stdio::null());
        unshare.status().is_ok_and(|status| status.success())
    };
    // Without a namespace of users, if this process may do so.
    let Some(options) = ["-m", "-Urm"].iter().find(may) else {
        println!("skipped: a full disk and another boot, as nothing can be mounted here");
        return false;
    };
    let mut process = Command::new("unshare")
        .arg(options)
        .arg(std::env::current_exe().expect("the path of this program"))
        .args(["--exact", TEST, "--ignored", "--nocapture"])
        .env("TEST_CRASH_NAMESPACE", "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let output = process.stdout.take().expect("its output is piped");
    // Without the lines of the test runner, which would be counted as a second test.
    let is_of_runner = |line: &str| line.starts_with("running ") || line.starts_with("test ");
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if !is_of_runner(&line) {
            println!("{line}");
        }
    }
    let status = process.wait().expect("it has ended");
    assert!(status.success(), "the test in its namespace: {status}");
    true
}

/// Returns the findings, a line each.
#[expect(clippy::print_stdout, reason = "the summary of a round")]
fn print(outcome: &Outcome) -> String {
    let Outcome { report, faults, output, .. } = outcome;
    println!("crash: {outcome}");
    let findings = format!("{report}{}", faults.failures.join("\n"));
    if !findings.is_empty() {
        println!("{findings}\nwhat was done: {faults}\nthe hub:\n{output}");
    }
    findings
}

#[expect(
    clippy::disallowed_methods,
    reason = "it is set by whoever runs the tests, and no setting"
)]
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
