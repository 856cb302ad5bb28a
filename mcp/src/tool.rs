//! Tools with their arguments and schemas, made of the tables and of REST's OpenAPI document.

use std::{borrow::Cow, sync::Arc};

use history::query::EntityKind;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::{
    argument::{self, Argument, ArgumentKind, Arguments},
    envelope::{LIST_BYTES_MAX, RESULT_BYTES_MAX},
    names::KINDS,
    schema,
    tables::{ToolAction, ToolDeclaration},
};

/// A tool of a server.
#[derive(Debug)]
pub(crate) struct ServerTool {
    pub declared: ToolDeclaration,
    pub arguments: Vec<Argument>,
    /// Where the arguments go, for a tool that asks REST.
    pub rest: Option<RestPath>,
    pub bytes_max: usize,
    /// The schema of its results as JSON text: as values, those of all tools take some megabytes.
    output: Box<str>,
    /// As the short list of tools has it, without the schema of its results.
    pub brief: Tool,
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

/// The name of a REST parameter in tools, and other names for it.
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
        "status" => ("status", &[]),
        "country" => ("country", &[]),
        "country_code" => ("country_code", &[]),
        "is_women" => ("is_women", &[]),
        "include_inactive" => ("include_inactive", &[]),
        "round" => ("round", &[]),
        "stage" => ("stage", &[]),
        "market" => ("market", &[]),
        "position" => ("position", &[]),
        "national_team_id" => ("national_team_id", &[]),
        "nationality_code" => ("nationality_code", &[]),
        "tactical_profile" => ("tactical_profile", &[]),
        "team_style" => ("team_style", &[]),
        "min_matches" => ("min_matches", &[]),
        "min_capacity" => ("min_capacity", &[]),
        "min_confidence" => ("min_confidence", &[]),
        "min_strength" => ("min_strength", &[]),
        "recommended" => ("recommended", &[]),
        "upcoming" => ("upcoming", &[]),
        "in_competition" => ("in_competition", &[]),
        "city" => ("city", &[]),
        "active" => ("active", &[]),
        "kind" => ("kind", &[]),
        "sport" => ("sport", &[]),
        "days" => ("days", &[]),
        "gender" => ("gender", &[]),
        "circuit" => ("circuit", &[]),
        "category" => ("category", &[]),
        "surface" => ("surface", &[]),
        "type" => ("type", &[]),
        "track" => ("track", &[]),
        "region" => ("region", &[]),
        _ => ("", &[]),
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
        "venue_id" => ArgumentKind::EntityId(EntityKind::Venue),
        "horse_id" => ArgumentKind::EntityId(EntityKind::Horse),
        "jockey_id" => ArgumentKind::EntityId(EntityKind::Jockey),
        "season_id" | "runner_id" => ArgumentKind::Id,
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
    /// Makes a tool of its declaration.
    pub(crate) fn new(declared: ToolDeclaration, openapi: &Value) -> Self {
        let (arguments, rest) = match declared.does {
            ToolAction::Rest { path, id, of_match } => of_rest(openapi, path, id, of_match),
            ToolAction::MatchDetail => {
                let include = Argument::new("include", ArgumentKind::Words(&SECTION_NAMES), "");
                (vec![match_id(), include, cursor()], None)
            }
            ToolAction::CompareOdds => {
                let market = Argument::new("market", ArgumentKind::Text, "One market, such as 1x2");
                let bookmaker =
                    Argument::new("bookmaker", ArgumentKind::Text, "Slugs, separated by commas");
                let bookmaker = bookmaker.or(&["bookmakers", "bookmaker_slug"]);
                (vec![match_id(), market, bookmaker, cursor()], None)
            }
            does => (own_arguments(does), None),
        };
        let is_list = rest.as_ref().is_some_and(|rest| rest.paged.is_some());
        let (data, definitions) = output(&declared, openapi);
        let mut input = argument::schema(&arguments);
        // Hosts of some models refuse a schema without it.
        input.entry("properties").or_insert_with(|| json!({}));
        let annotations = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
        let brief =
            Tool::new(Cow::Borrowed(declared.name), Cow::Borrowed(declared.about), Arc::new(input))
                .with_annotations(annotations);
        let output = Value::Object(schema::result(&data, definitions)).to_string().into();
        let bytes_max = match declared.does {
            _ if is_list => LIST_BYTES_MAX,
            ToolAction::Find | ToolAction::Feeds | ToolAction::Account => 4 * 1024,
            ToolAction::CheckMatches
            | ToolAction::WaitForChange
            | ToolAction::OddsHistory
            | ToolAction::Money => 8 * 1024,
            ToolAction::CompareOdds => 16 * 1024,
            _ => RESULT_BYTES_MAX,
        };
        Self { declared, arguments, rest, bytes_max, output, brief }
    }

    /// The tool with the schema of its results, as it is listed.
    pub(crate) fn listed(&self) -> Tool {
        let output = serde_json::from_str(&self.output).expect("it was written as an object");
        self.brief.clone().with_raw_output_schema(Arc::new(output))
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

/// The arguments of a tool that asks REST, made of the parameters of its path.
fn of_rest(
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
        let (name, mut aliases) = canonical(if in_path { id } else { rest_name });
        if name.is_empty() {
            continue;
        }
        // Where both are accepted, `team` is the name.
        if name == "team_id" && has("team_name") {
            aliases = &[];
        }
        let argument =
            Argument::new(name, kind(name, &parameter["schema"]), &short(name, parameter));
        let required = in_path || parameter["required"] == true;
        let argument = if in_path && name != "match_id" && name != "race_id" {
            Argument {
                aliases: aliases.iter().copied().chain(["id"]).collect(),
                required,
                ..argument
            }
        } else {
            Argument { aliases: aliases.to_vec(), required, ..argument }
        };
        places.push((name, rest_name.to_owned(), in_path));
        arguments.push(argument);
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
        | "season_id" => String::new(),
        _ => about(parameter),
    }
}

/// Where the rows of a page are.
fn list_of(openapi: &Value, path: &str) -> &'static str {
    let schema =
        &openapi["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
    let name = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next()).unwrap_or_default();
    let properties = &openapi["components"]["schemas"][name]["properties"];
    match (properties["events"].is_null(), properties["results"].is_null()) {
        (false, _) => "/events",
        (true, false) => "/results",
        (true, true) => "",
    }
}

fn own_arguments(does: ToolAction) -> Vec<Argument> {
    let text = |name, about: &str| Argument::new(name, ArgumentKind::Text, about);
    let time = |name| Argument::new(name, ArgumentKind::Time, "");
    let integer = |name, min, max, about: &str| {
        Argument::new(name, ArgumentKind::Integer { min, max }, about)
    };
    match does {
        ToolAction::Find => vec![
            text("q", "A name, or \"A v B\"").required().or(&["query", "search", "name", "team"]),
            Argument::new("kind", ArgumentKind::Words(&FIND_KINDS), "").or(&["kinds", "type"]),
            integer("limit", 1, 10, ""),
        ],
        ToolAction::CheckMatches => vec![
            Argument::new("match_ids", ArgumentKind::MatchIds(50), "").required().or(&[
                "ids",
                "event_ids",
                "match_id",
                "events",
            ]),
            Argument::new("since", ArgumentKind::Time, "Says which have changed since then"),
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
        ToolAction::OddsHistory => vec![
            match_id(),
            text("market", "Default match_winner"),
            text("selection", "home, draw, away, over, under, …").or(&["outcome"]),
            text("bookmaker", "Default: the consensus").or(&["bookmaker_slug"]),
            text("line", ""),
            time("from").or(&["date_from"]),
            time("to").or(&["date_to"]),
            integer("points", 1, 60, "Default 30").or(&["limit"]),
        ],
        ToolAction::Money => vec![match_id()],
        ToolAction::NotAvailable(_) => vec![
            Argument { required: false, ..match_id() },
            text("team_id", "").or(&["team"]),
            text("league_id", "").or(&["league"]),
            text("country", "").or(&["country_code"]),
            integer("limit", 1, LIMIT_MAX, ""),
            cursor(),
        ],
        _ => Vec::new(),
    }
}

/// The schema of a tool's `data`, and the definitions that it needs.
fn output(declared: &ToolDeclaration, openapi: &Value) -> (Value, Map<String, Value>) {
    let of_path = |path| schema::of_path(openapi, path).unwrap_or_else(|| (json!({}), Map::new()));
    let text = || json!({"type": "string"});
    let integer = || json!({"type": "integer"});
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let list = |row: Value| json!({"type": "array", "items": row});
    let own = |schema: Value| (schema, Map::new());
    match declared.does {
        ToolAction::Rest { path, of_match: None, .. } => of_path(path),
        ToolAction::Rest { path, of_match: Some(one), .. } => {
            let ((page, mut definitions), (one, more)) = (of_path(path), of_path(one));
            definitions.extend(more);
            (json!({"anyOf": [page, one]}), definitions)
        }
        ToolAction::MatchDetail => {
            let (event, mut definitions) = of_path("/api/v2/events/{id}/");
            let mut properties = Map::new();
            for (name, path) in SECTIONS {
                let (section, more) = of_path(path);
                definitions.extend(more);
                properties.insert(name.to_owned(), section);
            }
            (json!({"allOf": [event, {"type": "object", "properties": properties}]}), definitions)
        }
        ToolAction::CompareOdds => of_path("/api/v2/events/{id}/odds/comparison/"),
        ToolAction::Account => of_path("/api/v2/account/"),
        ToolAction::Find => own(object(
            json!({"results": list(object(
                json!({"kind": text(), "id": integer(), "name": text(), "context": text(), "score": {"type": "number"}}),
                &["kind", "id", "name"],
            ))}),
            &["results"],
        )),
        ToolAction::CheckMatches => own(object(
            json!({"matches": list(object(
                json!({
                    "match_id": integer(), "status": text(), "start": text(), "name": text(), "score": list(integer()),
                    "feed": text(), "seq": integer(), "changed": {"type": "boolean"}, "error": text(),
                }),
                &["match_id"],
            ))}),
            &["matches"],
        )),
        ToolAction::WaitForChange => own(object(
            json!({
                "changed": {"type": "boolean"}, "reason": text(), "events": list(json!({"type": "object"})),
                "values": {"type": "object"}, "positions": {"type": "object"}, "missed": {"type": "object"},
                "more": {"type": "boolean"}, "waited_ms": integer(),
            }),
            &["changed", "events", "positions", "waited_ms"],
        )),
        ToolAction::OddsHistory => own(object(
            json!({"series": list(object(
                json!({
                    "bookmaker": text(), "market": text(), "selection": text(), "line": text(),
                    "opening": text(), "closing": text(),
                    "points": list(object(
                        json!({"from": text(), "open": text(), "high": text(), "low": text(), "close": text(), "changes": integer()}),
                        &["from", "changes"],
                    )),
                }),
                &["market", "selection", "points"],
            ))}),
            &["series"],
        )),
        ToolAction::Money => own(object(
            json!({"markets": list(object(
                json!({"bookmaker": text(), "market": text(), "line": text(), "volume": text(), "selections": list(json!({"type": "object"}))}),
                &["bookmaker", "market"],
            ))}),
            &["markets"],
        )),
        ToolAction::Feeds => own(object(
            json!({"sources": list(object(
                json!({"name": text(), "state": text(), "kind": text(), "last": text(), "why": text(), "messages": integer()}),
                &["name", "state"],
            ))}),
            &["sources"],
        )),
        ToolAction::NotAvailable(_) => own(json!({"type": "object"})),
    }
}

impl RestPath {
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
                (_, value) => value.map(text_of),
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

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// The words of `kind` in `find`, as kinds of entities; `None` for matches.
pub(crate) fn find_kinds(words: &[&str]) -> Vec<Option<EntityKind>> {
    let of = |word: &&str| KINDS.iter().find(|(own, _)| own == word).map(|(_, kind)| *kind);
    if words.is_empty() {
        let all = KINDS.iter().map(|(_, kind)| Some(*kind));
        return std::iter::once(None).chain(all).collect();
    }
    words.iter().map(of).collect()
}
