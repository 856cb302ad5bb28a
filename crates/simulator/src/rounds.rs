//! Seasons, rounds, and the pairings in them.

use std::sync::Arc;

use jiff::{Timestamp, civil::date, tz::TimeZone};

use facts::event::{Micros, Pair};

use super::programme::DAY;

/// The number of a day since 1970, which determines who plays. Every day of a world has one of its own.
pub(super) type DayNumber = usize;

/// Days from one round of a league to its next. With a league on one day of these, no team plays twice within
/// two days.
pub(super) const ROUND_DAYS: usize = 3;

/// Rounds that the leagues have played before the first day of a world.
pub(super) const PAST_ROUNDS: usize = 5;

/// The round that is played on a day, from 1 on, in a world that begins with the day `first`.
pub(super) fn round(day: DayNumber, first: DayNumber) -> u16 {
    let since = (day + PAST_ROUNDS * ROUND_DAYS).saturating_sub(first);
    u16::try_from(since / ROUND_DAYS + 1).unwrap_or(u16::MAX)
}

/// The number of the day at a moment.
pub(super) fn day_number(at: Micros) -> DayNumber {
    usize::try_from(at.div_euclid(DAY)).unwrap_or(0)
}

/// A season from the 1st of August on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Season {
    pub(super) start: Micros,
    /// `2026/27`, and for sports whose seasons are years `2026`.
    pub(super) name: Arc<str>,
    pub(super) year: Arc<str>,
}

impl Season {
    /// The one of a moment.
    pub(super) fn containing(at: Micros) -> Self {
        let day = Timestamp::from_microsecond(at).unwrap_or_default();
        let day = day.to_zoned(TimeZone::UTC).date();
        let first = if day.month() >= 8 { day.year() } else { day.year() - 1 };
        let start = date(first, 8, 1).to_zoned(TimeZone::UTC);
        let start = start.map_or(0, |start| start.timestamp().as_microsecond());
        Self {
            start,
            name: format!("{first}/{:02}", (first + 1).rem_euclid(100)).into(),
            year: day.year().to_string().into(),
        }
    }
}

/// The pairings of a round, counted from 0. All members meet each other once, then once more with home and away
/// exchanged, and so on. Nobody plays three times in a row at home, or away. `members` is even.
pub(super) fn round_robin(members: usize, round: usize) -> Vec<Pair<usize>> {
    let others = members - 1;
    let cycle = round / others;
    // One turn is passed over from cycle to cycle, so that home and away alternate across them.
    let turn = (round + cycle) % others;
    let again = cycle % 2 == 1;
    let pair = |index: usize| {
        let (one, other) = match index {
            0 => (others, turn),
            _ => ((turn + index) % others, (turn + others - index) % others),
        };
        let swapped = if index == 0 { turn % 2 == 1 } else { index % 2 == 1 };
        if swapped == again { [one, other] } else { [other, one] }
    };
    (0..members / 2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// 22 November 2026, 6:40.
    const NOW: Micros = 1_795_329_600_000_000;

    #[test]
    fn seasons_begin_in_august() {
        let season = Season::containing(NOW);
        assert_eq!((&*season.name, &*season.year), ("2026/27", "2026"));
        assert_eq!(&*Season::containing(season.start).name, "2026/27");
        assert_eq!(&*Season::containing(season.start - 1).name, "2025/26");
    }

    #[test]
    fn rounds_are_counted_from_the_past_on() {
        let first = day_number(NOW);
        let rounds = [0, 14, 15, 17, 18].map(|days| round(first - 15 + days, first));
        assert_eq!(rounds, [1, 5, 6, 6, 7]);
    }

    #[test]
    fn every_team_meets_every_other_home_and_away() {
        let pairs: BTreeSet<_> = (0..42).flat_map(|round| round_robin(22, round)).collect();
        assert_eq!(pairs.len(), 22 * 21);
        for round in 0..42 {
            let teams: BTreeSet<_> = round_robin(22, round).into_iter().flatten().collect();
            assert_eq!(teams.len(), 22, "round {round}");
        }
    }

    #[test]
    fn pairs_meet_again_after_weeks_and_home_and_away_alternate() {
        let rounds: Vec<_> = (0..6 * 21).map(|round| round_robin(22, round)).collect();
        for team in 0..22 {
            let of_team = rounds.iter().flatten().filter(|pair| pair.contains(&team));
            let (home, rivals): (Vec<_>, Vec<_>) = of_team
                .map(|[home, away]| (*home == team, if *home == team { *away } else { *home }))
                .unzip();
            assert!(home.windows(3).all(|it| it != [it[0]; 3]), "{team}: {home:?}");
            for (round, rival) in rivals.iter().enumerate() {
                let later = rivals[round + 1..].iter().position(|it| it == rival);
                assert!(later.is_none_or(|rounds| rounds >= 19), "{team} v {rival}: {later:?}");
            }
        }
    }
}
