//! Clients of the sockets: they follow channels, are cut off, come back, and continue.

mod behaviour;
mod live;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use fanout::{ChannelId, Pattern};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    net::{TcpSocket, TcpStream},
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async, connect_async,
    tungstenite::{Message, client::IntoClientRequest},
};

pub(crate) use self::behaviour::Behaviour;
use self::behaviour::RATES;
use crate::{
    checker::stream::UpdateHead,
    history::{Closing, Dialect, Entry, History, Interner},
    http,
    hub::Site,
    rng::Rng,
};

/// What all clients share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) site: Site,
    pub(crate) interner: Interner,
    /// The names of all channels, as of a moment ago.
    pub(crate) channels: Mutex<Vec<String>>,
    pub(crate) frames: AtomicU64,
    pub(crate) connections: AtomicU64,
    /// Those that were bought, each for one connection.
    pub(crate) tickets: AtomicU64,
}

impl Shared {
    pub(crate) fn new(site: Site) -> Self {
        Self {
            site,
            interner: Interner::new(),
            channels: Mutex::new(Vec::new()),
            frames: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            tickets: AtomicU64::new(0),
        }
    }

    fn knows_channels(&self) -> bool {
        !self.channels.lock().expect("no panic").is_empty()
    }
}

/// The phases of a run.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    Running,
    /// No client is slow or disconnects any more.
    Quiet,
    /// No source pushes any more: clients end when they have reached these positions.
    Settling(Arc<Heads>),
}

/// The last epoch and sequence of each channel.
pub(crate) type Heads = BTreeMap<String, (String, u64)>;

/// How long a client may take to reach the last positions. Then the check reports what it lacks.
const SETTLING_MAX: Duration = Duration::from_secs(120);

/// Why a client is no longer connected.
enum End {
    /// With the code of the hub's close frame, if there was one.
    Lost(Option<u16>),
    Settled,
}

type Socket = WebSocketStream<TcpStream>;
/// At one node, without the balancer.
type NodeSocket = WebSocketStream<MaybeTlsStream<TcpStream>>;

struct Client {
    shared: Arc<Shared>,
    behaviour: Behaviour,
    rng: Rng,
    history: History,
    /// The position in each channel, or in each match.
    positions: BTreeMap<String, (String, u64)>,
    /// The channels or matches that it follows by name.
    names: Vec<String>,
    /// Channels of which something was received on this connection.
    confirmed: BTreeSet<String>,
    /// Channels in which it has not reached the last position. `None` while there is none.
    pending: Option<BTreeSet<String>>,
}

/// Runs a client until the run is over.
pub(crate) async fn run(
    shared: Arc<Shared>,
    behaviour: Behaviour,
    mut phase: watch::Receiver<Phase>,
) -> History {
    let dialect = if behaviour.live.is_some() { Dialect::Live } else { Dialect::Stream };
    let may_skip = match dialect {
        Dialect::Live => behaviour.is_slow,
        Dialect::Stream | Dialect::Rest | Dialect::Mcp => behaviour.on_slow == "resync",
    };
    let mut history = History::new(behaviour.describe(), dialect);
    history.may_skip = may_skip;
    history.may_be_closed =
        behaviour.is_slow || (behaviour.live.is_none() && behaviour.on_slow == "close");
    let rng = Rng::new(behaviour.seed, behaviour.number);
    let mut client = Client {
        shared,
        behaviour,
        rng,
        history,
        positions: BTreeMap::new(),
        names: Vec::new(),
        confirmed: BTreeSet::new(),
        pending: None,
    };
    let mut delay = Duration::from_millis(20);
    let mut settling_since = None;
    loop {
        if matches!(*phase.borrow(), Phase::Settling(_)) {
            let since = *settling_since.get_or_insert_with(Instant::now);
            if since.elapsed() > SETTLING_MAX {
                return client.history;
            }
        }
        if client.behaviour.patterns.is_empty() && !client.shared.knows_channels() {
            sleep(Duration::from_millis(100)).await;
            continue;
        }
        let Some((mut socket, start)) = client.connect().await else {
            // Nobody listens. In a hurry, so that the hub has something to do as soon as it starts.
            tokio::select! {
                () = sleep(delay + client.rng.millis(0, 20)) => {}
                _ = phase.changed() => {}
            }
            delay = (delay * 2).min(Duration::from_millis(200));
            continue;
        };
        delay = Duration::from_millis(20);
        match client.follow(&mut socket, &mut phase).await {
            End::Lost(code) => {
                client.history.entries.push(Entry::Closed(Closing { code, start }));
            }
            End::Settled => {
                client.history.entries.push(Entry::Settled);
                return client.history;
            }
        }
    }
}

/// Connects to a node with this key, and follows a channel.
///
/// # Errors
///
/// If the node does not send its image.
pub(crate) async fn takes_client(address: &str, key: &str) -> Result<(), String> {
    open_client(address, &format!("token={key}")).await.map(|_| ())
}

/// A socket that follows a channel and has its image. `credential` is a parameter of the address.
///
/// # Errors
///
/// If the node does not take it.
pub(crate) async fn open_client(address: &str, credential: &str) -> Result<NodeSocket, String> {
    let connecting = async {
        let url = format!("ws://{address}/stream/v1?{credential}");
        let (mut socket, _) = connect_async(url).await.map_err(|error| error.to_string())?;
        let command = json!({"op": "subscribe", "ch": "feeds"});
        socket.send(Message::text(command.to_string())).await.map_err(|error| error.to_string())?;
        while let Some(message) = socket.next().await {
            match message {
                Ok(Message::Text(text)) if text.contains(r#""type":"image""#) => return Ok(socket),
                Ok(Message::Close(frame)) => return Err(format!("closed: {frame:?}")),
                Ok(_) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("its end".to_owned())
    };
    let done = timeout(Duration::from_secs(30), connecting).await;
    let done = done.unwrap_or_else(|_| Err("no image".to_owned()));
    done.map_err(|problem| format!("the node at {address} takes no client: {problem}"))
}

/// The code of the frame with which the node closes it.
///
/// # Errors
///
/// If it stays open.
pub(crate) async fn closed_with(socket: &mut NodeSocket) -> Result<Option<u16>, String> {
    let closing = async {
        while let Some(message) = socket.next().await {
            match message {
                Ok(Message::Close(frame)) => return frame.map(|frame| frame.code.into()),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        None
    };
    timeout(Duration::from_secs(30), closing).await.map_err(|_| "it stays open".to_owned())
}

/// A ticket of the account with this key.
pub(crate) async fn buy_ticket(address: &str, key: &str) -> Option<String> {
    let token = format!("Token {key}");
    let headers = [("authorization", &*token)];
    let bought = http::request(address, "POST", "/api/v2/stream/ticket/", &headers, "").await;
    let body = bought.ok().filter(|it| it.status == 200)?.body;
    Some(serde_json::from_str::<Value>(&body).ok()?["ticket"].as_str()?.to_owned())
}

impl Client {
    /// The socket, and the number of the start of the hub at its other end.
    async fn connect(&mut self) -> Option<(Socket, usize)> {
        let start = self.shared.site.start_number();
        let path = self.behaviour.live.unwrap_or("/stream/v1");
        let credential = if self.rng.once_in(4) {
            format!("ticket={}", self.buy_ticket().await?)
        } else {
            format!("token={}", self.behaviour.key)
        };
        let url = format!("ws://{}{path}?{credential}", self.shared.site.address);
        let request = url.into_client_request().expect("a URL");
        let address: SocketAddr = self.shared.site.address.parse().expect("an address");
        let socket = TcpSocket::new_v4().expect("a socket");
        if self.behaviour.is_slow {
            socket.set_recv_buffer_size(8192).expect("a small buffer");
        }
        let connecting = async {
            let stream = socket.connect(address).await.ok()?;
            client_async(request, stream).await.ok()
        };
        let (socket, _) = timeout(Duration::from_secs(30), connecting).await.ok()??;
        // Otherwise it is not certain which of two it is connected to.
        if self.shared.site.start_number() != start {
            return None;
        }
        self.history.entries.push(Entry::Connected);
        self.shared.connections.fetch_add(1, Ordering::Relaxed);
        Some((socket, start))
    }

    /// Behind a balancer, often at another node than the one that the socket will be at.
    async fn buy_ticket(&self) -> Option<String> {
        let ticket = buy_ticket(&self.shared.site.address, &self.behaviour.key).await?;
        self.shared.tickets.fetch_add(1, Ordering::Relaxed);
        Some(ticket)
    }

    async fn follow(&mut self, socket: &mut Socket, phase: &mut watch::Receiver<Phase>) -> End {
        self.pending = None;
        self.confirmed.clear();
        if self.subscribe_all(socket).await.is_none() {
            return End::Lost(None);
        }
        let begun = Instant::now();
        let end = if self.behaviour.disconnects {
            begun + self.rng.millis(100, 8_000)
        } else {
            begun + Duration::from_secs(3600)
        };
        // Some change the rate while their channels are catching up.
        let first_set_max = if self.rng.once_in(2) { 300 } else { 10_000 };
        let mut next_set = begun + self.rng.millis(0, first_set_max);
        let mut give_up = begun + Duration::from_secs(3600);
        loop {
            let current = phase.borrow_and_update().clone();
            let settling = !matches!(current, Phase::Running);
            if let Phase::Settling(heads) = &current {
                if self.pending.is_none() {
                    self.pending = Some(self.pending_channels(heads));
                    give_up = Instant::now() + SETTLING_MAX;
                }
                self.remove_reached(heads);
                if self.pending.as_ref().is_some_and(BTreeSet::is_empty) {
                    return End::Settled;
                }
            }
            if self.behaviour.is_slow && !settling {
                let pause = if self.rng.once_in(200) { 1_500 } else { 3 };
                sleep(self.rng.millis(0, pause)).await;
            }
            tokio::select! {
                message = socket.next() => match message {
                    Some(Ok(Message::Text(text))) => {
                        if self.receive(text.as_str(), socket, settling).await.is_none() {
                            return End::Lost(None);
                        }
                    }
                    Some(Ok(Message::Close(frame))) => {
                        return End::Lost(frame.map(|frame| frame.code.into()));
                    }
                    Some(Err(_)) | None => return End::Lost(None),
                    Some(Ok(_)) => {}
                },
                Ok(()) = phase.changed() => {}
                () = sleep_until(give_up) => {
                    self.history.unreached.extend(self.pending.take().into_iter().flatten());
                    return End::Settled;
                }
                // Without a close frame, as when a network fails.
                () = sleep_until(end), if !settling => return End::Lost(None),
                () = sleep_until(next_set), if !self.behaviour.patterns.is_empty() && !settling => {
                    next_set = Instant::now() + self.rng.millis(2_000, 20_000);
                    if self.set(socket).await.is_none() {
                        return End::Lost(None);
                    }
                }
            }
        }
    }

    /// The channels that it follows, among those with a last position.
    fn pending_channels(&self, heads: &Heads) -> BTreeSet<String> {
        let patterns: Vec<Pattern> =
            self.behaviour.patterns.iter().filter_map(|it| Pattern::parse(it)).collect();
        let follows = |name: &str| match self.behaviour.live {
            Some(_) => {
                name.strip_prefix('~').is_some_and(|name| self.names.iter().any(|it| it == name))
            }
            None => {
                let channel = ChannelId::new(name);
                let is_named = self.names.iter().any(|it| it == name);
                let is_covered = || patterns.iter().any(|pattern| pattern.matches(&channel));
                // Those of the older sockets cannot be followed.
                !name.starts_with('~') && (is_named || is_covered())
            }
        };
        heads.keys().filter(|name| follows(name)).cloned().collect()
    }

    /// Removes the channels that have ended or reached their last position.
    fn remove_reached(&mut self, heads: &Heads) {
        let (positions, confirmed) = (&self.positions, &self.confirmed);
        let is_live = self.behaviour.live.is_some();
        let Some(pending) = &mut self.pending else { return };
        pending.retain(|name| {
            let (epoch, head) = &heads[name];
            let reached = positions.get(name.trim_start_matches('~'));
            // On the older sockets, a match that nobody followed begins another epoch when it is followed again.
            !confirmed.contains(name)
                || reached
                    .is_none_or(|(before, seq)| if before == epoch { seq < head } else { !is_live })
        });
    }

    async fn subscribe_all(&mut self, socket: &mut Socket) -> Option<()> {
        if self.behaviour.live.is_some() {
            return self.subscribe_live(socket).await;
        }
        for pattern in self.behaviour.patterns.clone() {
            self.subscribe(socket, pattern).await?;
        }
        if self.behaviour.patterns.is_empty() {
            self.names.retain(|name| self.positions.contains_key(name));
            self.choose_names(20, |name| !name.starts_with("signals"));
            for name in self.names.clone() {
                self.subscribe(socket, &name).await?;
            }
        }
        Some(())
    }

    /// Chooses names until there are so many, as far as there are.
    fn choose_names(&mut self, count: usize, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let all = self.shared.channels.lock().expect("no panic").clone();
        let mut new = Vec::new();
        for _ in 0..count * 2 {
            if self.names.len() >= count || all.is_empty() {
                break;
            }
            let name = self.rng.pick(&all);
            if wanted(name) && !self.names.contains(name) {
                self.names.push(name.clone());
                new.push(name.clone());
            }
        }
        new
    }

    async fn subscribe(&mut self, socket: &mut Socket, channel: &str) -> Option<()> {
        let Behaviour { every_ms, on_slow, .. } = self.behaviour;
        let mut command = json!({"op": "subscribe", "id": channel, "ch": channel, "every_ms": every_ms, "on_slow": on_slow});
        let position = |(epoch, seq): &(String, u64)| json!({"epoch": epoch, "seq": seq});
        if channel.contains('*') {
            let pattern = Pattern::parse(channel).expect("a pattern");
            let covered = self
                .positions
                .iter()
                .filter(|(name, _)| pattern.matches(&ChannelId::new(name.as_str())));
            let from: Value = covered.map(|(name, it)| (name.clone(), position(it))).collect();
            if from.as_object().is_some_and(|from| !from.is_empty()) {
                command["from"] = from;
            }
        } else if let Some(client_position) = self.positions.get(channel) {
            command["from"] = position(client_position);
        }
        self.send(socket, &command).await
    }

    /// Asks for another rate.
    async fn set(&mut self, socket: &mut Socket) -> Option<()> {
        // A board may not be there yet, and then it is not followed.
        let patterns = self.behaviour.patterns.iter().filter(|name| name.contains('*'));
        let patterns: Vec<&str> = patterns.copied().collect();
        let pattern = *self.rng.pick(&patterns);
        let every_ms = *self.rng.pick(&RATES);
        self.send(socket, &json!({"op": "set", "id": "set", "ch": pattern, "every_ms": every_ms}))
            .await
    }

    async fn send(&mut self, socket: &mut Socket, command: &Value) -> Option<()> {
        let text = command.to_string();
        self.history.entries.push(Entry::Sent(text.as_str().into()));
        socket.send(Message::text(text)).await.ok()
    }

    async fn receive(&mut self, text: &str, socket: &mut Socket, settling: bool) -> Option<()> {
        self.shared.frames.fetch_add(1, Ordering::Relaxed);
        self.history.entries.push(Entry::Received(self.shared.interner.intern(text)));
        if self.behaviour.live.is_some() {
            self.receive_live(text);
            return Some(());
        }
        if let Some(update) = UpdateHead::scan(text) {
            if let Some((_, seq)) = self.positions.get_mut(update.channel) {
                *seq = update.seq.max(*seq);
            }
            self.confirm(update.channel);
            return Some(());
        }
        let frame: Value = serde_json::from_str(text).expect("a frame is JSON");
        let channel = frame["ch"].as_str().unwrap_or_default();
        match frame["type"].as_str().unwrap_or_default() {
            "image" => {
                let epoch = frame["epoch"].as_str().unwrap_or_default().to_owned();
                let seq = frame["seq"].as_u64().unwrap_or_default();
                self.positions.insert(channel.to_owned(), (epoch, seq));
                self.confirm(channel);
            }
            "subscribed" if frame["resumed"] == true => self.confirm(channel),
            "beat" => {
                let heads = frame["heads"].as_object().into_iter().flatten();
                heads.for_each(|(channel, _)| self.confirm(channel));
            }
            "unsubscribed" => return self.lost(channel, socket, settling).await,
            "error" if frame["code"] == "not_tracked" => {
                return self.lost(channel, socket, settling).await;
            }
            _ => {}
        }
        Some(())
    }

    fn confirm(&mut self, channel: &str) {
        if !self.confirmed.contains(channel) {
            self.confirmed.insert(channel.to_owned());
        }
    }

    /// A channel is no longer there. A client of names chooses another one, unless the run is over.
    async fn lost(&mut self, channel: &str, socket: &mut Socket, settling: bool) -> Option<()> {
        self.positions.remove(channel);
        if let Some(pending) = &mut self.pending {
            pending.remove(channel);
        }
        let before = self.names.len();
        self.names.retain(|name| name != channel);
        if self.names.len() < before && !settling {
            // The list may still have the one that has just ended.
            let wanted = |name: &str| name != channel && !name.starts_with("signals");
            for name in self.choose_names(before, wanted) {
                self.subscribe(socket, &name).await?;
            }
        }
        Some(())
    }
}
