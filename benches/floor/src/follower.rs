//! One subscriber: its position, and whether it accepts bytes.

use std::{
    io::{self, ErrorKind, IoSlice, Write},
    net::TcpStream,
    time::Duration,
};

use crate::{
    floor::Instant,
    log::{Log, Position},
};

/// A follower that accepts nothing for this long no longer holds up the publisher.
const PATIENCE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) channel: u32,
    pub(crate) at: Position,
    /// The rest of a frame that is no longer in the log.
    rest: Vec<u8>,
    /// Since when its socket has been full without accepting anything.
    full_since: Option<Instant>,
}

/// Slices of the log, made once for all followers at the same position.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    log: &'a Log,
    from: Position,
    slices: Vec<IoSlice<'a>>,
    bytes: usize,
    frames_max: usize,
}

impl Follower {
    pub(crate) fn new(channel: u32, at: Position) -> Self {
        Self { channel, at, rest: Vec::new(), full_since: None }
    }

    /// Its socket is full.
    pub(crate) fn is_full(&self) -> bool {
        self.full_since.is_some()
    }

    /// Its socket has been full for too long to hold up the publisher.
    pub(crate) fn is_stuck(&self, now: Instant) -> bool {
        self.full_since.is_some_and(|since| now - since > PATIENCE)
    }

    /// Writes what is pending until the socket is full. True while it is connected.
    pub(crate) fn flush(
        &mut self,
        mut socket: &TcpStream,
        batch: &mut Batch<'_>,
        now: Instant,
    ) -> bool {
        while !self.rest.is_empty() {
            match socket.write(&self.rest) {
                Ok(written) => drop(self.rest.drain(..written)),
                Err(error) => return self.stopped(&error, now),
            }
            self.full_since = None;
        }
        while self.at < batch.log.end() {
            let slices = batch.slices(self.at);
            // A plain write for one frame: it is the cheaper call.
            let sent = if let [slice] = slices {
                socket.write(slice)
            } else {
                socket.write_vectored(slices)
            };
            match sent {
                Ok(written) if written == batch.bytes => {
                    self.at = batch.end();
                    self.full_since = None;
                }
                Ok(written) => {
                    self.at = batch.log.advance(self.at, written);
                    self.full_since = Some(now);
                    return true;
                }
                Err(error) => return self.stopped(&error, now),
            }
        }
        true
    }

    fn stopped(&mut self, error: &io::Error, now: Instant) -> bool {
        self.full_since.get_or_insert(now);
        error.kind() == ErrorKind::WouldBlock
    }

    /// Finishes the current frame and continues with the next new one.
    pub(crate) fn skip_to_end(&mut self, log: &Log) {
        if self.at.offset > 0 {
            self.rest.extend_from_slice(log.rest(self.at));
        }
        self.at = log.end();
    }
}

impl<'a> Batch<'a> {
    pub(crate) fn new(log: &'a Log, frames_max: usize) -> Self {
        Self { log, from: log.end(), slices: Vec::new(), bytes: 0, frames_max }
    }

    fn slices(&mut self, from: Position) -> &[IoSlice<'a>] {
        if from != self.from || self.slices.is_empty() {
            self.from = from;
            self.log.slices(from, self.frames_max, &mut self.slices);
            self.bytes = self.slices.iter().map(|slice| slice.len()).sum();
        }
        &self.slices
    }

    /// The position after the slices.
    fn end(&self) -> Position {
        Position { frame: self.from.frame + self.slices.len() as u64, offset: 0 }
    }
}
