//! Exports changes of the hub to consumers that do not follow a channel: readers over HTTP, the
//! archive, and the board of signals.

use std::io;

use tokio::sync::mpsc;

use base::supervisor::{self, Lifetime};
use history::{archive::Inbox, reader::Reader, signal_board::SignalBoard};
use hub::Export;
use record::LiveRecords;

/// Starts the thread that makes records of exports, so that the writer does not have to. It ends
/// with the writer, and closes the inbox.
///
/// # Errors
///
/// If the system refuses a thread.
pub(super) fn start(
    mut exports: mpsc::Receiver<Export>,
    reader: Reader,
    inbox: Inbox,
    signals: SignalBoard,
) -> io::Result<()> {
    supervisor::thread("exports", Lifetime::UntilStop, move || {
        let mut live = LiveRecords::default();
        while let Some(Export { matches, signals: changed_signals, at }) = exports.blocking_recv() {
            signals.put(&changed_signals);
            let changed = live.apply(matches);
            inbox.put(&changed.evicted, &[], at);
            inbox.put(&changed.records, &changed.gone, at);
            reader.update(&changed.records, &changed.gone);
        }
    })?;
    Ok(())
}
