//! A peer that speaks the Betfair Exchange Stream protocol over TLS.
//!
//! It greets, reads requests and writes what a script or a [`stream::Stream`] orders. It knows
//! nothing of the source under test. Tests of this crate and of others share it, and so does the
//! stand-alone example.

pub(crate) mod cache;
pub(crate) mod stream;

use std::{io, net::SocketAddr, sync::Arc};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
    server::TlsStream,
};

/// Listens, with a self-signed certificate for `localhost` and `127.0.0.1`.
pub(crate) struct Peer {
    listener: TcpListener,
    identity: Identity,
}

/// What stays the same across restarts of the peer.
#[derive(Clone)]
pub(crate) struct Identity {
    acceptor: TlsAcceptor,
    /// The certificate in PEM: a client that trusts it trusts this peer.
    pub certificate: String,
}

/// One connection to the peer, already greeted.
pub(crate) struct Caller {
    stream: BufReader<TlsStream<TcpStream>>,
}

impl Peer {
    /// `address`: `127.0.0.1:0` for any port.
    pub(crate) async fn bind(address: &str) -> io::Result<Self> {
        Self::bind_as(address, Identity::new()).await
    }

    /// Restarts with the same identity.
    pub(crate) async fn bind_as(address: &str, identity: Identity) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, identity })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("it listens")
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Accepts the next connection, and greets it.
    pub(crate) async fn accept(&self) -> io::Result<Caller> {
        let (tcp, _) = self.listener.accept().await?;
        tcp.set_nodelay(true)?;
        let stream = BufReader::new(self.identity.acceptor.accept(tcp).await?);
        let mut caller = Caller { stream };
        caller.send(r#"{"op":"connection","connectionId":"002-200401120000-1"}"#).await?;
        Ok(caller)
    }
}

impl Identity {
    fn new() -> Self {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("the key is the certificate's");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self { acceptor, certificate: made.cert.pem() }
    }
}

impl Caller {
    /// The next request.
    pub(crate) async fn request(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        assert!(line.ends_with("\r\n"), "a request ends with CRLF: {line:?}");
        Ok(serde_json::from_str(&line)?)
    }

    pub(crate) async fn send(&mut self, line: &str) -> io::Result<()> {
        self.send_part(&format!("{line}\r\n")).await
    }

    /// Sends bytes that need not be a line.
    pub(crate) async fn send_part(&mut self, part: &str) -> io::Result<()> {
        self.stream.get_mut().write_all(part.as_bytes()).await?;
        self.stream.get_mut().flush().await
    }

    pub(crate) async fn accept(&mut self, request: &Value) -> io::Result<()> {
        let answer = json!({
            "op": "status", "id": request["id"], "statusCode": "SUCCESS",
            "connectionClosed": false, "connectionsAvailable": 9,
        });
        self.send(&answer.to_string()).await
    }

    /// `closes`: announces that it ends the connection, which the caller then has to do.
    pub(crate) async fn refuse(
        &mut self,
        request: &Value,
        code: &str,
        closes: bool,
    ) -> io::Result<()> {
        let answer = json!({
            "op": "status", "id": request["id"], "statusCode": "FAILURE", "errorCode": code,
            // Betfair may echo requests, so the source must not repeat what it receives.
            "errorMessage": format!("cannot: {request}"), "connectionClosed": closes,
        });
        self.send(&answer.to_string()).await
    }

    /// Reads the authentication and accepts it.
    pub(crate) async fn authenticate(&mut self) -> io::Result<Value> {
        let request = self.request().await?;
        assert_eq!(request["op"], "authentication", "it comes first");
        self.accept(&request).await?;
        Ok(request)
    }

    /// Reads a subscription and accepts it.
    pub(crate) async fn subscription(&mut self) -> io::Result<Value> {
        let request = self.request().await?;
        assert_eq!(request["op"], "marketSubscription");
        self.accept(&request).await?;
        Ok(request)
    }

    /// Closes the connection as TLS requires.
    pub(crate) async fn close(mut self) -> io::Result<()> {
        self.stream.get_mut().shutdown().await
    }

    /// Aborts the connection as a crash would: with a reset, and without closing TLS.
    pub(crate) fn reset(self) {
        let (tcp, _) = self.stream.get_ref().get_ref();
        tcp.set_zero_linger().expect("the socket is open");
    }

    /// Waits until the peer has closed.
    pub(crate) async fn gone(mut self) {
        let mut byte = [0];
        while matches!(self.stream.read(&mut byte).await, Ok(1)) {}
    }
}
