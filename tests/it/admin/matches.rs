//! The page of matches: what may be one match is joined and split by the operator.

use serde_json::json;
use tokio::time::timeout;

use super::{QUICK, operator};
use crate::support::{ALL_ADDONS, Browser, Hub, PATIENCE, QUIET, pause};

const START: u64 = 1_788_280_000_000_000;

async fn push(hub: &Hub, source: &str, sides: [&str; 2]) {
    push_in(hub, source, sides, None).await;
}

async fn push_in(hub: &Hub, source: &str, sides: [&str; 2], competition: Option<&str>) {
    let token = format!("Token {}", hub.feed_key(source, &[]));
    let sides = sides.map(|side| json!({"name": side, "key": side}));
    let mut fixture = json!({"start": START, "sides": sides});
    if let Some(name) = competition {
        fixture["competition"] = json!({"name": name, "key": name});
    }
    let line =
        json!({"at": START, "sport": "football", "match": "m1", "fact": {"fixture": fixture}});
    let headers = [("authorization", &*token)];
    let body = line.to_string();
    let answer = hub.post(&format!("/ingest/v1/{source}"), &headers, body.as_bytes()).await;
    assert_eq!(answer.json()["accepted"], 1, "{answer:?}");
}

/// The number of football matches that clients see.
async fn matches(hub: &Hub, key: &str) -> usize {
    let board = hub.get(&format!("/stream/v1/channels/football?token={key}")).await.json();
    board["data"]["matches"].as_object().map_or(0, serde_json::Map::len)
}

async fn until(browser: &mut Browser<'_>, holds: impl Fn(&str) -> bool) -> String {
    let wait = async {
        loop {
            let page = browser.get("/admin/matches/").await;
            assert_eq!(page.status, 200, "{page:?}");
            if holds(&page.body) {
                return page.body;
            }
            pause().await;
        }
    };
    timeout(PATIENCE, wait).await.expect("the page shows it in time")
}

fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("aria-labelledby=\"{id}\"")).expect("a section");
    page[start..].split("</section>").next().expect("its end")
}

#[tokio::test]
async fn candidates_are_joined_and_split_after_a_confirmation() {
    let hub = Hub::start_with(&["serve"], &[QUIET, QUICK[0], QUICK[1]]);
    let key = hub.key(&ALL_ADDONS);
    let mut ada = operator(&hub).await;
    push(&hub, "acme", ["Ajax", "PSV"]).await;
    push(&hub, "other", ["PSV", "Ajax"]).await;
    let page = until(&mut ada, |page| page.contains("the sides are the other way round")).await;
    let candidates = section(&page, "candidates-title");
    assert!(candidates.contains("acme/m1") && candidates.contains("other/m1"), "{candidates}");
    assert!(candidates.contains("0.90") && candidates.contains("sides swapped"), "{candidates}");
    assert_eq!(matches(&hub, &key).await, 2);

    // The form has them in the order of the page.
    let field = |name: &str| {
        let value = candidates.split(&format!("name=\"{name}\" value=\"")).nth(1);
        value.and_then(|rest| rest.split('"').next()).expect("a field").to_owned()
    };
    let names = ["provider", "key", "other_provider", "other_key"];
    let values = names.map(field);
    let fields: Vec<(&str, &str)> = names.into_iter().zip(values.iter().map(|it| &**it)).collect();
    let confirmed = [&fields[..], &[("confirmed", "yes")]].concat();
    let asked = ada.send("/admin/matches/join/", &fields).await;
    assert!(asked.status == 200 && asked.body.contains("Join these matches?"), "{asked:?}");
    let unchanged = ada.get("/admin/matches/").await.body;
    assert!(!unchanged.contains("orders-title"), "ordered without a yes: {unchanged}");
    let joined = ada.send("/admin/matches/join/", &confirmed).await;
    let location = joined.header("location");
    assert_eq!((joined.status, location), (303, Some("/admin/matches/?done=join")), "{joined:?}");
    // The list of orders and that of candidates are of different moments.
    let is_joined = |page: &str| {
        section(page, "joined-title").contains("operator")
            && section(page, "candidates-title").contains("None.")
    };
    let page = until(&mut ada, is_joined).await;
    let one = async {
        while matches(&hub, &key).await != 1 {
            pause().await;
        }
    };
    timeout(PATIENCE, one).await.expect("clients see one match");
    let again = ada.send("/admin/matches/join/", &confirmed).await;
    assert!(again.status == 409 && again.body.contains("Nothing was changed."), "{again:?}");

    let provider = if section(&page, "joined-title").contains("<code>acme/m1</code><br>") {
        "acme"
    } else {
        "other"
    };
    let fields = [("provider", provider), ("key", "m1")];
    let asked = ada.send("/admin/matches/split/", &fields).await;
    assert!(asked.body.contains("Keep this match apart?"), "{asked:?}");
    let split = [&fields[..], &[("confirmed", "yes")]].concat();
    assert_eq!(ada.send("/admin/matches/split/", &split).await.status, 303);
    // It is decided, so it is no candidate either.
    let is_split = |page: &str| {
        ["joined-title", "candidates-title"].iter().all(|it| section(page, it).contains("None."))
    };
    until(&mut ada, is_split).await;
    let two = async {
        while matches(&hub, &key).await != 2 {
            pause().await;
        }
    };
    timeout(PATIENCE, two).await.expect("clients see two matches again");
    let unknown = [("provider", "nobody"), ("key", "1"), ("confirmed", "yes")];
    assert_eq!(ada.send("/admin/matches/split/", &unknown).await.status, 409);
}

#[tokio::test]
async fn competitions_are_decided_once_and_that_is_taken_back() {
    let hub = Hub::start_with(&["serve"], &[QUIET, QUICK[0], QUICK[1]]);
    let key = hub.key(&ALL_ADDONS);
    let mut ada = operator(&hub).await;
    push_in(&hub, "acme", ["Ajax", "PSV"], Some("Eredivisie")).await;
    push_in(&hub, "other", ["Ajax", "PSV"], Some("KNVB Beker")).await;
    let why = "the competitions have different names";
    let page = until(&mut ada, |page| page.contains(why)).await;
    let candidates = section(&page, "candidates-title");
    assert!(candidates.contains("One competition"), "{candidates}");
    let field = |name: &str| {
        let value = candidates.split(&format!("name=\"{name}\" value=\"")).nth(1);
        value.and_then(|rest| rest.split('"').next()).expect("a field").to_owned()
    };
    let names = ["provider", "key", "other_provider", "other_key"];
    let values = names.map(field);
    let mut fields: Vec<(&str, &str)> =
        names.into_iter().zip(values.iter().map(|it| &**it)).collect();
    fields.push(("relation", "same"));
    let path = "/admin/matches/competitions/";
    let asked = ada.send(path, &fields).await;
    assert!(asked.status == 200 && asked.body.contains("Are these one competition?"), "{asked:?}");
    let confirmed = [&fields[..], &[("confirmed", "yes")]].concat();
    let said = ada.send(path, &confirmed).await;
    assert_eq!(said.header("location"), Some("/admin/matches/?done=competitions"), "{said:?}");
    let is_joined = |page: &str| {
        section(page, "joined-title").contains("operator")
            && section(page, "candidates-title").contains("None.")
            && page.contains("competitions-title")
    };
    let page = until(&mut ada, is_joined).await;
    let decided = section(&page, "competitions-title").to_owned();
    assert!(decided.contains("Eredivisie (acme)") && decided.contains("KNVB Beker (other)"));
    let one = async {
        while matches(&hub, &key).await != 1 {
            pause().await;
        }
    };
    timeout(PATIENCE, one).await.expect("clients see one match");

    let field = |name: &str| {
        let value = decided.split(&format!("name=\"{name}\" value=\"")).nth(1);
        value.and_then(|rest| rest.split('"').next()).expect("a field").to_owned()
    };
    let (one, other) = (field("one"), field("other"));
    let undo = [("one", &*one), ("other", &*other), ("confirmed", "yes")];
    assert_eq!(ada.send(path, &undo).await.status, 303);
    until(&mut ada, |page| !page.contains("competitions-title")).await;
    let again = ada.send(path, &undo).await;
    assert!(again.status == 409 && again.body.contains("Nothing was changed."), "{again:?}");
}
