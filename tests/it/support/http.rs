//! One HTTP request on a separate connection, read to its end.

use std::io;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::PATIENCE;

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The status line and the headers, unchanged.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    /// The values of a header that may occur several times.
    pub(crate) fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        headers(&self.head, name)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The names of the fields of a JSON object.
    pub(crate) fn fields(&self) -> Vec<String> {
        self.json().as_object().expect("an object").keys().cloned().collect()
    }
}

fn headers<'a>(head: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.filter(move |(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

pub(crate) async fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Answer {
    request_with(address, method, path, headers, &[]).await
}

/// The same with a body, whose length is added to the headers.
pub(crate) async fn request_with(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let answer = try_request(address, method, path, headers, body).await;
    answer.expect("a whole answer")
}

/// The same for a hub that may be down, or may end in the middle of it.
pub(crate) async fn try_request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Answer> {
    let Raw { status, head, body } = try_raw(address, method, path, headers, body).await?;
    Ok(Answer { status, head, body: String::from_utf8(body).expect("an answer is text") })
}

/// A raw response.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub(crate) status: u16,
    /// The status line and the headers, unchanged.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Raw {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        headers(&self.head, name).next()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

/// A request whose response need not be text.
pub(crate) async fn raw(address: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> Raw {
    try_raw(address, method, path, headers, &[]).await.expect("a whole answer")
}

async fn try_raw(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Raw> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    text += "\r\n";
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(text.as_bytes()).await?;
    // The hub may stop reading when it refuses a request by its head.
    stream.write_all(body).await.ok();
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    read.expect("an answer in time")?;
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    let body = bytes.split_off(end + 4);
    bytes.truncate(end);
    let head = String::from_utf8(bytes).expect("a head is text");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Raw { status: status.expect("a status"), head, body })
}

/// Reads until this has arrived; returns everything read.
pub(crate) async fn read_until(stream: &mut TcpStream, awaited: &str) -> String {
    let mut seen = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&seen).contains(awaited) {
            assert_ne!(stream.read_buf(&mut seen).await.expect("it lasts"), 0, "cut off");
        }
    };
    timeout(PATIENCE, reading).await.expect("what was waited for came in time");
    String::from_utf8_lossy(&seen).into_owned()
}
