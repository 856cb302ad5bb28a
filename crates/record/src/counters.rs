//! The counters of both sides of a match, with the zeros that feeds omit.
//!
//! Feeds send a counter once it has changed, and often for one side only. Clients average these
//! counters, so a counter that is tracked but has not changed must be 0. A counter that no feed
//! tracks in this match stays absent: SERVICE section 8, row 7.

use std::{borrow::Borrow, collections::BTreeMap, sync::Arc};

use super::FootballRecord;

/// By the names of `facts::event::Stat`.
pub type Counters = BTreeMap<Arc<str>, u32>;

const POSSESSION: &str = "ball_possession";
const CARDS: [&str; 2] = ["yellow_cards", "red_cards"];

/// A feed that tracks the first of these tracks all of them.
const FAMILIES: [&[&str]; 2] = [
    &[
        "passes",
        "accurate_passes",
        "total_shots",
        "shots_on_target",
        "shots_off_target",
        "blocked_shots",
        "saves",
        "corner_kicks",
        "fouls",
        "offsides",
    ],
    &["throw_ins", "free_kicks", "goal_kicks"],
];

impl FootballRecord {
    /// The counters of both sides, with the zeros that feeds omit.
    #[must_use]
    pub fn counters(&self) -> [Counters; 2] {
        let mut sides = self.stats.clone();
        let has_play = !self.incidents.is_empty();
        let standing = self.incidents.iter().filter(|it| it.retracted.is_none());
        let shown = standing.filter_map(|it| Some((CardColour::from_kind(&it.kind)?, it.side?)));
        complete(&mut sides, has_play, shown);
        sides
    }
}

/// The colour under which a card counts: a second yellow card is a red card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardColour {
    Yellow,
    Red,
}

impl CardColour {
    /// The colour under which an incident of this kind counts, as the stream protocol names kinds; `None` if it is no card.
    #[must_use]
    pub fn from_kind(kind: &str) -> Option<Self> {
        match kind {
            "yellow" => Some(Self::Yellow),
            "second_yellow" | "red" => Some(Self::Red),
            _ => None,
        }
    }
}

/// Adds to the counters of both sides the zeros that feeds omit. `has_incidents`: whether a feed
/// reports incidents; `shown`: the cards among them, each with its side, which are counted if no
/// counter provides them.
pub fn complete<K: Ord + Clone + Borrow<str> + From<&'static str>>(
    sides: &mut [BTreeMap<K, u32>; 2],
    has_incidents: bool,
    shown: impl IntoIterator<Item = (CardColour, u8)>,
) {
    for family in FAMILIES {
        let is_counted = sides.iter().any(|side| side.contains_key(family[0]));
        for name in family.iter().filter(|_| is_counted) {
            sides[0].entry(K::from(*name)).or_default();
        }
    }
    let mut cards = [[0; 2]; 2];
    for (card, side) in shown {
        if let Some(count) = cards[card as usize].get_mut(usize::from(side)) {
            *count += 1;
        }
    }
    let has_play = has_incidents || sides.iter().any(|side| !side.is_empty());
    for (name, counts) in CARDS.into_iter().zip(cards) {
        if has_play && !sides.iter().any(|side| side.contains_key(name)) {
            for (side, count) in sides.iter_mut().zip(counts) {
                side.insert(K::from(name), count);
            }
        }
    }
    let [home, away] = sides;
    complete_other(home, away);
    complete_other(away, home);
}

/// Adds to `other` the counters that only `own` has: zero, or for possession the rest of 100 %.
fn complete_other<K: Ord + Clone + Borrow<str>>(
    counts: &BTreeMap<K, u32>,
    other: &mut BTreeMap<K, u32>,
) {
    for (name, count) in counts {
        let text: &str = name.borrow();
        if !other.contains_key(text) {
            let is_share = text == POSSESSION;
            other.insert(name.clone(), if is_share { 100_u32.saturating_sub(*count) } else { 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IncidentRecord;

    fn with_stats(sides: [&[(&str, u32)]; 2]) -> FootballRecord {
        let stats = sides.map(|side| side.iter().map(|(name, n)| ((*name).into(), *n)).collect());
        FootballRecord { stats, ..FootballRecord::default() }
    }

    #[test]
    fn counter_of_one_side_is_zero_for_the_other() {
        let [home, away] = with_stats([&[("corner_kicks", 3)], &[("offsides", 1)]]).counters();
        assert_eq!((home["corner_kicks"], away["corner_kicks"]), (3, 0));
        assert_eq!((home["offsides"], away["offsides"]), (0, 1));
        assert!(!home.contains_key("passes"), "no source counts passes in this match: {home:?}");
        let [home, away] = with_stats([&[("ball_possession", 61)], &[]]).counters();
        assert_eq!((home["ball_possession"], away["ball_possession"]), (61, 39));
    }

    #[test]
    fn missing_shot_counters_are_zero_if_the_feed_counts_passes() {
        let [home, away] = with_stats([&[("passes", 20)], &[("passes", 9)]]).counters();
        for name in ["total_shots", "shots_on_target", "offsides", "fouls", "corner_kicks"] {
            assert_eq!((home[name], away[name]), (0, 0), "{name}");
        }
        assert!(!home.contains_key("attacks") && !home.contains_key("throw_ins"), "{home:?}");
    }

    #[test]
    fn cards_are_counted_from_incidents_if_there_is_no_counter() {
        let shown = |kind: &str, side: u8, retracted: Option<&str>| IncidentRecord {
            eid: kind.into(),
            kind: kind.into(),
            minute: 1,
            side: Some(side),
            retracted: retracted.map(Into::into),
            ..IncidentRecord::default()
        };
        let incidents = vec![
            shown("yellow", 1, None),
            shown("second_yellow", 1, None),
            shown("red", 0, Some("mistaken identity")),
        ];
        let football = FootballRecord { incidents, ..FootballRecord::default() };
        let [home, away] = football.counters();
        assert_eq!((home["yellow_cards"], away["yellow_cards"]), (0, 1));
        assert_eq!((home["red_cards"], away["red_cards"]), (0, 1));
        assert_eq!(FootballRecord::default().counters(), [Counters::new(), Counters::new()]);
    }
}
