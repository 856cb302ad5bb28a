//! The periods of a football match, and the minutes in which something happens.
//!
//! Minutes are minutes in progress, from 1: 17:58 is minute 18, and in Betfair's `matchTime` stoppage
//! time is counted on.

use facts::event::{FootballStatus, IncidentKind};

use super::status::{self, Meaning};
use crate::decode::betfair_scores::Update;

/// Whether play goes on with an update: extra time, or a shoot-out.
pub(super) fn goes_on(update: &Update) -> bool {
    match status::football(&update.kind) {
        Meaning::Status(status) => in_extra_time(status),
        Meaning::Incident(IncidentKind::Shootout { .. }) => true,
        _ => false,
    }
}

pub(super) fn in_extra_time(status: FootballStatus) -> bool {
    matches!(
        status,
        FootballStatus::ExtraFirst
            | FootballStatus::ExtraHalf
            | FootballStatus::ExtraSecond
            | FootballStatus::Penalties
    )
}

pub(super) fn runs(status: FootballStatus) -> bool {
    first_second(status).is_some()
}

/// Whether no play follows: of two words for how a match stands, this is the later one.
pub(super) fn is_over(status: FootballStatus) -> bool {
    matches!(
        status,
        FootballStatus::Finished
            | FootballStatus::Abandoned
            | FootballStatus::Cancelled
            | FootballStatus::Postponed
    )
}

/// What the match clock shows when a period begins.
pub(super) fn first_second(status: FootballStatus) -> Option<u32> {
    match status {
        FootballStatus::FirstHalf => Some(0),
        FootballStatus::SecondHalf => Some(45 * 60),
        FootballStatus::ExtraFirst => Some(90 * 60),
        FootballStatus::ExtraSecond => Some(105 * 60),
        _ => None,
    }
}

/// The second at which a minute in progress begins.
pub(super) fn second_of(minute: u16) -> u32 {
    u32::from(minute.saturating_sub(1)) * 60
}

/// The minute in progress and the added one; from the minute alone if the two are not given, and from the second of the match
/// if the minute is not. All of a shoot-out is in the last minute. `None` if nothing is known.
pub(super) fn minute(
    update: &Update,
    status: Option<FootballStatus>,
    second: Option<u32>,
) -> Option<(u16, Option<u16>)> {
    let in_shootout = || (status == Some(FootballStatus::Penalties)).then_some(120);
    let by_clock = || u16::try_from(second? / 60 + 1).ok();
    let all = update.minute.or(update.regular).or_else(in_shootout).or_else(by_clock)?.max(1);
    Some(minute_of(update, status, all))
}

fn minute_of(update: &Update, status: Option<FootballStatus>, all: u16) -> (u16, Option<u16>) {
    let last = match status {
        Some(FootballStatus::FirstHalf | FootballStatus::HalfTime) => 45,
        Some(FootballStatus::ExtraFirst | FootballStatus::ExtraHalf) => 105,
        Some(FootballStatus::ExtraSecond | FootballStatus::Penalties) => 120,
        Some(FootballStatus::SecondHalf | FootballStatus::Finished) => 90,
        _ => return (all, update.added),
    };
    match (update.regular, update.added) {
        (Some(regular), Some(added)) => (regular, Some(added)),
        // A shoot-out and the end of extra time lie beyond the 90 minutes.
        _ if all > last && last == 90 && all >= 106 => (120, (all > 120).then(|| all - 120)),
        _ if all > last => (last, Some(all - last)),
        (regular, _) => (regular.unwrap_or(all), None),
    }
}
