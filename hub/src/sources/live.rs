//! Forwards messages of live feeds to the hub, in order, each feed on its own task.
//!
//! A source waits when the hub's inbox is full. It never waits for a subscriber.

use std::sync::Arc;

use ingest::source::{Report, SourceMessage};
use tokio::sync::mpsc;
use tracing::error;

use crate::{
    hub::feeds::{FeedState, Health, SourceNumber},
    pipeline::{Input, InputSender},
};

/// Reports that may wait between a source and the inbox: few, since the inbox is the queue.
pub const REPORTS_MAX: usize = 256;

/// Forwards all messages of a source until it or the hub ends.
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
    // A source reconnects by itself, so this is a bug.
    error!(source = source.0, "a source ended unexpectedly");
    let health = Health { feed: FeedState::Down, why: Some("it has ended by itself".into()) };
    inputs.send(Input::Health { source, health }).await.ok();
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
