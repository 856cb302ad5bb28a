//! What the provider's `status.short` is in our words.
//!
//! `BT` is any break after the 90 minutes. The one within extra time is our half-time of it; for the
//! one before extra time and the one before a shoot-out there is no status, so the one before them
//! stays and the clock stops. `ET` is the second half of extra time from minute 106 on, or after its
//! break. `LIVE` is a match of which no more is known than that it is on, unless there is a minute.
//! `AWD` and `WO` have a result that was not played: finished, with a score only if the provider states one.

use facts::event::FootballStatus as Status;

/// The status, and whether the match clock runs; `None` if the provider's is unknown to us.
/// `before` is the last reported status.
pub(super) fn status(
    short: &str,
    elapsed: Option<u16>,
    before: Option<Status>,
) -> Option<(Status, bool)> {
    // Nothing said of play before.
    let before = before.filter(|before| !matches!(before, Status::NotStarted | Status::Live));
    Some(match short {
        "NS" | "TBD" => (Status::NotStarted, false),
        "1H" => (Status::FirstHalf, true),
        "HT" => (Status::HalfTime, false),
        "2H" => (Status::SecondHalf, true),
        "ET" => (extra_time(elapsed, before), true),
        "BT" => (extra_break(elapsed, before), false),
        "P" => (Status::Penalties, false),
        "FT" | "AET" | "PEN" | "AWD" | "WO" => (Status::Finished, false),
        "SUSP" | "INT" => (Status::Interrupted, false),
        "LIVE" => (elapsed.map_or(Status::Live, by_minute), true),
        "PST" => (Status::Postponed, false),
        "CANC" => (Status::Cancelled, false),
        "ABD" => (Status::Abandoned, false),
        _ => return None,
    })
}

/// Whether a match in this status has a score of extra time, and of a shoot-out.
pub(super) fn beyond_full_time(short: &str) -> (bool, bool) {
    match short {
        "ET" | "BT" | "AET" => (true, false),
        "P" | "PEN" => (true, true),
        _ => (false, false),
    }
}

/// Whether no play follows.
pub(super) fn is_over(short: &str) -> bool {
    matches!(short, "FT" | "AET" | "PEN" | "AWD" | "WO" | "ABD" | "CANC")
}

fn by_minute(elapsed: u16) -> Status {
    match elapsed {
        0 => Status::Live,
        1..=45 => Status::FirstHalf,
        46..=90 => Status::SecondHalf,
        91..=105 => Status::ExtraFirst,
        _ => Status::ExtraSecond,
    }
}

fn extra_time(elapsed: Option<u16>, before: Option<Status>) -> Status {
    match (elapsed, before) {
        (_, Some(Status::ExtraHalf | Status::ExtraSecond)) | (Some(106..), _) => {
            Status::ExtraSecond
        }
        (None, None | Some(Status::Interrupted)) => Status::Live,
        _ => Status::ExtraFirst,
    }
}

fn extra_break(elapsed: Option<u16>, before: Option<Status>) -> Status {
    match (elapsed, before) {
        (Some(120..), _) => Status::ExtraSecond,
        (Some(91..=119), _) | (_, Some(Status::ExtraFirst)) => Status::ExtraHalf,
        (None, None | Some(Status::Interrupted)) => Status::Live,
        (_, None | Some(Status::Interrupted)) => Status::SecondHalf,
        (_, Some(before)) => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(short: &str, elapsed: u16, before: Status, expected: (Status, bool)) {
        assert_eq!(status(short, Some(elapsed), Some(before)), Some(expected), "{short} {elapsed}");
    }

    #[test]
    fn breaks_after_full_time_depend_on_the_minute() {
        check("BT", 90, Status::SecondHalf, (Status::SecondHalf, false));
        check("ET", 91, Status::SecondHalf, (Status::ExtraFirst, true));
        check("ET", 105, Status::ExtraFirst, (Status::ExtraFirst, true));
        check("BT", 105, Status::ExtraFirst, (Status::ExtraHalf, false));
        check("ET", 105, Status::ExtraHalf, (Status::ExtraSecond, true));
        check("BT", 120, Status::ExtraSecond, (Status::ExtraSecond, false));
        check("P", 120, Status::ExtraSecond, (Status::Penalties, false));
    }

    #[test]
    fn interruption_is_a_status_and_stops_the_clock() {
        check("INT", 30, Status::FirstHalf, (Status::Interrupted, false));
        check("SUSP", 45, Status::HalfTime, (Status::Interrupted, false));
        check("2H", 70, Status::Interrupted, (Status::SecondHalf, true));
        check("BT", 90, Status::Interrupted, (Status::SecondHalf, false));
        assert_eq!(status("INT", None, None), Some((Status::Interrupted, false)));
    }

    #[test]
    fn part_that_is_not_stated_is_not_guessed() {
        assert_eq!(status("LIVE", None, None), Some((Status::Live, true)));
        assert_eq!(status("LIVE", Some(50), None), Some((Status::SecondHalf, true)));
        assert_eq!(status("ET", None, None), Some((Status::Live, true)));
        assert_eq!(status("ET", None, Some(Status::SecondHalf)), Some((Status::ExtraFirst, true)));
        assert_eq!(status("BT", None, Some(Status::NotStarted)), Some((Status::Live, false)));
    }

    #[test]
    fn unknown_status_is_not_guessed() {
        assert_eq!(status("XYZ", Some(10), Some(Status::FirstHalf)), None);
    }
}
