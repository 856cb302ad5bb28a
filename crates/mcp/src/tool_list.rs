//! The tools of each server. Names are those that agents call already: SERVICE section 4.3.

use accounts::products::Product;
use facts::event::Sport;

use crate::names::Tense;

/// A tool, before its schemas are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolDeclaration {
    pub name: &'static str,
    /// For the model: what it gets, and when to call it.
    pub about: &'static str,
    pub does: ToolAction,
    /// Whether `?tools=core` lists it.
    pub is_core: bool,
}

/// What a tool does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToolAction {
    /// Asks the REST interface at this path. `id` is the name of the argument for the path's `{id}`.
    Rest {
        path: &'static str,
        id: &'static str,
        /// The path for the answer about one match, if that argument is given.
        of_match: Option<&'static str>,
    },
    /// Lists matches of the REST interface at this path as lines, in the order that the call means.
    Matches {
        path: &'static str,
        /// The name of the argument for the path's `{id}`.
        id: &'static str,
    },
    /// Lists the matches in play as lines.
    LiveScores,
    /// Asks REST for the earlier meetings of the sides of a match at this path, or finds those of two sides.
    HeadToHead {
        path: &'static str,
    },
    /// Asks REST about one match, with further sections on request.
    MatchDetail,
    /// REST's prices of one match side by side, of some markets or bookmakers on request.
    CompareOdds,
    OddsHistory,
    Money,
    Find,
    CheckMatches,
    WaitForChange,
    Feeds,
    Account,
    /// No source of this hub reports it; the reason, as a sentence. It is not listed.
    NotAvailable(&'static str),
}

impl ToolAction {
    /// Whether every server has the tool, so that its name tells nothing.
    pub(crate) fn is_on_every_server(self) -> bool {
        matches!(self, Self::Find | Self::CheckMatches | Self::WaitForChange)
    }

    pub(crate) fn is_listed(self) -> bool {
        !matches!(self, Self::NotAvailable(_))
    }
}

/// Other names of tools, which are not listed.
pub(crate) const ALIASES: [(&str, &str); 3] = [
    ("get_top_scorers", "get_leaders"),
    ("get_head_to_head", "get_match_h2h"),
    ("get_h2h", "get_match_h2h"),
];

const fn rest(name: &'static str, path: &'static str, about: &'static str) -> ToolDeclaration {
    get(name, path, "", about)
}

/// About one thing, by its id.
const fn get(
    name: &'static str,
    path: &'static str,
    id: &'static str,
    about: &'static str,
) -> ToolDeclaration {
    ToolDeclaration {
        name,
        about,
        does: ToolAction::Rest { path, id, of_match: None },
        is_core: false,
    }
}

const fn matches(
    name: &'static str,
    path: &'static str,
    id: &'static str,
    about: &'static str,
) -> ToolDeclaration {
    ToolDeclaration { name, about, does: ToolAction::Matches { path, id }, is_core: true }
}

const fn hub_tool(name: &'static str, does: ToolAction, about: &'static str) -> ToolDeclaration {
    ToolDeclaration { name, about, does, is_core: true }
}

const fn absent(name: &'static str, about: &'static str, why: &'static str) -> ToolDeclaration {
    ToolDeclaration { name, about, does: ToolAction::NotAvailable(why), is_core: false }
}

impl ToolDeclaration {
    /// Which match of two sides the tool is about, if the call does not say.
    pub(crate) fn tense(&self) -> Tense {
        match self.name {
            "get_match_incidents" | "get_match_shotmap" | "get_box_score" | "get_team_stats" => {
                Tense::Past
            }
            "compare_odds" | "get_predictions" | "get_money" | "get_pregame"
            | "wait_for_change" => Tense::Future,
            _ => Tense::Nearest,
        }
    }

    const fn core(self) -> Self {
        Self { is_core: true, ..self }
    }
}

const FIND: ToolDeclaration = hub_tool(
    "find",
    ToolAction::Find,
    "Find ids by names: matches (\"A v B\"), teams, players, leagues, venues, people. Start here.",
);
const CHECK_MATCHES: ToolDeclaration = hub_tool(
    "check_matches",
    ToolAction::CheckMatches,
    "Status, start, score and feed state of up to 50 matches in one call.",
);
const WAIT_FOR_CHANGE: ToolDeclaration = hub_tool(
    "wait_for_change",
    ToolAction::WaitForChange,
    "Wait until something happens in a match, at most timeout_s. Pass the returned positions as since to miss \
     nothing.",
);

const FOOTBALL: &[ToolDeclaration] = &[
    FIND,
    CHECK_MATCHES,
    WAIT_FOR_CHANGE,
    matches(
        "search_matches",
        "/api/v2/events/",
        "",
        "Matches by day, team (also \"A v B\"), league or status: results newest first, others earliest first.",
    ),
    hub_tool(
        "get_live_scores",
        ToolAction::LiveScores,
        "Scores of matches in play, about to begin, or just over: a line each.",
    ),
    ToolDeclaration {
        name: "get_match_detail",
        about: "One match: teams, score, status. `include` adds sections.",
        does: ToolAction::MatchDetail,
        is_core: true,
    },
    ToolDeclaration {
        name: "get_match_h2h",
        about: "Earlier meetings of the teams of a match, or all of any two teams.",
        does: ToolAction::HeadToHead { path: "/api/v2/events/{id}/h2h/" },
        is_core: false,
    },
    get(
        "get_match_lineups",
        "/api/v2/events/{id}/lineups/",
        "match_id",
        "Who starts and who is on the bench.",
    ),
    get(
        "get_match_shotmap",
        "/api/v2/events/{id}/stats/",
        "match_id",
        "Shots with positions and expected goals, momentum and team statistics.",
    ),
    get(
        "get_match_incidents",
        "/api/v2/events/{id}/incidents/",
        "match_id",
        "Goals, cards, substitutions and VAR, the newest first. Retracted ones are marked.",
    ),
    rest("search_teams", "/api/v2/teams/", "Teams by a part of their name."),
    get("get_team_detail", "/api/v2/teams/{id}/", "team_id", "One team."),
    ToolDeclaration {
        is_core: false,
        ..matches(
            "get_team_fixtures",
            "/api/v2/teams/{id}/fixtures/",
            "team_id",
            "Matches of a team: those to come, or the last results.",
        )
    },
    get("get_team_squad", "/api/v2/teams/{id}/squad/", "team_id", "The players of a team."),
    rest("search_players", "/api/v2/players/", "Players by a part of their name."),
    get("get_player_detail", "/api/v2/players/{id}/", "player_id", "One player."),
    get(
        "get_player_stats",
        "/api/v2/players/{id}/stats/",
        "player_id",
        "What a player did, match by match.",
    ),
    rest("list_leagues", "/api/v2/leagues/", "Competitions."),
    get("get_standings", "/api/v2/leagues/{id}/standings/", "league_id", "The table of a league.")
        .core(),
    get(
        "get_leaders",
        "/api/v2/leagues/{id}/top/{stat}/",
        "league_id",
        "The players with most goals, assists, cards or another statistic in a season of a league.",
    ),
    get("list_seasons", "/api/v2/leagues/{id}/seasons/", "league_id", "The seasons of a league."),
    get("get_season", "/api/seasons/{id}/", "season_id", "One season."),
    ToolDeclaration {
        name: "compare_odds",
        about: "Every bookmaker's open price of each outcome of a match. Suspended prices are left out.",
        does: ToolAction::CompareOdds,
        is_core: true,
    },
    rest("get_best_odds", "/api/v2/odds/best/", "The best prices of upcoming matches."),
    hub_tool(
        "get_odds_history",
        ToolAction::OddsHistory,
        "How a price moved: open, high, low, close in equal intervals.",
    ),
    rest("list_bookmakers", "/api/v2/bookmakers/", "Bookmakers with prices."),
    absent(
        "get_polymarket_odds",
        "Prices of Polymarket.",
        "This hub has no feed of Polymarket: the match is not priced there.",
    ),
    ToolDeclaration {
        does: ToolAction::Rest {
            path: "/api/v2/predictions/",
            id: "",
            of_match: Some("/api/v2/events/{id}/prediction/"),
        },
        ..rest(
            "get_predictions",
            "",
            "Predicted results with probabilities and their measured quality, of one match or of many.",
        )
    }
    .core(),
    get("get_manager_detail", "/api/v2/managers/{id}/", "manager_id", "One manager."),
    rest("search_managers", "/api/v2/managers/", "Managers by a part of their name."),
    rest("list_referees", "/api/v2/referees/", "Referees and how they decide."),
    get("get_venue", "/api/v2/venues/{id}/", "venue_id", "One ground."),
    rest("list_venues", "/api/v2/venues/", "Grounds."),
    absent(
        "list_broadcasts",
        "TV broadcasts of matches.",
        "This hub has no source of TV broadcasts.",
    ),
    absent("list_tv_channels", "TV channels.", "This hub has no source of TV channels."),
    absent(
        "list_social_items",
        "Posts about teams.",
        "This hub has no source of social media posts.",
    ),
    ToolDeclaration {
        name: "get_money",
        about: "Money matched on exchanges, by market and selection of a match.",
        does: ToolAction::Money,
        is_core: false,
    },
    absent(
        "get_money_history",
        "How matched money grew.",
        "This hub keeps no history of matched money. `get_money` has the current amounts.",
    ),
    absent(
        "list_money_movers",
        "Where most money came in.",
        "This hub keeps no history of matched money. `get_money` has the current amounts.",
    ),
    rest(
        "list_signals",
        "/signals/api/",
        "Findings: arbitrages, value, steam, price gaps, suspensions, momentum.",
    )
    .core(),
    hub_tool("get_feeds", ToolAction::Feeds, "Health of the sources."),
    hub_tool("get_account", ToolAction::Account, "The account's add-ons and its usage."),
];

const TENNIS: &[ToolDeclaration] = &[
    FIND,
    CHECK_MATCHES,
    WAIT_FOR_CHANGE,
    rest("list_tournaments", "/tennis/api/v2/tournaments/", "Tournaments.").core(),
    rest("list_players", "/tennis/api/v2/players/", "Players.").core(),
    rest("search_players", "/tennis/api/v2/players/", "Players by a part of their name.").core(),
    matches(
        "list_matches",
        "/tennis/api/v2/matches/",
        "",
        "Matches by day, player, tournament or status.",
    ),
    get("get_match", "/tennis/api/v2/matches/{id}/", "match_id", "One match.").core(),
    hub_tool(
        "get_match_h2h",
        ToolAction::HeadToHead { path: "/tennis/api/v2/matches/{id}/h2h/" },
        "Earlier meetings of the players of a match, or all of any two players.",
    ),
    rest("get_predictions", "/tennis/api/v2/predictions/", "Predicted winners with probabilities.")
        .core(),
    rest("get_rankings", "/tennis/api/v2/rankings/", "Rankings by rating.").core(),
];

const CSGO: &[ToolDeclaration] = &[
    FIND,
    CHECK_MATCHES,
    WAIT_FOR_CHANGE,
    rest("list_tournaments", "/csgo/api/v2/tournaments/", "Tournaments.").core(),
    rest("list_teams", "/csgo/api/v2/teams/", "Teams.").core(),
    rest("search_teams", "/csgo/api/v2/teams/", "Teams by a part of their name.").core(),
    rest("search_players", "/csgo/api/v2/players/", "Players by a part of their name.").core(),
    matches(
        "list_matches",
        "/csgo/api/v2/matches/",
        "",
        "Matches by day, team, tournament or status.",
    ),
    get("get_match", "/csgo/api/v2/matches/{id}/", "match_id", "One match with its maps.").core(),
    rest("get_predictions", "/csgo/api/v2/predictions/", "Predicted winners with probabilities.")
        .core(),
    get("get_team", "/csgo/api/v2/teams/{id}/", "team_id", "One team.").core(),
    get("get_player", "/csgo/api/v2/players/{id}/", "player_id", "One player.").core(),
];

const DARTS: &[ToolDeclaration] = &[
    FIND,
    CHECK_MATCHES,
    WAIT_FOR_CHANGE,
    rest("list_tournaments", "/darts/api/v2/tournaments/", "Tournaments.").core(),
    rest("list_players", "/darts/api/v2/players/", "Players.").core(),
    rest("search_players", "/darts/api/v2/players/", "Players by a part of their name.").core(),
    matches(
        "list_matches",
        "/darts/api/v2/matches/",
        "",
        "Matches by day, player, tournament or status.",
    ),
    get("get_match", "/darts/api/v2/matches/{id}/", "match_id", "One match.").core(),
    rest("get_predictions", "/darts/api/v2/predictions/", "Predicted winners with probabilities.")
        .core(),
    rest("get_rankings", "/darts/api/v2/rankings/", "Rankings by rating.").core(),
];

const HOCKEY: &[ToolDeclaration] = &[
    FIND,
    CHECK_MATCHES,
    WAIT_FOR_CHANGE,
    rest("list_leagues", "/hockey/api/v2/leagues/", "Competitions.").core(),
    rest("list_teams", "/hockey/api/v2/teams/", "Teams.").core(),
    rest("search_teams", "/hockey/api/v2/teams/", "Teams by a part of their name.").core(),
    matches(
        "list_matches",
        "/hockey/api/v2/matches/",
        "",
        "Matches by day, team, league or status.",
    ),
    get("get_match", "/hockey/api/v2/matches/{id}/", "match_id", "One match with its periods.")
        .core(),
    rest("get_predictions", "/hockey/api/v2/predictions/", "Predicted winners with probabilities.")
        .core(),
];

const BASKETBALL: &[ToolDeclaration] = &[
    FIND,
    CHECK_MATCHES,
    WAIT_FOR_CHANGE,
    rest("list_leagues", "/basketball/api/v2/leagues/", "Competitions.").core(),
    rest("list_teams", "/basketball/api/v2/teams/", "Teams.").core(),
    rest("search_teams", "/basketball/api/v2/teams/", "Teams by a part of their name.").core(),
    matches(
        "list_events",
        "/basketball/api/v2/events/",
        "",
        "Games by day, team, league or status.",
    ),
    get("get_event", "/basketball/api/v2/events/{id}/", "match_id", "One game with its quarters.")
        .core(),
    rest(
        "get_predictions",
        "/basketball/api/v2/predictions/",
        "Predicted winners with probabilities.",
    )
    .core(),
    rest("search_players", "/basketball/api/v2/players/", "Players by a part of their name.")
        .core(),
    get("get_player", "/basketball/api/v2/players/{id}/", "player_id", "One player.").core(),
    get(
        "get_box_score",
        "/basketball/api/v2/events/{id}/box-score/",
        "match_id",
        "What each player did in a game.",
    )
    .core(),
    get(
        "get_team_stats",
        "/basketball/api/v2/events/{id}/team-stats/",
        "match_id",
        "What was counted of each team in a game.",
    )
    .core(),
    get(
        "get_pregame",
        "/basketball/api/v2/events/{id}/pregame/",
        "match_id",
        "Form and earlier meetings before a game.",
    )
    .core(),
    get("get_standings", "/basketball/api/v2/standings/", "", "The table of a league.").core(),
];

const HORSERACING: &[ToolDeclaration] = &[
    FIND,
    CHECK_MATCHES,
    WAIT_FOR_CHANGE,
    rest(
        "list_meetings",
        "/horseracing/api/v2/meetings/",
        "Meetings: the races of a course on a day.",
    )
    .core(),
    matches("list_races", "/horseracing/api/v2/races/", "", "Races by day, course or status."),
    get("get_race", "/horseracing/api/v2/races/{id}/", "race_id", "One race with its runners.")
        .core(),
    rest(
        "list_runners",
        "/horseracing/api/v2/runners/",
        "Runners of a race, or of a horse or a jockey.",
    )
    .core(),
    get("get_runner", "/horseracing/api/v2/runners/{id}/", "runner_id", "One runner.").core(),
    get(
        "compare_odds",
        "/horseracing/api/v2/runners/{id}/odds/",
        "runner_id",
        "Every bookmaker's price of a runner.",
    )
    .core(),
    rest("search_horses", "/horseracing/api/v2/horses/", "Horses by a part of their name.").core(),
    rest("search_jockeys", "/horseracing/api/v2/jockeys/", "Jockeys by a part of their name.")
        .core(),
    rest("search_trainers", "/horseracing/api/v2/trainers/", "Trainers by a part of their name.")
        .core(),
    get("get_horse", "/horseracing/api/v2/horses/{id}/", "horse_id", "One horse.").core(),
    get("get_jockey", "/horseracing/api/v2/jockeys/{id}/", "jockey_id", "One jockey.").core(),
];

/// The servers and their tools.
pub(crate) const SERVERS: [(Product, &[ToolDeclaration]); 7] = [
    (Product::Football, FOOTBALL),
    (Product::TENNIS, TENNIS),
    (Product::Sport(Sport::Cs2), CSGO),
    (Product::Sport(Sport::Darts), DARTS),
    (Product::Sport(Sport::Hockey), HOCKEY),
    (Product::Sport(Sport::Basketball), BASKETBALL),
    (Product::Sport(Sport::HorseRacing), HORSERACING),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// SERVICE section 4.3: 34 football, 8 tennis, 9 CS2, 7 darts, 6 hockey, 12 basketball, 11 horse racing.
    #[test]
    fn every_server_has_the_tools_that_agents_name_and_the_new_ones() {
        let new = |product| if product == Product::Football { 8 } else { 3 };
        let named = SERVERS.map(|(product, tools)| (product, tools.len() - new(product)));
        assert_eq!(named.map(|(_, count)| count), [34, 8, 9, 7, 6, 12, 11]);
        for (product, tools) in SERVERS {
            let names: HashSet<_> = tools.iter().map(|tool| tool.name).collect();
            assert_eq!(names.len(), tools.len(), "{product}: two tools of one name");
            // Hosts send the first 40 tools only.
            assert!(tools.iter().filter(|tool| tool.does.is_listed()).count() <= 40, "{product}");
        }
    }
}
