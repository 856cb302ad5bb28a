//! Spans of time, numbers of bytes and counts as text.

use accounts::Micros;

/// `850 µs`, `12 ms`, `3.2 s`, `4 min 5 s`, `2 h 10 min`, `3 d 4 h`.
pub(super) fn span(us: Micros) -> String {
    let us = us.max(0);
    let (ms, s) = (us / 1_000, us / 1_000_000);
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{ms} ms"),
        1_000_000..60_000_000 => format!("{s}.{} s", ms % 1_000 / 100),
        60_000_000..3_600_000_000 => format!("{} min {} s", s / 60, s % 60),
        3_600_000_000..86_400_000_000 => format!("{} h {} min", s / 3_600, s / 60 % 60),
        _ => format!("{} d {} h", s / 86_400, s / 3_600 % 24),
    }
}

/// `812 B`, `64.0 KiB`, `2.5 MiB`.
pub(super) fn bytes(bytes: usize) -> String {
    let tenths = |unit: usize| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KiB", tenths(1_024)),
        _ => format!("{} MiB", tenths(1_048_576)),
    }
}

/// `1 frame`, `2 frames`.
pub(super) fn count(number: impl Into<u64>, one: &str) -> String {
    match number.into() {
        1 => format!("1 {one}"),
        number => format!("{number} {one}s"),
    }
}

/// The same of what is in memory.
pub(super) fn count_of(number: usize, one: &str) -> String {
    count(number as u64, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_the_unit_that_people_read() {
        for (us, text) in [
            (-1, "0 µs"),
            (999, "999 µs"),
            (12_345, "12 ms"),
            (3_250_000, "3.2 s"),
            (245_000_000, "4 min 5 s"),
            (7_800_000_000, "2 h 10 min"),
            (273_600_000_000, "3 d 4 h"),
        ] {
            assert_eq!(span(us), text);
        }
    }

    #[test]
    fn one_thing_is_not_several() {
        let counts = [count_of(0, "frame"), count_of(1, "frame"), count(2_u32, "time")];
        assert_eq!(counts, ["0 frames", "1 frame", "2 times"]);
    }

    #[test]
    fn bytes_have_the_unit_that_people_read() {
        for (count, text) in
            [(0, "0 B"), (1_023, "1023 B"), (65_536, "64.0 KiB"), (2_621_440, "2.5 MiB")]
        {
            assert_eq!(bytes(count), text);
        }
    }
}
