use std::{future, io};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

use super::*;

fn client(allow_private: bool, timeout_ms: u64) -> Client {
    let config = WebhooksConfig { allow_private, timeout_ms, ..WebhooksConfig::default() };
    Client::new(&base::tls::without_authorities(), &config).expect("a client")
}

async fn post(client: &Client, url: &str) -> Result<u16, SendError> {
    let headers = SignedHeaders { id: "msg_1", timestamp: 7, signature: "v1,abc" };
    client.post(url, headers, "{}".to_owned()).await
}

/// Answers one request with this text, and returns the request. Without an answer the connection stays open.
async fn endpoint(answer: &'static str) -> (String, JoinHandle<io::Result<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/hook", listener.local_addr().expect("it is bound"));
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n{}") {
            stream.read_buf(&mut request).await?;
        }
        if answer.is_empty() {
            future::pending::<()>().await;
        }
        stream.write_all(answer.as_bytes()).await?;
        Ok(String::from_utf8_lossy(&request).to_ascii_lowercase())
    });
    (url, serving)
}

#[tokio::test]
async fn request_has_the_headers_of_standard_webhooks() {
    let (url, serving) = endpoint("HTTP/1.1 204 No Content\r\n\r\n").await;
    assert_eq!(post(&client(true, 60_000), &url).await, Ok(204));
    let request = serving.await.unwrap().unwrap();
    assert!(request.starts_with("post /hook http/1.1\r\n"), "{request}");
    for header in [
        "content-type: application/json",
        "webhook-id: msg_1",
        "webhook-timestamp: 7",
        "webhook-signature: v1,abc",
    ] {
        assert!(request.contains(&format!("\r\n{header}\r\n")), "{header}: {request}");
    }
}

#[tokio::test]
async fn other_answers_are_failures_and_redirects_are_not_followed() {
    for (answer, status) in [
        ("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", 500),
        ("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", 302),
    ] {
        let (url, _serving) = endpoint(answer).await;
        assert_eq!(post(&client(true, 60_000), &url).await, Err(SendError::Status(status)));
    }
}

#[tokio::test]
async fn endpoint_that_does_not_answer_is_left() {
    let (url, _serving) = endpoint("").await;
    assert_eq!(post(&client(true, 200), &url).await, Err(SendError::Timeout));
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", closed.local_addr().expect("it is bound"));
    drop(closed);
    assert_eq!(post(&client(true, 60_000), &url).await, Err(SendError::Unreachable));
}

/// Whatever a URL looks like, and however it came into the database.
#[tokio::test]
async fn private_addresses_are_refused_before_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let client = client(false, 60_000);
    for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "localhost"] {
        let url = format!("https://{host}:{port}/");
        assert_eq!(post(&client, &url).await, Err(SendError::Private), "{url}");
    }
    let url = format!("http://127.0.0.1:{port}/");
    assert_eq!(post(&client, &url).await, Err(SendError::Insecure));
    assert!(
        futures_ready(listener.accept()).await.is_none(),
        "a connection was made to a private address"
    );
}

/// A name is checked by what it resolves to.
#[tokio::test]
async fn name_that_leads_to_a_private_address_is_refused() {
    let resolve = |allow_private| {
        let name: Name = "localhost".parse().expect("a name");
        PublicResolver { allow_private }.resolve(name)
    };
    let error = resolve(false).await.err().expect("it is refused");
    assert!(error.is::<NotPublic>(), "{error}");
    assert!(resolve(true).await.is_ok_and(|mut addresses| addresses.next().is_some()));
}

/// The output of a future that is ready.
async fn futures_ready<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        output = future => Some(output),
        () = future::ready(()) => None,
    }
}
