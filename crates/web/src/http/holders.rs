//! Who holds the HTTP connections, and which one is closed if there is no room for a new one. A connection belongs to its
//! address, and to an account once a key of it is accepted. Those of the hub are its feeds', and idle ones of its proxies.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, hash_map},
    slice,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::extract::Request;
use base::work::{Busy, FairQueue, Payer, Pool, QueueLimits, Slot};
use metrics::counter;
use rustc_hash::FxHashMap;
use tokio::sync::Notify;

/// Connections that a holder may have like everyone else, and the part of all that these are at most.
const SHARE_MAX: usize = 8;
const SHARE_PART: usize = 16;

/// Unfinished heads beyond [`super::head::BYTES_MAX`] that are read at the same time, in all and of one holder. Each takes up to
/// 300 kB in the buffers of hyper.
const LONG_HEADS_MAX: usize = 64;
const LONG_HEADS_MAX_BY_HOLDER: usize = 16;

/// What a connection does, in the order in which connections are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// The acceptor does not know yet what it is.
    Greeting,
    /// The head of its first request has not come.
    New,
    /// Between two requests.
    Idle,
    /// The body of a request has not come.
    Body,
    /// Its response is computed or written.
    Answering,
}

impl Stage {
    const ALL: &[Self] = &[Self::Greeting, Self::New, Self::Idle, Self::Body, Self::Answering];
    /// Those in which the router waits for the client.
    const ROUTED: [Self; 3] = [Self::New, Self::Idle, Self::Body];
    /// Those in which the hub waits for the client.
    pub(super) const WAITING: [Self; 4] = [Self::Greeting, Self::New, Self::Idle, Self::Body];
}

/// The connections by holder. Data only, except that who is closed is woken.
#[derive(Debug)]
pub(super) struct Holders {
    connections_max: usize,
    share: usize,
    entries: FxHashMap<u64, Entry>,
    /// By holder, stage and turn, those first that are longest in the stage.
    order: BTreeMap<(Payer, Stage, u64), u64>,
    counts: FxHashMap<Payer, usize>,
    /// The holders with connections in a stage; the last one loses one first.
    ranks: BTreeMap<Stage, BTreeSet<Rank>>,
    /// Connections that the router answers, without those that are being closed.
    routed: usize,
    last_turn: u64,
}

/// Connections beyond the share, whether it is a stranger, since when its oldest connection is in the stage, and who it is.
type Rank = (usize, bool, Reverse<u64>, Payer);

#[derive(Debug)]
struct Entry {
    payer: Payer,
    stage: Stage,
    /// It carries requests of many clients, so it is theirs only during a request.
    is_shared: bool,
    is_routed: bool,
    /// Its turn in `order`; `None` while it is being closed.
    turn: Option<u64>,
    wake: Arc<Notify>,
}

impl Holders {
    fn new(connections_max: usize) -> Self {
        Self {
            connections_max,
            share: (connections_max / SHARE_PART).clamp(1, SHARE_MAX),
            entries: FxHashMap::default(),
            order: BTreeMap::new(),
            counts: FxHashMap::default(),
            ranks: BTreeMap::new(),
            routed: 0,
            last_turn: 0,
        }
    }

    fn add(&mut self, payer: Payer, is_shared: bool, wake: Arc<Notify>) -> u64 {
        let id = self.next_turn();
        let (stage, is_routed, turn) = (Stage::Greeting, false, None);
        let entry = Entry { payer, stage, is_shared, is_routed, turn, wake };
        self.entries.insert(id, entry);
        self.put(id);
        id
    }

    /// Returns whether it was being closed.
    fn remove(&mut self, id: u64) -> bool {
        let was_closing = !self.take(id);
        self.entries.remove(&id).is_some() && was_closing
    }

    /// A connection enters a stage. One that is being closed stays if its request has come just in time.
    pub(super) fn enter(&mut self, id: u64, stage: Stage) {
        self.update(id, stage >= Stage::Body, |entry| {
            entry.stage = stage;
            if entry.is_shared && stage == Stage::Idle {
                entry.payer = Payer::Hub;
            }
        });
    }

    /// Hands a connection to the router. If that has as many as it may, others are closed; false if none may be.
    pub(super) fn route(&mut self, id: u64) -> bool {
        let Some(payer) = self.entries.get(&id).map(|entry| entry.payer) else { return false };
        // It may have more, whose requests came just in time, and operators' are closed too.
        while self.routed >= self.connections_max {
            if !(self.close_one(&Stage::ROUTED) || self.close_answering_for(payer)) {
                return false;
            }
        }
        self.update(id, true, |entry| (entry.stage, entry.is_routed) = (Stage::New, true));
        true
    }

    fn update(&mut self, id: u64, stays: bool, change: impl FnOnce(&mut Entry)) {
        let stays = self.take(id) || stays;
        if let Some(entry) = self.entries.get_mut(&id) {
            change(entry);
        }
        if stays {
            self.put(id);
        }
    }

    /// Closes the oldest connection in one of these stages: that of the holder with most, if it has more than its share,
    /// otherwise one in the first of the stages.
    pub(super) fn close_one(&mut self, stages: &[Stage]) -> bool {
        let holders = &*self;
        let first = move |stage: &Stage| Some((*stage, holders.first(*stage)?));
        let firsts = || stages.iter().filter_map(first);
        // Of equal ones the last counts.
        let most = firsts().rev().max_by_key(|(_, (excess, ..))| *excess);
        let most = most.filter(|(_, (excess, ..))| *excess > 0);
        let Some((stage, (.., payer))) = most.or_else(|| firsts().next()) else { return false };
        self.close_oldest(payer, stage)
    }

    /// Closes a connection whose response is under way, if its holder has more than its share and the new one has not.
    fn close_answering_for(&mut self, payer: Payer) -> bool {
        match self.first(Stage::Answering) {
            Some((excess, .., most)) if excess > 0 && self.excess(payer) == 0 => {
                self.close_oldest(most, Stage::Answering)
            }
            _ => false,
        }
    }

    /// The connections that are being closed.
    pub(super) fn closing(&self) -> usize {
        self.entries.len() - self.order.len()
    }

    pub(super) fn is_closing(&self, id: u64) -> bool {
        self.entries.get(&id).is_none_or(|entry| entry.turn.is_none())
    }

    fn close_oldest(&mut self, payer: Payer, stage: Stage) -> bool {
        let oldest = self.oldest(payer, stage);
        oldest.inspect(|(_, id)| self.close(*id)).is_some()
    }

    fn close(&mut self, id: u64) {
        self.take(id);
        if let Some(entry) = self.entries.get(&id) {
            counter!("matchwire_http_connections_refused_total", "reason" => "displaced")
                .increment(1);
            entry.wake.notify_one();
        }
    }

    /// Adds a connection to the order and the counts.
    fn put(&mut self, id: u64) {
        let turn = self.next_turn();
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.turn = Some(turn);
        self.routed += usize::from(entry.is_routed);
        let (payer, stage) = (entry.payer, entry.stage);
        self.change(payer, stage, |holders| {
            holders.order.insert((payer, stage, turn), id);
            *holders.counts.entry(payer).or_default() += 1;
        });
    }

    /// Removes a connection from them; false if it is being closed.
    fn take(&mut self, id: u64) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else { return false };
        let Some(turn) = entry.turn.take() else { return false };
        self.routed -= usize::from(entry.is_routed);
        let (payer, stage) = (entry.payer, entry.stage);
        self.change(payer, stage, |holders| {
            holders.order.remove(&(payer, stage, turn));
            if let hash_map::Entry::Occupied(mut count) = holders.counts.entry(payer) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        });
        true
    }

    /// Changes the connections of a holder in a stage, and updates its rank.
    fn change(&mut self, payer: Payer, stage: Stage, change: impl FnOnce(&mut Self)) {
        // Beyond the share the number changes the ranks in all stages.
        let is_more = self.counts.get(&payer).is_some_and(|count| *count >= self.share);
        let stages = if is_more { Stage::ALL } else { slice::from_ref(&stage) };
        for stage in stages {
            if let Some(rank) = self.rank(payer, *stage) {
                self.ranks.entry(*stage).or_default().remove(&rank);
            }
        }
        change(self);
        for stage in stages {
            if let Some(rank) = self.rank(payer, *stage) {
                self.ranks.entry(*stage).or_default().insert(rank);
            }
        }
    }

    fn rank(&self, payer: Payer, stage: Stage) -> Option<Rank> {
        let (turn, _) = self.oldest(payer, stage)?;
        Some((self.excess(payer), matches!(payer, Payer::Address(_)), Reverse(turn), payer))
    }

    fn first(&self, stage: Stage) -> Option<Rank> {
        self.ranks.get(&stage)?.last().copied()
    }

    fn oldest(&self, payer: Payer, stage: Stage) -> Option<(u64, u64)> {
        let mut all = self.order.range((payer, stage, 0)..=(payer, stage, u64::MAX));
        all.next().map(|((.., turn), id)| (*turn, *id))
    }

    /// Connections beyond the share. Those of the hub are of many.
    fn excess(&self, payer: Payer) -> usize {
        let count = self.counts.get(&payer).filter(|_| payer != Payer::Hub);
        count.map_or(0, |count| count.saturating_sub(self.share))
    }

    fn next_turn(&mut self) -> u64 {
        self.last_turn += 1;
        self.last_turn
    }
}

/// The table of all connections; clones share it.
#[derive(Debug, Clone)]
pub(super) struct HolderTable {
    holders: Arc<Mutex<Holders>>,
    /// A connection that was being closed is closed.
    closed: Arc<Notify>,
    /// Who may read the rest of a long head.
    long_heads: FairQueue,
}

impl HolderTable {
    pub(super) fn new(connections_max: usize) -> Self {
        let holders = Arc::new(Mutex::new(Holders::new(connections_max)));
        let long_heads = FairQueue::new(QueueLimits {
            running_max: LONG_HEADS_MAX,
            running_max_by_payer: LONG_HEADS_MAX_BY_HOLDER,
            waiting_max: connections_max,
            waiting_max_by_payer: connections_max,
        });
        Self { holders, closed: Arc::default(), long_heads }
    }

    /// Adds a new connection. `is_shared`: it comes from a proxy.
    pub(super) fn add(&self, payer: Payer, is_shared: bool) -> HeldConnection {
        let wake = Arc::new(Notify::new());
        let id = self.lock().add(payer, is_shared, Arc::clone(&wake));
        HeldConnection { handle: ConnectionHandle { table: self.clone(), id }, wake }
    }

    /// Each change is complete.
    pub(super) fn lock(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn until_closed(&self) {
        loop {
            let closed = self.closed.notified();
            if self.lock().closing() == 0 {
                return;
            }
            closed.await;
        }
    }
}

/// A connection in the table, until it is dropped.
#[derive(Debug)]
pub(super) struct HeldConnection {
    pub(super) handle: ConnectionHandle,
    wake: Arc<Notify>,
}

impl HeldConnection {
    /// Waits until the connection is to be closed for another one.
    pub(super) async fn displaced(&self) {
        loop {
            self.wake.notified().await;
            if self.is_displaced() {
                return;
            }
        }
    }

    /// Whether the connection is to be closed for another one, unless a request has come on it since.
    pub(super) fn is_displaced(&self) -> bool {
        self.handle.update(|holders, id| holders.is_closing(id))
    }
}

impl Drop for HeldConnection {
    fn drop(&mut self) {
        let was_closing = self.handle.update(Holders::remove);
        if was_closing {
            self.handle.table.closed.notify_one();
        }
    }
}

/// Tells the table what happens on a connection, an extension of its requests. It may outlive the connection.
#[derive(Debug, Clone)]
pub(super) struct ConnectionHandle {
    table: HolderTable,
    id: u64,
}

impl ConnectionHandle {
    pub(super) fn update<R>(&self, change: impl FnOnce(&mut Holders, u64) -> R) -> R {
        change(&mut self.table.lock(), self.id)
    }

    /// Waits until the rest of a long head may be read.
    pub(super) async fn long_head_turn(&self) -> Result<Slot, Busy> {
        let payer = self.update(|holders, id| holders.entries.get(&id).map(|entry| entry.payer));
        self.table.long_heads.enter(payer.ok_or(Busy)?, Pool::Rest).await
    }

    /// Whether another connection waits for that.
    pub(super) fn is_waited_for(&self) -> bool {
        self.table.long_heads.has_waiting()
    }
}

/// The connection of a request is from now on that of who pays for it.
pub(super) fn set_payer(request: &Request, payer: Payer) {
    if let Some(connection) = request.extensions().get::<ConnectionHandle>() {
        connection.update(|holders, id| holders.update(id, false, |entry| entry.payer = payer));
    }
}

#[cfg(test)]
mod tests;
