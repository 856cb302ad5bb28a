//! Answers commands on this machine, one after the other: see [`crate::control`].

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use fanout::{
    Fanout,
    inspect::{SocketId, SocketQuery, SocketSummary},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tracing::warn;

use crate::control::{ANSWER_WITHIN, ControlRequest, ControlResponse, REQUEST_BYTES_MAX};
use base::supervisor::{self, Lifetime};
use web::http::Registry;

/// How long shards may take to answer.
const SHARDS_WITHIN: Duration = Duration::from_secs(2);

/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_secs(1);

/// Where the outcome of a reload goes, in words: what has changed, or why nothing has.
pub(super) type ReloadReply = oneshot::Sender<Result<String, String>>;

/// The socket. Its file is gone when this is dropped.
struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    /// The user who may use it, besides root.
    user: u32,
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

impl ControlSocket {
    fn open(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        let bound = match UnixListener::bind(&path) {
            // It was left behind by a process that was killed, or another hub listens.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let is_socket = fs::symlink_metadata(&path)?.file_type().is_socket();
                if !is_socket || std::os::unix::net::UnixStream::connect(&path).is_ok() {
                    return Err(error);
                }
                fs::remove_file(&path)?;
                UnixListener::bind(&path)
            }
            bound => bound,
        };
        let listener = bound?;
        // Whoever connects before is known by its user.
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let user = fs::metadata(&path)?.uid();
        Ok(Self { listener, path, user })
    }
}

/// What commands act on.
pub(super) struct CommandServer {
    pub fanout: Fanout,
    pub registry: Registry,
    pub reloads: mpsc::Sender<ReloadReply>,
}

impl CommandServer {
    /// Opens the socket at this path, and answers until `stopped`. Without the socket the hub works, and commands find no
    /// hub.
    pub(super) fn start(self, path: &Path, stopped: &watch::Receiver<bool>) {
        match ControlSocket::open(path) {
            Ok(socket) => {
                let answering = self.serve(socket, stopped.clone());
                supervisor::spawn("control", Lifetime::UntilStop, answering);
            }
            Err(error) => {
                let (error, path) = (&error as &dyn std::error::Error, path.display());
                warn!(error, %path, "commands that reach the hub while it runs do not work");
            }
        }
    }

    async fn serve(self, socket: ControlSocket, mut stopped: watch::Receiver<bool>) {
        loop {
            let accepted = tokio::select! {
                accepted = socket.listener.accept() => accepted,
                _ = stopped.wait_for(|stopped| *stopped) => return,
            };
            let served = match accepted {
                Ok((stream, _)) => {
                    timeout(ANSWER_WITHIN, self.answer(stream, socket.user)).await.unwrap_or(Ok(()))
                }
                Err(error) => {
                    tokio::time::sleep(PAUSE).await;
                    Err(error)
                }
            };
            if let Err(error) = served {
                let error = &error as &dyn std::error::Error;
                warn!(error, "a command on this machine was not answered");
            }
        }
    }

    async fn answer(&self, mut stream: UnixStream, user: u32) -> io::Result<()> {
        let peer = stream.peer_cred()?.uid();
        if peer != user && peer != 0 {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        let mut request = Vec::new();
        (&mut stream).take(REQUEST_BYTES_MAX).read_to_end(&mut request).await?;
        let response = match serde_json::from_slice(&request) {
            Ok(request) => self.respond(request).await,
            Err(_) => refused("the request is not understood: the command has another version"),
        };
        stream.write_all(&serde_json::to_vec(&response)?).await?;
        stream.shutdown().await
    }

    async fn respond(&self, request: ControlRequest) -> ControlResponse {
        match request {
            ControlRequest::Reload => self.reload().await,
            ControlRequest::Connections { account } => self.connections(account).await,
            ControlRequest::Close { id } => match id.parse() {
                Ok(id) => self.close(id).await,
                Err(error) => refused(error.to_string()),
            },
        }
    }

    async fn reload(&self) -> ControlResponse {
        let (reply, reloaded) = oneshot::channel();
        if self.reloads.send(reply).await.is_err() {
            return refused("the hub is stopping");
        }
        match reloaded.await {
            Ok(Ok(done)) => ControlResponse::Done { done },
            Ok(Err(reason)) => refused(reason),
            Err(_) => refused("the hub is stopping"),
        }
    }

    async fn connections(&self, account: Option<i64>) -> ControlResponse {
        let callers = self.registry.callers();
        let account_of = |key: u64| {
            let caller = callers.iter().find(|(id, _)| id.number() == key);
            caller.map(|(_, caller)| caller.account.number())
        };
        let keys = account.map(|account| {
            let listed = callers.iter().filter(|(_, caller)| caller.account.number() == account);
            listed.map(|(id, _)| id.number()).collect()
        });
        let query = SocketQuery { keys, channel: None };
        match self.fanout.list_sockets(query, SHARDS_WITHIN).await {
            Ok(list) if !list.silent_shards.is_empty() => {
                refused(format!("shards {:?} do not answer", list.silent_shards))
            }
            Ok(list) => {
                let row = |socket| connection(socket, account_of);
                ControlResponse::Connections { rows: list.sockets.iter().map(row).collect() }
            }
            Err(error) => refused(error.to_string()),
        }
    }

    async fn close(&self, id: SocketId) -> ControlResponse {
        match self.fanout.close_socket(id, SHARDS_WITHIN).await {
            Ok(Some(true)) => ControlResponse::Done { done: "closed".to_owned() },
            Ok(Some(false)) => refused(format!("there is no connection {id}")),
            Ok(None) => refused(format!("shard {} does not answer", id.shard)),
            Err(error) => refused(error.to_string()),
        }
    }
}

fn refused(reason: impl Into<String>) -> ControlResponse {
    ControlResponse::Refused { reason: reason.into() }
}

/// A row of [`CONNECTION_COLUMNS`](crate::control::CONNECTION_COLUMNS).
fn connection(
    socket: &SocketSummary,
    account_of: impl Fn(u64) -> Option<i64>,
) -> [Option<String>; 10] {
    [
        Some(socket.id.to_string()),
        socket.key.and_then(account_of).map(|account| account.to_string()),
        socket.peer.map(|peer| peer.to_string()),
        Some(socket.dialect.to_owned()),
        Some((socket.open_us / 1_000_000).to_string()),
        Some(socket.channels.to_string()),
        Some(socket.patterns.to_string()),
        Some(socket.waiting_bytes.to_string()),
        Some((socket.waiting_us / 1_000).to_string()),
        Some(socket.sent.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::part_settings::limits,
        config::Config,
        control::{ControlError, ask},
    };
    use hub::pipeline;
    use record::ids::PublicIds;

    fn parts() -> (CommandServer, mpsc::Receiver<ReloadReply>) {
        let (host, _receivers) = pipeline::channel(1, 8, PublicIds::default());
        let limits = fanout::Limits {
            shards: 1,
            ..limits(&Config::default(), base::work::Work::unlimited())
        };
        let fanout = Fanout::start(limits, "test", Box::new(host)).expect("it starts");
        let (reloads, requests) = mpsc::channel(1);
        (CommandServer { fanout, registry: Registry::new(8, 8), reloads }, requests)
    }

    #[tokio::test]
    async fn each_request_is_answered_or_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hub.db-control");
        let nobody = ask(&path, &ControlRequest::Reload).await;
        assert!(matches!(nobody, Err(ControlError::NoHub { .. })), "{nobody:?}");

        let socket = ControlSocket::open(&path).expect("a socket");
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(ControlSocket::open(&path).is_err(), "another hub listens");
        let ((parts, mut requests), (stop, stopped)) = (parts(), watch::channel(false));
        let serving = tokio::spawn(parts.serve(socket, stopped));
        let reloader = tokio::spawn(async move {
            for outcome in [Ok("reloaded".to_owned()), Err("no such file".to_owned())] {
                let reply = requests.recv().await.expect("a request");
                reply.send(outcome).expect("somebody waits");
            }
        });
        let reloaded = ask(&path, &ControlRequest::Reload).await.expect("it is reloaded");
        assert_eq!(reloaded, ControlResponse::Done { done: "reloaded".to_owned() });
        let refused = ask(&path, &ControlRequest::Reload).await.unwrap_err();
        assert_eq!(refused.to_string(), "no such file");
        reloader.await.expect("no panic");

        let all = ask(&path, &ControlRequest::Connections { account: None }).await;
        let none = ControlResponse::Connections { rows: Vec::new() };
        assert_eq!(all.expect("a list"), none);
        for (id, reason) in [("0-9", "there is no connection 0-9"), ("x", "not the id of a socket")]
        {
            let refused = ask(&path, &ControlRequest::Close { id: id.to_owned() }).await;
            assert!(refused.unwrap_err().to_string().starts_with(reason), "{id}");
        }
        stop.send(true).expect("it runs");
        serving.await.expect("no panic");
        assert!(!path.exists());
    }

    #[test]
    fn socket_of_a_process_that_was_killed_is_replaced() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let _guard = runtime.as_ref().expect("a runtime").enter();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("control");
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
        assert!(path.exists() && ControlSocket::open(&path).is_ok());
    }

    /// The hub starts without it.
    #[tokio::test]
    async fn neither_a_file_nor_a_long_path_becomes_a_socket() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("control");
        fs::write(&file, "a file of somebody").expect("it is written");
        assert!(ControlSocket::open(&file).is_err());
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "a file of somebody");
        let long = folder.path().join("d".repeat(120));
        assert!(ControlSocket::open(&long).is_err());
        let unreachable = ask(&long, &ControlRequest::Reload).await;
        assert!(matches!(unreachable, Err(ControlError::NoHub { .. })), "{unreachable:?}");
    }
}
