//! A small HTTP server with scripted responses that records its requests.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, timeout},
};

use crate::support::PATIENCE;

/// One received request.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) at: Instant,
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// Headers, by lower-case name.
    pub(crate) headers: HashMap<String, String>,
    /// The number of requests before it.
    pub(crate) number: usize,
}

/// The response to it.
pub(crate) enum Reply {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// A body that ends before the announced length.
    Cut(&'static str),
    /// No response, for as long as the peer waits.
    Stall,
}

impl Reply {
    pub(crate) fn ok(body: &str) -> Self {
        Self::Answer { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Answer { status, headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }
}

type Handler = Arc<dyn Fn(&ReceivedRequest) -> Reply + Send + Sync>;

/// Runs until dropped; open connections are then cut.
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    received: mpsc::Receiver<ReceivedRequest>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Count {
    received: usize,
    open: usize,
    at_once: usize,
}

impl Server {
    /// A server that must not receive concurrent requests.
    pub(crate) async fn start(
        handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_on(0, handler).await
    }

    /// A server that may receive concurrent requests.
    pub(crate) async fn shared(
        handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::open(0, usize::MAX, handler).await
    }

    /// On this port, where another server ran before.
    pub(crate) async fn start_on(
        port: u16,
        handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::open(port, 1, handler).await
    }

    async fn open(
        port: u16,
        at_once: usize,
        handler: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port is free");
        let addr = listener.local_addr().expect("it is bound");
        let (tx, received) = mpsc::channel(1024);
        let task = tokio::spawn(serve(listener, Arc::new(handler), tx, at_once));
        Self { addr, received, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub(crate) async fn next_request(&mut self) -> ReceivedRequest {
        let received = timeout(PATIENCE, self.received.recv()).await;
        received.expect("no request arrives").expect("the server runs")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    listener: TcpListener,
    handler: Handler,
    tx: mpsc::Sender<ReceivedRequest>,
    at_once: usize,
) {
    let count = Arc::new(Mutex::new(Count { at_once, ..Count::default() }));
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(connection(stream, Arc::clone(&handler), tx.clone(), count.clone()));
    }
}

async fn connection(
    mut stream: TcpStream,
    handler: Handler,
    tx: mpsc::Sender<ReceivedRequest>,
    count: Arc<Mutex<Count>>,
) {
    while let Some(mut received) = request(&mut stream).await {
        {
            let mut count = count.lock().expect("no handler panicked");
            received.number = count.received;
            count.received += 1;
            count.open += 1;
            assert!(count.open <= count.at_once, "{} requests at once", count.open);
        }
        let reply = handler(&received);
        if tx.send(received).await.is_err() {
            return;
        }
        // Long enough for a concurrent request to arrive, if one were sent.
        tokio::time::sleep(Duration::from_millis(2)).await;
        count.lock().expect("no handler panicked").open -= 1;
        if !answer(&mut stream, reply).await {
            return;
        }
    }
}

async fn request(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Some(ReceivedRequest { at: Instant::now(), method, target, headers, number: 0 })
}

/// Whether the connection stays open.
async fn answer(stream: &mut TcpStream, reply: Reply) -> bool {
    match reply {
        Reply::Answer { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            let bytes = [head.as_bytes(), b"\r\n", &body].concat();
            stream.write_all(&bytes).await.is_ok()
        }
        Reply::Cut(body) => {
            let head = format!("HTTP/1.1 200 Said\r\ncontent-length: 1000\r\n\r\n{body}");
            drop(stream.write_all(head.as_bytes()).await);
            false
        }
        Reply::Stall => std::future::pending().await,
    }
}
