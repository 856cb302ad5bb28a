//! A subscription to the feed's exchange: AMQP 0.9.1, a queue of our own, acknowledged messages.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use lapin::{
    Connection, ConnectionProperties, Consumer, ErrorKind,
    message::Delivery,
    options::{BasicConsumeOptions, BasicQosOptions, QueueBindOptions, QueueDeclareOptions},
    runtime,
    tcp::{AsyncTcpStream, RustlsConnector},
    types::FieldTable,
    uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo},
};
use rustls::ClientConfig;
use tokio::{net::lookup_host, time::timeout};

use crate::source::{again::Cut, secret::Secret};

/// Where the broker is, and what is taken from it.
#[derive(Debug, Clone)]
pub struct Broker {
    /// `stgmq.betradar.com`.
    pub host: String,
    /// Default: 5671 with TLS.
    pub port: u16,
    /// Whom to trust; see [`crate::source::tls::client`]. `None`: no TLS at all, for tests only.
    pub tls: Option<Arc<ClientConfig>>,
    /// `/unifiedfeed/` and the bookmaker's id.
    pub vhost: String,
    /// The access token; it is the user's name.
    pub token: Secret,
    /// Empty with the provider.
    pub password: Secret,
    /// Default: `unifiedfeed`.
    pub exchange: String,
    /// What is subscribed to: `*.*.live.#`, and what the feed says of itself: `-.-.-.alive.#`,
    /// `-.-.-.snapshot_complete.#`. Default: `#`, all of it.
    pub routing_keys: Vec<String>,
    /// Messages that are on their way to us, not acknowledged yet. Default: 200.
    pub prefetch: u16,
    /// After twice this without a sign of the broker the connection is dead, in seconds. Default:
    /// 10.
    pub heartbeat_s: u16,
    /// How long it may take to connect and subscribe. Default: 10 s.
    pub connect_timeout: Duration,
}

impl Broker {
    #[must_use]
    pub fn new(host: String, vhost: String, token: Secret, tls: Arc<ClientConfig>) -> Self {
        Self {
            host,
            port: 5671,
            tls: Some(tls),
            vhost,
            token,
            password: Secret::from(String::new()),
            exchange: "unifiedfeed".to_owned(),
            routing_keys: vec!["#".to_owned()],
            prefetch: 200,
            heartbeat_s: 10,
            connect_timeout: Duration::from_secs(10),
        }
    }

    pub(super) async fn subscribe(&self) -> Result<Subscription, Cut> {
        match timeout(self.connect_timeout, self.open()).await {
            Ok(opened) => opened.map_err(|error| self.cut(&error)),
            Err(_) => Err(Cut::Broken("no subscription in time".to_owned())),
        }
    }

    async fn open(&self) -> lapin::Result<Subscription> {
        let connection = self.connect().await?;
        let channel = connection.create_channel().await?;
        channel.basic_qos(self.prefetch, BasicQosOptions::default()).await?;
        let ours = QueueDeclareOptions {
            exclusive: true,
            auto_delete: true,
            ..QueueDeclareOptions::default()
        };
        let queue = channel.queue_declare("".into(), ours, FieldTable::default()).await?;
        for key in &self.routing_keys {
            let (name, exchange) = (queue.name().clone(), self.exchange.as_str().into());
            let options = QueueBindOptions::default();
            let key = key.as_str().into();
            channel.queue_bind(name, exchange, key, options, FieldTable::default()).await?;
        }
        let (name, tag) = (queue.name().clone(), "matchwire".into());
        let options = BasicConsumeOptions::default();
        let consumer = channel.basic_consume(name, tag, options, FieldTable::default()).await?;
        Ok(Subscription { consumer, _connection: connection })
    }

    async fn connect(&self) -> lapin::Result<Connection> {
        let runtime = runtime::default_runtime()?;
        let tls = self.tls.clone().map(RustlsConnector::from);
        Connection::connector(
            self.uri(),
            runtime,
            async move |uri, runtime| {
                let AMQPAuthority { host, port, .. } = uri.authority;
                let addresses: Vec<_> = lookup_host((host.as_str(), port)).await?.collect();
                let stream = AsyncTcpStream::connect(&runtime, addresses).await?;
                match &tls {
                    Some(connector) => Ok(stream.into_rustls(connector, &host).await?),
                    None => Ok(stream),
                }
            },
            ConnectionProperties::default().with_connection_name("matchwire".into()),
        )
        .await
    }

    fn uri(&self) -> AMQPUri {
        let (username, password) = (self.token.expose().to_owned(), self.password.expose());
        AMQPUri {
            scheme: if self.tls.is_some() { AMQPScheme::AMQPS } else { AMQPScheme::AMQP },
            authority: AMQPAuthority {
                userinfo: AMQPUserInfo { username, password: password.to_owned() },
                host: self.host.clone(),
                port: self.port,
            },
            vhost: self.vhost.clone(),
            query: AMQPQueryString { heartbeat: Some(self.heartbeat_s), ..Default::default() },
        }
    }

    /// The broker names the user when it refuses him, and the user's name is the token.
    pub(super) fn cut(&self, error: &lapin::Error) -> Cut {
        let mut why = error.to_string();
        for secret in [&self.token, &self.password] {
            if !secret.expose().is_empty() {
                why = why.replace(secret.expose(), "(secret)");
            }
        }
        match error.kind() {
            // ACCESS_REFUSED, and NOT_ALLOWED for a virtual host.
            ErrorKind::ProtocolError(error) if matches!(error.get_id(), 403 | 530) => {
                Cut::Denied(why)
            }
            _ => Cut::Broken(why),
        }
    }
}

/// Messages as they come; ends with the connection.
pub(super) struct Subscription {
    consumer: Consumer,
    /// ReceiverClosed when it is dropped.
    _connection: Connection,
}

impl Subscription {
    pub(super) async fn next(&mut self) -> Option<lapin::Result<Delivery>> {
        self.consumer.next().await
    }
}

#[cfg(test)]
mod tests {
    use lapin::protocol::{AMQPError, AMQPHardError, AMQPSoftError};

    use super::*;
    use crate::source::tls;

    #[test]
    fn a_broker_that_names_the_user_does_not_give_the_token_away() {
        let tls = tls::client(None).expect("the system trusts somebody");
        let token = Secret::from("t0ken".to_owned());
        let broker = Broker::new("localhost".to_owned(), "/".to_owned(), token, tls);
        let said = "NOT_ALLOWED - access to vhost '/' refused for user 't0ken'";
        let denied = AMQPError::new(AMQPHardError::NOTALLOWED.into(), said.into());
        let cut = broker.cut(&ErrorKind::ProtocolError(denied).into());
        assert!(matches!(cut, Cut::Denied(_)), "{cut:?}");
        let shown = cut.to_string();
        assert!(shown.ends_with("refused for user '(secret)'"), "{shown}");
        let missing = AMQPError::new(AMQPSoftError::NOTFOUND.into(), "no exchange".into());
        let cut = broker.cut(&ErrorKind::ProtocolError(missing).into());
        assert!(matches!(cut, Cut::Broken(_)), "{cut:?}");
    }
}
