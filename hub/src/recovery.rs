//! Restores the hub at a start: from a snapshot of its state and the records of the log after it.
//!
//! The inputs of these records give the state in which the process ended, and their outputs must be those
//! of the log. The updates of the time for which clients may resume come from the log as they were
//! published.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;
use fanout::Micros;
use log::{
    LogPosition, ReadError, RecordNumber, RecordReader, RecordSource,
    record::{Output, Record},
};

use crate::{
    hub::{Hub, HubSettings, RestoreError, STATE_FORMAT, sequence::TailWindow},
    ids::PublicIds,
    signals::SignalSettings,
    turn::{self, InputsError},
};

/// The format of a snapshot: that of the state, with the settings before it.
pub const SNAPSHOT_FORMAT: u16 = STATE_FORMAT;

/// The version of the public documents. It must be raised with each change of how a state is rendered or how
/// updates are made: clients that resume after an upgrade then get an image in a new epoch. Otherwise they would keep
/// a document that the new version does not have. The test `tests/saved/documents.rs` fails if it is forgotten.
pub const DOCUMENT_FORMAT: u16 = 1;

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
    let mut out = Vec::new();
    let header = (DOCUMENT_FORMAT, hub.settings(), hub.signal_settings());
    header.serialize(&mut out).expect("writing to memory does not fail");
    hub.save(&mut out);
    out.into()
}

/// Saves the state of a follower's hub, and drops the decisions of identity that were made since the save
/// before: the database has them by the next one.
#[must_use]
pub fn save_followed(hub: &mut Hub) -> SavedState {
    let state = save(hub);
    drop(hub.identity().take_decisions());
    state
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

/// Applies the records after a snapshot. `hub`: its state, with its tails. `reader`: begins there.
///
/// # Errors
///
/// If a record cannot be read or understood.
pub fn play(
    mut hub: Hub,
    snapshot: LogPosition,
    reader: &mut dyn RecordReader,
    mut first_differs: impl FnMut(RecordNumber, &Output, &Output),
) -> Result<Restored, RecoveryError> {
    let (mut applied, mut at, mut differences) = (snapshot.number, snapshot.at, 0);
    let mut changes = Vec::new();
    while let Some(record) = reader.next()? {
        for input in turn::inputs(&record)? {
            hub.take(&input, &mut changes);
        }
        let outputs = turn::outputs(&changes);
        if outputs != record.outputs {
            differences += 1;
            let pair = outputs.iter().zip(&record.outputs).find(|(ours, logged)| ours != logged);
            if let Some((ours, logged)) = pair.filter(|_| differences == 1) {
                first_differs(record.number, ours, logged);
            }
        }
        changes.clear();
        (applied, at) = (record.number, record.at);
    }
    Ok(Restored { hub, applied, at, differences })
}

/// Applies the inputs of the records after a snapshot. What has changed since then is exported next.
///
/// # Errors
///
/// If a record cannot be read or understood.
pub fn follow(mut hub: Hub, reader: &mut dyn RecordReader) -> Result<Hub, RecoveryError> {
    let mut changes = Vec::new();
    while let Some(record) = reader.next()? {
        for input in turn::inputs(&record)? {
            hub.take(&input, &mut changes);
            changes.clear();
        }
    }
    Ok(hub)
}

/// Puts the updates before a snapshot into the tails, so that clients can resume from them. Damaged records are
/// left out: tails then begin after them. Returns the first problem.
pub fn fill_tails(
    hub: &mut Hub,
    snapshot: LogPosition,
    window: TailWindow,
    records: &dyn RecordSource,
) -> Option<ReadError> {
    let since = snapshot.at.saturating_sub(window.age_us);
    let mut reader = records.read_since(since);
    let (mut read, mut problem) = (0, None);
    loop {
        let record = match reader.next() {
            Ok(Some(record)) => record,
            Ok(None) => return problem,
            Err(error) => {
                let (ReadError::Damaged { number, .. } | ReadError::Gone(number)) = error else {
                    return problem.or(Some(error));
                };
                problem.get_or_insert(error);
                if number <= read || number >= snapshot.number {
                    return problem;
                }
                (reader, read) = (records.read_after(number), number);
                continue;
            }
        };
        if record.number > snapshot.number {
            return problem;
        }
        read = record.number;
        if record.at >= since {
            fill_tail(hub, record);
        }
    }
}

fn fill_tail(hub: &mut Hub, record: Record) {
    for output in record.outputs {
        if let Output::Published { channel, epoch, prev, seq, payload, .. } = output {
            // A tail keeps single payloads, and not the record that they are part of.
            let payload = Bytes::copy_from_slice(&payload);
            // Channels that were closed since have no tail.
            hub.restore_tail(&channel, epoch, prev, seq, payload).ok();
        }
    }
}
