//! The server side of a WebSocket, with blocking threads.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
};

use flate2::{Compress, Compression, FlushCompress};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// What an upgrade requests.
pub(crate) struct Upgrade {
    pub(crate) path: String,
    /// Whether it offered to take compressed frames; the response accepts that.
    pub(crate) deflates: bool,
    response: String,
}

impl Upgrade {
    /// Sends the response, after which the client counts as connected.
    pub(crate) fn accept(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.write_all(self.response.as_bytes())
    }
}

/// Reads an upgrade, without a response to it.
pub(crate) fn read_upgrade(stream: &mut TcpStream) -> io::Result<Upgrade> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("sec-websocket-key").then_some(value.trim())
    });
    let proof = derive_accept_key(key.unwrap_or_default().as_bytes());
    let deflates = head.contains("permessage-deflate");
    let extensions = if deflates {
        "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n"
    } else {
        ""
    };
    let response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {proof}\r\n{extensions}\r\n"
    );
    let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
    Ok(Upgrade { path, deflates, response })
}

/// The next message of a client, unmasked.
pub(crate) fn read(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head)?;
    let length = match head[1] & 0x7f {
        126 => {
            let mut bytes = [0; 2];
            stream.read_exact(&mut bytes)?;
            u64::from(u16::from_be_bytes(bytes))
        }
        127 => {
            let mut bytes = [0; 8];
            stream.read_exact(&mut bytes)?;
            u64::from_be_bytes(bytes)
        }
        short => u64::from(short),
    };
    if head[1] & 0x80 == 0 {
        return Err(io::Error::new(ErrorKind::InvalidData, "a client has to mask"));
    }
    let mut mask = [0; 4];
    stream.read_exact(&mut mask)?;
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    stream.read_exact(&mut payload)?;
    for (nth, byte) in payload.iter_mut().enumerate() {
        *byte ^= mask[nth % 4];
    }
    Ok((head[0] & 0x0f, payload))
}

/// A compressed text message of a server.
pub(crate) fn deflated_frame(text: &[u8]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(text.len() + 64);
    let mut compress = Compress::new(Compression::fast(), false);
    compress.compress_vec(text, &mut payload, FlushCompress::Sync).unwrap();
    let mut frame = frame(1, payload.strip_suffix(&[0, 0, 0xff, 0xff]).unwrap());
    frame[0] |= 0x40;
    frame
}

/// A message of a server.
pub(crate) fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80 | opcode];
    match payload.len() {
        short @ 0..=125 => frame.push(u8::try_from(short).unwrap()),
        medium @ 126..=65_535 => {
            frame.push(126);
            frame.extend_from_slice(&u16::try_from(medium).unwrap().to_be_bytes());
        }
        long => {
            frame.push(127);
            frame.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    frame
}
