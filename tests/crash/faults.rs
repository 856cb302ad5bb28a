//! What happens to the hub: it is killed, stopped, its disk is full, its log is damaged.

use std::{
    fmt,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use tokio::time::{Instant, sleep, timeout};

use crate::{
    hub::{Hub, Place},
    observer::{Observer, files},
    rng::Rng,
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
    /// Killed before it was ready.
    KillAtStart,
    /// Stopped in order.
    Stop,
    /// Killed some time after its disk became full.
    KillAtFullDisk,
    /// The disk is full for a while. Then it is killed.
    KillAfterFullDisk,
}

/// How a log is damaged while the hub is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    /// Its last bytes are missing.
    Cut,
    /// One byte is another one.
    Byte,
    /// The file that says where it ends is missing.
    NoHead,
}

const FAULTS: [Fault; 12] = [
    Fault::Kill,
    Fault::Kill,
    Fault::Kill,
    Fault::Kill,
    Fault::KillAtStart,
    Fault::KillAtStart,
    Fault::KillAtRotation,
    Fault::KillAtSnapshot,
    Fault::KillAtSnapshot,
    Fault::Stop,
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
    pub(crate) full_disks: u64,
    /// How long each start took until it was ready.
    pub(crate) ready: Vec<Duration>,
    /// The hub ended by itself.
    pub(crate) failures: Vec<String>,
    steps: Vec<String>,
}

impl fmt::Display for FaultLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.steps.join(", "))
    }
}

/// Ends and starts the hub until the time is over or it was killed often enough. Returns it running.
pub(crate) async fn inject_faults<'a>(
    place: &'a Place,
    mut hub: Hub<'a>,
    disk: Option<&Disk>,
    observer: &mut Observer,
    mut rng: Rng,
    until: Instant,
    plan: &Plan,
) -> (Hub<'a>, FaultLog) {
    let mut faults = FaultLog::default();
    let log = place.log_folder();
    while Instant::now() < until && faults.kills < plan.kills_max {
        let ending = *rng.pick(&FAULTS);
        if hub.has_ended() {
            faults.failures.push(format!("the hub ended by itself before {ending:?}"));
        }
        match ending {
            Fault::Stop => {
                sleep(rng.millis(100, 2_000)).await;
                hub.stop().await;
                faults.stops += 1;
            }
            Fault::KillAtStart => {
                // Ends the one that is ready, then the one that is not.
                sleep(rng.millis(100, 1_500)).await;
                hub.kill();
                observer.left(&log);
                let short = place.start();
                sleep(rng.millis(0, 600)).await;
                short.kill();
                faults.kills += 2;
            }
            _ => {
                moment(ending, &log, disk, &mut rng).await;
                hub.kill();
                faults.kills += 1;
            }
        }
        if matches!(ending, Fault::KillAtFullDisk | Fault::KillAfterFullDisk) {
            faults.full_disks += u64::from(disk.is_some());
        }
        if let Some(disk) = disk {
            disk.free();
        }
        faults.steps.push(format!("{ending:?}"));
        observer.left(&log);
        if plan.damages && rng.once_in(3) {
            let damage = *rng.pick(&[Damage::Cut, Damage::Byte, Damage::NoHead]);
            if let Some(what) = damage.apply(&log, &mut rng) {
                observer.damaged(&log, &what);
                faults.damages += 1;
                faults.steps.push(what);
            }
        }
        hub = place.start();
        faults.ready.push(hub.until_ready().await);
    }
    (hub, faults)
}

/// Waits for the moment at which to kill.
async fn moment(ending: Fault, log: &Path, disk: Option<&Disk>, rng: &mut Rng) {
    let prefix = match ending {
        Fault::KillAtRotation => "segment-",
        Fault::KillAtSnapshot => "snapshot-",
        Fault::KillAtFullDisk | Fault::KillAfterFullDisk => {
            sleep(rng.millis(200, 1_500)).await;
            if let Some(disk) = disk {
                disk.fill();
                sleep(rng.millis(50, 1_500)).await;
                if ending == Fault::KillAfterFullDisk {
                    disk.free();
                    sleep(rng.millis(50, 1_500)).await;
                }
            }
            return;
        }
        Fault::Kill | Fault::KillAtStart | Fault::Stop => {
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

impl Damage {
    /// Damages the newest file of records, or the head. Returns what was done.
    fn apply(self, log: &Path, rng: &mut Rng) -> Option<String> {
        let all = files(log);
        if self == Self::NoHead {
            fs::remove_file(log.join("head")).ok()?;
            return Some("the head removed".to_owned());
        }
        let (name, path) = all.iter().rfind(|(name, _)| name.starts_with("segment-"))?;
        let mut bytes = fs::read(path).ok()?;
        let length = bytes.len() as u64;
        // Past the header of the file.
        if length < 1_000 {
            return None;
        }
        if self == Self::Cut {
            let cut = 1 + rng.below((length - 500).min(5_000));
            let file = OpenOptions::new().write(true).open(path).ok()?;
            file.set_len(length - cut).ok()?;
            return Some(format!("{cut} bytes cut from {name}"));
        }
        let place = 200 + rng.below(length - 200);
        bytes[usize::try_from(place).expect("small")] ^= 1 << rng.below(8);
        fs::write(path, bytes).ok()?;
        Some(format!("byte {place} of {length} changed in {name}"))
    }
}

/// A small disk for the log. It is unmounted on drop.
#[derive(Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
}

/// Enough for the records of a round.
const DISK_SIZE: &str = "size=400m";

impl Disk {
    /// `None`, with a message, if this process may not mount one.
    #[expect(clippy::print_stdout, reason = "what is skipped is said")]
    pub(crate) fn mount_or_skipped(folder: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", DISK_SIZE, "tmpfs"]).arg(folder).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(Self { folder: folder.to_owned() });
        }
        println!("skipped: a full disk, as a file system cannot be mounted here");
        None
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
