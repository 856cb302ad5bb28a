//! What happens to the hub: it is killed, stopped, its disk is full, its log is left as a crash of the
//! machine or a damaged disk would leave it.

use std::{
    collections::BTreeMap,
    fmt::{self, Debug},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use base::clock::now;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    checker::report::time_of_day,
    damage::{AppliedDamage, Damage, Repair, UnfinishedWrite},
    hub::{Hub, Site},
    observer::{Observer, files},
    rng::{Deck, Rng},
    run::Plan,
};

/// How a hub ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Killed some time after it was ready.
    Kill,
    /// Killed as a new file of records begins.
    KillAtRotation,
    /// Killed while a snapshot is written.
    KillAtSnapshot,
    /// Killed, and the next one killed before it is ready.
    KillAtStart,
    /// Stopped in order.
    Stop,
    /// Killed while it stops.
    KillAtStop,
    /// Killed some time after its disk became full.
    KillAtFullDisk,
    /// The disk is full for a while. Then it is killed.
    KillAfterFullDisk,
}

/// Each at least once in a round.
const FAULTS: [Fault; 9] = [
    Fault::Kill,
    Fault::Kill,
    Fault::KillAtStart,
    Fault::KillAtRotation,
    Fault::KillAtSnapshot,
    Fault::Stop,
    Fault::KillAtStop,
    Fault::KillAtFullDisk,
    Fault::KillAfterFullDisk,
];

/// How long to wait for the moment at which to kill.
const MOMENT_MAX: Duration = Duration::from_secs(5);

/// What was done.
#[derive(Debug, Default)]
pub(crate) struct FaultLog {
    pub(crate) kills: u64,
    pub(crate) stops: u64,
    pub(crate) damages: u64,
    pub(crate) unfinished_writes: u64,
    pub(crate) full_disks: u64,
    /// How often each kind happened.
    kinds: BTreeMap<String, u64>,
    /// How long each start took until it was ready.
    pub(crate) ready: Vec<Duration>,
    /// How long each revoked key still had a socket.
    pub(crate) revoked: Vec<Duration>,
    /// The numbers of the starts that were stopped in order.
    pub(crate) stopped: Vec<usize>,
    /// The hub ended by itself or failed, or a kind did not happen.
    pub(crate) failures: Vec<String>,
    steps: Vec<String>,
}

impl FaultLog {
    fn count(&mut self, kind: impl Debug) {
        *self.kinds.entry(format!("{kind:?}")).or_default() += 1;
    }

    /// Something was done.
    pub(crate) fn did(&mut self, what: impl Debug) {
        self.steps.push(format!("{} {what:?}", time_of_day(now())));
        self.count(what);
    }

    /// How often it was done.
    pub(crate) fn times(&self, what: impl Debug) -> u64 {
        self.kinds.get(&format!("{what:?}")).copied().unwrap_or(0)
    }

    pub(crate) fn note(&mut self, result: Result<(), String>) {
        self.failures.extend(result.err());
    }

    /// The required kinds that did not happen.
    fn missing(&self, plan: &Plan, has_disk: bool) -> Vec<String> {
        let needs_disk =
            |fault: &Fault| matches!(fault, Fault::KillAtFullDisk | Fault::KillAfterFullDisk);
        let faults = FAULTS.iter().filter(|fault| has_disk || !needs_disk(fault));
        let mut required: Vec<String> = faults.map(|it| format!("{it:?}")).collect();
        if plan.damages {
            required.extend(Damage::ALL.iter().map(|it| format!("{it:?}")));
        } else {
            required.extend(UnfinishedWrite::ALL.iter().map(|it| format!("{it:?}")));
        }
        required.retain(|kind| !self.kinds.contains_key(kind));
        required.dedup();
        required
    }
}

impl fmt::Display for FaultLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.steps.join(", "))
    }
}

/// Ends and starts the hub until the time is over and each kind of fault happened, or it was killed as often
/// as the plan allows. Returns it running.
pub(crate) async fn inject_faults<'a>(
    site: &'a Site,
    mut hub: Hub<'a>,
    disk: Option<&Disk>,
    observer: &mut Observer,
    mut rng: Rng,
    until: Instant,
    plan: &Plan,
) -> (Hub<'a>, FaultLog) {
    let mut faults = FaultLog::default();
    let mut deck = Deck::new(&FAULTS);
    let mut damages = Deck::new(&Damage::ALL);
    let mut writes = Deck::new(&UnfinishedWrite::ALL);
    let mut repair: Option<Repair> = None;
    let log = site.log_folder();
    loop {
        let missing = faults.missing(plan, disk.is_some());
        if faults.kills >= plan.kills_max || (Instant::now() >= until && missing.is_empty()) {
            faults.failures.extend(missing.iter().map(|kind| format!("{kind} did not happen")));
            return (hub, faults);
        }
        let fault = deck.deal(&mut rng);
        let older_head = end(fault, site, hub, disk, observer, &mut rng, &mut faults).await;
        if let Some(disk) = disk {
            disk.free();
        }
        faults.steps.push(format!("{fault:?}"));
        faults.count(fault);
        observer.copy_left(&log);
        if let Some(repair) = repair.take() {
            Repair::apply(repair);
        }
        let is_damaged = plan.damages && !rng.once_in(4);
        if is_damaged {
            let dealt = damages.deal_usable(&mut rng, |damage, rng| damage.apply(&log, rng));
            if let Some((damage, AppliedDamage { what, repair: to_repair })) = dealt {
                if to_repair.is_some() {
                    observer.note_short_tails();
                }
                repair = to_repair;
                observer.copy_damaged(&log, &what, damage.loses_records());
                faults.damages += 1;
                faults.count(damage);
                faults.steps.push(what);
                if rng.once_in(3) {
                    // Killed while it repairs the log.
                    let short = site.start();
                    sleep(rng.millis(0, 600)).await;
                    faults.note(short.kill().await);
                    faults.kills += 1;
                    faults.steps.push("killed at the start".to_owned());
                    observer.copy_left(&log);
                }
            }
        } else {
            let dealt = writes
                .deal_usable(&mut rng, |write, rng| write.apply(&log, older_head.as_deref(), rng));
            if let Some((write, what)) = dealt {
                observer.copy_damaged(&log, &what, false);
                faults.unfinished_writes += 1;
                faults.count(write);
                faults.steps.push(what);
            }
        }
        hub = site.start();
        faults.ready.push(hub.until_ready().await);
    }
}

/// Ends the hub. Returns a head of its log from shortly before.
async fn end(
    fault: Fault,
    site: &Site,
    hub: Hub<'_>,
    disk: Option<&Disk>,
    observer: &mut Observer,
    rng: &mut Rng,
    faults: &mut FaultLog,
) -> Option<Vec<u8>> {
    let log = site.log_folder();
    let start = site.start_number();
    let head = || fs::read(log.join("head")).ok();
    match fault {
        Fault::Stop => {
            sleep(rng.millis(100, 1_500)).await;
            faults.note(hub.stop().await);
            faults.stops += 1;
            faults.stopped.push(start);
            None
        }
        Fault::KillAtStop => {
            sleep(rng.millis(100, 1_500)).await;
            let killed = hub.stop_or_kill(rng.millis(0, 1_500)).await;
            faults.stopped.push(start);
            match killed {
                Ok(true) => faults.kills += 1,
                Ok(false) => faults.stops += 1,
                Err(problem) => faults.failures.push(problem),
            }
            None
        }
        Fault::KillAtStart => {
            // Ends the one that is ready, then the one that is not.
            sleep(rng.millis(100, 1_500)).await;
            faults.note(hub.kill().await);
            observer.copy_left(&log);
            let short = site.start();
            sleep(rng.millis(0, 600)).await;
            faults.note(short.kill().await);
            faults.kills += 2;
            None
        }
        Fault::Kill
        | Fault::KillAtRotation
        | Fault::KillAtSnapshot
        | Fault::KillAtFullDisk
        | Fault::KillAfterFullDisk => {
            wait_for_moment(fault, &log, disk, rng).await;
            let older_head = head();
            if fault == Fault::Kill {
                sleep(rng.millis(1, 30)).await;
            }
            faults.note(hub.kill().await);
            faults.kills += 1;
            if matches!(fault, Fault::KillAtFullDisk | Fault::KillAfterFullDisk) {
                faults.full_disks += u64::from(disk.is_some());
            }
            older_head
        }
    }
}

/// Waits for the moment at which to kill.
async fn wait_for_moment(fault: Fault, log: &Path, disk: Option<&Disk>, rng: &mut Rng) {
    let prefix = match fault {
        Fault::KillAtRotation => "segment-",
        // The name under which a snapshot is written, before it is renamed.
        Fault::KillAtSnapshot => "snapshot.unfinished",
        Fault::KillAtFullDisk | Fault::KillAfterFullDisk => {
            sleep(rng.millis(200, 1_000)).await;
            if let Some(disk) = disk {
                disk.fill();
                sleep(rng.millis(50, 1_500)).await;
                if fault == Fault::KillAfterFullDisk {
                    disk.free();
                    sleep(rng.millis(50, 1_500)).await;
                }
            }
            return;
        }
        Fault::Kill | Fault::KillAtStart | Fault::Stop | Fault::KillAtStop => {
            sleep(rng.millis(100, 3_000)).await;
            return;
        }
    };
    let names = || -> Vec<String> {
        let all = files(log).into_iter().map(|(name, _)| name);
        all.filter(|name| name.contains(prefix)).collect()
    };
    let before = names();
    let appears = async {
        while names().iter().all(|name| before.contains(name)) {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(MOMENT_MAX, appears).await.ok();
    // At the moment itself, or shortly after it.
    sleep(rng.millis(0, 5)).await;
}

/// A small disk for the log. It is unmounted on drop.
#[derive(Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
}

/// Enough for the records of a round.
const DISK_SIZE: &str = "size=800m";

impl Disk {
    /// `None` if this process may not mount one.
    pub(crate) fn mount(folder: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", DISK_SIZE, "tmpfs"]).arg(folder).stderr(Stdio::null());
        let is_mounted = mount.status().is_ok_and(|status| status.success());
        is_mounted.then(|| Self { folder: folder.to_owned() })
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut piece = vec![0; 1024 * 1024];
        let Ok(mut file) = fs::File::create(self.filling()) else { return };
        while !piece.is_empty() {
            if file.write_all(&piece).is_err() {
                piece.truncate(piece.len() / 2);
            }
        }
    }

    /// Frees the space again.
    fn free(&self) {
        fs::remove_file(self.filling()).ok();
    }

    fn filling(&self) -> PathBuf {
        self.folder.join("filling")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg("--lazy").arg(&self.folder).status().ok();
    }
}

/// The id of the boot of the machine, as this process and its children see it.
pub(crate) const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Another boot of the machine, for the processes of this mount namespace, until it is dropped.
#[derive(Debug)]
pub(crate) struct OtherBoot;

impl OtherBoot {
    /// `None` if this process may not mount a file over the id.
    pub(crate) fn begin(folder: &Path) -> Option<Self> {
        let file = folder.join("boot_id");
        fs::write(&file, "00000000-0000-4000-8000-000000000000\n").expect("a new file");
        let mut mount = Command::new("mount");
        mount.arg("--bind").arg(&file).arg(BOOT_ID).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then_some(Self)
    }
}

impl Drop for OtherBoot {
    fn drop(&mut self) {
        Command::new("umount").arg(BOOT_ID).status().ok();
    }
}
