//! The pages of sockets: the slowest on top, and one explained, with readers that really do not read.

use serde_json::json;
use tokio::time::timeout;

use super::{QUICK, operator};
use crate::{
    slow::{BOOKS, follow, has_come_to, hub_with, idle},
    support::{ALL_ADDONS, Browser, Client, Hub, PATIENCE, QUIET, between, feed::Market, pause},
};

/// A hub that holds a long recording until a client follows it, and a key.
fn hub() -> (Hub, String) {
    hub_of(20_000)
}

/// The same with a recording of so many changes.
fn hub_of(changes: u64) -> (Hub, String) {
    hub_with(&Market { event: 30 }.busy(changes, 100), &QUICK[..2])
}

/// The id of a connection, from its `hello`.
async fn id(client: &mut Client) -> String {
    let hello = client.next_of("hello").await;
    hello["conn"].as_str().expect("hello names the connection").to_owned()
}

/// Opens a page again and again until it contains all of these texts.
async fn until(browser: &mut Browser<'_>, path: &str, texts: &[&str]) -> String {
    let mut last = String::new();
    let wait = async {
        loop {
            let answer = browser.get(path).await;
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            last = answer.body;
            if texts.iter().all(|text| last.contains(text)) {
                return;
            }
            pause().await;
        }
    };
    let came = timeout(PATIENCE, wait).await;
    assert!(came.is_ok(), "{path} never had all of {texts:?}: {last}");
    last
}

/// The ids of the sockets on the list, in order.
fn listed(page: &str) -> Vec<&str> {
    let links = page.split("<th scope=\"row\"><a href=\"/admin/sockets/").skip(1);
    links.map(|rest| rest.split('/').next().expect("the rest of a link")).collect()
}

#[tokio::test]
async fn reader_that_does_not_read_is_on_top_and_explained() {
    let (hub, key) = hub();
    let mut ada = operator(&hub).await;
    let mut slow = Client::connect_narrow(&hub.address, &key).await;
    let conn = id(&mut slow).await;
    let page = format!("/admin/sockets/{conn}/");
    // Looking at it starts the watch.
    let quiet = ada.get(&page).await;
    assert_eq!(quiet.status, 200, "{quiet:?}");
    assert!(quiet.body.contains("Watched for another"), "{}", quiet.body);
    assert!(quiet.body.contains("keeps up") && quiet.body.contains("127.0.0.1"), "{}", quiet.body);

    slow.send(&json!({"op": "subscribe", "id": 1, "ch": BOOKS, "on_slow": "merge"})).await;
    let (reader, image) = follow(&hub, &key).await;
    let stuck = ["does not read", "Socket full", "Fell behind", "queued for the socket"];
    let shown = until(&mut ada, &page, &stuck).await;
    let reasons = ["the socket is full, and", "has waited for", "a suspension goes first"];
    assert!(reasons.iter().any(|reason| shown.contains(reason)), "{shown}");
    assert!(shown.contains("tennis/") && shown.contains("each change"), "{shown}");
    assert!(!shown.contains(&key), "the page contains the key");
    assert!(shown.len() < 100_000, "{} bytes", shown.len());

    let list = until(&mut ada, "/admin/sockets/", &["does not read"]).await;
    assert_eq!(listed(&list).first(), Some(&&*conn), "the slowest is not on top: {list}");
    assert!(list.contains("3 open sockets") || list.contains("2 open sockets"), "{list}");
    assert!(list.contains(&key[..11]) && !list.contains(&key), "{list}");
    let first = between(&list, "<tbody>", "</tr>").expect("a row");
    assert!(first.contains("does not read"), "{first}");

    // Its reader comes back: what was merged has its reason.
    while !has_come_to(&slow, &image) {
        slow.next().await.expect("it is not cut off");
    }
    let over =
        ["Merged", "no room for them while the client was slow", "Keeps up again", "Queue written"];
    until(&mut ada, &page, &over).await;
    until(&mut ada, &page, &["Nothing waits for it in the hub"]).await;
    drop(reader);
}

#[tokio::test]
async fn list_is_filtered_by_account_and_channel() {
    let hub = Hub::start_with(&["serve"], &[QUIET, QUICK[0], QUICK[1]]);
    let (one, other) = (hub.key(&ALL_ADDONS), hub.key(&ALL_ADDONS));
    let mut ada = operator(&hub).await;
    let mut first = Client::connect(&hub.address, &one).await;
    let mut second = Client::connect(&hub.address, &other).await;
    let (first_id, second_id) = (id(&mut first).await, id(&mut second).await);
    second.subscribe("feeds").await;
    let mut list = async |query: &str| {
        let answer = ada.get(&format!("/admin/sockets/{query}")).await;
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        answer.body
    };
    let all = list("").await;
    assert_eq!(listed(&all).len(), 2, "{all}");
    let of_account = list(&format!("?account={}", &one[..11])).await;
    assert_eq!(listed(&of_account), [&*first_id], "{of_account}");
    assert!(of_account.contains("1 of 2 open sockets match"), "{of_account}");
    assert_eq!(listed(&list("?account=nobody%40example.org").await), [""; 0]);
    assert_eq!(listed(&list("?channel=feeds").await), [&*second_id]);
    let both = list(&format!("?account={}&channel=feeds", &one[..11])).await;
    assert_eq!(listed(&both), [""; 0], "{both}");
    let wrong = list("?channel=%3Cb%3E").await;
    assert!(wrong.contains("not the name of one channel") && !wrong.contains("<b>"), "{wrong}");
    assert_eq!(listed(&wrong).len(), 2);
}

#[tokio::test]
async fn resume_rate_and_refusals_have_their_reasons() {
    // Few enough that the entries of a catch-up are among those that are listed.
    let (hub, key) = hub_of(5_000);
    let mut ada = operator(&hub).await;
    // It leaves early, so that it has a position to resume from.
    let mut early = Client::connect(&hub.address, &key).await;
    early.subscribe(BOOKS).await;
    early.next_of("update").await;
    let state = early.channels.iter().find(|(name, _)| name.starts_with("tennis/"));
    let (name, state) = state.map(|(name, it)| (name.clone(), it.clone())).expect("a book");
    drop(early.socket);
    follow(&hub, &key).await;
    let mut again = Client::connect(&hub.address, &key).await.knowing(early.channels);
    let conn = id(&mut again).await;
    let page = format!("/admin/sockets/{conn}/");
    ada.get(&page).await;
    let from = json!({"epoch": state.epoch, "seq": state.seq});
    let subscribe = json!({"op": "subscribe", "id": 1, "ch": name, "from": from});
    let set = json!({"op": "set", "id": 2, "ch": name, "every_ms": 1000});
    let unsubscribe = json!({"op": "unsubscribe", "id": 4, "ch": name});
    // The rate is to change while the socket catches up, which may be over sooner where the machine is busy.
    let resumed = [
        &*format!("resumes from {}, ", state.seq),
        &*format!("changes from {} to ", state.seq),
        "they were published while it was away or joined",
        "the client changed its rate or its pick",
    ];
    let change_in_time = async {
        loop {
            again.send_together(&[subscribe.clone(), set.clone()]).await;
            again.next_of("subscribed").await;
            again.next_of("subscribed").await;
            let shown = ada.get(&page).await.body;
            if resumed.iter().all(|text| shown.contains(text)) {
                return;
            }
            again.ask(&unsubscribe).await;
            again.channels.insert(name.clone(), state.clone());
        }
    };
    timeout(PATIENCE, change_in_time).await.expect("the rate changes while the socket catches up");
    again.ask(&json!({"op": "subscribe", "id": 3, "ch": "tennis/0"})).await;
    again.ask(&unsubscribe).await;
    let from = json!({"epoch": "zzz", "seq": 3});
    again.ask(&json!({"op": "subscribe", "id": 5, "ch": name, "from": from})).await;
    let texts = [
        "not_tracked: no such channel now",
        "Unsubscribed",
        "cannot resume from 3: the channel has begun a new epoch",
        "Image queued",
    ];
    until(&mut ada, &page, &texts).await;
}

#[tokio::test]
async fn closed_socket_is_remembered_with_its_code() {
    let (hub, key) = hub();
    let mut ada = operator(&hub).await;
    let mut slow = idle(&hub, &key, "close").await;
    let hello = slow.others.iter().find(|frame| frame["type"] == "hello").expect("a hello");
    let conn = hello["conn"].as_str().expect("an id").to_owned();
    hub.until_counted(r#"matchwire_closes_total{reason="slow"}"#).await;
    slow.next_of("bye").await;
    slow.until_closed().await;
    drop(slow);
    let page = format!("/admin/sockets/{conn}/");
    until(&mut ada, &page, &["This socket is closed.", "by the hub: 4508 slow"]).await;
    for unknown in ["0-999999", "99-1", "0-0", "00-1", "x", "1"] {
        let answer = ada.get(&format!("/admin/sockets/{unknown}/")).await;
        assert_eq!(answer.status, 404, "{unknown}");
    }
}
