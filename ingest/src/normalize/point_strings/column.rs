//! The `score` column, which is written from the winner's side: `4-6 7-6(3) 6-3`.

use facts::event::{Pair, SetScore, Side, TennisScore};

/// Games of each set, and the loser's points of its tie-break if they are given.
type Sets = Vec<(Pair<u8>, Option<u16>)>;

/// Whether the column says that the match was not played to its end: `6-4 2-1 RET`.
pub(super) fn breaks_off(column: &str) -> bool {
    column.chars().any(|letter| letter.is_ascii_alphabetic())
}

/// What the score of the points would be in the column, where the column says something else.
pub(super) fn disagrees(column: &str, score: &TennisScore, winner: Side) -> Option<String> {
    let listed = sets(column)?;
    let played: Vec<_> = score.sets.iter().filter(|set| **set != SetScore::default()).collect();
    let same = |(set, (games, loser)): (&&SetScore, &(Pair<u8>, Option<u16>))| {
        let both = points_of_loser(set).zip(*loser);
        seen_by(set.games, winner) == *games && both.is_none_or(|(kept, listed)| kept == listed)
    };
    let agree = played.len() == listed.len() && played.iter().zip(&listed).all(same);
    (!agree).then(|| played.iter().map(|set| text(set, winner)).collect::<Vec<_>>().join(" "))
}

/// The sets that the column states; `None` where it states none that we can read.
pub(super) fn stated(column: &str, winner: Side) -> Option<Vec<SetScore>> {
    let set = |(games, _)| SetScore { games: seen_by(games, winner), tie_break: None };
    Some(sets(column)?.into_iter().map(set).collect())
}

/// `None` where there is no score in the column, or none that we can read.
fn sets(column: &str) -> Option<Sets> {
    let sets =
        column.split_whitespace().filter(|set| set.starts_with(|c: char| c.is_ascii_digit()));
    let sets = sets.map(set).collect::<Option<Sets>>()?;
    (!sets.is_empty()).then_some(sets)
}

fn set(text: &str) -> Option<(Pair<u8>, Option<u16>)> {
    let (games, tie_break) = match text.split_once('(') {
        Some((games, points)) => (games, Some(points.trim_end_matches(')').parse().ok()?)),
        None => (text, None),
    };
    let (first, other) = games.split_once('-')?;
    Some(([first.parse().ok()?, other.parse().ok()?], tie_break))
}

fn text(set: &SetScore, winner: Side) -> String {
    let [first, other] = seen_by(set.games, winner);
    let tie_break = points_of_loser(set).map(|points| format!("({points})"));
    format!("{first}-{other}{}", tie_break.unwrap_or_default())
}

fn points_of_loser(set: &SetScore) -> Option<u16> {
    set.tie_break.map(|[first, second]| first.min(second))
}

fn seen_by<T: Copy>(pair: Pair<T>, side: Side) -> Pair<T> {
    [pair[side.index()], pair[side.other().index()]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(column: &str, expected: Option<&str>) {
        let set = |games, tie_break| SetScore { games, tie_break };
        let sets = vec![set([4, 6], None), set([7, 6], Some([9, 7])), set([1, 6], None)];
        let score = TennisScore { sets, ..TennisScore::default() };
        assert_eq!(disagrees(column, &score, Side::Second).as_deref(), expected, "{column}");
    }

    #[test]
    fn column_is_compared_from_the_winners_side() {
        let ours = Some("6-4 6-7(7) 6-1");
        for column in ["6-4 6-7(7) 6-1", "6-4 6-7 6-1", "", "unknown", "6-4 6-7 6-1 RET"] {
            check(column, None);
        }
        for column in ["4-6 7-6 1-6", "6-4 6-7(5) 6-1", "6-4 6-7", "6-4 6-7 6-1 6-1"] {
            check(column, ours);
        }
    }
}
