//! Reads from connections, with limits for each turn and for each key.

use std::mem;

use metrics::counter;

use super::Shard;
use crate::{
    Micros,
    connection::{ECHO_LIMITS, ReadOutcome},
    inbound::MessageLimits,
};

/// Messages of one connection that are handled before other connections get their turn.
const MESSAGES_A_TURN: usize = 32;

/// Reads from one connection before other connections get their turn: one that returns a command, and one
/// that finds no more data.
const READS_A_TURN: usize = 2;

impl Shard {
    /// Schedules a read from a connection, even without a socket event.
    pub(super) fn read_soon(&mut self, slot: usize) {
        if let Some(subscriber) = self.subscribers.get_mut(slot)
            && !mem::replace(&mut subscriber.sink.is_unread, true)
        {
            self.unread.push(slot);
        }
    }

    /// Reads and carries out what a client sent, up to the limits of a turn.
    pub(super) fn read(&mut self, slot: usize, now: Micros) {
        let Some(subscriber) = self.subscribers.get(slot) else { return };
        let may_deflate = subscriber.sink.owner.as_ref().is_some_and(|owner| owner.deflates);
        let commands = self.shared.limits.command_limits(subscriber.session.dialect());
        let commands = MessageLimits { may_deflate, ..commands };
        let mut reads = READS_A_TURN;
        for _ in 0..MESSAGES_A_TURN {
            let is_deferred = self.subscribers.defers_commands(slot) || self.is_in_debt(slot, now);
            let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
            let connection = &mut subscriber.sink;
            if is_deferred && !connection.is_closing() {
                return;
            }
            let limits = if connection.is_echo { ECHO_LIMITS } else { commands };
            match connection.receive(&mut self.buffer, limits, &mut reads, now) {
                ReadOutcome::Message(event) => self.handle(slot, event, now),
                ReadOutcome::Empty => return,
                ReadOutcome::Later => break,
                ReadOutcome::Gone => {
                    let generation = connection.generation;
                    return self.remove(slot, generation, now);
                }
            }
            self.apply_effects(now);
        }
        // There may be more, and the socket does not report it again.
        self.read_soon(slot);
    }

    /// Whether a connection's commands must wait because its key is in debt. If so, it is checked again
    /// at the next ticks.
    fn is_in_debt(&mut self, slot: usize, now: Micros) -> bool {
        let Some(key) = self.key(slot) else { return false };
        let is_in_debt = self.token_buckets.is_in_debt(key, now);
        if is_in_debt && let Some(subscriber) = self.subscribers.get_mut(slot) {
            let connection = &mut subscriber.sink;
            if !mem::replace(&mut connection.is_indebted, true) {
                counter!("matchwire_commands_held_total").increment(1);
                self.indebted.push((slot, connection.generation));
            }
        }
        is_in_debt
    }

    /// Continues the commands of connections whose keys have paid off their debts.
    pub(super) fn resume_indebted(&mut self, now: Micros) {
        for (slot, generation) in mem::take(&mut self.indebted) {
            if let Some(connection) = self.connection(slot, generation) {
                connection.is_indebted = false;
                // If the debt is not paid off, it is added again.
                self.read(slot, now);
            }
        }
        self.token_buckets.sweep(now);
    }
}
