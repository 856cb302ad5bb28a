//! The sports, and what differs between them.
//!
//! What is data about a sport is in its [`SportProfile`]: its names, how it is played, how it is sold, and what feeds
//! call it. Everything else reads it here, so that a sport is described in one place.

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

/// What differs between the sports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SportProfile {
    /// The display name: `CS2`, `Hockey`.
    pub title: &'static str,
    /// The display name on pages with matches: `CS2`, `Ice hockey`.
    pub page_title: &'static str,
    /// The name in documentation: `Counter-Strike 2`, `Ice hockey`.
    pub full_title: &'static str,
    /// The name within a sentence: `CS2`, `hockey`.
    pub in_text: &'static str,
    /// The beginning of the names of its types in schemas: `Cs2`, `Hockey`.
    pub type_name: &'static str,
    /// The facts that report the play of its matches.
    pub play: PlayKind,
    /// Whether the sides of its matches are players, not teams.
    pub is_of_players: bool,
    /// Whether the order of the sides has a meaning, as where one of them is at home.
    pub has_home: bool,
    /// Whether every feed names the home side first; American sports name it second.
    pub is_home_first: bool,
    /// The largest difference between two feeds' starts of one match, in hours. Rain changes the order of play of a
    /// tennis tournament; in sports whose teams may play twice on a day, feeds agree better.
    pub start_window_h: i64,
    /// How many outcomes a result has, at least and at most. A draw is one of them.
    pub outcomes: [usize; 2],
    /// Whether feeds have markets of regular time next to those of the whole match.
    pub has_regular_time: bool,
    /// Whether it is a product, with REST paths and an MCP server; otherwise only its odds are published.
    pub is_product: bool,
    /// Whether its channels need the Sports add-on.
    pub is_of_addon: bool,
    /// The name of its matches in REST paths.
    pub matches: &'static str,
    /// What its MCP server does, in at most 100 characters, the limit of server cards.
    pub mcp: &'static str,
    /// The `status` of its matches in REST.
    pub status: StatusWords,
    /// Its event type at Betfair, as `listEventTypes` has it.
    pub betfair: Option<&'static str>,
    /// Its URN in Sportradar's Unified Odds Feed.
    pub sportradar: Option<&'static str>,
    /// The first word of its keys at The Odds API.
    pub the_odds_api: Option<&'static str>,
}

/// The words for those statuses for which sports have different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusWords {
    pub not_started: &'static str,
    pub live: &'static str,
    pub interrupted: &'static str,
    pub finished: &'static str,
    pub retired: &'static str,
    pub walkover: &'static str,
}

const STATUS: StatusWords = StatusWords {
    not_started: "scheduled",
    live: "live",
    interrupted: "live",
    finished: "finished",
    retired: "finished",
    walkover: "finished",
};

/// A product of teams that is followed by its scoreboard, without a name at any feed.
const fn of_teams(title: &'static str, in_text: &'static str) -> SportProfile {
    SportProfile {
        title,
        page_title: title,
        full_title: title,
        in_text,
        type_name: title,
        play: PlayKind::Scoreboard,
        is_of_players: false,
        has_home: true,
        is_home_first: false,
        start_window_h: 1,
        outcomes: [2, 3],
        has_regular_time: false,
        is_product: true,
        is_of_addon: true,
        matches: "matches",
        mcp: "",
        status: STATUS,
        betfair: None,
        sportradar: None,
        the_odds_api: None,
    }
}

impl Sport {
    /// What differs from other sports.
    #[must_use]
    #[rustfmt::skip]
    pub fn profile(self) -> &'static SportProfile {
        match self {
            Self::Football => const { &SportProfile {
                play: PlayKind::Football, is_home_first: true, start_window_h: 3, outcomes: [3, 3],
                is_of_addon: false, matches: "events",
                mcp: "Live football: scores, incidents, line-ups, statistics, odds, predictions and signals",
                betfair: Some("1"), sportradar: Some("sr:sport:1"), the_odds_api: Some("soccer"),
                ..of_teams("Football", "football")
            } },
            Self::Tennis => const { &SportProfile {
                play: PlayKind::Tennis, is_of_players: true, has_home: false, is_home_first: true,
                start_window_h: 36, outcomes: [2, 2], is_of_addon: false,
                mcp: "Live tennis: matches point by point, players, rankings, odds and predictions",
                status: StatusWords { interrupted: "interrupted", retired: "retired", walkover: "walkover", ..STATUS },
                betfair: Some("2"), sportradar: Some("sr:sport:5"), the_odds_api: Some("tennis"),
                ..of_teams("Tennis", "tennis")
            } },
            Self::Cs2 => const { &SportProfile {
                full_title: "Counter-Strike 2", type_name: "Cs2", has_home: false,
                mcp: "Live CS2: matches, maps, teams, players, odds and predictions",
                status: StatusWords { not_started: "notstarted", live: "inprogress", interrupted: "inprogress", ..STATUS },
                sportradar: Some("sr:sport:109"),
                ..of_teams("CS2", "CS2")
            } },
            Self::Darts => const { &SportProfile {
                is_of_players: true, has_home: false, is_home_first: true,
                mcp: "Live darts: matches, players, rankings, odds and predictions",
                status: StatusWords { walkover: "walkover", ..STATUS },
                betfair: Some("3503"), sportradar: Some("sr:sport:22"), the_odds_api: Some("darts"),
                ..of_teams("Darts", "darts")
            } },
            Self::Hockey => const { &SportProfile {
                page_title: "Ice hockey", full_title: "Ice hockey", has_regular_time: true,
                mcp: "Live ice hockey: matches, teams, standings, odds and predictions",
                status: StatusWords { walkover: "awarded", ..STATUS },
                betfair: Some("7524"), sportradar: Some("sr:sport:4"), the_odds_api: Some("icehockey"),
                ..of_teams("Hockey", "hockey")
            } },
            Self::Basketball => const { &SportProfile {
                has_regular_time: true, matches: "events",
                mcp: "Live basketball: matches, box scores, teams, standings, odds and predictions",
                betfair: Some("7522"), sportradar: Some("sr:sport:2"), the_odds_api: Some("basketball"),
                ..of_teams("Basketball", "basketball")
            } },
            Self::HorseRacing => const { &SportProfile {
                type_name: "HorseRacing", play: PlayKind::Race, is_home_first: true, outcomes: [0, 0], matches: "races",
                mcp: "Live horse racing: meetings, races, runners, horses, jockeys, trainers and odds",
                status: StatusWords { not_started: "prematch", finished: "archived", ..STATUS },
                betfair: Some("7"),
                ..of_teams("Horse racing", "horse racing")
            } },
            Self::Cricket => const { &SportProfile {
                play: PlayKind::None, is_home_first: true, is_product: false,
                betfair: Some("4"), sportradar: Some("sr:sport:21"), the_odds_api: Some("cricket"),
                ..of_teams("Cricket", "cricket")
            } },
            Self::Other => const { &SportProfile {
                play: PlayKind::None, is_product: false, ..of_teams("Other", "other")
            } },
        }
    }

    /// The first sport whose profile fits; [`Sport::Other`] without one.
    #[must_use]
    pub fn find(fits: impl Fn(&SportProfile) -> bool) -> Self {
        let found = Self::ALL.into_iter().find(|sport| fits(sport.profile()));
        found.unwrap_or(Self::Other)
    }

    /// The facts that report the play of its matches.
    #[must_use]
    pub fn play(self) -> PlayKind {
        self.profile().play
    }

    /// Whether the sides of its matches are players, not teams.
    #[must_use]
    pub fn is_of_players(self) -> bool {
        self.profile().is_of_players
    }
}
