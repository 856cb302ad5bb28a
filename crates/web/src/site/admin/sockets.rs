//! `/admin/sockets/`: the open sockets, the slowest on top.

use std::collections::{HashMap, HashSet, hash_map::Entry};

use askama::Template;
use axum::{extract::Query, response::Response};
use fanout::{
    channel::Pattern,
    inspect::{SocketList, SocketQuery, SocketSummary},
};
use hyper::StatusCode;
use serde::Deserialize;
use tokio::time::Duration;

use super::{
    accounts,
    operator::Operator,
    units::{bytes, span},
};
use crate::{
    http::Shared,
    site::{Moment, Shell, SiteError, html},
};
use ::accounts::{AccountId, AccountSearch, Caller};

/// How long the shards have to answer. They answer within a turn or a few.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_millis(1_000);

/// Accounts that a search may select. More are left out.
const ACCOUNTS_MAX: u32 = 50;

#[derive(Debug, Deserialize)]
pub(super) struct SocketListQuery {
    #[serde(default)]
    account: String,
    #[serde(default)]
    channel: String,
}

#[derive(Debug, Template)]
#[template(path = "admin/sockets.html")]
struct SocketsPage<'a> {
    shell: Shell<'a>,
    at: Moment,
    account: String,
    channel: String,
    /// What keeps the list from being complete.
    problems: Vec<String>,
    /// All open sockets of this node.
    open: usize,
    matching: usize,
    is_filtered: bool,
    rows: Vec<SocketRow>,
}

#[derive(Debug)]
struct SocketRow {
    id: String,
    owner: Option<SocketOwner>,
    peer: String,
    protocol: String,
    open: String,
    channels: String,
    waiting: String,
    oldest: String,
    sent: u64,
    merged: u64,
    state: SocketState,
}

/// Whose socket it is.
#[derive(Debug, Clone)]
pub(super) struct SocketOwner {
    pub(super) account: AccountId,
    pub(super) name: String,
    /// The public part of the key.
    pub(super) prefix: String,
}

/// Which stage holds what a socket is to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketState {
    Closing,
    /// The client reads nothing.
    Stalled,
    /// The client reads more slowly than frames come.
    Slow,
    /// Channels wait for the hub's writer.
    CatchingUp,
    /// Its commands wait for the allowance of its key.
    Held,
    KeepsUp,
}

/// A socket that accepts nothing for so long is shown as stalled, in microseconds.
const STALLED_US: i64 = 200_000;

impl SocketState {
    pub(super) fn new(socket: &SocketSummary) -> Self {
        if socket.is_closing {
            Self::Closing
        } else if socket.stalled_us >= STALLED_US {
            Self::Stalled
        } else if socket.slow_us.is_some() || socket.waiting_us >= STALLED_US {
            Self::Slow
        } else if socket.behind > 0 {
            Self::CatchingUp
        } else if socket.is_indebted {
            Self::Held
        } else {
            Self::KeepsUp
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Closing => "closing",
            Self::Stalled => "does not read",
            Self::Slow => "reads slowly",
            Self::CatchingUp => "catching up",
            Self::Held => "commands wait",
            Self::KeepsUp => "keeps up",
        }
    }

    pub(super) fn tone(self) -> &'static str {
        match self {
            Self::Stalled => "bad",
            Self::Slow | Self::CatchingUp | Self::Held => "warn",
            Self::KeepsUp => "live",
            Self::Closing => "",
        }
    }
}

/// `/admin/sockets/`; `?account=` is a part of an address, the public part of a key or an id, and `?channel=` the name of
/// a channel.
pub(super) async fn show(
    operator: Operator,
    Query(query): Query<SocketListQuery>,
) -> Result<Response, SiteError> {
    let shared = &operator.shared;
    let (account, channel) = (query.account.trim(), query.channel.trim());
    let callers = callers(shared);
    let mut problems = Vec::new();
    let mut selection = SocketQuery::default();
    if !account.is_empty() {
        let found = matching_accounts(shared, account, &mut problems).await?;
        let keys = callers.iter().filter(|(_, caller)| found.contains(&caller.account));
        selection.keys = Some(keys.map(|(key, _)| *key).collect());
    }
    if !channel.is_empty() {
        match Pattern::parse(channel).filter(|pattern| !pattern.is_wildcard()) {
            Some(_) => selection.channel = Some(fanout::ChannelId::new(channel)),
            None => problems
                .push(format!("“{channel}” is not the name of one channel, so it was ignored.")),
        }
    }
    let is_filtered = selection.keys.is_some() || selection.channel.is_some();
    let list = match shared.parts.hub.fanout.list_sockets(selection, ANSWER_WITHIN).await {
        Ok(list) => list,
        Err(error) => {
            problems.push(format!("There is no list now: {error}. Reload the page."));
            SocketList::default()
        }
    };
    problems.extend(list.silent_shards.iter().map(|shard| {
        let ms = ANSWER_WITHIN.as_millis();
        format!("Shard {shard} did not answer within {ms} ms: its sockets are missing here.")
    }));
    let mut owners = Owners::new(&callers);
    let mut rows = Vec::with_capacity(list.sockets.len());
    for socket in &list.sockets {
        rows.push(SocketRow::new(socket, owners.owner(shared, socket.key).await?));
    }
    let page = SocketsPage {
        shell: operator.shell("/admin/sockets/"),
        at: Moment::second(operator.now),
        account: account.to_owned(),
        channel: channel.to_owned(),
        problems,
        open: shared.parts.hub.fanout.sockets(),
        matching: list.matching,
        is_filtered,
        rows,
    };
    html(StatusCode::OK, &page)
}

/// The callers with open sockets, by the number of their key.
pub(super) fn callers(shared: &Shared) -> HashMap<u64, Caller> {
    let all = shared.parts.admission.registry.callers().into_iter();
    all.map(|(key, caller)| (key.number(), caller)).collect()
}

async fn matching_accounts(
    shared: &Shared,
    text: &str,
    problems: &mut Vec<String>,
) -> Result<HashSet<AccountId>, SiteError> {
    let search = AccountSearch { text, before: None, limit: ACCOUNTS_MAX + 1 };
    let mut found = shared.parts.customers.accounts.search(search).await?;
    if found.len() > ACCOUNTS_MAX as usize {
        found.truncate(ACCOUNTS_MAX as usize);
        problems
            .push(format!("More than {ACCOUNTS_MAX} accounts match: only the newest are used."));
    }
    Ok(found.into_iter().map(|account| account.account).collect())
}

/// Finds the owners of sockets, each account once.
pub(super) struct Owners<'a> {
    callers: &'a HashMap<u64, Caller>,
    names: HashMap<AccountId, String>,
    prefixes: HashMap<u64, String>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(callers: &'a HashMap<u64, Caller>) -> Self {
        Self { callers, names: HashMap::new(), prefixes: HashMap::new() }
    }

    pub(super) async fn owner(
        &mut self,
        shared: &Shared,
        key: Option<u64>,
    ) -> Result<Option<SocketOwner>, SiteError> {
        let Some((key, caller)) = key.and_then(|key| Some((key, self.callers.get(&key)?))) else {
            return Ok(None);
        };
        let account = caller.account;
        let name = match self.names.entry(account) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(unknown) => {
                let Some(summary) = shared.parts.customers.accounts.account(account).await? else {
                    return Ok(None);
                };
                let keys = shared.parts.customers.accounts.keys_of(account).await?;
                self.prefixes.extend(keys.into_iter().map(|key| (key.key.number(), key.prefix)));
                unknown.insert(accounts::name(&summary)).clone()
            }
        };
        // A connected application has a key without a public part.
        let prefix = self.prefixes.get(&key).cloned().unwrap_or_default();
        Ok(Some(SocketOwner { account, name, prefix }))
    }
}

impl SocketRow {
    fn new(socket: &SocketSummary, owner: Option<SocketOwner>) -> Self {
        let channels = match socket.behind {
            0 => socket.channels.to_string(),
            behind => format!("{} ({behind} behind)", socket.channels),
        };
        Self {
            id: socket.id.to_string(),
            owner,
            peer: peer(socket),
            protocol: protocol(socket),
            open: span(socket.open_us),
            channels,
            waiting: bytes(socket.waiting_bytes),
            oldest: if socket.waiting_us > 0 { span(socket.waiting_us) } else { "–".to_owned() },
            sent: socket.sent,
            merged: socket.merged,
            state: SocketState::new(socket),
        }
    }
}

/// The address of the client, as far as it is known.
pub(super) fn peer(socket: &SocketSummary) -> String {
    socket.peer.map_or_else(|| "–".to_owned(), |peer| peer.to_string())
}

/// How the client speaks with the hub.
pub(super) fn protocol(socket: &SocketSummary) -> String {
    let transport = match (socket.dialect, socket.transport) {
        // Server-sent events are served through a pair of local sockets.
        ("stream", "unix") => return "events (SSE)".to_owned(),
        (_, "tls") => ", TLS",
        _ => "",
    };
    let deflates = if socket.deflates { ", compressed" } else { "" };
    format!("{}{transport}{deflates}", socket.dialect)
}

#[cfg(test)]
mod tests {
    use fanout::inspect::SocketId;

    use super::*;

    pub(in super::super) fn socket() -> SocketSummary {
        SocketSummary {
            id: SocketId { shard: 0, serial: 1 },
            key: None,
            peer: None,
            dialect: "stream",
            transport: "tcp",
            deflates: false,
            is_closing: false,
            is_indebted: false,
            open_us: 1,
            channels: 1,
            patterns: 0,
            behind: 0,
            waiting_bytes: 0,
            waiting_us: 0,
            stalled_us: 0,
            slow_us: None,
            sent: 0,
            merged: 0,
            images: 0,
            catch_ups: 0,
            fell_behind: 0,
            stalls: 0,
            refused: 0,
        }
    }

    #[test]
    fn state_names_the_stage_that_holds_values() {
        let check = |socket: SocketSummary, state: SocketState| {
            assert_eq!(SocketState::new(&socket), state, "{socket:?}");
        };
        check(socket(), SocketState::KeepsUp);
        check(SocketSummary { stalled_us: STALLED_US, ..socket() }, SocketState::Stalled);
        check(SocketSummary { slow_us: Some(1), behind: 1, ..socket() }, SocketState::Slow);
        check(SocketSummary { behind: 1, ..socket() }, SocketState::CatchingUp);
        check(SocketSummary { is_indebted: true, ..socket() }, SocketState::Held);
        check(
            SocketSummary { is_closing: true, slow_us: Some(1), ..socket() },
            SocketState::Closing,
        );
    }

    #[test]
    fn protocol_names_what_the_client_speaks() {
        let with = |dialect, transport, deflates| {
            protocol(&SocketSummary { dialect, transport, deflates, ..socket() })
        };
        assert_eq!(with("stream", "tcp", false), "stream");
        assert_eq!(with("stream", "tls", true), "stream, TLS, compressed");
        assert_eq!(with("stream", "unix", false), "events (SSE)");
        assert_eq!(with("live", "tcp", false), "live");
    }
}
