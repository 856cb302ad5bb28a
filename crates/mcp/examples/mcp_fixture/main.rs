//! The server that `@modelcontextprotocol/conformance` tests: the mount of the hub, with a handler whose
//! tools, resources and prompts are those that the scenarios call. It shows that the mount speaks both
//! generations of the protocol, including what the servers of the hub do not use.
//!
//! ```text
//! cargo run -p matchwire-mcp --example mcp_fixture
//! ```
//!
//! It prints its address and serves until it is killed. It needs no key.

#![expect(clippy::print_stdout, reason = "it says where it listens")]

mod content;
mod handler;
mod prompts;
mod resources;
mod rounds;
mod tools;

use std::{
    error::Error,
    io::{Write, stdout},
};

use axum::Router;
use mcp::mount::{MountOptions, service};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::handler::Fixture;

/// More than any scenario sends.
const REQUEST_BYTES_MAX: usize = 1 << 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}"));
    let options = MountOptions {
        origins: hosts.iter().map(|host| format!("http://{host}")).collect(),
        hosts: hosts.into(),
        request_bytes_max: REQUEST_BYTES_MAX,
        stop: CancellationToken::new(),
    };
    let app = Router::new().route_service("/mcp", service(Fixture::new()?, &options));
    println!("listening on http://127.0.0.1:{port}/mcp");
    stdout().flush()?;
    axum::serve(listener, app).await?;
    Ok(())
}
