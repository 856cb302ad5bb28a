//! Tools with their arguments and schemas, made of the tables and of REST's OpenAPI document.
//!
//! What a tool returns is described in `docs/API.md`, not in its schema: the schemas of results would take three
//! quarters of a list, which every conversation pays for.

use std::{borrow::Cow, sync::Arc};

use history::query::EntityKind;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::{
    argument::{self, Argument, ArgumentKind, Arguments},
    envelope::{LIST_BYTES_MAX, RESULT_BYTES_MAX},
    names::KINDS,
    tool_list::{ToolAction, ToolDeclaration},
};

/// A tool of a server.
#[derive(Debug)]
pub(crate) struct ServerTool {
    pub declared: ToolDeclaration,
    pub arguments: Vec<Argument>,
    /// Where the arguments go, for a tool that asks REST.
    pub rest: Option<RestPath>,
    pub bytes_max: usize,
    /// As the list of tools has it, under the name of the tables.
    pub listed: Tool,
}

/// An address of the REST interface, and what its parameters are called in the tool.
#[derive(Debug, Clone)]
pub(crate) struct RestPath {
    pub path: &'static str,
    /// The path about one match, if the argument `match_id` is given.
    pub of_match: Option<&'static str>,
    /// The parameters: the argument, REST's name, and whether it is in the path.
    pub parameters: Vec<(&'static str, String, bool)>,
    /// The list that REST pages, as a JSON pointer.
    pub paged: Option<&'static str>,
}

/// The rows of a list, unless the call says otherwise, and at most.
pub(crate) const LIMIT_DEFAULT: i64 = 20;
pub(crate) const LIMIT_MAX: i64 = 50;

/// The lines of matches in play, unless the call says otherwise, and at most.
pub(crate) const LIVE_LIMIT: i64 = 100;

/// The bound of matches in play: 4,000 tokens of four characters, which are 60 lines.
const LIVE_BYTES_MAX: usize = 16_000;

/// The sections that `get_match_detail` adds, and their REST addresses.
pub(crate) const SECTIONS: [(&str, &str); 7] = [
    ("incidents", "/api/v2/events/{id}/incidents/"),
    ("stats", "/api/v2/events/{id}/stats/"),
    ("lineups", "/api/v2/events/{id}/lineups/"),
    ("odds", "/api/v2/events/{id}/odds/"),
    ("prediction", "/api/v2/events/{id}/prediction/"),
    ("h2h", "/api/v2/events/{id}/h2h/"),
    ("signals", "/signals/api/"),
];

const SECTION_NAMES: [&str; 7] =
    ["incidents", "stats", "lineups", "odds", "prediction", "h2h", "signals"];

/// What `wait_for_change` waits for.
pub(crate) const UNTIL: [&str; 6] = ["event", "goal", "suspension", "price", "end", "any"];

const FIND_KINDS: [&str; 9] =
    ["match", "team", "player", "league", "venue", "manager", "referee", "horse", "jockey"];

/// The REST parameters that tools have by the same name alone.
const SAME_NAMES: &str = "status country country_code is_women include_inactive round stage \
    market position national_team_id nationality_code tactical_profile team_style min_matches \
    min_capacity min_confidence min_strength recommended upcoming in_competition city active \
    kind sport days gender circuit category surface type region";

/// The name of a REST parameter in tools, and other names for it; an empty one if no tool has it.
fn canonical(parameter: &str) -> (&'static str, &'static [&'static str]) {
    match parameter {
        "league" | "league_id" => ("league_id", &["league", "competition", "competition_id"]),
        "tournament" | "tournament_id" => ("tournament_id", &["tournament", "league", "league_id"]),
        "team" | "team_id" => ("team_id", &["team"]),
        "team_name" => ("team", &["q", "query", "name", "search", "team_name"]),
        "player" | "player_id" => ("player_id", &["player"]),
        "match" | "event_id" | "event" | "match_id" => {
            ("match_id", &["event_id", "event", "match", "id"])
        }
        "season" | "season_id" => ("season_id", &["season"]),
        "search" | "name" => ("q", &["query", "search", "name"]),
        "bookmaker_slug" | "bookmaker" => ("bookmaker", &["bookmaker_slug"]),
        "race" | "race_id" => ("race_id", &["race", "match_id", "event_id"]),
        "horse" | "horse_id" => ("horse_id", &["horse"]),
        "jockey" | "jockey_id" => ("jockey_id", &["jockey"]),
        "runner_id" => ("runner_id", &["runner"]),
        "venue_id" => ("venue_id", &["venue"]),
        "manager_id" => ("manager_id", &["manager"]),
        "offset" => ("cursor", &["offset"]),
        "limit" => ("limit", &["page_size"]),
        "date" => ("date", &["day"]),
        "date_from" => ("date_from", &["from"]),
        "date_to" => ("date_to", &["to"]),
        "track" => ("track", &["track_id", "venue", "venue_id"]),
        "stat" => ("stat", &["statistic", "stats", "category", "by"]),
        _ => (SAME_NAMES.split(' ').find(|name| *name == parameter).unwrap_or_default(), &[]),
    }
}

/// The kind of an argument by its name, else by the schema of the REST parameter.
fn kind(name: &str, schema: &Value) -> ArgumentKind {
    match name {
        "match_id" | "race_id" => ArgumentKind::MatchId,
        "league_id" | "tournament_id" => ArgumentKind::EntityId(EntityKind::Competition),
        "team_id" | "national_team_id" => ArgumentKind::EntityId(EntityKind::Team),
        "player_id" => ArgumentKind::EntityId(EntityKind::Player),
        "manager_id" => ArgumentKind::EntityId(EntityKind::Manager),
        "venue_id" | "track" => ArgumentKind::EntityId(EntityKind::Venue),
        "horse_id" => ArgumentKind::EntityId(EntityKind::Horse),
        "jockey_id" => ArgumentKind::EntityId(EntityKind::Jockey),
        "season_id" => ArgumentKind::EntityId(EntityKind::Season),
        "runner_id" => ArgumentKind::Id,
        "limit" => ArgumentKind::Integer { min: 1, max: LIMIT_MAX },
        "cursor" => ArgumentKind::Cursor,
        "date" | "date_from" | "date_to" => ArgumentKind::Time,
        _ => match schema["type"].as_str() {
            Some("integer") => ArgumentKind::Integer { min: 0, max: i64::MAX },
            Some("number") => ArgumentKind::Number,
            Some("boolean") => ArgumentKind::Flag,
            _ => ArgumentKind::Text,
        },
    }
}

/// REST's description, without its remarks about other names and defaults.
fn about(parameter: &Value) -> String {
    let text = parameter["description"].as_str().unwrap_or_default();
    let text = text.split("; also").next().unwrap_or_default();
    text.trim_end_matches('.').to_owned()
}

impl ServerTool {
    /// Makes a tool of its declaration. `side`: what the sides of matches are.
    pub(crate) fn new(declared: ToolDeclaration, openapi: &Value, side: EntityKind) -> Self {
        let (mut arguments, rest) = match declared.does {
            ToolAction::Rest { path, id, of_match } => rest_arguments(openapi, path, id, of_match),
            ToolAction::Matches { path, id } => {
                let (mut arguments, rest) = rest_arguments(openapi, path, id, None);
                let count = ArgumentKind::Integer { min: 1, max: LIMIT_MAX };
                arguments.push(Argument::new("last", count, "The last so many results"));
                arguments.push(Argument::new("next", count, "The next so many to come"));
                (arguments, rest)
            }
            ToolAction::LiveScores => {
                let (mut arguments, rest) = rest_arguments(openapi, LIVE_PATH, "", None);
                let limits = ArgumentKind::Integer { min: 1, max: LIVE_LIMIT };
                for limit in arguments.iter_mut().filter(|argument| argument.name == "limit") {
                    *limit = Argument::new("limit", limits, "Default 100");
                }
                (arguments, rest)
            }
            ToolAction::HeadToHead { path } => {
                let (mut arguments, rest) = rest_arguments(openapi, path, "match_id", None);
                arguments.retain(|argument| argument.name != "match_id");
                arguments.insert(0, Argument { required: false, ..match_id() });
                let kind = ArgumentKind::EntityId(side);
                for (name, about, aliases) in SIDES {
                    let side = Argument::new(name, kind, about);
                    arguments.push(side.or(&aliases.split(' ').collect::<Vec<_>>()));
                }
                (arguments, rest)
            }
            does => (own_arguments(does), None),
        };
        if arguments.iter().any(|argument| argument.kind == ArgumentKind::Time) {
            let about = "IANA name of the zone of days, default the account's or UTC";
            let zone = Argument::new("timezone", ArgumentKind::Zone, about);
            arguments.push(zone.or(&["tz", "time_zone", "zone"]));
        }
        for argument in arguments.iter_mut().filter(|argument| argument.about.is_empty()) {
            about_by_name(argument.name).clone_into(&mut argument.about);
        }
        let is_list = rest.as_ref().is_some_and(|rest| rest.paged.is_some());
        let mut input = argument::schema(&arguments);
        // Hosts of some models refuse a schema without it.
        input.entry("properties").or_insert_with(|| json!({}));
        let annotations = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
        let listed =
            Tool::new(Cow::Borrowed(declared.name), Cow::Borrowed(declared.about), Arc::new(input))
                .with_title(title(declared.name))
                .with_raw_output_schema(Arc::new(output()))
                .with_annotations(annotations);
        let bytes_max = match declared.does {
            ToolAction::LiveScores => LIVE_BYTES_MAX,
            _ if is_list => LIST_BYTES_MAX,
            ToolAction::Find | ToolAction::Feeds | ToolAction::Account => 4 * 1024,
            ToolAction::CheckMatches
            | ToolAction::WaitForChange
            | ToolAction::OddsHistory
            | ToolAction::Money => 8 * 1024,
            ToolAction::CompareOdds => 16 * 1024,
            ToolAction::Rest { .. }
            | ToolAction::Matches { .. }
            | ToolAction::HeadToHead { .. }
            | ToolAction::MatchDetail
            | ToolAction::NotAvailable(_) => RESULT_BYTES_MAX,
        };
        Self { declared, arguments, rest, bytes_max, listed }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument.name == name)
    }
}

const LIVE_PATH: &str = "/api/v2/events/live/";

/// The arguments of the sides of a head-to-head, what they are, and their other names.
const SIDES: [(&str, &str, &str); 2] = [
    (
        "home",
        "Instead of match_id: one side",
        "home_team home_team_id team1 team1_id team_a player1 player1_id player_a team",
    ),
    (
        "away",
        "The other side",
        "away_team away_team_id team2 team2_id team_b player2 player2_id player_b opponent",
    ),
];

/// `Match lineups` of `get_match_lineups`.
fn title(name: &str) -> String {
    let text = name.strip_prefix("get_").or_else(|| name.strip_prefix("list_")).unwrap_or(name);
    let text = text.replace("h2h", "head-to-head").replace('_', " ");
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The schema of every result: what clients may rely on, and hosts accept.
fn output() -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("required".to_owned(), json!(["as_of", "feed", "url", "cite", "data"]));
    schema
}

/// What an argument is, where neither REST nor the tool says more.
fn about_by_name(name: &str) -> &'static str {
    match name {
        "match_id" => "Id, or names: \"A v B\", also with a day or \"live\"",
        "league_id" | "tournament_id" | "team_id" | "player_id" | "manager_id" | "venue_id"
        | "horse_id" | "jockey_id" | "national_team_id" | "track" => "Id or name",
        "race_id" => "Id, or \"Ascot 14:30\", also with a day",
        "season_id" => "Id, or years: 2026/27, with the league",
        "runner_id" => "Id",
        "cursor" => "To go on: `cursor` in `truncated` of the last result",
        "limit" => "Number of rows",
        "date" => "A day: today, saturday, last week, 2026-08-30",
        "from" | "date_from" => "From this day on",
        "to" | "date_to" => "Until this day",
        "line" => "The line, such as 2.5",
        "q" => "A name, or a part of it",
        "country" => "Country",
        _ => "A filter",
    }
}

fn match_id() -> Argument {
    Argument::new("match_id", ArgumentKind::MatchId, "")
        .required()
        .or(&["event_id", "event", "match", "id", "race_id"])
}

fn cursor() -> Argument {
    Argument::new("cursor", ArgumentKind::Cursor, "")
}

/// REST's parameters that no argument is made of: other arguments imply them, or are declared beside.
const IMPLIED: [&str; 3] = ["sort", "h2h", "timezone"];

/// The arguments of a tool that asks REST, made of the parameters of its path.
fn rest_arguments(
    openapi: &Value,
    path: &'static str,
    id: &'static str,
    of_match: Option<&'static str>,
) -> (Vec<Argument>, Option<RestPath>) {
    let parameters = openapi["paths"][path]["get"]["parameters"].as_array();
    let parameters: Vec<&Value> = parameters.into_iter().flatten().collect();
    let has = |name: &str| parameters.iter().any(|parameter| parameter["name"] == name);
    let mut arguments = Vec::new();
    let mut places = Vec::new();
    if of_match.is_some() {
        arguments.push(Argument { required: false, ..match_id() });
    }
    for parameter in &parameters {
        let rest_name = parameter["name"].as_str().unwrap_or_default();
        let in_path = parameter["in"] == "path";
        // The other parts of a path have names of their own.
        let (name, aliases) = canonical(if in_path && rest_name == "id" { id } else { rest_name });
        if let Some(name) = IMPLIED.iter().find(|name| **name == rest_name) {
            places.push((*name, rest_name.to_owned(), false));
        }
        // One of both is enough: years become an id.
        if name.is_empty() || rest_name == "season" && has("season_id") {
            continue;
        }
        let mut aliases = aliases.to_vec();
        // Where both are accepted, `team` is the name.
        if name == "team_id" && has("team_name") {
            aliases.clear();
        }
        let argument =
            Argument::new(name, kind(name, &parameter["schema"]), &short(name, parameter));
        let required = (in_path || parameter["required"] == true) && name != "stat";
        if in_path && rest_name == "id" && name != "match_id" && name != "race_id" {
            aliases.push("id");
        }
        places.push((name, rest_name.to_owned(), in_path));
        arguments.push(Argument { aliases, required, ..argument });
    }
    if has("date_from") && has("date_to") && !has("date") {
        arguments.push(Argument::new("date", ArgumentKind::Time, "").or(&["day"]));
    }
    // What is required comes first, as models read it.
    arguments.sort_by_key(|argument| !argument.required);
    if !arguments.iter().any(|argument| argument.name == "cursor") {
        arguments.push(cursor());
    }
    let paged = has("offset").then(|| list_of(openapi, path));
    (arguments, Some(RestPath { path, of_match, parameters: places, paged }))
}

/// A description, where the name of the argument does not suffice.
fn short(name: &str, parameter: &Value) -> String {
    match name {
        "limit" => "Default 20".to_owned(),
        "cursor" | "match_id" | "league_id" | "team_id" | "player_id" | "tournament_id"
        | "race_id" | "season_id" | "date" | "date_from" | "date_to" | "manager_id"
        | "venue_id" | "track" => String::new(),
        _ => about(parameter),
    }
}

/// Where the rows of a page are.
fn list_of(openapi: &Value, path: &str) -> &'static str {
    let schema =
        &openapi["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
    let name = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next()).unwrap_or_default();
    let properties = &openapi["components"]["schemas"][name]["properties"];
    match (properties["results"].is_null(), properties["events"].is_null()) {
        (_, false) => "/events",
        (false, true) => "/results",
        (true, true) => "",
    }
}

fn own_arguments(does: ToolAction) -> Vec<Argument> {
    let text = |name, about: &str| Argument::new(name, ArgumentKind::Text, about);
    let time = |name, about: &str| Argument::new(name, ArgumentKind::Time, about);
    let integer = |name, min, max, about: &str| {
        Argument::new(name, ArgumentKind::Integer { min, max }, about)
    };
    match does {
        ToolAction::Find => vec![
            text("q", "A name, or \"A v B\"").required().or(&["query", "search", "name", "team"]),
            Argument::new("kind", ArgumentKind::Words(&FIND_KINDS), "Default: all kinds")
                .or(&["kinds", "type"]),
            integer("limit", 1, 10, "Default 10"),
        ],
        ToolAction::CheckMatches => vec![
            Argument::new("match_ids", ArgumentKind::MatchIds(50), "Ids, or \"A v B\"")
                .required()
                .or(&["ids", "event_ids", "match_id", "events"]),
            time("since", "A moment: says which have changed since then"),
        ],
        ToolAction::WaitForChange => vec![
            Argument { required: false, ..match_id() },
            text("channel", "Instead of match_id, such as football/7/odds"),
            Argument::new("since", ArgumentKind::Position, "`positions` of the last answer")
                .or(&["position", "positions"]),
            Argument::new("until", ArgumentKind::Words(&UNTIL), "Default event, suspension, end"),
            Argument::new("price_move_pct", ArgumentKind::Number, "For price: how far, in percent"),
            integer("timeout_s", 0, 50, "Default 25").or(&["timeout"]),
        ],
        ToolAction::MatchDetail => {
            let sections = ArgumentKind::Words(&SECTION_NAMES);
            vec![match_id(), Argument::new("include", sections, "Sections to add"), cursor()]
        }
        ToolAction::CompareOdds => vec![
            match_id(),
            text("market", "One market, such as 1x2 or over_under_25"),
            text("bookmaker", "Slugs, separated by commas").or(&["bookmakers", "bookmaker_slug"]),
            cursor(),
        ],
        ToolAction::OddsHistory => vec![
            match_id(),
            text("market", "Such as 1x2, the default, or over_under_25"),
            text("selection", "home, draw, away, over, under, …, or a team").or(&["outcome"]),
            text("bookmaker", "Default: the consensus").or(&["bookmaker_slug"]),
            text("line", ""),
            time("from", "").or(&["date_from"]),
            time("to", "").or(&["date_to"]),
            integer("points", 1, 60, "Default 30").or(&["limit"]),
        ],
        ToolAction::Money => vec![match_id()],
        ToolAction::NotAvailable(_) => vec![
            Argument { required: false, ..match_id() },
            text("team_id", "Id or name").or(&["team"]),
            text("league_id", "Id or name").or(&["league"]),
            text("country", "Country").or(&["country_code"]),
            integer("limit", 1, LIMIT_MAX, "Number of rows"),
            cursor(),
        ],
        ToolAction::Rest { .. }
        | ToolAction::Matches { .. }
        | ToolAction::LiveScores
        | ToolAction::HeadToHead { .. }
        | ToolAction::Feeds
        | ToolAction::Account => Vec::new(),
    }
}

impl RestPath {
    /// Whether REST itself has the argument.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|(parameter, ..)| *parameter == name)
    }

    /// The address for these arguments, without those that are not REST's.
    pub(crate) fn address(&self, arguments: &Arguments, skip: usize) -> String {
        let one = self.of_match.zip(arguments.id("match_id"));
        if let Some((path, id)) = one {
            return path.replace("{id}", &id.to_string());
        }
        let mut path = self.path.to_owned();
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, rest_name, in_path) in &self.parameters {
            let value = match (*name, arguments.get(name)) {
                ("cursor", _) => (skip > 0).then(|| skip.to_string()),
                ("limit", None) => Some(LIMIT_DEFAULT.to_string()),
                (..) => arguments.rest_text(name),
            };
            match value {
                Some(value) if *in_path => path = path.replace(&format!("{{{rest_name}}}"), &value),
                Some(value) => {
                    query.append_pair(rest_name, &value);
                }
                None => {}
            }
        }
        match query.finish() {
            query if query.is_empty() => path,
            query => format!("{path}?{query}"),
        }
    }
}

/// The words of `kind` in `find`, as kinds of entities; `None` for matches.
pub(crate) fn find_kinds(words: &[&str]) -> Vec<Option<EntityKind>> {
    let kind = |word: &&str| KINDS.iter().find(|(name, _)| name == word).map(|(_, kind)| *kind);
    if words.is_empty() {
        let all = KINDS.iter().map(|(_, kind)| Some(*kind));
        return std::iter::once(None).chain(all).collect();
    }
    words.iter().map(kind).collect()
}
