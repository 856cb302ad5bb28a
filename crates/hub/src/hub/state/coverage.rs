//! Whether a match has full coverage: see [`says_who_or_where`].

use super::{Football, Match, Play};
use record::says_who_or_where;

impl Football {
    /// Whether a feed provides who or where.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let players = self.incidents.iter().map(|entry| entry.incident.player.is_some());
        says_who_or_where(self.ball.is_some(), players)
    }
}

impl Match {
    /// Whether a feed provides who or where. Always false for sports other than football.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(&self.play, Play::Football(football) if football.is_full())
    }
}
