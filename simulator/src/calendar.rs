//! Seasons, rounds, and the pairings in them.

use std::sync::Arc;

use jiff::{Timestamp, civil::date, tz::TimeZone};

use facts::event::{Micros, Pair};

use super::day::DAY;

/// From one round of a season to the next, before the simulated days begin.
pub(super) const ROUND: Micros = 4 * DAY;

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
    pub(super) fn of(at: Micros) -> Self {
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

    /// Rounds that are over at a moment.
    pub(super) fn rounds_before(&self, at: Micros) -> u16 {
        u16::try_from((at - self.start) / ROUND).unwrap_or(0)
    }
}

/// The number of the round that is played on a day of the world that begins at `start`: every day has
/// one of its own, after those of the past.
pub(super) fn matchday(start: Micros, day: u64) -> u16 {
    let day = Micros::try_from(day).unwrap_or(0);
    let (first, now) = (Season::of(start), Season::of(start + day * DAY));
    let (before, since) = if first.start == now.start {
        (first.rounds_before(start), day)
    } else {
        (0, (start + day * DAY - now.start) / DAY)
    };
    before.saturating_add(1).saturating_add(u16::try_from(since).unwrap_or(0))
}

/// The pairings of a round, counted from 0. All members meet each other once, and then once more with
/// home and away exchanged. `members` is even.
pub(super) fn round_robin(members: usize, round: usize) -> Vec<Pair<usize>> {
    let others = members - 1;
    let turn = round % others;
    let again = round / others % 2 == 1;
    let pair = |place: usize| {
        let (one, other) = match place {
            0 => (others, turn),
            _ => ((turn + place) % others, (turn + others - place) % others),
        };
        let swapped = if place == 0 { turn % 2 == 1 } else { place % 2 == 1 };
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
        let season = Season::of(NOW);
        assert_eq!((&*season.name, &*season.year), ("2026/27", "2026"));
        assert_eq!(&*Season::of(season.start).name, "2026/27");
        assert_eq!(&*Season::of(season.start - 1).name, "2025/26");
        assert_eq!(season.rounds_before(NOW), 28);
    }

    #[test]
    fn every_day_has_a_round_of_its_own() {
        let rounds: Vec<_> = (0..4).map(|day| matchday(NOW, day)).collect();
        assert_eq!(rounds, [29, 30, 31, 32]);
        assert_eq!(matchday(NOW, 365), 114);
    }

    #[test]
    fn every_team_meets_every_other_home_and_away() {
        let pairs: BTreeSet<_> = (0..42).flat_map(|round| round_robin(22, round)).collect();
        assert_eq!(pairs.len(), 22 * 21);
        for round in 0..42 {
            let own: BTreeSet<_> = round_robin(22, round).into_iter().flatten().collect();
            assert_eq!(own.len(), 22, "round {round}");
        }
    }
}
