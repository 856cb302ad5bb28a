//! The types of images, as in their URLs.

use facts::event::Sport;
use history::query::EntityKind;

/// SERVICE section 4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageKind {
    Team,
    League,
    Player,
    Manager,
    Venue,
    TennisPlayer,
    CsgoTeam,
    CsgoTournament,
    BasketballTeam,
    HockeyTeam,
}

impl ImageKind {
    pub const ALL: [Self; 10] = [
        Self::Team,
        Self::League,
        Self::Player,
        Self::Manager,
        Self::Venue,
        Self::TennisPlayer,
        Self::CsgoTeam,
        Self::CsgoTournament,
        Self::BasketballTeam,
        Self::HockeyTeam,
    ];

    /// The type with this name in URLs; CS2's teams have two names.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "csgo/team" => Some(Self::CsgoTeam),
            name => Self::ALL.into_iter().find(|kind| kind.path() == name),
        }
    }

    /// Its name in URLs, and its folder among an operator's files.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Team => "team",
            Self::League => "league",
            Self::Player => "player",
            Self::Manager => "manager",
            Self::Venue => "venue",
            Self::TennisPlayer => "tennis-player",
            Self::CsgoTeam => "csgo-team",
            Self::CsgoTournament => "csgo-tournament",
            Self::BasketballTeam => "basketball/team",
            Self::HockeyTeam => "hockey/team",
        }
    }

    /// The kind of entity that it shows.
    #[must_use]
    pub fn entity(self) -> EntityKind {
        match self {
            Self::Team | Self::CsgoTeam | Self::BasketballTeam | Self::HockeyTeam => {
                EntityKind::Team
            }
            Self::League | Self::CsgoTournament => EntityKind::Competition,
            Self::Player | Self::TennisPlayer => EntityKind::Player,
            Self::Manager => EntityKind::Manager,
            Self::Venue => EntityKind::Venue,
        }
    }

    /// The sport that it is limited to. Types without a sport in their names apply to all, since ids are
    /// unique across sports.
    #[must_use]
    pub fn sport(self) -> Option<Sport> {
        match self {
            Self::Team | Self::League | Self::Player | Self::Manager | Self::Venue => None,
            Self::TennisPlayer => Some(Sport::Tennis),
            Self::CsgoTeam | Self::CsgoTournament => Some(Sport::Cs2),
            Self::BasketballTeam => Some(Sport::Basketball),
            Self::HockeyTeam => Some(Sport::Hockey),
        }
    }
}
