//! What the football feeds share that tell a match event by event: where in the match we are, the
//! score, the counts of sides and players, the whistles, and how a match is opened and ended.
//!
//! It knows no provider. Those say what an event is; `Course` says what follows of it.

mod analyst;
mod course;
mod pitch;
mod players;
mod tally;
mod timeline;

use std::sync::Arc;

use facts::event::{FootballStatus, Pair, Side};

pub(super) use self::{
    course::{Course, Recorded},
    pitch::open_play,
};

pub(super) fn add(goals: &mut Pair<u16>, side: Side) {
    let goals_of_side = &mut goals[side.index()];
    *goals_of_side = goals_of_side.saturating_add(1);
}

/// Whether the match clock runs in a status.
pub(super) fn in_play(status: FootballStatus) -> bool {
    matches!(
        status,
        FootballStatus::FirstHalf
            | FootballStatus::SecondHalf
            | FootballStatus::ExtraFirst
            | FootballStatus::ExtraSecond
    )
}

/// What a status that begins with a whistle is called in the name of its incident.
pub(super) fn period_name(status: FootballStatus) -> &'static str {
    match status {
        FootballStatus::FirstHalf => "first-half",
        FootballStatus::HalfTime => "half-time",
        FootballStatus::SecondHalf => "second-half",
        FootballStatus::ExtraFirst => "extra-first",
        FootballStatus::ExtraHalf => "extra-half",
        FootballStatus::ExtraSecond => "extra-second",
        FootballStatus::Penalties => "penalties",
        FootballStatus::Finished => "finished",
        FootballStatus::Abandoned => "abandoned",
        FootballStatus::NotStarted
        | FootballStatus::Postponed
        | FootballStatus::Cancelled
        | FootballStatus::Live
        | FootballStatus::Interrupted => "other",
    }
}

/// A formation by its digits: `433` is `4-3-3`. `None` for what is none.
pub(super) fn formation(digits: &str) -> Option<Arc<str>> {
    let counted: u32 = digits.chars().map(|digit| digit.to_digit(10)).sum::<Option<u32>>()?;
    let all: Vec<_> = digits.chars().map(String::from).collect();
    (counted == 10 && all.len() > 2).then(|| all.join("-").into())
}

#[cfg(test)]
mod tests {
    use super::formation;

    #[test]
    fn formation_is_written_with_dashes() {
        assert_eq!(formation("433").as_deref(), Some("4-3-3"));
        assert_eq!(formation("41221").as_deref(), Some("4-1-2-2-1"));
        for none in ["", "10", "443", "4-3", "-433", "9999"] {
            assert_eq!(formation(none), None, "{none}");
        }
    }
}
