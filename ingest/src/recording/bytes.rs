//! The bytes of a file, decompressed when they are compressed.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

/// A file as it is read: in order, once, without an end known beforehand.
pub(super) type Bytes = Box<dyn BufRead + Send>;

/// Bytes read from the file at once, and decompressed at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// Opens a file. Its first bytes say how it is compressed; its name says nothing. All members of a
/// gzip file and all streams of a bzip2 file are read, as their own tools do.
pub(super) fn open(path: &Path) -> io::Result<Bytes> {
    let mut file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let head = file.fill_buf()?;
    Ok(match head {
        [0x1f, 0x8b, ..] => buffered(MultiGzDecoder::new(file)),
        [b'B', b'Z', b'h', ..] => buffered(MultiBzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => buffered(zstd::Decoder::with_buffer(file)?),
        _ => Box::new(file),
    })
}

fn buffered(bytes: impl Read + Send + 'static) -> Bytes {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, bytes))
}

/// A file read to its end, or as far as it could be read.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    /// Why there is no more of it.
    pub(super) cut: Option<io::Error>,
}

/// Reads a whole file; `None` if it is longer than `bytes_max`.
pub(super) fn read(path: &Path, bytes_max: usize) -> io::Result<Option<Whole>> {
    let mut bytes = Vec::new();
    let most = (bytes_max as u64).saturating_add(1);
    let cut = open(path)?.take(most).read_to_end(&mut bytes).err();
    Ok((bytes.len() <= bytes_max).then_some(Whole { bytes, cut }))
}
