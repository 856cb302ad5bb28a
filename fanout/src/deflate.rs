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

/// What follows a payload where it is inflated: the end that the client left out, and an empty final block, at which the
/// inflater stops unless the payload ends in the middle of a block.
const END: [u8; 9] = [0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff];

/// What may be left behind a final block of the client: the octet that section 7.2.3.4 adds to one, and [`END`].
const BEHIND_FINAL_BLOCK: [u8; 10] = [0, 0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff];

/// Inflates the payload of a message of a client (section 7.2.2).
///
/// # Errors
///
/// How the connection must be closed: the payload is malformed or incomplete, or longer than `bytes_max`.
pub(crate) fn inflate(mut deflated: Vec<u8>, bytes_max: usize) -> Result<Vec<u8>, Close> {
    if deflated.is_empty() {
        return Ok(deflated);
    }
    // Some clients do not leave the end out. Nothing else ends like that.
    if deflated.ends_with(&EMPTY_BLOCK) {
        deflated.truncate(deflated.len() - EMPTY_BLOCK.len());
    }
    deflated.extend_from_slice(&END);
    let mut inflater = Decompress::new(false);
    let mut rest = &*deflated;
    let mut payload = Vec::with_capacity((4 * deflated.len()).min(bytes_max + 1));
    loop {
        let (read, had) = (inflater.total_in(), payload.len());
        let status = inflater.decompress_vec(rest, &mut payload, FlushDecompress::Sync);
        let status = status.map_err(|_| Close::Protocol)?;
        if payload.len() > bytes_max {
            return Err(Close::CommandTooLarge);
        }
        let read = usize::try_from(inflater.total_in() - read).unwrap_or(usize::MAX);
        rest = rest.get(read..).unwrap_or_default();
        match status {
            // The end, or that of the client, with and without the added octet.
            Status::StreamEnd if BEHIND_FINAL_BLOCK.ends_with(rest) => return Ok(payload),
            // Further blocks follow the final one of the client.
            Status::StreamEnd => inflater.reset(false),
            _ if payload.len() == payload.capacity() => {
                payload.reserve_exact(payload.len().min(bytes_max + 1 - payload.len()).max(1));
            }
            _ if read == 0 && payload.len() == had => return Err(Close::Protocol),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::FlushCompress::{Finish, Full, Sync};

    use super::*;

    const COMMAND: &[u8] = br#"{"op":"ping","id":1,"t":"pppppppppppppppppppppppp"}"#;

    /// Compressed in blocks, each with its way to end.
    fn blocks(level: u32, window_bits: u8, parts: &[(&[u8], FlushCompress)]) -> Vec<u8> {
        let level = Compression::new(level);
        let mut compress = Compress::new_with_window_bits(level, false, window_bits);
        let mut out = Vec::with_capacity(4096);
        for (part, flush) in parts {
            compress.compress_vec(part, &mut out, *flush).expect("compressing does not fail");
        }
        out
    }

    /// Without the end of the last block.
    fn cut(mut deflated: Vec<u8>) -> Vec<u8> {
        assert!(deflated.ends_with(&EMPTY_BLOCK), "{deflated:?}");
        deflated.truncate(deflated.len() - EMPTY_BLOCK.len());
        deflated
    }

    /// RFC 7692, 7.2.3, as libraries make use of it.
    #[test]
    fn payloads_of_all_libraries_are_inflated() {
        let (head, tail) = COMMAND.split_at(9);
        let final_block = blocks(6, 15, &[(COMMAND, Finish)]);
        let final_blocks = [blocks(6, 15, &[(head, Finish)]), blocks(6, 15, &[(tail, Finish)])];
        for (what, deflated) in [
            ("a window of 512 bytes", cut(blocks(6, 9, &[(COMMAND, Sync)]))),
            ("stored blocks", cut(blocks(0, 15, &[(COMMAND, Sync)]))),
            ("a full flush", cut(blocks(6, 15, &[(COMMAND, Full)]))),
            ("two blocks", cut(blocks(6, 15, &[(head, Sync), (tail, Sync)]))),
            ("the end that may be left out", blocks(6, 15, &[(COMMAND, Sync)])),
            ("a final block", final_block.clone()),
            ("a final block and an octet", [&*final_block, &[0]].concat()),
            ("two final blocks", final_blocks.concat()),
        ] {
            assert_eq!(inflate(deflated, 100).as_deref(), Ok(COMMAND), "{what}");
        }
        for empty in [vec![], vec![0]] {
            assert_eq!(inflate(empty, 100), Ok(vec![]), "an empty message");
        }
    }

    #[test]
    fn malformed_payloads_end_the_connection() {
        let deflated = cut(blocks(6, 15, &[(COMMAND, Sync)]));
        // The last byte has the header of the empty block only.
        for end in 1..deflated.len() - 1 {
            let inflated = inflate(deflated[..end].to_vec(), 100);
            assert_eq!(inflated, Err(Close::Protocol), "cut at {end} of {}", deflated.len());
        }
        let behind = [&*blocks(6, 15, &[(COMMAND, Finish)]), b"more"].concat();
        for wrong in [vec![0xff; 4], behind] {
            assert_eq!(inflate(wrong.clone(), 100), Err(Close::Protocol), "{wrong:?}");
        }
        let long = cut(blocks(6, 15, &[(&[b' '; 101], Sync)]));
        assert_eq!(inflate(long.clone(), 101).map(|payload| payload.len()), Ok(101));
        assert_eq!(inflate(long, 100), Err(Close::CommandTooLarge));
    }
}
