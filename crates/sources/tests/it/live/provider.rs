//! The provider of the Unified Odds Feed: publishes to the broker's exchange, and receives recovery
//! requests.

use lapin::{
    BasicProperties, Channel, Connection, ConnectionProperties, ExchangeKind,
    options::{BasicPublishOptions, ExchangeDeclareOptions},
    types::FieldTable,
    uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo},
};

use super::{
    broker::{Broker, PASSWORD, VHOST},
    http::{ReceivedRequest, Server},
};
use crate::support::SECRET;

/// The provider, as a publisher to the exchange.
pub(crate) struct Provider {
    channel: Channel,
    _connection: Connection,
}

impl Provider {
    pub(crate) async fn connect(broker: &Broker) -> Self {
        let uri = AMQPUri {
            scheme: AMQPScheme::AMQP,
            authority: AMQPAuthority {
                userinfo: AMQPUserInfo {
                    username: SECRET.to_owned(),
                    password: PASSWORD.to_owned(),
                },
                host: "127.0.0.1".to_owned(),
                port: broker.port,
            },
            vhost: VHOST.to_owned(),
            query: AMQPQueryString::default(),
        };
        let connection =
            Connection::connect_uri(uri, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        let options = ExchangeDeclareOptions { durable: true, ..Default::default() };
        let (name, arguments) = ("unifiedfeed".into(), FieldTable::default());
        channel.exchange_declare(name, ExchangeKind::Topic, options, arguments).await.unwrap();
        Self { channel, _connection: connection }
    }

    pub(crate) async fn publish(&self, key: &str, body: &str) {
        let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
        let exchange = "unifiedfeed".into();
        self.channel
            .basic_publish(exchange, key.into(), options, body.as_bytes(), properties)
            .await
            .unwrap();
    }

    pub(crate) async fn alive(&self, product: u32, timestamp: i64, subscribed: u8) {
        let body = format!(
            r#"<alive product="{product}" timestamp="{timestamp}" subscribed="{subscribed}"/>"#
        );
        self.publish("-.-.-.alive.-.-.-.-", &body).await;
    }

    /// Ends a requested recovery.
    pub(crate) async fn complete(&self, recovery: &Recovery) {
        let Recovery { product, request_id, .. } = recovery;
        let body = format!(
            r#"<snapshot_complete product="{product}" request_id="{request_id}" timestamp="1"/>"#
        );
        self.publish("-.-.-.snapshot_complete.-.-.-.-", &body).await;
    }
}

/// A recovery request.
#[derive(Debug, PartialEq)]
pub(crate) struct Recovery {
    pub(crate) product: u32,
    pub(crate) after: Option<i64>,
    pub(crate) request_id: u32,
}

impl Recovery {
    fn from_request(request: &ReceivedRequest) -> Self {
        assert_eq!(request.headers["x-access-token"], SECRET);
        let (path, query) = request.target.split_once('?').expect("a query");
        let product = match path {
            "/uof/v1/liveodds/recovery/initiate_request" => 1,
            "/uof/v1/pre/recovery/initiate_request" => 3,
            other => panic!("{other}"),
        };
        let value = |wanted: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
        };
        let request_id = value("request_id").expect("an id").parse().unwrap();
        Self { product, after: value("after").map(|after| after.parse().unwrap()), request_id }
    }

    /// The next one. Documents are requested beside recoveries.
    pub(crate) async fn next(api: &mut Server) -> Self {
        loop {
            let request = api.next_request().await;
            if request.method == "POST" {
                return Self::from_request(&request);
            }
        }
    }

    /// Those of both products, live odds first.
    pub(crate) async fn both(api: &mut Server) -> [Self; 2] {
        let mut both = [Self::next(api).await, Self::next(api).await];
        both.sort_by_key(|recovery| recovery.product);
        assert_eq!([both[0].product, both[1].product], [1, 3]);
        both
    }
}
