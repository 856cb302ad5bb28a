//! Compares the state columns of a row with a score, and converts them to one.

use facts::{
    event::{GameScore, Pair, SetScore, Side, TennisScore},
    tennis::{FinalSet, MatchFormat},
};

use crate::decode::slam::{PointRow, PointsCell};

/// Whether a score is the one that a row shows after its point.
pub(super) fn agrees(score: &TennisScore, row: &PointRow) -> bool {
    let at = usize::from(row.set) - 1;
    let Some(set) = score.sets.get(at) else { return false };
    let over = set.winner();
    let begun = at + 1 + usize::from(over.is_some() && score.winner.is_none());
    let set_winner = over.map_or(0, |side| side.index() as u8 + 1);
    score.sets.len() == begun
        && set.games == row.games
        && row.set_winner.is_none_or(|column| column == set_winner)
        && shown(score.game) == row.shown
}

/// The score that a row shows. `before` is the one before its point, with its server, and `after`
/// what our rules made of that.
pub(super) fn by_columns(
    before: &TennisScore,
    after: &TennisScore,
    row: &PointRow,
    winner: Side,
    format: MatchFormat,
) -> TennisScore {
    let at = usize::from(row.set) - 1;
    let mut score = TennisScore { points: after.points, ..before.clone() };
    score.sets.resize(at + 1, SetScore::default());
    let set = &mut score.sets[at];
    let tie_break = tie_break_before(before, at);
    let game_over = row.shown == [PointsCell::Number(0); 2];
    set.games = row.games;
    if game_over {
        set.tie_break = tie_break.map(|points| one_more(points, winner)).or(set.tie_break);
        score.game = GameScore::default();
    } else {
        score.game = game(row.shown, tie_break.is_some());
        if let GameScore::TieBreak(points) = score.game {
            set.tie_break = Some(points);
        }
    }
    let set_over = match row.set_winner {
        Some(column) => column != 0,
        None => set.winner().is_some(),
    };
    if set_over {
        score.sets.push(SetScore::default());
    } else if game_over && row.games == [6, 6] && ends_in_tie_break(at, format) {
        score.sets[at].tie_break = Some([0, 0]);
        score.game = GameScore::TieBreak([0, 0]);
    }
    score.server = before.server.and_then(|server| next_server(server, score.game, after));
    score
}

/// Who serves after a point of `server` that led to this. After a tie-break it is for the rules to
/// say, if they saw it end.
fn next_server(server: Side, game: GameScore, after: &TennisScore) -> Option<Side> {
    match game {
        GameScore::TieBreak([0, 0]) => Some(server.other()),
        GameScore::TieBreak([first, second]) if (first + second) % 2 == 1 => Some(server.other()),
        GameScore::Points([0, 0]) if after.game == game => after.server,
        GameScore::Points([0, 0]) => Some(server.other()),
        GameScore::TieBreak(_) | GameScore::Points(_) => Some(server),
    }
}

/// The points of the tie-break in progress, if the set is in one.
fn tie_break_before(before: &TennisScore, set: usize) -> Option<Pair<u16>> {
    match before.game {
        GameScore::TieBreak(points) if before.sets.len() == set + 1 => Some(points),
        _ => None,
    }
}

fn one_more(mut points: Pair<u16>, winner: Side) -> Pair<u16> {
    points[winner.index()] = points[winner.index()].saturating_add(1);
    points
}

fn ends_in_tie_break(set: usize, format: MatchFormat) -> bool {
    let last = usize::from(format.sets_to_win) * 2 - 1;
    set + 1 < last || format.final_set != FinalSet::Advantage
}

/// A game in which a side has 1 or 7 points is a tie-break, even if the rules expected none.
fn game(shown: Pair<PointsCell>, in_tie_break: bool) -> GameScore {
    match (shown.map(ordinary), shown) {
        ([Some(first), Some(second)], _) if !in_tie_break => GameScore::Points([first, second]),
        (_, shown) => GameScore::TieBreak(shown.map(count)),
    }
}

fn ordinary(shown: PointsCell) -> Option<u8> {
    match shown {
        PointsCell::Number(0) => Some(0),
        PointsCell::Number(15) => Some(1),
        PointsCell::Number(30) => Some(2),
        PointsCell::Number(40) => Some(3),
        PointsCell::Advantage => Some(4),
        PointsCell::Number(_) => None,
    }
}

fn count(shown: PointsCell) -> u16 {
    match shown {
        PointsCell::Number(points) => points,
        PointsCell::Advantage => 0,
    }
}

fn shown(game: GameScore) -> Pair<PointsCell> {
    match game {
        GameScore::TieBreak(points) => points.map(PointsCell::Number),
        GameScore::Points(points) => points.map(|points| match points {
            0 => PointsCell::Number(0),
            1 => PointsCell::Number(15),
            2 => PointsCell::Number(30),
            3 => PointsCell::Number(40),
            _ => PointsCell::Advantage,
        }),
    }
}
