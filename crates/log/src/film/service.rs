//! Plays films for sessions, on threads of its own.
//!
//! A session asks for frames when it has room, and gets them when they are due. So what is on its way to a
//! slow reader is bounded by what it asked for, and no shard ever waits for a disk.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt, io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use base::{
    clock::monotonic,
    supervisor::{self, Lifetime},
    work::{Payer, measure, thread_time},
};
use fanout::{
    ChannelId, Classes, Micros,
    catch_up::{Cost, Host, Lease, Requester, ShardRequest},
    replay::{
        ReplayCommand, ReplayEnd, ReplayOutcome, ReplayRefusal, ReplayRequest, ReplayResponse,
    },
};

use super::{Films, Player, match_of, player::NextFrames};
use crate::config::LogConfig;

/// Limits of replays.
#[derive(Debug, Clone, Copy)]
pub struct ReplaySettings {
    /// Threads that read films.
    pub threads: usize,
    /// Replays at a time. Each has one block of each of its films in memory.
    pub replays_max: usize,
    /// Replays of one payer at a time, over all of its keys and sockets.
    pub replays_max_per_account: usize,
    /// Channels of one replay.
    pub channels_max: usize,
    /// Films of one replay: matches whose channels it plays.
    pub films_max: usize,
    /// Microseconds for which a replay may be paused or not read.
    pub idle_us: Micros,
}

impl ReplaySettings {
    /// Those of `[log]`, and the defaults of what it does not have.
    #[must_use]
    pub fn from_config(config: &LogConfig) -> Self {
        Self {
            threads: 1,
            replays_max: config.replays_max,
            replays_max_per_account: config.replays_max_per_account,
            channels_max: 100,
            films_max: 8,
            idle_us: 30 * 60 * 1_000_000,
        }
    }
}

/// Plays films for the sessions of a fan-out. Cheap to clone; all clones are the same service.
#[derive(Debug, Clone)]
pub struct ReplayService {
    shared: Arc<ServiceState>,
}

struct ServiceState {
    films: Films,
    settings: ReplaySettings,
    /// The classes that a channel requires.
    needs: fn(&ChannelId) -> Classes,
    queues: Vec<Queue>,
    counts: Mutex<Counts>,
}

/// How many replays there are.
#[derive(Debug, Default)]
struct Counts {
    all: usize,
    by_payer: HashMap<Payer, usize>,
}

/// The requests for one thread. Their number is bounded by that of sessions and replays: see
/// [`Host::replay`].
#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    requests: VecDeque<ReplayRequest>,
    is_stopped: bool,
}

impl fmt::Debug for ServiceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceState").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// How long a thread waits without anything due, so that it notices sessions that have gone.
const WAIT_US: Micros = 1_000_000;

impl ReplayService {
    /// `needs`: the classes that a channel with this name requires.
    #[must_use]
    pub fn new(films: Films, settings: ReplaySettings, needs: fn(&ChannelId) -> Classes) -> Self {
        let queues = (0..settings.threads.max(1)).map(|_| Queue::default()).collect();
        let counts = Mutex::default();
        // A service before this one may have ended with replays.
        metrics::gauge!("matchwire_replays").set(0.0);
        Self { shared: Arc::new(ServiceState { films, settings, needs, queues, counts }) }
    }

    /// Starts its threads, which give every response to `respond`.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub fn start(
        &self,
        respond: impl Fn(Requester, ReplayResponse) + Clone + Send + 'static,
    ) -> io::Result<Vec<JoinHandle<()>>> {
        let threads = (0..self.shared.queues.len()).map(|number| {
            let worker = Worker {
                shared: Arc::clone(&self.shared),
                number,
                respond: respond.clone(),
                replays: HashMap::new(),
            };
            supervisor::thread(format!("replay-{number}"), Lifetime::UntilStop, || worker.run())
        });
        threads.collect()
    }

    /// Ends its threads.
    pub fn stop(&self) {
        for queue in &self.shared.queues {
            unpoisoned(&queue.state).is_stopped = true;
            queue.changed.notify_one();
        }
    }

    /// Takes a request. Never blocks for long.
    pub fn submit(&self, request: ReplayRequest) {
        // All requests of a connection go to the same thread, in order.
        let Requester { shard, slot, .. } = request.requester;
        let queue = &self.shared.queues[(shard + slot) % self.shared.queues.len()];
        unpoisoned(&queue.state).requests.push_back(request);
        queue.changed.notify_one();
    }

    /// The number of replays.
    #[must_use]
    pub fn replays(&self) -> usize {
        unpoisoned(&self.shared.counts).all
    }
}

/// A host that also plays films.
#[derive(Debug, Clone)]
pub struct ReplayHost<H> {
    pub host: H,
    pub replays: ReplayService,
}

impl<H: Host> Host for ReplayHost<H> {
    fn submit(&self, request: ShardRequest) {
        self.host.submit(request);
    }

    fn offers_replays(&self) -> bool {
        true
    }

    fn replay(&self, request: ReplayRequest) {
        self.replays.submit(request);
    }

    fn stamp(&self) -> Micros {
        self.host.stamp()
    }

    fn time_of_day(&self) -> Micros {
        self.host.time_of_day()
    }
}

/// One thread and its replays.
struct Worker<R> {
    shared: Arc<ServiceState>,
    number: usize,
    respond: R,
    replays: HashMap<ReplayId, Replay>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ReplayId {
    shard: usize,
    slot: usize,
    generation: u64,
    replay: u32,
}

struct Replay {
    player: Player,
    requester: Requester,
    lease: Lease,
    /// The room that the session has, if it waits for frames: their bytes, and what each counts in addition.
    room: Option<(usize, usize)>,
    /// When the next frame is due.
    due: Micros,
    /// When frames were last sent or the session last changed something.
    active_at: Micros,
}

impl ReplayId {
    fn new(requester: Requester, replay: u32) -> Self {
        let Requester { shard, slot, generation, .. } = requester;
        Self { shard, slot, generation, replay }
    }
}

impl<R: Fn(Requester, ReplayResponse)> Worker<R> {
    fn run(mut self) {
        loop {
            let Some(requests) = self.wait() else { return };
            let now = monotonic();
            for request in requests {
                self.handle(request, now);
            }
            self.play(now);
        }
    }

    /// Waits for requests or for the next frame that is due. `None` if the service is stopped.
    fn wait(&self) -> Option<VecDeque<ReplayRequest>> {
        let now = monotonic();
        let waiting = self.replays.values().filter(|replay| replay.room.is_some());
        let due = waiting.map(|replay| replay.due).min().unwrap_or(Micros::MAX);
        let longest = if self.replays.is_empty() { Micros::MAX / 2 } else { WAIT_US };
        let wait = due.saturating_sub(now).clamp(0, longest);
        let wait = Duration::from_micros(wait.cast_unsigned());
        let queue = &self.shared.queues[self.number];
        let is_idle = |state: &mut QueueState| state.requests.is_empty() && !state.is_stopped;
        let state = unpoisoned(&queue.state);
        let (mut state, _) = queue
            .changed
            .wait_timeout_while(state, wait, is_idle)
            .unwrap_or_else(PoisonError::into_inner);
        (!state.is_stopped).then(|| std::mem::take(&mut state.requests))
    }

    fn handle(&mut self, request: ReplayRequest, now: Micros) {
        let ReplayRequest { requester, replay, command } = request;
        let id = ReplayId::new(requester, replay);
        let begun = thread_time();
        let mut bytes = 0;
        let outcome = match command {
            ReplayCommand::Start { channels, from, speed, classes, lease } => {
                let ServiceState { films, needs, .. } = &*self.shared;
                let opened = self.reserve(requester.payer, &channels).and_then(|()| {
                    let what = (&channels[..], classes);
                    Player::open(films, what, needs, (replay, &from, speed), now)
                        .inspect_err(|_| self.release(requester.payer))
                });
                match opened {
                    Ok(mut player) => {
                        bytes = player.take_work();
                        let state = player.state(now);
                        let (room, due, active_at) = (None, now, now);
                        let playing = Replay { player, requester, lease, room, due, active_at };
                        self.replays.insert(id, playing);
                        ReplayOutcome::Started(state)
                    }
                    Err(refusal) => ReplayOutcome::Refused(refusal),
                }
            }
            ReplayCommand::Change(change) => match self.replays.get_mut(&id) {
                None => ReplayOutcome::Refused(ReplayRefusal::NoReplay),
                Some(playing) => {
                    let changed = playing.player.change(&change, now);
                    bytes = playing.player.take_work();
                    match changed {
                        Ok(()) => {
                            (playing.due, playing.active_at) = (now, now);
                            ReplayOutcome::Changed(playing.player.state(now))
                        }
                        Err(refusal) => ReplayOutcome::Refused(refusal),
                    }
                }
            },
            ReplayCommand::Next { bytes_max, frame_bytes } => {
                if let Some(playing) = self.replays.get_mut(&id) {
                    playing.room = Some((bytes_max, frame_bytes));
                }
                return;
            }
            ReplayCommand::End => return self.end(id),
        };
        let cost = Cost { bytes, used: thread_time().saturating_sub(begun) };
        (self.respond)(requester, ReplayResponse { replay, outcome, cost });
    }

    /// Counts a replay, if the limits allow it.
    fn reserve(&self, payer: Payer, channels: &[ChannelId]) -> Result<(), ReplayRefusal> {
        let ReplaySettings {
            replays_max, replays_max_per_account, channels_max, films_max, ..
        } = self.shared.settings;
        let limit = |text: String| Err(ReplayRefusal::Limit(text));
        if channels.len() > channels_max {
            return limit(format!("a replay has at most {channels_max} channels"));
        }
        let films: HashSet<&str> =
            channels.iter().filter_map(|channel| match_of(channel.as_str())).collect();
        if films.len() > films_max {
            return limit(format!("a replay has channels of at most {films_max} matches"));
        }
        let mut counts = unpoisoned(&self.shared.counts);
        if counts.all >= replays_max {
            return limit("too many replays are running".to_owned());
        }
        let count = counts.by_payer.entry(payer).or_default();
        if *count >= replays_max_per_account {
            return limit(format!(
                "an account has at most {replays_max_per_account} replays at a time"
            ));
        }
        *count += 1;
        counts.all += 1;
        metrics::gauge!("matchwire_replays").increment(1.0);
        Ok(())
    }

    fn release(&self, payer: Payer) {
        let mut counts = unpoisoned(&self.shared.counts);
        counts.all -= 1;
        if let Some(count) = counts.by_payer.get_mut(&payer) {
            *count -= 1;
            if *count == 0 {
                counts.by_payer.remove(&payer);
            }
        }
        metrics::gauge!("matchwire_replays").decrement(1.0);
    }

    fn end(&mut self, id: ReplayId) {
        if let Some(replay) = self.replays.remove(&id) {
            self.release(replay.requester.payer);
        }
    }

    /// Sends what is due to the sessions that have room.
    fn play(&mut self, now: Micros) {
        let idle_us = self.shared.settings.idle_us;
        let mut over = Vec::new();
        for (id, replay) in &mut self.replays {
            if !replay.lease.is_shared() {
                over.push(*id);
                continue;
            }
            let is_due = replay.room.is_some() && replay.due <= now;
            // A frame that is due far in the future is no reason to end a replay that runs.
            let waits_for_reader = replay.room.is_none() || replay.due == Micros::MAX;
            let is_idle = !is_due && waits_for_reader && now - replay.active_at > idle_us;
            if is_idle || replay.player.is_deleted() {
                over.push(*id);
                let end = Some(ReplayEnd::Limit);
                let outcome = ReplayOutcome::Frames { frames: Vec::new(), end };
                let response = ReplayResponse { replay: id.replay, outcome, cost: Cost::default() };
                (self.respond)(replay.requester, response);
                continue;
            }
            let Some(room) = replay.room.filter(|_| is_due) else { continue };
            let (played, used) = measure(|| replay.player.take(room, now));
            let (frames, end) = match played {
                Ok(played) => {
                    let mut end = None;
                    replay.due = match played.next {
                        NextFrames::Ready => now,
                        NextFrames::At(due) => due,
                        NextFrames::Paused => Micros::MAX,
                        NextFrames::End => {
                            end = Some(ReplayEnd::End);
                            Micros::MAX
                        }
                    };
                    (played.frames, end)
                }
                Err(error) => {
                    tracing::warn!(%error, "a film cannot be replayed");
                    (Vec::new(), Some(ReplayEnd::Limit))
                }
            };
            if frames.is_empty() && end.is_none() {
                continue;
            }
            replay.room = None;
            replay.active_at = now;
            if end.is_some() {
                over.push(*id);
            }
            let outcome = ReplayOutcome::Frames { frames, end };
            let cost = Cost { bytes: replay.player.take_work(), used };
            (self.respond)(replay.requester, ReplayResponse { replay: id.replay, outcome, cost });
        }
        for id in over {
            self.end(id);
        }
    }
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
