//! One connected client: its socket, its messages, its owner, and how it ends.

use std::{
    fmt,
    io::{self, IoSlice, Read, Write},
    mem,
    net::IpAddr,
};

use base::work::Payer;
use bytes::Bytes;

use crate::{
    Micros,
    close::Close,
    dialect::Dialect,
    inbound::{Inbound, InboundEvent, MessageLimits},
    permission::Permission,
    socket::{Socket, Stream},
};

/// The owner of a connection, as far as this crate must know.
pub struct Owner {
    /// The key it came with: revoking it closes the connection.
    pub key: u64,
    /// Who pays for its work, and whose limits it shares: the account of the key.
    pub payer: Payer,
    /// When it is no longer allowed to be connected, if ever.
    pub expiry: Option<Expiry>,
    /// What it may follow.
    pub permission: Permission,
    /// The handshake has agreed to compressed messages in both directions, each on its own (RFC 7692).
    pub deflates: bool,
    /// Where it comes from, for the operator.
    pub peer: Option<IpAddr>,
    /// Records what the connection uses; dropped when it ends.
    pub guard: Box<dyn Guard>,
}

/// The end of the time for which a connection is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// A time of day.
    pub at: Micros,
    /// How the connection is closed then.
    pub close: Close,
}

/// Represents a connection to the host while it lasts, such as a permit that counts sockets. It is called
/// on the shard's thread, so it must not block.
pub trait Guard: Send {
    /// Records the usage since the last call, up to `now`, a time of day: messages with data that the
    /// socket has accepted completely, and milliseconds connected. Called at each beat and at the end.
    fn record_usage(&self, messages: u64, open_ms: u64, now: Micros);
}

/// For hosts that do not count usage.
impl Guard for () {
    fn record_usage(&self, _messages: u64, _open_ms: u64, _now: Micros) {}
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Owner {
    /// How to close the connection, if it is no longer allowed.
    fn expired(&self, time_of_day: Micros) -> Option<Close> {
        self.expiry.filter(|expiry| time_of_day >= expiry.at).map(|expiry| expiry.close)
    }
}

/// A connection on its way to a shard. `read_ahead`: bytes that arrived after the handshake.
#[derive(Debug)]
pub(crate) struct NewConnection {
    pub(crate) stream: Stream,
    pub(crate) read_ahead: Vec<u8>,
    pub(crate) purpose: Purpose,
}

#[derive(Debug)]
pub(crate) enum Purpose {
    Serve(Owner, Dialect),
    /// Send this frame, which says why it is refused, and close it.
    Refuse(Bytes, Close),
}

/// How long a closing connection may take before it is removed, in microseconds.
const LINGER_US: Micros = 2_000_000;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) generation: u64,
    /// `None` once it closes.
    pub(crate) owner: Option<Box<Owner>>,
    /// It is in the shard's list of connections to read from in the next turn.
    pub(crate) is_unread: bool,
    socket: Socket,
    inbound: Inbound,
    phase: Phase,
    /// The socket may have more to read. It reports that only once.
    readable: bool,
    ping_sent: bool,
    /// Its commands wait because its payer is in debt.
    pub(crate) is_indebted: bool,
    /// When the last lag frame was sent, while the client is slow.
    pub(crate) lag_sent_at: Option<Micros>,
    opened: Micros,
    /// When the client last sent anything.
    last_received: Micros,
    /// Up to when usage has been reported to the owner's guard.
    usage_reported: Micros,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// The close frame is queued; everything that the client still sends is discarded.
    Closing {
        deadline: Micros,
        /// The close frame is sent, and this half of the stream is ended.
        hung_up: bool,
    },
}

/// The result of [`Connection::receive`].
#[derive(Debug)]
pub(crate) enum ReadOutcome {
    Message(InboundEvent),
    /// Nothing now.
    Empty,
    /// The reads of this turn are used up, and there may be more.
    Later,
    /// The client has disconnected.
    Gone,
}

/// What a connection's timers require.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerAction {
    Nothing,
    Ping,
    Close(Close),
    /// Remove it: its time to close has passed.
    Remove,
}

impl Connection {
    pub(crate) fn new(generation: u64, socket: Socket, read_ahead: &[u8], now: Micros) -> Self {
        let mut inbound = Inbound::default();
        if !read_ahead.is_empty() {
            inbound.extend(read_ahead);
        }
        Self {
            generation,
            owner: None,
            is_unread: false,
            socket,
            inbound,
            phase: Phase::Open,
            readable: true,
            ping_sent: false,
            is_indebted: false,
            lag_sent_at: None,
            opened: now,
            last_received: now,
            usage_reported: now,
        }
    }

    /// Reports the usage since the last report to the owner's guard. `open_us_max`: the longest time to
    /// report, so that a shard that was suspended adds no more than that. `now` is monotonic; the guard
    /// gets the time of day.
    pub(crate) fn report_usage(
        &mut self,
        messages: u64,
        open_us_max: Micros,
        now: Micros,
        time_of_day: Micros,
    ) {
        let Some(owner) = &self.owner else { return };
        let open_us = now.saturating_sub(self.usage_reported).clamp(0, open_us_max);
        owner.guard.record_usage(messages, u64::try_from(open_us / 1000).unwrap_or(0), time_of_day);
        // The rest of a millisecond is reported the next time.
        self.usage_reported = now - open_us % 1000;
    }

    /// When it was opened.
    pub(crate) fn opened(&self) -> Micros {
        self.opened
    }

    /// What its bytes go through.
    pub(crate) fn transport(&self) -> &'static str {
        self.socket.transport()
    }

    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing { .. })
    }

    /// Who pays for its work. The hub pays for what is left of connections that end.
    pub(crate) fn payer(&self) -> Payer {
        self.owner.as_ref().map_or(Payer::Hub, |owner| owner.payer)
    }

    /// Its commands wait: it is not silent. Returns whether they did not wait before.
    pub(crate) fn hold(&mut self, now: Micros) -> bool {
        self.last_received = now;
        !mem::replace(&mut self.is_indebted, true)
    }

    /// Records that the socket has something to read.
    pub(crate) fn set_readable(&mut self) {
        self.readable = true;
    }

    /// Reads the next message, through a buffer that all connections share. `reads`: how many times the
    /// socket may still be read in this turn, so that a client that never stops sending does not delay
    /// others.
    ///
    /// While the connection is closing, what arrives is discarded: dropping the socket with unread bytes
    /// would reset it, and the client would never see the close code.
    pub(crate) fn receive(
        &mut self,
        buffer: &mut [u8],
        limits: MessageLimits,
        reads: &mut usize,
        now: Micros,
    ) -> ReadOutcome {
        loop {
            if let Some(received) = self.inbound.next(limits) {
                return ReadOutcome::Message(received);
            }
            if !self.readable {
                return ReadOutcome::Empty;
            }
            if *reads == 0 {
                return ReadOutcome::Later;
            }
            *reads -= 1;
            match self.socket.read(buffer) {
                Ok(0) => return ReadOutcome::Gone,
                Ok(_) if self.is_closing() => {}
                Ok(count) => {
                    self.last_received = now;
                    self.ping_sent = false;
                    self.inbound.extend(&buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return ReadOutcome::Gone,
            }
        }
    }

    /// Starts to close: drops the owner, and gives the client some time to receive the close frame.
    pub(crate) fn close(&mut self, now: Micros) {
        self.phase = Phase::Closing { deadline: now + LINGER_US, hung_up: false };
        self.owner = None;
        self.inbound = Inbound::default();
    }

    /// Ends its own half of the stream after the close frame is sent, since a client waits for that (RFC
    /// 6455, section 7.1.1). The other half stays open, so that the client can still reply. Returns
    /// whether the half is ended.
    pub(crate) fn hang_up(&mut self) -> bool {
        if let Phase::Closing { hung_up, .. } = &mut self.phase
            && !*hung_up
        {
            *hung_up = self.socket.end_writing().is_ok();
        }
        matches!(self.phase, Phase::Closing { hung_up: true, .. })
    }

    /// Checks the timers. `stalled`: how long the socket has accepted nothing; `has_beats`: whether it gets beats. `now` is
    /// monotonic; only the owner's expiry uses the time of day.
    pub(crate) fn check_timers(
        &mut self,
        limits: &crate::Limits,
        (stalled, has_beats): (Micros, bool),
        now: Micros,
        time_of_day: Micros,
    ) -> TimerAction {
        match self.phase {
            Phase::Closing { deadline, .. } if now > deadline => TimerAction::Remove,
            Phase::Closing { .. } => TimerAction::Nothing,
            Phase::Open if stalled > limits.stall_us() => TimerAction::Close(Close::TooSlow),
            Phase::Open => match self.owner.as_ref().and_then(|owner| owner.expired(time_of_day)) {
                Some(close) => TimerAction::Close(close),
                None => self.check_idle(limits, has_beats, now),
            },
        }
    }

    fn check_idle(&mut self, limits: &crate::Limits, has_beats: bool, now: Micros) -> TimerAction {
        let (silent, idle) = (now - self.last_received, limits.idle_us());
        if self.ping_sent && idle > 0 && silent >= idle {
            TimerAction::Close(Close::Idle)
        } else if self.ping_sent || silent < limits.ping_us(has_beats) {
            TimerAction::Nothing
        } else {
            self.ping_sent = true;
            TimerAction::Ping
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::net::UnixStream,
        sync::{Arc, Mutex},
    };

    use base::work::Work;
    use mio::{Poll, Token};

    use super::*;
    use crate::{close::HostClose, socket::SocketOptions};

    /// The calls of a guard: messages, milliseconds and the time.
    #[derive(Debug, Default, Clone)]
    struct UsageRecorder(Arc<Mutex<Vec<(u64, u64, Micros)>>>);

    impl Guard for UsageRecorder {
        fn record_usage(&self, messages: u64, open_ms: u64, now: Micros) {
            self.0.lock().expect("no panic").push((messages, open_ms, now));
        }
    }

    const EXPIRED: Close =
        Close::Host(&HostClose { code: 4402, reason: "expired", message: None, bye: false });

    const LIMITS: MessageLimits =
        MessageLimits { bytes_max: 1 << 20, fragments_max: u32::MAX, may_deflate: false };

    /// A connection, and the client's end of it.
    fn connected(now: Micros) -> (Connection, UnixStream) {
        let poll = Poll::new().expect("a poll");
        let (stream, client) = UnixStream::pair().expect("a pair of sockets");
        let options = SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 };
        let socket = Socket::register(Stream::Unix(stream), options, poll.registry(), Token(0));
        (Connection::new(1, socket.expect("it is taken over"), &[], now), client)
    }

    fn connection(guard: UsageRecorder, now: Micros) -> Connection {
        let (mut connection, _) = connected(now);
        connection.owner = Some(Box::new(Owner {
            key: 1,
            payer: Payer::Account(1),
            expiry: None,
            permission: Permission::EVERYTHING,
            deflates: false,
            peer: None,
            guard: Box::new(guard),
        }));
        connection
    }

    #[test]
    fn client_sees_the_end_after_the_close_frame_and_may_still_reply() {
        let (mut connection, mut client) = connected(0);
        assert!(!connection.hang_up(), "it is open");
        connection.close(0);
        connection.write_all(b"the close frame").expect("there is room");
        assert!(connection.hang_up());
        let mut received = String::new();
        // The clock does not advance: without the end this would wait forever.
        client.read_to_string(&mut received).expect("the stream ends");
        assert_eq!(received, "the close frame");
        client.write_all(b"its reply").expect("the other half is open");
        drop(client);
        let outcome = connection.receive(&mut [0; 64], LIMITS, &mut 8, 0);
        assert!(matches!(outcome, ReadOutcome::Gone), "{outcome:?}");
    }

    #[test]
    fn endless_sender_gets_a_limited_number_of_reads_a_turn() {
        let (mut connection, mut client) = connected(0);
        // A message without an end: as many empty fragments as the socket accepts at once.
        let fragment = [0, 0x80, 1, 2, 3, 4];
        client
            .write_all(&[&[1, 0x80, 1, 2, 3, 4], &fragment.repeat(999)[..]].concat())
            .expect("room");
        let (mut turns, mut buffer) = (0, [0; 600]);
        loop {
            let mut reads = 2;
            turns += 1;
            match connection.receive(&mut buffer, LIMITS, &mut reads, 0) {
                ReadOutcome::Later => assert_eq!(reads, 0),
                outcome => break assert!(matches!(outcome, ReadOutcome::Empty), "{outcome:?}"),
            }
        }
        assert_eq!(turns, 6, "6,000 bytes at 1,200 a turn, and the turn that finds no more");
    }

    #[test]
    fn usage_is_reported_once_and_no_millisecond_is_lost() {
        let usage = UsageRecorder::default();
        let mut connection = connection(usage.clone(), 0);
        connection.report_usage(3, 1_000_000, 1_700, 71_700);
        connection.report_usage(0, 1_000_000, 2_000, 72_000);
        connection.report_usage(1, 1_000_000, 500_000, 570_000);
        connection.close(600_000);
        connection.report_usage(9, 1_000_000, 700_000, 770_000);
        let calls = usage.0.lock().expect("no panic").clone();
        assert_eq!(calls, [(3, 1, 71_700), (0, 1, 72_000), (1, 498, 570_000)]);
    }

    #[test]
    fn moving_the_wall_clock_does_not_change_usage() {
        let usage = UsageRecorder::default();
        let mut connection = connection(usage.clone(), 10_000_000);
        connection.report_usage(0, 20_000, 10_008_000, 900_000_000);
        connection.report_usage(0, 20_000, 10_013_000, 5_000_000);
        let open: Vec<u64> = usage.0.lock().expect("no panic").iter().map(|call| call.1).collect();
        assert_eq!(open, [8, 5]);
    }

    fn limits(beat_ms: u32, idle_ms: u32) -> crate::Limits {
        crate::Limits {
            shards: 1,
            outbox_bytes: 1,
            outbox_age_ms: 1,
            write_bytes_max: 1,
            channels_max: 1,
            channels_max_per_payer: usize::MAX,
            patterns_max: 1,
            from_bytes_max: 1024,
            catch_up_burst: 1,
            catch_ups_per_second: 1,
            work: Work::unlimited(),
            command_bytes_max: 1,
            command_fragments_max: 1,
            mailbox_max: 1,
            beat_ms,
            idle_ms,
            stall_ms: 1_000,
            sockets: SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 },
        }
    }

    /// A connection without beats is pinged earlier, and also where no silence closes it.
    #[test]
    fn silent_client_is_pinged_and_closed() {
        const SECOND: Micros = 1_000_000;
        let ping_and_close = |has_beats: bool, idle_ms: u32| {
            let (mut connection, _client) = connected(0);
            let limits = limits(5_000, idle_ms);
            let actions = (0..200).map(|at| {
                let action = connection.check_timers(&limits, (0, has_beats), at * SECOND, 0);
                (at, action)
            });
            let all: Vec<_> = actions.filter(|(_, it)| *it != TimerAction::Nothing).collect();
            let first = |wanted: TimerAction| all.iter().find(|(_, action)| *action == wanted);
            let at = |wanted| first(wanted).map(|(at, _)| *at);
            (at(TimerAction::Ping), at(TimerAction::Close(Close::Idle)))
        };
        assert_eq!(ping_and_close(true, 90_000), (Some(45), Some(90)));
        assert_eq!(ping_and_close(false, 90_000), (Some(20), Some(90)));
        assert_eq!(ping_and_close(false, 30_000), (Some(15), Some(30)));
        assert_eq!(ping_and_close(true, 0), (None, None));
        assert_eq!(ping_and_close(false, 0), (Some(20), None));
    }

    #[test]
    fn owner_expires_by_the_time_of_day_only() {
        let mut connection = connection(UsageRecorder::default(), 0);
        let expiry = Expiry { at: 5_000, close: EXPIRED };
        connection.owner.as_mut().expect("an owner").expiry = Some(expiry);
        let limits = limits(1, 0);
        for (now, time_of_day, expired) in [(9_000, 4_999, false), (1, 5_000, true)] {
            let action = connection.check_timers(&limits, (0, true), now, time_of_day);
            assert_eq!(
                action == TimerAction::Close(EXPIRED),
                expired,
                "{action:?} at {time_of_day}"
            );
        }
    }
}
