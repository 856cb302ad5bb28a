//! Reads from connections, with limits for each turn and for each payer.

use std::mem;

use base::work::{Payer, Pool, thread_time};
use metrics::counter;

use super::Shard;
use crate::{Micros, clock::monotonic, connection::ReadOutcome, inbound::MessageLimits};

/// Reads from one connection before other connections get their turn: one that returns a command, and one
/// that finds no more data.
const READS_A_TURN: usize = 2;

impl Shard {
    /// Schedules a read from a connection, even without a socket event.
    pub(super) fn read_soon(&mut self, slot: usize) {
        if let Some(subscriber) = self.subscribers.get_mut(slot)
            && !mem::replace(&mut subscriber.sink.is_unread, true)
        {
            self.unread.push(subscriber.sink.payer(), slot);
        }
    }

    /// Reads from connections, in turn between payers, until the time for commands in a turn is over.
    pub(super) fn read_all(&mut self, now: Micros) {
        if self.unread.due().is_none_or(|due| due > now) {
            return;
        }
        self.unread.begin(now);
        let mut begun = thread_time();
        while let Some((payer, slot)) = self.unread.pop() {
            let Some(subscriber) = self.subscribers.get_mut(slot) else { continue };
            subscriber.sink.is_unread = false;
            self.read(slot, now);
            let ended = thread_time();
            let used = ended.saturating_sub(begun);
            begun = ended;
            self.unread.record(used);
            self.charge(payer, Pool::Shard, used);
        }
    }

    /// Reads and carries out what a client sent, up to the limits of a turn.
    fn read(&mut self, slot: usize, now: Micros) {
        let Some(subscriber) = self.subscribers.get(slot) else { return };
        let may_deflate = subscriber.sink.owner.as_ref().is_some_and(|owner| owner.deflates);
        let commands = self.shared.limits.command_limits(subscriber.session.dialect());
        let commands = MessageLimits { may_deflate, ..commands };
        let time_left = Micros::try_from(self.unread.time_left().as_micros()).unwrap_or(0);
        let ends_at = monotonic() + time_left;
        let is_in_debt = self.is_in_debt(slot, now);
        let mut reads = READS_A_TURN;
        loop {
            let is_deferred = is_in_debt || self.subscribers.defers_commands(slot);
            let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
            let connection = &mut subscriber.sink;
            if is_deferred && !connection.is_closing() {
                return;
            }
            match connection.receive(&mut self.buffer, commands, &mut reads, now) {
                ReadOutcome::Message(event) => self.handle(slot, event, now),
                ReadOutcome::Empty => return,
                ReadOutcome::Later => break,
                ReadOutcome::Gone => {
                    let generation = connection.generation;
                    return self.remove(slot, generation, now);
                }
            }
            self.apply_effects(now);
            if monotonic() >= ends_at {
                break;
            }
        }
        // There may be more, and the socket does not report it again.
        self.read_soon(slot);
    }

    /// Whether a connection's commands must wait because its payer is in debt. If so, it is checked again
    /// at the next ticks.
    fn is_in_debt(&mut self, slot: usize, now: Micros) -> bool {
        let is_in_debt = self.shared.is_in_debt(self.payer(slot), now);
        if is_in_debt && let Some(subscriber) = self.subscribers.get_mut(slot) {
            let connection = &mut subscriber.sink;
            if connection.hold(now) {
                counter!("matchwire_commands_held_total").increment(1);
                self.indebted.push((slot, connection.generation));
            }
        }
        is_in_debt
    }

    /// Continues the commands of connections whose payers have paid off their debts, and their requests.
    pub(super) fn resume_indebted(&mut self, now: Micros) {
        // Most are of one payer.
        let mut last = (Payer::Hub, false);
        for (slot, generation) in mem::take(&mut self.indebted) {
            let payer = self.payer(slot);
            if payer != last.0 {
                last = (payer, self.shared.is_in_debt(payer, now));
            }
            let is_in_debt = last.1;
            let Some(connection) = self.connection(slot, generation) else { continue };
            if is_in_debt {
                connection.hold(now);
                self.indebted.push((slot, generation));
            } else {
                connection.is_indebted = false;
                self.read_soon(slot);
            }
        }
    }
}
