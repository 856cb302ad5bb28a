//! Compressed frames (RFC 7692, without context takeover). All sockets of a view receive the same
//! bytes, so the last payloads are kept with their texts, and each is inflated once.

use std::hash::Hasher;

use flate2::{Decompress, FlushDecompress, Status};
use rustc_hash::FxHasher;

/// The empty block at the end of a compressed payload, which is not sent (section 7.2.2).
const EMPTY_BLOCK: [u8; 4] = [0, 0, 0xff, 0xff];

/// Payloads that are kept.
const KEPT: usize = 4096;

/// The longest text. The images of the hub are far smaller.
const TEXT_BYTES_MAX: usize = 64 << 20;

#[derive(Debug, Default)]
pub(crate) struct Inflater {
    decompress: Option<Decompress>,
    /// By the hash of the payload.
    kept: Vec<InflatedText>,
}

#[derive(Debug, Default)]
struct InflatedText {
    payload: Vec<u8>,
    text: Vec<u8>,
}

impl Inflater {
    /// The text of a compressed payload.
    ///
    /// # Errors
    ///
    /// If the payload is not one, or its text is too long.
    #[inline]
    pub(crate) fn inflate(&mut self, payload: &[u8]) -> Result<&[u8], &'static str> {
        if self.kept.is_empty() {
            self.kept.resize_with(KEPT, InflatedText::default);
        }
        let mut hasher = FxHasher::default();
        hasher.write(payload);
        let at = usize::try_from(hasher.finish() % KEPT as u64).unwrap_or_default();
        let kept = &mut self.kept[at];
        if kept.payload.is_empty() || kept.payload != payload {
            let decompress = self.decompress.get_or_insert_with(|| Decompress::new(false));
            kept.payload.clear();
            inflate(decompress, payload, &mut kept.text)?;
            kept.payload.extend_from_slice(payload);
        }
        Ok(&kept.text)
    }
}

fn inflate(
    decompress: &mut Decompress,
    payload: &[u8],
    text: &mut Vec<u8>,
) -> Result<(), &'static str> {
    decompress.reset(false);
    text.clear();
    text.reserve(4 * payload.len() + 64);
    let whole = [payload, &EMPTY_BLOCK].concat();
    loop {
        let read = usize::try_from(decompress.total_in()).unwrap_or(usize::MAX);
        let rest = whole.get(read..).unwrap_or_default();
        let status = decompress
            .decompress_vec(rest, text, FlushDecompress::Sync)
            .map_err(|_| "a compressed frame that cannot be read")?;
        let is_full = text.len() == text.capacity();
        let is_read = decompress.total_in() == whole.len() as u64;
        if status == Status::StreamEnd || is_read && !is_full {
            return Ok(());
        }
        if !is_full {
            return Err("a compressed frame that ends too early");
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err("a compressed frame beyond any size");
        }
        text.reserve(text.len());
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};

    use super::*;

    fn deflate(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 64);
        let mut compress = Compress::new(Compression::fast(), false);
        compress.compress_vec(text, &mut out, FlushCompress::Sync).unwrap();
        out.truncate(out.len() - EMPTY_BLOCK.len());
        out
    }

    #[test]
    fn each_text_comes_back_first_and_again() {
        let mut inflater = Inflater::default();
        let texts: Vec<String> = (0..50).map(|nth| format!("{nth} ").repeat(nth * 100)).collect();
        for text in texts.iter().chain(&texts) {
            let payload = deflate(text.as_bytes());
            assert_eq!(inflater.inflate(&payload), Ok(text.as_bytes()));
        }
    }

    #[test]
    fn damaged_payload_is_an_error_and_harms_no_other() {
        let mut inflater = Inflater::default();
        let payload = deflate(b"a text, a text, a text");
        assert!(inflater.inflate(&[0xff; 20]).is_err());
        assert_eq!(inflater.inflate(&payload), Ok(&b"a text, a text, a text"[..]));
    }
}
