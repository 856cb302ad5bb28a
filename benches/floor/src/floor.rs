//! The loop: reads what is ready, then writes what is pending.

use std::{
    collections::{BTreeSet, HashMap},
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::fd::OwnedFd,
};

use clap::ValueEnum;
use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
    io::Errno,
    net::{RecvFlags, SocketFlags, accept_with, recv, sockopt::set_tcp_nodelay},
};
use slab::Slab;

use crate::{
    follower::{Batch, Follower},
    frame::{ClientFrame, FrameKind},
    handshake::{self, ClientRole, Request},
    log::Log,
};

#[expect(clippy::disallowed_types, reason = "there is no runtime here whose clock it could follow")]
pub(crate) type Instant = std::time::Instant;

/// How far, in bytes, the slowest follower that still accepts bytes may be behind while a publisher
/// is read.
const BEHIND_MAX: u64 = 4 << 20;
/// Bytes queued for a follower that accepts nothing.
const STUCK_MAX: u64 = 32 << 20;
/// Bytes read from a publisher at once, before the messages in them are written.
const READ_BYTES: usize = 64 << 10;
const BATCH_BYTES_MAX: usize = 256 << 10;
const EVENTS_MAX: usize = 1024;
/// How soon the loop notices a follower that accepts nothing.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Each message on its own.
    Write,
    /// Everything that is ready, in one vectored write per subscriber.
    Writev,
}

impl Mode {
    /// The maximum number of frames in one write: the limit of the system.
    fn frames_max(self) -> usize {
        match self {
            Self::Write => 1,
            Self::Writev => 1024,
        }
    }

    /// Bytes of messages to read before they are written.
    fn batch_bytes_max(self) -> usize {
        match self {
            Self::Write => 1,
            Self::Writev => BATCH_BYTES_MAX,
        }
    }
}

const LISTENER: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Floor {
    mode: Mode,
    epoll: OwnedFd,
    listener: TcpListener,
    connections: Slab<Connection>,
    channels: HashMap<u32, Channel>,
    /// Publishers with something to read.
    ready: BTreeSet<usize>,
    /// Followers whose sockets are full.
    full: BTreeSet<usize>,
}

#[derive(Debug)]
struct Connection {
    socket: TcpStream,
    role: Role,
}

#[derive(Debug)]
enum Role {
    /// The head of its request is incomplete.
    Arriving(Vec<u8>),
    /// The incomplete message at the end of what it sent.
    Publisher(Vec<u8>),
    Follower(Follower),
}

#[derive(Debug, Default)]
struct Channel {
    log: Log,
    followers: Vec<usize>,
}

impl Floor {
    pub(crate) fn listen(port: u16, mode: Mode) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        // All accepted sockets inherit this. The backlog that `bind` chose is too short for a
        // burst.
        set_tcp_nodelay(&listener, true)?;
        rustix::net::listen(&listener, 4096)?;
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let token = epoll::EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener, token, epoll::EventFlags::IN)?;
        Ok(Self {
            mode,
            epoll,
            listener,
            connections: Slab::new(),
            channels: HashMap::new(),
            ready: BTreeSet::new(),
            full: BTreeSet::new(),
        })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let mut room = true;
        loop {
            let wait = match (self.ready.is_empty(), room) {
                (true, _) => None,
                (false, true) => Some(&AT_ONCE),
                (false, false) => Some(&LOOK_AGAIN),
            };
            match epoll::wait(&self.epoll, spare_capacity(&mut events), wait) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let now = Instant::now();
            for event in events.drain(..) {
                match usize::try_from(event.data.u64()) {
                    Ok(token) if event.data.u64() != LISTENER => {
                        self.on_event(token, event.flags, now)
                    }
                    _ => self.accept(),
                }
            }
            room = self.has_room(now);
            if room {
                for token in self.ready.clone() {
                    self.take_messages(token, now);
                }
            }
        }
    }

    fn accept(&mut self) {
        // After any error, the next connection or the next event retries.
        while let Ok(socket) =
            accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)
        {
            let entry = self.connections.vacant_entry();
            let token = epoll::EventData::new_u64(entry.key() as u64);
            // Edge-triggered, registered once: each change of interest would cost a system call.
            let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
            if epoll::add(&self.epoll, &socket, token, flags).is_ok() {
                entry
                    .insert(Connection { socket: socket.into(), role: Role::Arriving(Vec::new()) });
            }
        }
    }

    fn on_event(&mut self, token: usize, flags: epoll::EventFlags, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let readable = flags
            .intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        match &mut connection.role {
            Role::Arriving(_) if readable => self.welcome(token),
            Role::Publisher(_) if readable => drop(self.ready.insert(token)),
            Role::Arriving(_) | Role::Publisher(_) => {}
            Role::Follower(follower) => {
                let mut open = !readable || ignore_input(&connection.socket);
                if follower.is_full() {
                    let log = &self.channels.entry(follower.channel).or_default().log;
                    let mut batch = Batch::new(log, self.mode.frames_max());
                    open &= follower.flush(&connection.socket, &mut batch, now);
                    if !follower.is_full() {
                        self.full.remove(&token);
                    }
                }
                if !open {
                    self.close(token);
                }
            }
        }
    }

    /// Reads the request, and turns the connection into a follower or a publisher.
    fn welcome(&mut self, token: usize) {
        let connection = &mut self.connections[token];
        let Role::Arriving(head) = &mut connection.role else { return };
        head.reserve(handshake::HEAD_BYTES_MAX);
        let open = read_all_ready(&connection.socket, head, handshake::HEAD_BYTES_MAX);
        match handshake::read(head) {
            Request::Incomplete if open => {}
            Request::Upgrade { client_role, answer, head: length } if open => {
                let ahead = head.split_off(length);
                // The send buffer always has room for so short a response.
                connection.role = match client_role {
                    ClientRole::Publish => {
                        self.ready.insert(token);
                        Role::Publisher(ahead)
                    }
                    ClientRole::Follow(number) => {
                        let channel = self.channels.entry(number).or_default();
                        channel.followers.push(token);
                        Role::Follower(Follower::new(number, channel.log.end()))
                    }
                };
                if (&connection.socket).write_all(answer.as_bytes()).is_err() {
                    self.close(token);
                }
            }
            Request::Refused if open => {
                let refusal =
                    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                // The connection is closed in any case.
                (&connection.socket).write_all(refusal).ok();
                self.close(token);
            }
            Request::Incomplete | Request::Refused | Request::Upgrade { .. } => self.close(token),
        }
    }

    /// Whether all followers that still accept bytes are close enough for more. A follower that
    /// accepts nothing loses what is queued for it beyond the limit.
    fn has_room(&mut self, now: Instant) -> bool {
        let mut room = true;
        for &token in &self.full {
            let Role::Follower(follower) = &mut self.connections[token].role else { continue };
            let Some(channel) = self.channels.get(&follower.channel) else { continue };
            let lag = channel.log.lag(follower.at);
            if !follower.is_stuck(now) {
                room &= lag < BEHIND_MAX;
            } else if lag > STUCK_MAX {
                follower.skip_to_end(&channel.log);
            }
        }
        room
    }

    /// Reads what a publisher has sent, up to a batch, and writes it.
    fn take_messages(&mut self, token: usize, now: Instant) {
        let connection = &mut self.connections[token];
        let Role::Publisher(buffer) = &mut connection.role else { return };
        let mut open = true;
        let mut read = 0;
        while open && read < self.mode.batch_bytes_max() {
            let had = buffer.len();
            buffer.reserve(READ_BYTES);
            open = read_all_ready(&connection.socket, buffer, READ_BYTES);
            if buffer.len() == had {
                // Wait for the next event.
                self.ready.remove(&token);
                break;
            }
            read += buffer.len() - had;
        }
        let mut buffer = std::mem::take(buffer);
        let mut done = 0;
        let mut touched = BTreeSet::new();
        while let Some(frame) = ClientFrame::parse(&buffer[done..]) {
            done += frame.length;
            open &= frame.kind != FrameKind::Close;
            let Some(channel) = frame.channel().filter(|_| frame.kind == FrameKind::Binary) else {
                continue;
            };
            self.channels.entry(channel).or_default().log.push(frame.unmasked());
            match self.mode {
                Mode::Write => self.flush(channel, now),
                Mode::Writev => drop(touched.insert(channel)),
            }
        }
        for channel in touched {
            self.flush(channel, now);
        }
        buffer.drain(..done);
        self.connections[token].role = Role::Publisher(buffer);
        if !open {
            self.close(token);
        }
    }

    /// Writes what is pending to all followers of a channel.
    fn flush(&mut self, channel: u32, now: Instant) {
        let Some(channel) = self.channels.get_mut(&channel) else { return };
        let mut batch = Batch::new(&channel.log, self.mode.frames_max());
        let mut slowest = channel.log.end();
        let mut gone = Vec::new();
        for &token in &channel.followers {
            let Connection { socket, role: Role::Follower(follower) } =
                &mut self.connections[token]
            else {
                continue;
            };
            if !follower.is_full() {
                if !follower.flush(socket, &mut batch, now) {
                    gone.push(token);
                    continue;
                }
                if follower.is_full() {
                    self.full.insert(token);
                }
            }
            slowest = slowest.min(follower.at);
        }
        channel.log.forget_before(slowest.frame);
        for token in gone {
            self.close(token);
        }
    }

    fn close(&mut self, token: usize) {
        self.ready.remove(&token);
        self.full.remove(&token);
        if let Role::Follower(follower) = self.connections.remove(token).role
            && let Some(channel) = self.channels.get_mut(&follower.channel)
        {
            channel.followers.retain(|follower| *follower != token);
        }
    }
}

/// Reads until nothing is ready or the limit is reached. False once the peer has closed.
fn read_all_ready(socket: &TcpStream, buffer: &mut Vec<u8>, max: usize) -> bool {
    let end = buffer.len() + max;
    while buffer.len() < end {
        let room = buffer.capacity() - buffer.len();
        match recv(socket, spare_capacity(buffer), RecvFlags::empty()) {
            Ok((_, 0)) => return false,
            // A short read: an event will announce further bytes.
            Ok((_, read)) if read < room => return true,
            Ok(_) => {}
            Err(error) => return error == Errno::AGAIN,
        }
    }
    true
}

/// Discards what a follower sends. False once it has closed.
fn ignore_input(mut socket: &TcpStream) -> bool {
    let mut ignored = [0; 1024];
    loop {
        match socket.read(&mut ignored) {
            // A close frame is not answered: the end of the connection follows.
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}
