//! Readers of a node that follows whose requests wait for the leader of the cluster: for changes that a client has seen
//! on another node, and for channels of the older sockets, which only the leader opens.

use std::mem;

use fanout::{
    Micros,
    catch_up::{HostRequest, HostResponse, Requester},
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    catch_up::Missing,
    commit::Answer,
    forward::{Forwarded, LeaderRequest, LegacyUse},
    hub::Hub,
};

/// How long a reader waits, in microseconds in which records of the leader arrive, until the leader has opened its
/// channel, or until the changes are here that it has seen on another node.
const LEADER_WITHIN_US: Micros = 2_000_000;

/// The same for a channel that is not known here: it may be new, or closed.
const CHANNEL_WITHIN_US: Micros = 250_000;

/// The leader is asked again so long after it was asked to open a channel, in microseconds: the one that was asked may
/// have ended.
const ASK_EVERY_US: Micros = 500_000;

/// How long a reader waits in all, in microseconds, if no records arrive.
const WAIT_MAX_US: Micros = 60_000_000;

/// Readers that wait at a time. Further ones are answered by what this node has.
const WAITING_MAX: usize = 10_000;

/// How often a node tells the leader which channels of the older sockets have followers here, in microseconds. The
/// leader closes one that was without for six times as long.
const KEEP_EVERY_US: Micros = 10_000_000;

/// Such channels in one request.
const USES_AT_ONCE: usize = 1_000;

/// Who is answered.
pub(super) enum Reader {
    FanOut(Requester),
    /// A reader within the process.
    Process(oneshot::Sender<HostResponse>),
}

impl Reader {
    pub(super) fn answer(self, response: HostResponse, work: usize) -> Answer {
        match self {
            Self::FanOut(requester) => Answer::FanOut { requester, response, work },
            Self::Process(reply) => Answer::CaughtUp { reply, response },
        }
    }
}

/// The waiting readers, and the requests to the leader on their behalf.
pub(super) struct WaitingReaders {
    waiting: Vec<WaitingRequest>,
    leader: mpsc::Sender<LeaderRequest>,
    /// When records of the leader were applied last, or when the leader made them if that is earlier: while this node
    /// catches up, they do not show what the leader has now.
    followed_at: Micros,
    /// When the leader was last asked to open channels for readers that wait.
    asked_at: Micros,
    /// When the leader was last told which of these channels have followers here.
    kept_at: Micros,
}

/// A request that waits.
struct WaitingRequest {
    since: Micros,
    /// It is answered all the same when the leader has gone on for so long.
    wait_us: Micros,
    request: HostRequest,
    reader: Reader,
}

impl WaitingReaders {
    pub(super) fn new(leader: mpsc::Sender<LeaderRequest>) -> Self {
        Self { waiting: Vec::new(), leader, followed_at: 0, asked_at: 0, kept_at: 0 }
    }

    /// Records that the leader made at this time are applied.
    pub(super) fn note_followed(&mut self, at: Micros) {
        self.followed_at = at;
    }

    /// Tells the leader, when it is due, which channels of the older sockets have followers here.
    pub(super) fn keep_open(&mut self, hub: &Hub, now: Micros) {
        if now - self.kept_at >= KEEP_EVERY_US {
            self.kept_at = now;
            self.ask_leader(&hub.legacy_in_use());
        }
    }

    /// Lets a request wait if it should. Otherwise it is to be answered now.
    pub(super) fn admit(
        &mut self,
        hub: &Hub,
        now: Micros,
        request: HostRequest,
        reader: Reader,
    ) -> Option<(HostRequest, Reader)> {
        let Some(wait_us) = self.wait_us(hub, &request) else { return Some((request, reader)) };
        self.waiting.push(WaitingRequest { since: now, wait_us, request, reader });
        None
    }

    /// How long a request should wait, in microseconds, if it should.
    fn wait_us(&self, hub: &Hub, request: &HostRequest) -> Option<Micros> {
        if self.waiting.len() >= WAITING_MAX {
            return None;
        }
        if let Some(closed) = closed(hub, request) {
            self.ask_leader(&[closed]);
            return Some(LEADER_WITHIN_US);
        }
        match hub.missing(request)? {
            Missing::Changes => Some(LEADER_WITHIN_US),
            Missing::Channel => Some(CHANNEL_WITHIN_US),
        }
    }

    /// Takes out whose wait is over: the leader has done what they need, or has gone on without doing it, or this node
    /// leads.
    pub(super) fn take_due(
        &mut self,
        hub: &Hub,
        now: Micros,
        leads: bool,
    ) -> Vec<(HostRequest, Reader)> {
        let asks = now - self.asked_at >= ASK_EVERY_US;
        let (mut due, mut uses) = (Vec::new(), Vec::new());
        for waiting in mem::take(&mut self.waiting) {
            let WaitingRequest { since, wait_us, request, .. } = &waiting;
            let has_gone_on = self.followed_at >= since + wait_us || now >= since + WAIT_MAX_US;
            let closed = closed(hub, request);
            let is_missing = closed.is_some() || hub.missing(request).is_some();
            if is_missing && !has_gone_on && !leads {
                uses.extend(closed.filter(|_| asks && now - since >= ASK_EVERY_US));
                self.waiting.push(waiting);
            } else {
                due.push((waiting.request, waiting.reader));
            }
        }
        if !uses.is_empty() {
            self.asked_at = now;
            self.ask_leader(&uses);
        }
        due
    }

    fn ask_leader(&self, uses: &[LegacyUse]) {
        for uses in uses.chunks(USES_AT_ONCE) {
            // The answer is the record of the leader that opens the channel.
            let (reply, _) = oneshot::channel();
            let request = LeaderRequest { request: Forwarded::Legacy(uses.to_vec()), reply };
            // If there is no room, the readers are asked again when they come back.
            self.leader.try_send(request).ok();
        }
    }
}

/// The channel of the older sockets that the request is for, if it is not open.
fn closed(hub: &Hub, request: &HostRequest) -> Option<LegacyUse> {
    let HostRequest::StartGroup { channel, companion, .. } = request else { return None };
    hub.legacy_to_open(channel, companion.as_ref())?;
    Some(LegacyUse { channel: channel.as_str().into(), book: companion.clone() })
}
