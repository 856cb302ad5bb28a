//! `pick` and `events`: a reader of a part of the documents.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::{
    resume::sha256,
    support::{
        ALL_ADDONS, Client, Hub, ended,
        feed::{self, Market},
        merge_patch::merge,
    },
};

const BOOK: &str = "tennis/*/odds/betfair";
const PRICE: &str = "/markets/*/selections/*/price";

/// The picked part of a book: its header and the prices of its selections.
fn prices(book: &Value) -> Value {
    let mut picked: Map<String, Value> =
        ["life", "feed", "stale_after_ms", "match_seq", "suspended"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), book.get(name)?.clone())))
            .collect();
    let mut markets = Map::new();
    for (id, market) in book["markets"].as_object().expect("a book has markets") {
        let selections = market["selections"].as_object().into_iter().flatten();
        let selections: Map<String, Value> = selections
            .filter_map(|(id, it)| Some((id.clone(), json!({"price": it.get("price")?}))))
            .collect();
        if !selections.is_empty() {
            markets.insert(id.clone(), json!({ "selections": selections }));
        }
    }
    if !markets.is_empty() {
        picked.insert("markets".to_owned(), Value::Object(markets));
    }
    Value::Object(picked)
}

/// The next frame. Picked documents are parts of those in the schema.
async fn next(client: &mut Client) -> Value {
    let text = client.next_text().await.expect("the hub stays up");
    serde_json::from_str(&text).expect("a frame is JSON")
}

async fn ask(client: &mut Client, command: &Value) -> Value {
    client.send(command).await;
    loop {
        let frame = next(client).await;
        if frame["id"] == command["id"] {
            return frame;
        }
    }
}

/// Every price change of a book that is suspended now and then, for a reader of everything and one of the prices.
#[tokio::test]
async fn picked_reader_has_its_part_and_proves_it() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", &Market { event: 9 }.busy(2_000, 450));
    let arguments = ["replay", "--speed", "max", "--hold", path.to_str().expect("a path of text")];
    let hub = Hub::start_in(folder, &arguments);
    let key = hub.key(&ALL_ADDONS);
    let mut picking = Client::connect(&hub.address, &key).await;
    let command = json!({"op": "subscribe", "id": 1, "ch": BOOK, "pick": [PRICE], "events": []});
    let answer = ask(&mut picking, &command).await;
    assert_eq!((&answer["pick"], &answer["events"]), (&json!([PRICE]), &json!(false)));
    let mut whole = Client::connect(&hub.address, &key).await;
    whole.subscribe(BOOK).await;
    whole.subscribe("*").await;
    whole.until(ended).await;
    let book = |client: &Client| client.channels.keys().find(|it| it.contains("/odds/")).cloned();
    let name = book(&whole).expect("a book");

    // What leads to the document comes before its hash.
    picking.send(&json!({"op": "hash", "id": 2, "ch": name})).await;
    let (mut picked, mut seq, mut kinds) = (Value::Null, 0, Vec::new());
    let proof = loop {
        let frame = next(&mut picking).await;
        match frame["type"].as_str() {
            Some("image") => picked = frame["data"].clone(),
            Some("update") => {
                assert!(frame["prev"].as_u64() <= Some(seq), "a gap before {frame}, at {seq}");
                if let Some(patch) = frame.get("patch") {
                    merge(&mut picked, patch);
                }
                let events = frame["events"].as_array().into_iter().flatten();
                kinds.extend(events.map(|event| event["kind"].as_str().unwrap_or("").to_owned()));
            }
            Some("hash") => break frame,
            _ => continue,
        }
        seq = frame["seq"].as_u64().expect("a sequence");
    };
    let expected = prices(&whole.channels[&name].data);
    assert_eq!(picked, expected);
    assert!(kinds.iter().all(|kind| kind == "suspend" || kind == "resume"), "{kinds:?}");
    let suspensions = kinds.iter().filter(|kind| *kind == "suspend").count();
    assert!(suspensions >= 4, "suspensions always come: {kinds:?}");
    assert_eq!(proof["sha256"], sha256(&expected));

    // Another pick of the same subscription starts with its image.
    let answer = ask(&mut picking, &json!({"op": "set", "id": 3, "ch": BOOK, "pick": null})).await;
    assert_eq!((answer.get("pick"), &answer["events"]), (None, &json!(false)));
    let image = loop {
        let frame = next(&mut picking).await;
        if frame["type"] == "image" {
            break frame;
        }
    };
    assert_eq!(image["data"], whole.channels[&name].data);
}
