//! Answers the operator's inspections, a part in each turn.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::Shard;
use crate::{
    Micros,
    channel::ChannelId,
    close::Close,
    connection::Connection,
    inspect::{
        Explanation, Inspection, LISTED_MAX, SUBSCRIPTIONS_LISTED_MAX, ShardList, Slowness,
        SocketId, SocketQuery, SocketReport, SocketSummary, TopEntries,
    },
    journal::JournalEntry,
    subscribers::Subscriber,
};

/// Connections that a scan looks at in a turn.
const SCANNED_A_TURN: usize = 1_024;

/// A list that is being made.
#[derive(Debug)]
pub(super) struct Scan {
    query: Arc<SocketQuery>,
    reply: oneshot::Sender<ShardList>,
    permit: Arc<OwnedSemaphorePermit>,
    /// The slot at which the next part begins.
    next: usize,
    matching: usize,
    slowest: TopEntries<(Slowness, Reverse<usize>)>,
}

impl Shard {
    pub(super) fn inspect(&mut self, inspection: Inspection, now: Micros) {
        match inspection {
            Inspection::List { query, reply, permit } => self.scans.push_back(Scan {
                query,
                reply,
                permit,
                next: 0,
                matching: 0,
                slowest: TopEntries::new(LISTED_MAX),
            }),
            Inspection::Explain { serial, reply, permit } => {
                let explanation = self.explain(serial, now);
                // The caller may open the next inspection as soon as it has the answer.
                drop(permit);
                // The operator may no longer wait.
                reply.send(explanation).ok();
            }
            Inspection::Close { serial, reply, permit } => {
                let slot = self.find(serial).map(|(slot, _)| slot);
                if let Some(slot) = slot {
                    self.close(slot, Close::Drain { reconnect_after_ms: 0 }, now);
                }
                drop(permit);
                reply.send(slot.is_some()).ok();
            }
        }
    }

    /// Continues the list that was requested first. Returns whether there is more to do.
    pub(super) fn scan(&mut self, now: Micros) -> bool {
        let Some(mut scan) = self.scans.pop_front() else { return false };
        if scan.reply.is_closed() {
            return !self.scans.is_empty();
        }
        let end = self.subscribers.slots().min(scan.next + SCANNED_A_TURN);
        for slot in scan.next..end {
            let Some(subscriber) = self.subscribers.get(slot) else { continue };
            if scan.query.selects(subscriber) {
                scan.matching += 1;
                scan.slowest.offer((slowness(subscriber, now), Reverse(slot)));
            }
        }
        scan.next = end;
        if end < self.subscribers.slots() {
            self.scans.push_front(scan);
            return true;
        }
        let Scan { reply, permit, matching, slowest, .. } = scan;
        // A slot may have been reused since it was looked at: then it is listed as it is now.
        let slots = slowest.into_sorted().map(|(_, Reverse(slot))| slot);
        let sockets = slots.filter_map(|slot| Some(self.summary(self.subscribers.get(slot)?, now)));
        let list = ShardList { sockets: sockets.collect(), matching };
        // As in `inspect`: before the answer, so that the next inspection finds the room.
        drop(permit);
        reply.send(list).ok();
        !self.scans.is_empty()
    }

    fn summary(&self, subscriber: &Subscriber<Connection>, now: Micros) -> SocketSummary {
        let Subscriber { outbox, session, sink, tally, .. } = subscriber;
        let id = SocketId { shard: self.number, serial: tally.serial };
        SocketSummary {
            id,
            key: sink.owner.as_ref().map(|owner| owner.key),
            peer: sink.owner.as_ref().and_then(|owner| owner.peer),
            dialect: session.dialect().name(),
            transport: sink.transport(),
            deflates: sink.owner.as_ref().is_some_and(|owner| owner.deflates),
            is_closing: sink.is_closing(),
            is_indebted: sink.is_indebted,
            open_us: now - sink.opened(),
            channels: session.channels(),
            patterns: session.patterns(),
            behind: session.behind(),
            waiting_bytes: outbox.bytes(),
            waiting_us: outbox.age(now),
            stalled_us: subscriber.stalled(now),
            slow_us: subscriber.slow_since().map(|since| now - since),
            sent: tally.delivered + outbox.delivered(),
            merged: tally.merged,
            images: tally.images,
            catch_ups: tally.catch_ups,
            fell_behind: tally.fell_behind,
            stalls: tally.stalls,
            refused: tally.refused,
        }
    }

    /// Explains the connection with this serial and watches it from now on.
    fn explain(&mut self, serial: u64, now: Micros) -> Explanation {
        if serial == 0 || serial >= self.subscribers.next_serial() {
            return Explanation::Unknown;
        }
        let to_day = self.shared.host.time_of_day() - now;
        let at_day = |entry: JournalEntry| JournalEntry { at: entry.at + to_day, ..entry };
        let Some((slot, subscriber)) = self.find(serial) else {
            let entries = self.subscribers.journal().entries(serial, None);
            return Explanation::Ended { journal: entries.into_iter().map(at_day).collect() };
        };
        let opened = subscriber.sink.opened();
        let report = self.report(subscriber, now);
        let journal = self.subscribers.journal();
        let entries = journal.entries(serial, Some(opened));
        journal.watch(u32::try_from(slot).unwrap_or(u32::MAX), serial, now);
        let mut watch = journal.state(serial);
        watch.until = watch.until.map(|until| until + to_day);
        let journal = entries.into_iter().map(at_day).collect();
        Explanation::Open { report: Box::new(report), journal, watch }
    }

    fn find(&self, serial: u64) -> Option<(usize, &Subscriber<Connection>)> {
        // A watched connection is looked at every few seconds.
        if let Some(slot) = self.subscribers.journal_slot(serial) {
            let subscriber = self.subscribers.get(slot)?;
            return (subscriber.tally.serial == serial).then_some((slot, subscriber));
        }
        self.subscribers.iter().find(|(_, subscriber)| subscriber.tally.serial == serial)
    }

    fn report(&self, subscriber: &Subscriber<Connection>, now: Micros) -> SocketReport {
        let summary = self.summary(subscriber, now);
        let waiting = subscriber.outbox.waiting_by_channel();
        let topics = self.subscribers.topics();
        let subscriptions = subscriber.session.report(topics, &waiting, SUBSCRIPTIONS_LISTED_MAX);
        let patterns = subscriber.session.wildcard_names(SUBSCRIPTIONS_LISTED_MAX);
        SocketReport { summary, subscriptions, patterns }
    }
}

impl SocketQuery {
    fn selects(&self, subscriber: &Subscriber<Connection>) -> bool {
        let key = subscriber.sink.owner.as_ref().map(|owner| owner.key);
        let has_key = |keys: &HashSet<u64>| key.is_some_and(|key| keys.contains(&key));
        let follows = |channel: &ChannelId| subscriber.session.follows(channel);
        self.keys.as_ref().is_none_or(has_key) && self.channel.as_ref().is_none_or(follows)
    }
}

fn slowness(subscriber: &Subscriber<Connection>, now: Micros) -> Slowness {
    Slowness {
        waiting_us: subscriber.outbox.age(now),
        waiting_bytes: subscriber.outbox.bytes(),
        behind: subscriber.session.behind(),
        open_us: now - subscriber.sink.opened(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscribers::ConnectionCounts;

    /// A hub serves 100,000 sockets: each byte here is 100 KB of its memory.
    #[test]
    fn counts_for_the_operator_cost_few_bytes() {
        let (tally, all) = (size_of::<ConnectionCounts>(), size_of::<Subscriber<Connection>>());
        assert!(tally <= 56 && all <= 640, "{tally} of {all} bytes");
    }
}
