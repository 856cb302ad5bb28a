//! TLS in front of a test server, with a certificate of its own.

use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
};

use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener as Listener, TcpStream},
    runtime,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

/// A certificate for this machine, as a file and for servers.
pub(crate) struct Certificate {
    folder: TempDir,
    acceptor: TlsAcceptor,
}

const FILE: &str = "ca.pem";

impl Certificate {
    pub(crate) fn new() -> Self {
        let names = ["localhost", "127.0.0.1"].map(ToOwned::to_owned);
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), made.cert.pem()).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        Self { folder, acceptor: TlsAcceptor::from(Arc::new(config)) }
    }

    /// The flag that makes the program trust the certificate.
    pub(crate) fn flag(&self) -> String {
        format!("--ca {}", self.folder.path().join(FILE).display())
    }

    /// Starts a server that speaks TLS and passes all bytes on to this one, and returns its port.
    pub(crate) fn front(&self, plain: SocketAddr) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = self.acceptor.clone();
        thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_io().build().unwrap();
            runtime.block_on(async {
                let listener = Listener::from_std(listener).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    tokio::spawn(pass_on(stream, acceptor.clone(), plain));
                }
            });
        });
        port
    }
}

async fn pass_on(stream: TcpStream, acceptor: TlsAcceptor, plain: SocketAddr) {
    stream.set_nodelay(true).unwrap();
    // A client may refuse the certificate, and a server may have ended.
    let Ok(mut encrypted) = acceptor.accept(stream).await else { return };
    let Ok(mut plain) = TcpStream::connect(plain).await else { return };
    plain.set_nodelay(true).unwrap();
    copy_bidirectional(&mut encrypted, &mut plain).await.ok();
}
