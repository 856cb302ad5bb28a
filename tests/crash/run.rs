//! A round: a hub with load and clients, which is killed again and again, and the checks afterwards.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
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
    checker::{self, published::LogContent, report::Report},
    client::{self, Behaviour, Phase},
    faults::{Disk, FaultLog, inject_faults},
    history::{History, Interner},
    http,
    hub::Place,
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
    pub(crate) pushed: Arc<PushCounters>,
    pub(crate) clients: usize,
    pub(crate) connections: u64,
    /// The last lines of the hub's output.
    pub(crate) output: String,
}

/// REST clients of a round, next to one over MCP.
const REST_CLIENTS: u64 = 12;

/// How long clients have to read everything in the end: the lowest rate, and time for slow ones.
const SETTLING: Duration = Duration::from_secs(8);

/// How long a client may take to end.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn round(plan: Plan) -> Outcome {
    let place = Place::new();
    let disk = Disk::mount_or_skipped(&place.log_folder());
    let shared = Arc::new(client::Shared {
        place,
        interner: Interner::new(),
        channels: Mutex::new(Vec::new()),
        settling: AtomicBool::new(false),
        frames: AtomicU64::new(0),
        connections: AtomicU64::new(0),
    });
    let place = &shared.place;
    let mut hub = place.start();
    let ready = hub.until_ready().await;
    let keys = [0; 3].map(|_| place.customer_key());
    let feeds = ["acme", "beta", "gamma"].map(|name| place.feed_key(name));

    let (pushed, calls) = (Arc::new(PushCounters::default()), Arc::new(CallCounters::default()));
    let mut pushing = JoinSet::new();
    let [acme, beta, gamma] = feeds;
    let address = || place.address.clone();
    let share = |percent: u64| plan.rate * percent / 100;
    let matches = Generator::new(plan.seed, "acme", 12, 0);
    pushing.spawn(push_over_socket(
        address(),
        "acme",
        acme,
        matches,
        share(50),
        Arc::clone(&pushed),
    ));
    let matches = Generator::new(plan.seed, "beta", 0, 8);
    pushing.spawn(push_over_socket(
        address(),
        "beta",
        beta,
        matches,
        share(30),
        Arc::clone(&pushed),
    ));
    let matches = Generator::new(plan.seed, "gamma", 5, 2);
    pushing.spawn(push_over_http(
        address(),
        "gamma",
        gamma,
        matches,
        share(20),
        Arc::clone(&pushed),
    ));

    let (phase, of_phase) = watch::channel(Phase::Running);
    let mut clients = JoinSet::new();
    clients.spawn(discover(Arc::clone(&shared), keys[1].clone(), of_phase.clone()));
    for number in 0..plan.clients.saturating_sub(REST_CLIENTS + 1) {
        let behaviour = Behaviour::new(plan.seed, number, &keys[0]);
        clients.spawn(client::run(Arc::clone(&shared), behaviour, of_phase.clone()));
    }
    for number in 0..REST_CLIENTS {
        let (shared, calls, key) = (Arc::clone(&shared), Arc::clone(&calls), keys[2].clone());
        clients.spawn(rest::poll(shared, number, plan.seed, key, calls, of_phase.clone()));
    }
    clients.spawn(rest::wait_for_changes(
        Arc::clone(&shared),
        plan.seed,
        keys[1].clone(),
        of_phase,
    ));

    let mut observer = Observer::start();
    let until = Instant::now() + plan.duration;
    let rng = Rng::new(plan.seed, 30_000);
    let (hub, mut faults) =
        inject_faults(place, hub, disk.as_ref(), &mut observer, rng, until, &plan).await;
    faults.ready.insert(0, ready);

    pushed.stops.store(true, Ordering::Relaxed);
    shared.settling.store(true, Ordering::Relaxed);
    while pushing.join_next().await.is_some() {}
    let settled_at = now();
    sleep(SETTLING).await;
    phase.send_replace(Phase::Over);
    let mut histories: Vec<History> = Vec::new();
    while let Ok(Some(ended)) = timeout(TIMEOUT, clients.join_next()).await {
        histories.push(ended.expect("a client does not panic"));
    }
    let clients = histories.len() - 1;
    let account = http::get(
        &place.address,
        "/api/v2/account/",
        &[("authorization", &format!("Token {}", keys[2]))],
    )
    .await;
    hub.stop().await;
    let (mut log, mut report) = observer.finish(&place.log_folder());
    log.settled_at = settled_at;
    report.merge(checker::check(&histories, &log, 2));
    afterwards::check(place, &log, account.ok(), &calls, &mut report).await;
    let connections = shared.connections.load(Ordering::Relaxed);
    let output = interesting(&place.output());
    drop(disk);
    Outcome { plan, faults, report, log, pushed, clients, connections, output }
}

/// Warnings and errors of the hub.
fn interesting(output: &str) -> String {
    let wanted = ["WARN", "ERROR", "panicked"];
    let lines = output.lines().filter(|line| wanted.iter().any(|word| line.contains(word)));
    let lines: Vec<&str> = lines.collect();
    lines.join("\n")
}

/// Keeps the list of channels up to date, for clients that follow names.
async fn discover(
    shared: Arc<client::Shared>,
    key: String,
    phase: watch::Receiver<Phase>,
) -> History {
    let token = format!("Token {key}");
    while *phase.borrow() == Phase::Running {
        let mut found = vec!["football".to_owned(), "tennis".to_owned(), "feeds".to_owned()];
        for sport in ["football", "tennis"] {
            let path = format!("/stream/v1/channels/{sport}");
            let board = http::get(&shared.place.address, &path, &[("authorization", &token)]).await;
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
    let dialect = crate::history::Dialect::Rest;
    History { client: "discovery".to_owned(), dialect, may_skip: false, entries: Vec::new() }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, faults, report, log, pushed, clients, connections, .. } = self;
        let mut ready = faults.ready.clone();
        ready.sort_unstable();
        let seen = report.counts;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(
            f,
            "seed {}: {} kills, {} stops, {} damaged logs, {} full disks; {clients} clients with {connections} \
             connections, {} frames, {} events checked, {} resumes, {} images, {} resyncs, {} epoch changes; \
             log of {} records, {} updates, {} events, from {} lines; ready after {} ms (median), {} ms (max); {}",
            plan.seed,
            faults.kills,
            faults.stops,
            faults.damages,
            faults.full_disks,
            seen.frames,
            seen.events,
            seen.resumes,
            seen.images,
            seen.resyncs,
            seen.epochs,
            log.counts.records,
            log.counts.updates,
            log.counts.events,
            of(&pushed.lines),
            ready.get(ready.len() / 2).map_or(0, Duration::as_millis),
            ready.last().map_or(0, Duration::as_millis),
            match report.total() + faults.failures.len() {
                0 => "nothing failed".to_owned(),
                failed => format!("{failed} FAILURES"),
            }
        )
    }
}
