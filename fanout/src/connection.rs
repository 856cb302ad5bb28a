//! One connected client: its socket, what it sends, what waits for it, and how it ends.

use std::{any::Any, fmt, io, rc::Rc};

use bytes::Bytes;
use serde_json::Value;
use tokio::{io::Interest, sync::Notify};
use tokio_tungstenite::tungstenite::{
    self, Message,
    error::CapacityError,
    protocol::{Role, WebSocketConfig, WebSocketContext},
};

use crate::{
    Micros,
    channel::Publication,
    close::Close,
    encode,
    outbox::{Outbox, Written},
    protocol::{self, Code},
    session::{Delivered, Session},
    socket::{Socket, Stream},
};

/// Who holds a connection, as far as the fan-out must know.
pub struct Owner {
    /// The key it came with: revoking it closes the connection.
    pub key: u64,
    /// When its right to be here ends, if it does.
    pub expires: Option<Micros>,
    /// Dropped when the connection ends, such as a permit that counts sockets.
    pub guard: Box<dyn Any + Send>,
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("key", &self.key).finish_non_exhaustive()
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
    Serve(Owner),
    /// To be told why it is not served, and closed.
    Refuse(protocol::Refusal, Close),
}

/// Bytes read from a socket at a time. Commands are small and rare; this is also what an idle
/// connection holds.
const READ_BYTES: usize = 512;

/// Reads of a connection that is closing at a turn, 4 KiB each.
const DISCARDS_A_TURN: usize = 16;

/// How long a closed connection may take to hear of it before it is cut, in microseconds.
const LINGER_US: Micros = 2_000_000;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) generation: u64,
    pub(crate) socket: Rc<Socket>,
    pub(crate) wake: Rc<Notify>,
    pub(crate) session: Session,
    pub(crate) outbox: Outbox,
    pub(crate) owner: Option<Owner>,
    /// Noted for writing at the end of the turn.
    pub(crate) dirty: bool,
    context: WebSocketContext,
    /// What the protocol layer answers by itself: pongs.
    answers: Vec<u8>,
    blocked: bool,
    phase: Phase,
    /// When the client last sent anything, and when the socket last took anything.
    heard: Micros,
    progressed: Micros,
    pinged: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// The close frame is queued; what the client still sends is thrown away until it goes.
    Closing {
        deadline: Micros,
    },
}

/// What reading brought.
#[derive(Debug)]
pub(crate) enum Received {
    Text(String),
    Binary,
    /// A ping or a pong, which the protocol layer has dealt with.
    Control,
    /// Nothing now.
    Empty,
    /// The connection has ended, or is to be ended like this.
    End(Option<Close>),
}

impl Connection {
    pub(crate) fn new(
        generation: u64,
        socket: Rc<Socket>,
        read_ahead: Vec<u8>,
        session: Session,
        limits: &crate::Limits,
        now: Micros,
    ) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .max_message_size(Some(limits.command_bytes_max))
            .max_frame_size(Some(limits.command_bytes_max));
        Self {
            generation,
            socket,
            wake: Rc::default(),
            session,
            outbox: Outbox::new(limits.outbox_bytes),
            owner: None,
            dirty: false,
            context: WebSocketContext::from_partially_read(read_ahead, Role::Server, Some(config)),
            answers: Vec::new(),
            blocked: false,
            phase: Phase::Open,
            heard: now,
            progressed: now,
            pinged: false,
        }
    }

    /// What to wait for on the socket; `None` while only the shard can move this connection on.
    pub(crate) fn interest(&self) -> Option<Interest> {
        let reads = self.is_closing() || self.takes_commands();
        match (reads, self.blocked) {
            (true, true) => Some(Interest::READABLE | Interest::WRITABLE),
            (true, false) => Some(Interest::READABLE),
            (false, true) => Some(Interest::WRITABLE),
            (false, false) => None,
        }
    }

    /// Commands wait while one is being answered and while the client does not read its answers.
    pub(crate) fn takes_commands(&self) -> bool {
        !self.is_closing() && !self.session.is_waiting() && !self.outbox.is_over()
    }

    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing { .. })
    }

    /// Reads the next message.
    pub(crate) fn receive(&mut self, now: Micros) -> Received {
        if self.is_closing() {
            return self.discard();
        }
        let mut pipe = Pipe { socket: &self.socket, answers: &mut self.answers, read: false };
        let message = self.context.read(&mut pipe);
        if pipe.read {
            self.heard = now;
            self.pinged = false;
        }
        if !self.answers.is_empty() {
            self.outbox.push_reply(encode::raw_frames(&self.answers));
            self.answers = Vec::new();
        }
        match message {
            Ok(Message::Text(text)) => Received::Text(text.as_str().to_owned()),
            Ok(Message::Binary(_)) => Received::Binary,
            Ok(Message::Close(_)) => Received::End(Some(Close::Client)),
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => Received::Control,
            Err(error) => Self::ended(&error),
        }
    }

    fn ended(error: &tungstenite::Error) -> Received {
        match error {
            tungstenite::Error::Io(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Received::Empty
            }
            tungstenite::Error::Io(_)
            | tungstenite::Error::ConnectionClosed
            | tungstenite::Error::AlreadyClosed => Received::End(None),
            tungstenite::Error::Capacity(CapacityError::MessageTooLong { .. }) => {
                Received::End(Some(Close::CommandTooLarge))
            }
            tungstenite::Error::Utf8(_) => Received::End(Some(Close::NotText)),
            _ => Received::End(Some(Close::Protocol)),
        }
    }

    /// Throws away what a client sends after its close frame was queued. Dropping the socket with
    /// unread bytes would reset it, and the client would never see the code. A turn's share only:
    /// who never stops sending must not hold up the others.
    fn discard(&self) -> Received {
        let mut waste = [0; 4096];
        for _ in 0..DISCARDS_A_TURN {
            match self.socket.try_read(&mut waste) {
                Ok(0) => return Received::End(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Received::Empty,
                Err(_) => return Received::End(None),
            }
        }
        Received::Empty
    }

    /// Begins to end: `bye` where there is one, the close frame, and then nothing more.
    pub(crate) fn close(&mut self, close: Close, now: Micros) {
        if self.is_closing() {
            return;
        }
        if close == Close::AddonRequired && self.owner.is_some() {
            let message = "the WebSocket add-on has run out";
            let refusal = protocol::Refusal::new(&Value::Null, Code::AddonRequired, message);
            self.outbox.push_reply(protocol::error(&refusal));
        }
        if let Some((why, after)) = close.bye() {
            self.outbox.push_reply(protocol::bye(why, after));
        }
        self.outbox.push_reply(encode::close_frame(close.code(), close.reason()));
        self.phase = Phase::Closing { deadline: now + LINGER_US };
        self.owner = None;
    }

    /// Offers a publication to one of the subscriptions.
    pub(crate) fn deliver(&mut self, key: usize, publication: &Publication) -> Delivered {
        self.session.deliver(key, publication, &mut self.outbox)
    }

    /// Writes one turn's share. Returns whether more could be written at once.
    pub(crate) fn flush(&mut self, bytes_max: usize, now: Micros) -> io::Result<bool> {
        let socket = &self.socket;
        let was_over = self.outbox.is_over();
        let written = self.outbox.write(bytes_max, |slices| socket.try_write_vectored(slices))?;
        let (blocked, progress) = match written {
            Written::All => (false, true),
            Written::Cap => (self.blocked, true),
            Written::Blocked { progress } => (true, progress),
        };
        if progress {
            self.progressed = now;
        }
        // What the connection's task waits for has changed.
        if blocked != self.blocked || was_over != self.outbox.is_over() {
            self.blocked = blocked;
            self.wake.notify_one();
        }
        Ok(written == Written::Cap)
    }

    /// What time alone makes due.
    pub(crate) fn overdue(&mut self, limits: &crate::Limits, now: Micros) -> Overdue {
        let stalled = self.blocked && now - self.progressed > limits.stall_us();
        match self.phase {
            Phase::Closing { deadline } if now > deadline => Overdue::Cut,
            Phase::Closing { .. } => Overdue::Nothing,
            Phase::Open if stalled => Overdue::Close(Close::TooSlow),
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
            Overdue::Ping(encode::ping_frame())
        }
    }
}

#[derive(Debug)]
pub(crate) enum Overdue {
    Nothing,
    Ping(Bytes),
    Close(Close),
    /// It had its time to go.
    Cut,
}

impl Owner {
    fn is_over(&self, now: Micros) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }
}

/// The socket as the protocol layer sees it: reads come from the socket, what it answers by itself
/// is kept for the outbox, so that nothing overtakes what waits there.
struct Pipe<'a> {
    socket: &'a Socket,
    answers: &'a mut Vec<u8>,
    read: bool,
}

impl io::Read for Pipe<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.socket.try_read(buffer)?;
        self.read = true;
        Ok(count)
    }
}

impl io::Write for Pipe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.answers.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
