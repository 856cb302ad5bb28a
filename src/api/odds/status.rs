//! How a match stands, in the words of SERVICE section 1.5, for all sports.

use crate::record::Status;

/// What an answer says.
#[must_use]
pub(in crate::api) fn word(status: Status) -> &'static str {
    match status {
        Status::NotStarted | Status::AtThePost => "notstarted",
        Status::Live => "inprogress",
        Status::FirstHalf => "1st_half",
        Status::HalfTime => "halftime",
        Status::SecondHalf => "2nd_half",
        Status::ExtraFirst | Status::ExtraHalf | Status::ExtraSecond => "extratime",
        Status::Penalties => "penalties",
        Status::Interrupted => "interrupted",
        Status::Finished | Status::Retired | Status::Walkover => "finished",
        Status::Postponed => "postponed",
        Status::Abandoned => "abandoned",
        Status::Cancelled => "cancelled",
        Status::Unresolved => "unresolved",
    }
}

/// Which part of a football match is played; empty where none is, or nobody tells which.
#[must_use]
pub(in crate::api) fn period(status: Status) -> &'static str {
    match status {
        Status::FirstHalf => "1T",
        Status::HalfTime => "HT",
        Status::SecondHalf => "2T",
        Status::ExtraFirst | Status::ExtraHalf | Status::ExtraSecond => "ET",
        Status::Penalties => "PEN",
        Status::Finished | Status::Retired | Status::Walkover => "FT",
        Status::NotStarted
        | Status::AtThePost
        | Status::Live
        | Status::Interrupted
        | Status::Postponed
        | Status::Abandoned
        | Status::Cancelled
        | Status::Unresolved => "",
    }
}

/// The status in a row of `events/live/`: SERVICE section 8, row 2.
#[must_use]
pub(in crate::api) fn live_word(status: Status) -> &'static str {
    if status.is_live() { "inprogress" } else { word(status) }
}

/// The period in a row of `events/live/`: SERVICE section 8, row 2.
#[must_use]
pub(in crate::api) fn live_period(status: Status) -> &'static str {
    match status {
        Status::FirstHalf => "1st_half",
        Status::HalfTime => "halftime",
        Status::SecondHalf => "2nd_half",
        Status::ExtraFirst | Status::ExtraHalf | Status::ExtraSecond => "extra_time",
        Status::Penalties => "penalties",
        Status::Finished | Status::Retired | Status::Walkover => "FT",
        Status::NotStarted
        | Status::AtThePost
        | Status::Live
        | Status::Interrupted
        | Status::Postponed
        | Status::Abandoned
        | Status::Cancelled
        | Status::Unresolved => "",
    }
}

/// What a filter asks for: one word, or several with commas between. Unknown words are ignored;
/// without a known word there is no filter.
#[must_use]
pub(in crate::api) fn parse(text: &str) -> Option<Vec<Status>> {
    let mut all = Vec::new();
    let mut is_filter = false;
    for requested in text.split(',').map(|word| word.trim().to_ascii_lowercase()) {
        let is_meant = |status: Status| match requested.as_str() {
            "upcoming" | "scheduled" | "not_started" => word(status) == "notstarted",
            "live" | "inprogress" | "in_progress" | "inplay" | "in_play" | "started" => {
                status.is_live()
            }
            "canceled" => status == Status::Cancelled,
            "suspended" => status == Status::Interrupted,
            "ht" => status == Status::HalfTime,
            "extra_time" => word(status) == "extratime",
            "ft" | "ended" => status.has_result(),
            other => word(status) == other,
        };
        let before = all.len();
        all.extend(Status::ALL.into_iter().filter(|status| is_meant(*status)));
        is_filter |= all.len() > before;
    }
    is_filter.then_some(all)
}

/// All that may come yet or is going on.
#[must_use]
pub(in crate::api) fn not_over() -> Vec<Status> {
    Status::ALL.into_iter().filter(|status| !status.is_over()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_is_found_by_its_own_word() {
        for status in Status::ALL {
            let found = parse(word(status)).unwrap();
            assert!(found.contains(&status), "{status:?}");
        }
        assert_eq!(parse("Upcoming"), Some(vec![Status::NotStarted, Status::AtThePost]));
        assert!(parse("live").unwrap().iter().all(|status| status.is_live()));
        assert_eq!(parse("nonsense"), None);
        assert_eq!(parse("nonsense,scheduled"), parse("notstarted"));
        for alias in ["inplay", "in_play", "started", "inprogress"] {
            assert_eq!(parse(alias), parse("live"), "{alias}");
        }
        assert_eq!(parse("ft,canceled").unwrap().len(), 4);
    }
}
