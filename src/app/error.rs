//! Why the hub could not start or had to stop.

use std::{io, net::SocketAddr, path::PathBuf};

use fanout::StartError;
use ingest::recording::OpenError;

use base::{config::SecretError, supervisor, tls::TrustError};

use crate::{
    config::ConfigError,
    telemetry::{TelemetryError, traces::TracesError},
};
use accounts::{AccountsError, mail::MailError, payments::SetupError, usage::UsageError};
use cluster::node::ClusterFailure;
use hub::{pipeline::HubStopped, restart::RestartError};
use record::ids::IdsError;
use sources::follow::FollowError;
use web::http::tls::{TlsError, acme::AcmeError};

/// Why the hub could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("the account store failed")]
    Accounts(#[from] AccountsError),
    #[error("cannot follow source {name:?}")]
    Source { name: String, source: FollowError },
    #[error("the counts of usage cannot be read")]
    Usage(#[from] UsageError),
    #[error("the archive failed")]
    Archive(#[source] sqlx::Error),
    #[error("the public ids failed")]
    Ids(#[from] IdsError),
    #[error("the store of matches failed")]
    Identity(#[source] sqlx::Error),
    #[error("cannot play a recording")]
    Recording(#[from] OpenError),
    #[error("mail cannot be sent")]
    Mail(#[from] MailError),
    #[error("payments cannot be taken")]
    Payments(#[from] SetupError),
    #[cfg(feature = "sandbox")]
    #[error("the payment sandbox did not start")]
    Sandbox(#[from] sandbox::SandboxError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Traces(#[from] TracesError),
    #[error("no certificate can be obtained")]
    Acme(#[from] AcmeError),
    /// The service manager passed a socket with an address that the settings exclude.
    #[error(transparent)]
    Address(#[from] ConfigError),
    #[error("the login of NATS cannot be read")]
    NatsLogin(#[source] SecretError),
    #[error("the certificate of NATS cannot be checked")]
    NatsAuthority(#[source] TrustError),
    #[error("{} cannot be written", .path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("the socket that the service manager passed cannot be used")]
    PassedSocket(#[source] io::Error),
    #[error("the service manager passed {0} sockets; the hub takes one")]
    PassedSockets(usize),
    /// The part's name and the reason have been printed.
    #[error("a part of the hub failed")]
    Part,
    #[error("the listener stopped unexpectedly")]
    Listener(#[source] Option<io::Error>),
    #[error("the fan-out did not start")]
    Fanout(#[from] StartError),
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    #[error(transparent)]
    Restart(#[from] RestartError),
    #[error("the log cannot be written")]
    LogAppend(#[from] log::AppendError),
    #[error("the cluster failed")]
    Cluster(#[source] ClusterFailure),
    #[error("the system refused a thread, a signal handler or the standard output")]
    System(#[from] io::Error),
    #[error("the system gave no random bytes")]
    Random(#[from] getrandom::Error),
}

/// The exit code after invalid settings: another start would not help.
pub const INVALID_SETTINGS: u8 = 2;

/// The exit code after any other failure of a command.
pub const FAILED: u8 = 1;

impl From<HubStopped> for AppError {
    fn from(_: HubStopped) -> Self {
        Self::Part
    }
}

impl From<ClusterFailure> for AppError {
    fn from(failure: ClusterFailure) -> Self {
        match failure {
            ClusterFailure::Restart(error) => error.into(),
            failure => Self::Cluster(failure),
        }
    }
}

impl AppError {
    /// The exit code of a hub that ends with this error: [`INVALID_SETTINGS`] if only the operator can mend it, by the
    /// settings or by a file or a variable that they name.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Part => supervisor::EXIT_CODE,
            Self::Listen { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                INVALID_SETTINGS
            }
            Self::Source { .. }
            | Self::Mail(_)
            | Self::Payments(_)
            | Self::Tls(_)
            | Self::Traces(_)
            | Self::Acme(_)
            | Self::Address(_)
            | Self::NatsLogin(_)
            | Self::NatsAuthority(_)
            | Self::Telemetry(_) => INVALID_SETTINGS,
            _ => FAILED,
        }
    }
}
