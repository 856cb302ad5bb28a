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
    chance::Chance,
    hub::{Hub, Place},
    observer::{Observer, files},
    run::Plan,
};

/// How a hub ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
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

const ENDINGS: [Ending; 12] = [
    Ending::Kill,
    Ending::Kill,
    Ending::Kill,
    Ending::Kill,
    Ending::KillAtStart,
    Ending::KillAtStart,
    Ending::KillAtRotation,
    Ending::KillAtSnapshot,
    Ending::KillAtSnapshot,
    Ending::Stop,
    Ending::KillAtFullDisk,
    Ending::KillAfterFullDisk,
];

/// How long to wait for the moment at which to kill.
const MOMENT_MAX: Duration = Duration::from_secs(5);

/// What was done.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    pub(crate) kills: u64,
    pub(crate) stops: u64,
    pub(crate) damages: u64,
    pub(crate) full_disks: u64,
    /// How long each start took until it was ready.
    pub(crate) ready: Vec<Duration>,
    /// The hub ended by itself.
    pub(crate) failures: Vec<String>,
    story: Vec<String>,
}

impl fmt::Display for Deeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.story.join(", "))
    }
}

/// Ends and starts the hub until the time is over or it was killed often enough. Returns it running.
pub(crate) async fn torment<'a>(
    place: &'a Place,
    mut hub: Hub<'a>,
    disk: Option<&Disk>,
    observer: &mut Observer,
    mut chance: Chance,
    until: Instant,
    plan: &Plan,
) -> (Hub<'a>, Deeds) {
    let mut deeds = Deeds::default();
    let log = place.log_folder();
    while Instant::now() < until && deeds.kills < plan.kills_max {
        let ending = *chance.pick(&ENDINGS);
        if hub.has_ended() {
            deeds.failures.push(format!("the hub ended by itself before {ending:?}"));
        }
        match ending {
            Ending::Stop => {
                sleep(chance.millis(100, 2_000)).await;
                hub.stop().await;
                deeds.stops += 1;
            }
            Ending::KillAtStart => {
                // Ends the one that is ready, then the one that is not.
                sleep(chance.millis(100, 1_500)).await;
                hub.kill();
                observer.left(&log);
                let short = place.start();
                sleep(chance.millis(0, 600)).await;
                short.kill();
                deeds.kills += 2;
            }
            _ => {
                moment(ending, &log, disk, &mut chance).await;
                hub.kill();
                deeds.kills += 1;
            }
        }
        if matches!(ending, Ending::KillAtFullDisk | Ending::KillAfterFullDisk) {
            deeds.full_disks += u64::from(disk.is_some());
        }
        if let Some(disk) = disk {
            disk.free();
        }
        deeds.story.push(format!("{ending:?}"));
        observer.left(&log);
        if plan.damages && chance.once_in(3) {
            let damage = *chance.pick(&[Damage::Cut, Damage::Byte, Damage::NoHead]);
            if let Some(what) = damage.inflict(&log, &mut chance) {
                observer.damaged(&log, &what);
                deeds.damages += 1;
                deeds.story.push(what);
            }
        }
        hub = place.start();
        deeds.ready.push(hub.until_ready().await);
    }
    (hub, deeds)
}

/// Waits for the moment at which to kill.
async fn moment(ending: Ending, log: &Path, disk: Option<&Disk>, chance: &mut Chance) {
    let prefix = match ending {
        Ending::KillAtRotation => "segment-",
        Ending::KillAtSnapshot => "snapshot-",
        Ending::KillAtFullDisk | Ending::KillAfterFullDisk => {
            sleep(chance.millis(200, 1_500)).await;
            if let Some(disk) = disk {
                disk.fill();
                sleep(chance.millis(50, 1_500)).await;
                if ending == Ending::KillAfterFullDisk {
                    disk.free();
                    sleep(chance.millis(50, 1_500)).await;
                }
            }
            return;
        }
        Ending::Kill | Ending::KillAtStart | Ending::Stop => {
            sleep(chance.millis(100, 3_000)).await;
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
    sleep(chance.millis(0, 5)).await;
}

impl Damage {
    /// Damages the newest file of records, or the head. Returns what was done.
    fn inflict(self, log: &Path, chance: &mut Chance) -> Option<String> {
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
            let cut = 1 + chance.below((length - 500).min(5_000));
            let file = OpenOptions::new().write(true).open(path).ok()?;
            file.set_len(length - cut).ok()?;
            return Some(format!("{cut} bytes cut from {name}"));
        }
        let place = 200 + chance.below(length - 200);
        bytes[usize::try_from(place).expect("small")] ^= 1 << chance.below(8);
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
