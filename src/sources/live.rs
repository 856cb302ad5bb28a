//! Follows live feeds, each on a task of its own, and hands in what they say, in order.
//!
//! A source waits when the hub's inbox is full. It never waits for a subscriber.

use std::sync::Arc;

use ingest::source::{Report, SourceMessage};
use tokio::sync::mpsc;
use tracing::error;

use crate::{
    hub::feeds::{Feed, Health, SourceNumber},
    pipeline::{Input, InputSender},
};

/// Reports that may wait between a source and the inbox: a little, since the inbox is the queue.
pub const REPORTS_MAX: usize = 256;

/// Hands in everything that a source says, until it has ended or the hub has.
pub async fn forward(source: SourceNumber, mut told: mpsc::Receiver<SourceMessage>, inputs: InputSender) {
    while let Some(told) = told.recv().await {
        if inputs.send(input(source, told)).await.is_err() {
            return;
        }
    }
    // A source comes back by itself from everything but a mistake of ours.
    error!(source = source.0, "a source has ended by itself");
    let health = Health { feed: Feed::Down, why: Some("it has ended by itself".into()) };
    inputs.send(Input::Health { source, health }).await.ok();
}

fn input(source: SourceNumber, told: SourceMessage) -> Input {
    let SourceMessage { received, report } = told;
    let health = |feed, why| Input::Health { source, health: Health { feed, why } };
    match report {
        Report::Batch(batch) => Input::Batch { source, batch, received },
        Report::Heartbeat => Input::Heard { source, received },
        Report::Refused(refusal) => Input::Refused { source, refusal },
        Report::Live => health(Feed::Live, None),
        Report::Recovering => health(Feed::Recovering, None),
        Report::Late => health(Feed::Late, Some(Arc::from("the provider lags"))),
        Report::Down(why) => health(Feed::Down, Some(why)),
    }
}
