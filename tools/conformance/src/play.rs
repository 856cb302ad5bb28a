//! Plays a script to a client over a real socket.

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, future::pending, time::Duration};

use serde_json::Value;
use tokio::{
    net::TcpListener,
    time::{Instant, sleep, timeout, timeout_at},
};

use crate::{
    answer::{Subscriptions, other},
    connection::{Connection, Received},
    script::{Script, Step},
};

/// The key that the client has to send.
pub const KEY: &str = "conformance";

/// Commands that a client may send before they are expected.
const COMMANDS_MAX: usize = 1_000;

/// The code and the reason with which each case ends: no attempt to return can succeed.
const LAST_CLOSE: (u16, &str) = (4410, "token_revoked");

/// What the client did not do.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Fault {
    /// Of the script.
    pub line: usize,
    pub what: String,
}

/// Plays a script to the next client that connects, and closes the connection for good.
///
/// # Errors
///
/// The first step at which the client did something else than the protocol demands, or nothing for `patience`.
pub async fn play(
    listener: &TcpListener,
    script: &Script,
    patience: Duration,
) -> Result<(), Fault> {
    let mut stage = Stage {
        listener,
        trickle_bytes: script.head.trickle_bytes,
        patience,
        connection: None,
        hello: Value::Null,
        commands: VecDeque::new(),
        ended_at: Instant::now(),
        muted: false,
    };
    let mut line = 1;
    for step in &script.steps {
        line += 1;
        stage.perform(step).await.map_err(|what| Fault { line, what })?;
    }
    stage.end().await.map_err(|what| Fault { line: line + 1, what })
}

struct Stage<'a> {
    listener: &'a TcpListener,
    trickle_bytes: Option<usize>,
    patience: Duration,
    connection: Option<Connection>,
    hello: Value,
    /// What the client has sent and no step expected yet.
    commands: VecDeque<String>,
    ended_at: Instant,
    muted: bool,
}

impl Stage<'_> {
    async fn perform(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Open { hello, after_ms } => self.open(hello, *after_ms).await,
            Step::Subscribe(wanted) => {
                let hello = self.hello.clone();
                self.subscribe(Subscriptions::new(&hello, wanted)).await
            }
            Step::Send(text) => self.send(text.get()).await,
            Step::Close(close) => self.close(close.code, &close.reason).await,
            Step::Cut => {
                self.synchronise().await?;
                self.ended_at = Instant::now();
                if let Some(connection) = self.connection.take() {
                    connection.cut().await;
                }
                Ok(())
            }
            Step::Mute => {
                self.synchronise().await?;
                self.muted = true;
                Ok(())
            }
            Step::Wait { ms } => self.wait(Duration::from_millis(*ms)).await,
            // The client reports at its end.
            Step::Expect(_) => Ok(()),
        }
    }

    async fn open(&mut self, hello: &Value, after_ms: Option<u64>) -> Result<(), String> {
        let accepting = async {
            // A connection on which nothing comes is given up by the client, and read meanwhile.
            let silent = async {
                match &mut self.connection {
                    Some(connection) => {
                        while !matches!(connection.receive().await, Received::End) {}
                    }
                    None => pending().await,
                }
                pending().await
            };
            tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = silent => pending().await,
            }
        };
        let accepted = timeout(self.patience, accepting).await;
        let accepted = accepted.map_err(|_| "the client does not connect".to_owned())?;
        let (stream, _) = accepted.map_err(|error| error.to_string())?;
        let early = after_ms.map(Duration::from_millis).filter(|it| self.ended_at.elapsed() < *it);
        if let Some(after) = early {
            return Err(format!("it comes back before the {} ms of `bye`", after.as_millis()));
        }
        let upgrading = Connection::accept(stream, KEY, self.trickle_bytes);
        let upgraded = timeout(self.patience, upgrading).await;
        self.connection = Some(upgraded.map_err(|_| "its upgrade does not come".to_owned())??);
        self.commands.clear();
        self.muted = false;
        self.hello = hello.clone();
        self.send(&hello.to_string()).await
    }

    async fn subscribe(&mut self, mut expected: Subscriptions<'_>) -> Result<(), String> {
        let until = Instant::now() + self.patience;
        while !expected.are_complete() {
            let text = match self.commands.pop_front() {
                Some(text) => text,
                None => match timeout_at(until, self.receive()).await {
                    Ok(Received::Command(text)) => text,
                    Ok(Received::Pong) => continue,
                    Ok(Received::End) => return Err("it has ended the connection".to_owned()),
                    Err(_) => return Err(format!("it does not ask for {}", expected.missing())),
                },
            };
            let command: Value = serde_json::from_str(&text)
                .map_err(|error| format!("a command is not JSON: {error}: {text}"))?;
            let answer = if command["op"] == "subscribe" {
                expected.answer(&command, text.len())?
            } else {
                other(&command, &self.hello["now"])
            };
            self.send(&answer.to_string()).await?;
        }
        Ok(())
    }

    async fn close(&mut self, code: u16, reason: &str) -> Result<(), String> {
        self.synchronise().await?;
        self.ended_at = Instant::now();
        if let Some(connection) = self.connection.take() {
            connection.close(code, reason).await;
        }
        Ok(())
    }

    /// Waits until the client has read everything.
    async fn synchronise(&mut self) -> Result<(), String> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        connection.ping().await.map_err(|error| format!("it has ended the connection: {error}"))?;
        let until = Instant::now() + self.patience;
        loop {
            match timeout_at(until, self.receive()).await {
                Ok(Received::Pong) => return Ok(()),
                Ok(Received::Command(text)) => self.keep(text).await?,
                Ok(Received::End) => return Err("it has ended the connection".to_owned()),
                Err(_) => return Err("it does not answer a ping of WebSocket".to_owned()),
            }
        }
    }

    async fn wait(&mut self, time: Duration) -> Result<(), String> {
        let until = Instant::now() + time;
        loop {
            match timeout_at(until, self.receive()).await {
                Ok(Received::Command(text)) => self.keep(text).await?,
                Ok(Received::Pong) => {}
                Ok(Received::End) => return Err("it has ended the connection".to_owned()),
                Err(_) => return Ok(()),
            }
        }
    }

    /// Answers a ping, and leaves other commands to the step that expects them.
    async fn keep(&mut self, text: String) -> Result<(), String> {
        let command: Value = serde_json::from_str(&text).unwrap_or_default();
        if command["op"] == "ping" {
            return self.send(&other(&command, &self.hello["now"]).to_string()).await;
        }
        if self.commands.len() >= COMMANDS_MAX {
            return Err(format!(
                "it sends more than {COMMANDS_MAX} commands that nothing calls for"
            ));
        }
        self.commands.push_back(text);
        Ok(())
    }

    async fn send(&mut self, text: &str) -> Result<(), String> {
        if self.muted {
            return Ok(());
        }
        let Some(connection) = &mut self.connection else {
            return Err("the script has no connection here".to_owned());
        };
        let sent = timeout(self.patience, connection.send(text)).await;
        sent.map_err(|_| "it does not read".to_owned())?
            .map_err(|error| format!("it has ended the connection: {error}"))
    }

    async fn receive(&mut self) -> Received {
        match &mut self.connection {
            Some(connection) => connection.receive().await,
            None => Received::End,
        }
    }

    /// Ends the case: the client must not come back.
    async fn end(mut self) -> Result<(), String> {
        let (code, reason) = LAST_CLOSE;
        let bye = format!(r#"{{"type":"bye","why":"{reason}","reconnect_after_ms":0}}"#);
        self.send(&bye).await?;
        self.close(code, reason).await
    }
}

/// Waits for a client that comes back although the hub has closed for good.
///
/// # Errors
///
/// If it does.
pub async fn stays_away(listener: &TcpListener, time: Duration) -> Result<(), String> {
    let returned = async { listener.accept().await.map(drop) };
    tokio::select! {
        _ = returned => Err(format!("it comes back after the close code {}", LAST_CLOSE.0)),
        () = sleep(time) => Ok(()),
    }
}
