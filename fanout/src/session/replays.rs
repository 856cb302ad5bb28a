//! The replays of a session: recorded channels that the host plays to it.
//!
//! A replay asks for frames when there is room for them, and only while no live subscription is behind. It
//! fills at most a part of the outbox, so that live frames find room beside it.

use std::mem;

use serde_json::Value;

use super::{Session, SessionContext};
use crate::{
    catch_up::Lease,
    channel::ChannelId,
    permission::Classes,
    protocol::{self, Code, Refusal},
    replay::{
        ReplayChange, ReplayChannel, ReplayChannelStatus, ReplayCommand, ReplayEnd, ReplayFrame,
        ReplayOutcome, ReplayPosition, ReplayRefusal, ReplayResponse, ReplaySpeed, ReplayState,
    },
};

/// All replays of a session ask for at most this part of the budget at a time, when less than half of that
/// is queued.
const BUDGET_PART: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Replays {
    /// The number of the newest.
    newest: u32,
    running: Vec<Replay>,
    /// The request to start or change a replay that the host has not responded to yet.
    pending: Option<PendingChange>,
    /// Commands for the host.
    commands: Vec<(u32, ReplayCommand)>,
}

#[derive(Debug)]
struct Replay {
    number: u32,
    is_batch: bool,
    channels: Vec<ReplayChannel>,
    /// While it is held, the host plays.
    _lease: Lease,
    /// A request for frames is open.
    is_asking: bool,
}

#[derive(Debug)]
struct PendingChange {
    id: Value,
    number: u32,
    kind: PendingKind,
}

#[derive(Debug)]
enum PendingKind {
    Start { is_batch: bool, lease: Lease },
    Change { seeks: bool },
}

impl Session {
    /// Whether a request to start or change a replay is pending, so that commands must wait.
    pub(super) fn waits_for_replay(&self) -> bool {
        self.replays.as_ref().is_some_and(|replays| replays.pending.is_some())
    }

    /// Whether any replay is running.
    pub(super) fn has_replays(&self) -> bool {
        self.replays.as_ref().is_some_and(|replays| !replays.running.is_empty())
    }

    /// How many channels its replays have.
    pub(super) fn replayed_channels(&self) -> usize {
        let running = self.replays.iter().flat_map(|replays| &replays.running);
        running.map(|replay| replay.channels.len()).sum()
    }

    pub(super) fn start_replay(
        &mut self,
        id: Value,
        (channels, is_batch): (Vec<ChannelId>, bool),
        (from, speed): (ReplayPosition, ReplaySpeed),
        context: &mut SessionContext<'_>,
    ) {
        if self.is_full(channels.len() + self.replayed_channels()) {
            let first = channels.first().map_or("", ChannelId::as_str);
            return self.refuse_one_more(&id, first, context);
        }
        let (classes, lease) = (self.classes, Lease::default());
        let replays = self.replays.get_or_insert_default();
        replays.newest += 1;
        let number = replays.newest;
        let kind = PendingKind::Start { is_batch, lease: lease.clone() };
        replays.pending = Some(PendingChange { id, number, kind });
        let start = ReplayCommand::Start { channels, from, speed, classes, lease };
        replays.commands.push((number, start));
    }

    pub(super) fn change_replay(
        &mut self,
        id: Value,
        replay: Option<u32>,
        change: ReplayChange,
        context: &mut SessionContext<'_>,
    ) {
        let Some(replays) = self.replays.as_mut().filter(|it| it.has(replay)) else {
            return refuse(&id, &ReplayRefusal::NoReplay, context);
        };
        let number = replay.unwrap_or_default();
        let kind = PendingKind::Change { seeks: change.seek.is_some() };
        replays.pending = Some(PendingChange { id, number, kind });
        replays.commands.push((number, ReplayCommand::Change(change)));
    }

    pub(super) fn end_replay(
        &mut self,
        id: &Value,
        replay: Option<u32>,
        context: &mut SessionContext<'_>,
    ) {
        let Some(replays) = self.replays.as_mut().filter(|it| it.has(replay)) else {
            return refuse(id, &ReplayRefusal::NoReplay, context);
        };
        let number = replay.unwrap_or_default();
        replays.running.retain(|replay| replay.number != number);
        replays.commands.push((number, ReplayCommand::End));
        context.outbox.withdraw_replay(number);
        context.outbox.push_reply(protocol::replay_unsubscribed(id, number), context.now);
        let end = protocol::replay_end(number, ReplayEnd::Unsubscribed);
        context.outbox.push_reply(end, context.now);
    }

    /// Takes the host's response about a replay.
    pub fn apply_replay_response(
        &mut self,
        response: ReplayResponse,
        context: &mut SessionContext<'_>,
    ) {
        let ReplayResponse { replay, outcome, .. } = response;
        let Some(replays) = &mut self.replays else { return };
        let pending = |replays: &mut Replays| replays.pending.take_if(|it| it.number == replay);
        match outcome {
            ReplayOutcome::Started(state) | ReplayOutcome::Changed(state) => {
                if let Some(pending) = pending(replays) {
                    replays.confirm(pending, state, context);
                }
            }
            ReplayOutcome::Refused(refusal) => {
                let Some(pending) = pending(replays) else { return };
                match refusal {
                    ReplayRefusal::NotEntitled(channel, needs) => {
                        self.refuse_needs(&pending.id, &channel, needs, context);
                    }
                    refusal => refuse(&pending.id, &refusal, context),
                }
            }
            ReplayOutcome::Frames { frames, end } => {
                let classes = self.classes;
                replays.deliver(replay, frames, classes, context);
                if let Some(end) = end {
                    replays.running.retain(|it| it.number != replay);
                    context.outbox.push_reply(protocol::replay_end(replay, end), context.now);
                }
            }
        }
    }

    /// The commands for the host, and requests for frames as far as there is room for them.
    pub fn take_replay_commands(
        &mut self,
        context: &SessionContext<'_>,
    ) -> Vec<(u32, ReplayCommand)> {
        let is_behind = self.behind_count > 0;
        let Some(replays) = &mut self.replays else { return Vec::new() };
        let mut commands = mem::take(&mut replays.commands);
        let part = context.budget.bytes / BUDGET_PART;
        if !is_behind && context.outbox.cost(context.budget) <= part / 2 {
            let bytes_max = part / replays.running.len().max(1);
            let frame_bytes = context.budget.frame_bytes;
            for replay in replays.running.iter_mut().filter(|replay| !replay.is_asking) {
                replay.is_asking = true;
                commands.push((replay.number, ReplayCommand::Next { bytes_max, frame_bytes }));
            }
        }
        commands
    }

    /// Removes the channels that the classes do not cover from all replays. Returns their names, and the
    /// replays that are over because of that.
    pub(super) fn narrow_replays(&mut self, classes: Classes) -> (Vec<ChannelId>, Vec<u32>) {
        let (mut ended, mut over) = (Vec::new(), Vec::new());
        let Some(replays) = &mut self.replays else { return (ended, over) };
        for replay in &mut replays.running {
            for channel in &mut replay.channels {
                if let ReplayChannelStatus::Played { needs, .. } = channel.status
                    && !classes.cover(needs)
                {
                    channel.status = ReplayChannelStatus::NotEntitled;
                    ended.push(channel.name.clone());
                }
            }
            if !replay.channels.iter().any(ReplayChannel::is_played) {
                over.push(replay.number);
            }
        }
        replays.running.retain(|replay| !over.contains(&replay.number));
        replays.commands.extend(over.iter().map(|number| (*number, ReplayCommand::End)));
        (ended, over)
    }
}

impl Replays {
    fn has(&self, replay: Option<u32>) -> bool {
        self.running.iter().any(|own| Some(own.number) == replay)
    }

    fn confirm(
        &mut self,
        pending: PendingChange,
        state: ReplayState,
        context: &mut SessionContext<'_>,
    ) {
        let PendingChange { id, number, kind } = pending;
        let running = self.running.iter_mut().find(|replay| replay.number == number);
        let is_batch = match (&kind, &running) {
            (PendingKind::Start { is_batch, .. }, _) => *is_batch,
            (PendingKind::Change { .. }, Some(replay)) => replay.is_batch,
            // It has ended meanwhile, and its client knows.
            (PendingKind::Change { .. }, None) => {
                return refuse(&id, &ReplayRefusal::NoReplay, context);
            }
        };
        if let PendingKind::Change { seeks: true } = kind {
            context.outbox.withdraw_replay(number);
        }
        let reply = protocol::replay_subscribed(&id, number, is_batch, &state);
        context.outbox.push_reply(reply, context.now);
        if let PendingKind::Start { is_batch, lease } = kind {
            let channels = state.channels;
            let is_asking = false;
            self.running.push(Replay { number, is_batch, channels, _lease: lease, is_asking });
        }
    }

    /// Queues frames of a replay, but for channels that its client may no longer follow.
    fn deliver(
        &mut self,
        number: u32,
        frames: Vec<ReplayFrame>,
        classes: Classes,
        context: &mut SessionContext<'_>,
    ) {
        let Some(replay) = self.running.iter_mut().find(|it| it.number == number) else { return };
        replay.is_asking = false;
        for ReplayFrame { frame, channel } in frames {
            let status = replay.channels.get(channel).map(|channel| channel.status);
            if let Some(ReplayChannelStatus::Played { needs, .. }) = status
                && classes.cover(needs)
            {
                context.outbox.push_replay(frame, number, context.now);
            }
        }
    }
}

fn refuse(id: &Value, refusal: &ReplayRefusal, context: &mut SessionContext<'_>) {
    let (code, message, channel) = match refusal {
        ReplayRefusal::NotTracked(channel) => {
            (Code::NotTracked, "there is no recording of it", Some(channel))
        }
        ReplayRefusal::NotEntitled(channel, _) => {
            (Code::NotEntitled, "this channel needs an add-on", Some(channel))
        }
        ReplayRefusal::NoReplay => (Code::NotTracked, "there is no such replay", None),
        ReplayRefusal::Limit(message) => (Code::Limit, &**message, None),
        ReplayRefusal::AmbiguousSeq => {
            (Code::BadCommand, "a seq of several channels needs ch", None)
        }
    };
    let mut refusal = Refusal::new(id, code, message);
    if let Some(channel) = channel {
        refusal = refusal.about(channel.as_str());
    }
    context.outbox.push_reply(protocol::error(&refusal), context.now);
}
