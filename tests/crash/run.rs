//! A round: a hub with load and clients, which is killed again and again, and the checks afterwards.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use base::clock::now;
use serde_json::Value;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    afterwards,
    checker::{
        self,
        published::LogContent,
        report::{Report, Rule},
    },
    client::{self, Behaviour, Phase},
    faults::{Disk, FaultLog, OtherBoot, inject_faults},
    history::{Closing, Dialect, Entry, History},
    http,
    hub::Site,
    load::{Generator, PushCounters, push_over_http, push_over_socket},
    observer::Observer,
    rest::{self, CallCounters},
    rng::Rng,
};

/// What a round is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) clients: u64,
    /// Lines a second, of all sources.
    pub(crate) rate: u64,
    pub(crate) duration: Duration,
    pub(crate) kills_max: u64,
    /// Whether the log is damaged. The archive then has what the log has lost, and is not compared.
    pub(crate) damages: bool,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) plan: Plan,
    pub(crate) faults: FaultLog,
    pub(crate) report: Report,
    pub(crate) log: LogContent,
    pub(crate) pushes: Arc<PushCounters>,
    pub(crate) clients: usize,
    pub(crate) connections: u64,
    /// The last lines of the hub's output.
    pub(crate) output: String,
}

/// REST clients of a round, next to one over MCP.
pub(crate) const REST_CLIENTS: u64 = 12;

/// How long all clients may take to end. Each of them gives up sooner.
pub(crate) const CLIENTS_MAX: Duration = Duration::from_secs(240);

pub(crate) async fn round(plan: Plan) -> Outcome {
    let mut rng = Rng::new(plan.seed, 30_000);
    let site = Site::new(&mut rng);
    let disk = Disk::mount(&site.log_folder());
    let shared = Arc::new(client::Shared::new(site));
    let site = &shared.site;
    let mut hub = site.start();
    let ready = hub.until_ready().await;
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(site.customer_key().await);
    }

    let (pushes, calls) = (Arc::new(PushCounters::default()), Arc::new(CallCounters::default()));
    let sources = start_sources(&plan, site, &pushes).await;
    let (phase, of_phase) = watch::channel(Phase::Running);
    let mut clients = JoinSet::new();
    for number in 0..plan.clients.saturating_sub(REST_CLIENTS + 1) {
        let behaviour = Behaviour::new(plan.seed, number, &keys[0]);
        clients.spawn(client::run(Arc::clone(&shared), behaviour, of_phase.clone()));
    }
    for number in 0..REST_CLIENTS {
        let (shared, calls, key) = (Arc::clone(&shared), Arc::clone(&calls), keys[2].clone());
        let hub_address = shared.site.address.clone();
        let address = move || Some(hub_address.clone());
        clients.spawn(rest::poll(shared, number, plan.seed, key, calls, address, of_phase.clone()));
    }
    let waiting =
        rest::wait_for_changes(Arc::clone(&shared), plan.seed, keys[1].clone(), of_phase.clone());
    clients.spawn(waiting);
    let discovery = tokio::spawn(discover(Arc::clone(&shared), keys[1].clone(), of_phase.clone()));

    let mut observer = Observer::start();
    let until = Instant::now() + plan.duration;
    let (hub, mut faults) =
        inject_faults(site, hub, disk.as_ref(), &mut observer, rng, until, &plan).await;
    faults.ready.insert(0, ready);

    phase.send_replace(Phase::Quiet);
    pushes.stops.store(true, Ordering::Relaxed);
    let generators = sources.join_all().await;
    let settled_at = now();
    let log_folder = site.log_folder();
    let heads = tokio::task::block_in_place(|| observer.heads(&log_folder));
    phase.send_replace(Phase::Settling(Arc::new(heads)));
    let mut histories: Vec<History> = Vec::new();
    while let Ok(Some(ended)) = timeout(CLIENTS_MAX, clients.join_next()).await {
        histories.push(ended.expect("a client does not panic"));
    }
    discovery.await.expect("the discovery does not panic");
    let account = http::get(
        &site.address,
        "/api/v2/account/",
        &[("authorization", &format!("Token {}", keys[2]))],
    )
    .await;
    faults.stopped.push(site.start_number());
    faults.failures.extend(hub.stop().await.err());
    if site.output().contains("panicked") {
        faults.failures.push("the hub panicked".to_owned());
    }
    if !plan.damages {
        faults.failures.extend(site.verify_log().await.err());
    }
    let (mut log, mut report) =
        tokio::task::block_in_place(|| observer.finish(&log_folder, plan.damages));
    log.settled_at = settled_at;
    report.merge(tokio::task::block_in_place(|| checker::check(&histories, &log, 2)));
    check_closings(&histories, &faults, &mut report);
    afterwards::check(site, &log, account.ok(), &calls, &mut report).await;
    let has_all = !log.was_damaged();
    afterwards::check_pushes(&generators, &log, &pushes, has_all, &mut report);
    let tickets = shared.tickets.load(Ordering::Relaxed);
    check_coverage(&plan, &histories, &log, tickets, u64::from(!plan.damages), &mut report);
    if !plan.damages {
        faults.failures.extend(check_other_boot(site, &log, &keys[0]).await.err());
    }
    let connections = shared.connections.load(Ordering::Relaxed);
    let output = interesting(&site.output());
    drop(disk);
    let clients = histories.len();
    Outcome { plan, faults, report, log, pushes, clients, connections, output }
}

/// Starts sources with matches of their own.
pub(crate) async fn start_sources(
    plan: &Plan,
    site: &Site,
    counters: &Arc<PushCounters>,
) -> JoinSet<Generator> {
    let mut sources = JoinSet::new();
    // Name, percent of the lines, matches of football and of tennis.
    for (name, percent, football, tennis) in
        [("acme", 50, 12, 0), ("beta", 30, 0, 8), ("gamma", 20, 5, 2)]
    {
        let (address, key) = (site.address.clone(), site.feed_key(name).await);
        let generator = Generator::new(plan.seed, name, football, tennis);
        let (rate, counters) = (plan.rate * percent / 100, Arc::clone(counters));
        if name == "gamma" {
            sources.spawn(push_over_http(address, name, key, generator, rate, counters));
        } else {
            sources.spawn(push_over_socket(address, name, key, generator, rate, counters));
        }
    }
    sources
}

/// Each close frame has a reason: the hub was stopped, or the client was slow.
pub(crate) fn check_closings(histories: &[History], faults: &FaultLog, report: &mut Report) {
    for history in histories {
        for entry in &history.entries {
            let Entry::Closed(Closing { code: Some(code), start }) = entry else { continue };
            let has_reason = match code {
                4503 => faults.stopped.contains(start),
                4508 => history.may_be_closed,
                _ => false,
            };
            if !has_reason {
                let what = format_args!("closed with {code} by start {start} of the hub");
                report.add(Rule::Close, &history.client, what);
            }
        }
    }
}

/// The round has tested what it is to test.
pub(crate) fn check_coverage(
    plan: &Plan,
    histories: &[History],
    log: &LogContent,
    tickets: u64,
    ended_min: u64,
    report: &mut Report,
) {
    if histories.len() as u64 != plan.clients {
        let what = format_args!("{} of {} clients have ended", histories.len(), plan.clients);
        report.add(Rule::Coverage, "clients", what);
    }
    for history in histories {
        let is_socket = matches!(history.dialect, Dialect::Stream | Dialect::Live);
        if is_socket && !matches!(history.entries.last(), Some(Entry::Settled)) {
            report.add(Rule::Coverage, &history.client, "it was not connected in the end");
        }
        for channel in &history.unreached {
            let last = history.last_of(channel);
            let what = format_args!("{channel}: the last position was not reached: {last}");
            report.add(Rule::Incomplete, &history.client, what);
        }
    }
    let seen = report.counts;
    let each = plan.clients;
    for (what, count, least) in [
        ("channels that ended", log.counts.closed, ended_min),
        // A slow machine does a third of what is usual.
        ("events", seen.events, 3 * each),
        ("resumes", seen.resumes, 3 * each),
        ("merged updates", seen.merged, 3 * each),
        ("resyncs", seen.resyncs, 1),
        ("answers over MCP", seen.mcp_answers, 5),
        ("images over HTTP", seen.rest_images, 100),
        ("confirmed tags", seen.not_modified, 5),
        ("tickets", tickets, each / 2),
    ] {
        if count < least {
            report.add(
                Rule::Coverage,
                what,
                format_args!("{count}, and at least {least} expected"),
            );
        }
    }
    if log.was_damaged() != (seen.epochs > 0) {
        let was_damaged = log.was_damaged();
        let what = format_args!("{} epoch changes, damaged: {was_damaged}", seen.epochs);
        report.add(Rule::Coverage, "epochs", what);
    }
}

/// After another boot of the machine, a log that was closed in order is continued, and one that was not
/// has other epochs.
#[expect(clippy::print_stdout, reason = "what is skipped is said")]
async fn check_other_boot(site: &Site, log: &LogContent, key: &str) -> Result<(), String> {
    let open = |epoch_of: &dyn Fn(&str) -> Option<String>| {
        let all = log.current().filter(|(name, it)| it.is_open() && !name.starts_with('~'));
        all.filter(|(name, it)| epoch_of(name).is_some_and(|epoch| epoch == it.epoch)).count()
    };
    for is_clean in [true, false] {
        if !is_clean {
            // Starts and is killed in the boot of before.
            let mut hub = site.start();
            hub.until_ready().await;
            hub.kill().await?;
        }
        let Some(other) = OtherBoot::begin(site.folder()) else {
            println!("skipped: another boot, as its id cannot be covered here");
            return Ok(());
        };
        let mut hub = site.start();
        hub.until_ready().await;
        let mut epochs = BTreeMap::new();
        for (name, _) in log.current().filter(|(name, it)| it.is_open() && !name.starts_with('~')) {
            let path = format!("/stream/v1/channels/{name}");
            let token = format!("Token {key}");
            let image = http::get(&site.address, &path, &[("authorization", &token)]).await;
            let image = image.map_err(|_| format!("no image of {name} after another boot"))?;
            let image: Value = serde_json::from_str(&image.body).unwrap_or_default();
            if let Some(epoch) = image["epoch"].as_str() {
                epochs.insert(name.to_owned(), epoch.to_owned());
            }
        }
        hub.stop().await?;
        drop(other);
        let same = open(&|name| epochs.get(name).cloned());
        if epochs.is_empty() {
            return Err("no channel is there after another boot".to_owned());
        }
        if is_clean && same != epochs.len() {
            let all = epochs.len();
            return Err(format!("another boot after a stop: {same} of {all} epochs are the same"));
        }
        if !is_clean && same > 0 {
            return Err(format!("another boot after a kill: {same} epochs are the same"));
        }
    }
    Ok(())
}

/// Warnings and errors of the hub, without those of each start.
pub(crate) fn interesting(output: &str) -> String {
    let wanted = ["WARN", "ERROR", "panicked"];
    let unwanted = ["accounts::mail", "matchwire::banner"];
    let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    let lines = output.lines().filter(|line| has(line, &wanted) && !has(line, &unwanted));
    let lines: Vec<&str> = lines.collect();
    lines.join("\n")
}

/// Keeps the list of channels up to date, for clients that follow names.
pub(crate) async fn discover(
    shared: Arc<client::Shared>,
    key: String,
    phase: watch::Receiver<Phase>,
) {
    let token = format!("Token {key}");
    while !matches!(*phase.borrow(), Phase::Settling(_)) {
        let mut found = vec!["football".to_owned(), "tennis".to_owned(), "feeds".to_owned()];
        for sport in ["football", "tennis"] {
            let path = format!("/stream/v1/channels/{sport}");
            let board = http::get(&shared.site.address, &path, &[("authorization", &token)]).await;
            let Ok(board) = board else { continue };
            let board: Value = serde_json::from_str(&board.body).unwrap_or_default();
            for id in board["data"]["matches"].as_object().into_iter().flat_map(|all| all.keys()) {
                found.push(format!("{sport}/{id}"));
                found.push(format!("{sport}/{id}/odds"));
                for book in crate::load::BOOKMAKERS {
                    found.push(format!("{sport}/{id}/odds/{book}"));
                }
            }
        }
        if found.len() > 3 {
            *shared.channels.lock().expect("no panic") = found;
        }
        sleep(Duration::from_millis(500)).await;
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, faults, report, log, pushes, clients, connections, .. } = self;
        let mut ready = faults.ready.clone();
        ready.sort_unstable();
        let seen = report.counts;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(
            f,
            "seed {}: {} kills, {} stops, {} damages, {} unfinished writes, {} full disks; {clients} clients \
             with {connections} connections, {} frames, {} events checked, {} merged updates, {} resumes, \
             {} images, {} resyncs, {} epoch changes, {} images and {} confirmed tags over HTTP, {} answers \
             over MCP; log of {} records, {} updates, {} events, {} channels that ended, from {} lines, {} \
             duplicates, {} refused, {} refused after their match ended; ready after {} ms (median), {} ms \
             (max); {} keys revoked, {} ms (max) until their sockets are closed; {}",
            plan.seed,
            faults.kills,
            faults.stops,
            faults.damages,
            faults.unfinished_writes,
            faults.full_disks,
            seen.frames,
            seen.events,
            seen.merged,
            seen.resumes,
            seen.images,
            seen.resyncs,
            seen.epochs,
            seen.rest_images,
            seen.not_modified,
            seen.mcp_answers,
            log.counts.records,
            log.counts.updates,
            log.counts.events,
            log.counts.closed,
            count(&pushes.lines),
            count(&pushes.duplicates),
            count(&pushes.refused),
            count(&pushes.refused_after_end),
            ready.get(ready.len() / 2).map_or(0, Duration::as_millis),
            ready.last().map_or(0, Duration::as_millis),
            faults.revoked.len(),
            faults.revoked.iter().max().map_or(0, Duration::as_millis),
            match report.total() + faults.failures.len() {
                0 => "nothing failed".to_owned(),
                failed => format!("{failed} FAILURES"),
            }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_codes_without_a_reason_are_found() {
        let mut faults = FaultLog::default();
        faults.stopped.push(2);
        let is_clean = |code: u16, start: usize, may_be_closed: bool| {
            let closed = Entry::Closed(Closing { code: Some(code), start });
            let entries = vec![closed, Entry::Closed(Closing { code: None, start })];
            let history =
                History { may_be_closed, entries, ..History::new("client 1", Dialect::Stream) };
            let mut report = Report::default();
            check_closings(&[history], &faults, &mut report);
            report.is_clean()
        };
        assert!(is_clean(4503, 2, false) && is_clean(4508, 1, true));
        assert!(!is_clean(4503, 1, true) && !is_clean(4508, 2, false) && !is_clean(1011, 2, true));
    }

    #[test]
    fn round_that_tests_too_little_is_found() {
        let plan = Plan {
            seed: 1,
            clients: 2,
            rate: 1,
            duration: Duration::ZERO,
            kills_max: 0,
            damages: false,
        };
        let history = |client: &str, entries| History {
            entries,
            unreached: vec!["football/7".to_owned()],
            ..History::new(client, Dialect::Stream)
        };
        let histories = [history("client 1", vec![Entry::Settled])];
        let mut report = Report::default();
        check_coverage(&plan, &histories, &LogContent::default(), 0, 1, &mut report);
        assert_eq!(report.rules(), [Rule::Incomplete, Rule::Coverage], "{report}");
        let text = report.to_string();
        assert!(text.contains("1 of 2 clients have ended"), "{text}");
        assert!(text.contains("football/7: the last position was not reached"), "{text}");

        let histories = [history("client 1", vec![Entry::Settled, Entry::Connected])];
        let mut report = Report::default();
        check_coverage(
            &Plan { clients: 1, ..plan },
            &histories,
            &LogContent::default(),
            0,
            1,
            &mut report,
        );
        assert!(report.to_string().contains("it was not connected in the end"), "{report}");
    }
}
