//! What commands say to a hub that runs on this machine: one line of JSON each way over a Unix socket beside its database,
//! which only the hub's user and root may use.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    time::timeout,
};

/// Bytes of a request at most.
pub const REQUEST_BYTES_MAX: u64 = 4 << 10;

/// Bytes of a response at most: of a hundred connections, or of all settings by name.
const RESPONSE_BYTES_MAX: u64 = 1 << 20;

/// How long a hub may take. It reads its settings, their files and those that they name.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// What a command asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ControlRequest {
    /// To read the settings again.
    Reload,
    /// The slowest connections, of one account or of all.
    Connections { account: Option<i64> },
    /// To close a connection, by its id.
    Close { id: String },
}

/// What the hub answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ControlResponse {
    /// What was done, in words.
    Done { done: String },
    /// One row for each, with the cells of [`CONNECTION_COLUMNS`].
    Connections { rows: Vec<[Option<String>; 10]> },
    /// Nothing was done, and why.
    Refused { reason: String },
}

/// What is told of a connection. Its id is `conn` of its `hello`.
pub const CONNECTION_COLUMNS: [&str; 10] = [
    "id",
    "account",
    "peer",
    "protocol",
    "open_s",
    "channels",
    "patterns",
    "waiting_bytes",
    "waiting_ms",
    "sent",
];

/// Why no hub did what a command asked for.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("no hub can be reached at {}", .path.display())]
    NoHub { path: PathBuf, source: io::Error },
    #[error("the hub did not answer within {} s", ANSWER_WITHIN.as_secs())]
    Silent,
    #[error("the conversation with the hub failed")]
    Broken(#[from] io::Error),
    #[error("the hub answers something unknown: it has another version")]
    Unknown(#[from] serde_json::Error),
    #[error("{0}")]
    Refused(String),
}

/// The end of the name of the socket, which is next to the database.
pub const SOCKET_SUFFIX: &str = "-control";

/// Asks the hub at this socket.
///
/// # Errors
///
/// If there is none, or it does not answer in time, or it refuses.
pub async fn ask(path: &Path, request: &ControlRequest) -> Result<ControlResponse, ControlError> {
    let exchange = async {
        let connected = UnixStream::connect(path).await;
        let no_hub = |source| ControlError::NoHub { path: path.to_owned(), source };
        let mut stream = connected.map_err(no_hub)?;
        stream.write_all(&serde_json::to_vec(request)?).await?;
        stream.shutdown().await?;
        let mut response = Vec::new();
        if stream.take(RESPONSE_BYTES_MAX).read_to_end(&mut response).await? == 0 {
            // It has ended meanwhile.
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(serde_json::from_slice(&response)?)
    };
    match timeout(ANSWER_WITHIN, exchange).await.unwrap_or(Err(ControlError::Silent))? {
        ControlResponse::Refused { reason } => Err(ControlError::Refused(reason)),
        response => Ok(response),
    }
}
