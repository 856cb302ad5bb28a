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

    /// Its name in URLs, what it shows, and the sport that it is limited to.
    fn row(self) -> (&'static str, EntityKind, Option<Sport>) {
        match self {
            Self::Team => ("team", EntityKind::Team, None),
            Self::League => ("league", EntityKind::Competition, None),
            Self::Player => ("player", EntityKind::Player, None),
            Self::Manager => ("manager", EntityKind::Manager, None),
            Self::Venue => ("venue", EntityKind::Venue, None),
            Self::TennisPlayer => ("tennis-player", EntityKind::Player, Some(Sport::Tennis)),
            Self::CsgoTeam => ("csgo-team", EntityKind::Team, Some(Sport::Cs2)),
            Self::CsgoTournament => ("csgo-tournament", EntityKind::Competition, Some(Sport::Cs2)),
            Self::BasketballTeam => ("basketball/team", EntityKind::Team, Some(Sport::Basketball)),
            Self::HockeyTeam => ("hockey/team", EntityKind::Team, Some(Sport::Hockey)),
        }
    }

    /// Its name in URLs, and its folder among an operator's files.
    #[must_use]
    pub fn path(self) -> &'static str {
        self.row().0
    }

    /// The kind of entity that it shows.
    #[must_use]
    pub fn entity(self) -> EntityKind {
        self.row().1
    }

    /// The sport that it is limited to. Types without a sport in their names apply to all, since ids are
    /// unique across sports.
    #[must_use]
    pub fn sport(self) -> Option<Sport> {
        self.row().2
    }
}
