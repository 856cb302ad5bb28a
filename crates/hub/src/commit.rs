//! The committer: appends the writer's turns to the log, and only then shows them to anyone.
//!
//! It takes turns and answers in the order in which the writer made them. Turns that wait are appended
//! together. If the log refuses them, nothing of them is shown until it takes them: the feeds wait, and readers get what
//! the log has ([`UnloggedChanges`]).

mod unlogged;

use std::{
    cell::Cell,
    collections::VecDeque,
    mem,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    time::Duration,
};

use fanout::{
    Change, ChannelId, Fanout, Micros,
    catch_up::{Cost, HostResponse, Requester},
    channel::Rate,
    encode,
};
use log::{AppendError, EncodedRecords, Log, LogPosition, record::Record};
use metrics::{counter, gauge, histogram};
use record::{CONSENSUS, Withdrawal, Withdrawals};
use tokio::{sync::oneshot, time::Instant};
use tracing::{error, info};

use self::unlogged::UnloggedChanges;
use crate::{
    catch_up::ChannelImage,
    clock::now,
    follower::{FollowerInput, FollowerLag},
    hub::HubInput,
    identity::TakenDecisions,
    log_state::LogState,
    push::PushAnswer,
    supervisor::fault,
    trace::{self, TracedMessage},
    turn::Turn,
    watch::ChannelWatches,
};

/// What the writer hands over, in order.
#[derive(Debug)]
pub(crate) enum WriterOutput {
    Turn(WriterTurn),
    Answers(Vec<Answer>),
    /// Turns that another node has committed.
    Followed(FollowedTurns),
}

/// A turn on its way into the log.
#[derive(Debug)]
pub(crate) struct WriterTurn {
    pub turn: Turn,
    /// When the earliest of its inputs was received, if there are any of sources.
    pub oldest: Option<Micros>,
    /// Decisions of identity that follow from inputs of this turn or of earlier ones.
    pub decisions: Option<TakenDecisions>,
    /// Those of its messages that are traced.
    pub traced: Vec<TracedMessage>,
}

/// Turns that another node has committed, and what this one has made of their inputs.
#[derive(Debug)]
pub(crate) struct FollowedTurns {
    pub encoded: EncodedRecords,
    pub turns: Vec<(Record, Turn)>,
}

/// An answer to a request. It is sent after every change that it contains.
#[derive(Debug)]
pub(crate) enum Answer {
    FanOut(Requester, HostResponse, Cost),
    /// The response comes later.
    Deferred(Requester),
    CaughtUp(oneshot::Sender<(HostResponse, Cost)>, (HostResponse, Cost)),
    Image(
        ChannelId,
        oneshot::Sender<(Option<ChannelImage>, Duration)>,
        (Option<ChannelImage>, Duration),
    ),
    Pushed(oneshot::Sender<PushAnswer>, PushAnswer),
    Yielded(oneshot::Sender<()>),
    Committed(oneshot::Sender<Option<Micros>>, Option<Micros>),
}

/// A turn that is in the log: its record, and its inputs as values. For the follower of the log.
#[derive(Debug)]
pub struct LoggedTurn {
    pub record: Record,
    pub inputs: Vec<HubInput>,
    /// The position of the record, if it is the last of those that were appended together.
    pub position: Option<LogPosition>,
}

/// Turns and answers that may wait for the committer. Beyond it, the writer waits. While the log cannot be written
/// they stay in memory, so there are few: a turn may have 64 large messages.
pub(crate) const WRITER_OUTPUTS_MAX: usize = 128;

/// Turns that are appended together at most.
const TURNS_TOGETHER_MAX: usize = 128;

/// The pause before records are offered again to a log that refused them.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// Turns and answers that the committer holds while the log refuses records. Beyond it, the writer waits. Few are turns: the
/// writer takes no inputs meanwhile.
const HELD_MAX: usize = 1_024;

/// How long the committer waits for an image of the follower.
const IMAGE_WITHIN: Duration = Duration::from_millis(500);

pub(crate) struct Committer {
    pub(crate) outputs: Receiver<WriterOutput>,
    /// Those that it has taken from there, and not committed or answered.
    pub(crate) held: VecDeque<WriterOutput>,
    pub(crate) log: Box<dyn Log>,
    pub(crate) fanout: Fanout,
    pub(crate) watches: ChannelWatches,
    pub(crate) follower: FollowerQueue,
    pub(crate) withdrawals: Withdrawals,
    pub(crate) state: LogState,
}

/// The queue of the follower. What has no room there is read from the log.
pub(crate) struct FollowerQueue {
    pub(crate) queue: SyncSender<FollowerInput>,
    /// Whether the log keeps too little for the follower to read, so that it must be waited for.
    pub(crate) waits: bool,
    pub(crate) lag: FollowerLag,
    /// It has not given an image in time since the log was last tried.
    pub(crate) is_late: Cell<bool>,
}

impl Committer {
    /// Runs until the writer has gone and all is committed, or the log cannot be written while the hub stops.
    /// What nobody has seen is then dropped.
    pub(crate) fn run(mut self) -> Box<dyn Log> {
        while let Some(first) = self.held.pop_front().or_else(|| self.outputs.recv().ok()) {
            fault::point();
            let is_done = match first {
                WriterOutput::Turn(first) => {
                    let turns = self.take_turns(first);
                    self.commit(turns)
                }
                WriterOutput::Followed(followed) => self.follow(followed),
                WriterOutput::Answers(answers) => {
                    self.answer(answers);
                    true
                }
            };
            if !is_done {
                break;
            }
        }
        self.log
    }

    /// Takes the turns that wait behind a turn, up to the first answer: answers contain the turns before them, and none of
    /// those after.
    fn take_turns(&mut self, first: WriterTurn) -> Vec<WriterTurn> {
        let mut turns = vec![first];
        while turns.len() < TURNS_TOGETHER_MAX {
            match self.held.pop_front().or_else(|| self.outputs.try_recv().ok()) {
                Some(WriterOutput::Turn(turn)) => turns.push(turn),
                Some(other) => {
                    self.held.push_front(other);
                    break;
                }
                None => break,
            }
        }
        turns
    }

    /// Appends turns and publishes them; false if the log does not take them and the hub stops.
    fn commit(&mut self, turns: Vec<WriterTurn>) -> bool {
        self.follower.lag.wait_for_room();
        let end = self.log.end().number;
        let logged = turns.iter().filter(|it| it.turn.is_logged());
        let records: Vec<Record> =
            logged.zip(end + 1..).map(|(it, number)| it.turn.record(number)).collect();
        let unlogged = turns.iter().map(|it| &it.turn);
        if !records.is_empty() && !self.append(unlogged, |log| log.append(end, &records)) {
            return false;
        }
        let end = self.log.end();
        // Before anyone sees the turns, the follower included.
        let changes = turns.iter().flat_map(|it| &it.turn.changes);
        self.withdrawals.note(changes.filter_map(withdrawn), end.number);
        let mut records = records.into_iter();
        let mut changes: Vec<Change> = Vec::new();
        let mut oldest: Option<Micros> = None;
        let mut all_traced: Vec<TracedMessage> = Vec::new();
        for WriterTurn { turn, oldest: received, decisions, mut traced } in turns {
            let is_logged = turn.is_logged();
            let changed = turn.changes.len();
            changes.extend(turn.changes);
            oldest = [oldest, received].into_iter().flatten().min();
            if let Some(decisions) = decisions {
                decisions.write();
            }
            if is_logged {
                let record = records.next().expect("each logged turn has a record");
                traced.iter_mut().for_each(|message| message.logged(record.number, changed));
                let position = (record.number == end.number).then_some(end);
                self.follower.put(LoggedTurn { record, inputs: turn.inputs, position });
            }
            all_traced.append(&mut traced);
        }
        self.publish(&changes, oldest, all_traced);
        true
    }

    /// Appends what another node has committed, and publishes it; false if the log does not take it and the hub
    /// stops.
    fn follow(&mut self, followed: FollowedTurns) -> bool {
        let FollowedTurns { encoded, turns } = followed;
        self.follower.lag.wait_for_room();
        let unlogged = turns.iter().map(|(_, turn)| turn);
        if !self.append(unlogged, |log| log.append_encoded(&encoded)) {
            return false;
        }
        let end = encoded.end();
        let changes = turns.iter().flat_map(|(_, turn)| &turn.changes);
        self.withdrawals.note(changes.filter_map(withdrawn), end.number);
        let mut changes: Vec<Change> = Vec::new();
        for (record, turn) in turns {
            changes.extend(turn.changes);
            let position = (record.number == end.number).then_some(end);
            self.follower.put(LoggedTurn { record, inputs: turn.inputs, position });
        }
        self.publish(&changes, None, Vec::new());
        true
    }

    fn publish(&self, changes: &[Change], oldest: Option<Micros>, traced: Vec<TracedMessage>) {
        if changes.is_empty() {
            return;
        }
        histogram!("matchwire_changes_a_turn").record(changes.len() as f64);
        counter!("matchwire_publications_total").increment(changes.len() as u64);
        self.fanout.publish_with(changes, &trace::probes(traced));
        self.watches.notify(changes);
        if let Some(oldest) = oldest {
            histogram!("matchwire_publish_delay_seconds").record((now() - oldest) as f64 / 1e6);
        }
    }

    /// Appends the records of these turns, however long the log cannot be written. False if the hub stops meanwhile.
    fn append<'a>(
        &mut self,
        mut turns: impl Iterator<Item = &'a Turn>,
        mut append: impl FnMut(&mut dyn Log) -> Result<(), AppendError>,
    ) -> bool {
        let mut unlogged = UnloggedChanges::default();
        let mut failures = 0_u64;
        loop {
            match append(&mut *self.log) {
                Ok(()) => break,
                Err(AppendError::Storage(problem)) => {
                    if failures == 0 {
                        error!(
                            error = &problem as &dyn std::error::Error,
                            "cannot write to the log; publishing is paused"
                        );
                        gauge!("matchwire_log_refused").set(1.0);
                        self.state.set_refusal(Some(problem.to_string()));
                        self.fanout.set_stale(Some(now()));
                        turns.by_ref().for_each(|turn| unlogged.add(turn));
                        for output in mem::take(&mut self.held) {
                            self.answer_or_hold(output, &mut unlogged);
                        }
                    }
                    failures += 1;
                    counter!("matchwire_log_retries_total").increment(1);
                    if self.wait_to_retry(&mut unlogged) {
                        error!(
                            "the log could not be written until the end; its sources send what is missing again"
                        );
                        return false;
                    }
                }
                // Nobody has seen what was not appended.
                Err(AppendError::Deposed(by)) => {
                    error!(leader = by, "another node leads; this one joins the cluster again");
                    gauge!("matchwire_log_refused").set(0.0);
                    return false;
                }
                Err(problem) => panic!("the log does not take the writer's records: {problem}"),
            }
        }
        if failures > 0 {
            info!(failures, "the log is written again");
            gauge!("matchwire_log_refused").set(0.0);
            self.state.set_refusal(None);
            self.fanout.set_stale(None);
        }
        true
    }

    /// Waits until records are offered to the log again, and answers readers meanwhile. Whether the hub stops.
    fn wait_to_retry(&mut self, unlogged: &mut UnloggedChanges) -> bool {
        self.follower.is_late.set(false);
        let until = Instant::now() + RETRY_AFTER;
        let left = || until.saturating_duration_since(Instant::now());
        while self.held.len() < HELD_MAX
            && !left().is_zero()
            && let Ok(output) = self.outputs.recv_timeout(left())
        {
            self.answer_or_hold(output, unlogged);
        }
        self.state.wait_for_abandon(left())
    }

    /// Answers readers with what the log has. Everything else is held until the log takes records.
    fn answer_or_hold(&mut self, output: WriterOutput, unlogged: &mut UnloggedChanges) {
        match &output {
            WriterOutput::Turn(turn) => unlogged.add(&turn.turn),
            WriterOutput::Followed(followed) => {
                followed.turns.iter().for_each(|(_, turn)| unlogged.add(turn));
            }
            WriterOutput::Answers(_) => {}
        }
        let WriterOutput::Answers(answers) = output else { return self.held.push_back(output) };
        let (mut ready, mut held) = (Vec::new(), Vec::new());
        for answer in answers {
            ready.extend(self.logged_answer(answer, unlogged, &mut held));
        }
        self.answer(ready);
        match self.held.back_mut() {
            _ if held.is_empty() => {}
            Some(WriterOutput::Answers(last)) => last.append(&mut held),
            _ => self.held.push_back(WriterOutput::Answers(held)),
        }
    }

    /// The answer with what the log has; `None` if it is held or dropped. Without an answer, readers within the process
    /// learn at once that the hub cannot give one.
    fn logged_answer(
        &self,
        answer: Answer,
        unlogged: &UnloggedChanges,
        held: &mut Vec<Answer>,
    ) -> Option<Answer> {
        let image_of = |channel: &ChannelId| self.logged_image(channel);
        match answer {
            Answer::FanOut(requester, response, cost) => {
                match unlogged.response(response, image_of) {
                    Ok(response) => return Some(Answer::FanOut(requester, response, cost)),
                    Err(response) => {
                        // The requests of others do not wait for it.
                        self.fanout.defer(requester);
                        held.push(Answer::FanOut(requester, response, cost));
                    }
                }
            }
            Answer::CaughtUp(reply, (response, cost)) => {
                let response = unlogged.response(response, image_of).ok()?;
                return Some(Answer::CaughtUp(reply, (response, cost)));
            }
            Answer::Image(channel, reply, (_, used)) if unlogged.has(&channel) => {
                let image = image_of(&channel).ok()?;
                return Some(Answer::Image(channel, reply, (image, used)));
            }
            Answer::Image(..) | Answer::Deferred(_) => return Some(answer),
            Answer::Pushed(..) | Answer::Yielded(_) | Answer::Committed(..) => held.push(answer),
        }
        None
    }

    /// The image of a channel at the end of the log, which the follower has.
    fn logged_image(&self, channel: &ChannelId) -> Result<Option<ChannelImage>, RecvTimeoutError> {
        if self.follower.is_late.get() {
            return Err(RecvTimeoutError::Timeout);
        }
        let (reply, image) = sync_channel(1);
        let (channel, end) = (channel.clone(), self.log.end().number);
        let sent = self.follower.queue.try_send(FollowerInput::Image { channel, end, reply });
        sent.map_err(|_| RecvTimeoutError::Timeout)?;
        let image = image.recv_timeout(IMAGE_WITHIN);
        self.follower.is_late.set(image.is_err());
        image
    }

    fn answer(&self, answers: Vec<Answer>) {
        let mut responses = Vec::new();
        for answer in answers {
            // Requesters may be gone.
            match answer {
                Answer::FanOut(requester, response, cost) => {
                    responses.push((requester, response, cost));
                }
                Answer::Deferred(requester) => self.fanout.defer(requester),
                Answer::CaughtUp(reply, response) => drop(reply.send(response)),
                Answer::Image(_, reply, image) => drop(reply.send(image)),
                Answer::Pushed(reply, answer) => drop(reply.send(answer)),
                Answer::Yielded(reply) => drop(reply.send(())),
                Answer::Committed(reply, last) => drop(reply.send(last)),
            }
        }
        self.fanout.respond_all(responses);
    }
}

/// What a change may withdraw: all prices of a match if those of a market, a book or the consensus are suspended or settled, or
/// their channel ends; those of one bookmaker or of the consensus if a price of theirs goes.
pub(crate) fn withdrawn(change: &Change) -> Option<Withdrawal> {
    let (channel, publication) = match change {
        Change::Published(Rate::Each, publication) => (&publication.channel, Some(publication)),
        Change::Closed(channel) => (channel, None),
        Change::Opened(_) | Change::Published(..) => return None,
    };
    let mut name = channel.name.as_str().split('/').skip(1);
    let match_id = name.next()?.parse().ok()?;
    if name.next() != Some("odds") {
        return None;
    }
    let bookmaker = name.next();
    let is_of_all = publication.is_none_or(|it| it.urgent || it.has_events);
    if is_of_all {
        return Some(Withdrawal { match_id, bookmaker: None });
    }
    let payload = encode::payload(publication?.frame());
    let text = str::from_utf8(&payload).ok()?;
    // In a patch null removes a member. An outcome of the consensus without a price has others that are removed.
    let signs: &[&str] =
        if bookmaker.is_some() { &[r#""price":null"#, r#""status":"#] } else { &[":null"] };
    let has_gone = signs.iter().any(|sign| text.contains(sign));
    has_gone
        .then(|| Withdrawal { match_id, bookmaker: Some(bookmaker.unwrap_or(CONSENSUS).into()) })
}

impl FollowerQueue {
    fn put(&self, turn: LoggedTurn) {
        self.lag.add(&turn.record);
        let turn = FollowerInput::Turn(Arc::new(turn));
        // The follower is gone if it has failed, and then the process ends.
        if self.waits {
            self.queue.send(turn).ok();
        } else if let Err(TrySendError::Full(_)) = self.queue.try_send(turn) {
            counter!("matchwire_log_follower_behind_total").increment(1);
        }
    }
}

#[cfg(test)]
mod tests;
