//! Forwards messages of live feeds to the hub, in order, each feed on its own task.
//!
//! A source waits when the hub's inbox is full. It never waits for a subscriber.

use std::sync::Arc;

use fanout::Micros;
use ingest::source::{Report, SourceMessage};
use tokio::sync::{mpsc, oneshot};

use super::positions::{Positions, StoredPosition};
use crate::{
    hub::feeds::{FeedState, Health, SourceNumber},
    pipeline::{Input, InputSender},
};

/// Reports that may wait between a source and the inbox: few, since the inbox is the queue.
pub const REPORTS_MAX: usize = 256;

/// Forwards all messages of a source until it or the hub ends. Whether the source may end, its owner knows. Positions are
/// stored under the name of the source.
pub async fn forward(
    (source, name): (SourceNumber, Arc<str>),
    mut messages: mpsc::Receiver<SourceMessage>,
    inputs: InputSender,
    positions: Positions,
) {
    while let Some(SourceMessage { received, report }) = messages.recv().await {
        if let Report::Position(position) = report {
            let (reply, committed) = oneshot::channel();
            if inputs.send(Input::Committed { source, reply }).await.is_err() {
                return;
            }
            // There is no answer if the node no longer leads.
            if let Ok(Some(last)) = committed.await {
                positions.write(&name, StoredPosition { position, last });
            }
        } else if let Some(input) = input(source, received, report)
            && inputs.send(input).await.is_err()
        {
            return;
        }
    }
}

fn input(source: SourceNumber, received: Micros, report: Report) -> Option<Input> {
    let health = |feed, why| Input::Health { source, health: Health { feed, why } };
    Some(match report {
        Report::Batch(batch) => Input::Batch { source, batch, received },
        Report::Heartbeat => Input::Alive { source, received },
        Report::Refused(refusal) => Input::Refused { source, refusal },
        Report::Live => health(FeedState::Live, None),
        Report::Recovering => health(FeedState::Recovering, None),
        Report::Late => health(FeedState::Late, Some(Arc::from("the provider lags"))),
        Report::Down(why) => health(FeedState::Down, Some(why)),
        Report::Position(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use database::testing::on_each;

    use super::*;
    use crate::{ids::PublicIds, pipeline};

    /// A source that is stopped for a change of its settings ends like any other, and nothing is said of it. Its position
    /// follows what it has sent.
    #[tokio::test]
    async fn end_of_a_source_changes_nothing() {
        on_each(async |database| {
            let (hub_handle, mut receivers) = pipeline::channel(8, 8, PublicIds::default());
            let (reports, messages) = mpsc::channel(8);
            for report in
                [Report::Down("the connection broke".into()), Report::Position("p".into())]
            {
                reports.send(SourceMessage { received: 1, report }).await.expect("there is room");
            }
            drop(reports);
            let (source, inputs) = (SourceNumber(3), hub_handle.inputs.clone());
            let positions = Positions::start(&database);
            let forwarding = forward((source, "feed".into()), messages, inputs, positions);
            let reading = async {
                let Some(Input::Health { source: SourceNumber(3), health }) =
                    receivers.next_input().await
                else {
                    panic!("the report is not forwarded")
                };
                assert_eq!(
                    (health.feed, health.why.as_deref()),
                    (FeedState::Down, Some("the connection broke"))
                );
                let Some(Input::Committed { source: SourceNumber(3), reply }) =
                    receivers.next_input().await
                else {
                    panic!("the position does not wait for what came before")
                };
                reply.send(Some(5)).expect("it is waited for");
            };
            tokio::join!(forwarding, reading);
            drop(hub_handle);
            assert!(receivers.next_input().await.is_none(), "more is said than the source did");
        })
        .await;
    }
}
