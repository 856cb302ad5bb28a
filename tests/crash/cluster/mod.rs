//! A cluster whose parts are killed, suspended and cut off: two nodes that may lead, two edges, three servers of NATS
//! and PostgreSQL, with the clients and the checks of a single hub.
//!
//! Clients connect to any node through a balancer, and come back to another one. The log is read from the stream.

mod quota;
mod recorder;
mod relay;
mod servers;

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use base::clock::now;
use cluster::{Beats, ClusterConfig, Stream};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use self::{
    quota::QuotaUse,
    recorder::Recorder,
    relay::{Line, Relay},
    servers::NatsServer,
};
use crate::{
    afterwards, checker,
    client::{self, Behaviour, Phase},
    faults::FaultLog,
    history::History,
    http,
    hub::{Hub, Place, free_address},
    load::PushCounters,
    observer::Observer,
    rest::{self, CallCounters},
    rng::{Deck, Rng},
    run::{self, Outcome, Plan},
};

/// What happens to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    KillLeader,
    /// Suspended for longer than its lease, and then let go on.
    HangLeader,
    StopLeader,
    HandOver,
    KillStandby,
    KillEdge,
    /// All nodes at the same time.
    KillAll,
    KillServer,
    HangServer,
    /// The leader and the servers of NATS do not hear each other.
    CutLeader,
    /// The same, without an error on its connections.
    StallLeader,
    CutEdge,
    /// An operator sends the clients of an edge away, and lets it take clients again.
    DrainEdge,
}

/// Each at least once in a round.
const FAULTS: [Fault; 13] = [
    Fault::KillLeader,
    Fault::HangLeader,
    Fault::StopLeader,
    Fault::HandOver,
    Fault::KillStandby,
    Fault::KillEdge,
    Fault::KillAll,
    Fault::KillServer,
    Fault::HangServer,
    Fault::CutLeader,
    Fault::StallLeader,
    Fault::CutEdge,
    Fault::DrainEdge,
];

/// How long the cluster may take until a node leads and all nodes are ready again.
const WHOLE_WITHIN: Duration = Duration::from_secs(60);

/// A node, its connections to the servers of NATS, and its process.
struct Node<'a> {
    place: &'a Place,
    name: String,
    links: &'a [Relay],
    hub: Option<Hub<'a>>,
}

/// The names of the nodes. Edges never lead.
const NODES: [(&str, &str); 4] = [("a", "all"), ("b", "all"), ("c", "edge"), ("d", "edge")];

/// The programs of NATS to run a round with.
pub(crate) use self::servers::{Postgres, programs};

/// A round with this program of NATS, on an empty database of PostgreSQL.
pub(crate) async fn round(plan: Plan, program: PathBuf, database: String) -> Outcome {
    let mut rng = Rng::new(plan.seed, 30_000);
    let stores = tempfile::tempdir().expect("a temporary folder");
    let mut servers =
        tokio::task::block_in_place(|| servers::start_nats(&program, &stores, &mut rng));
    let urls = |addresses: &[String]| {
        addresses.iter().map(|it| format!("nats://{it}")).collect::<Vec<_>>().join(",")
    };
    let direct: Vec<String> = servers.iter().map(|server| server.address.to_string()).collect();
    let config =
        ClusterConfig { name: "test".to_owned(), nats: urls(&direct), ..ClusterConfig::default() };

    // Connections of each node go through relays of its own.
    let (mut places, mut links) = (Vec::new(), Vec::new());
    for (name, role) in NODES {
        let mut relays = Vec::new();
        for server in &servers {
            let relay = Relay::start(plan.seed).await;
            relay.set_targets(vec![server.address]);
            relays.push(relay);
        }
        let addresses: Vec<String> = relays.iter().map(|relay| relay.address.clone()).collect();
        let settings = settings(name, role, &urls(&addresses));
        places.push(Place::of_cluster(free_address(&mut rng), &database, settings));
        links.push(relays);
    }
    let balancer = Relay::start(plan.seed).await;
    let front = settings("front", "edge", &urls(&direct));
    let front = Place::of_cluster(balancer.address.clone(), &database, front);
    let shared = Arc::new(client::Shared::new(front));
    set_up(&shared.place).await;
    let mut nodes: Vec<Node<'_>> = Vec::new();
    for ((place, links), (name, _)) in places.iter().zip(&links).zip(NODES) {
        nodes.push(Node { place, name: name.to_owned(), links, hub: Some(place.start()) });
        // The first one begins the log.
        if let Some(hub) = nodes.last_mut().and_then(|node| node.hub.as_mut()) {
            hub.until_ready().await;
        }
    }
    let targets: Vec<SocketAddr> =
        places.iter().map(|place| place.address.parse().expect("an address")).collect();
    let ready: Arc<Mutex<Vec<String>>> = Arc::default();
    let balancing = tokio::spawn(balance(targets, balancer, Arc::clone(&ready)));
    let mut recorder = Recorder::start(&config).await;

    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(shared.place.customer_key().await);
    }
    let (pushes, calls) = (Arc::new(PushCounters::default()), Arc::new(CallCounters::default()));
    let sources = run::start_sources(&plan, &shared.place, &pushes).await;
    let (phase, of_phase) = watch::channel(Phase::Running);
    let quota = Arc::new(QuotaUse::default());
    let mut free = JoinSet::new();
    let free_key = shared.place.key().await;
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
        let node = usize::try_from(number).expect("small") % places.len();
        let (own, ready) = (places[node].address.clone(), Arc::clone(&ready));
        let address = move || ready.lock().expect("no panic").contains(&own).then(|| own.clone());
        clients.spawn(rest::poll(shared, number, plan.seed, key, calls, address, of_phase.clone()));
    }
    let waiting =
        rest::wait_for_changes(Arc::clone(&shared), plan.seed, keys[1].clone(), of_phase.clone());
    clients.spawn(waiting);
    let discovery =
        tokio::spawn(run::discover(Arc::clone(&shared), keys[1].clone(), of_phase.clone()));

    let stream = Stream::connect(&config).await.expect("the servers run");
    let mut watcher = Watcher { beats: Beats::subscribe(&stream).await.expect("beats are heard") };
    let mut faults = FaultLog::default();
    let until = Instant::now() + plan.duration;
    inject(&mut nodes, &mut servers, &mut watcher, &mut rng, until, &mut faults, &shared).await;

    phase.send_replace(Phase::Quiet);
    pushes.stops.store(true, Ordering::Relaxed);
    let generators = sources.join_all().await;
    let settled_at = now();
    recorder.catch_up().await;
    let mut observer = Observer::start();
    let folder = recorder.folder();
    let heads = tokio::task::block_in_place(|| observer.heads(&folder));
    phase.send_replace(Phase::Settling(Arc::new(heads)));
    let mut histories: Vec<History> = Vec::new();
    while let Ok(Some(ended)) = timeout(run::CLIENTS_MAX, clients.join_next()).await {
        histories.push(ended.expect("a client does not panic"));
    }
    discovery.await.expect("the discovery does not panic");
    free.join_all().await;
    // Sockets are closed in order now and after a node was stopped, all of them through the one balancer.
    faults.stopped.push(0);
    for node in &mut nodes {
        if let Some(hub) = node.hub.take() {
            faults.note(hub.stop().await);
        }
        if node.place.output().contains("panicked") {
            faults.failures.push(format!("node {} panicked", node.name));
        }
        faults.failures.extend(node.place.verify_log().await.err());
    }
    balancing.abort();
    let starts = places.iter().map(Place::start_number).sum();
    let (folder, recorded) = recorder.finish().await;
    let folder = folder.path().join("log");
    let (mut log, mut report) = tokio::task::block_in_place(|| observer.finish(&folder, false));
    log.settled_at = settled_at;
    log.seen = recorded.seen;
    report.merge(tokio::task::block_in_place(|| checker::check(&histories, &log, 2)));
    run::check_closings(&histories, &faults, &mut report);
    afterwards::check_pushes(&generators, &log, &pushes, &mut report);
    // Whether a match ends depends on how fast the machine is. The rounds of a single hub demand it.
    let tickets = shared.tickets.load(Ordering::Relaxed);
    run::check_coverage(&plan, &histories, &log, tickets, 0, &mut report);
    faults.failures.extend(quota.check(starts).err());
    if recorded.terms < 3 {
        faults.failures.push(format!("{} terms", recorded.terms));
    }
    let connections = shared.connections.load(Ordering::Relaxed);
    let outputs = places.iter().map(|place| run::interesting(&place.output()));
    let output = outputs.collect::<Vec<_>>().join("\n--\n");
    let clients = histories.len();
    Outcome { plan, faults, report, log, pushes, clients, connections, output }
}

fn settings(node: &str, role: &str, nats: &str) -> Vec<(String, String)> {
    let log = ("LOG_BYTES", "1073741824");
    // Shorter than some cuts, after which a node has sent its clients away.
    let isolated = ("ISOLATED_MS", "2000");
    let of_cluster =
        [("NAME", "test"), ("NODE", node), ("ROLE", role), ("NATS", nats), log, isolated];
    let mut settings = Vec::from(
        of_cluster.map(|(name, value)| (format!("MATCHWIRE_CLUSTER_{name}"), value.to_owned())),
    );
    settings.push(("MATCHWIRE_LIMITS_FOOTBALL_PER_DAY".to_owned(), quota::PER_DAY.to_string()));
    settings
}

/// Creates the stream, once the servers have elected a leader.
async fn set_up(place: &Place) {
    let begun = Instant::now();
    while let Err(problem) = place.cluster_command(&["init"]).await {
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
        self.beats.leader().map(|heard| heard.beat.node)
    }

    /// Waits until a node leads and all are ready. Returns how long that took.
    async fn until_whole(&mut self, nodes: &mut [Node<'_>]) -> Result<Duration, String> {
        let begun = Instant::now();
        loop {
            // A node that was deposed ends, and is started again as its service manager would do.
            for node in nodes.iter_mut() {
                let has_ended = node.hub.as_mut().is_none_or(Hub::has_ended);
                if has_ended {
                    node.hub = Some(node.place.start());
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
        if !is_ready(&node.place.address).await {
            return false;
        }
    }
    true
}

async fn is_ready(address: &str) -> bool {
    let asked = timeout(Duration::from_millis(200), http::get(address, "/readyz", &[])).await;
    matches!(asked, Ok(Ok(response)) if response.status == 200)
}

/// Does what a deck of faults deals until the time is over and each has happened.
async fn inject<'a>(
    nodes: &mut [Node<'a>],
    servers: &mut [NatsServer],
    watcher: &mut Watcher,
    rng: &mut Rng,
    until: Instant,
    faults: &mut FaultLog,
    shared: &client::Shared,
) {
    let mut deck = Deck::new(&FAULTS);
    loop {
        match watcher.until_whole(nodes).await {
            Ok(time) => faults.ready.push(time),
            Err(problem) => {
                faults.failures.push(problem);
                return;
            }
        }
        let missing = FAULTS.iter().any(|fault| faults.times(fault) == 0);
        if Instant::now() >= until && !missing {
            return;
        }
        sleep(rng.millis(200, 1_500)).await;
        let Some(leader) = watcher.leader() else { continue };
        let Some(leads) = nodes.iter().position(|node| node.name == leader) else { continue };
        let fault = deck.deal(rng);
        faults.did(fault);
        let follows = 1 - leads;
        let edge = 2 + rng.index(2);
        match fault {
            Fault::KillLeader => kill(&mut nodes[leads], faults).await,
            Fault::KillStandby => kill(&mut nodes[follows], faults).await,
            Fault::KillEdge => kill(&mut nodes[edge], faults).await,
            Fault::KillAll => {
                for node in nodes.iter_mut() {
                    kill(node, faults).await;
                }
            }
            Fault::StopLeader => {
                if let Some(hub) = nodes[leads].hub.take() {
                    faults.note(hub.stop().await);
                    faults.stops += 1;
                    faults.stopped.push(0);
                }
            }
            Fault::HandOver => {
                if let Err(problem) = shared.place.cluster_command(&["hand-over"]).await {
                    faults.failures.push(problem);
                }
            }
            Fault::HangLeader => {
                if let Some(hub) = &nodes[leads].hub {
                    hub.hang(true);
                    sleep(rng.millis(1_500, 3_000)).await;
                    hub.hang(false);
                }
            }
            Fault::CutLeader => disturb(&nodes[leads], Line::Cut, rng).await,
            Fault::StallLeader => disturb(&nodes[leads], Line::Stalled, rng).await,
            Fault::CutEdge => disturb(&nodes[edge], Line::Cut, rng).await,
            Fault::DrainEdge => {
                let drained = drain(&nodes[edge], &shared.place, rng).await;
                faults.failures.extend(drained.err());
            }
            Fault::KillServer => {
                let server = &mut servers[rng.index(3)];
                server.kill();
                sleep(rng.millis(100, 2_000)).await;
                tokio::task::block_in_place(|| server.start());
            }
            Fault::HangServer => {
                let server = &servers[rng.index(3)];
                server.hang(true);
                sleep(rng.millis(500, 3_000)).await;
                server.hang(false);
            }
        }
    }
}

/// Drains a node for a while. It is not ready meanwhile.
async fn drain(node: &Node<'_>, place: &Place, rng: &mut Rng) -> Result<(), String> {
    place.cluster_command(&["drain", &node.name]).await?;
    let begun = Instant::now();
    while is_ready(&node.place.address).await {
        if begun.elapsed() > WHOLE_WITHIN {
            return Err(format!("node {} is drained, and ready", node.name));
        }
        sleep(Duration::from_millis(50)).await;
    }
    // Its clients are sent away after 2 s.
    sleep(rng.millis(500, 4_000)).await;
    place.cluster_command(&["drain", &node.name, "--end"]).await.map(|_| ())
}

async fn kill(node: &mut Node<'_>, faults: &mut FaultLog) {
    if let Some(hub) = node.hub.take() {
        faults.note(hub.kill().await);
        faults.kills += 1;
    }
}

/// Disturbs the connections of a node for a while.
async fn disturb(node: &Node<'_>, line: Line, rng: &mut Rng) {
    node.links.iter().for_each(|link| link.set_line(line));
    sleep(rng.millis(300, 4_000)).await;
    node.links.iter().for_each(|link| link.set_line(Line::Open));
}
