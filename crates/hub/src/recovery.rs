//! Restores the hub at a start: from a snapshot of its state and the records of the log after it.
//!
//! The inputs of these records give the state in which the process ended, and their outputs must be those
//! of the log. What clients resume from is read by [`tails`](crate::tails).

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread,
};

use borsh::{BorshDeserialize, BorshSerialize};
use fanout::{Change, Micros};
use log::{
    LogPosition, ReadError, RecordNumber, RecordReader,
    record::{Output, Record},
};

use crate::{
    hub::{Hub, HubSettings, RestoreError, STATE_FORMAT, Unwritten},
    ids::PublicIds,
    signals::SignalSettings,
    turn::{self, InputsError},
};

/// The format of a snapshot: that of the state, with the settings before it.
pub const SNAPSHOT_FORMAT: u16 = STATE_FORMAT;

pub use crate::formats::DOCUMENT_FORMAT;

/// A hub's state in its serialised form ([`SNAPSHOT_FORMAT`]).
pub type SavedState = Arc<[u8]>;

/// Why a hub could not be restored.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error("the snapshot cannot be read")]
    Snapshot(#[from] RestoreError),
    #[error("the snapshot has the format {0}, and this program reads {SNAPSHOT_FORMAT}")]
    OtherFormat(u16),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Inputs(#[from] InputsError),
}

/// A restored hub.
#[derive(Debug)]
pub struct Restored {
    pub hub: Hub,
    /// The last record that was applied.
    pub applied: RecordNumber,
    /// When it was made.
    pub at: Micros,
    /// Records whose inputs gave other outputs than the log has: another version of the program made it.
    pub differences: u64,
}

/// Saves the state of a hub.
#[must_use]
pub fn save(hub: &Hub) -> SavedState {
    let mut out = header(hub);
    hub.save(&mut out);
    out.into()
}

/// Saves the state of a follower's hub, with what a start from it must write again. Decisions of identity that the
/// database has are dropped.
#[must_use]
pub fn save_followed(hub: &mut Hub, unwritten: &Unwritten) -> SavedState {
    hub.identity().drop_stored(unwritten.decisions_stored);
    let mut out = header(hub);
    hub.save_with(unwritten, &mut out);
    out.into()
}

fn header(hub: &Hub) -> Vec<u8> {
    let mut out = Vec::new();
    let header = (DOCUMENT_FORMAT, hub.settings(), hub.signal_settings());
    header.serialize(&mut out).expect("writing to memory does not fail");
    out
}

/// Whether the hub that saved the state rendered documents as this version does.
#[must_use]
pub fn has_same_documents(mut state: &[u8]) -> bool {
    u16::deserialize(&mut state).is_ok_and(|format| format == DOCUMENT_FORMAT)
}

/// Restores a hub as it was saved. Its tails are empty.
///
/// # Errors
///
/// If the bytes are of another format, or damaged.
pub fn load(format: u16, state: &[u8], ids: &PublicIds) -> Result<Hub, RecoveryError> {
    if format != SNAPSHOT_FORMAT {
        return Err(RecoveryError::OtherFormat(format));
    }
    let mut rest = state;
    let header = <(u16, HubSettings, SignalSettings)>::deserialize(&mut rest);
    let (_, settings, signals) = header.map_err(RestoreError::from)?;
    let hub = Hub::restore(rest, settings, ids.clone())?;
    Ok(hub.with_signals(signals))
}

/// Records that are applied and not yet compared with what they have published.
const UNCHECKED_MAX: usize = 64;

/// Applies the records after a snapshot. `hub`: its state, with the window of its tails. `reader`: begins there.
/// Another thread renders what comes of them and compares it with the log.
///
/// # Errors
///
/// If a record cannot be read or understood.
pub fn play(
    mut hub: Hub,
    snapshot: LogPosition,
    reader: &mut dyn RecordReader,
    first_differs: impl FnMut(RecordNumber, &Output, &Output) + Send,
) -> Result<Restored, RecoveryError> {
    let (mut applied, mut at) = (snapshot.number, snapshot.at);
    let differences = thread::scope(|scope| {
        let (unchecked, waiting) = sync_channel(UNCHECKED_MAX);
        let checking = scope.spawn(move || count_differences(&waiting, first_differs));
        while let Some(record) = reader.next()? {
            let mut changes = Vec::new();
            for input in turn::inputs(&record)? {
                hub.take(&input, &mut changes);
            }
            (applied, at) = (record.number, record.at);
            // Its end is noticed below.
            unchecked.send((changes, record)).ok();
        }
        drop(unchecked);
        checking.join().map_or_else(|panic| resume_unwind(panic), Ok::<_, RecoveryError>)
    })?;
    Ok(Restored { hub, applied, at, differences })
}

fn count_differences(
    waiting: &Receiver<(Vec<Change>, Record)>,
    mut first_differs: impl FnMut(RecordNumber, &Output, &Output),
) -> u64 {
    let mut differences = 0;
    for (changes, record) in waiting {
        let outputs = turn::outputs(&changes);
        if outputs != record.outputs {
            differences += 1;
            let pair = outputs.iter().zip(&record.outputs).find(|(ours, logged)| ours != logged);
            if let Some((ours, logged)) = pair.filter(|_| differences == 1) {
                first_differs(record.number, ours, logged);
            }
        }
    }
    differences
}
