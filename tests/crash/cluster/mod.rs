//! A cluster whose parts are killed, suspended and cut off: two nodes that may lead, three edges, three servers of NATS
//! and PostgreSQL, with the clients and the checks of a single hub.
//!
//! Clients connect to any node through a balancer, and come back to another one. The log is read from the stream.

mod accounts;
mod faults;
mod loss;
mod quota;
mod recorder;
mod relay;
mod servers;
mod upgrade;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use base::{Micros, clock::now};
use cluster::{Beats, ClusterConfig, Stream};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use self::{faults::TestCluster, quota::QuotaUse, recorder::Recorder, relay::Relay};
use crate::{
    afterwards::{self, TickLimits},
    checker,
    client::{self, Behaviour, Phase},
    clock_offset::ClockOffset,
    faults::FaultLog,
    history::History,
    http,
    hub::{Hub, Site, free_address},
    load::PushCounters,
    observer::Observer,
    rest::{self, CallCounters},
    rng::Rng,
    run::{self, Outcome, Plan},
};

/// How long the cluster may take until a node leads and all nodes are ready again.
const WHOLE_WITHIN: Duration = Duration::from_secs(60);

/// Lines wait for as long as the servers of NATS elect a leader, and then for one of the nodes. A new leader waits for up to 15 s
/// for a transaction that the one before left open in PostgreSQL, and takes over before and writes everything after that.
const TICK_LIMITS: TickLimits = TickLimits { distance_us: 120_000_000, stood_us: 60_000_000 };

/// A node, its connections, and its process.
struct Node<'a> {
    site: &'a Site,
    name: String,
    links: &'a Links,
    hub: Option<Hub<'a>>,
}

/// The connections of a node.
struct Links {
    /// To each server.
    nats: Vec<Relay>,
    database: Relay,
}

/// The names of the nodes. Edges never lead.
const NODES: [(&str, &str); 5] =
    [("a", "all"), ("b", "all"), ("c", "edge"), ("d", "edge"), ("e", "edge")];

/// Rounds that are shorter than this have an edge less: with all nodes, two cores are busy for longer than a round when
/// PostgreSQL is away and all clients come back.
const ALL_NODES_FROM: Duration = Duration::from_secs(300);

/// By how many microseconds the clocks of nodes differ from that of the machine. From 2 s on a node would not lead.
const CLOCKS: [(&str, Micros); 2] = [("b", 700_000), ("d", -700_000)];

/// PostgreSQL, and the programs of NATS to run a round with.
pub(crate) use self::{
    faults::RoundNumber,
    servers::{Database, programs},
    upgrade::old_program,
};

/// What happens in a round.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RoundKind {
    /// Parts fail: the faults of the round with this number.
    Faults(RoundNumber),
    /// The servers of NATS lose records.
    Losses,
    /// Nodes are upgraded from another program.
    Upgrade,
}

/// A round with this program of NATS, on an empty database of PostgreSQL.
pub(crate) async fn round(
    plan: Plan,
    kind: RoundKind,
    program: PathBuf,
    database: Database,
) -> Outcome {
    let mut rng = Rng::new(plan.seed, 30_000);
    let stores = tempfile::tempdir().expect("a temporary folder");
    let servers = tokio::task::block_in_place(|| servers::start_nats(&program, &stores, &mut rng));
    let urls = |addresses: &[String]| {
        addresses.iter().map(|it| format!("nats://{it}")).collect::<Vec<_>>().join(",")
    };
    let direct: Vec<String> = servers.iter().map(|server| server.address.to_string()).collect();
    let config =
        ClusterConfig { name: "test".to_owned(), nats: urls(&direct), ..ClusterConfig::default() };

    // Connections of each node go through relays of its own.
    let (mut sites, mut links) = (Vec::new(), Vec::new());
    let all = if plan.duration < ALL_NODES_FROM { &NODES[..NODES.len() - 1] } else { &NODES[..] };
    for &(name, role) in all {
        let mut relays = Vec::new();
        for server in &servers {
            let relay = Relay::start(plan.seed).await;
            relay.set_targets(vec![server.address]);
            relays.push(relay);
        }
        let addresses: Vec<String> = relays.iter().map(|relay| relay.address.clone()).collect();
        let mut settings = settings(kind, name, role, &urls(&addresses));
        settings.extend(clock_of(name, stores.path()));
        let relay = Relay::start(plan.seed).await;
        relay.set_targets(vec![database.address]);
        let url = database.url_at(&relay.address);
        sites.push(Site::of_cluster(free_address(&mut rng), &url, settings));
        links.push(Links { nats: relays, database: relay });
    }
    if matches!(kind, RoundKind::Upgrade) {
        sites.iter().for_each(|site| site.set_program(old_program()));
    }
    let balancer = Relay::start(plan.seed).await;
    let front = settings(kind, "front", "edge", &urls(&direct));
    let front = Site::of_cluster(balancer.address.clone(), &database.url(), front);
    let shared = Arc::new(client::Shared::new(front));
    set_up(&shared.site).await;
    let mut nodes: Vec<Node<'_>> = Vec::new();
    for ((site, links), (name, _)) in sites.iter().zip(&links).zip(NODES) {
        nodes.push(Node { site, name: name.to_owned(), links, hub: Some(site.start()) });
        // The first one begins the log.
        if let Some(hub) = nodes.last_mut().and_then(|node| node.hub.as_mut()) {
            hub.until_ready().await;
        }
    }
    let targets: Vec<SocketAddr> =
        sites.iter().map(|site| site.address.parse().expect("an address")).collect();
    let ready: Arc<Mutex<Vec<String>>> = Arc::default();
    let balancing = tokio::spawn(balance(targets, balancer, Arc::clone(&ready)));
    let mut recorder = Recorder::start(&config).await;

    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(shared.site.customer_key().await);
    }
    let (pushes, calls) = (Arc::new(PushCounters::default()), Arc::new(CallCounters::default()));
    let sources = run::start_sources(&plan, &shared.site, &pushes).await;
    let (phase, of_phase) = watch::channel(Phase::Running);
    let quota = Arc::new(QuotaUse::default());
    let mut free = JoinSet::new();
    let free_key = shared.site.key().await;
    for number in 0..3 {
        let (key, ready) = (free_key.clone(), Arc::clone(&ready));
        let rng = Rng::new(plan.seed, 20_000 + number);
        free.spawn(quota::use_up(rng, key, Arc::clone(&quota), ready, of_phase.clone()));
    }
    let mut clients = JoinSet::new();
    for number in 0..plan.clients.saturating_sub(run::REST_CLIENTS + 1) {
        let behaviour = Behaviour::new(plan.seed, number, &keys[0]);
        clients.spawn(client::run(Arc::clone(&shared), behaviour, of_phase.clone()));
    }
    for number in 0..run::REST_CLIENTS {
        let (shared, calls, key) = (Arc::clone(&shared), Arc::clone(&calls), keys[2].clone());
        // A client that polls stays at a node, as with a balancer that knows it by a cookie.
        let node = usize::try_from(number).expect("small") % sites.len();
        let (node, ready) = (sites[node].address.clone(), Arc::clone(&ready));
        let address = move || ready.lock().expect("no panic").contains(&node).then(|| node.clone());
        clients.spawn(rest::poll(shared, number, plan.seed, key, calls, address, of_phase.clone()));
    }
    let waiting =
        rest::wait_for_changes(Arc::clone(&shared), plan.seed, keys[1].clone(), of_phase.clone());
    clients.spawn(waiting);
    let discovery =
        tokio::spawn(run::discover(Arc::clone(&shared), keys[1].clone(), of_phase.clone()));

    let stream = Stream::connect(&config).await.expect("the servers run");
    let watcher = Watcher { beats: Beats::subscribe(&stream).await.expect("beats are heard") };
    let mut faults = FaultLog::default();
    let until = Instant::now() + plan.duration;
    let mut cluster = TestCluster {
        nodes,
        servers,
        database,
        watcher,
        stream,
        shared: Arc::clone(&shared),
        pushes: Arc::clone(&pushes),
        quota: Arc::clone(&quota),
        key: keys[1].clone(),
    };
    let mut observer = Observer::start();
    match kind {
        RoundKind::Faults(round) => cluster.inject(round, &mut rng, until, &mut faults).await,
        RoundKind::Upgrade => {
            let done = cluster.upgrade(&mut rng, until, &mut faults).await;
            faults.failures.extend(done.err());
        }
        RoundKind::Losses => {
            let lost = cluster.lose_records(recorder, &mut observer, &mut rng, &mut faults).await;
            recorder = lost.unwrap_or_else(|problem| {
                let outputs = sites.iter().map(|site| run::interesting(&site.output()));
                panic!("{problem}\n{}", outputs.collect::<Vec<_>>().join("\n--\n"));
            });
        }
    }

    phase.send_replace(Phase::Quiet);
    pushes.stops.store(true, Ordering::Relaxed);
    let generators = sources.join_all().await;
    let settled_at = now();
    recorder.catch_up().await;
    let folder = recorder.folder();
    let heads = tokio::task::block_in_place(|| observer.heads(&folder));
    phase.send_replace(Phase::Settling(Arc::new(heads)));
    let mut histories: Vec<History> = Vec::new();
    while let Ok(Some(ended)) = timeout(run::CLIENTS_MAX, clients.join_next()).await {
        histories.push(ended.expect("a client does not panic"));
    }
    discovery.await.expect("the discovery does not panic");
    free.join_all().await;
    // After all faults, the nodes have the same documents.
    faults.failures.extend(shared.site.cluster_command(&["verify"]).await.err());
    // Sockets are closed in order now and after a node was stopped, all of them through the one balancer.
    faults.stopped.push(0);
    for node in &mut cluster.nodes {
        if let Some(hub) = node.hub.take() {
            faults.note(hub.stop().await);
        }
        if node.site.output().contains("panicked") {
            faults.failures.push(format!("node {} panicked", node.name));
        }
        faults.failures.extend(node.site.verify_log().await.err());
    }
    balancing.abort();
    let (folder, recorded) = recorder.finish().await;
    let folder = folder.path().join("log");
    let (mut log, mut report) = tokio::task::block_in_place(|| observer.finish(&folder, false));
    log.settled_at = settled_at;
    log.seen = recorded.seen;
    report.merge(tokio::task::block_in_place(|| checker::check(&histories, &log, 2)));
    run::check_closings(&histories, &faults, &mut report);
    let (url, know_all) = (cluster.database.url(), !log.was_damaged());
    afterwards::check_archive(&url, &log, TICK_LIMITS, know_all, &mut report).await;
    // Also what the stream has lost, since the nodes have it.
    afterwards::check_pushes(&generators, &log, &pushes, true, &mut report);
    // Whether a match ends depends on how fast the machine is. The rounds of a single hub demand it.
    let tickets = shared.tickets.load(Ordering::Relaxed);
    run::check_coverage(&plan, &histories, &log, tickets, 0, &mut report);
    faults.failures.extend(quota.check(&sites).err());
    if recorded.terms < 3 {
        faults.failures.push(format!("{} terms", recorded.terms));
    }
    let connections = shared.connections.load(Ordering::Relaxed);
    let outputs = sites.iter().map(|site| run::interesting(&site.output()));
    let output = outputs.collect::<Vec<_>>().join("\n--\n");
    let clients = histories.len();
    Outcome { plan, faults, report, log, pushes, clients, connections, output }
}

fn settings(kind: RoundKind, node: &str, role: &str, nats: &str) -> Vec<(String, String)> {
    let log = ("LOG_BYTES", "1073741824");
    // Shorter than some cuts, after which a node has sent its clients away.
    let isolated = ("ISOLATED_MS", "2000");
    // So that a leader is at times killed between two parts of records.
    let parts = ("RECORD_BYTES_MAX", "1024");
    let of_cluster =
        [("NAME", "test"), ("NODE", node), ("ROLE", role), ("NATS", nats), log, isolated, parts];
    let mut settings = Vec::from(
        of_cluster.map(|(name, value)| (format!("MATCHWIRE_CLUSTER_{name}"), value.to_owned())),
    );
    settings.push(("MATCHWIRE_LIMITS_FOOTBALL_PER_DAY".to_owned(), quota::PER_DAY.to_string()));
    // So that a key stays known while PostgreSQL is away, however long ago it was read.
    settings.push(("MATCHWIRE_ACCOUNTS_CACHE_MS".to_owned(), "3600000".to_owned()));
    if !matches!(kind, RoundKind::Losses) {
        // Shorter than PostgreSQL is away. Where it stays, all clients that come back at once must not have to wait so
        // long for a connection that calls are served uncounted.
        settings.push(("MATCHWIRE_DATABASE_ACQUIRE_MS".to_owned(), "1000".to_owned()));
    }
    settings
}

/// The environment in which a node has the clock of [`CLOCKS`]. Empty without the means for it.
fn clock_of(node: &str, folder: &Path) -> Vec<(String, String)> {
    let offset = CLOCKS.into_iter().find(|(name, _)| *name == node);
    let clock = offset.and_then(|(_, offset)| {
        let clock = ClockOffset::in_file_or_skipped(folder.join(format!("clock-{node}")))?;
        clock.set(offset);
        Some(clock)
    });
    let variables = clock.iter().flat_map(ClockOffset::variables);
    variables.map(|(name, path)| (name.to_owned(), path.display().to_string())).collect()
}

/// Creates the stream, once the servers have elected a leader.
async fn set_up(site: &Site) {
    let begun = Instant::now();
    while let Err(problem) = site.cluster_command(&["init"]).await {
        assert!(begun.elapsed() < WHOLE_WITHIN, "{problem}");
        sleep(Duration::from_millis(200)).await;
    }
}

/// Sends new connections to the nodes that are ready, as a load balancer does.
async fn balance(nodes: Vec<SocketAddr>, balancer: Relay, told: Arc<Mutex<Vec<String>>>) {
    loop {
        let mut ready = Vec::new();
        for node in &nodes {
            if is_ready(&node.to_string()).await {
                ready.push(*node);
            }
        }
        *told.lock().expect("no panic") = ready.iter().map(ToString::to_string).collect();
        balancer.set_targets(ready);
        sleep(Duration::from_millis(100)).await;
    }
}

/// Follows who leads.
struct Watcher {
    beats: Beats,
}

impl Watcher {
    fn leader(&self) -> Option<String> {
        self.beats.leader().map(|received| received.beat.node)
    }

    /// Waits until another node than this one leads, and has made so many records.
    async fn until_other_leads(&mut self, before: &str, records: u64) -> Result<(), String> {
        let begun = Instant::now();
        let mut first = None;
        while begun.elapsed() < WHOLE_WITHIN {
            let leader = self.beats.leader().map(|received| received.beat);
            if let Some(beat) = leader.filter(|beat| beat.node != before) {
                let first = *first.get_or_insert(beat.number);
                if beat.number >= first + records {
                    return Ok(());
                }
            }
            timeout(Duration::from_millis(250), self.beats.changed()).await.ok();
        }
        Err(format!("no other node than {before} leads, and makes records"))
    }

    /// Waits until a node leads and all are ready. Returns how long that took.
    async fn until_whole(&mut self, nodes: &mut [Node<'_>]) -> Result<Duration, String> {
        let begun = Instant::now();
        loop {
            // A node that was deposed ends, and is started again as its service manager would do.
            for node in nodes.iter_mut() {
                let has_ended = node.hub.as_mut().is_none_or(Hub::has_ended);
                if has_ended {
                    node.hub = Some(node.site.start());
                }
            }
            let ready = all_ready(nodes).await;
            let beats = self.beats.all();
            let leaders: Vec<u64> =
                beats.iter().filter(|it| it.beat.leads).map(|it| it.beat.term).collect();
            if leaders.len() == 1 && ready {
                return Ok(begun.elapsed());
            }
            if begun.elapsed() > WHOLE_WITHIN {
                let beats: Vec<_> = beats.into_iter().map(|it| it.beat).collect();
                return Err(format!("the cluster is not whole again: {beats:?}"));
            }
            timeout(Duration::from_millis(250), self.beats.changed()).await.ok();
        }
    }
}

/// Whether all nodes say so themselves: beats of one that was killed are still there.
async fn all_ready(nodes: &[Node<'_>]) -> bool {
    for node in nodes {
        if !is_ready(&node.site.address).await {
            return false;
        }
    }
    true
}

async fn is_ready(address: &str) -> bool {
    let asked = timeout(Duration::from_millis(200), http::get(address, "/readyz", &[])).await;
    matches!(asked, Ok(Ok(response)) if response.status == 200)
}
