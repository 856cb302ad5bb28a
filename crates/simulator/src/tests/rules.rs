//! The rules of the sports with a scoreboard, and of races, implemented independently: what may
//! stand on a board at the end, and what may follow what.

use std::collections::BTreeSet;

use facts::event::{
    Pair, PlayKind, Race, RaceStatus, RunnerStatus, Scoreboard, ScoreboardStatus, Side, Sport,
};

/// How boards of a match followed each other.
#[derive(Debug, Default)]
pub(super) struct Boards {
    pub(super) statuses: Vec<ScoreboardStatus>,
    pub(super) last: Option<Scoreboard>,
}

impl Boards {
    pub(super) fn apply(&mut self, sport: Sport, board: &Scoreboard) {
        if self.statuses.last() != Some(&board.status) {
            self.statuses.push(board.status);
        }
        if let Some(before) = &self.last {
            assert_ne!(before.status, ScoreboardStatus::Finished, "{board:?} after the end");
            never_falls(before, board);
            // A match that is reported after its end is reported as a whole.
            let is_followed = board.status != ScoreboardStatus::Finished
                || before.status != ScoreboardStatus::NotStarted;
            if is_followed && (sport == Sport::Cs2 || sport == Sport::Darts) {
                one_at_a_time(before, board);
            }
        }
        if let Some(clock) = board.clock {
            let longest = if sport == Sport::Basketball { 720 } else { 1200 };
            assert!(clock.second <= longest, "{board:?}");
        }
        if board.status == ScoreboardStatus::Finished {
            check_end(sport, board);
        }
        self.last = Some(board.clone());
    }
}

fn never_falls(before: &Scoreboard, now: &Scoreboard) {
    let grows = |a: Pair<u32>, b: Pair<u32>| a[0] <= b[0] && a[1] <= b[1];
    let score = |board: &Scoreboard| board.score.unwrap_or_default();
    assert!(grows(score(before), score(now)), "{now:?} after {before:?}");
    assert!(before.periods.len() <= now.periods.len(), "{now:?} after {before:?}");
    assert!(before.periods.iter().zip(&now.periods).all(|(a, b)| grows(*a, *b)), "{now:?}");
}

/// Rounds and legs are played one by one.
fn one_at_a_time(before: &Scoreboard, now: &Scoreboard) {
    let sum = |board: &Scoreboard| -> u32 { board.periods.iter().flatten().sum() };
    assert!(sum(now) - sum(before) <= 1, "{now:?} after {before:?}");
}

fn check_end(sport: Sport, board: &Scoreboard) {
    let score = board.score.expect("it was played");
    let [first, second] = score;
    assert_ne!(first, second, "no winner: {board:?}");
    let winner = if first > second { Side::First } else { Side::Second };
    assert_eq!(board.winner, Some(winner), "{board:?}");
    let (more, less) = (first.max(second), first.min(second));
    match sport {
        Sport::Cs2 => {
            assert!(more == 2 && less < 2, "{board:?}");
            assert_eq!(board.periods.len() as u32, more + less);
            assert_eq!(score, won(&board.periods));
            board.periods.iter().for_each(|rounds| check_map(*rounds));
        }
        Sport::Darts if board.periods.is_empty() => {
            assert!(matches!(more, 6 | 8), "legs: {board:?}");
        }
        Sport::Darts => {
            assert!(matches!(more, 3 | 4), "sets: {board:?}");
            assert_eq!(score, won(&board.periods));
            let whole = |legs: &Pair<u32>| legs.contains(&3) && legs[0] != legs[1];
            assert!(board.periods.iter().all(whole), "{board:?}");
        }
        Sport::Hockey => check_hockey(board, score),
        Sport::Basketball => check_basketball(board, score),
        // Others are checked in their modules.
        _ => assert_eq!(sport.play(), PlayKind::Scoreboard),
    }
}

fn won(parts: &[Pair<u32>]) -> Pair<u32> {
    let parts_won =
        |side: usize| parts.iter().filter(|part| part[side] > part[1 - side]).count() as u32;
    [parts_won(0), parts_won(1)]
}

fn total(parts: &[Pair<u32>]) -> Pair<u32> {
    [0, 1].map(|side: usize| parts.iter().map(|part| part[side]).sum())
}

/// 13 rounds, or 16, 19, .. with at least two more than the other since the last level score.
fn check_map(rounds: Pair<u32>) {
    let (more, less) = (rounds[0].max(rounds[1]), rounds[0].min(rounds[1]));
    let by_rule = if more == 13 {
        less <= 11
    } else {
        more >= 16 && (more - 13) % 3 == 0 && (more - 4..=more - 2).contains(&less)
    };
    assert!(by_rule, "no map ends with {rounds:?}");
}

fn check_hockey(board: &Scoreboard, score: Pair<u32>) {
    let periods = &board.periods;
    assert_eq!(total(periods), score, "{board:?}");
    let level = |parts: usize| {
        let [home, away] = total(&periods[..parts]);
        home == away
    };
    match periods.len() {
        3 => {}
        4 => assert!(level(3), "an overtime without need: {board:?}"),
        5 => assert!(level(3) && level(4) && periods[3] == [0, 0], "{board:?}"),
        other => panic!("{other} periods: {board:?}"),
    }
    if periods.len() > 3 {
        let [home, away] = periods[periods.len() - 1];
        assert_eq!(home + away, 1, "one goal decides: {board:?}");
    }
}

fn check_basketball(board: &Scoreboard, score: Pair<u32>) {
    assert_eq!(total(&board.periods), score, "{board:?}");
    assert!(board.periods.len() >= 4, "{board:?}");
    for parts in 4..board.periods.len() {
        let [home, away] = total(&board.periods[..parts]);
        assert_eq!(home, away, "an overtime without need: {board:?}");
    }
}

/// How a race went on.
#[derive(Debug, Default)]
pub(super) struct Races {
    pub(super) statuses: Vec<RaceStatus>,
    pub(super) last: Option<Race>,
}

impl Races {
    pub(super) fn apply(&mut self, race: &Race) {
        use RaceStatus::{AtThePost, Finished, NotStarted, Off};
        if self.statuses.last() != Some(&race.status) {
            self.statuses.push(race.status);
        }
        let order = [NotStarted, AtThePost, Off, Finished];
        let places = self.statuses.iter().map(|status| order.iter().position(|it| it == status));
        assert!(places.is_sorted(), "{:?}", self.statuses);
        let different: BTreeSet<_> = race.runners.iter().map(|it| it.participant.id).collect();
        assert_eq!(different.len(), race.runners.len(), "{race:?}");
        let jockeys: BTreeSet<_> = race.runners.iter().map(|it| &it.jockey).collect();
        assert_eq!(jockeys.len(), race.runners.len(), "{race:?}");
        for (runner, number) in race.runners.iter().zip(1..) {
            assert_eq!(runner.number, Some(number));
            let placed = runner.position.is_some();
            let runs = matches!(runner.status, RunnerStatus::Active | RunnerStatus::Finished);
            assert!(!placed || runs, "{runner:?}");
            assert!(race.status != Finished || runner.status != RunnerStatus::Active, "{race:?}");
        }
        if race.status == Finished {
            let mut places: Vec<_> = race.runners.iter().filter_map(|it| it.position).collect();
            places.sort_unstable();
            let expected: Vec<u16> = (1..=places.len() as u16).collect();
            let mut shared = expected.clone();
            shared.get_mut(1).into_iter().for_each(|second| *second = 1);
            assert!(places == expected || places == shared, "{places:?}");
            assert!(!places.is_empty());
        }
        self.last = Some(race.clone());
    }
}
