//! What the football feeds share that tell a match event by event: where in the match we are, the
//! score, the counts, the whistles, and how a match is opened and ended.
//!
//! It knows no provider. Those say what an event is; the [`Course`] says what follows of it.

mod course;
mod pitch;
mod tally;
mod timeline;

use crate::event::{FootballStatus, Pair, Side};

pub(super) use self::{
    course::{Course, Recorded},
    pitch::open_play,
};

pub(super) fn add(goals: &mut Pair<u16>, side: Side) {
    let own = &mut goals[side.index()];
    *own = own.saturating_add(1);
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
        FootballStatus::NotStarted | FootballStatus::Postponed | FootballStatus::Cancelled => {
            "other"
        }
    }
}
