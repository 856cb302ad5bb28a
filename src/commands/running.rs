//! `matchwire reload` and `matchwire connections`: they ask the hub that runs on this machine.

use std::{
    io::{self, Write},
    path::Path,
};

use crate::{
    cli::running::{ConnectionsCommand, ConnectionsListArgs},
    control::{ControlError, ControlRequest, ControlResponse, OpenConnection, ask},
    table::Table,
};

#[derive(Debug, thiserror::Error)]
pub enum RunningHubError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error("not reloaded: {0}")]
    NotReloaded(String),
    #[error("the hub answers something else: it has another version")]
    OtherAnswer,
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// Lets the hub at this socket read its settings again, and prints what has changed.
///
/// # Errors
///
/// If there is no hub, if it refuses the settings, or if the output cannot be written.
pub async fn reload(socket: &Path, out: &mut impl Write) -> Result<(), RunningHubError> {
    match ask(socket, &ControlRequest::Reload).await {
        Ok(ControlResponse::Reloaded { changed }) if changed.is_empty() => {
            Ok(writeln!(out, "reloaded: no setting has changed")?)
        }
        Ok(ControlResponse::Reloaded { changed }) => {
            Ok(writeln!(out, "reloaded: {} changed", changed.join(", "))?)
        }
        Ok(_) => Err(RunningHubError::OtherAnswer),
        Err(ControlError::Refused(reason)) => Err(RunningHubError::NotReloaded(reason)),
        Err(error) => Err(error.into()),
    }
}

/// Lists or closes connections of the hub at this socket.
///
/// # Errors
///
/// If there is no hub, if it refuses, or if the output cannot be written.
pub async fn connections(
    command: &ConnectionsCommand,
    socket: &Path,
    out: &mut impl Write,
) -> Result<(), RunningHubError> {
    match command {
        ConnectionsCommand::List(args) => {
            let request = ControlRequest::Connections { account: args.account };
            match ask(socket, &request).await? {
                ControlResponse::Connections { connections, .. } => list(args, &connections, out),
                _ => Err(RunningHubError::OtherAnswer),
            }
        }
        ConnectionsCommand::Close(args) => {
            match ask(socket, &ControlRequest::Close { id: args.id.clone() }).await? {
                ControlResponse::Closed => Ok(writeln!(out, "closed {}", args.id)?),
                _ => Err(RunningHubError::OtherAnswer),
            }
        }
    }
}

fn list(
    args: &ConnectionsListArgs,
    connections: &[OpenConnection],
    out: &mut impl Write,
) -> Result<(), RunningHubError> {
    let columns = [
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
    let mut table = Table::new(out, args.output.format(), columns)?;
    for connection in connections {
        let account = connection.account.map(|account| account.to_string());
        table.row([
            Some(&connection.id),
            account.as_deref(),
            connection.peer.as_deref(),
            Some(&connection.dialect),
            Some(&(connection.open_us / 1_000_000).to_string()),
            Some(&connection.channels.to_string()),
            Some(&connection.patterns.to_string()),
            Some(&connection.waiting_bytes.to_string()),
            Some(&(connection.waiting_us / 1_000).to_string()),
            Some(&connection.sent.to_string()),
        ])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{OutputArgs, running::RunningHubArgs};

    #[test]
    fn connections_are_listed_with_what_is_known_of_them() {
        let connection = OpenConnection {
            id: "0-17".to_owned(),
            account: Some(4),
            peer: None,
            dialect: "stream".to_owned(),
            open_us: 61_000_000,
            channels: 2,
            patterns: 1,
            waiting_bytes: 300,
            waiting_us: 4_500,
            sent: 9,
        };
        let hub = RunningHubArgs { config: None, db: None };
        let args = ConnectionsListArgs { hub, account: None, output: OutputArgs { json: false } };
        let mut out = Vec::new();
        list(&args, &[connection], &mut out).expect("it is written");
        let out = String::from_utf8(out).expect("text");
        assert_eq!(out.lines().nth(1), Some("0-17\t4\t-\tstream\t61\t2\t1\t300\t4\t9"));
    }
}
