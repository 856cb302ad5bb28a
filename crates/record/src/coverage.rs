//! The coverage of a match: the `source` of the older sockets, and the flag `websocket_plus`.

use crate::{FootballRecord, MatchRecord};

/// A football match has full coverage if a feed provides who or where: an incident with its player,
/// or the position of the ball. Otherwise a feed provides only score, clock and counts.
#[must_use]
pub fn says_who_or_where(has_ball: bool, mut has_player: impl Iterator<Item = bool>) -> bool {
    has_ball || has_player.any(|has_player| has_player)
}

impl FootballRecord {
    #[must_use]
    pub fn is_full(&self) -> bool {
        let players = self.incidents.iter().map(|incident| incident.player.is_some());
        says_who_or_where(self.ball.is_some(), players)
    }
}

impl MatchRecord {
    /// Whether a feed provides who or where. Always false for sports other than football.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.play.football().is_some_and(FootballRecord::is_full)
    }
}
