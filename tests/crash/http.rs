//! HTTP requests to a hub that may be down, or may end in the middle of a response.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// The timeout for a response. Generous: a busy machine is not a failure.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Why there is no response.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The hub did not get the request.
    NotSent,
    /// The hub may have handled the request.
    NoResponse,
}

pub(crate) async fn get(
    address: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<Response, Failure> {
    request(address, "GET", path, headers, "").await
}

pub(crate) async fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Response, Failure> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    if !body.is_empty() {
        text += &format!("content-length: {}\r\n", body.len());
    }
    headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    text += "\r\n";
    text += body;
    let mut stream = TcpStream::connect(address).await.map_err(|_| Failure::NotSent)?;
    let bytes = exchange(&mut stream, &text).await.map_err(|_| Failure::NoResponse)?;
    parse(&bytes).ok_or(Failure::NoResponse)
}

async fn exchange(stream: &mut TcpStream, request: &str) -> io::Result<Vec<u8>> {
    // The hub may stop reading when it refuses a request by its head.
    stream.write_all(request.as_bytes()).await.ok();
    let mut bytes = Vec::new();
    timeout(TIMEOUT, stream.read_to_end(&mut bytes))
        .await
        .map_err(|_| io::ErrorKind::TimedOut)??;
    Ok(bytes)
}

/// A complete response.
fn parse(bytes: &[u8]) -> Option<Response> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let raw = &bytes[end + 4..];
    let mut response = Response { status, head, body: String::new() };
    let body = match response.header("content-length").and_then(|length| length.parse().ok()) {
        Some(length) if raw.len() < length => return None,
        Some(_) => raw.to_vec(),
        None if response.header("transfer-encoding") == Some("chunked") => dechunk(raw)?,
        None => raw.to_vec(),
    };
    response.body = String::from_utf8(body).ok()?;
    Some(response)
}

fn dechunk(mut raw: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = raw.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(str::from_utf8(&raw[..line]).ok()?.trim(), 16).ok()?;
        let chunk = raw.get(line + 2..line + 2 + size)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk);
        raw = raw.get(line + 4 + size..)?;
    }
}
