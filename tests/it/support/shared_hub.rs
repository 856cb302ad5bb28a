//! Hubs that tests share.
//!
//! Starting a hub takes more processor time than most tests that read from it: a third of a second, and two seconds with the
//! demo. Tests that change nothing that another test can see share one: the first of them starts it. Each takes keys of its
//! own ([`Hub::key`]), and so has an account, limits, usage and sockets of its own.
//!
//! Not on a shared hub: stopping or killing it (the borrow checker refuses most of that), facts that other readers of the
//! same hub see, exact values of metrics, its memory, its address limits, and what it has printed.
//!
//! Statics are not dropped, and the test program may be killed. So each shared hub has a watchdog: a shell whose standard input
//! is a pipe from this program, and which kills the hub when the pipe closes, by whatever cause the program ends. (A signal
//! that the kernel sends at the end of the parent would come at the end of the *thread* that started the hub, a test's.)

use std::{
    collections::HashMap,
    process::{Child, Command, Stdio},
    sync::{Arc, LazyLock, Mutex, PoisonError, TryLockError},
    time::Duration,
};

use tokio::time::Instant;

use super::{Hub, QUIET, Setting};

/// How long a hub runs that no test uses. In this time it takes about half as much of the processor as another start would.
const UNUSED_MAX: Duration = Duration::from_secs(8);

/// Signals to the group of processes, such as those of an interrupted test run, do not end it before the hub.
const WATCHDOG: &str = "trap '' HUP INT TERM; cat >/dev/null; kill -KILL \"$1\" 2>/dev/null";

/// By name, arguments and settings.
static HUBS: LazyLock<Mutex<HashMap<String, Arc<Mutex<Slot>>>>> = LazyLock::new(Mutex::default);

/// Locked while its hub starts, for which other tests then wait.
#[derive(Default)]
struct Slot {
    hub: Option<Arc<Hub>>,
    used: Option<Instant>,
}

/// Kills a hub when this program ends.
#[derive(Debug)]
pub(super) struct Watchdog(Child);

impl Watchdog {
    fn new(hub: &Hub) -> Self {
        let mut command = Command::new("sh");
        let command = command.args(["-c", WATCHDOG, "watchdog", &hub.pid().to_string()]);
        // A reader of this program's output does not wait for the watchdog.
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("a shell starts"))
    }
}

impl Drop for Watchdog {
    /// The hub has ended, and its process id may be that of another process soon.
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Hub {
    /// The hub without a demo that tests share: nobody pushes to it, so that nothing changes there.
    pub(crate) fn quiet() -> Arc<Self> {
        Self::shared(&["serve"], &[QUIET])
    }

    /// The hub with its demo that tests share.
    pub(crate) fn demo() -> Arc<Self> {
        Self::shared(&["serve"], &[])
    }

    /// The hub with these arguments and settings that tests share, started by the first of them.
    pub(crate) fn shared(arguments: &[&str], settings: &[Setting]) -> Arc<Self> {
        Self::shared_by("all", arguments, settings)
    }

    /// The same for a group of tests, which may push to it: the group agrees on names that do not collide.
    pub(crate) fn shared_by(group: &str, arguments: &[&str], settings: &[Setting]) -> Arc<Self> {
        let start = || Self::start_with(arguments, settings);
        Self::shared_from(&format!("{group} {arguments:?} {settings:?}"), start)
    }

    /// The hub of this name that tests share, started in this way by the first of them.
    pub(crate) fn shared_from(name: &str, start: impl FnOnce() -> Self) -> Arc<Self> {
        let slot = Arc::clone(HUBS.lock().expect("no panic").entry(name.to_owned()).or_default());
        // A hub that did not start failed the test that waited for it, and the next one tries again.
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let hub = slot.hub.get_or_insert_with(|| start().into_shared());
        let panics = hub.panics();
        assert!(panics.is_empty(), "the shared hub itself: {panics}");
        let hub = Arc::clone(hub);
        slot.used = Some(Instant::now());
        hub
    }

    /// Lets it run until its last user is done or the test program ends, for tests that share it by other means.
    pub(crate) fn into_shared(mut self) -> Arc<Self> {
        self.watchdog = Some(Watchdog::new(&self));
        Arc::new(self)
    }
}

/// Ends the hubs that no test has used for a while. Tests of a module run one after the other, so it is seldom needed again.
pub(super) fn end_unused() {
    let slots: Vec<_> = HUBS.lock().expect("no panic").values().cloned().collect();
    for slot in slots {
        let mut slot = match slot.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // It is about to be used.
            Err(TryLockError::WouldBlock) => continue,
        };
        if slot.hub.as_ref().is_some_and(|hub| Arc::strong_count(hub) > 1) {
            slot.used = Some(Instant::now());
        } else if slot.used.is_some_and(|used| used.elapsed() > UNUSED_MAX) {
            slot.hub = None;
        }
    }
}
