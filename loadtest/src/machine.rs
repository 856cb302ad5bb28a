//! What the kernel reports about processes, threads and the machine. Any of it may be absent; the
//! report then omits it instead of guessing.

use std::{
    fs,
    net::{IpAddr, SocketAddr},
    path::Path,
    thread,
};

use anyhow::{Context, Result};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Serialize;

use crate::tally::ThreadShare;

/// Ticks of `/proc/PID/stat` per second: fixed for programs on Linux, independent of the kernel's
/// own.
const TICKS_PER_SECOND: f64 = 100.0;

const PAGE_BYTES: u64 = 4096;

/// How long the calling thread has run and has waited for a core.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadTimes {
    running_us: u64,
    waiting_us: u64,
}

/// The times of the calling thread.
pub(crate) fn thread_times() -> ThreadTimes {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let mut nanos = stat.split_whitespace().map(|number| number.parse::<u64>().unwrap_or(0) / 1000);
    ThreadTimes { running_us: nanos.next().unwrap_or(0), waiting_us: nanos.next().unwrap_or(0) }
}

impl ThreadTimes {
    /// The difference to these times, over this interval.
    pub(crate) fn until_now(self, wall_us: u64) -> ThreadShare {
        let now = thread_times();
        ThreadShare {
            wall_us,
            running_us: now.running_us.saturating_sub(self.running_us),
            waiting_us: now.waiting_us.saturating_sub(self.waiting_us),
        }
    }
}

/// The server's process, if its number is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(pub(crate) u32);

/// What a process has used. Nothing is known of a process that has ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) pss_bytes: Option<u64>,
    pub(crate) rss_bytes: Option<u64>,
}

impl Usage {
    /// The sum over the processes of which this is known, if there is one.
    pub(crate) fn sum(all: &[Self], field: fn(&Self) -> Option<u64>) -> Option<u64> {
        all.iter().filter_map(field).fold(None, |sum, bytes| Some(sum.unwrap_or(0) + bytes))
    }
}

impl Process {
    /// Seconds of a core used since the process began.
    pub(crate) fn cpu_seconds(self) -> Option<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).ok()?;
        // The name in parentheses may contain anything; only numbers follow it.
        let mut rest = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let (user, system): (f64, f64) = (rest.next()?.parse().ok()?, rest.next()?.parse().ok()?);
        Some((user + system) / TICKS_PER_SECOND)
    }

    pub(crate) fn rss_bytes(self) -> Option<u64> {
        let statm = fs::read_to_string(format!("/proc/{}/statm", self.0)).ok()?;
        let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * PAGE_BYTES)
    }

    /// Memory, with shared pages counted in proportion. The kernel walks all pages for it, so read
    /// it between phases only.
    pub(crate) fn pss_bytes(self) -> Option<u64> {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.0)).ok()?;
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib << 10)
    }
}

/// The process that listens on an address of this machine, if this user may read its files.
pub(crate) fn listener(address: SocketAddr) -> Option<Process> {
    const LISTENS: &str = "0A";
    // As the kernel prints them: words in the order of the machine.
    let hex = |bytes: &[u8]| -> String {
        let words = bytes.chunks_exact(4).map(|word| {
            let word = word.try_into().expect("chunks of four bytes");
            format!("{:08X}", u32::from_ne_bytes(word))
        });
        words.collect()
    };
    let port = address.port();
    let exact = match address.ip() {
        IpAddr::V4(ip) => hex(&ip.octets()),
        IpAddr::V6(ip) => hex(&ip.octets()),
    };
    let addresses = [exact, hex(&[0; 4]), hex(&[0; 16])].map(|host| format!("{host}:{port:04X}"));
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).ok());
    let inode = tables.iter().flatten().flat_map(|table| table.lines()).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_ours =
            fields.get(3) == Some(&LISTENS) && addresses.iter().any(|address| address == fields[1]);
        is_ours.then(|| fields.get(9).map(|inode| format!("socket:[{inode}]")))?
    })?;
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).map(Process).find(
        |process| {
            let files = fs::read_dir(format!("/proc/{}/fd", process.0)).into_iter().flatten();
            let mut targets = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
            targets.any(|target| target.as_os_str() == inode.as_str())
        },
    )
}

/// Memory that the kernel holds for the buffers of all TCP connections.
pub(crate) fn tcp_memory_bytes() -> Option<u64> {
    let stat = fs::read_to_string("/proc/net/sockstat").ok()?;
    let line = stat.lines().find(|line| line.starts_with("TCP:"))?;
    let pages: u64 = line.split_once(" mem ")?.1.split_whitespace().next()?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}

/// Facts about the machine for the report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) cpu: Option<String>,
    pub(crate) kernel: Option<String>,
    pub(crate) governor: Option<String>,
    pub(crate) network: &'static str,
}

impl Machine {
    pub(crate) fn this() -> Self {
        let line = |path: &str| {
            let text = fs::read_to_string(Path::new(path)).ok()?;
            Some(text.trim().to_owned())
        };
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find(|line| line.starts_with("model name"));
        Self {
            cores: thread::available_parallelism().map_or(1, usize::from),
            cpu: model.and_then(|line| Some(line.split_once(": ")?.1.to_owned())),
            kernel: line("/proc/sys/kernel/osrelease"),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            network: "loopback",
        }
    }
}

/// Raises the limit of open files as far as allowed, and checks that it is enough.
///
/// # Errors
///
/// If the limit is too low; the error says what to do.
pub(crate) fn raise_open_files(wanted: u64) -> Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).context("no limit of open files")?;
    if soft >= wanted {
        return Ok(());
    }
    // With enough privilege the hard limit can be raised too.
    let highest = wanted.max(hard);
    if setrlimit(Resource::RLIMIT_NOFILE, wanted, highest).is_ok() {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).context("the limit of open files stays")?;
    anyhow::ensure!(
        hard >= wanted,
        "this needs {wanted} open files and the limit is {hard}: raise it (`ulimit -Hn {wanted}`, \
         LimitNOFILE= of the service, or /etc/security/limits.conf), for the server as well"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_is_known() {
        let process = Process(std::process::id());
        assert!(process.cpu_seconds().is_some());
        assert!(process.rss_bytes().is_some_and(|bytes| bytes > 1 << 20));
        assert!(process.pss_bytes().is_some_and(|bytes| bytes > 100 << 10));
        assert!(tcp_memory_bytes().is_some());
        assert!(Machine::this().cores > 0);
    }

    #[test]
    fn listener_is_found_by_its_port() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        assert_eq!(listener(address).map(|process| process.0), Some(std::process::id()));
        // Another address may have the same port.
        let other = SocketAddr::new([127, 9, 9, 9].into(), address.port());
        assert_eq!(listener(other).map(|process| process.0), None);
    }

    #[test]
    fn missing_process_has_no_figures() {
        assert_eq!(Process(u32::MAX).cpu_seconds(), None);
        assert_eq!(Process(u32::MAX).rss_bytes(), None);
    }

    #[test]
    fn too_few_open_files_are_explained() {
        let refused = raise_open_files(1 << 40).unwrap_err().to_string();
        assert!(refused.contains("ulimit"), "{refused}");
    }
}
