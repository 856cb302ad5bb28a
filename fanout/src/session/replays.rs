//! The replays of a session: recorded channels that the host plays to it.
//!
//! A replay asks for frames when there is room for them, and only while no live subscription is behind. All
//! replays of a session share one room, and live frames go before their frames.

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

/// All replays of a session share this part of the budget, while live frames use less than half as much.
const BUDGET_PART: usize = 4;

/// A replay asks for at least this many bytes: another one may have asked for the whole room, and get frames
/// much later.
const ROOM_MIN: usize = 2048;

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
    /// The bytes of the open request for frames; 0 if there is none.
    requested_bytes: usize,
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
        if self.socket_is_full(channels.len()) {
            let first = channels.first().map_or("", ChannelId::as_str);
            return self.refuse_one_more(&id, (first, channels.len()), context);
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
        let refused = match outcome {
            ReplayOutcome::Started(state) | ReplayOutcome::Changed(state) => pending(replays)
                .and_then(|pending| replays.confirm(pending, state, self.classes, context).err()),
            ReplayOutcome::Refused(refusal) => {
                pending(replays).map(|pending| (pending.id, refusal))
            }
            ReplayOutcome::Frames { frames, end } => {
                if !replays.has(Some(replay)) {
                    // Its client has ended it meanwhile, and knows.
                    return;
                }
                replays.deliver(replay, frames, self.classes, context);
                if let Some(end) = end {
                    replays.running.retain(|it| it.number != replay);
                    context.outbox.push_replay_end(protocol::replay_end(replay, end), replay);
                }
                None
            }
        };
        match refused {
            Some((id, ReplayRefusal::NotEntitled(channel, needs))) => {
                self.refuse_needs(&id, &channel, needs, context);
            }
            Some((id, refusal)) => refuse(&id, &refusal, context),
            None => {}
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
        let queued = context.outbox.replay_cost(context.budget);
        if is_behind || context.outbox.cost(context.budget) > part / 2 || queued > part / 2 {
            return commands;
        }
        let requested: usize = replays.running.iter().map(|replay| replay.requested_bytes).sum();
        let waiting = replays.running.iter_mut().filter(|replay| replay.requested_bytes == 0);
        let waiting: Vec<&mut Replay> = waiting.collect();
        let share = part.saturating_sub(queued + requested) / waiting.len().max(1);
        let (bytes_max, frame_bytes) = (share.max(ROOM_MIN), context.budget.frame_bytes);
        for replay in waiting {
            replay.requested_bytes = bytes_max;
            commands.push((replay.number, ReplayCommand::Next { bytes_max, frame_bytes }));
        }
        commands
    }

    /// Removes the channels that the classes do not cover from all replays. Returns their names, and the
    /// replays that are over because of that.
    pub(super) fn narrow_replays(&mut self, classes: Classes) -> (Vec<ChannelId>, Vec<u32>) {
        let (mut ended, mut over) = (Vec::new(), Vec::new());
        let Some(replays) = &mut self.replays else { return (ended, over) };
        for replay in &mut replays.running {
            ended.extend(narrow(&mut replay.channels, classes));
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
        self.running.iter().any(|entry| Some(entry.number) == replay)
    }

    /// Confirms what the client asked for. `classes`: what the session may follow now, which may be less than
    /// when the host was asked.
    ///
    /// # Errors
    ///
    /// With the `id` of the command, if nothing can be played any more.
    fn confirm(
        &mut self,
        pending: PendingChange,
        mut state: ReplayState,
        classes: Classes,
        context: &mut SessionContext<'_>,
    ) -> Result<(), (Value, ReplayRefusal)> {
        let PendingChange { id, number, kind } = pending;
        match kind {
            PendingKind::Start { is_batch, lease } => {
                narrow(&mut state.channels, classes);
                if let Some(refused) = nothing_played(&state.channels) {
                    // Without its lease, the host ends it.
                    return Err((id, refused));
                }
                let reply = protocol::replay_subscribed(&id, number, is_batch, &state);
                context.outbox.push_reply(reply, context.now);
                let channels = state.channels;
                let requested_bytes = 0;
                let replay = Replay { number, is_batch, channels, _lease: lease, requested_bytes };
                self.running.push(replay);
            }
            PendingKind::Change { seeks } => {
                let Some(replay) = self.running.iter_mut().find(|it| it.number == number) else {
                    // It has ended meanwhile, and its client knows.
                    return Err((id, ReplayRefusal::NoReplay));
                };
                if seeks {
                    context.outbox.withdraw_replay(number);
                }
                for (entry, current) in replay.channels.iter_mut().zip(&state.channels) {
                    if entry.is_played() {
                        entry.status = current.status;
                    }
                }
                state.channels.clone_from(&replay.channels);
                let reply = protocol::replay_subscribed(&id, number, replay.is_batch, &state);
                context.outbox.push_reply(reply, context.now);
            }
        }
        Ok(())
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
        replay.requested_bytes = 0;
        for ReplayFrame { frame, channel } in frames {
            let status = replay.channels.get(channel).map(|channel| channel.status);
            if let Some(ReplayChannelStatus::Played { needs, .. }) = status
                && classes.cover(needs)
            {
                context.outbox.push_replay(frame, number);
            }
        }
    }
}

/// Marks the channels that the classes do not cover. Returns their names.
fn narrow(channels: &mut [ReplayChannel], classes: Classes) -> Vec<ChannelId> {
    let mut ended = Vec::new();
    for channel in channels {
        if let ReplayChannelStatus::Played { needs, .. } = channel.status
            && !classes.cover(needs)
        {
            channel.status = ReplayChannelStatus::NotEntitled { needs };
            ended.push(channel.name.clone());
        }
    }
    ended
}

/// Why there is nothing to play, if so.
fn nothing_played(channels: &[ReplayChannel]) -> Option<ReplayRefusal> {
    if channels.iter().any(ReplayChannel::is_played) {
        return None;
    }
    let first = channels.first()?;
    Some(match first.status {
        ReplayChannelStatus::NotEntitled { needs } => {
            ReplayRefusal::NotEntitled(first.name.clone(), needs)
        }
        ReplayChannelStatus::Played { .. } | ReplayChannelStatus::NotTracked => {
            ReplayRefusal::NotTracked(first.name.clone())
        }
    })
}

fn refuse(id: &Value, refusal: &ReplayRefusal, context: &mut SessionContext<'_>) {
    let (code, message, channel) = match refusal {
        ReplayRefusal::NotTracked(channel) => {
            (Code::NotTracked, "this channel is not recorded", Some(channel))
        }
        ReplayRefusal::NotEntitled(channel, _) => {
            (Code::NotEntitled, "this channel needs an add-on", Some(channel))
        }
        ReplayRefusal::NoReplay => (Code::NotTracked, "there is no such replay", None),
        ReplayRefusal::Limit(message) => (Code::Limit, &**message, None),
        ReplayRefusal::AmbiguousSeq => {
            (Code::BadCommand, "`seq` needs `ch` with several channels", None)
        }
    };
    let mut refusal = Refusal::new(id, code, message);
    if let Some(channel) = channel {
        refusal = refusal.about(channel.as_str());
    }
    context.refuse(&refusal);
}
