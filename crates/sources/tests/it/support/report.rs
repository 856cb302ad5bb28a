//! What a source sends, as tests look at it.

use std::sync::Arc;

use facts::event::Batch;
use hub::{
    HubInput,
    feeds::{FeedState, SourceNumber},
    pipeline::{Input, InputSender},
};
use ingest::error::Refusal;
use sources::SourceSender;
use tokio::sync::mpsc;

#[derive(Debug, PartialEq)]
pub(crate) enum Report {
    Recovering,
    Live,
    Late,
    Down(Arc<str>),
    Heartbeat,
    Batch(Batch),
    Refused(Refusal),
}

impl From<Input> for Report {
    fn from(input: Input) -> Self {
        match input {
            Input::Hub(HubInput::Batch { batch, .. }) => Self::Batch(batch),
            Input::Hub(HubInput::Alive { .. }) => Self::Heartbeat,
            Input::Hub(HubInput::Health { health, .. }) => match health.feed {
                FeedState::Recovering => Self::Recovering,
                FeedState::Live => Self::Live,
                FeedState::Late => Self::Late,
                FeedState::Down => Self::Down(health.why.expect("it has a reason")),
            },
            Input::Refused { refusal, .. } => Self::Refused(refusal),
            other => panic!("no source sends {other:?}"),
        }
    }
}

/// What a source sends with, and what receives it instead of a hub. Ids stay digests.
pub(crate) fn channel(inputs_max: usize) -> (SourceSender, mpsc::Receiver<Input>) {
    let (queue, inputs) = mpsc::channel(inputs_max);
    let sender = SourceSender::new(SourceNumber(0), "test".into(), InputSender::new(queue, None));
    (sender, inputs)
}
