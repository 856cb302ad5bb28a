//! The memory of this process.

use std::fs;

/// Resident bytes; `None` on systems other than Linux.
pub(super) fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    resident_in(&status)
}

fn resident_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_in_bytes() {
        assert_eq!(resident_in("Name:\tx\nVmRSS:\t    12 kB\nVmData:\t7 kB\n"), Some(12 * 1024));
        assert_eq!(resident_in("Name:\tx\n"), None);
        assert_eq!(resident_in("VmRSS:\tmuch\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn own_process_uses_memory() {
        assert!(resident().is_some_and(|bytes| bytes > 1_000_000));
    }
}
