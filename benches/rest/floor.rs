//! A bare axum handler for each recorded response: the same status, headers and body, and no other
//! work.

use std::{
    fs,
    io::{self, Write as _},
};

use axum::{Router, extract::State, response::IntoResponse, routing::get};
use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    header::{CONTENT_LENGTH, DATE, HeaderName, HeaderValue},
};
use tokio::{net::TcpListener, runtime::Runtime};

/// A response that is sent repeatedly.
#[derive(Clone)]
struct RecordedResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// The path of the response with this number, as long as the path on the hub.
pub(crate) fn path(number: usize) -> String {
    format!("/api/v2/floor/live/{number}/")
}

/// Serves the responses in these files until it is killed.
pub(crate) fn serve(files: &[String]) {
    let mut router = Router::new();
    for (number, file) in files.iter().enumerate() {
        let response = parse_response(&fs::read(file).expect("a recorded response"));
        router = router.route(&path(number), get(answer).with_state(response));
    }
    Runtime::new().expect("a runtime").block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        writeln!(io::stdout(), "listening on http://{address}").expect("standard output is open");
        axum::serve(listener, router).await.expect("it serves");
    });
}

async fn answer(State(response): State<RecordedResponse>) -> impl IntoResponse {
    (response.status, response.headers, response.body)
}

fn parse_response(response: &[u8]) -> RecordedResponse {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut fields);
    let end = head.parse(response).expect("an answer").unwrap();
    let mut headers = HeaderMap::new();
    for field in head.headers.iter() {
        let name: HeaderName = field.name.parse().expect("a name");
        // The server adds these itself.
        if ![CONTENT_LENGTH, DATE].contains(&name) {
            headers.append(name, HeaderValue::from_bytes(field.value).expect("a value"));
        }
    }
    let status = StatusCode::from_u16(head.code.expect("a status")).expect("a status");
    RecordedResponse { status, headers, body: Bytes::copy_from_slice(&response[end..]) }
}
