//! One connected client: its socket, what it sends, who holds it, and how it ends.

use std::{
    fmt,
    io::{self, IoSlice, Read, Write},
};

use bytes::Bytes;

use crate::{
    Micros,
    close::Close,
    inbound::{Inbound, MessageLimits, Received},
    permission::Permission,
    session::Dialect,
    socket::{Socket, Stream},
};

/// Who holds a connection, as far as the fan-out must know.
pub struct Owner {
    /// The key it came with: revoking it closes the connection.
    pub key: u64,
    /// When its right to be here ends, if it does.
    pub expires: Option<Micros>,
    /// What it may follow.
    pub permission: Permission,
    /// Told what the connection uses, and dropped when it ends.
    pub guard: Box<dyn Guard>,
}

/// What stands for a connection with its host for as long as it lasts, such as a permit that counts
/// sockets. Its shard calls it, so it must not wait.
pub trait Guard: Send {
    /// What the connection was given until `now`, a time of day: so many messages with data that its socket has
    /// taken whole, in so many milliseconds. Told at each beat and at the end, each time what came
    /// since the time before.
    fn used(&self, messages: u64, open_ms: u64, now: Micros);
}

/// For hosts that count nothing.
impl Guard for () {
    fn used(&self, _messages: u64, _open_ms: u64, _now: Micros) {}
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Owner {
    fn is_over(&self, time_of_day: Micros) -> bool {
        self.expires.is_some_and(|expires| time_of_day >= expires)
    }
}

/// A connection on its way to a shard. `read_ahead`: bytes that came in behind the handshake.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) stream: Stream,
    pub(crate) read_ahead: Vec<u8>,
    pub(crate) purpose: Purpose,
}

#[derive(Debug)]
pub(crate) enum Purpose {
    Serve(Owner, Dialect),
    /// To follow one bare channel, by its number among those.
    Bare(u32),
    /// To be sent each of its messages back.
    Echo,
    /// To be told by a frame why it is not served, and closed.
    Refuse(Bytes, Close),
}

/// What an echoed message may use: the largest message of the Autobahn test suite. The number of its
/// fragments is limited by their heads alone.
pub(crate) const ECHO_LIMITS: MessageLimits =
    MessageLimits { bytes_max: 16 * 1024 * 1024, fragments_max: u32::MAX };

/// How long a closed connection may take to hear of it before it is cut, in microseconds.
const LINGER_US: Micros = 2_000_000;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) generation: u64,
    pub(crate) owner: Option<Owner>,
    /// Its messages are sent back.
    pub(crate) is_echo: bool,
    /// It is in the shard's list of those to read from at the next turn.
    pub(crate) is_unread: bool,
    socket: Socket,
    inbound: Inbound,
    phase: Phase,
    /// The socket may have more to read: it tells so once only.
    readable: bool,
    pinged: bool,
    /// Its commands wait because its key is in debt.
    pub(crate) is_indebted: bool,
    /// Its delay has been told to the client, last at this time.
    pub(crate) lag_told: Option<Micros>,
    /// When the client last sent anything.
    heard: Micros,
    /// Until when the owner's guard has been told what was used.
    told: Micros,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// The close frame is queued; what the client still sends is thrown away until it goes.
    Closing {
        deadline: Micros,
        /// It is sent, and nothing will follow.
        hung_up: bool,
    },
}

/// What reading brought.
#[derive(Debug)]
pub(crate) enum Reading {
    Message(Received),
    /// Nothing now.
    Empty,
    /// The reads of this turn are used up, and there may be more.
    Later,
    /// The client is gone.
    Gone,
}

/// What time alone makes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overdue {
    Nothing,
    Ping,
    Close(Close),
    /// It had its time to go.
    Cut,
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
            is_echo: false,
            is_unread: false,
            socket,
            inbound,
            phase: Phase::Open,
            readable: true,
            pinged: false,
            is_indebted: false,
            lag_told: None,
            heard: now,
            told: now,
        }
    }

    /// Tells the owner's guard of what was used since the last time. `open_us_max`: the longest time
    /// there can be between two times, so that a shard which stood still adds no more than that. `now`
    /// is the monotonic clock, and the guard gets the time of day.
    pub(crate) fn tell_use(
        &mut self,
        messages: u64,
        open_us_max: Micros,
        now: Micros,
        time_of_day: Micros,
    ) {
        let Some(owner) = &self.owner else { return };
        let open_us = now.saturating_sub(self.told).clamp(0, open_us_max);
        owner.guard.used(messages, u64::try_from(open_us / 1000).unwrap_or(0), time_of_day);
        // What is left of a millisecond is told the next time.
        self.told = now - open_us % 1000;
    }

    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing { .. })
    }

    /// Notes that the socket has something to read.
    pub(crate) fn readable(&mut self) {
        self.readable = true;
    }

    /// Reads the next message, through a buffer that all connections share. `reads`: how often the
    /// socket may still be read from in this turn, so that a client that never stops sending delays
    /// nobody.
    ///
    /// While the connection is closing, what comes is thrown away: dropping the socket with unread
    /// bytes would reset it, and the client would never see the close code.
    pub(crate) fn receive(
        &mut self,
        buffer: &mut [u8],
        limits: MessageLimits,
        reads: &mut usize,
        now: Micros,
    ) -> Reading {
        loop {
            if let Some(received) = self.inbound.next(limits) {
                return Reading::Message(received);
            }
            if !self.readable {
                return Reading::Empty;
            }
            if *reads == 0 {
                return Reading::Later;
            }
            *reads -= 1;
            match self.socket.read(buffer) {
                Ok(0) => return Reading::Gone,
                Ok(_) if self.is_closing() => {}
                Ok(count) => {
                    self.heard = now;
                    self.pinged = false;
                    self.inbound.extend(&buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Reading::Gone,
            }
        }
    }

    /// Begins to end: it owes nobody anything from now on, but has some time to hear of it.
    pub(crate) fn close(&mut self, now: Micros) {
        self.phase = Phase::Closing { deadline: now + LINGER_US, hung_up: false };
        self.owner = None;
        self.inbound = Inbound::default();
    }

    /// Ends its own half of the stream once the close frame is sent, since a client waits for that
    /// (RFC 6455 section 7.1.1). Its other half stays, so that the client is not cut while it answers.
    /// Whether that is done.
    pub(crate) fn hang_up(&mut self) -> bool {
        if let Phase::Closing { hung_up, .. } = &mut self.phase
            && !*hung_up
        {
            *hung_up = self.socket.end_writing().is_ok();
        }
        matches!(self.phase, Phase::Closing { hung_up: true, .. })
    }

    /// What time alone makes due. `stalled`: for how long its socket has taken nothing. `now` is the
    /// monotonic clock; only the owner's right ends by the time of day.
    pub(crate) fn overdue(
        &mut self,
        limits: &crate::Limits,
        stalled: Micros,
        now: Micros,
        time_of_day: Micros,
    ) -> Overdue {
        match self.phase {
            Phase::Closing { deadline, .. } if now > deadline => Overdue::Cut,
            Phase::Closing { .. } => Overdue::Nothing,
            Phase::Open if stalled > limits.stall_us() => Overdue::Close(Close::TooSlow),
            Phase::Open if self.owner.as_ref().is_some_and(|owner| owner.is_over(time_of_day)) => {
                Overdue::Close(Close::AddonRequired)
            }
            Phase::Open => self.idle(limits, now),
        }
    }

    fn idle(&mut self, limits: &crate::Limits, now: Micros) -> Overdue {
        let silent = now - self.heard;
        if limits.idle_us() == 0 || silent < limits.idle_us() / 2 {
            Overdue::Nothing
        } else if silent >= limits.idle_us() && self.pinged {
            Overdue::Close(Close::Idle)
        } else if self.pinged {
            Overdue::Nothing
        } else {
            self.pinged = true;
            Overdue::Ping
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

    use mio::{Poll, Token};

    use super::*;
    use crate::socket::SocketOptions;

    /// What a guard was told: messages, milliseconds and the moment.
    #[derive(Debug, Default, Clone)]
    struct Told(Arc<Mutex<Vec<(u64, u64, Micros)>>>);

    impl Guard for Told {
        fn used(&self, messages: u64, open_ms: u64, now: Micros) {
            self.0.lock().expect("no panic").push((messages, open_ms, now));
        }
    }

    fn connection(guard: Told, now: Micros) -> Connection {
        let poll = Poll::new().expect("a poll");
        let (stream, _) = UnixStream::pair().expect("a pair of sockets");
        let options = SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 };
        let socket = Socket::register(Stream::Unix(stream), options, poll.registry(), Token(0));
        let mut connection = Connection::new(1, socket.expect("it is taken over"), &[], now);
        connection.owner = Some(Owner {
            key: 1,
            expires: None,
            permission: Permission::EVERYTHING,
            guard: Box::new(guard),
        });
        connection
    }

    #[test]
    fn client_sees_the_end_with_the_close_frame_and_may_still_answer() {
        let poll = Poll::new().expect("a poll");
        let (stream, mut client) = UnixStream::pair().expect("a pair of sockets");
        let options = SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 };
        let socket = Socket::register(Stream::Unix(stream), options, poll.registry(), Token(0));
        let mut connection = Connection::new(1, socket.expect("it is taken over"), &[], 0);
        assert!(!connection.hang_up(), "it is open");
        connection.close(0);
        connection.write_all(b"the close frame").expect("there is room");
        assert!(connection.hang_up());
        let mut told = String::new();
        // Nobody moves the clock: without the end this would wait for ever.
        client.read_to_string(&mut told).expect("the end comes");
        assert_eq!(told, "the close frame");
        client.write_all(b"its answer").expect("it is still heard");
        drop(client);
        let reading = connection.receive(&mut [0; 64], ECHO_LIMITS, &mut 8, 0);
        assert!(matches!(reading, Reading::Gone), "{reading:?}");
    }

    #[test]
    fn endless_sender_is_read_a_share_at_a_time() {
        let poll = Poll::new().expect("a poll");
        let (stream, mut client) = UnixStream::pair().expect("a pair of sockets");
        let options = SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 };
        let socket = Socket::register(Stream::Unix(stream), options, poll.registry(), Token(0));
        let mut connection = Connection::new(1, socket.expect("it is taken over"), &[], 0);
        // A message that has no end: empty fragments, as many as the socket takes at once.
        let fragment = [0, 0x80, 1, 2, 3, 4];
        client
            .write_all(&[&[1, 0x80, 1, 2, 3, 4], &fragment.repeat(999)[..]].concat())
            .expect("room");
        let (mut turns, mut buffer) = (0, [0; 600]);
        loop {
            let mut reads = 2;
            turns += 1;
            match connection.receive(&mut buffer, ECHO_LIMITS, &mut reads, 0) {
                Reading::Later => assert_eq!(reads, 0),
                reading => break assert!(matches!(reading, Reading::Empty), "{reading:?}"),
            }
        }
        assert_eq!(turns, 6, "6,000 bytes at 1,200 a turn, and the turn that finds no more");
    }

    #[test]
    fn guard_is_told_each_use_once_and_no_millisecond_is_lost() {
        let told = Told::default();
        let mut connection = connection(told.clone(), 0);
        connection.tell_use(3, 1_000_000, 1_700, 71_700);
        connection.tell_use(0, 1_000_000, 2_000, 72_000);
        connection.tell_use(1, 1_000_000, 500_000, 570_000);
        connection.close(600_000);
        connection.tell_use(9, 1_000_000, 700_000, 770_000);
        let told = told.0.lock().expect("no panic").clone();
        assert_eq!(told, [(3, 1, 71_700), (0, 1, 72_000), (1, 498, 570_000)]);
    }

    #[test]
    fn moved_wall_clock_is_no_time_on_the_socket() {
        let told = Told::default();
        let mut connection = connection(told.clone(), 10_000_000);
        connection.tell_use(0, 20_000, 10_008_000, 900_000_000);
        connection.tell_use(0, 20_000, 10_013_000, 5_000_000);
        let open: Vec<u64> = told.0.lock().expect("no panic").iter().map(|told| told.1).collect();
        assert_eq!(open, [8, 5]);
    }

    #[test]
    fn right_ends_by_the_time_of_day_alone() {
        let mut connection = connection(Told::default(), 0);
        connection.owner.as_mut().expect("an owner").expires = Some(5_000);
        let limits = crate::Limits {
            shards: 1,
            outbox_bytes: 1,
            outbox_age_ms: 1,
            write_bytes_max: 1,
            channels_max: 1,
            patterns_max: 1,
            from_bytes_max: 1024,
            catch_up_burst: 1,
            catch_ups_per_second: 1,
            command_bytes_max: 1,
            command_fragments_max: 1,
            mailbox_max: 1,
            beat_ms: 1,
            idle_ms: 0,
            stall_ms: 1_000,
            sockets: SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 },
        };
        for (now, time_of_day, over) in [(9_000, 4_999, false), (1, 5_000, true)] {
            let overdue = connection.overdue(&limits, 0, now, time_of_day);
            let closes = matches!(overdue, Overdue::Close(Close::AddonRequired));
            assert_eq!(closes, over, "{overdue:?} at {time_of_day}");
        }
    }
}
