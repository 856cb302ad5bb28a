//! Compressed payloads of messages (RFC 7692), each on its own, so that no connection keeps a state and all readers can share
//! one.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::close::Close;

/// The empty block at the end of a compressed payload, which is not sent (section 7.2.1).
const EMPTY_BLOCK: [u8; 4] = [0, 0, 0xff, 0xff];

/// The base-2 logarithm of the window, in bytes, of what the hub compresses: the smallest that common clients demand.
pub const DEFLATE_WINDOW_BITS: u8 = 12;

/// Compresses messages, each on its own.
#[derive(Debug)]
pub(crate) struct Deflater {
    compress: Compress,
    out: Vec<u8>,
}

impl Default for Deflater {
    fn default() -> Self {
        let level = Compression::fast();
        let compress = Compress::new_with_window_bits(level, false, DEFLATE_WINDOW_BITS);
        Self { compress, out: Vec::new() }
    }
}

impl Deflater {
    /// The payload as RFC 7692, section 7.2.1, has it.
    pub(crate) fn deflate(&mut self, payload: &[u8]) -> &[u8] {
        self.compress.reset();
        self.out.clear();
        self.out.reserve(payload.len() / 2 + 64);
        loop {
            let read = usize::try_from(self.compress.total_in()).unwrap_or(usize::MAX);
            let rest = payload.get(read..).unwrap_or_default();
            let status = self.compress.compress_vec(rest, &mut self.out, FlushCompress::Sync);
            status.expect("compressing does not fail");
            let is_read = self.compress.total_in() == payload.len() as u64;
            if is_read && self.out.len() < self.out.capacity() {
                break;
            }
            self.out.reserve(self.out.capacity());
        }
        self.out.strip_suffix(&EMPTY_BLOCK).unwrap_or(&self.out)
    }
}

/// Inflates the payload of a message of a client (section 7.2.2).
///
/// # Errors
///
/// How the connection must be closed: the payload is malformed, or longer than `bytes_max`.
pub(crate) fn inflate(mut deflated: Vec<u8>, bytes_max: usize) -> Result<Vec<u8>, Close> {
    deflated.extend_from_slice(&EMPTY_BLOCK);
    let mut inflater = Decompress::new(false);
    let mut payload = Vec::with_capacity((4 * deflated.len()).min(bytes_max + 1));
    loop {
        let read = usize::try_from(inflater.total_in()).unwrap_or(usize::MAX);
        let rest = deflated.get(read..).unwrap_or_default();
        let status = inflater.decompress_vec(rest, &mut payload, FlushDecompress::Sync);
        let status = status.map_err(|_| Close::Protocol)?;
        if payload.len() > bytes_max {
            return Err(Close::CommandTooLarge);
        }
        let is_full = payload.len() == payload.capacity();
        let is_whole = inflater.total_in() == deflated.len() as u64;
        match status {
            // A client may end its payload with a final block.
            Status::StreamEnd => return Ok(payload),
            _ if is_full => {}
            _ if is_whole => return Ok(payload),
            _ => return Err(Close::Protocol),
        }
        payload.reserve_exact(payload.len().min(bytes_max + 1 - payload.len()).max(1));
    }
}
