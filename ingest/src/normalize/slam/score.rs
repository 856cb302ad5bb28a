//! Compares the state columns of a row with a score, and converts them to one.

use facts::{
    event::{GameScore, Pair, SetScore, Side, TennisScore},
    tennis::is_tie_break,
};

use crate::decode::slam::{PointRow, PointsCell};

/// Whether a score is the one that a row shows after its point, and the next row goes on from.
pub(super) fn agrees(score: &TennisScore, row: &PointRow, next: Option<&PointRow>) -> bool {
    let at = usize::from(row.set) - 1;
    let Some(set) = score.sets.get(at) else { return false };
    let ended = score.winner.is_some() || score.sets.len() > at + 1;
    set_is_over(set, row, next) == ended
        && row.games.is_none_or(|games| set.games == games)
        && is_shown(score.game, set, row.shown)
}

/// Whether a row ends its set, which has these games then. What follows decides. A column alone
/// does not: it names a winner now and then in a set that goes on, and none in one that ends.
pub(super) fn set_is_over(set: &SetScore, row: &PointRow, next: Option<&PointRow>) -> bool {
    let by_games = set.winner().is_some();
    let by_column = row.set_winner.is_some_and(|winner| winner != 0);
    // After a tie-break of which rows are missing.
    let one_ahead = matches!(set.games, [7, 6] | [6, 7] | [13, 12] | [12, 13]);
    match next {
        Some(next) if next.set > row.set => by_games || one_ahead,
        Some(_) => by_games && by_column,
        None => by_games || by_column && one_ahead,
    }
}

/// The score that a row shows. `before` is the one before its point. Whether the set ends is not
/// decided here.
pub(super) fn by_columns(before: &TennisScore, row: &PointRow, winner: Side) -> TennisScore {
    let mut score = TennisScore { points: before.points + 1, ..before.clone() };
    let Some(set) = score.sets.last_mut() else { return score };
    let tie_break = match before.game {
        GameScore::TieBreak(points) => Some(points),
        GameScore::Points(_) => None,
    };
    let game_over = is_game_over(row.shown);
    if let Some(games) = row.games {
        set.games = games;
    } else if game_over {
        set.games[winner.index()] = set.games[winner.index()].saturating_add(1);
    }
    if game_over {
        // Rows are missing where the last point does not end it.
        set.tie_break = tie_break
            .map(|points| one_more(points, winner))
            .filter(|[first, second]| first.max(second) >= &7 && first.abs_diff(*second) >= 2);
        score.game = GameScore::default();
    } else {
        score.game = game(row.shown, tie_break.is_some());
        set.tie_break = match score.game {
            GameScore::TieBreak(points) => Some(points),
            GameScore::Points(_) => None,
        };
    }
    score
}

/// Sets won by each side, of sets that are over.
pub(super) fn sets_won(over: &[SetScore]) -> Pair<u8> {
    Side::BOTH.map(|side| over.iter().filter(|set| set.leader() == Some(side)).count() as u8)
}

/// Whether a game that begins with a row is a tie-break; `None` if its points do not tell.
pub(super) fn is_tie_break_begun(row: &PointRow) -> Option<bool> {
    match row.shown {
        [PointsCell::Number(0), PointsCell::Number(points)]
        | [PointsCell::Number(points), PointsCell::Number(0)] => match points {
            1 => Some(true),
            15 => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a row ends its game.
pub(super) fn is_game_over(shown: Pair<PointsCell>) -> bool {
    shown == [PointsCell::Number(0); 2] || shown.contains(&PointsCell::Game)
}

fn one_more(mut points: Pair<u16>, winner: Side) -> Pair<u16> {
    points[winner.index()] = points[winner.index()].saturating_add(1);
    points
}

/// A game in which a side has 1 or 7 points is a tie-break, even if the rules expected none.
fn game(shown: Pair<PointsCell>, in_tie_break: bool) -> GameScore {
    let points = shown.map(count);
    match shown.map(ordinary) {
        [Some(first), Some(second)] if !in_tie_break || !is_tie_break(points) => {
            GameScore::Points([first, second])
        }
        _ => GameScore::TieBreak(points),
    }
}

fn ordinary(shown: PointsCell) -> Option<u8> {
    match shown {
        PointsCell::Number(0) => Some(0),
        PointsCell::Number(15) => Some(1),
        PointsCell::Number(30) => Some(2),
        PointsCell::Number(40) => Some(3),
        PointsCell::Advantage => Some(4),
        PointsCell::Number(_) | PointsCell::Game => None,
    }
}

fn count(shown: PointsCell) -> u16 {
    match shown {
        PointsCell::Number(points) => points,
        PointsCell::Advantage | PointsCell::Game => 0,
    }
}

/// A tie-break that is over is shown as 0-0, or with its last points.
fn is_shown(game: GameScore, set: &SetScore, cells: Pair<PointsCell>) -> bool {
    match game {
        GameScore::TieBreak([0, 0]) | GameScore::Points([0, 0]) => {
            let last = set.tie_break.map(|points| points.map(PointsCell::Number));
            is_game_over(cells) || last == Some(cells)
        }
        GameScore::TieBreak(points) => points.map(PointsCell::Number) == cells,
        GameScore::Points(points) => {
            let cell = |points| match points {
                0 => PointsCell::Number(0),
                1 => PointsCell::Number(15),
                2 => PointsCell::Number(30),
                3 => PointsCell::Number(40),
                _ => PointsCell::Advantage,
            };
            points.map(cell) == cells
        }
    }
}
