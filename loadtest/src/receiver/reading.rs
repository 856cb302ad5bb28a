//! How a generator reads its sockets: into one buffer, frame by frame, and some of them slowly.

use std::{io::ErrorKind, ops::Range};

use super::{READ_BYTES, Receiver};
use crate::{
    clock,
    peer::PeerState,
    plan::ReadRate,
    upgrade::{self, UpgradeResponse},
    wire,
};

/// Bytes that a probe reads at a time. The kernel's time is that of the last byte, so the fewer
/// messages a read returns, the less is hidden.
const PROBE_BYTES: usize = 2 << 10;

/// Consecutive reads of one socket, so that a busy one does not starve the others.
const READS_MAX: usize = 4;

/// How often rate-limited sockets may read.
const NIBBLE_US: u64 = 50_000;

impl Receiver {
    pub(super) fn read(&mut self, at: usize) {
        if self.peers[at].has_unread {
            self.read_until_dry(at, true);
        }
    }

    /// Reads until the kernel has no more, which a short read shows too, unless the end of the
    /// connection is also to be read.
    pub(super) fn read_until_dry(&mut self, at: usize, to_the_end: bool) {
        for _ in 0..READS_MAX {
            let room = if self.peers[at].is_probe { PROBE_BYTES } else { READ_BYTES };
            match self.read_once(at, room) {
                Some(read) if read == room || (to_the_end && read > 0) => {}
                _ => return,
            }
        }
        if self.peers[at].transport.is_some() {
            self.unfinished.push(at);
        }
    }

    /// Reads and handles at most this many bytes. Returns their number, or nothing if there are
    /// none or the connection has ended.
    pub(super) fn read_once(&mut self, at: usize, room: usize) -> Option<usize> {
        let peer = &mut self.peers[at];
        let kept = peer.partial.len();
        if self.buffer.len() < kept + room {
            self.buffer.resize(kept + room, 0);
        }
        self.buffer[..kept].copy_from_slice(&peer.partial);
        let Some(transport) = &mut peer.transport else { return None };
        let room_after = &mut self.buffer[kept..kept + room];
        let read = match transport.read(room_after, &mut self.encrypted, peer.is_probe) {
            Ok((0, _)) => {
                self.ended(at, "closed by the server");
                return None;
            }
            Ok((read, received)) => {
                if let Some(received) = received.filter(|_| self.times.is_some()) {
                    let lag = clock::now().saturating_sub(received);
                    self.ledger.tally.durations.lag.saturating_record(lag);
                }
                read
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                peer.has_unread = false;
                return None;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return Some(room),
            Err(error) => {
                self.ended(at, &error.to_string());
                return None;
            }
        };
        peer.has_unread = read == room;
        self.take(at, kept + read);
        self.bytes += read as u64;
        Some(read)
    }

    /// Handles the buffer up to `end`.
    pub(super) fn take(&mut self, at: usize, end: usize) {
        let now = clock::now();
        let mut start = 0;
        if self.peers[at].state == PeerState::Upgrading {
            let deflates = self.peers[at].reader.view.deflates;
            match upgrade::parse_response(&self.buffer[..end], deflates) {
                UpgradeResponse::Partial => {}
                UpgradeResponse::Upgraded(head) => {
                    self.upgraded(at, now);
                    start = head;
                }
                UpgradeResponse::Refused(why) => {
                    self.refused(at, &why);
                    return;
                }
            }
        }
        let mut closed = None;
        if self.peers[at].is_open() {
            match self.take_frames(at, start..end, now, &mut closed) {
                Ok(whole) => start += whole,
                Err(why) => {
                    self.ledger.counts(&self.peers[at].reader).errors += 1;
                    self.ended(at, why);
                    return;
                }
            }
        }
        if let Some(why) = closed {
            self.ended(at, &why);
            return;
        }
        if self.peers[at].transport.is_none() {
            // A response could not be written. The next connection begins without these bytes.
            return;
        }
        let rest = &self.buffer[start..end];
        let partial = &mut self.peers[at].partial;
        if rest.is_empty() {
            if partial.capacity() > 0 {
                *partial = Vec::new();
            }
        } else {
            partial.clear();
            partial.extend_from_slice(rest);
        }
    }

    pub(super) fn take_frames(
        &mut self,
        at: usize,
        range: Range<usize>,
        now: u64,
        closed: &mut Option<String>,
    ) -> Result<usize, &'static str> {
        let Self { peers, ledger, buffer, inflater, .. } = self;
        let peer = &mut peers[at];
        let (reader, out) = (&mut peer.reader, &mut peer.out);
        let mut frames = 0;
        let whole = wire::walk(&buffer[range], |frame| {
            frames += 1;
            match frame.opcode {
                wire::BINARY => ledger.bare(reader, frame.payload, now),
                wire::TEXT if frame.is_deflated => match inflater.inflate(frame.payload) {
                    Ok(text) => ledger.text(reader, text, now),
                    Err(why) => ledger.broken(reader, why),
                },
                wire::TEXT => ledger.text(reader, frame.payload, now),
                wire::PING => wire::push_frame(out, wire::PONG, frame.payload),
                wire::CLOSE => *closed = Some(close_words(frame.payload)),
                _ => {}
            }
        })?;
        ledger.counts(reader).bytes += whole as u64;
        self.frames += frames;
        if !self.peers[at].out.is_empty() {
            self.flush(at);
        }
        if self.peers[at].state == PeerState::Joining {
            self.update_joined(at, now);
        }
        Ok(whole)
    }

    /// Lets rate-limited sockets read as much as they may by now.
    pub(super) fn nibble(&mut self) {
        let now = clock::now();
        let since = now.saturating_sub(self.nibbled_at);
        if self.nibblers.is_empty() || since < NIBBLE_US {
            return;
        }
        self.nibbled_at = now;
        for at in self.nibblers.clone() {
            let ReadRate::BytesPerSecond(rate) = self.peers[at].read_rate else { continue };
            let may = u64::from(rate) * since.min(4 * NIBBLE_US) / 1_000_000;
            let may = usize::try_from(may).unwrap_or(usize::MAX).min(READ_BYTES);
            if may > 0 && self.peers[at].has_unread {
                self.read_once(at, may);
                // The event queue does not report these bytes again; the next read finds them.
                self.peers[at].has_unread = self.peers[at].transport.is_some();
            }
        }
    }
}

fn close_words(payload: &[u8]) -> String {
    match payload {
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            format!("closed with {code} {}", String::from_utf8_lossy(reason))
        }
        _ => "closed without a code".to_owned(),
    }
}
