//! The matches of a large archive: one every twenty minutes since 2010.

use facts::event::Sport;
use record::{MatchSummary, Status};

pub(crate) const HOUR_US: i64 = 3_600_000_000;
/// 2010-01-01.
pub(crate) const FIRST_US: i64 = 1_262_304_000_000_000;

/// One in this many. Teams per competition, seasons per year: a team plays some forty matches a
/// year.
pub(crate) fn summary(number: u64, count: u64) -> MatchSummary {
    let competition = number % 250;
    let team = |side: u64| competition * 100 + (number / 250 * 7 + side * 13) % 20;
    let index = i64::try_from(number).expect("few");
    MatchSummary {
        id: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12,
        sport: if number.is_multiple_of(5) { Sport::Tennis } else { Sport::Football },
        competition: Some(competition),
        season: Some(competition * 100 + number / 26_280),
        start: Some(FIRST_US + index * HOUR_US / 3),
        day_only: false,
        status: if number + 2_000 > count { Status::NotStarted } else { Status::Finished },
        sides: Some([team(0), team(1)]),
        round: u16::try_from(number % 38).ok(),
        round_name: None,
        group: None,
        venue: Some(team(0)),
        referee: Some(number % 3_000),
        coaches: [Some(team(0)), Some(team(1))],
        attendance: None,
        neutral: None,
        score: Some([1, 0]),
        half_time: Some([0, 0]),
        extra_time: None,
        penalties: None,
        parts: Vec::new(),
        winner: None,
        best_of: None,
        ended: None,
        expected_goals: None,
        period_starts: None,
        weather: None,
        updated: FIRST_US,
    }
}
