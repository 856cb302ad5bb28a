use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::*;
use crate::http::cors;

/// Calls a function for every object in a document, with the way to it.
fn each<'a>(value: &'a Value, way: &str, see: &mut impl FnMut(&str, &'a Value)) {
    see(way, value);
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| each(value, &format!("{way}/{name}"), see));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| each(item, &format!("{way}/{at}"), see));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn operations(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = document["paths"].as_object().expect("paths").iter();
    paths.flat_map(|(path, item)| {
        let methods = item.as_object().expect("an item").iter();
        methods.map(move |(method, operation)| (path, method, operation))
    })
}

#[test]
fn every_reference_resolves() {
    let document = openapi();
    let mut references = 0;
    each(&document, "", &mut |way, value| {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|way| document.pointer(way));
            assert!(target.is_some(), "{way} refers to {reference}");
            references += 1;
        }
    });
    assert!(references > 10, "{references} references");
}

/// Generators of clients have no idiom in common for more.
#[test]
fn schemas_are_plain_objects_lists_and_unions() {
    let document = openapi();
    let mut unions = BTreeSet::new();
    each(&document, "", &mut |way, value| {
        assert!(value.get("allOf").is_none_or(|it| !it.is_array()), "{way} is composed");
        if let Some(Value::Array(alternatives)) = value.get("oneOf") {
            let is_nullable = alternatives.len() == 2 && alternatives[1] == json!({"type": "null"});
            if !is_nullable {
                unions.insert(way.trim_start_matches("/components/schemas/").to_owned());
            }
        }
        let target = value.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
        let target = target.and_then(|it| document.pointer(it));
        let simple = ["string", "number", "integer", "boolean"];
        let kind = target.and_then(|it| it["type"].as_str()).filter(|it| simple.contains(it));
        assert!(kind.is_none() || target.is_some_and(|it| it["enum"].is_array()), "{way}");
    });
    assert_eq!(unions, BTreeSet::from(["Details", "Incident"].map(ToOwned::to_owned)));
    let schema = |name: &str| &document["components"]["schemas"][name];
    let goal = schema("Incident")["discriminator"]["mapping"]["goal"].as_str();
    assert_eq!(goal, Some("#/components/schemas/Goal"));
    assert_eq!(schema("Goal")["properties"]["type"]["const"], "goal");
    // Members of some rows only.
    for (name, member) in [("TennisMatch", "current_set"), ("StickOdds", "player1_name")] {
        assert!(schema(name)["properties"][member].is_object(), "{name}: {member}");
        let required = schema(name)["required"].as_array().expect("some");
        assert!(!required.contains(&member.into()), "{name}: {member}");
    }
}

#[test]
fn document_has_the_structure_of_openapi_3_1() {
    let document = openapi();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    let fields_known = ["openapi", "info", "servers", "paths", "components", "security", "tags"];
    for name in document.as_object().expect("an object").keys() {
        assert!(fields_known.contains(&name.as_str()), "{name}");
    }
    let (mut ids, mut count) = (BTreeMap::new(), 0);
    let tags = document["tags"].as_array().expect("tags");
    for (path, method, operation) in operations(&document) {
        let label = format!("{method} {path}");
        assert!(
            path.starts_with('/') && path.ends_with('/') || path.contains("channels"),
            "{label}"
        );
        assert!(["get", "post", "delete", "put", "patch"].contains(&method.as_str()), "{label}");
        let id = operation["operationId"].as_str().expect("an id").to_owned();
        assert_eq!(ids.insert(id, label.clone()), None, "{label}: the id is another's");
        let own_tags = operation["tags"].as_array().unwrap_or_else(|| panic!("{label}: no tag"));
        for tag in own_tags {
            assert!(tags.iter().any(|it| it["name"] == *tag), "{label}: {tag}");
        }
        let in_path: Vec<&str> =
            path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}')).collect();
        let mut names = Vec::new();
        assert!(operation.get("parameters").is_none_or(Value::is_array), "{label}");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().expect("a name");
            let at = parameter["in"].as_str().expect("a place");
            assert!(!names.contains(&(name, at)), "{label}: {name} twice");
            assert!(parameter["schema"].is_object(), "{label}: {name} has no schema");
            names.push((name, at));
            if at == "path" {
                assert!(in_path.contains(&name), "{label}: {name} is not in the path");
                assert_eq!(parameter["required"], true, "{label}: {name}");
            }
        }
        for name in in_path {
            assert!(names.contains(&(name, "path")), "{label}: {name} is not described");
        }
        let responses = operation["responses"].as_object().expect("responses");
        assert!(responses.keys().any(|status| status.starts_with('2')), "{label}");
        for (status, response) in responses {
            assert!(status.parse::<u16>().is_ok_and(|it| (100..600).contains(&it)), "{label}");
            let described = response["description"].is_string() || response["$ref"].is_string();
            assert!(described, "{label}: {status}");
        }
        count += 1;
    }
    assert!(count >= 5, "{count} operations");
}

#[test]
fn shared_responses_of_a_product_apply_to_all_paths_below_it() {
    let document = openapi();
    let responses = |path: &str, method: &str| {
        let responses = document["paths"][path][method]["responses"].as_object();
        responses.unwrap_or_else(|| panic!("{path}")).keys().cloned().collect::<Vec<_>>()
    };
    let live = responses("/api/v2/events/live/", "get");
    assert_eq!(
        live,
        ["200", "304", "400", "401", "403", "414", "429"],
        "no add-on, and nothing named by an id"
    );
    assert!(responses("/api/v2/events/{id}/", "get").contains(&"404".to_owned()));
    // Handlers say what else a status means there.
    let odds = &document["paths"]["/api/v2/odds/"]["get"]["responses"]["403"];
    let expected = "The account does not include prices by bookmaker";
    assert_eq!(odds["description"], expected);
    assert!(responses("/stream/v1/channels/{channel}", "get").contains(&"402".to_owned()));
    assert!(!responses("/api/v2/stream/ticket/", "post").contains(&"304".to_owned()));
    let image = "/img/{type}/{id}/";
    assert!(!responses(image, "get").contains(&"401".to_owned()));
    for (path, method, operation) in operations(&document) {
        let asks = Product::from_path(path).is_some();
        let expected = if asks { keys() } else { json!([]) };
        assert_eq!(operation["security"], expected, "{method} {path}");
        let refused = &operation["responses"]["401"]["$ref"];
        assert_eq!(refused.is_string(), asks, "{method} {path}: 401 has its own body everywhere");
    }
}

#[test]
fn implied_path_and_page_parameters_are_added() {
    let document = openapi();
    let check = |path: &str, expected: &[&str]| {
        let all = document["paths"][path]["get"]["parameters"].as_array();
        let names = all.into_iter().flatten().filter_map(|it| it["name"].as_str());
        assert_eq!(names.collect::<Vec<_>>(), expected, "{path}");
    };
    check("/api/v2/leagues/{id}/venues/", &["timezone", "id", "limit", "offset"]);
    check(
        "/api/v2/leagues/{id}/top/{stat}/",
        &["stat", "season_id", "season", "limit", "timezone", "id"],
    );
    check("/hockey/api/v2/matches/{id}/odds/", &["timezone", "id"]);
    check("/api/venues/", &["country", "city", "name", "page", "page_size"]);
    check(
        "/api/live/",
        &["league", "season", "team", "round_number", "status", "tz", "limit", "offset"],
    );
    check("/api/v2/coverage/", &["sport", "timezone"]);
}

#[test]
fn tags_follow_from_paths() {
    let tags = [
        ("/api/v2/account/", "account"),
        ("/api/v2/events/{id}/", FOOTBALL_V2),
        ("/api/venues/", FOOTBALL_V1),
        ("/stream/v1/channels/{channel}", "websocket"),
        ("/img/{type}/{id}/", "images"),
        ("/tennis/api/predictions/", "tennis"),
    ];
    for (path, expected) in tags {
        assert_eq!(tag(path), expected, "{path}");
    }
}

#[test]
fn parameters_have_the_declared_schemas() {
    let document = openapi();
    let schema = |path: &str, name: &str| {
        let all = document["paths"][path]["get"]["parameters"].as_array().expect("parameters");
        let found = all.iter().find(|parameter| parameter["name"] == name);
        found.unwrap_or_else(|| panic!("{path}: {name}"))["schema"].clone()
    };
    let capped = json!({"type": "integer", "minimum": 0});
    assert_eq!(schema("/api/v2/events/", "limit"), capped);
    assert_eq!(schema("/api/venues/", "page"), capped);
    assert_eq!(schema("/api/v2/leagues/{id}/standings/", "season_id")["format"], "int64");
    assert!(schema("/api/v2/events/", "league_id")["pattern"].is_string(), "one id or several");
    assert_eq!(schema("/hockey/api/v2/matches/", "sort")["enum"], json!(["date", "-date"]));
    assert_eq!(schema("/api/v2/events/", "last")["maximum"], 200);
    assert_eq!(schema("/api/v2/events/{id}/", "id")["format"], "int32");
    assert_eq!(schema("/api/v2/events/", "date_from")["format"], "date-or-time");
    assert_eq!(schema("/signals/api/", "min_strength")["maximum"], 100);
}

/// The Rust files below a folder.
fn sources(folder: &Path) -> Vec<String> {
    let (mut open, mut texts) = (vec![folder.to_owned()], Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            texts.push(fs::read_to_string(&path).unwrap());
        }
    }
    texts
}

/// Routes below a product, and routes open to every origin, are for programs, so the document has them.
/// Most handlers of `rest` cannot be routed without a declaration; the test finds the other routes by their text.
#[test]
fn every_api_route_is_in_the_document() {
    let document = openapi();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    // Written in two parts, since this is a source too.
    let call = [".route", "("].concat();
    for text in sources(&src.join("rest")) {
        assert!(!text.contains(&call), "a handler of the interface is routed by `routes!`");
    }
    // The document does not list its own paths.
    let unlisted = ["/api/schema/", "/api/schema/documents/", "/api/asyncapi/"];
    let mut documented = 0;
    for text in sources(&src) {
        let routes = text.split(&call).skip(1).filter_map(|rest| {
            // A long call begins on the next line.
            rest.trim_start().strip_prefix('"')?.split('"').next()
        });
        for route in routes {
            if Product::from_path(route).is_none() && !cors::is_open(route)
                || unlisted.contains(&route)
            {
                continue;
            }
            // Clients discover these from the metadata of OAuth, which is their document.
            if ["/.well-known/oauth-", "/oauth/"].iter().any(|it| route.starts_with(it)) {
                continue;
            }
            let path = route.replace("/{*path}", "/{type}/{id}/").replace("{*", "{");
            assert!(document["paths"][&path].is_object(), "{route} is not in the document");
            documented += 1;
        }
    }
    let expected =
        "account, ticket, channel, replays, events, two of tests, image and six of webhooks";
    assert_eq!(documented, 14, "{expected}");
}

/// A component has the name of its type, without the module. A second type of that name would replace the
/// first in the document.
#[test]
fn schema_names_are_unique() {
    let mut names = BTreeSet::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = ["http", "rest", "site"].map(|folder| src.join(folder));
    for text in folders.iter().flat_map(|folder| sources(folder)) {
        let mut is_shape = false;
        let mut own_name = None;
        for line in text.lines() {
            let line = line.trim();
            is_shape |= line.starts_with("#[derive") && line.contains("ToSchema");
            if let Some((_, name)) = line.split_once("schema(as = ") {
                own_name = Some(name.trim_end_matches(")]").trim().to_owned());
            }
            let words = line
                .split(['<', '(', '{', ';', ' '])
                .skip_while(|word| !["struct", "enum"].contains(word));
            let Some(name) = words.skip(1).find(|word| !word.is_empty()) else { continue };
            if std::mem::take(&mut is_shape) {
                let name = own_name.take().unwrap_or_else(|| name.to_owned());
                assert!(names.insert(name.clone()), "{name} is the name of two shapes");
            }
        }
    }
    assert!(names.len() > 5, "{names:?}");
}
