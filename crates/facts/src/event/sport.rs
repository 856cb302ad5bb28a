//! The sports, and what differs between them.

use super::words::words;

words! {
    /// The sport, as in the names of channels.
    pub enum Sport {
        Football = "football",
        Tennis = "tennis",
        /// Counter-Strike 2.
        Cs2 = "csgo",
        Darts = "darts",
        Hockey = "hockey",
        Basketball = "basketball",
        HorseRacing = "horseracing",
        Cricket = "cricket",
        /// Any other sport; only its odds are published.
        Other = "other",
    }
}

/// The facts that report the play of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlayKind {
    Football,
    Tennis,
    Scoreboard,
    Race,
    /// Only odds are published.
    None,
}

impl Sport {
    /// The facts that report the play of its matches.
    #[must_use]
    pub fn play(self) -> PlayKind {
        match self {
            Self::Football => PlayKind::Football,
            Self::Tennis => PlayKind::Tennis,
            Self::Cs2 | Self::Darts | Self::Hockey | Self::Basketball => PlayKind::Scoreboard,
            Self::HorseRacing => PlayKind::Race,
            Self::Cricket | Self::Other => PlayKind::None,
        }
    }

    /// Whether the sides of its matches are players, not teams.
    #[must_use]
    pub fn is_of_players(self) -> bool {
        match self {
            Self::Tennis | Self::Darts => true,
            Self::Football
            | Self::Cs2
            | Self::Hockey
            | Self::Basketball
            | Self::HorseRacing
            | Self::Cricket
            | Self::Other => false,
        }
    }
}
