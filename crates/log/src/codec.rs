//! The bytes of a record.
//!
//! ```text
//! length   u32      of the body
//! crc      u32      CRC-32 of the body
//! body     kind     u8, 0
//!          flags    u8: bit 0, the inputs are compressed; bit 1, the outputs are compressed
//!          number   u64
//!          at       i64
//!          chain    16 bytes: of the record before
//!          inputs   raw length u32, stored length u32, bytes
//!          outputs  the same
//! ```
//!
//! Integers are little-endian. A section is compressed (zstd) from 512 bytes on. The section of outputs
//! is their count, then for each: kind and flags (u8), channel (length, name), epoch (u32), and what its
//! kind has: previous and own sequence, payload (length, bytes). Counts, lengths and sequences are LEB128.
//!
//! What is read is not trusted: lengths are checked before anything is allocated.

use std::{fmt, io};

use bytes::Bytes;
use fanout::{ChannelId, Epoch, Micros};
use sha2::{Digest, Sha256};
use zstd::bulk::{Compressor, Decompressor};

use crate::{
    AppendError, Chain, RecordNumber,
    record::{Output, Record},
};

/// Bytes of the inputs or of the outputs of a record, before compression. A first turn with 500,000
/// prices has about 40 MiB.
pub const SECTION_BYTES_MAX: usize = 256 << 20;

/// Bytes of a body: two sections that cannot be compressed, and the fields before them.
pub const BODY_BYTES_MAX: usize = 2 * SECTION_BYTES_MAX + (1 << 20);

/// Bytes before a body: its length and its CRC.
pub const PREFIX_BYTES: usize = 8;

/// Smaller sections do not become much smaller.
const COMPRESS_FROM_BYTES: usize = 512;

/// zstd's fastest ordinary level: the writer waits for it.
const LEVEL: i32 = 1;

const KIND_TURN: u8 = 0;
const INPUTS_COMPRESSED: u8 = 1;
const OUTPUTS_COMPRESSED: u8 = 2;

/// Kind, flags, number, time, chain.
const HEADER_BYTES: usize = 34;

const OPENED: u8 = 0;
const PUBLISHED: u8 = 1;
const CLOSED: u8 = 2;
const URGENT: u8 = 1 << 4;
const HAS_EVENTS: u8 = 1 << 5;

/// The least that an output takes: kind, length of an empty name, epoch.
const OUTPUT_BYTES_MIN: usize = 6;

/// Scratch memory that is kept between records.
const SCRATCH_BYTES_KEPT: usize = 4 << 20;

/// Encodes records. It keeps its memory from record to record.
pub struct Encoder {
    zstd: Compressor<'static>,
    outputs: Vec<u8>,
}

impl Encoder {
    /// # Errors
    ///
    /// If zstd gets no memory.
    pub fn new() -> io::Result<Self> {
        Ok(Self { zstd: Compressor::new(LEVEL)?, outputs: Vec::new() })
    }

    /// Appends the bytes of a record to `out`, and returns the chain after it. `chain`: after the record
    /// before.
    ///
    /// # Errors
    ///
    /// If the record is too large. `out` is then as before.
    pub fn encode(
        &mut self,
        record: &Record,
        chain: Chain,
        out: &mut Vec<u8>,
    ) -> Result<Chain, AppendError> {
        self.outputs.clear();
        self.outputs.shrink_to(SCRATCH_BYTES_KEPT);
        write_outputs(&record.outputs, &mut self.outputs);
        let bytes = record.inputs.len().max(self.outputs.len());
        if bytes > SECTION_BYTES_MAX {
            return Err(AppendError::TooLarge { number: record.number, bytes });
        }
        let start = out.len();
        let body = start + PREFIX_BYTES;
        out.extend_from_slice(&[0; PREFIX_BYTES]);
        out.extend_from_slice(&[KIND_TURN, 0]);
        out.extend_from_slice(&record.number.to_le_bytes());
        out.extend_from_slice(&record.at.to_le_bytes());
        out.extend_from_slice(&chain);
        let inputs_compressed = write_section(&mut self.zstd, &record.inputs, out);
        let outputs_compressed = write_section(&mut self.zstd, &self.outputs, out);
        if inputs_compressed {
            out[body + 1] |= INPUTS_COMPRESSED;
        }
        if outputs_compressed {
            out[body + 1] |= OUTPUTS_COMPRESSED;
        }
        let length = u32_of(out.len() - body);
        let crc = crc32fast::hash(&out[body..]);
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        out[start + 4..body].copy_from_slice(&crc.to_le_bytes());
        Ok(chain_after(&out[body..]))
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

/// The chain after a record with this body.
#[must_use]
pub fn chain_after(body: &[u8]) -> Chain {
    let hash = Sha256::digest(body);
    let mut chain = Chain::default();
    chain.copy_from_slice(&hash[..16]);
    chain
}

/// Whether the section is stored compressed.
fn write_section(zstd: &mut Compressor<'static>, raw: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(&u32_of(raw.len()).to_le_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let start = out.len();
    let compressed = raw.len() >= COMPRESS_FROM_BYTES && {
        // The buffer is smaller than the section: compression that saves nothing fails.
        out.resize(start + raw.len() - 1, 0);
        match zstd.compress_to_buffer(raw, &mut out[start..]) {
            Ok(bytes) => {
                out.truncate(start + bytes);
                true
            }
            Err(_) => {
                out.truncate(start);
                false
            }
        }
    };
    if !compressed {
        out.extend_from_slice(raw);
    }
    let stored = u32_of(out.len() - start);
    out[length_at..start].copy_from_slice(&stored.to_le_bytes());
    compressed
}

fn u32_of(length: usize) -> u32 {
    u32::try_from(length).expect("sections are limited")
}

fn write_outputs(outputs: &[Output], out: &mut Vec<u8>) {
    write_number(outputs.len() as u64, out);
    for output in outputs {
        let (kind, epoch) = match output {
            Output::Opened { epoch, .. } => (OPENED, epoch),
            Output::Published { epoch, urgent, has_events, .. } => {
                let urgent = if *urgent { URGENT } else { 0 };
                let has_events = if *has_events { HAS_EVENTS } else { 0 };
                (PUBLISHED | urgent | has_events, epoch)
            }
            Output::Closed { epoch, .. } => (CLOSED, epoch),
        };
        out.push(kind);
        write_bytes(output.channel().as_str().as_bytes(), out);
        out.extend_from_slice(&epoch.0.to_le_bytes());
        match output {
            Output::Opened { seq, payload, .. } => {
                write_number(*seq, out);
                write_bytes(payload, out);
            }
            Output::Published { prev, seq, payload, .. } => {
                write_number(*prev, out);
                write_number(*seq, out);
                write_bytes(payload, out);
            }
            Output::Closed { .. } => {}
        }
    }
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

/// What is wrong with bytes that were read.
pub type Problem = &'static str;

/// The length of the body after a prefix.
///
/// # Errors
///
/// If no record has this length.
pub fn body_bytes(prefix: [u8; PREFIX_BYTES]) -> Result<usize, Problem> {
    let [a, b, c, d, ..] = prefix;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if (HEADER_BYTES + 16..=BODY_BYTES_MAX).contains(&length) {
        Ok(length)
    } else {
        Err("its length is impossible")
    }
}

/// The first fields of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    pub number: RecordNumber,
    pub at: Micros,
    /// After the record before.
    pub chain: Chain,
    flags: u8,
}

impl RecordHeader {
    /// Reads the fields, and does not check the CRC.
    ///
    /// # Errors
    ///
    /// If this is no record.
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        let mut cursor = Cursor { rest: body };
        let [kind, flags] = cursor.array()?;
        if kind != KIND_TURN || flags & !(INPUTS_COMPRESSED | OUTPUTS_COMPRESSED) != 0 {
            return Err("its kind is unknown");
        }
        let number = RecordNumber::from_le_bytes(cursor.array()?);
        let at = Micros::from_le_bytes(cursor.array()?);
        Ok(Self { number, at, chain: cursor.array()?, flags })
    }

    /// Checks the CRC as well. `prefix`: the bytes before the body.
    ///
    /// # Errors
    ///
    /// If the bytes differ from those that were written.
    pub fn check(prefix: [u8; PREFIX_BYTES], body: &[u8]) -> Result<Self, Problem> {
        let [.., a, b, c, d] = prefix;
        if crc32fast::hash(body) != u32::from_le_bytes([a, b, c, d]) {
            return Err("its checksum does not match");
        }
        Self::read(body)
    }
}

/// Decodes the bodies of records.
pub struct Decoder {
    zstd: Decompressor<'static>,
}

impl Decoder {
    /// # Errors
    ///
    /// If zstd gets no memory.
    pub fn new() -> io::Result<Self> {
        Ok(Self { zstd: Decompressor::new()? })
    }

    /// Decodes a body. All payloads of the record share one allocation.
    ///
    /// # Errors
    ///
    /// If this is no body of a record.
    pub fn decode(&mut self, body: &[u8]) -> Result<Record, Problem> {
        let RecordHeader { number, at, flags, .. } = RecordHeader::read(body)?;
        let mut cursor = Cursor { rest: &body[HEADER_BYTES..] };
        let inputs = self.section(&mut cursor, flags & INPUTS_COMPRESSED != 0)?;
        let outputs = self.section(&mut cursor, flags & OUTPUTS_COMPRESSED != 0)?;
        if !cursor.rest.is_empty() {
            return Err("it has bytes after its end");
        }
        Ok(Record { number, at, inputs, outputs: read_outputs(&outputs)? })
    }

    fn section(&mut self, cursor: &mut Cursor<'_>, compressed: bool) -> Result<Bytes, Problem> {
        let raw = u32::from_le_bytes(cursor.array()?) as usize;
        let stored = u32::from_le_bytes(cursor.array()?) as usize;
        let bytes = cursor.take(stored)?;
        if !compressed {
            return if raw == stored {
                Ok(Bytes::copy_from_slice(bytes))
            } else {
                Err("its lengths differ")
            };
        }
        let content = zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten();
        if raw > SECTION_BYTES_MAX || content != Some(raw as u64) {
            return Err("its lengths differ");
        }
        let raw_bytes =
            self.zstd.decompress(bytes, raw).map_err(|_| "it cannot be decompressed")?;
        if raw_bytes.len() == raw { Ok(raw_bytes.into()) } else { Err("its lengths differ") }
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

fn read_outputs(section: &Bytes) -> Result<Vec<Output>, Problem> {
    let mut cursor = Cursor { rest: section };
    let count = cursor.length()?;
    if count > cursor.rest.len() / OUTPUT_BYTES_MIN {
        return Err("its number of outputs is impossible");
    }
    let mut outputs: Vec<Output> = Vec::with_capacity(count);
    for _ in 0..count {
        let [kind] = cursor.array()?;
        let name = str::from_utf8(cursor.bytes()?).map_err(|_| "a channel's name is not text")?;
        // Changes of one channel follow each other, so most names need no allocation of their own.
        let channel = match outputs.last() {
            Some(last) if last.channel().as_str() == name => last.channel().clone(),
            _ => ChannelId::new(name),
        };
        let epoch = Epoch(u32::from_le_bytes(cursor.array()?));
        outputs.push(match kind & 0xf {
            OPENED if kind == OPENED => Output::Opened {
                channel,
                epoch,
                seq: cursor.number()?,
                payload: section.slice_ref(cursor.bytes()?),
            },
            PUBLISHED if kind & !(PUBLISHED | URGENT | HAS_EVENTS) == 0 => Output::Published {
                channel,
                epoch,
                prev: cursor.number()?,
                seq: cursor.number()?,
                urgent: kind & URGENT != 0,
                has_events: kind & HAS_EVENTS != 0,
                payload: section.slice_ref(cursor.bytes()?),
            },
            CLOSED if kind == CLOSED => Output::Closed { channel, epoch },
            _ => return Err("an output's kind is unknown"),
        });
    }
    if cursor.rest.is_empty() { Ok(outputs) } else { Err("its outputs have bytes after their end") }
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Problem> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or("it ends too early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or("it ends too early")?;
        self.rest = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<u64, Problem> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let digits = u64::from(byte & 0x7f);
            if shift == 63 && digits > 1 {
                break;
            }
            number |= digits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number is too large")
    }

    fn length(&mut self) -> Result<usize, Problem> {
        usize::try_from(self.number()?).map_err(|_| "a length is too large")
    }

    fn bytes(&mut self) -> Result<&'a [u8], Problem> {
        let length = self.length()?;
        self.take(length)
    }
}
