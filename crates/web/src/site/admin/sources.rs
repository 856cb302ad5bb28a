//! `/admin/sources/`: the sources with what was refused of them, from the files of the quarantine.

use std::sync::Arc;

use askama::Template;
use axum::{extract::Query, response::Response};
use hub::{
    quarantine::{self, QuarantineEntry, QuarantineTail},
    sources::states::{StateChange, StateStore},
};
use hyper::StatusCode;
use serde::Deserialize;
use tracing::warn;

use super::{
    figures::{self, Feed},
    operator::Operator,
    units::bytes,
};
use crate::{
    clock::wall,
    percent,
    site::{Moment, Shell, SiteError, html},
};

/// Entries on a page.
const ENTRIES_MAX: usize = 50;

/// Changes of states on a page.
const STATES_SHOWN: usize = 100;

/// Bytes that are read from the end of the files for a page.
const READ_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Characters of a message, and of a reason, on the page.
const EXCERPT_MAX: usize = 400;
const REASON_MAX: usize = 300;

#[derive(Debug, Deserialize)]
pub(super) struct SourcesQuery {
    #[serde(default)]
    source: String,
}

#[derive(Debug, Template)]
#[template(path = "admin/sources.html")]
struct SourcesPage<'a> {
    shell: Shell<'a>,
    at: Moment,
    source: String,
    sources: Vec<SourceRow>,
    states: Vec<StateRow>,
    problem: Option<String>,
    rows: Vec<RefusalRow>,
    has_more: bool,
    read_max: String,
}

#[derive(Debug)]
struct SourceRow {
    feed: Feed,
    /// The URL of its refused messages.
    link: String,
}

/// A change of the state of a source.
#[derive(Debug)]
struct StateRow {
    at: Moment,
    source: Arc<str>,
    state: Arc<str>,
    reason: String,
}

#[derive(Debug)]
struct RefusalRow {
    at: Moment,
    source: String,
    format: String,
    kind: String,
    location: String,
    reason: String,
    excerpt: String,
    length: String,
}

/// `/admin/sources/`; `?source=` is the name of one.
pub(super) async fn show(
    operator: Operator,
    Query(query): Query<SourcesQuery>,
) -> Result<Response, SiteError> {
    let path = operator.shared.parts.hub.quarantine.clone();
    let source = query.source.clone();
    let read = tokio::task::spawn_blocking(move || {
        let source = Some(&*source).filter(|source| !source.is_empty());
        quarantine::read_last(&path, source, ENTRIES_MAX, READ_BYTES_MAX)
    });
    let mut problem = None;
    let tail = match read.await {
        Ok(Ok(tail)) => tail,
        Ok(Err(error)) => {
            warn!(%error, "the quarantine cannot be read");
            problem = Some(format!("The quarantine cannot be read: {error}."));
            QuarantineTail::default()
        }
        Err(_) => return Err(SiteError::Internal),
    };
    let states = StateStore::new(operator.shared.parts.customers.accounts.database());
    let of_one = Some(&*query.source).filter(|source| !source.is_empty());
    let states = states.newest(of_one, STATES_SHOWN).await?;
    let feeds = figures::feeds(&operator.shared, wall()).await;
    let page = SourcesPage {
        shell: operator.shell("/admin/sources/"),
        at: Moment::second(operator.now),
        source: query.source,
        sources: feeds.into_iter().map(SourceRow::new).collect(),
        states: states.into_iter().map(StateRow::new).collect(),
        problem,
        rows: tail.entries.iter().map(RefusalRow::new).collect(),
        has_more: tail.has_more,
        read_max: bytes(usize::try_from(READ_BYTES_MAX).unwrap_or(usize::MAX)),
    };
    html(StatusCode::OK, &page)
}

impl SourceRow {
    fn new(feed: Feed) -> Self {
        let link = format!("/admin/sources/?source={}", percent::encode(&feed.name));
        Self { feed, link }
    }
}

impl StateRow {
    fn new(change: StateChange) -> Self {
        let StateChange { source, at, state, reason } = change;
        let reason = excerpt(reason.as_deref().unwrap_or_default(), REASON_MAX);
        Self { at: Moment::minute(at), source, state, reason }
    }
}

impl RefusalRow {
    fn new(entry: &QuarantineEntry) -> Self {
        let message = entry.message().unwrap_or_default();
        let more = if entry.truncated { "+" } else { "" };
        Self {
            at: Moment::minute(entry.at),
            source: entry.source.clone(),
            format: entry.format.clone(),
            kind: entry.kind.clone(),
            location: excerpt(&entry.location, REASON_MAX),
            reason: excerpt(&entry.reason, REASON_MAX),
            excerpt: excerpt(&String::from_utf8_lossy(&message), EXCERPT_MAX),
            length: format!("{}{more}", bytes(message.len())),
        }
    }
}

/// The beginning of a text that a feed has sent. Characters that nobody sees, or that would reorder the page, are escaped.
fn excerpt(text: &str, chars_max: usize) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    for char in chars.by_ref().take(chars_max) {
        let is_invisible = matches!(
            char,
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        );
        if !char.is_control() && !is_invisible {
            out.push(char);
        } else {
            out.extend(char.escape_default());
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_bounded_and_show_what_is_invisible() {
        assert_eq!(excerpt("a\tb\n\u{202e}c", 9), r"a\tb\n\u{202e}c");
        assert_eq!(excerpt("caf\u{e9}s", 4), "caf\u{e9}…");
        assert_eq!(excerpt("<b>", 3), "<b>", "the template escapes it");
    }
}
