//! A client that `matchwire conformance` grades: it follows what its environment names, until the hub closes for good. See
//! `docs/CONFORMANCE.md`.
//!
//!     matchwire conformance -- target/debug/examples/conformance_client

#![expect(clippy::disallowed_methods, reason = "its settings are its environment")]

use std::{
    env,
    error::Error,
    io::{self, Write},
    time::Duration,
};

use client::{FrameError, Millis, Output, Session};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A monotonic clock suffices for a program that runs for seconds. In place of chance, each wait is half of its ceiling.
const CHANCE: f64 = 0.5;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (url, key) = (env::var("MATCHWIRE_URL")?, env::var("MATCHWIRE_KEY")?);
    let mut session = Session::new(env::var("MATCHWIRE_CHANNELS")?.split(' ').map(str::to_owned));
    let began = Instant::now();
    loop {
        session.connecting(now(began));
        let code = match connect(&url, &key).await {
            Ok(mut socket) => follow(&mut socket, &mut session, began).await?,
            Err(_) => None,
        };
        match session.ended(code, now(began), CHANCE) {
            Some(wait) => sleep(Duration::from_millis(wait)).await,
            None => return Ok(()),
        }
    }
}

fn now(began: Instant) -> Millis {
    began.elapsed().as_millis().try_into().unwrap_or(Millis::MAX)
}

async fn connect(url: &str, key: &str) -> Result<Socket, Box<dyn Error>> {
    let mut request = url.into_client_request()?;
    let token = HeaderValue::from_str(&format!("Token {key}"))?;
    request.headers_mut().insert("authorization", token);
    Ok(connect_async(request).await?.0)
}

/// Follows until the connection ends; returns its close code.
async fn follow(
    socket: &mut Socket,
    session: &mut Session,
    began: Instant,
) -> io::Result<Option<u16>> {
    loop {
        let left = Duration::from_millis(session.deadline().saturating_sub(now(began)));
        let handled = match timeout(left, socket.next()).await {
            Err(_) => session.tick(now(began)),
            Ok(Some(Ok(Message::Text(text)))) => session.receive(&text, now(began)),
            Ok(Some(Ok(Message::Close(close)))) => return Ok(close.map(|it| it.code.into())),
            Ok(Some(Ok(_))) => Ok(()),
            Ok(Some(Err(_)) | None) => return Ok(None),
        };
        for output in session.outputs() {
            match output {
                Output::Send(text) => {
                    // An error comes back from reading.
                    socket.send(Message::text(text)).await.ok();
                }
                Output::Changed { ch, events } => print(session, &ch, &events)?,
            }
        }
        match handled {
            Ok(()) => {}
            Err(FrameError::Silent) => return Ok(None),
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}

fn print(session: &Session, ch: &str, events: &[Value]) -> io::Result<()> {
    let Some(channel) = session.channels().get(ch) else { return Ok(()) };
    let eids: Vec<&Value> = events.iter().map(|event| &event["eid"]).collect();
    let (epoch, seq, sha256) = (&channel.epoch, channel.seq, channel.sha256());
    let line = json!({"ch": ch, "epoch": epoch, "seq": seq, "sha256": sha256, "events": eids});
    writeln!(io::stdout(), "{line}")
}
