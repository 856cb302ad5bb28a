//! The documentation as Markdown, and what agents read before they connect.

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{Hub, PATIENCE, QUIET, Setting};

const PAGES: [(&str, &str); 6] = [
    ("/docs/", "/docs.md"),
    ("/docs/authentication/", "/docs/authentication.md"),
    ("/docs/rest/", "/docs/rest.md"),
    ("/docs/websocket/", "/docs/websocket.md"),
    ("/docs/examples/", "/docs/examples.md"),
    ("/mcp-info/", "/mcp-info.md"),
];

/// A hub that clients know by another address.
pub(crate) const PUBLIC: Setting = ("SERVER_PUBLIC_URL", "https://api.test");

#[tokio::test]
async fn every_page_is_available_as_markdown() {
    let hub = Hub::shared(&["serve"], &[QUIET, PUBLIC]);
    for (page, markdown) in PAGES {
        let html = hub.get(page).await;
        assert_eq!(html.header("content-type"), Some("text/html; charset=utf-8"), "{page}");
        assert!(html.headers("vary").any(|it| it.contains("accept")), "{page}");
        let link = format!(r#"<link rel="alternate" type="text/markdown" href="{markdown}">"#);
        assert!(html.body.contains(&link), "{page}");

        let by_address = hub.get(markdown).await;
        let by_header = hub.request("GET", page, &[("accept", "text/markdown")]).await;
        assert_eq!(by_address.body, by_header.body, "{page}");
        for answer in [&by_address, &by_header] {
            assert_eq!(answer.status, 200, "{page}");
            let kind = answer.header("content-type");
            assert_eq!(kind, Some("text/markdown; charset=utf-8"), "{page}");
            assert!(answer.headers("vary").any(|it| it.contains("accept")), "{page}");
        }
        let text = &by_address.body;
        assert!(text.starts_with("# "), "{page}: {text}");
        let outside_code = text.split("```").step_by(2).collect::<String>();
        for tag in ["<p", "<div", "<td", "<th", "<pre", "<span", "<a ", "</"] {
            assert!(!outside_code.contains(tag), "{page} has {tag}: {outside_code}");
        }
        assert!(!text.contains("](/"), "{page} has a relative link: {text}");
        assert_eq!(count(&html.body, "<pre"), count(text, "```") / 2, "{page}: {text}");
        let rows = count(&html.body, "<tr>");
        let lines = text.lines().filter(|line| line.starts_with("| ")).count();
        assert_eq!(lines, rows + count(&html.body, "<table>"), "{page}: {text}");
    }
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[tokio::test]
async fn llms_text_leads_to_pages_that_exist() {
    let hub = Hub::shared(&["serve"], &[QUIET, PUBLIC]);
    let text = hub.get("/llms.txt").await;
    assert_eq!(text.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(text.body, hub.get("/.well-known/llms.txt").await.body);
    let links = text.body.split("](https://api.test").skip(1);
    let paths: Vec<_> = links.filter_map(|link| link.split(')').next()).collect();
    for (_, markdown) in PAGES {
        assert!(paths.contains(&markdown), "{markdown}: {paths:?}");
    }
    for path in paths.into_iter().filter(|path| !path.ends_with("/mcp")) {
        assert_eq!(hub.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn catalog_leads_to_the_card_of_each_server() {
    let hub = Hub::shared(&["serve"], &[QUIET, PUBLIC]);
    let catalog = hub.get("/.well-known/mcp/catalog.json").await;
    assert_eq!(catalog.header("access-control-allow-origin"), Some("*"));
    let catalog = catalog.json();
    let entries = catalog["entries"].as_array().expect("a list");
    assert_eq!(entries.len(), 7);
    for entry in entries {
        let url = entry["url"].as_str().expect("a URL");
        let path = url.strip_prefix("https://api.test").expect("a URL of this hub");
        let accept = [("accept", "application/mcp-server-card+json")];
        let answer = hub.request("GET", path, &accept).await;
        assert_eq!(answer.header("content-type"), Some("application/mcp-server-card+json"));
        let card = answer.json();
        check_remote(&card);
        assert_eq!(entry["displayName"], card["title"]);
        let name = card["name"].as_str().expect("a name");
        assert!(name.starts_with("test.api/matchwire"), "{name}");
        let answer = hub.get(path).await;
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
        let registry = hub.get(&path.replace("server-card", "server")).await.json();
        check_remote(&registry);
        assert_eq!(registry["name"], card["name"]);
    }
    assert_eq!(hub.get("/.well-known/mcp/chess/server-card.json").await.status, 404);
}

fn check_remote(document: &Value) {
    let remote = &document["remotes"][0];
    assert_eq!(remote["type"], "streamable-http");
    assert!(remote["url"].as_str().is_some_and(|url| url.ends_with("/mcp")), "{remote}");
    let header = &remote["headers"][0];
    assert_eq!((&header["name"], &header["isSecret"]), (&"Authorization".into(), &true.into()));
    assert_eq!(document["version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn snippets_are_for_the_chosen_server() {
    let hub = Hub::shared(&["serve"], &[QUIET, PUBLIC]);
    let football = hub.get("/mcp-info.md").await.body;
    assert!(football.contains("claude mcp add --transport http matchwire https://api.test/mcp"));
    let tennis = hub.get("/mcp-info.md?server=tennis").await.body;
    let command = "claude mcp add --transport http matchwire-tennis https://api.test/tennis/mcp";
    assert!(tennis.contains(command), "{tennis}");
    let unknown = hub.get("/mcp-info.md?server=%3Cscript%3E").await;
    assert_eq!((unknown.status, unknown.body), (200, football));
}

/// A page of another host whose name was rebound to this address must not read the key.
#[tokio::test]
async fn key_of_a_demo_is_shown_on_loopback_only() {
    let hub = Hub::demo();
    for path in ["/mcp-info/", "/mcp-info.md"] {
        let key = |page: &str| {
            let rest = page.split("Bearer ").nth(1).expect("a header");
            rest.trim_start_matches("<span>").chars().take(51).collect::<String>()
        };
        let shown_key = key(&hub.get(path).await.body);
        assert!(
            shown_key.starts_with("mw_")
                && shown_key.chars().skip(3).all(|it| it.is_ascii_hexdigit()),
            "{shown_key}"
        );
        let foreign = get_as(&hub, "evil.test", path).await;
        assert!(!foreign.contains(&shown_key) && foreign.contains("YOUR_KEY"), "{path}");
    }
}

/// The response to a request that claims this host.
async fn get_as(hub: &Hub, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
    let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    let reading = stream.read_to_string(&mut answer);
    timeout(PATIENCE, reading).await.expect("an answer in time").expect("text");
    answer
}
