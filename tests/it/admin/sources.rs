//! The page of sources, with what was refused of them.

use tokio::time::timeout;

use super::{QUICK, operator};
use crate::support::{Hub, PATIENCE, QUIET, pause};

const FIXTURE: &str = r#"{"id":"f","sport":"hockey","match":"m1","fact":{"fixture":{}}}"#;

#[tokio::test]
async fn refused_messages_are_listed_escaped_and_bounded() {
    let hub = Hub::start_with(&["serve"], &[QUIET, QUICK[0], QUICK[1]]);
    let mut ada = operator(&hub).await;
    let empty = ada.get("/admin/sources/").await.body;
    assert!(empty.contains("Rejected messages of all sources"), "{empty}");
    for source in ["acme", "other"] {
        let token = format!("Token {}", hub.feed_key(source, &[]));
        let headers = [("authorization", &*token)];
        let long = format!("<script>alert('{source}')</script>\u{202e}{}", "x".repeat(5_000));
        let body = format!("{FIXTURE}\n{long}\n{{\"sport\":\"hockey\"}}\n");
        let answer = hub.post(&format!("/ingest/v1/{source}"), &headers, body.as_bytes()).await;
        assert_eq!(answer.json()["refused"], 2, "{answer:?}");
    }
    // The sources come with the next turn of the channel `feeds`.
    let link = "href=\"/admin/sources/?source=acme\"";
    let listed = async {
        loop {
            let page = ada.get("/admin/sources/").await.body;
            if page.contains(link) {
                return page;
            }
            pause().await;
        }
    };
    let all = timeout(PATIENCE, listed).await.expect("the source is listed");
    assert!(!all.contains("<script>alert"), "a message is taken for HTML");
    assert!(!all.contains('\u{202e}') && all.contains("202e"), "text is reordered: {all}");
    assert!(all.contains("acme:2") && all.contains("other:3"), "{all}");
    assert!(!all.contains(&"x".repeat(500)), "a message is not cut");
    let order = [all.find("other:3"), all.find("other:2"), all.find("acme:3"), all.find("acme:2")];
    assert!(order.is_sorted() && order[0].is_some(), "not the newest first: {order:?}");
    let of_source = ada.get("/admin/sources/?source=acme").await.body;
    assert!(of_source.contains("acme:2") && !of_source.contains("other:2"), "{of_source}");
    let none = ada.get("/admin/sources/?source=%3Cb%3E").await.body;
    assert!(none.contains("None.") && !none.contains("<b>"), "{none}");
    // Many long messages make no long page.
    let token = format!("Token {}", hub.feed_key("many", &[]));
    let line = format!("{}\n", "<".repeat(2_000));
    let body = line.repeat(200);
    hub.post("/ingest/v1/many", &[("authorization", &*token)], body.as_bytes()).await;
    let many = ada.get("/admin/sources/?source=many").await.body;
    assert!(many.contains("only the last 50"), "{many}");
    assert!(many.len() < 200_000, "{} bytes before compression", many.len());
}
