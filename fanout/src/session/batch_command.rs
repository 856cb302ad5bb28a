//! Commands with `chs`: many channels and patterns, and one answer.
//!
//! The host locates the channels, a part at a time, and then matches each pattern, so that no request takes long. Each
//! response starts subscriptions that are behind, as a pattern does. They are caught up after the answer.

use std::collections::VecDeque;

use serde_json::Value;

use super::{
    Session, SessionContext, catch_up::PendingRequest, commands::match_channels,
    subscription::Subscription,
};
use crate::{
    catch_up::{HostRequest, Located, Verdict},
    channel::{Channel, ChannelId, Pattern, Position},
    protocol::{
        self, BatchAnswer, BatchEntry, Code, Coverage, Refusal, StartPoint, SubscribeOptions,
    },
    topics::FollowerRef,
};

/// Channels in one request to the host.
const LOCATED_AT_ONCE: usize = 500;

/// A command with `chs` that is carried out.
#[derive(Debug)]
pub(super) struct BatchCommand {
    id: Value,
    options: SubscribeOptions,
    /// What has not been requested yet.
    channels: VecDeque<(ChannelId, Option<Position>)>,
    patterns: VecDeque<(Pattern, StartPoint)>,
    answers: Vec<(Box<str>, BatchAnswer)>,
}

impl Session {
    /// Starts a batch. Returns the first request to the host, if any entry needs one.
    pub(super) fn start_batch(
        &mut self,
        id: Value,
        entries: Vec<BatchEntry>,
        options: SubscribeOptions,
        context: &mut SessionContext<'_>,
    ) -> Option<HostRequest> {
        if entries.len() > self.channels_max as usize {
            let message = format!("chs has at most {} entries", self.channels_max);
            let refusal = Refusal::new(&id, Code::Limit, message);
            context.refuse(&refusal);
            return None;
        }
        let mut batch = BatchCommand {
            id,
            options,
            channels: VecDeque::new(),
            patterns: VecDeque::new(),
            answers: Vec::with_capacity(entries.len()),
        };
        let mut patterns_left = (self.patterns_max as usize).saturating_sub(self.wildcards.len());
        for BatchEntry { name, target } in entries {
            let refused = match target {
                Ok((pattern, from)) if pattern.is_wildcard() => {
                    let is_new = !self.wildcards.contains_key(&pattern);
                    if is_new && patterns_left == 0 {
                        Code::Limit
                    } else {
                        patterns_left -= usize::from(is_new);
                        batch.patterns.push_back((pattern, from));
                        continue;
                    }
                }
                Ok((channel, from)) => {
                    let from =
                        if let StartPoint::Position(from) = from { Some(from) } else { None };
                    batch.channels.push_back((ChannelId::new(channel.as_str()), from));
                    continue;
                }
                Err(code) => code,
            };
            batch.answers.push((name, BatchAnswer::refused(refused, Vec::new())));
        }
        self.batch = Some(Box::new(batch));
        let request = self.next_of_batch();
        self.answer_batch(context);
        request
    }

    /// The next request to the host for the batch that is carried out.
    pub(super) fn next_of_batch(&mut self) -> Option<HostRequest> {
        let batch = self.batch.as_mut().filter(|_| self.pending.is_none())?;
        if !batch.channels.is_empty() {
            let count = batch.channels.len().min(LOCATED_AT_ONCE);
            let entries: Vec<_> = batch.channels.drain(..count).collect();
            let request = HostRequest::Locate { channels: entries.clone() };
            self.set_pending(PendingRequest::LocateBatch { entries });
            return Some(request);
        }
        let (pattern, from) = batch.patterns.pop_front()?;
        let request = match_channels(&pattern, &from);
        self.set_pending(PendingRequest::MatchBatch { pattern, from });
        Some(request)
    }

    /// Sends the answer if all entries have theirs.
    fn answer_batch(&mut self, context: &mut SessionContext<'_>) {
        let is_complete = |batch: &mut Box<BatchCommand>| {
            self.pending.is_none() && batch.channels.is_empty() && batch.patterns.is_empty()
        };
        if let Some(batch) = self.batch.take_if(is_complete) {
            let reply = protocol::subscribed_batch(&batch.id, &batch.options, &batch.answers);
            context.outbox.push_reply(reply, context.now);
        }
    }

    /// Starts channels of the batch. One that is followed already starts again, as with a subscription by name.
    /// `located`: where they stand, in the order of `entries`.
    pub(super) fn start_located(
        &mut self,
        entries: Vec<(ChannelId, Option<Position>)>,
        located: Vec<Option<Located>>,
        context: &mut SessionContext<'_>,
    ) -> Vec<FollowerRef> {
        let mut all_left = Vec::new();
        let located = located.into_iter().chain(std::iter::repeat(None));
        for ((name, from), located) in entries.into_iter().zip(located) {
            let answer = match located {
                None => BatchAnswer::refused(Code::NotTracked, Vec::new()),
                Some(located) => self.start_channel(located, from, &mut all_left, context),
            };
            let Some(batch) = &mut self.batch else { break };
            batch.answers.push((name.as_str().into(), answer));
        }
        // A beat confirms the positions of all when they have caught up.
        self.unsettled = true;
        self.answer_batch(context);
        all_left
    }

    fn start_channel(
        &mut self,
        located: Located,
        from: Option<Position>,
        all_left: &mut Vec<FollowerRef>,
        context: &mut SessionContext<'_>,
    ) -> BatchAnswer {
        let Located { channel, head, verdict } = located;
        if !self.classes.cover(channel.needs) {
            let lacking = self.permission.lacking(self.classes, channel.needs);
            let offers = lacking.filter_map(|offer| offer.document.clone()).collect();
            return BatchAnswer::refused(Code::NotEntitled, offers);
        }
        let old = self.by_name(channel.name.as_str());
        if old.is_none() && self.is_full(1) {
            return BatchAnswer::refused(Code::Limit, Vec::new());
        }
        all_left.extend(old.and_then(|key| self.remove(key, context)));
        let answer = BatchAnswer::channel(&channel, head, verdict);
        let options = self.batch_options();
        context.note_subscribed(&channel, options.rate, head, from, verdict);
        let from = from.filter(|_| verdict == Verdict::Resumed);
        let key = self.insert(Subscription::new(channel, options, true, from));
        self.behind.push_back(key);
        answer
    }

    fn batch_options(&self) -> SubscribeOptions {
        self.batch.as_ref().map(|batch| batch.options.clone()).unwrap_or_default()
    }

    /// Starts the channels of a pattern of the batch.
    pub(super) fn start_matched(
        &mut self,
        pattern: &Pattern,
        from: &StartPoint,
        channels: &[Channel],
        context: &mut SessionContext<'_>,
    ) -> Vec<FollowerRef> {
        let options = self.batch_options();
        let (coverage, all_left) = self.subscribe_all(pattern, &options, from, channels, context);
        if let Some(batch) = &mut self.batch {
            batch.answers.push((pattern.as_str().into(), BatchAnswer::pattern(coverage)));
        }
        self.answer_batch(context);
        self.report_left_out(pattern, coverage, context);
        all_left
    }

    /// Informs the client once of channels that are left out.
    pub(super) fn report_left_out(
        &mut self,
        pattern: &Pattern,
        coverage: Coverage,
        context: &mut SessionContext<'_>,
    ) {
        if coverage.left_out > 0 {
            self.report_limit(pattern, context);
        }
    }
}
