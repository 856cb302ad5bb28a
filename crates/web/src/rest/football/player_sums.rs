//! What the players of a side did together: for counters that feeds give of players only.

use std::collections::BTreeMap;

use record::FootballRecord;

/// Sums over the players of one side, by the names of `facts::event::PlayerStat`. What a feed counts of any player
/// of the match is a number for both sides.
#[derive(Debug, Default)]
pub(in crate::rest) struct PlayerSums<'a> {
    sums: BTreeMap<&'a str, u32>,
}

impl<'a> PlayerSums<'a> {
    /// Those of the home side and of the away side.
    pub(in crate::rest) fn both(football: &'a FootballRecord) -> [Self; 2] {
        let mut sides = <[Self; 2]>::default();
        for player in &football.players {
            for (name, count) in &player.values {
                for (side, side_sums) in (0..).zip(&mut sides) {
                    let sum = side_sums.sums.entry(name).or_default();
                    if player.side == side {
                        *sum = sum.saturating_add(*count);
                    }
                }
            }
        }
        sides
    }

    /// `None` if no feed counts it.
    pub(in crate::rest) fn get(&self, name: &str) -> Option<u32> {
        self.sums.get(name).copied()
    }

    /// The same of both sides.
    pub(super) fn get_both([home, away]: &[Self; 2], name: &str) -> Option<[u32; 2]> {
        Some([home.get(name)?, away.get(name)?])
    }
}
