//! Ends the process when one of its parts fails, so that a service manager restarts it.
//!
//! Every long-lived thread and task starts here, under the name of its part. A part fails when it
//! panics, or when it ends before a stop of the hub was requested. From that moment [`has_failed`] is
//! true (`/readyz` answers 503), one line on the standard error names the part and the reason, and
//! [`interrupted`] wakes `app::run`, which closes the sockets and ends with
//! [`EXIT_CODE`]. A watchdog thread ends the process after `server.failure_exit_ms` even if every
//! other thread hangs.
//!
//! A part that works, but cannot go on from where it is, calls [`restart`]: all parts then stop in order, and start again in
//! this process.
//!
//! A start that is given up drops its parts, which end. So the end of a part counts only once the hub has
//! [`started`]: until then it is kept, and the error of the start, if there is one, is what is reported.
//!
//! A request is not a part: when its handler panics, its connection closes, `matchwire_panics_total`
//! counts it, and the hub goes on.
//!
//! The state is one for each process because what it controls is: the panic hook and the exit code.

use std::{
    fmt, io,
    panic::{self, PanicHookInfo},
    pin::pin,
    process,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use metrics::counter;
use tokio::{sync::Notify, task::JoinHandle};
use tracing::error;

use crate::log_queue;

/// The exit code after a part has failed: `EX_SOFTWARE` of `sysexits.h`.
pub const EXIT_CODE: u8 = 70;

/// Characters of a panic message that are printed. Messages can repeat data of feeds.
const MESSAGE_CHARS_MAX: usize = 400;

static FAILED: AtomicBool = AtomicBool::new(false);
static PROGRESS: Mutex<Progress> = Mutex::new(Progress::new());
static FAILURE: Notify = Notify::const_new();
static WATCHDOG: OnceLock<SyncSender<()>> = OnceLock::new();

tokio::task_local! {
    /// The part that runs here; `None` in a request.
    static PART: Option<Part>;
}

#[derive(Debug, Clone)]
struct Part {
    name: Arc<str>,
    /// The run of the hub in which it was started.
    run: u32,
}

/// When a part may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Not before a stop of the hub is requested.
    UntilStop,
    /// Whenever its work is done, such as a recording that is played once.
    Finite,
}

/// The nice value of threads whose work may wait.
const PRIORITY_OF_UPKEEP: i32 = 10;

/// Installs the panic hook and starts the watchdog. `exit_within`: how long the process may take to
/// end after a part has failed. Only the first call has an effect.
///
/// # Errors
///
/// If the system refuses a thread.
pub fn install(exit_within: Duration) -> io::Result<()> {
    let (sender, failure) = sync_channel(1);
    if WATCHDOG.set(sender).is_ok() {
        let watch = move || exit_after_failure(&failure, exit_within);
        thread::Builder::new().name("watchdog".to_owned()).spawn(watch)?;
        panic::set_hook(Box::new(on_panic));
    }
    Ok(())
}

#[expect(clippy::exit, reason = "other threads may hang, so nothing can be unwound")]
fn exit_after_failure(failure: &Receiver<()>, exit_within: Duration) {
    if failure.recv().is_ok() {
        // Nothing else is ever sent: this waits for the whole time.
        failure.recv_timeout(exit_within).ok();
        // A start that waits for a part that has ended would wait for ever.
        report_kept();
        log_queue::flush();
        process::exit(EXIT_CODE.into());
    }
}

/// How far the hub is, and what that makes of parts that end.
#[derive(Debug)]
struct Progress {
    /// How often the hub has started in this process.
    run: u32,
    phase: Phase,
    /// The first part that ended during the start.
    kept: Option<Arc<str>>,
    /// Whether the parts stop to start again.
    restarts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
    Stopping,
}

/// What follows from the end of a part.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Expected,
    /// Judged when the start has succeeded, or has not.
    Kept,
    Failed,
}

impl Progress {
    const fn new() -> Self {
        Self { run: 0, phase: Phase::Starting, kept: None, restarts: false }
    }

    fn ended(&mut self, part: &Part, lifetime: Lifetime) -> Verdict {
        match (lifetime, self.phase) {
            // The stop of an earlier run did not wait for it any longer.
            _ if part.run != self.run => Verdict::Expected,
            (Lifetime::Finite, _) | (_, Phase::Stopping) => Verdict::Expected,
            (Lifetime::UntilStop, Phase::Running) => Verdict::Failed,
            (Lifetime::UntilStop, Phase::Starting) => {
                self.kept.get_or_insert_with(|| Arc::clone(&part.name));
                Verdict::Kept
            }
        }
    }

    /// Returns the part that has failed meanwhile.
    fn enter(&mut self, phase: Phase) -> Option<Arc<str>> {
        // What must stop first does not run.
        if !self.restarts {
            self.phase = phase;
        }
        self.kept.take().filter(|_| phase == Phase::Running)
    }

    /// A hub that stops already does not start again, nor does one for a part of an earlier run.
    fn restart(&mut self, part: Option<&Part>) {
        if part.is_none_or(|part| part.run == self.run) {
            self.restarts |= self.phase != Phase::Stopping;
            self.phase = Phase::Stopping;
        }
    }
}

fn progress() -> MutexGuard<'static, Progress> {
    PROGRESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Declares that the hub starts, for the first time or after [`restart`].
pub fn starting() {
    let mut progress = progress();
    *progress = Progress { run: progress.run + 1, ..Progress::new() };
}

/// Whether the hub has started in this process before.
pub fn has_restarted() -> bool {
    progress().run > 1
}

/// Declares that the hub has started: from now on a part that ends has failed, as has one that has ended already.
pub fn started() {
    let failed = progress().enter(Phase::Running);
    if let Some(part) = failed {
        fail(&part, format_args!("ended unexpectedly"));
    }
}

/// Declares that the hub is stopping: from now on parts may end.
pub fn stopping() {
    progress().enter(Phase::Stopping);
}

/// Lets all parts stop in order and start again in this process: from now on they may end. No effect on a hub that stops.
pub fn restart() {
    let part = PART.try_with(Clone::clone).ok().flatten();
    progress().restart(part.as_ref());
    FAILURE.notify_waiters();
}

/// Whether the parts stop to start again.
#[must_use]
pub fn restarts() -> bool {
    progress().restarts
}

/// Reports a part that ended during a start, if one did. For a start that fails because a part is gone.
pub fn report_kept() {
    let kept = progress().kept.take();
    if let Some(part) = kept {
        fail(&part, format_args!("ended unexpectedly"));
    }
}

/// Whether a part has failed.
#[must_use]
pub fn has_failed() -> bool {
    FAILED.load(Ordering::Acquire)
}

/// Waits until a part has failed, or all must start again.
pub async fn interrupted() {
    loop {
        let mut failure = pin!(FAILURE.notified());
        // Registered before the look, so that no failure is missed.
        failure.as_mut().enable();
        if has_failed() || restarts() {
            return;
        }
        failure.await;
    }
}

/// Starts a task that is a part of the hub.
pub fn spawn<F>(part: impl Into<Arc<str>>, lifetime: Lifetime, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let part: Arc<str> = part.into();
    tokio::spawn(watch(part, lifetime, future))
}

/// A future that is a part of the hub, for a task that is started elsewhere.
pub fn watch<F: Future>(
    part: impl Into<Arc<str>>,
    lifetime: Lifetime,
    future: F,
) -> impl Future<Output = F::Output> {
    let part = Part { name: part.into(), run: progress().run };
    PART.scope(Some(part.clone()), async move {
        let output = fault::panic_if_armed(&part.name, future).await;
        ended(&part, lifetime);
        output
    })
}

/// Starts a thread that is a part of the hub.
///
/// # Errors
///
/// If the system refuses a thread.
pub fn thread<T: Send + 'static>(
    part: impl Into<Arc<str>>,
    lifetime: Lifetime,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    let part = Part { name: part.into(), run: progress().run };
    thread::Builder::new().name(part.name.to_string()).spawn(move || {
        PART.sync_scope(Some(part.clone()), || {
            let output = run();
            ended(&part, lifetime);
            output
        })
    })
}

/// Gives this thread a lower priority than others: its work may wait, and must not delay what clients follow.
pub fn yield_to_others() {
    // Of the calling thread, on Linux. Where the system refuses it, the thread runs like others.
    rustix::process::setpriority_process(None, PRIORITY_OF_UPKEEP).ok();
}

/// A future that serves a request: its panic is not a failure of the part that polls it.
pub fn request<F: Future>(future: F) -> impl Future<Output = F::Output> {
    PART.scope(None, future)
}

fn ended(part: &Part, lifetime: Lifetime) {
    // Without a watchdog this is no hub, but a test that stops a part in its own way.
    let Some(watchdog) = WATCHDOG.get() else { return };
    let verdict = progress().ended(part, lifetime);
    match verdict {
        Verdict::Expected => {}
        Verdict::Kept => {
            watchdog.try_send(()).ok();
        }
        Verdict::Failed => fail(&part.name, format_args!("ended unexpectedly")),
    }
}

/// Runs on the thread that panics, before anything is unwound.
fn on_panic(info: &PanicHookInfo<'_>) {
    let message = one_line(info.payload_as_str().unwrap_or("no message"));
    let location = info.location().map(ToString::to_string).unwrap_or_default();
    match PART.try_with(Clone::clone) {
        // Late parts of an earlier run are ignored.
        Ok(Some(part)) if part.run == progress().run => {
            fail(&part.name, format_args!("panicked: {message} ({location})"));
        }
        Ok(_) | Err(_) => {
            counter!("matchwire_panics_total").increment(1);
            error!(location, "a request handler or background task panicked: {message}");
        }
    }
}

fn one_line(message: &str) -> String {
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MESSAGE_CHARS_MAX).collect()
}

/// Only the first failure counts; others are its consequences, as a rule.
fn fail(part: &str, what: fmt::Arguments<'_>) {
    if FAILED.swap(true, Ordering::AcqRel) {
        return;
    }
    // First of all: what follows could block.
    if let Some(watchdog) = WATCHDOG.get() {
        watchdog.try_send(()).ok();
    }
    FAILURE.notify_waiters();
    // In one piece, so that no log line of another thread stands in it.
    log_queue::write_last(&format!("matchwire: part {part:?} {what}; the process ends\n"));
}

/// Panics on demand, so that tests can let each part of the running program fail.
///
/// It exists in debug builds only, and does nothing there unless the environment variable
/// `MATCHWIRE_FAULT` names a part. SIGUSR1 arms it; the part then panics once. A release build
/// ignores the variable.
#[cfg(debug_assertions)]
pub mod fault {
    use std::{
        convert::Infallible,
        future,
        pin::pin,
        sync::{
            LazyLock,
            atomic::{AtomicBool, Ordering},
        },
    };

    use tokio::sync::Notify;

    use super::PART;

    /// The name that stands for the handler of a request.
    const REQUEST: &str = "request";
    /// After the part's name: the stop that follows the failure hangs.
    const HANG: &str = "+hang";

    static FAULT: LazyLock<Option<String>> = LazyLock::new(crate::config::fault);
    static ARMED: AtomicBool = AtomicBool::new(false);
    static CHANGED: Notify = Notify::const_new();

    /// Lets the part that the environment names panic as soon as it can.
    pub fn arm() {
        ARMED.store(true, Ordering::Release);
        CHANGED.notify_waiters();
    }

    /// Panics if it is armed and the environment names this part.
    ///
    /// # Panics
    ///
    /// That is its purpose.
    pub fn point() {
        if ARMED.load(Ordering::Acquire)
            && PART.try_with(|it| is_for(it.as_ref().map_or(REQUEST, |it| &*it.name))) == Ok(true)
            && ARMED.swap(false, Ordering::AcqRel)
        {
            panic!("injected fault");
        }
    }

    /// Waits for ever if the environment says that the stop hangs.
    pub async fn hang_if_wanted() {
        if FAULT.as_ref().is_some_and(|fault| fault.ends_with(HANG)) {
            future::pending::<()>().await;
        }
    }

    pub(super) async fn panic_if_armed<F: Future>(part: &str, future: F) -> F::Output {
        if !is_for(part) {
            return future.await;
        }
        tokio::select! {
            biased;
            never = armed() => match never {},
            output = future => output,
        }
    }

    /// Panics as soon as it is armed.
    async fn armed() -> Infallible {
        loop {
            let mut changed = pin!(CHANGED.notified());
            changed.as_mut().enable();
            point();
            changed.await;
        }
    }

    fn is_for(part: &str) -> bool {
        FAULT.as_ref().is_some_and(|fault| fault.trim_end_matches(HANG) == part)
    }
}

#[cfg(not(debug_assertions))]
pub mod fault {
    //! Does nothing in a release build.

    pub fn arm() {}

    pub fn point() {}

    pub async fn hang_if_wanted() {}

    pub(super) async fn panic_if_armed<F: Future>(_part: &str, future: F) -> F::Output {
        future.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_message_is_one_bounded_line() {
        assert_eq!(one_line("left: 1\n right: 2"), "left: 1 right: 2");
        assert_eq!(one_line(&"é".repeat(1_000)).chars().count(), MESSAGE_CHARS_MAX);
    }

    fn part(name: &str, run: u32) -> Part {
        Part { name: name.into(), run }
    }

    #[test]
    fn late_part_of_an_earlier_run_is_ignored() {
        let late = part("archive", 1);
        for phase in [Phase::Starting, Phase::Running] {
            let mut progress = Progress { run: 2, phase, ..Progress::new() };
            assert_eq!(progress.ended(&late, Lifetime::UntilStop), Verdict::Expected, "{phase:?}");
            progress.restart(Some(&late));
            assert_eq!((progress.phase, progress.restarts), (phase, false));
            progress.restart(Some(&part("archive", 2)));
            assert_eq!((progress.phase, progress.restarts), (Phase::Stopping, true));
        }
    }

    #[test]
    fn end_of_a_part_is_judged_by_the_phase_of_the_hub() {
        use Lifetime::{Finite, UntilStop};
        use Phase::{Running, Starting, Stopping};
        let part = part("writer", 0);
        for (phase, lifetime, expected) in [
            (Starting, UntilStop, Verdict::Kept),
            (Starting, Finite, Verdict::Expected),
            (Running, UntilStop, Verdict::Failed),
            (Running, Finite, Verdict::Expected),
            (Stopping, UntilStop, Verdict::Expected),
            (Stopping, Finite, Verdict::Expected),
        ] {
            let mut progress = Progress { phase, ..Progress::new() };
            assert_eq!(progress.ended(&part, lifetime), expected, "{phase:?} {lifetime:?}");
        }
    }

    #[test]
    fn first_part_that_ended_early_fails_only_if_the_start_succeeds() {
        let parts = [part("identity", 0), part("archive", 0)];
        for (phase, failed) in [(Phase::Running, Some("identity")), (Phase::Stopping, None)] {
            let mut progress = Progress::new();
            for part in &parts {
                assert_eq!(progress.ended(part, Lifetime::UntilStop), Verdict::Kept);
            }
            assert_eq!(progress.enter(phase).as_deref(), failed);
            assert_eq!(progress.kept, None);
        }
    }

    #[test]
    fn hub_that_restarts_stops_before_it_runs_again() {
        let part = part("cluster", 0);
        for (phase, restarts) in
            [(Phase::Starting, true), (Phase::Running, true), (Phase::Stopping, false)]
        {
            let mut progress = Progress { phase, ..Progress::new() };
            progress.restart(Some(&part));
            assert_eq!(progress.restarts, restarts, "{phase:?}");
            // The start, or the step of the stop, that it was in goes on.
            let entered = if phase == Phase::Starting { Phase::Running } else { Phase::Stopping };
            assert_eq!(progress.enter(entered), None);
            assert_eq!(progress.ended(&part, Lifetime::UntilStop), Verdict::Expected, "{phase:?}");
        }
    }

    #[tokio::test]
    async fn finite_task_may_end() {
        assert_eq!(spawn("test", Lifetime::Finite, async { 1 }).await.expect("no panic"), 1);
        let thread = thread("test", Lifetime::Finite, || 2).expect("a thread");
        assert_eq!(thread.join().expect("no panic"), 2);
        assert!(!has_failed());
    }
}
