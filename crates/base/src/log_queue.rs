//! Lines of the log on their way to standard error: a bounded queue and a thread, so that a reader that stands still, such
//! as a stuck log collector, delays nobody. Lines beyond the bound are dropped and counted, and one line says how many
//! once it reads again.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use metrics::counter;
use tracing::warn;

use crate::supervisor::{self, Lifetime};

/// Bytes of lines that may wait.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long the end of the process waits for the last lines.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

static STDERR: OnceLock<LogQueue> = OnceLock::new();

/// A queue of lines. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct LogQueue {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    is_writing: bool,
    /// Lines that found no room since the last write.
    dropped: u64,
}

impl LogQueue {
    /// The queue of this process, whose thread writes to standard error from the first call on.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub fn stderr() -> io::Result<Self> {
        let queue = STDERR.get_or_init(Self::default).clone();
        let writer = queue.clone();
        supervisor::thread("log lines", Lifetime::Finite, move || writer.write_to(io::stderr()))?;
        Ok(queue)
    }

    /// Adds a line, unless too much is waiting.
    fn push(&self, line: &[u8], bytes_max: usize) {
        let mut state = self.state();
        if state.waiting.len().saturating_add(line.len()) > bytes_max {
            state.dropped += 1;
            drop(state);
            counter!("matchwire_log_lines_dropped_total").increment(1);
            return;
        }
        state.waiting.extend_from_slice(line);
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Writes lines for ever.
    fn write_to(&self, mut out: impl Write) {
        loop {
            let state = self.state();
            let waited = self.shared.changed.wait_while(state, |state| state.waiting.is_empty());
            let mut state = waited.unwrap_or_else(PoisonError::into_inner);
            let lines = mem::take(&mut state.waiting);
            state.is_writing = true;
            drop(state);
            let written = out.write_all(&lines).and_then(|()| out.flush());
            let mut state = self.state();
            state.is_writing = false;
            let dropped = mem::take(&mut state.dropped);
            drop(state);
            self.shared.changed.notify_all();
            match written {
                Ok(()) if dropped > 0 => {
                    warn!(dropped, "lines of the log were dropped: standard error was not read");
                }
                Ok(()) => {}
                Err(_) => {
                    let lost = lines.iter().filter(|byte| **byte == b'\n').count();
                    counter!("matchwire_log_lines_dropped_total").increment(lost as u64);
                }
            }
        }
    }

    /// Waits until all lines are written, at most for this time. Whether they are.
    fn flush_within(&self, time: Duration) -> bool {
        let is_busy = |state: &mut State| state.is_writing || !state.waiting.is_empty();
        let waited = self.shared.changed.wait_timeout_while(self.state(), time, is_busy);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is complete after each statement.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for LogQueue {
    /// Takes one or more whole lines.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.push(lines, BYTES_MAX);
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the reason why the process ends to standard error, after the lines before it. It takes a second at most, if
/// [`LogQueue::stderr`] was called before.
pub fn write_last(line: &str) {
    match STDERR.get() {
        // Always: there is one such line.
        Some(queue) => queue.push(line.as_bytes(), usize::MAX),
        None => io::stderr().write_all(line.as_bytes()).unwrap_or_default(),
    }
    flush();
}

/// Waits until the lines of the log are written, at most a second.
pub fn flush() {
    if let Some(queue) = STDERR.get() {
        queue.flush_within(FLUSH_WITHIN);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc::{Receiver, SyncSender, sync_channel},
        thread,
    };

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Hands over what is written, and then stands still until it may go on.
    struct Reader {
        written: SyncSender<Vec<u8>>,
        go_on: Receiver<()>,
    }

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.written.send(bytes.to_owned()).map_err(io::Error::other)?;
            self.go_on.recv().map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_dropped_and_counted_while_nobody_reads() {
        let queue = LogQueue::default();
        let (sender, written) = sync_channel(0);
        let (go_on, receiver) = sync_channel(0);
        let (writer, reader) = (queue.clone(), Reader { written: sender, go_on: receiver });
        thread::spawn(move || writer.write_to(reader));

        queue.push(b"one\n", 8);
        assert_eq!(written.recv().expect("a line"), b"one\n");
        // The reader stands still from here on.
        for line in [b"two\n", b"3rd\n", b"4th\n", b"5th\n"] {
            queue.push(line, 8);
        }
        assert_eq!(queue.state().dropped, 2);
        assert!(!queue.flush_within(Duration::ZERO));
        queue.push(b"last\n", usize::MAX);

        go_on.send(()).expect("it goes on");
        assert_eq!(written.recv().expect("the lines that waited"), b"two\n3rd\nlast\n");
        assert_eq!(queue.state().dropped, 0, "they were reported");
        go_on.send(()).expect("it goes on");
        assert!(queue.flush_within(LONG));
    }

    #[test]
    fn reader_that_is_gone_stops_nothing() {
        let queue = LogQueue::default();
        let (sender, written) = sync_channel(0);
        let (_, receiver) = sync_channel(0);
        let (writer, reader) = (queue.clone(), Reader { written: sender, go_on: receiver });
        thread::spawn(move || writer.write_to(reader));
        for line in [b"one\n", b"two\n"] {
            queue.push(line, 8);
            assert_eq!(written.recv().expect("it is offered"), line);
            assert!(queue.flush_within(LONG));
        }
    }
}
