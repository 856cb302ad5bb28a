//! Connections that go through the test: those of clients to any node, and those of a node to the servers of NATS.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
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
    loop {
        line.wait_for(|line| *line != Line::Stalled).await.map_err(io::Error::other)?;
        let mut changed = line.clone();
        tokio::select! {
            done = copy_bidirectional(&mut client, &mut server) => return done.map(|_| ()),
            Ok(now) = changed.wait_for(|line| *line != Line::Open) => {
                if *now == Line::Cut {
                    return Ok(());
                }
            }
        }
    }
}
