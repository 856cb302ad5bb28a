//! Resources, completion and prompts.

use serde_json::{Value, json};

use super::{
    client::{ERAS, Era},
    stage::{Stage, goal, market, prices},
};
use crate::support::Hub;

/// The contents of a resource.
fn text(read: &Value) -> &str {
    read["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {read}"))
}

fn document(read: &Value) -> Value {
    assert_eq!(read["contents"][0]["mimeType"], "application/json", "{read}");
    serde_json::from_str(text(read)).expect("JSON")
}

#[tokio::test]
async fn documents_of_channels_are_resources() {
    let stage = Stage::new(&[]);
    let id = stage.football("m", ["Manchester United", "Arsenal"]).await;
    let facts = [market("alpha", "open"), prices("alpha", ["2.10", "3.40", "3.50"])];
    stage.push("football", "m", &facts).await;
    let odds = format!("/stream/v1/channels/football/{id}/odds/alpha");
    stage.hub.json_until(&stage.key, &odds, |image| image["seq"].is_u64()).await;
    stage.push("football", "m", &goal("g1", 4, [1, 0])).await;
    let channel_path = format!("/stream/v1/channels/football/{id}");
    stage
        .hub
        .json_until(&stage.key, &channel_path, |image| image["data"]["score"]["home"] == 1)
        .await;
    for era in ERAS {
        let client = stage.client().with_era(era);
        let read = async |path: &str| {
            client.result("resources/read", json!({"uri": format!("matchwire://{path}")})).await
        };
        let listed = client.result("resources/list", json!({})).await;
        let uris: Vec<&str> = listed["resources"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| it["uri"].as_str().expect("a URI"))
            .collect();
        let own_uri = format!("matchwire://football/{id}");
        for uri in ["matchwire://football", "matchwire://signals", "matchwire://feeds", &own_uri] {
            assert!(uris.contains(&uri), "{uri} is not in {uris:?}");
        }
        assert!(uris.iter().any(|uri| uri.starts_with("matchwire://docs/")), "{uris:?}");
        for uri in &uris {
            let read = client.result("resources/read", json!({"uri": uri})).await;
            assert_eq!(read["contents"][0]["uri"], *uri, "{read}");
            assert!(text(&read).len() > 2, "{uri} is empty");
            if era == Era::Modern {
                assert!(read["ttlMs"].is_u64() && read["cacheScope"].is_string(), "{uri}");
            }
        }

        let of_match = read(&format!("football/{id}")).await;
        let value = document(&of_match);
        assert_eq!(value["data"]["score"], json!({"home": 1, "away": 0}), "{value}");
        assert_eq!(value["feed"], "live", "{value}");
        let image = stage.hub.json(&stage.key, &channel_path).await;
        assert_eq!(value["position"], json!({"epoch": image["epoch"], "seq": image["seq"]}));
        if era == Era::Modern {
            assert_eq!(
                (&of_match["ttlMs"], &of_match["cacheScope"]),
                (&json!(0), &json!("public"))
            );
        }
        let board = document(&read("football").await);
        assert_eq!(board["data"]["matches"][id.to_string()]["score"]["home"], 1, "{board}");
        let odds = document(&read(&format!("football/{id}/odds")).await);
        assert!(odds["data"]["markets"].is_object(), "{odds}");
        let book = document(&read(&format!("football/{id}/odds/alpha")).await);
        // The goal holds the book, so its prices cannot be had.
        assert_eq!(book["data"]["life"], "suspended", "{book}");
        assert!(!book.to_string().contains("2.10"), "{book}");

        let templates = client.result("resources/templates/list", json!({})).await;
        let templates: Vec<&str> = templates["resourceTemplates"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| it["uriTemplate"].as_str().expect("a template"))
            .collect();
        assert!(templates.contains(&"matchwire://football/{id}/odds/{bookmaker}"), "{templates:?}");

        let unknown = match era {
            Era::Modern => -32602,
            Era::Legacy => -32002,
        };
        for path in [
            "football/1",
            "football/1/odds",
            "football/x",
            "tennis",
            "tennis/1",
            "docs/none",
            "",
            "football/",
            &format!("football/{id}/odds/nobody"),
            "football/*",
            "*",
        ] {
            let uri = format!("matchwire://{path}");
            let (_, error) = client.error("resources/read", json!({"uri": uri})).await;
            assert_eq!(
                (&error["code"], &error["data"]["uri"]),
                (&json!(unknown), &json!(uri)),
                "{path}: {error}"
            );
        }
        for uri in ["file:///etc/passwd", "http://127.0.0.1/", "matchwire:football"] {
            let (_, error) = client.error("resources/read", json!({"uri": uri})).await;
            assert_eq!(error["code"], unknown, "{uri}: {error}");
        }
    }
}

/// The documentation is that of the site, page by page.
#[tokio::test]
async fn documentation_is_read_as_markdown() {
    let hub = Hub::quiet();
    let key = hub.key(&["sports"]);
    for path in ["/mcp", "/tennis/mcp"] {
        let client = super::client::McpClient::new(&hub, &key).at(path);
        let listed = client.result("resources/list", json!({})).await;
        let mut pages = 0;
        for resource in listed["resources"].as_array().expect("a list") {
            let uri = resource["uri"].as_str().expect("a URI");
            if !uri.starts_with("matchwire://docs/") {
                continue;
            }
            let read = client.result("resources/read", json!({"uri": uri})).await;
            assert_eq!(read["contents"][0]["mimeType"], "text/markdown", "{uri}");
            assert!(text(&read).contains("# "), "{uri}: {}", text(&read));
            assert!(!text(&read).contains("<!doctype"), "{uri}");
            pages += 1;
        }
        assert!(pages > 5, "only {pages} pages");
    }
}

#[tokio::test]
async fn arguments_of_templates_and_prompts_are_completed() {
    let stage = Stage::new(&[]);
    let id = stage.football("m1", ["Manchester United", "Arsenal"]).await;
    let other = stage.football("m2", ["Chelsea", "Fulham"]).await;
    let facts = [market("alpha", "open"), prices("alpha", ["2.10", "3.40", "3.50"])];
    stage.push("football", "m1", &facts).await;
    let odds = format!("/stream/v1/channels/football/{id}/odds/alpha");
    stage.hub.json_until(&stage.key, &odds, |image| image["seq"].is_u64()).await;
    // A bookmaker is known as soon as it is archived.
    let is_known = |page: &Value| page.to_string().contains("alpha");
    stage.hub.json_until(&stage.key, "/api/v2/bookmakers/", is_known).await;
    for era in ERAS {
        let client = stage.client().with_era(era);
        let complete = async |reference: Value, name: &str, value: &str| -> Vec<String> {
            let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
            let completed = client.result("completion/complete", params).await;
            let values = completed["completion"]["values"].as_array().expect("values");
            assert!(values.len() <= 100);
            values.iter().map(|it| it.as_str().expect("a text").to_owned()).collect()
        };
        let template = json!({"type": "ref/resource", "uri": "matchwire://football/{id}"});
        assert_eq!(complete(template.clone(), "id", "manch").await, [id.to_string()]);
        assert_eq!(complete(template.clone(), "id", &other.to_string()).await, [other.to_string()]);
        assert_eq!(complete(template.clone(), "id", "nobody").await, Vec::<String>::new());
        assert_eq!(complete(template, "id", "").await.len(), 2);
        let book =
            json!({"type": "ref/resource", "uri": "matchwire://football/{id}/odds/{bookmaker}"});
        assert!(complete(book, "bookmaker", "alp").await.contains(&"alpha".to_owned()));
        let prompt = json!({"type": "ref/prompt", "name": "live_brief"});
        let titles = complete(prompt, "match", "chels").await;
        assert_eq!(titles, [format!("Chelsea v Fulham ({other})")]);
        let check = json!({"type": "ref/prompt", "name": "odds_check"});
        assert_eq!(complete(check, "market", "bt").await, ["btts"]);
        let slate = json!({"type": "ref/prompt", "name": "slate"});
        assert!(complete(slate, "date", "20").await.len() > 5);
    }
}

#[tokio::test]
async fn prompts_need_their_arguments() {
    let hub = Hub::quiet();
    let key = hub.key(&[]);
    for era in ERAS {
        let client = super::client::McpClient::new(&hub, &key).with_era(era);
        let listed = client.result("prompts/list", json!({})).await;
        let listed = listed["prompts"].as_array().expect("a list");
        let names: Vec<&str> = listed.iter().filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(names, ["match_preview", "live_brief", "what_changed", "odds_check", "slate"]);
        for prompt in listed {
            let name = &prompt["name"];
            let arguments = prompt["arguments"].as_array().expect("arguments");
            let given = arguments.iter().map(|argument| {
                assert_eq!(argument["required"], true, "{name}");
                (argument["name"].as_str().expect("a name").to_owned(), json!("Alpha v Beta (7)"))
            });
            let given: Value = given.collect::<serde_json::Map<_, _>>().into();
            let got = client.result("prompts/get", json!({"name": name, "arguments": given})).await;
            let text = got["messages"][0]["content"]["text"].as_str().expect("a text");
            assert!(text.contains("Alpha v Beta (7)") && text.contains("as_of"), "{text}");
            assert!(!text.contains('{') && !text.contains('}'), "{text}");
            let (_, error) = client.error("prompts/get", json!({"name": name})).await;
            assert_eq!(error["code"], -32602, "{name}: {error}");
            let (_, error) =
                client.error("prompts/get", json!({"name": name, "arguments": {"x": "y"}})).await;
            assert_eq!(error["code"], -32602, "{name}: {error}");
        }
        let (_, error) = client.error("prompts/get", json!({"name": "nothing"})).await;
        assert_eq!(error["code"], -32602, "{error}");
    }
}
