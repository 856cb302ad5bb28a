//! The bytes of a film: blocks, their headers, and entries.
//!
//! ```text
//! block  = prefix header body
//! prefix = magic(4) header_bytes(4) body_bytes(4) crc_of_header(4) crc_of_body(4), little-endian
//! header = kind raw_bytes numbers times new_tracks spans, as variable-length integers
//! body   = zstd(entries)
//! entry  = kind number at track [prev] [seq] payload
//! ```
//!
//! A **track** is one epoch of one channel. A block names the tracks that are new in the film; their numbers
//! count from 0.

use std::ops::Range;

use bytes::Bytes;
use fanout::{ChannelId, Epoch, Micros, Seq};

use super::reader::EntryKind;
use crate::RecordNumber;

pub(super) const FILE_MAGIC: [u8; 8] = *b"mwfilm1\n";
const BLOCK_MAGIC: [u8; 4] = *b"MWFB";
pub(super) const PREFIX_BYTES: usize = 20;

/// Limits for what a header may claim, so that a damaged one does not cause a huge allocation. A block may
/// have one record more than its target, and a record is the output of one turn.
const HEADER_BYTES_MAX: usize = 16 * 1024 * 1024;
const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// zstd's default. Higher levels cost several times as much for a few percent.
const LEVEL: i32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Entries,
    /// The images of all open channels after the entries before it.
    Images,
    /// The header of the whole film, without a body.
    Summary,
}

/// One epoch of one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) channel: ChannelId,
    pub(super) epoch: Epoch,
}

/// What a block has of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrackSpan {
    pub(super) track: usize,
    pub(super) first: Seq,
    pub(super) last: Seq,
    /// Whether the channel is open after the block.
    pub(super) is_open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) kind: BlockKind,
    /// The bytes of the entries before compression.
    pub(super) raw_bytes: usize,
    /// Of the first and the last entry.
    pub(super) numbers: (RecordNumber, RecordNumber),
    pub(super) times: (Micros, Micros),
    pub(super) new_tracks: Vec<Track>,
    pub(super) spans: Vec<TrackSpan>,
}

/// The sizes that a block's prefix gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prefix {
    pub(super) header_bytes: usize,
    pub(super) body_bytes: usize,
    header_crc: u32,
    body_crc: u32,
}

impl Prefix {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        if bytes.get(..4)? != BLOCK_MAGIC {
            return None;
        }
        let (header_bytes, body_bytes) = (word(4)? as usize, word(8)? as usize);
        let prefix = Self { header_bytes, body_bytes, header_crc: word(12)?, body_crc: word(16)? };
        (header_bytes <= HEADER_BYTES_MAX && body_bytes <= BODY_BYTES_MAX).then_some(prefix)
    }

    /// The bytes of the whole block.
    pub(super) fn block_bytes(self) -> u64 {
        (PREFIX_BYTES + self.header_bytes + self.body_bytes) as u64
    }

    pub(super) fn parse_header(self, bytes: &[u8]) -> Option<BlockHeader> {
        if crc32fast::hash(bytes) != self.header_crc {
            return None;
        }
        let mut input = Input { bytes, at: 0 };
        let header = BlockHeader::parse(&mut input)?;
        (input.at == bytes.len() && header.raw_bytes <= BODY_BYTES_MAX).then_some(header)
    }

    /// The entries of a block, from its body.
    pub(super) fn unpack(self, body: &[u8], header: &BlockHeader) -> Option<Bytes> {
        if crc32fast::hash(body) != self.body_crc {
            return None;
        }
        if header.raw_bytes == 0 {
            return Some(Bytes::new());
        }
        let raw = zstd::bulk::decompress(body, header.raw_bytes).ok()?;
        (raw.len() == header.raw_bytes).then(|| raw.into())
    }

    pub(super) fn body_is_intact(self, body: &[u8]) -> bool {
        crc32fast::hash(body) == self.body_crc
    }
}

/// Where a block may begin in these bytes.
pub(super) fn magic_positions(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let windows = bytes.windows(BLOCK_MAGIC.len()).enumerate();
    windows.filter(|(_, window)| *window == BLOCK_MAGIC).map(|(at, _)| at)
}

impl BlockHeader {
    /// The bytes of a block with these entries.
    pub(super) fn encode(&self, entries: &[u8]) -> std::io::Result<Vec<u8>> {
        self.encode_with(&zstd::bulk::compress(entries, LEVEL)?)
    }

    /// The bytes of a summary. Its body is its own size, so that it is found from the end of the file.
    pub(super) fn encode_summary(&self) -> std::io::Result<Vec<u8>> {
        let mut header = Vec::new();
        self.write(&mut header);
        let bytes = PREFIX_BYTES + header.len() + size_of::<u64>();
        self.encode_with(&(bytes as u64).to_le_bytes())
    }

    fn encode_with(&self, body: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut header = Vec::with_capacity(256);
        self.write(&mut header);
        let word = |length: usize| {
            u32::try_from(length).map_err(|_| std::io::Error::other("a block is too large"))
        };
        let mut block = Vec::with_capacity(PREFIX_BYTES + header.len() + body.len());
        block.extend_from_slice(&BLOCK_MAGIC);
        block.extend_from_slice(&word(header.len())?.to_le_bytes());
        block.extend_from_slice(&word(body.len())?.to_le_bytes());
        block.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
        block.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
        block.extend_from_slice(&header);
        block.extend_from_slice(body);
        Ok(block)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(match self.kind {
            BlockKind::Entries => 0,
            BlockKind::Images => 1,
            BlockKind::Summary => 2,
        });
        integer(out, self.raw_bytes as u64);
        integer(out, self.numbers.0);
        integer(out, self.numbers.1);
        integer(out, self.times.0.cast_unsigned());
        integer(out, self.times.1.cast_unsigned());
        integer(out, self.new_tracks.len() as u64);
        for Track { channel, epoch } in &self.new_tracks {
            integer(out, channel.as_str().len() as u64);
            out.extend_from_slice(channel.as_str().as_bytes());
            integer(out, epoch.0.into());
        }
        integer(out, self.spans.len() as u64);
        for TrackSpan { track, first, last, is_open } in &self.spans {
            integer(out, *track as u64);
            integer(out, *first);
            integer(out, last.wrapping_sub(*first));
            out.push((*is_open).into());
        }
    }

    fn parse(input: &mut Input<'_>) -> Option<Self> {
        let kind = match input.byte()? {
            0 => BlockKind::Entries,
            1 => BlockKind::Images,
            2 => BlockKind::Summary,
            _ => return None,
        };
        let raw_bytes = input.size()?;
        let numbers = (input.integer()?, input.integer()?);
        let times = (input.integer()?.cast_signed(), input.integer()?.cast_signed());
        let mut new_tracks = Vec::new();
        for _ in 0..input.size()? {
            let length = input.size()?;
            let name = str::from_utf8(&input.bytes[input.take(length)?]).ok()?;
            let epoch = Epoch(u32::try_from(input.integer()?).ok()?);
            new_tracks.push(Track { channel: ChannelId::new(name), epoch });
        }
        let mut spans = Vec::new();
        for _ in 0..input.size()? {
            let (track, first) = (input.size()?, input.integer()?);
            let last = first.wrapping_add(input.integer()?);
            spans.push(TrackSpan { track, first, last, is_open: input.byte()? != 0 });
        }
        Some(Self { kind, raw_bytes, numbers, times, new_tracks, spans })
    }
}

const IMAGE: u8 = 0;
const UPDATE: u8 = 1;
const CLOSED: u8 = 2;
const KIND_MASK: u8 = 0x0f;
const URGENT: u8 = 0x10;
const HAS_EVENTS: u8 = 0x20;

/// The place of an entry in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Place {
    pub(super) number: RecordNumber,
    pub(super) at: Micros,
}

/// Appends an entry. `last` is the place of the entry before it in the block, or zero.
pub(super) fn write_entry(
    out: &mut Vec<u8>,
    last: Place,
    position: Place,
    track: usize,
    kind: &EntryKind,
) {
    let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    out.push(match kind {
        EntryKind::Image { .. } => IMAGE,
        EntryKind::Update { urgent, has_events, .. } => {
            UPDATE | flag(*urgent, URGENT) | flag(*has_events, HAS_EVENTS)
        }
        EntryKind::Closed => CLOSED,
    });
    integer(out, position.number.wrapping_sub(last.number));
    integer(out, position.at.wrapping_sub(last.at).cast_unsigned());
    integer(out, track as u64);
    let payload = match kind {
        EntryKind::Image { seq, payload } => {
            integer(out, *seq);
            payload
        }
        EntryKind::Update { prev, seq, payload, .. } => {
            integer(out, *prev);
            integer(out, seq.wrapping_sub(*prev));
            payload
        }
        EntryKind::Closed => return,
    };
    integer(out, payload.len() as u64);
    out.extend_from_slice(payload);
}

/// Reads the entry at `at` and advances it. `None` at the end, or if the bytes are no entry.
pub(super) fn read_entry(
    entries: &Bytes,
    at: &mut usize,
    last: Place,
) -> Option<(Place, usize, EntryKind)> {
    let mut input = Input { bytes: entries, at: *at };
    let first = input.byte()?;
    let number = last.number.wrapping_add(input.integer()?);
    let position = Place { number, at: last.at.wrapping_add(input.integer()?.cast_signed()) };
    let track = input.size()?;
    let kind = match first & KIND_MASK {
        IMAGE => {
            let seq = input.integer()?;
            EntryKind::Image { seq, payload: input.payload(entries)? }
        }
        UPDATE => {
            let prev = input.integer()?;
            EntryKind::Update {
                prev,
                seq: prev.wrapping_add(input.integer()?),
                urgent: first & URGENT != 0,
                has_events: first & HAS_EVENTS != 0,
                payload: input.payload(entries)?,
            }
        }
        CLOSED => EntryKind::Closed,
        _ => return None,
    };
    *at = input.at;
    Some((position, track, kind))
}

/// Appends an integer, seven bits a byte, the lowest first.
fn integer(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn integer(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(self.integer()?).ok()
    }

    fn take(&mut self, length: usize) -> Option<Range<usize>> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len())?;
        let range = self.at..end;
        self.at = end;
        Some(range)
    }

    fn payload(&mut self, entries: &Bytes) -> Option<Bytes> {
        let length = self.size()?;
        Some(entries.slice(self.take(length)?))
    }
}
