//! Every subscriber receives every message once, in order, in both modes, at any reading speed.

use std::{
    io::{BufRead, BufReader},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::Duration,
};

use tungstenite::{Bytes, Message, WebSocket, client};

const MESSAGES: u32 = 2_000;
/// More than the network buffers between two sockets when nothing is read.
const MESSAGE_BYTES: usize = 10_000;
/// What the publisher is ahead of the slow reader when that reads on: less than the program lets a publisher be.
const AHEAD: u32 = 300;

/// The program on a free port; stopped on drop.
struct Floor {
    process: Child,
    address: String,
}

impl Floor {
    fn start(mode: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_matchwire-floor"))
            .args(["--port", "0", "--mode", mode])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output is ours");
        BufReader::new(output).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().rsplit(' ').next().expect("an address").to_owned();
        Self { process, address }
    }

    fn connect(&self, path: &str) -> WebSocket<TcpStream> {
        let stream = TcpStream::connect(&self.address).expect("it connects");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
        client(format!("ws://{}{path}", self.address), stream).expect("it is upgraded").0
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn message(channel: &str, number: u32) -> Bytes {
    let mut bytes = format!("!{channel}{number:010}").into_bytes();
    bytes.resize(MESSAGE_BYTES, b'.');
    bytes.into()
}

/// Reads and checks all messages of a channel. A slow reader waits for each to be published that comes `AHEAD` later.
fn read_all(mut socket: WebSocket<TcpStream>, channel: &str, published: Option<&Receiver<u32>>) {
    for number in 0..MESSAGES {
        if let Some(published) = published {
            let awaited = (number + AHEAD).min(MESSAGES - 1);
            if number % AHEAD == 0 {
                published.iter().find(|sent| *sent == awaited).expect("the publisher goes on");
            }
        }
        let got = socket.read().expect("a message in time");
        assert_eq!(got, Message::Binary(message(channel, number)), "{channel}, message {number}");
    }
}

fn check(mode: &str) {
    let floor = Floor::start(mode);
    // This one never reads, and must not hold up the others.
    let _stuck = floor.connect("/sub/000001");
    let (sent, published) = sync_channel(MESSAGES as usize);
    thread::scope(|scope| {
        for (channel, published) in
            [("000001", None), ("000001", Some(published)), ("000002", None)]
        {
            let socket = floor.connect(&format!("/sub/{channel}"));
            scope.spawn(move || read_all(socket, channel, published.as_ref()));
        }
        let mut publisher = floor.connect("/pub");
        for number in 0..MESSAGES {
            for channel in ["000001", "000002"] {
                publisher.write(Message::Binary(message(channel, number))).expect("it is taken");
            }
            // The slow reader may have got the last one already.
            sent.send(number).ok();
        }
        publisher.flush().expect("it is taken");
    });
}

#[test]
fn one_write_per_message_delivers_all_in_order() {
    check("write");
}

#[test]
fn one_write_per_batch_delivers_all_in_order() {
    check("writev");
}

#[test]
fn other_addresses_are_refused() {
    let floor = Floor::start("write");
    let stream = TcpStream::connect(&floor.address).expect("it connects");
    assert!(client(format!("ws://{}/sub/12345", floor.address), stream).is_err());
}
