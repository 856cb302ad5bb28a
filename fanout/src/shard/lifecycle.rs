//! How connections start and end, and what the host changes for a key.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use metrics::{counter, gauge};
use mio::Token;
use tracing::debug;

use super::{
    Shard,
    departures::{Departures, Drain},
    dispatch::error,
};
use crate::{
    Micros,
    close::{Close, HostClose},
    connection::{Connection, Expiry, NewConnection, Purpose},
    dialect::{Dialect, Notice},
    encode,
    inspect::SocketId,
    journal::JournalEvent,
    permission::Permission,
    protocol::{self, Code, HelloFrame, HelloLimits},
    session::Session,
    socket::Socket,
};

impl Shard {
    pub(super) fn connect(&mut self, connection: NewConnection, now: Micros) {
        let NewConnection { stream, read_ahead, purpose } = connection;
        let limits = &self.shared.limits;
        let slot = self.subscribers.next_slot();
        let registry = self.poll.registry();
        let socket = match Socket::register(stream, limits.sockets, registry, Token(slot)) {
            Ok(socket) => socket,
            Err(error) => {
                self.shared.sockets[self.number].fetch_sub(1, Ordering::Relaxed);
                return debug!(%error, "a socket could not be registered");
            }
        };
        let generation = self.subscribers.next_serial();
        let mut connection = Connection::new(generation, socket, &read_ahead, now);
        gauge!("matchwire_sockets").increment(1.0);
        match purpose {
            Purpose::Serve(owner, dialect) => {
                let session = Session::speaking(dialect, limits.channels_max)
                    .with_patterns_max(limits.patterns_max)
                    .within(self.shared.quotas.connect(owner.payer))
                    .deflating(owner.deflates)
                    .permitted(owner.permission.clone(), self.shared.host.time_of_day());
                let deflates = owner.deflates;
                connection.owner = Some(Box::new(owner));
                self.subscribers.admit(session, connection);
                if dialect.is_stream() {
                    let hello = self.hello(generation, deflates);
                    self.subscribers.reply(slot, hello, now);
                }
            }
            Purpose::Refuse(frame, close) => {
                self.subscribers.admit(Session::new(0), connection);
                self.subscribers.reply(slot, frame, now);
                self.close(slot, close, now);
            }
        }
        if let Some(drain) = self.draining {
            let reconnect_after_ms = drain.late_reconnect_ms();
            self.close(slot, Close::Drain { reconnect_after_ms }, now);
        }
        // What was read ahead is handled at once.
        self.read_soon(slot);
    }

    fn hello(&self, serial: u64, deflates: bool) -> Bytes {
        let limits = &self.shared.limits;
        let conn = SocketId { shard: self.number, serial }.to_string();
        let mut features = vec!["batch", "hash", "pick"];
        if self.shared.host.offers_replays() {
            features.push("replay");
        }
        if deflates {
            features.push("deflate");
        }
        protocol::json_frame(&HelloFrame {
            conn: &conn,
            server: &self.shared.server,
            now: self.shared.host.stamp(),
            beat_ms: limits.beat_ms,
            limits: HelloLimits {
                channels: limits.channels_max,
                patterns: limits.patterns_max,
                command_bytes: limits.command_bytes_max,
                from_bytes: limits.from_bytes_max.max(limits.command_bytes_max),
            },
            features: &features,
        })
    }

    pub(super) fn close_key(&mut self, key: u64, close: Close, now: Micros) {
        self.slots_of(key).into_iter().for_each(|slot| self.close(slot, close, now));
    }

    pub(super) fn permit(
        &mut self,
        key: u64,
        permission: &Permission,
        expiry: Option<Expiry>,
        now: Micros,
    ) {
        for slot in self.slots_of(key) {
            let Some(subscriber) = self.subscribers.get_mut(slot) else { continue };
            if subscriber.sink.is_closing() {
                continue;
            }
            if let Some(owner) = &mut subscriber.sink.owner {
                owner.expiry = expiry;
            }
            subscriber.session.set_permission(permission.clone());
            let time_of_day = self.shared.host.time_of_day();
            self.subscribers.renew_permission(slot, time_of_day, now);
        }
    }

    /// The connections of this key.
    fn slots_of(&self, key: u64) -> Vec<usize> {
        let has_key =
            |connection: &Connection| connection.owner.as_ref().is_some_and(|it| it.key == key);
        let slots = self.subscribers.iter().filter(|(_, subscriber)| has_key(&subscriber.sink));
        slots.map(|(slot, _)| slot).collect()
    }

    /// Begins to close all connections.
    pub(super) fn drain(&mut self, drain: Drain, now: Micros) {
        self.draining = Some(drain);
        let slots = self.subscribers.iter().map(|(slot, _)| slot).collect();
        let shard = (self.number, self.shared.mailboxes.len());
        self.departures = Some(Departures::new(drain, slots, shard, now));
        self.close_departing(now);
    }

    /// Closes the connections whose time has come. New ones do not take the slot of one that is to close: they are
    /// closed as they come.
    pub(super) fn close_departing(&mut self, now: Micros) {
        while let Some((slot, reconnect_after_ms)) =
            self.departures.as_mut().and_then(|departures| departures.next(now))
        {
            self.close(slot, Close::Drain { reconnect_after_ms }, now);
        }
    }

    /// Starts to close a connection: queues `bye`, if there is one, and the close frame.
    pub(super) fn close(&mut self, slot: usize, close: Close, now: Micros) {
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
        let connection = &mut subscriber.sink;
        if connection.is_closing() {
            return;
        }
        debug!(slot, code = close.code(), reason = close.reason(), "closing");
        counter!("matchwire_closes_total", "reason" => close.reason()).increment(1);
        let has_owner = connection.owner.is_some();
        let dialect = subscriber.session.dialect();
        let (code, reason) = (close.code(), close.reason());
        let by_client = matches!(close, Close::Client { .. });
        self.subscribers.note(slot, JournalEvent::Closed { code, reason, by_client }, now);
        self.subscribers.unsubscribe_all(slot, now);
        self.report_usage(slot, now);
        if let Some(subscriber) = self.subscribers.get_mut(slot) {
            subscriber.sink.close(now);
        }
        self.closing.insert(slot);
        self.hanging_up.push(slot);
        if let Close::Host(close @ HostClose { reason, message: Some(message), .. }) = close
            && has_owner
        {
            let frame = match dialect {
                Dialect::Stream => Some(error(Code::Host(reason), message)),
                Dialect::Hosted(dialect) => dialect.render(Notice::Closing { close, message }),
            };
            if let Some(frame) = frame {
                self.subscribers.reply(slot, frame, now);
            }
        }
        // A dialect of the host has no `bye`, and who is refused gets none: clients use the code.
        if let Some((why, after)) = close.bye().filter(|_| dialect.is_stream() && has_owner) {
            self.subscribers.reply(slot, protocol::bye(why, after), now);
        }
        let frame = encode::close_frame(close.code(), close.reason());
        self.subscribers.reply(slot, frame, now);
        self.read_soon(slot);
    }

    /// Ends the streams of closing connections whose close frame has been written.
    pub(super) fn hang_up(&mut self) {
        let subscribers = &mut self.subscribers;
        self.hanging_up.retain(|slot| {
            let Some(subscriber) = subscribers.get_mut(*slot) else { return false };
            let is_written = subscriber.outbox.is_empty();
            subscriber.sink.is_closing() && !(is_written && subscriber.sink.hang_up())
        });
    }

    pub(super) fn remove(&mut self, slot: usize, generation: u64, now: Micros) {
        if self.connection(slot, generation).is_none() {
            return;
        }
        if let Some(subscriber) = self.subscribers.get(slot)
            && !subscriber.sink.is_closing()
        {
            let waiting_bytes = subscriber.outbox.bytes();
            self.subscribers.note(slot, JournalEvent::Disconnected { waiting_bytes }, now);
        }
        self.report_usage(slot, now);
        // Closing the socket removes it from the poll.
        drop(self.subscribers.remove(slot, now));
        self.closing.remove(&slot);
        self.shared.sockets[self.number].fetch_sub(1, Ordering::Relaxed);
        gauge!("matchwire_sockets").decrement(1.0);
    }
}
