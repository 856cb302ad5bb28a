//! Compares the reading of a tennis scoreboard with a score, and converts it to one.

use facts::event::{GameScore, Pair, SetScore, Side, TennisScore};

use crate::decode::betfair_scores::{DisplayedPoints, Reading};

/// Whether a score is one that may be shown so. What is not shown agrees. On the point that ends a
/// set it is unknown whether the games shown are those of that set or of the next.
pub(super) fn agrees(score: &TennisScore, reading: &Reading) -> bool {
    let over = score.sets.iter().filter(|set| set.winner().is_some()).count();
    let fresh = score.game == GameScore::default()
        && score.sets.last().is_some_and(|set| *set == SetScore::default());
    let last = score.sets.last().map_or([0; 2], |set| set.games);
    let ended = over.checked_sub(1).filter(|_| fresh || over == score.sets.len());
    let ended = ended.and_then(|at| score.sets.get(at));
    let games = |shown: Pair<u8>| {
        shown == last || ended.is_some_and(|ended| shown == ended.games || shown == [0; 2])
    };
    let sets = |displayed: Pair<u8>| {
        displayed == score.sets_won() || displayed == without_last(score, ended)
    };
    reading.shown.is_none_or(|displayed| displayed == shown(score.game))
        && reading.games.is_none_or(games)
        && reading.sets.is_none_or(sets)
}

/// Sets won before the one that has just ended.
fn without_last(score: &TennisScore, ended: Option<&SetScore>) -> Pair<u8> {
    let mut won = score.sets_won();
    if let Some(winner) = ended.and_then(SetScore::winner) {
        won[winner.index()] -= 1;
    }
    won
}

/// The score that is shown, with what was known before where it is not. `winner` is who won the
/// point that led to it, if one did.
pub(super) fn score(before: &TennisScore, reading: &Reading, winner: Option<Side>) -> TennisScore {
    let over = reading.sets.map(|[first, second]| usize::from(first) + usize::from(second));
    let last_set = before.sets.len().saturating_sub(1);
    let at = reading.set.map(|set| usize::from(set) - 1).or(over).unwrap_or(last_set).min(4);
    let mut score = before.clone();
    score.winner = None;
    score.points = before.points.saturating_add(u32::from(winner.is_some()));
    let was_in = score.sets.len() == at + 1;
    score.sets.resize(at + 1, SetScore::default());
    let [first, second] = &reading.set_games;
    // One number in a later set may be that set's alone.
    if first.len() == at + 1 && second.len() == at + 1 {
        for (set, games) in score.sets.iter_mut().zip(first.iter().zip(second)) {
            set.games = [*games.0, *games.1];
        }
    }
    let set = &mut score.sets[at];
    set.games = reading.games.unwrap_or(set.games);
    let tie_break = match before.game {
        GameScore::TieBreak(points) if was_in => Some(points),
        _ => None,
    };
    score.game = match reading.shown {
        Some(displayed) if !reading.wins_game => {
            game(displayed, tie_break.is_some() || set.games == [6, 6])
        }
        None if !reading.wins_game => before.game,
        _ if set.games == [6, 6] && tie_break.is_none() => GameScore::TieBreak([0; 2]),
        _ => GameScore::default(),
    };
    match (score.game, tie_break, winner) {
        (GameScore::TieBreak(points), ..) => set.tie_break = Some(points),
        (GameScore::Points(_), Some(mut points), Some(winner)) => {
            points[winner.index()] = points[winner.index()].saturating_add(1);
            set.tie_break = Some(points);
        }
        (GameScore::Points(_), ..) => {}
    }
    let complete = set.winner().is_some() && over.is_none_or(|over| over == at + 1);
    if complete && score.sets.len() < 5 {
        score.sets.push(SetScore::default());
    }
    score
}

fn shown(game: GameScore) -> Pair<DisplayedPoints> {
    match game {
        GameScore::TieBreak(points) => points.map(DisplayedPoints::Number),
        GameScore::Points(points) => points.map(|points| match points {
            0 => DisplayedPoints::Number(0),
            1 => DisplayedPoints::Number(15),
            2 => DisplayedPoints::Number(30),
            3 => DisplayedPoints::Number(40),
            _ => DisplayedPoints::Advantage,
        }),
    }
}

/// A game in which a side has 1 or 7 points is a tie-break, even if none was expected.
fn game(points: Pair<DisplayedPoints>, in_tie_break: bool) -> GameScore {
    match points.map(ordinary) {
        [Some(first), Some(second)] if !in_tie_break => GameScore::Points([first, second]),
        _ => GameScore::TieBreak(points.map(|points| match points {
            DisplayedPoints::Number(points) => points,
            DisplayedPoints::Advantage => 0,
        })),
    }
}

fn ordinary(points: DisplayedPoints) -> Option<u8> {
    match points {
        DisplayedPoints::Number(0) => Some(0),
        DisplayedPoints::Number(15) => Some(1),
        DisplayedPoints::Number(30) => Some(2),
        DisplayedPoints::Number(40) => Some(3),
        DisplayedPoints::Advantage => Some(4),
        DisplayedPoints::Number(_) => None,
    }
}
