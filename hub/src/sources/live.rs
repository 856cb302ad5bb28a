//! Forwards messages of live feeds to the hub, in order, each feed on its own task.
//!
//! A source waits when the hub's inbox is full. It never waits for a subscriber.

use std::sync::Arc;

use ingest::source::{Report, SourceMessage};
use tokio::sync::mpsc;

use crate::{
    hub::feeds::{FeedState, Health, SourceNumber},
    pipeline::{Input, InputSender},
};

/// Reports that may wait between a source and the inbox: few, since the inbox is the queue.
pub const REPORTS_MAX: usize = 256;

/// Forwards all messages of a source until it or the hub ends. Whether the source may end, its owner knows.
pub async fn forward(
    source: SourceNumber,
    mut messages: mpsc::Receiver<SourceMessage>,
    inputs: InputSender,
) {
    while let Some(message) = messages.recv().await {
        if inputs.send(input(source, message)).await.is_err() {
            return;
        }
    }
}

fn input(source: SourceNumber, message: SourceMessage) -> Input {
    let SourceMessage { received, report } = message;
    let health = |feed, why| Input::Health { source, health: Health { feed, why } };
    match report {
        Report::Batch(batch) => Input::Batch { source, batch, received },
        Report::Heartbeat => Input::Alive { source, received },
        Report::Refused(refusal) => Input::Refused { source, refusal },
        Report::Live => health(FeedState::Live, None),
        Report::Recovering => health(FeedState::Recovering, None),
        Report::Late => health(FeedState::Late, Some(Arc::from("the provider lags"))),
        Report::Down(why) => health(FeedState::Down, Some(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ids::PublicIds, pipeline};

    /// A source that is stopped for a change of its settings ends like any other, and nothing is said of it.
    #[tokio::test]
    async fn end_of_a_source_is_no_news() {
        let (hub_handle, mut receivers) = pipeline::channel(8, 8, PublicIds::default());
        let (reports, messages) = mpsc::channel(8);
        let report = Report::Down("the connection broke".into());
        reports.send(SourceMessage { received: 1, report }).await.expect("there is room");
        drop(reports);
        forward(SourceNumber(3), messages, hub_handle.inputs.clone()).await;
        let Some(Input::Health { source, health }) = receivers.next_input().await else {
            panic!("the report is not forwarded")
        };
        assert_eq!((source, health.feed), (SourceNumber(3), FeedState::Down));
        assert_eq!(health.why.as_deref(), Some("the connection broke"));
        drop(hub_handle);
        assert!(receivers.next_input().await.is_none(), "more is said than the source did");
    }
}
