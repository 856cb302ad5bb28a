//! Films: the recordings of single matches, for clients that replay them.
//!
//! A film has everything that the channels of one match published, in the order and with the bytes of the
//! log: `football/204849`, `football/204849/odds` and `football/204849/odds/{slug}` are in one film. The
//! log itself is ordered by time and holds all matches; to play one match from it would mean to read all.
//!
//! **In:** the records of the log, in order ([`FilmWriter::record`]). **Out:** the entries of a film from a
//! position ([`FilmReader`]), or paced by a clock ([`ReplayService`]). **Must not know** sockets, or what the
//! documents mean: they are JSON with merge patches.
//!
//! Channels of one segment are not filmed: boards, `feeds` and `signals` belong to no single match.
//!
//! # Files
//!
//! Each film is one file of blocks, `films/football/204849.film`. A block has a header with the numbers and
//! times of its first and last entry and, for each channel, the first and last sequence; both header and
//! body have a CRC. Headers are enough to find a position. After every [`FilmSettings::key_frame_bytes`] of
//! entries there is a block with the image of each channel, made from the film itself, so that a seek reads
//! no more than that. A film whose channels are all closed ends with a summary, so that a start does not
//! read all blocks of all films.
//!
//! # Crashes
//!
//! Films follow the log. A block is written in one piece and never divides a record. After a restart, the
//! blocks after [`FilmWriter::sync_position`] are verified, a film is cut at the first bad one, and the follower
//! feeds the records after that position again; those that a film has already are skipped by their number. What
//! is cut and is more than a torn last block is kept in a file `.damaged` next to the film.
//!
//! # Gaps
//!
//! If a film lacks a record of a channel, the channel is closed in the film and opens again with its next
//! image. The writer names the matches whose images it needs ([`FilmWriter::take_lacking`]): after a gap, after
//! their film has expired or could not be written, or when films are switched on. A film that cannot be written
//! or read does not affect the others, and is tried again later.
//!
//! # Limits
//!
//! | what | setting | beyond it |
//! |---|---|---|
//! | entries in memory | `block_bytes` and `block_age_us` a film, `buffered_bytes_max` in total | written |
//! | age and size of all films | `keep_us`, `bytes_max` | the oldest are deleted |
//! | replays; for one account | `replays_max`, `replays_max_per_account` | refused with `limit` |
//! | channels and films of a replay | `channels_max`, `films_max` | refused with `limit` |
//! | a replay's memory | one unpacked block for each film; open files and indexes are shared | |
//! | frames on their way to a reader | what the reader has room for | the replay waits |
//! | a replay that nobody reads or that is paused | `idle_us` | it ends with `limit` |

mod block;
mod document;
mod films;
mod index;
mod open_film;
mod player;
mod reader;
mod service;
mod settings;
mod writer;

#[cfg(test)]
mod tests;

use std::{io, path::PathBuf};

pub use self::{
    films::{FilmChannel, FilmQuery, FilmSummary, Films},
    player::{NextFrames, PlayedFrames, Player},
    reader::{Entry, EntryKind, FilmReader, ReadFrom},
    service::{ReplayHost, ReplayService, ReplaySettings},
    settings::FilmSettings,
    writer::FilmWriter,
};

/// Why a film could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FilmError {
    #[error("cannot access {path}")]
    Storage { path: PathBuf, source: io::Error },
    #[error("{path} is damaged at byte {offset}: {problem}")]
    Damaged { path: PathBuf, offset: u64, problem: &'static str },
    #[error("{path} was deleted")]
    Deleted { path: PathBuf },
}

impl FilmError {
    fn storage(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Storage { path, source }
    }
}

/// The match that a channel belongs to: the first two segments of its name. `None` if it is not filmed.
fn match_of(channel: &str) -> Option<&str> {
    let (sport, rest) = channel.split_once('/')?;
    let id = rest.split('/').next()?;
    let is_safe = |part: &str| {
        !part.starts_with('.')
            && !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@+:".contains(&byte))
    };
    (is_safe(sport) && is_safe(id)).then(|| &channel[..sport.len() + 1 + id.len()])
}
