//! A subscription to the feed's exchange: AMQP 0.9.1, an exclusive queue, acknowledged messages.

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

use crate::{config::SportradarUofConfig, reconnect::Disconnect};
use base::secret::Secret;

/// How to reach the broker, and what to subscribe to.
#[derive(Debug, Clone)]
pub struct Broker {
    /// `stgmq.betradar.com`.
    pub host: String,
    /// Default: 5671, or 5672 without TLS.
    pub port: u16,
    /// The trusted authorities; see [`base::tls::client`]. `None`: no TLS at all, for tests only.
    pub tls: Option<Arc<ClientConfig>>,
    /// `/unifiedfeed/` and the bookmaker's id.
    pub vhost: String,
    /// The access token; used as the user name.
    pub token: Secret,
    /// Empty with the provider.
    pub password: Secret,
    /// Default: `unifiedfeed`.
    pub exchange: String,
    /// The routing keys to bind: `*.*.live.#`, and the control messages `-.-.-.alive.#` and
    /// `-.-.-.snapshot_complete.#`. Default: `#`, everything.
    pub routing_keys: Vec<String>,
    /// How many unacknowledged messages the broker may send. Default: 200.
    pub prefetch: u16,
    /// The AMQP heartbeat, in seconds; after twice this without a frame the connection is dead.
    /// Default: 10.
    pub heartbeat_s: u16,
    /// The time limit for connecting and subscribing. Default: 10 s.
    pub connect_timeout: Duration,
}

impl Broker {
    #[must_use]
    pub fn new(host: String, vhost: String, token: Secret, tls: Option<Arc<ClientConfig>>) -> Self {
        Self {
            host,
            port: if tls.is_some() { 5671 } else { 5672 },
            tls,
            vhost,
            token,
            password: Secret::from(String::new()),
            exchange: "unifiedfeed".to_owned(),
            routing_keys: SportradarUofConfig::keys(),
            prefetch: 200,
            heartbeat_s: 10,
            connect_timeout: Duration::from_secs(10),
        }
    }

    pub(super) async fn subscribe(&self) -> Result<BrokerSubscription, Disconnect> {
        match timeout(self.connect_timeout, self.open()).await {
            Ok(opened) => opened.map_err(|error| self.disconnect(&error)),
            Err(_) => Err(Disconnect::Broken("no subscription in time".to_owned())),
        }
    }

    async fn open(&self) -> lapin::Result<BrokerSubscription> {
        let connection = self.connect().await?;
        let channel = connection.create_channel().await?;
        channel.basic_qos(self.prefetch, BasicQosOptions::default()).await?;
        let exclusive = QueueDeclareOptions {
            exclusive: true,
            auto_delete: true,
            ..QueueDeclareOptions::default()
        };
        let queue = channel.queue_declare("".into(), exclusive, FieldTable::default()).await?;
        for key in &self.routing_keys {
            let (name, exchange) = (queue.name().clone(), self.exchange.as_str().into());
            let options = QueueBindOptions::default();
            let key = key.as_str().into();
            channel.queue_bind(name, exchange, key, options, FieldTable::default()).await?;
        }
        let (name, tag) = (queue.name().clone(), "matchwire".into());
        let options = BasicConsumeOptions::default();
        let consumer = channel.basic_consume(name, tag, options, FieldTable::default()).await?;
        Ok(BrokerSubscription { consumer, _connection: connection })
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

    /// Removes the secrets from the error: a broker that refuses access names the user, and the user
    /// name is the token.
    pub(super) fn disconnect(&self, error: &lapin::Error) -> Disconnect {
        let mut why = error.to_string();
        for secret in [&self.token, &self.password] {
            if !secret.expose().is_empty() {
                why = why.replace(secret.expose(), "(secret)");
            }
        }
        match error.kind() {
            // ACCESS_REFUSED, and NOT_ALLOWED for a virtual host.
            ErrorKind::ProtocolError(error) if matches!(error.get_id(), 403 | 530) => {
                Disconnect::Denied(why)
            }
            _ => Disconnect::Broken(why),
        }
    }
}

/// The messages of a subscription; ends with the connection.
pub(super) struct BrokerSubscription {
    consumer: Consumer,
    /// Closed when it is dropped.
    _connection: Connection,
}

impl BrokerSubscription {
    pub(super) async fn next(&mut self) -> Option<lapin::Result<Delivery>> {
        self.consumer.next().await
    }
}

#[cfg(test)]
mod tests {
    use lapin::protocol::{AMQPError, AMQPHardError, AMQPSoftError};

    use super::*;
    use base::tls;

    #[test]
    fn an_error_that_names_the_user_does_not_contain_the_token() {
        let tls = tls::client(None).expect("the system has root certificates");
        let token = Secret::from("t0ken".to_owned());
        let broker = Broker::new("localhost".to_owned(), "/".to_owned(), token, Some(tls));
        let text = "NOT_ALLOWED - access to vhost '/' refused for user 't0ken'";
        let denied = AMQPError::new(AMQPHardError::NOTALLOWED.into(), text.into());
        let disconnect = broker.disconnect(&ErrorKind::ProtocolError(denied).into());
        assert!(matches!(disconnect, Disconnect::Denied(_)), "{disconnect:?}");
        let message = disconnect.to_string();
        assert!(message.ends_with("refused for user '(secret)'"), "{message}");
        let missing = AMQPError::new(AMQPSoftError::NOTFOUND.into(), "no exchange".into());
        let disconnect = broker.disconnect(&ErrorKind::ProtocolError(missing).into());
        assert!(matches!(disconnect, Disconnect::Broken(_)), "{disconnect:?}");
    }
}
