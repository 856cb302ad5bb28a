//! The same requests with `wrk`, if it is installed.

use std::{net::SocketAddr, process::Command};

use super::program::{median, say};

/// Seconds of a round.
const ROUND: &str = "1s";

/// Loads the bare handler and the hub in turn, and prints the medians of their rates and of the
/// ratios.
pub(crate) fn compare(places: [(SocketAddr, &str); 2], headers: &[String], rounds: usize) {
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for ((address, path), rates) in places.iter().zip(&mut rates) {
            let Some(rate) = rate(&format!("http://{address}{path}"), headers) else { return };
            rates.push(rate);
        }
    }
    let [floor, hub] = rates;
    let ratios = hub.iter().zip(&floor).map(|(hub, floor)| hub / floor).collect();
    let (ratio, [least, most]) = median(ratios);
    let (floor, hub) = (median(floor).0, median(hub).0);
    say(&format!(
        "    by wrk: bare handler {floor:.0} a second, hub {hub:.0}, ratio {ratio:.3} ({least:.3} to {most:.3})"
    ));
}

/// Requests a second over 32 connections; `None` without `wrk`.
fn rate(url: &str, headers: &[String]) -> Option<f64> {
    let mut command = Command::new("wrk");
    command.args(["-t1", "-c32", "-d", ROUND]);
    for header in headers {
        command.args(["-H", header]);
    }
    let output = command.arg(url).output().ok()?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.contains("Non-2xx"), "{output}");
    let rate = output.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"));
    Some(rate.expect("wrk reports its rate").trim().parse().expect("a number"))
}
