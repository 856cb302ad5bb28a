//! A client of `/stream/v1` that checks the guarantees of the protocol at every frame.

use std::{
    collections::{BTreeMap, HashSet},
    panic::Location,
    sync::LazyLock,
};

use futures_util::{SinkExt, StreamExt};
use schema::Checker;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async, connect_async,
    tungstenite::{
        Message,
        client::IntoClientRequest,
        handshake::client::{Request, Response},
        protocol::CloseFrame,
    },
};

use super::{PATIENCE, merge_patch::merge};

/// The published schema, to which every frame must conform.
static CHECKER: LazyLock<Checker> = LazyLock::new(Checker::new);

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A connection and its state of each channel.
pub(crate) struct Client {
    pub(crate) socket: Socket,
    /// The hub's response to the upgrade.
    pub(crate) handshake: Response,
    pub(crate) channels: BTreeMap<String, ChannelState>,
    /// Frames that concern no document, in order.
    pub(crate) others: Vec<Value>,
    /// The number of frames that advanced a channel: images, updates and `resync`.
    pub(crate) data_frames: u64,
}

/// The state of one channel in a client.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChannelState {
    pub(crate) epoch: String,
    pub(crate) seq: u64,
    pub(crate) data: Value,
    /// Every event, in order of arrival.
    pub(crate) events: Vec<Value>,
    eids: HashSet<String>,
}

/// The connection has ended, with this code and reason if the hub sent any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Closed(pub(crate) Option<(u16, String)>);

impl Client {
    /// Connects with the key in a header.
    pub(crate) async fn connect(address: &str, key: &str) -> Self {
        Self::connect_with(request(address, key)).await
    }

    /// Connects with this request.
    pub(crate) async fn connect_with(request: impl IntoClientRequest + Unpin) -> Self {
        let connecting = timeout(PATIENCE, connect_async(request)).await;
        Self::from_handshake(connecting.expect("it connects in time").expect("it connects"))
    }

    /// Connects with minimal network buffers, so that unread frames queue in the hub.
    pub(crate) async fn connect_narrow(address: &str, key: &str) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        let address = address.parse().expect("an address");
        let stream = socket.connect(address).await.expect("it connects");
        let request = request(&address.to_string(), key);
        let stream = MaybeTlsStream::Plain(stream);
        Self::from_handshake(client_async(request, stream).await.expect("it is upgraded"))
    }

    fn from_handshake((socket, handshake): (Socket, Response)) -> Self {
        Self { socket, handshake, channels: BTreeMap::new(), others: Vec::new(), data_frames: 0 }
    }

    /// Takes over the state of an earlier connection.
    pub(crate) fn knowing(mut self, channels: BTreeMap<String, ChannelState>) -> Self {
        self.channels = channels;
        self
    }

    pub(crate) async fn send(&mut self, command: &Value) {
        self.send_text(&command.to_string()).await;
    }

    /// Sends commands in one write, so that the hub reads all of them at once.
    pub(crate) async fn send_together(&mut self, commands: &[Value]) {
        for command in commands {
            let fed = self.socket.feed(Message::text(command.to_string())).await;
            fed.expect("the socket takes a command");
        }
        self.socket.flush().await.expect("the socket takes commands");
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        self.send_message(Message::text(text)).await;
    }

    pub(crate) async fn send_message(&mut self, message: Message) {
        self.socket.send(message).await.expect("the socket takes a command");
    }

    /// Sends bytes that need not be a valid frame.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.get_mut().write_all(bytes).await.expect("the socket takes bytes");
    }

    /// Sends a command and reads on to its response, which has its `id`.
    pub(crate) async fn ask(&mut self, command: &Value) -> Value {
        self.send(command).await;
        self.next_where(&command.to_string(), |frame| frame["id"] == command["id"]).await
    }

    /// Follows channels and patterns with one command, each from its known position if there is one.
    pub(crate) async fn subscribe_batch(&mut self, id: u64, channels: &[String]) {
        let entry = |channel: &String| match self.known_position(channel) {
            Some(from) => json!({"ch": channel, "from": from}),
            None => json!(channel),
        };
        let chs: Vec<Value> = channels.iter().map(entry).collect();
        self.send(&json!({"op": "subscribe", "id": id, "chs": chs})).await;
    }

    /// Follows a channel or a pattern, from its known position if there is one.
    pub(crate) async fn subscribe(&mut self, channel: &str) {
        let mut command = json!({"op": "subscribe", "id": channel, "ch": channel});
        if let Some(from) = self.known_position(channel) {
            command["from"] = from;
        }
        self.send(&command).await;
    }

    /// The `from` of a channel, or of a pattern.
    fn known_position(&self, channel: &str) -> Option<Value> {
        let position = |it: &ChannelState| json!({"epoch": it.epoch, "seq": it.seq});
        let followed_channels =
            self.channels.iter().filter(|(_, followed)| !followed.epoch.is_empty());
        if channel.contains('*') {
            Some(
                followed_channels.map(|(name, it)| (name.clone(), position(it))).collect::<Value>(),
            )
        } else {
            self.channels.get(channel).filter(|it| !it.epoch.is_empty()).map(position)
        }
    }

    /// The next frame, applied to the state.
    pub(crate) async fn next(&mut self) -> Result<Value, Closed> {
        let text = self.next_text().await?;
        let frame: Value = serde_json::from_str(&text).expect("a frame is JSON");
        CHECKER.check_frame(&frame).unwrap_or_else(|wrong| panic!("{wrong}\nin {frame}"));
        self.apply(&frame);
        Ok(frame)
    }

    /// The next frame as it arrived, not applied to the state.
    pub(crate) async fn next_text(&mut self) -> Result<String, Closed> {
        loop {
            let message = timeout(PATIENCE, self.socket.next()).await.expect("a frame in time");
            match message {
                Some(Ok(Message::Text(text))) => return Ok(text.as_str().to_owned()),
                Some(Ok(Message::Close(frame))) => return Err(closed(frame)),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(Closed(None)),
            }
        }
    }

    /// Reads on until a frame of this type has arrived.
    pub(crate) async fn next_of(&mut self, kind: &str) -> Value {
        self.next_where(kind, |frame| frame["type"] == kind).await
    }

    /// Reads on to the frame that fulfils the condition.
    async fn next_where(&mut self, awaited: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let reading = async {
            loop {
                match self.next().await {
                    Ok(frame) if condition(&frame) => return frame,
                    Ok(_) => {}
                    Err(closed) => panic!("closed while waiting for {awaited}: {closed:?}"),
                }
            }
        };
        let read = timeout(PATIENCE, reading).await;
        read.unwrap_or_else(|_| panic!("{awaited} did not come"))
    }

    /// Reads on until the state fulfils the condition.
    #[track_caller]
    pub(crate) fn until(
        &mut self,
        mut condition: impl FnMut(&Self) -> bool,
    ) -> impl Future<Output = ()> {
        let caller = Location::caller();
        async move {
            let reading = async {
                while !condition(self) {
                    if let Err(closed) = self.next().await {
                        panic!("closed while waiting at {caller}: {closed:?}");
                    }
                }
            };
            let read = timeout(PATIENCE, reading).await;
            read.unwrap_or_else(|_| panic!("what is waited for at {caller} did not come"));
        }
    }

    /// Reads on until the hub closes.
    pub(crate) async fn until_closed(&mut self) -> Closed {
        let reading = async {
            loop {
                if let Err(closed) = self.next().await {
                    return closed;
                }
            }
        };
        timeout(PATIENCE, reading).await.expect("the hub closes in time")
    }

    fn apply(&mut self, frame: &Value) {
        let name = frame["ch"].as_str().unwrap_or_default().to_owned();
        let kind = frame["type"].as_str().expect("a frame has a type");
        self.data_frames += u64::from(["image", "update", "resync"].contains(&kind));
        match kind {
            "image" => self.channels.entry(name).or_default().image(frame),
            "update" => {
                let followed = self.channels.get_mut(&name).expect("an update follows an image");
                followed.update(&name, frame);
            }
            "beat" => self.beat(frame),
            _ => self.others.push(frame.clone()),
        }
    }

    /// A beat states the positions that the frames before it lead to.
    fn beat(&mut self, frame: &Value) {
        for (name, head) in frame["heads"].as_object().expect("a beat has heads") {
            let followed_seq = self.channels.get(name).map(|followed| followed.seq);
            assert_eq!(head.as_u64(), followed_seq, "{name}: the beat knows better");
        }
        self.others.push(frame.clone());
    }
}

impl ChannelState {
    pub(crate) fn image(&mut self, frame: &Value) {
        let epoch = frame["epoch"].as_str().expect("an image has an epoch");
        if self.epoch != epoch {
            self.eids.clear();
        }
        epoch.clone_into(&mut self.epoch);
        self.seq = frame["seq"].as_u64().expect("an image has a sequence");
        self.data = frame["data"].clone();
    }

    pub(crate) fn update(&mut self, name: &str, frame: &Value) {
        let number = |field: &str| frame[field].as_u64().expect("an update is numbered");
        let (seq, prev) = (number("seq"), number("prev"));
        assert!(prev <= self.seq, "{name}: a hole between {} and {prev}", self.seq);
        assert!(seq > self.seq, "{name}: {seq} came again at {}", self.seq);
        if let Some(merged) = frame["n"].as_u64() {
            assert_eq!(merged, seq - prev, "{name}: what was merged does not add up");
        } else {
            assert_eq!(seq, prev + 1, "{name}: merged without a word");
        }
        self.seq = seq;
        merge(&mut self.data, &frame["patch"]);
        for event in frame["events"].as_array().into_iter().flatten() {
            let eid = event["eid"].as_str().expect("an event has an eid").to_owned();
            assert!(self.eids.insert(eid), "{name}: an event came twice: {event}");
            self.events.push(event.clone());
        }
    }
}

fn request(address: &str, key: &str) -> Request {
    let mut request = format!("ws://{address}/stream/v1").into_client_request().expect("a URL");
    let value = format!("Token {key}").parse().expect("a header's value");
    request.headers_mut().insert("authorization", value);
    request
}

fn closed(frame: Option<CloseFrame>) -> Closed {
    Closed(frame.map(|frame| (frame.code.into(), frame.reason.to_string())))
}
