//! The measuring door: bare channels without keys or documents, on loopback only.
//!
//! It speaks as the bare broadcast of `benches/floor` does, so that what the fan-out adds to the
//! system calls can be measured by itself. `/sub/NNNNNN` follows a bare channel; each binary message
//! on `/pub` goes unchanged to the followers of the channel that its bytes 1 to 7 name.

use std::{
    io::{self, ErrorKind},
    net,
    time::Duration,
};

use bytes::Bytes;
use fanout::Fanout;
use futures_util::StreamExt;
use metrics::counter;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};
use tracing::{debug, warn};

use super::{
    head::{self, Head, Upgrade},
    line::Line,
};

/// Messages that are published in one piece.
const BATCH_MAX: usize = 4096;

const NOT_FOUND: &[u8] =
    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Serves publishers and followers of bare channels until `stop` turns true.
pub async fn serve(
    listener: TcpListener,
    fanout: Fanout,
    patience: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted.and_then(|(tcp, _)| tcp.into_std()),
            _ = stop.changed() => return,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok(tcp) => drop(connections.spawn(admit(tcp, fanout.clone(), patience))),
            Err(error) => warn!(%error, "a connection could not be accepted"),
        }
    }
}

async fn admit(tcp: net::TcpStream, fanout: Fanout, patience: Duration) {
    let ended = async {
        let mut bytes = Vec::new();
        let (line, upgrade) =
            timeout(patience, first_upgrade(Line::Tcp(tcp), &mut bytes)).await??;
        attend(line, upgrade, bytes, &fanout).await
    };
    if let Err(error) = ended.await {
        debug!(%error, "a connection of the measuring door ended early");
    }
}

async fn first_upgrade(mut line: Line, bytes: &mut Vec<u8>) -> io::Result<(Line, Option<Upgrade>)> {
    let mut read;
    loop {
        (line, read) = line.read(bytes).await?;
        match head::parse(bytes) {
            Head::Incomplete if read > 0 => {}
            Head::Incomplete => return Err(ErrorKind::UnexpectedEof.into()),
            Head::Upgrade(upgrade) => return Ok((line, Some(upgrade))),
            Head::Other => return Ok((line, None)),
        }
    }
}

async fn attend(
    mut line: Line,
    upgrade: Option<Upgrade>,
    mut bytes: Vec<u8>,
    fanout: &Fanout,
) -> io::Result<()> {
    let Some(Upgrade { uri, wish, length }) = upgrade else { return line.answer(NOT_FOUND).await };
    let digits = uri.path().strip_prefix("/sub/");
    let channel = digits.and_then(|digits| six_digits(digits.as_bytes().try_into().ok()?));
    if channel.is_none() && uri.path() != "/pub" {
        return line.answer(NOT_FOUND).await;
    }
    line.answer(&wish.answer()).await?;
    let ahead = bytes.split_off(length);
    match channel {
        Some(channel) => {
            let (stream, ahead) = line.into_stream(ahead)?;
            fanout.serve_raw(stream, ahead, channel);
        }
        None => publish(line.into_tcp()?, ahead, fanout).await,
    }
    Ok(())
}

/// Publishes all that a publisher sends, as fast as the fan-out has room for it.
async fn publish(tcp: TcpStream, ahead: Vec<u8>, fanout: &Fanout) {
    let socket = WebSocketStream::from_partially_read(tcp, ahead, Role::Server, None).await;
    let mut ready = socket.ready_chunks(BATCH_MAX);
    let ignored = counter!("matchwire_bench_ignored_total");
    while let Some(messages) = ready.next().await {
        let payloads = messages.into_iter().filter_map(|message| match message {
            Ok(Message::Binary(payload)) => Some(payload),
            _ => None,
        });
        let messages = payloads.filter_map(|payload| {
            let channel = channel(&payload);
            ignored.increment(u64::from(channel.is_none()));
            Some((channel?, payload))
        });
        fanout.publish_raw(messages).await;
    }
}

/// The channel that a message names.
fn channel(payload: &Bytes) -> Option<u32> {
    six_digits(payload.get(1..7)?.try_into().ok()?)
}

fn six_digits(digits: [u8; 6]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
    })
}
