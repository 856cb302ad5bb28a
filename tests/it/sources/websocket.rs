//! Lines of Matchwire's own format from another server's socket.

use futures_util::StreamExt;
use serde_json::json;
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

use super::{
    check_held, check_metric, check_secrets, follower, one,
    peers::socket::{Peer, say},
    serve, until,
};
use crate::support::{Client, PATIENCE, SECRET};

/// A match with this score, and a bookmaker's price of its home side.
pub(super) fn lines(score: [u16; 2], home: &str) -> String {
    let line = |fact: serde_json::Value| {
        json!({"at": 1_788_280_000_000_000_u64, "sport": "football", "match": "derby", "fact": fact})
            .to_string()
    };
    let selection =
        |id: &str, outcome: &str| json!({"id": id, "status": "active", "outcome": outcome});
    let market = json!({
        "kind": "match_winner", "status": "open", "in_play": true,
        "selections": [selection("1", "home"), selection("x", "draw"), selection("2", "away")],
    });
    let prices = [("1", home), ("x", "3.40"), ("2", "3.55")]
        .map(|(id, price)| json!({"id": id, "price": price}));
    let odds = |change: serde_json::Value| {
        line(json!({"odds": {"book": "acme", "market": "m1", "change": change}}))
    };
    [
        line(json!({"fixture": {"sides": [{"name": "Home FC"}, {"name": "Away FC"}]}})),
        line(json!({"football": {"status": "first_half"}})),
        line(json!({"football": {"score": {"goals": score}}})),
        odds(json!({"define": market})),
        odds(json!({"prices": {"selections": prices}})),
    ]
    .join("\n")
}

/// The operator's configuration of it.
pub(super) fn table(peer: &Peer) -> String {
    format!(
        "[[source]]\nname = \"lines\"\nkind = \"websocket\"\nurl = {:?}\nfirst = [\"begin\"]\n\
         headers = {{ x-key = {SECRET:?} }}\n",
        peer.url()
    )
}

/// The next connection, up to its first message.
pub(super) async fn begun(peer: &Peer) -> WebSocketStream<TcpStream> {
    let mut socket = peer.accept().await;
    let first = timeout(PATIENCE, socket.next()).await.expect("it says something");
    assert_eq!(first.expect("it is there").expect("a message"), Message::text("begin"));
    socket
}

fn price(client: &Client) -> Option<&str> {
    let book = one(client, "/odds/acme")?;
    book.data["markets"]["m1"]["selections"]["1"]["price"].as_str()
}

#[tokio::test]
async fn lines_are_followed_and_books_held_during_silence() {
    let peer = Peer::start().await;
    let port = peer.addr.port();
    let hub = serve(&table(&peer));
    let mut client = follower(&hub).await;
    let mut socket = begun(&peer).await;
    until(&mut client, "lines", "recovering").await;
    say(&mut socket, &format!("{}\nno line", lines([1, 0], "2.10"))).await;
    until(&mut client, "lines", "live").await;
    client.until(|client| price(client) == Some("2.10")).await;
    client.until(|client| super::source(client, "lines")["quarantined"] == 1).await;
    check_metric(&hub, "lines", "live").await;

    drop((socket, peer));
    until(&mut client, "lines", "down").await;
    check_held(&client, "down");
    check_metric(&hub, "lines", "down").await;

    let peer = Peer::start_on(port).await;
    let mut socket = begun(&peer).await;
    until(&mut client, "lines", "recovering").await;
    check_held(&client, "recovering");
    say(&mut socket, &lines([1, 1], "2.30")).await;
    until(&mut client, "lines", "live").await;
    client.until(|client| price(client) == Some("2.30")).await;
    assert_eq!(one(&client, "/odds/acme").expect("it is there").data["suspended"], false);
    check_secrets(hub, &client, &[]).await;
}
