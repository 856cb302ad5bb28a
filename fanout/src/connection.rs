//! One connected client: its socket, what it sends, who holds it, and how it ends.

use std::{
    fmt,
    io::{self, IoSlice, Read, Write},
};

use bytes::Bytes;

use crate::{
    Micros,
    close::Close,
    inbound::{Inbound, Received},
    session::Dialect,
    socket::{Socket, Stream},
};

/// Who holds a connection, as far as the fan-out must know.
pub struct Owner {
    /// The key it came with: revoking it closes the connection.
    pub key: u64,
    /// When its right to be here ends, if it does.
    pub expires: Option<Micros>,
    /// Told what the connection uses, and dropped when it ends.
    pub guard: Box<dyn Guard>,
}

/// What stands for a connection with its host for as long as it lasts, such as a permit that counts
/// sockets. Its shard calls it, so it must not wait.
pub trait Guard: Send {
    /// What the connection was given until `now`: so many messages with data that its socket has
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
    fn is_over(&self, now: Micros) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
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
    /// To be told by a frame why it is not served, and closed.
    Refuse(Bytes, Close),
}

/// Reads of a connection that is closing at a turn.
const DISCARDS_A_TURN: usize = 16;

/// How long a closed connection may take to hear of it before it is cut, in microseconds.
const LINGER_US: Micros = 2_000_000;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) generation: u64,
    pub(crate) owner: Option<Owner>,
    socket: Socket,
    inbound: Inbound,
    phase: Phase,
    /// The socket may have more to read: it tells so once only.
    readable: bool,
    pinged: bool,
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
            socket,
            inbound,
            phase: Phase::Open,
            readable: true,
            pinged: false,
            lag_told: None,
            heard: now,
            told: now,
        }
    }

    /// Tells the owner's guard of what was used since the last time. `open_us_max`: the longest time
    /// there can be between two times, so that a clock which is put forward adds no more than that.
    pub(crate) fn tell_use(&mut self, messages: u64, open_us_max: Micros, now: Micros) {
        let Some(owner) = &self.owner else { return };
        let open_us = now.saturating_sub(self.told).clamp(0, open_us_max);
        owner.guard.used(messages, u64::try_from(open_us / 1000).unwrap_or(0), now);
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

    /// Reads the next message, through a buffer that all connections share.
    pub(crate) fn receive(&mut self, buffer: &mut [u8], bytes_max: usize, now: Micros) -> Reading {
        if self.is_closing() {
            return self.discard(buffer);
        }
        loop {
            if let Some(received) = self.inbound.next(bytes_max) {
                return Reading::Message(received);
            }
            match self.read(buffer) {
                Ok(Some(count)) => {
                    self.heard = now;
                    self.pinged = false;
                    self.inbound.extend(&buffer[..count]);
                }
                Ok(None) => return Reading::Empty,
                Err(_) => return Reading::Gone,
            }
        }
    }

    /// Bytes, none now, or the end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        while self.readable {
            match self.socket.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => return Ok(Some(count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Throws away what a client sends after its close frame was queued. Dropping the socket with
    /// unread bytes would reset it, and the client would never see the code. A turn's share only:
    /// who never stops sending must not hold up the others.
    fn discard(&mut self, buffer: &mut [u8]) -> Reading {
        for _ in 0..DISCARDS_A_TURN {
            match self.read(buffer) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return Reading::Gone,
            }
        }
        Reading::Empty
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

    /// What time alone makes due. `stalled`: for how long its socket has taken nothing.
    pub(crate) fn overdue(
        &mut self,
        limits: &crate::Limits,
        stalled: Micros,
        now: Micros,
    ) -> Overdue {
        match self.phase {
            Phase::Closing { deadline, .. } if now > deadline => Overdue::Cut,
            Phase::Closing { .. } => Overdue::Nothing,
            Phase::Open if stalled > limits.stall_us() => Overdue::Close(Close::TooSlow),
            Phase::Open if self.owner.as_ref().is_some_and(|owner| owner.is_over(now)) => {
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
        connection.owner = Some(Owner { key: 1, expires: None, guard: Box::new(guard) });
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
        let reading = connection.receive(&mut [0; 64], 64, 0);
        assert!(matches!(reading, Reading::Gone), "{reading:?}");
    }

    #[test]
    fn guard_is_told_each_use_once_and_no_millisecond_is_lost() {
        let told = Told::default();
        let mut connection = connection(told.clone(), 0);
        connection.tell_use(3, 1_000_000, 1_700);
        connection.tell_use(0, 1_000_000, 2_000);
        connection.tell_use(1, 1_000_000, 500_000);
        connection.close(600_000);
        connection.tell_use(9, 1_000_000, 700_000);
        let told = told.0.lock().expect("no panic").clone();
        assert_eq!(told, [(3, 1, 1_700), (0, 1, 2_000), (1, 498, 500_000)]);
    }

    #[test]
    fn moved_clock_is_no_time_on_the_socket() {
        let told = Told::default();
        let mut connection = connection(told.clone(), 10_000_000);
        connection.tell_use(0, 20_000, 900_000_000);
        connection.tell_use(0, 20_000, 900_005_000);
        connection.tell_use(0, 20_000, 5_000_000);
        connection.tell_use(0, 20_000, 5_007_000);
        let open: Vec<u64> = told.0.lock().expect("no panic").iter().map(|told| told.1).collect();
        assert_eq!(open, [20, 5, 0, 7]);
    }
}
