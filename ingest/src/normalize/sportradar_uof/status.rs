//! How an event stands, by its `sport_event_status`.
//!
//! Phases are the feed's own list of match statuses; where a code says nothing to us, the coarse
//! `status` decides what it can. A status of 9 is no abandoned match: it is no longer scouted.
//! Scores count what the sport counts; in football a shoot-out is taken out again where the score
//! by periods shows that it was counted in.

use facts::event::{
    Fact, FootballFact, FootballScore, FootballStatus, GameScore, MatchClock, Pair, PlayKind,
    Scoreboard, ScoreboardStatus, SetScore, Side, Sport, Stat, TennisFact, TennisScore,
    TennisStatus,
};

use crate::decode::sportradar_uof::{PeriodScore, Status};

/// Whether markets of the event are in play, by the coarse status or else by the phase; `None` where neither says it.
pub(super) fn in_play(status: &Status) -> Option<bool> {
    let by_phase = || match status.match_status? {
        1..60 | 80 | 81 => Some(true),
        0 | 60 | 61 | 70 | 90..=100 | 110 | 120 => Some(false),
        _ => None,
    };
    status.status.map(|status| matches!(status, 1 | 2 | 7)).or_else(by_phase)
}

/// `winner` is the side that the status names, if it is one of the match.
pub(super) fn facts(status: &Status, winner: Option<Side>, sport: Sport) -> Vec<Fact> {
    match sport.play() {
        PlayKind::Football => football(status),
        PlayKind::Tennis => tennis(status, winner).into_iter().map(Fact::Tennis).collect(),
        PlayKind::Scoreboard => {
            scoreboard(status, winner).map(Fact::Scoreboard).into_iter().collect()
        }
        PlayKind::Race | PlayKind::None => Vec::new(),
    }
}

/// Only football has statistics of cards and corners in the feed, and only tennis points of a game:
/// they identify the sport of an event if it was not given.
pub(super) fn sport(status: &Status) -> Option<Sport> {
    let cards_and_corners = both(status.yellow_cards).zip(both(status.corners));
    match (cards_and_corners, both(status.game)) {
        (Some(_), _) => Some(Sport::Football),
        (None, Some(_)) => Some(Sport::Tennis),
        (None, None) => None,
    }
}

fn both<T: Copy>(pair: Pair<Option<T>>) -> Option<Pair<T>> {
    Some([pair[0]?, pair[1]?])
}

fn football(status: &Status) -> Vec<Fact> {
    let phase = football_status(status);
    let score = football_score(status, phase).map(FootballFact::Score);
    let clock = status.clock.and_then(|clock| {
        let second = clock.played_s? + clock.stoppage_s.unwrap_or(0);
        let running = !clock.stopped && phase.is_some_and(is_played);
        Some(FootballFact::Clock { second, running })
    });
    let facts = phase.map(FootballFact::Status).into_iter().chain(score).chain(clock);
    let stats = Side::BOTH.into_iter().filter_map(|side| stats(status, side));
    facts.chain(stats).map(Fact::Football).collect()
}

fn is_played(phase: FootballStatus) -> bool {
    use FootballStatus::{ExtraFirst, ExtraSecond, FirstHalf, SecondHalf};
    matches!(phase, FirstHalf | SecondHalf | ExtraFirst | ExtraSecond)
}

fn football_status(status: &Status) -> Option<FootballStatus> {
    use FootballStatus::*;
    let by_phase = match status.match_status {
        Some(6) => Some(FirstHalf),
        Some(7) => Some(SecondHalf),
        Some(31) => Some(HalfTime),
        Some(33) => Some(ExtraHalf),
        Some(40 | 41) => Some(ExtraFirst),
        Some(42) => Some(ExtraSecond),
        Some(50) => Some(Penalties),
        Some(60) => Some(Postponed),
        Some(70) => Some(Cancelled),
        Some(80 | 81) => Some(Interrupted),
        Some(90) => Some(Abandoned),
        Some(100 | 110 | 120) => Some(Finished),
        _ => None,
    };
    by_phase.or(match status.status? {
        0 | 6 => Some(NotStarted),
        // Breaks that have no status: the one before them stays.
        1 if matches!(status.match_status, Some(30 | 32 | 34)) => None,
        1 => Some(Live),
        2 | 7 => Some(Interrupted),
        3 | 4 => Some(Finished),
        5 => Some(Cancelled),
        8 => Some(Postponed),
        _ => None,
    })
}

fn football_score(status: &Status, phase: Option<FootballStatus>) -> Option<FootballScore> {
    let goals = both(status.score)?;
    let period_sum = |codes: &[i32]| sum(&status.periods, codes);
    let penalties = both(status.penalties).or_else(|| period_sum(&[50]));
    let in_play = period_sum(&[6, 7, 40, 41, 42]).filter(|_| penalties.is_some());
    let first = period_sum(&[6]).filter(|_| match phase {
        // It may be in the first half.
        None | Some(FootballStatus::Live | FootballStatus::Interrupted) => {
            period_sum(&[7]).is_some()
        }
        Some(phase) => phase.has_begun() && phase != FootballStatus::FirstHalf,
    });
    let small = |pair: Pair<u32>| {
        let [home, away] = pair.map(|goals| u16::try_from(goals).ok());
        Some([home?, away?])
    };
    Some(FootballScore {
        goals: small(in_play.unwrap_or(goals))?,
        half_time: first.and_then(small),
        extra_time: period_sum(&[40, 41, 42]).and_then(small),
        penalties: penalties.and_then(small),
    })
}

/// The scores of these periods together; `None` where there are none of them.
fn sum(periods: &[PeriodScore], codes: &[i32]) -> Option<Pair<u32>> {
    let these = periods.iter().filter(|it| it.code.is_some_and(|code| codes.contains(&code)));
    these
        .filter_map(|it| both(it.score))
        .reduce(|one, other| [one[0].saturating_add(other[0]), one[1].saturating_add(other[1])])
}

fn stats(status: &Status, side: Side) -> Option<FootballFact> {
    let count = |pair: Pair<Option<u32>>| pair[side.index()];
    // A second yellow card is counted apart by the feed, and sends off as a red one does.
    let second_yellow = count(status.yellow_red_cards).unwrap_or(0);
    let red = count(status.red_cards).map(|red| red.saturating_add(second_yellow));
    let values: Vec<_> = [
        (Stat::YellowCards, count(status.yellow_cards)),
        (Stat::RedCards, red),
        (Stat::CornerKicks, count(status.corners)),
    ]
    .into_iter()
    .filter_map(|(stat, count)| Some((stat, count?)))
    .collect();
    (!values.is_empty()).then_some(FootballFact::Stats { side, values })
}

fn tennis(status: &Status, winner: Option<Side>) -> Vec<TennisFact> {
    let phase = tennis_status(status);
    let score = tennis_score(status, phase, winner).map(TennisFact::Score);
    phase.map(TennisFact::Status).into_iter().chain(score).collect()
}

fn tennis_status(status: &Status) -> Option<TennisStatus> {
    let by_phase = match status.match_status {
        Some(80 | 81) => Some(TennisStatus::Interrupted),
        Some(70 | 90) => Some(TennisStatus::Cancelled),
        Some(91 | 93 | 94) => Some(TennisStatus::Walkover),
        // Retired, and defaulted, which ends a match in the same way.
        Some(92 | 95..=99) => Some(TennisStatus::Retired),
        Some(100) => Some(TennisStatus::Finished),
        _ => None,
    };
    by_phase.or(match status.status? {
        0 | 6 | 8 => Some(TennisStatus::NotStarted),
        1 => Some(TennisStatus::Live),
        2 | 7 => Some(TennisStatus::Interrupted),
        3 | 4 => Some(TennisStatus::Finished),
        5 => Some(TennisStatus::Cancelled),
        _ => None,
    })
}

/// The number of points played and the scores of tie-breaks are not given.
fn tennis_score(
    status: &Status,
    phase: Option<TennisStatus>,
    winner: Option<Side>,
) -> Option<TennisScore> {
    let sets = both(status.score)?;
    let won = sets.map(|sets| u8::try_from(sets).ok());
    let mut periods: Vec<_> = status.periods.iter().filter(|it| it.number.is_some()).collect();
    periods.sort_by_key(|it| it.number);
    let small = |games: u32| u8::try_from(games).ok();
    let set = |period: &&PeriodScore| {
        let [first, second] = both(period.score)?.map(small);
        Some(SetScore { games: [first?, second?], tie_break: None })
    };
    // The leader in sets wins a completed match. In a retirement only the stated winner counts.
    let is_finished = phase == Some(TennisStatus::Finished);
    let winner = winner.or_else(|| ahead(sets).filter(|_| is_finished));
    Some(TennisScore {
        server: status.server.and_then(|server| match server {
            1 => Some(Side::First),
            2 => Some(Side::Second),
            _ => None,
        }),
        sets: periods.iter().filter_map(set).collect(),
        stated_sets: both(won),
        game: game(status).unwrap_or_default(),
        points: 0,
        winner,
    })
}

fn game(status: &Status) -> Option<GameScore> {
    let shown = both(status.game)?;
    if status.tie_break {
        let [first, second] = shown.map(|points| u16::try_from(points).ok());
        return Some(GameScore::TieBreak([first?, second?]));
    }
    let [first, second] = shown.map(|points| match points {
        0 => Some(0),
        15 => Some(1),
        30 => Some(2),
        40 => Some(3),
        50 => Some(4),
        _ => None,
    });
    Some(GameScore::Points([first?, second?]))
}

fn ahead([first, second]: Pair<u32>) -> Option<Side> {
    match first.cmp(&second) {
        std::cmp::Ordering::Greater => Some(Side::First),
        std::cmp::Ordering::Less => Some(Side::Second),
        std::cmp::Ordering::Equal => None,
    }
}

fn scoreboard(status: &Status, winner: Option<Side>) -> Option<Scoreboard> {
    let phase = match status.status? {
        0 | 6 => ScoreboardStatus::NotStarted,
        1 => ScoreboardStatus::Live,
        2 | 7 => ScoreboardStatus::Interrupted,
        3 | 4 => ScoreboardStatus::Finished,
        5 => ScoreboardStatus::Cancelled,
        8 => ScoreboardStatus::Postponed,
        _ => return None,
    };
    let live = phase == ScoreboardStatus::Live;
    let mut periods: Vec<_> = status.periods.iter().collect();
    periods.sort_by_key(|it| it.number);
    let score = both(status.score).filter(|_| phase != ScoreboardStatus::NotStarted);
    Some(Scoreboard {
        status: phase,
        score,
        periods: periods.iter().filter_map(|it| both(it.score)).collect(),
        period: status.match_status.filter(|_| live).and_then(period).map(Into::into),
        clock: clock(status, live),
        winner: winner
            .or_else(|| score.and_then(ahead))
            .filter(|_| phase == ScoreboardStatus::Finished),
    })
}

fn clock(status: &Status, live: bool) -> Option<MatchClock> {
    let clock = status.clock?;
    let second = clock.remaining_in_period_s.or(clock.remaining_s).or(clock.played_s)?;
    let playing = live && status.match_status.and_then(period).as_deref() != Some("break");
    Some(MatchClock { second, running: playing && !clock.stopped })
}

fn period(code: i32) -> Option<String> {
    Some(match code {
        1..=5 => format!("p{code}"),
        6 | 7 => format!("{}h", code - 5),
        8..=12 => format!("set{}", code - 7),
        13..=16 => format!("q{}", code - 12),
        30..=32 | 34 | 301..=310 => "break".to_owned(),
        40 => "overtime".to_owned(),
        50 => "penalties".to_owned(),
        _ => return None,
    })
}
