//! Finds the first leg of a two-legged tie: `previous_leg_event_id`.
//!
//! No feed provides it, but it follows from named rounds: two sides that meet twice in the same knock-out
//! round, each once at home, play a two-legged tie.

use std::sync::Arc;

use fanout::Micros;

use record::{Key, MatchSummary};

/// The maximum time between two legs. The longest pause is over the winter.
const APART_MAX: Micros = 100 * 86_400_000_000;

/// Words in the names of knock-out rounds, in lower case. In other rounds, those of leagues and groups, two
/// sides may also meet twice.
const KNOCK_OUT: [&str; 9] = [
    "final",
    "round of",
    "play-off",
    "playoff",
    "play off",
    "knockout",
    "qualifying",
    "preliminary",
    "promotion",
];

/// The first leg before this match, among the earlier matches of its sides with a result.
pub(super) fn previous(second: &MatchSummary, met: &[Arc<MatchSummary>]) -> Option<Key> {
    let round = second.round_name.as_deref()?.to_lowercase();
    let is_tie = second.group.is_none() && KNOCK_OUT.iter().any(|word| round.contains(word));
    let first = met.iter().rev().find(|it| is_tie && are_legs(it, second));
    first.map(|first| first.id)
}

fn are_legs(first: &MatchSummary, second: &MatchSummary) -> bool {
    let (Some([home, away]), Some(sides)) = (first.sides, second.sides) else { return false };
    let (Some(before), Some(start)) = (first.start, second.start) else { return false };
    let round = |it: &MatchSummary| (it.competition, it.season, it.round, it.round_name.clone());
    second.competition.is_some()
        && round(first) == round(second)
        && sides == [away, home]
        && before < start
        && start - before <= APART_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::football::tests::summary;
    use record::Status;

    const DAY: Micros = 86_400_000_000;

    #[test]
    fn legs_are_of_one_round_of_a_knock_out() {
        let leg = |id: Key, sides: [Key; 2], round: &str, day: i64| MatchSummary {
            competition: Some(5),
            season: Some(6),
            round_name: Some(round.into()),
            ..summary(id, sides, day * DAY, Status::Finished)
        };
        let check =
            |first: MatchSummary, second: &MatchSummary, expected: Option<Key>, why: &str| {
                assert_eq!(previous(second, &[Arc::new(first)]), expected, "{why}");
            };
        let second = leg(2, [20, 10], "Round of 16", 21);
        check(leg(1, [10, 20], "Round of 16", 0), &second, Some(1), "two legs");
        check(leg(1, [20, 10], "Round of 16", 0), &second, None, "the same side is at home again");
        check(leg(1, [10, 20], "Quarter-finals", 0), &second, None, "another round");
        check(leg(1, [10, 20], "Round of 16", -100), &second, None, "long ago");
        check(leg(1, [10, 20], "Round of 16", 22), &second, None, "later");
        let other = MatchSummary { season: Some(7), ..leg(1, [10, 20], "Round of 16", 0) };
        check(other, &second, None, "another season");
        let league = leg(2, [20, 10], "Regular Season", 21);
        check(leg(1, [10, 20], "Regular Season", 0), &league, None, "no knock-out");
        let group = MatchSummary { group: Some("A".into()), ..second };
        check(leg(1, [10, 20], "Round of 16", 0), &group, None, "a group");
    }
}
