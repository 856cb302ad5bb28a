//! Companion files of a recording: next to it, or named by the user.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
};

use super::{
    Format, Limits, OpenError, Step,
    bytes::{self, Whole},
    content::{self, Content},
    refused, statsperform,
};
use crate::error::{DecodeError, RefusalKind, Result};

/// Which of the files named are recordings, in the order named. The others only go with them.
///
/// # Errors
///
/// If a file cannot be read or is of no known format, or if none of them is a recording.
pub fn plan(named: &[PathBuf]) -> Result<Vec<PathBuf>, OpenError> {
    let mut recordings = Vec::new();
    let mut companion = None;
    for path in named {
        match content::recognise(path)? {
            Content::Recording(_) | Content::Container => recordings.push(path.clone()),
            Content::Companion(format) => companion = Some((path, format)),
            Content::Either(format) if goes_with_another(path, format, named) => {}
            Content::Either(_) => recordings.push(path.clone()),
        }
    }
    match companion {
        Some((path, format)) if recordings.is_empty() => {
            Err(OpenError::OnlyCompanion { path: path.clone(), format })
        }
        _ => Ok(recordings),
    }
}

/// Whether a summary is of a match whose recording is named as well.
fn goes_with_another(path: &Path, format: Format, named: &[PathBuf]) -> bool {
    let Some(key) = statsperform::match_key(path) else { return false };
    named.iter().any(|other| {
        let recording =
            matches!(content::recognise(other), Ok(Content::Recording(found)) if found == format);
        recording && statsperform::match_key(other).as_ref() == Some(&key)
    })
}

/// The files in which the companion of a recording may be: those named by the user that are
/// companions of its format, then those next to it, of which `companion_name` gives the names before
/// compression, if they have one.
pub(super) fn candidates(
    path: &Path,
    named: &[PathBuf],
    format: Format,
    companion_name: &str,
) -> Vec<PathBuf> {
    let is_companion = |path: &&PathBuf| {
        matches!(
            content::recognise(path),
            Ok(Content::Companion(found) | Content::Either(found)) if found == format
        )
    };
    let mut candidates: Vec<_> = named.iter().filter(is_companion).cloned().collect();
    let ends: &[&str] = if companion_name.is_empty() { &[] } else { &["", ".gz", ".bz2"] };
    for end in ends {
        let path = path.with_file_name(format!("{companion_name}{end}"));
        if path.is_file() && !candidates.contains(&path) {
            candidates.push(path);
        }
    }
    candidates
}

/// The contents of companions, each read when it is needed. An unusable one is refused, and the
/// recording continues without it.
pub(super) fn read_all<T>(
    candidates: Vec<PathBuf>,
    limits: &Limits,
    refusals: &mut VecDeque<Step>,
    mut read: impl FnMut(&[u8]) -> Result<T>,
) -> impl Iterator<Item = T> {
    candidates.into_iter().filter_map(move |path| {
        let result = bytes_of(&path, limits).and_then(|whole| read(&whole.bytes));
        let file = path.display().to_string().into();
        result.map_err(|error| refusals.push_back(refused(error, &file, 0, &[]))).ok()
    })
}

fn bytes_of(path: &Path, limits: &Limits) -> Result<Whole> {
    let io = |error: std::io::Error| DecodeError::new(RefusalKind::Io, error.to_string());
    bytes::read(path, limits.document_bytes_max).map_err(io)?.ok_or_else(|| {
        let reason = format!("longer than {} bytes", limits.document_bytes_max);
        DecodeError::new(RefusalKind::TooLong, reason)
    })
}
