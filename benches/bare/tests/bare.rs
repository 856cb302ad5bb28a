//! Every follower gets every message of its channel once and in order; the echo returns each message.

use std::{
    io::{BufRead, BufReader},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use tokio_tungstenite::tungstenite::{
    Message, WebSocket, client,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

/// So many fit into the outbox of a reader that is not scheduled for a while.
const MESSAGES: u32 = 500;

/// The program on a free port; stopped on drop.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_matchwire-bare"))
            .args(["--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output is ours");
        BufReader::new(output).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().rsplit(' ').next().expect("an address").to_owned();
        Self { process, address }
    }

    /// The socket at this path, if its upgrade is not refused.
    fn connect(&self, path: &str) -> Option<WebSocket<TcpStream>> {
        let stream = TcpStream::connect(&self.address).expect("it connects");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        stream.set_nodelay(true).expect("it may send at once");
        Some(client(format!("ws://{}{path}", self.address), stream).ok()?.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn message(channel: &str, number: u32) -> Message {
    Message::binary(format!("!{channel}{number:010}").into_bytes())
}

#[test]
fn every_message_reaches_the_followers_of_its_channel_in_order() {
    let server = Server::start();
    for path in ["/sub/12345", "/sub/0000001", "/sub/00000x", "/stream/v1"] {
        assert!(server.connect(path).is_none(), "{path}");
    }
    let socket = |path: &str| server.connect(path).expect("it is upgraded");
    thread::scope(|scope| {
        for channel in ["000001", "000001", "999999"] {
            let mut follower = socket(&format!("/sub/{channel}"));
            // A follower follows one channel, whatever it says.
            follower.send(Message::text("000002")).expect("it is taken");
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    let got = follower.read().expect("a message in time");
                    assert_eq!(got, message(channel, number), "{channel}");
                }
            });
        }
        let mut publisher = socket("/pub");
        for nonsense in [&b""[..], b"!00000", b"!00000x."] {
            publisher.write(Message::binary(nonsense)).expect("it is taken");
        }
        for number in 0..MESSAGES {
            for channel in ["000001", "999999", "777777", "000002"] {
                publisher.write(message(channel, number)).expect("it is taken");
            }
        }
        publisher.flush().expect("it is taken");
    });
}

/// With every encoding of the frame length, and in fragments.
#[test]
fn echo_returns_each_message() {
    let server = Server::start();
    let mut socket = server.connect("/echo").expect("it is upgraded");
    let mut check = |sent: Vec<Message>, expected: Message| {
        sent.into_iter().for_each(|message| socket.write(message).expect("it is taken"));
        socket.flush().expect("it is taken");
        let got = socket.read().expect("a message in time");
        assert!(got == expected, "{} bytes came of {}", got.len(), expected.len());
    };
    for length in [0, 1, 125, 126, 65_535, 65_536, 1 << 20] {
        let text = Message::text("ä".repeat(length / 2));
        check(vec![text.clone()], text);
        let binary = Message::binary(vec![0xa5; length]);
        check(vec![binary.clone()], binary);
    }
    let fragment = |opcode: Data, is_final| {
        Message::Frame(Frame::message(&b"fragment"[..], OpCode::Data(opcode), is_final))
    };
    let mut sent = vec![fragment(Data::Continue, false); 10_000];
    sent[0] = fragment(Data::Text, false);
    sent[9_999] = fragment(Data::Continue, true);
    check(sent, Message::text("fragment".repeat(10_000)));
}
