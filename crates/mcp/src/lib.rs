//! MCP servers: what the hub knows, for agents.
//!
//! **In:** requests of the Model Context Protocol that are authenticated already, the REST router,
//! and the hub's channels. **Out:** results with the time, the state of the feed, the position, the REST
//! address of the same, and a citation; notifications. **Must not know** how REST makes its answers, sockets,
//! or the archive.
//!
//! # A call
//!
//! 1. [`mount::service`] checks `Host`, `Origin`, the headers and the length of a request, for both generations
//!    of the protocol, with `rmcp`. Nothing is kept between requests.
//!    Usual calls of tools do not pass through the library: `direct` reads and answers them.
//! 2. `Server` counts the call and finds the tool. `Arguments::read` accepts the canonical names and their
//!    aliases, and refuses all others. Days in words become times (`days`), names become ids (`Names`).
//! 3. `Call` asks REST in this process (`Rest::get`), so the answer is REST's by construction. The arguments of
//!    tools are made of the OpenAPI document, so they are REST's as well. Lists of matches are REST's rows as lines.
//! 4. `Answer::into_value` removes what a model must not see, cuts lists to the bound of the tool, and adds the
//!    envelope.
//!
//! # Following
//!
//! `wait_for_change` takes positions and returns positions. It watches its channels
//! (`hub::watch`), and reads the hub's tail when something has changed. `subscriptions/listen` watches in the
//! same way, and sends no values: events at once, values at most every `mcp.notify_ms`.
//!
//! # Limits
//!
//! | resource | limit | beyond it |
//! |---|---|---|
//! | a result | 24 KiB; lists 12 KiB; matches in play 16,000 bytes | lists are cut from the end, with a cursor |
//! | a request | `mcp.request_bytes_max` | 413 |
//! | waiting calls, and streams, of one account | `mcp.waits_max_per_account`, `mcp.listens_max_per_account` | an error |
//! | resources of a stream | `mcp.listen_resources_max` | the acknowledgement names those that are followed |
//! | watched channels | `mcp.watched_channels_max` | an error |
//! | documents of channels that are kept as they were rendered | 128 | the least recently read go |
//! | notifications that wait for a client | 16 | changes coalesce |

mod admission;
mod argument;
mod call;
mod channels;
mod config;
mod days;
mod direct;
mod documents;
mod envelope;
mod fit;
mod leaders;
mod listen;
mod match_lists;
pub mod mount;
mod names;
mod odds;
mod prices;
mod prompt;
mod refusal;
mod resource;
mod rest;
mod server;
mod slots;
mod text;
mod tool_arguments;
mod tool_list;
mod wait;

use std::{convert::Infallible, fmt, sync::Arc};

use accounts::{
    Accounts,
    limits::Limits,
    products::{CurrentCatalogue, Product},
    usage::Meter,
};
use axum::{Router, body::Body, extract::Request};
use history::query::History;
use hub::pipeline::HubHandle;
use hyper::StatusCode;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::config::McpConfig;
use self::{
    admission::Admission,
    channels::Channels,
    envelope::RenderedCache,
    mount::MountOptions,
    rest::Rest,
    server::{Server, Shared, SportServer},
    slots::Slots,
};

/// What the servers answer from.
#[derive(Clone)]
pub struct McpParts {
    pub config: McpConfig,
    /// Every route of the REST interface and of the documentation, which take the caller from the
    /// extensions of a request.
    pub rest: Router,
    pub history: History,
    pub hub: HubHandle,
    pub accounts: Accounts,
    pub prices: CurrentCatalogue,
    pub limits: Limits,
    pub meter: Meter,
    /// Where clients reach the hub, without a trailing slash.
    pub public_url: Arc<str>,
    /// Milliseconds after which a document without news is stale.
    pub stale_after_ms: u32,
    /// The pages of the documentation.
    pub docs: Vec<DocsPage>,
    /// Ends waiting calls and streams.
    pub stop: CancellationToken,
}

impl fmt::Debug for McpParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpParts").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A page of the documentation, which is read through [`McpParts::rest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocsPage {
    /// The name in its URI, `matchwire://docs/{name}`.
    pub name: String,
    pub title: String,
    /// The path of the page as Markdown.
    pub path: String,
}

/// The address of the hub as the client of a request knows it, without a trailing slash. In the extensions of
/// requests; otherwise links begin with [`McpParts::public_url`].
#[derive(Debug, Clone)]
pub struct BaseUrl(pub Arc<str>);

/// The addresses of a server, without a slash at the end.
fn paths(product: Product) -> Vec<String> {
    match product {
        Product::Football => vec!["/mcp".to_owned(), "/api/mcp".to_owned()],
        product => vec![format!("/{product}/mcp")],
    }
}

/// The routes of all servers. `openapi` describes [`McpParts::rest`]; the schemas of tools are made of it.
pub fn routes<S: Clone + Send + Sync + 'static>(parts: McpParts, openapi: &Value) -> Router<S> {
    let options = mount_options(&parts);
    let shared = Arc::new(Shared {
        rest: Rest::new(parts.rest.clone()),
        channels: Channels::new(parts.hub.clone()),
        admission: Admission {
            accounts: parts.accounts.clone(),
            prices: parts.prices.clone(),
            limits: parts.limits.clone(),
            meter: parts.meter.clone(),
            public_url: Arc::clone(&parts.public_url),
        },
        waits: Slots::new(parts.config.waits_max_per_account),
        listens: Slots::new(parts.config.listens_max_per_account),
        feeds: tokio::sync::Mutex::default(),
        live_lists: listen::LiveLists::default(),
        rendered: RenderedCache::new(parts.config.cache_bytes),
        documents: documents::Documents::default(),
        parts,
    });
    let mut router = Router::new();
    for (product, tools) in tool_list::SERVERS {
        let kind = Arc::new(SportServer::new(product, tools, &shared.parts.history, openapi));
        let pending = listen::PendingSubscription::default();
        let server = Server { shared: Arc::clone(&shared), kind, pending };
        let (hosts, bytes_max) = (options.hosts.clone(), options.request_bytes_max);
        let unusual = mount::service(server.clone(), &options);
        let service = tower::service_fn(move |request: Request| {
            let (server, hosts, unusual) = (server.clone(), Arc::clone(&hosts), unusual.clone());
            async move {
                match direct::answer(&server, &hosts, bytes_max, request).await {
                    Ok(response) => Ok(response),
                    Err(direct::Unhandled(request)) => {
                        let is_json = mount::is_json(request.headers());
                        let response = unusual.handle(request).await.map(Body::new);
                        let is_no_message =
                            is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE;
                        Ok::<_, Infallible>(if is_no_message {
                            mount::no_message()
                        } else {
                            response
                        })
                    }
                }
            }
        });
        for path in paths(product) {
            router = router
                .route_service(&path, service.clone())
                .route_service(&format!("{path}/"), service.clone());
        }
    }
    router
}

/// The hosts and origins that are served: loopback, the configured address, and those of the settings.
fn mount_options(parts: &McpParts) -> MountOptions {
    let public_host = parts.public_url.split_once("://").map_or("", |(_, host)| host);
    let loopback = ["localhost", "127.0.0.1", "[::1]"];
    let hosts = loopback.into_iter().map(ToOwned::to_owned);
    let hosts = hosts.chain([public_host.to_owned()]).chain(config::entries(&parts.config.hosts));
    let own_origin = match parts.public_url.rsplit_once(':') {
        Some((_, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            parts.public_url.to_string()
        }
        _ if parts.public_url.starts_with("https:") => format!("{}:443", parts.public_url),
        _ => format!("{}:80", parts.public_url),
    };
    let origins = loopback.map(|host| format!("http://{host}:*"));
    let origins = origins.into_iter().chain([own_origin]);
    MountOptions {
        hosts: hosts.filter(|host| !host.is_empty()).collect(),
        origins: origins.chain(config::entries(&parts.config.origins)).collect(),
        request_bytes_max: parts.config.request_bytes_max,
        // Handlers end by `parts.stop` themselves. With the same token the library would cut their streams
        // before the final result, and answer 500 to calls that wait.
        stop: CancellationToken::new(),
    }
}
