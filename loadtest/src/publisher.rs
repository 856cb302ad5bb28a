//! Publishes bare messages on an open schedule: a thread that never waits for a response.
//!
//! A message carries the instant at which it was due and the one at which it was sent. If the
//! server accepts no more, the two drift apart, which is charged to the server. If this thread was
//! late although it could have sent, the tool is at fault and reports slip.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream as Connection,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use hdrhistogram::Histogram;
use mio::{Events, Interest, Poll, Token, net::TcpStream};

use crate::{
    clock,
    hub::Hub,
    latency,
    machine::{self, ThreadTimes},
    payload::{self, Payload},
    plan::Plan,
    schedule::Schedule,
    tally::ThreadShare,
    transport::{CertificateVerification, Transport},
    upgrade::{self, UpgradeResponse},
    wire,
};

/// What to publish.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublishOptions {
    /// Messages a second in all; none: as many as the server accepts.
    pub(crate) rate: Option<f64>,
    pub(crate) channels: u32,
    pub(crate) bytes: usize,
}

/// What was published.
#[derive(Debug)]
pub(crate) struct PublisherReport {
    /// The last sequence of each channel.
    pub(crate) heads: Arc<[u64]>,
    pub(crate) sent: u64,
    /// Messages that were due but not accepted by the server.
    pub(crate) unsent: u64,
    /// How late this thread was, excluding the time it waited for the server.
    pub(crate) slip: Histogram<u64>,
    /// How long the server accepted nothing.
    pub(crate) blocked_us: u64,
    pub(crate) lasted_us: u64,
    pub(crate) share: ThreadShare,
}

/// A running publisher.
#[derive(Debug)]
pub(crate) struct Publisher {
    stop_at: Arc<AtomicU64>,
    thread: JoinHandle<Result<PublisherReport>>,
}

/// Bytes written at a time.
const BATCH_BYTES: usize = 64 << 10;

/// How long the server may take to accept what is still due at the end.
const DRAIN_US: u64 = 10_000_000;

/// The longest sleep: even with a slow schedule the thread must notice the order to stop.
const SLEEP_US_MAX: u64 = 20_000;

impl Publisher {
    /// Connects and starts the schedule.
    ///
    /// # Errors
    ///
    /// If the server refuses the connection.
    pub(crate) fn start(plan: &Arc<Plan>, options: PublishOptions) -> Result<Self> {
        let connection = connect(&plan.hubs[0]).context("the publisher has no connection")?;
        let stop_at = Arc::new(AtomicU64::new(u64::MAX));
        let shared_stop = Arc::clone(&stop_at);
        let plan = Arc::clone(plan);
        let thread = thread::Builder::new()
            .name("publisher".to_owned())
            .spawn(move || PublisherThread::new(connection, plan, options)?.run(&shared_stop))?;
        Ok(Self { stop_at, thread })
    }

    /// Stops the schedule now, and waits until everything due has been accepted.
    ///
    /// # Errors
    ///
    /// If the connection was lost.
    pub(crate) fn stop(self) -> Result<PublisherReport> {
        self.stop_at.store(clock::now(), Ordering::Release);
        self.thread.join().ok().context("the publisher panicked")?
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

fn connect(hub: &Hub) -> Result<Transport> {
    let mut connection = Connection::connect(hub.address)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut tls = hub.verification.as_ref().map(CertificateVerification::begin).transpose()?;
    match &mut tls {
        Some(tls) => request(&mut rustls::Stream::new(tls, &mut connection), hub)?,
        None => request(&mut connection, hub)?,
    }
    connection.set_nonblocking(true)?;
    Ok(Transport::new(TcpStream::from_std(connection), tls))
}

/// Requests the upgrade of a connection, and waits for it.
fn request(connection: &mut (impl Read + Write), hub: &Hub) -> Result<()> {
    connection.write_all(&upgrade::raw_request(hub, upgrade::PUBLISH_PATH, ""))?;
    let mut head = Vec::new();
    let mut byte = [0];
    loop {
        // Byte by byte, so that nothing after the response is consumed.
        connection.read_exact(&mut byte)?;
        head.push(byte[0]);
        match upgrade::parse_response(&head, false) {
            UpgradeResponse::Partial => {}
            UpgradeResponse::Upgraded(_) => return Ok(()),
            UpgradeResponse::Refused(why) => bail!("{why}"),
        }
    }
}

struct PublisherThread {
    transport: Transport,
    /// Bytes of a connection over TLS before they are decrypted.
    encrypted: Vec<u8>,
    poll: Poll,
    events: Events,
    plan: Arc<Plan>,
    options: PublishOptions,
    batch: Vec<u8>,
    sequences: Vec<u64>,
    sent: u64,
    slip: Histogram<u64>,
    blocked_us: u64,
    unblocked_at: u64,
    times: Option<(u64, ThreadTimes)>,
}

impl PublisherThread {
    fn new(mut transport: Transport, plan: Arc<Plan>, options: PublishOptions) -> Result<Self> {
        let poll = Poll::new()?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut transport.stream, Token(0), interest)?;
        // Makes sleeps end on time instead of up to 50 us later.
        nix::sys::prctl::set_timerslack(1).ok();
        Ok(Self {
            transport,
            encrypted: Vec::new(),
            poll,
            events: Events::with_capacity(8),
            plan,
            options,
            batch: Vec::with_capacity(2 * BATCH_BYTES),
            sequences: vec![0; options.channels as usize],
            sent: 0,
            slip: latency::histogram(3),
            blocked_us: 0,
            unblocked_at: 0,
            times: None,
        })
    }

    fn run(mut self, stop_at: &AtomicU64) -> Result<PublisherReport> {
        let started = clock::now();
        let schedule = self.options.rate.map(|rate| Schedule::new(started, rate));
        let unsent = loop {
            let now = clock::now();
            let stop = stop_at.load(Ordering::Acquire);
            let phases = self.plan.timeline.phases();
            if self.times.is_none() && phases.starts[0] != u64::MAX {
                self.times = Some((now, machine::thread_times()));
            }
            let Some(schedule) = &schedule else {
                if now >= stop {
                    break 0;
                }
                self.fill(now, None, u64::MAX);
                self.write(now + DRAIN_US)?;
                continue;
            };
            let due = schedule.due(now.min(stop));
            if due > self.sent && now < stop.saturating_add(DRAIN_US) {
                self.fill(now, Some(schedule), due);
                self.write(stop.saturating_add(DRAIN_US))?;
            } else if now >= stop {
                break due - self.sent;
            } else {
                self.listen()?;
                let until = schedule.intended(self.sent);
                clock::wait(until.saturating_sub(clock::now()).min(SLEEP_US_MAX));
            }
        };
        let share = match self.times {
            Some((since, times)) => times.until_now(clock::now().saturating_sub(since)),
            None => ThreadShare::default(),
        };
        Ok(PublisherReport {
            heads: self.sequences.into(),
            sent: self.sent,
            unsent,
            slip: self.slip,
            blocked_us: self.blocked_us,
            lasted_us: clock::now().min(stop_at.load(Ordering::Acquire)).saturating_sub(started),
            share,
        })
    }

    /// Adds the messages that are due to the batch, as far as it has room.
    fn fill(&mut self, now: u64, schedule: Option<&Schedule>, due: u64) {
        let channels = u64::from(self.options.channels);
        let bytes = self.options.bytes.max(payload::BYTES_MIN);
        while self.sent < due && self.batch.len() < BATCH_BYTES {
            let channel =
                u32::try_from(self.sent % channels).expect("below the number of channels");
            let intended = schedule.map_or(now, |schedule| schedule.intended(self.sent));
            let seq = &mut self.sequences[channel as usize];
            *seq += 1;
            wire::push_head(&mut self.batch, wire::BINARY, bytes);
            let message = Payload { channel, intended, sent: now, seq: *seq };
            payload::push(&mut self.batch, &message, bytes);
            self.sent += 1;
            if self.times.is_some() && schedule.is_some() {
                self.slip.saturating_record(now.saturating_sub(intended.max(self.unblocked_at)));
            }
        }
    }

    /// Writes the batch. Bytes that the server does not accept by the deadline are an error.
    fn write(&mut self, deadline: u64) -> Result<()> {
        let mut written = 0;
        while written < self.batch.len() || self.transport.has_output() {
            match self.transport.write(&self.batch[written..]) {
                Ok(more) => written += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let since = clock::now();
                    if since >= deadline {
                        bail!("the server has taken nothing for a long time");
                    }
                    self.poll.poll(&mut self.events, Some(Duration::from_millis(100)))?;
                    self.unblocked_at = clock::now();
                    self.blocked_us += self.unblocked_at - since;
                    self.listen()?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("the publisher was cut off"),
            }
        }
        self.batch.clear();
        Ok(())
    }

    /// Reads what the server sends, of which only the end matters.
    fn listen(&mut self) -> Result<()> {
        let mut bytes = [0; 512];
        match self.transport.read(&mut bytes, &mut self.encrypted, false) {
            Ok((0, _)) => bail!("the server has closed the publisher's connection"),
            Ok((read, _)) => {
                wire::walk(&bytes[..read], |frame| {
                    if frame.opcode == wire::PING {
                        wire::push_frame(&mut self.batch, wire::PONG, frame.payload);
                    }
                })
                .ok();
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error).context("the publisher was cut off"),
        }
    }
}
