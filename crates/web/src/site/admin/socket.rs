//! `/admin/sockets/ID/`: one socket explained: what it follows, how far behind it is, and what happened to it, with the
//! reason.

use askama::Template;
use axum::{extract::Path, response::Response};
use fanout::{
    inspect::{
        Explanation, JournalEntry, SUBSCRIPTIONS_LISTED_MAX, SocketId, SocketReport, SocketSummary,
        SubscriptionReport, WatchState,
    },
    journal::{WATCH_US, WATCHED_ENTRIES_MAX, WATCHED_MAX},
};
use hyper::StatusCode;

use super::{
    journal_row::JournalRow,
    operator::Operator,
    sockets::{self, ANSWER_WITHIN, Owners, SocketOwner, SocketState},
    units::{bytes, count, count_of, span},
};
use crate::{
    http::{Shared, channel},
    site::{Moment, Shell, SiteError, html},
};

/// Channels that are behind whose head is requested from the writer for one page.
const HEADS_MAX: usize = 8;

#[derive(Debug, Template)]
#[template(path = "admin/socket.html")]
struct SocketPage<'a> {
    shell: Shell<'a>,
    at: Moment,
    id: SocketId,
    /// What is known now; `None` if it has ended or its shard does not answer.
    open: Option<OpenSocket>,
    problem: Option<String>,
    journal: Vec<JournalRow>,
    watching: String,
}

#[derive(Debug)]
struct OpenSocket {
    state: SocketState,
    /// Which stage holds what it is to get, and why.
    explanation: String,
    owner: Option<SocketOwner>,
    facts: Vec<(&'static str, String)>,
    channels: usize,
    subscriptions: Vec<SubscriptionRow>,
    patterns: Vec<Box<str>>,
}

#[derive(Debug)]
struct SubscriptionRow {
    channel: String,
    rate: String,
    on_slow: &'static str,
    pick: String,
    position: String,
    /// What the client does not have yet, and where it is.
    missing: String,
    tone: &'static str,
}

/// `/admin/sockets/ID/`. Opening it watches the socket for a while.
pub(super) async fn show(
    operator: Operator,
    Path(id): Path<String>,
) -> Result<Response, SiteError> {
    let id: SocketId = id.parse().map_err(|_| SiteError::NotFound)?;
    let shared = &operator.shared;
    let mut page = SocketPage {
        shell: operator.shell("/admin/sockets/"),
        at: Moment::second(operator.now),
        id,
        open: None,
        problem: None,
        journal: Vec::new(),
        watching: String::new(),
    };
    match shared.parts.hub.fanout.explain_socket(id, ANSWER_WITHIN).await {
        Ok(Explanation::Open { report, journal, watch }) => {
            page.watching = watching(watch, operator.now);
            page.journal = journal_rows(&journal);
            page.open = Some(OpenSocket::new(shared, *report).await?);
        }
        Ok(Explanation::Ended { journal }) => {
            page.journal = journal_rows(&journal);
            page.problem = Some("This socket is closed.".to_owned());
        }
        Ok(Explanation::Unknown) => return Err(SiteError::NotFound),
        Ok(Explanation::Silent) => {
            let ms = ANSWER_WITHIN.as_millis();
            let shard = id.shard;
            page.problem = Some(format!("Shard {shard} did not answer within {ms} ms."));
        }
        Err(error) => page.problem = Some(format!("There is no answer now: {error}.")),
    }
    html(StatusCode::OK, &page)
}

/// The newest first.
fn journal_rows(journal: &[JournalEntry]) -> Vec<JournalRow> {
    journal.iter().rev().map(JournalRow::new).collect()
}

fn watching(watch: WatchState, now: i64) -> String {
    let Some(until) = watch.until else {
        return format!(
            "Not watched: {WATCHED_MAX} sockets of this shard are watched already. Only rare things are listed."
        );
    };
    let dropped = match watch.dropped {
        0 => String::new(),
        dropped => format!(" {dropped} earlier entries were dropped."),
    };
    format!(
        "Watched for another {}, and for {} whenever this page is opened. The last {WATCHED_ENTRIES_MAX} entries are \
         listed.{dropped} Before it was watched, only rare things were noted.",
        span(until - now),
        span(WATCH_US),
    )
}

impl OpenSocket {
    async fn new(shared: &Shared, report: SocketReport) -> Result<Self, SiteError> {
        let SocketReport { summary, subscriptions, patterns } = report;
        let callers = sockets::callers(shared);
        let owner = Owners::new(&callers).owner(shared, summary.key).await?;
        let mut rows = Vec::with_capacity(subscriptions.len());
        let mut heads = 0;
        for subscription in &subscriptions {
            let mut head = subscription.head;
            if subscription.behind.is_some() && heads < HEADS_MAX {
                heads += 1;
                let image = channel::image(shared, subscription.channel.as_str(), 0).await;
                head = image.map(|image| image.seq).ok().or(head);
            }
            rows.push(SubscriptionRow::new(subscription, head));
        }
        Ok(Self {
            state: SocketState::new(&summary),
            explanation: explain(&summary),
            owner,
            facts: facts(&summary),
            channels: summary.channels,
            subscriptions: rows,
            patterns,
        })
    }

    /// What the page says about channels that are not listed.
    fn left_out(&self) -> Option<String> {
        let more = self.channels.saturating_sub(self.subscriptions.len());
        (more > 0).then(|| {
            format!(
                "{SUBSCRIPTIONS_LISTED_MAX} of {} channels, those that are behind first.",
                self.channels
            )
        })
    }
}

/// Which stage holds what a socket is to get, and why.
fn explain(socket: &SocketSummary) -> String {
    let waiting = format!(
        "{} wait for it, the oldest for {}",
        bytes(socket.waiting_bytes),
        span(socket.waiting_us)
    );
    match SocketState::new(socket) {
        SocketState::Closing => "It is being closed.".to_owned(),
        SocketState::Stalled => format!(
            "The client does not read: its socket has accepted nothing for {}. {waiting}. What is published meanwhile is \
             merged, and reaches it when it reads again.",
            span(socket.stalled_us)
        ),
        SocketState::Slow => format!(
            "The client, or the network to it, takes less than is published{}. {waiting}. What does not fit is merged.",
            socket.slow_us.map(|us| format!(", for {} now", span(us))).unwrap_or_default()
        ),
        SocketState::CatchingUp => format!(
            "{} of its channels wait for the hub's writer to lead them on from their positions. That takes milliseconds; if it \
             does not, the writer is busy: see the publish lag.",
            socket.behind
        ),
        SocketState::Held => "Its commands wait, because its account has used up its allowance of images and catch-ups \
             (fanout.catch_ups_per_second) or of CPU time (limits.account_cpu_percent). Channels that it follows are not delayed."
            .to_owned(),
        SocketState::KeepsUp => "Nothing waits for it in the hub. If a value is late there, it was held before the hub (see \
             the source), in the hub's writer (see the publish lag), or behind the hub: by the network or in the client."
            .to_owned(),
    }
}

fn facts(socket: &SocketSummary) -> Vec<(&'static str, String)> {
    let SocketSummary { images, catch_ups, fell_behind, stalls, refused, .. } = socket;
    let (stalls, no_room) = (count(*stalls, "time"), count(*fell_behind, "time"));
    let full = format!("{stalls}; {no_room} no room for an update");
    vec![
        ("Address", sockets::peer(socket)),
        ("Protocol", sockets::protocol(socket)),
        ("Open for", span(socket.open_us)),
        (
            "Waiting",
            format!("{}, the oldest for {}", bytes(socket.waiting_bytes), span(socket.waiting_us)),
        ),
        ("Messages sent", socket.sent.to_string()),
        ("Changes merged", format!("{} because it was slow", socket.merged)),
        ("Socket full", full),
        ("Catch-ups", format!("{catch_ups} by updates, {images} by images")),
        ("Commands refused", refused.to_string()),
    ]
}

impl SubscriptionRow {
    fn new(subscription: &SubscriptionReport, head: Option<u64>) -> Self {
        let SubscriptionReport { position, written, .. } = *subscription;
        let queued = match subscription.waiting_frames {
            0 => None,
            frames => {
                let changes = position.unwrap_or(0).saturating_sub(written.unwrap_or(0));
                let (changes, frames) = (count(changes, "change"), count_of(frames, "frame"));
                let bytes = bytes(subscription.waiting_bytes);
                Some(format!("{changes} in {frames} ({bytes}) queued for the socket"))
            }
        };
        let left = head.zip(position).map(|(head, position)| head.saturating_sub(position));
        let missing = match (subscription.behind, left) {
            (None, _) => None,
            (Some(why), Some(left)) => {
                Some(format!("{} to be merged ({})", count(left, "change"), reason(why)))
            }
            (Some(why), None) => Some(format!("waits to be caught up ({})", reason(why))),
        };
        let tone = match (&queued, &missing) {
            (_, Some(_)) => "bad",
            (Some(_), None) => "warn",
            (None, None) => "live",
        };
        let all: Vec<String> = queued.into_iter().chain(missing).collect();
        Self {
            channel: subscription.channel.to_string(),
            rate: match subscription.rate.every_ms() {
                0 => "each change".to_owned(),
                ms => format!("every {ms} ms"),
            },
            on_slow: subscription.on_slow.as_str(),
            pick: subscription.pick.clone(),
            position: written.map_or_else(|| "–".to_owned(), |seq| seq.to_string()),
            missing: if all.is_empty() { "nothing".to_owned() } else { all.join("; ") },
            tone,
        }
    }
}

fn reason(why: &str) -> &'static str {
    match why {
        "slow" => "no room, since the client is slow",
        "rate" => "its options have changed",
        _ => "it is new or resumes",
    }
}

#[cfg(test)]
mod tests {
    use fanout::{ChannelId, channel::Rate, protocol::OnSlow};

    use super::*;

    fn subscription() -> SubscriptionReport {
        SubscriptionReport {
            channel: ChannelId::new("football/1"),
            rate: Rate::Each,
            on_slow: OnSlow::Merge,
            pick: String::new(),
            position: Some(12),
            written: Some(12),
            head: Some(12),
            waiting_frames: 0,
            waiting_bytes: 0,
            behind: None,
        }
    }

    #[test]
    fn subscription_says_what_is_missing_and_where_it_is() {
        let check = |report: SubscriptionReport, tone: &str, missing: &str| {
            let row = SubscriptionRow::new(&report, report.head);
            assert_eq!((row.tone, &*row.missing), (tone, missing));
        };
        check(subscription(), "live", "nothing");
        let queued = SubscriptionReport {
            written: Some(10),
            waiting_frames: 2,
            waiting_bytes: 2_048,
            ..subscription()
        };
        let wait = "2 changes in 2 frames (2.0 KiB) queued for the socket";
        check(queued.clone(), "warn", wait);
        let behind = SubscriptionReport { behind: Some("slow"), head: Some(20), ..queued };
        let merged = "8 changes to be merged (no room, since the client is slow)";
        check(behind, "bad", &format!("{wait}; {merged}"));
    }
}
