//! Connections that go through the test: those of clients to any node, and those of a node to the servers of NATS and to
//! PostgreSQL.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::{mpsc, watch},
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, sleep_until},
};

use crate::rng::Rng;

/// What happens to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Open,
    /// They are closed, and new ones too.
    Cut,
    /// They stay, and nothing gets through.
    Stalled,
    /// They stay, and nothing gets through in this direction.
    StalledTo(End),
    /// Each passes so many bytes a second in each direction.
    Throttled(u32),
    /// What is sent arrives so much later, in each direction.
    Delayed(Duration),
}

/// Of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Which has opened it.
    Client,
    Server,
}

impl Line {
    fn passes_to(self, end: End) -> bool {
        match self {
            Self::Open | Self::Throttled(_) | Self::Delayed(_) => true,
            Self::Cut | Self::Stalled => false,
            Self::StalledTo(stalled) => stalled != end,
        }
    }
}

/// Passes connections on to one of its targets.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) address: String,
    targets: Arc<Mutex<Vec<SocketAddr>>>,
    line: watch::Sender<Line>,
    listening: JoinHandle<()>,
}

impl Relay {
    /// Listens on a free port.
    pub(crate) async fn start(seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it has an address").to_string();
        let targets: Arc<Mutex<Vec<SocketAddr>>> = Arc::default();
        let (line, of_line) = watch::channel(Line::Open);
        let of_targets = Arc::clone(&targets);
        let listening = tokio::spawn(async move {
            let mut rng = Rng::new(seed, 50_000);
            let mut passing = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                while passing.try_join_next().is_some() {}
                let targets = of_targets.lock().expect("no panic").clone();
                if targets.is_empty() || *of_line.borrow() == Line::Cut {
                    continue;
                }
                let (target, of_line) = (*rng.pick(&targets), of_line.clone());
                passing.spawn(async move { pass(client, target, of_line).await.ok() });
            }
        });
        Self { address, targets, line, listening }
    }

    /// New connections go to one of these.
    pub(crate) fn set_targets(&self, targets: Vec<SocketAddr>) {
        *self.targets.lock().expect("no panic") = targets;
    }

    pub(crate) fn set_line(&self, line: Line) {
        self.line.send_replace(line);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn pass(
    mut client: TcpStream,
    target: SocketAddr,
    mut line: watch::Receiver<Line>,
) -> io::Result<()> {
    let mut server = TcpStream::connect(target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
    let there = copy(from_client, to_server, End::Server, line.clone());
    let back = copy(from_server, to_client, End::Client, line.clone());
    tokio::select! {
        done = async { tokio::try_join!(there, back) } => done.map(|_| ()),
        _ = line.wait_for(|line| *line == Line::Cut) => Ok(()),
    }
}

/// Bytes that are read at a time.
const CHUNK: usize = 8_192;

/// Chunks that wait until they are due.
const CHUNKS_MAX: usize = 256;

/// Until the sender has sent all.
async fn copy(
    from: ReadHalf<'_>,
    to: WriteHalf<'_>,
    end: End,
    line: watch::Receiver<Line>,
) -> io::Result<()> {
    let (chunks, due) = mpsc::channel(CHUNKS_MAX);
    tokio::try_join!(read(from, chunks, end, line), write(to, due)).map(|_| ())
}

/// Passes on what it reads, with the time at which it is due.
async fn read(
    mut from: ReadHalf<'_>,
    chunks: mpsc::Sender<(Instant, Vec<u8>)>,
    end: End,
    mut line: watch::Receiver<Line>,
) -> io::Result<()> {
    loop {
        let mut chunk = vec![0; CHUNK];
        let size = from.read(&mut chunk).await?;
        // The last bytes of a connection are held up too.
        let line = *line.wait_for(|line| line.passes_to(end)).await.map_err(io::Error::other)?;
        if size == 0 {
            return Ok(());
        }
        if let Line::Throttled(per_second) = line {
            sleep(Duration::from_secs_f64(size as f64 / f64::from(per_second))).await;
        }
        let delay = if let Line::Delayed(delay) = line { delay } else { Duration::ZERO };
        chunk.truncate(size);
        // Without a delay the sender waits for the receiver, as on a connection without a relay.
        let room = if delay.is_zero() { CHUNKS_MAX } else { 1 };
        let Ok(mut places) = chunks.reserve_many(room).await else { return Ok(()) };
        places.next().expect("a place").send((Instant::now() + delay, chunk));
    }
}

async fn write(
    mut to: WriteHalf<'_>,
    mut chunks: mpsc::Receiver<(Instant, Vec<u8>)>,
) -> io::Result<()> {
    while let Some((due, chunk)) = chunks.recv().await {
        sleep_until(due).await;
        to.write_all(&chunk).await?;
    }
    to.shutdown().await
}
