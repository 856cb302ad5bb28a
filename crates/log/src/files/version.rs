//! Versions of the file formats. Every file begins with 6 bytes that identify its kind, and its version.

use crate::codec::Problem;

/// A greater number is no version.
const VERSION_MAX: u16 = 255;

/// Why the header of a file cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeaderError {
    #[error("{0}")]
    Damaged(Problem),
    /// It is not damaged, and another program can read it.
    #[error("it was written by a newer version, in format {0}")]
    NewerVersion(u16),
}

/// Checks a header that ends with its CRC-32. `other_kind`: the problem if it is of another kind of file.
pub(super) fn check_header(
    bytes: &[u8],
    magic: [u8; 6],
    version: u16,
    other_kind: Problem,
) -> Result<(), HeaderError> {
    let (fields, crc) = bytes.split_at(bytes.len().saturating_sub(4));
    if fields.len() < 8 || fields[..6] != magic {
        return Err(HeaderError::Damaged(other_kind));
    }
    let matches = |fields: &[u8]| crc == crc32fast::hash(fields).to_le_bytes();
    if let Some(newer) = newer_version(fields, magic, version) {
        // The header of a newer version can have another length, so its checksum may be elsewhere. But if the
        // checksum matches with the current version, only the version field is damaged.
        let mut current = fields.to_vec();
        current[6..8].copy_from_slice(&version.to_le_bytes());
        if !matches(&current) {
            return Err(HeaderError::NewerVersion(newer));
        }
    }
    if !matches(fields) {
        return Err(HeaderError::Damaged("the checksum of its header does not match"));
    }
    if fields[6..8] != version.to_le_bytes() {
        return Err(HeaderError::Damaged("its version is unknown"));
    }
    Ok(())
}

/// The version of a file of this kind, if it is newer than the current one.
pub(super) fn newer_version(bytes: &[u8], magic: [u8; 6], current: u16) -> Option<u16> {
    let version = bytes.strip_prefix(&magic)?.first_chunk()?;
    let version = u16::from_le_bytes(*version);
    (version > current && version <= VERSION_MAX).then_some(version)
}
