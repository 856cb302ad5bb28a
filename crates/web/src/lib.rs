//! Everything HTTP: connections, REST, pages, images, and the upgrade of sockets.
//!
//! **In:** TCP connections. **Out:** responses, and accepted sockets for the fan-out. **Must not know**
//! how the hub, the archive or accounts work inside: it uses the hub's handle, the query layer of
//! `history`, and the API of `accounts`. Only the program depends on this crate.
//!
//! # Modules
//!
//! - `http`: connections, and everything around a request; the endpoints of the stream, of pushes and of protocols.
//! - `rest`: the public REST interface and its documents.
//! - `site`: pages and static files.
//! - `images`: draws images.
//! - `routes` lists every route, and is the only module that uses the others as it likes. `rest` and `site` use `http` for a
//!   request, and not each other; `http` uses neither, and gets the router and the page for errors from `routes`. A test of
//!   the program checks this (`tests/hub/layers.rs`).
//!
//! # A socket
//!
//! 1. `Acceptor::accept_all`, on its own thread, accepts and parses the head of the request
//!    (`head::parse`). An upgrade to the stream takes the fast path; everything unusual goes to the
//!    router (hyper and axum), with the bytes already read.
//! 2. `ws::admit` checks the caller, found usually in the cache of keys, and takes a permit in the `Registry`.
//!    `Entitlement` turns the add-ons into a `Permission`, a set of bits that all sockets of the key
//!    share. `Revoker` replaces it when the account changes.
//! 3. The response is written, and `Fanout::serve` takes the socket. HTTP keeps nothing but a permit of
//!    24 bytes.
//!
//! All of this is one future that is polled once where the connection was accepted; most are finished
//! then, without a task. Connections that must wait become tasks, and so does each TLS handshake.
//!
//! # A request
//!
//! `prepare` removes credentials from the URL, determines the product, and keeps forwarded headers only
//! from trusted proxies. `HttpService` then applies, from the outside inwards: common headers,
//! compression (once per shared response), CORS, authorization, URL length. These steps are not layers of
//! the router, because each layer would cost a boxed future per request.
//!
//! `authorize` checks in this order: the address's rate (429), the key (401), the add-on (402), the
//! account's CPU time (waits, 429), the day's quota (429). 401, 402 and 403 are decided by `accounts::access`
//! only. Handlers take the `Caller` from the request. No step reads the database for a key and a day that
//! are cached. Paths that do not exist are not counted.
//!
//! A handler reads its parameters, queries `history`, shapes JSON, and answers with a tag of the bytes,
//! so that `If-None-Match` gets 304. OpenAPI is generated from handlers; `rest::schema` adds the
//! responses that apply to all. Image tags are made of the inputs, so 304 needs no rendering;
//! `images.renders_max` bounds concurrent renders.
//!
//! # A form
//!
//! `Visit` reads two cookies: an anonymous one, and the session. A session exists only if it is in the
//! store. Each form carries a token, the keyed hash of the cookie, so the server stores none. `Submitted`
//! and `SignedForm` verify it and the origin; they are the only way to a form's fields. A GET changes
//! nothing except by a mailed link. A POST redirects with 303.
//!
//! # Limits
//!
//! | resource | limit | beyond it |
//! |---|---|---|
//! | sockets | `fanout.sockets_max`, `fanout.sockets_max_per_account` | closed with 4429 |
//! | connections before the upgrade, per address | `server.connections_max_per_address` | closed |
//! | HTTP connections | `server.connections_max`; 64 more for health checks | another one is closed; 503 if all are answered |
//! | file descriptors of connections | the limit of the process, without what `base::process` keeps back | closed |
//! | time of a request's body | `server.body_timeout_ms`, `ingest.body_ms` | 408 |
//! | unread bytes of long responses | `server.unread_bytes_max`, `server.unread_bytes_max_per_address` | 503 |
//! | time to read 4 KiB | `server.write_timeout_ms`, less under load | closed |
//! | concurrent compressions | one per core | they wait |
//! | sockets that push | `ingest.sockets_max`, `ingest.sockets_max_per_source` | 503 |

pub mod config;
pub mod entitlement;
mod etag;
pub mod http;
pub mod images;
pub mod rest;
pub mod revocation;
mod routes;
mod site;

pub use self::routes::serve;

use accounts::{limits, payments, products, usage};
use base::{clock, percent, supervisor};
use history::{predict, rating};
use hub::{catch_up, log_state, pipeline, push};
use record::ids;
