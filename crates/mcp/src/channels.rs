//! The channels of the hub, for requests: images, what has changed since a position, and waiting for a
//! change. It keeps nothing between requests: the position is the handle.

use std::time::Duration;

use bytes::Bytes;
use fanout::{
    Epoch, Pattern, Position, Seq,
    catch_up::{HostRequest, HostResponse, Verdict},
    channel::Rate,
    encode::payload,
};
use hub::{
    catch_up::ChannelImage,
    pipeline::{HubHandle, HubStopped},
    watch::ChannelWatch,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::refusal::Refusal;

/// How long the writer may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Frames of one answer of the writer, in bytes.
const CATCH_UP_BYTES: usize = 64 * 1024;

/// Reads the channels of the hub.
#[derive(Debug, Clone)]
pub(crate) struct Channels {
    hub: HubHandle,
}

/// What leads from a position to the head of a channel.
#[derive(Debug)]
pub(crate) struct Changes {
    pub epoch: Epoch,
    /// The frames, in order: one `image`, or `update`s.
    pub frames: Vec<Value>,
    /// The position after them.
    pub to: Seq,
    /// The head of the channel: more than `to` if there are more frames.
    pub head: Seq,
    /// Why the frames do not begin at the position, if they do not: `window`, `epoch` or `ahead`.
    pub missed: Option<&'static str>,
}

impl Channels {
    pub(crate) fn new(hub: HubHandle) -> Self {
        Self { hub }
    }

    /// Watches a channel.
    pub(crate) fn watch(&self, channel: &str) -> ChannelWatch {
        self.hub.watches.watch(channel)
    }

    /// The number of watched channels.
    pub(crate) fn watched(&self) -> usize {
        self.hub.watches.len()
    }

    /// The `image` frame of a channel; `None` if there is no such channel.
    pub(crate) async fn image(&self, channel: &str) -> Result<Option<Value>, Refusal> {
        let text = self.image_text(channel).await?;
        text.map(|text| parsed(&text)).transpose()
    }

    /// The same as JSON text.
    pub(crate) async fn image_text(&self, channel: &str) -> Result<Option<Bytes>, Refusal> {
        Ok(self.versioned_image(channel).await?.map(|image| payload(&image.frame)))
    }

    /// The same with its version.
    pub(crate) async fn versioned_image(
        &self,
        channel: &str,
    ) -> Result<Option<ChannelImage>, Refusal> {
        ask(self.hub.image(channel)).await
    }

    /// The channels that match a pattern, by name.
    pub(crate) async fn matching(&self, pattern: &str) -> Result<Vec<String>, Refusal> {
        let pattern = Pattern::parse(pattern).ok_or_else(|| no_channel(pattern))?;
        match self.request(HostRequest::MatchChannels { pattern, has: Vec::new() }).await? {
            HostResponse::Channels(channels) => {
                Ok(channels.iter().map(|channel| channel.name.as_str().to_owned()).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// What has changed in a channel since a position, or its image without one; `None` if there is no such
    /// channel.
    pub(crate) async fn since(
        &self,
        channel: &str,
        from: Option<Position>,
    ) -> Result<Option<Changes>, Refusal> {
        let pattern = Pattern::parse(channel).filter(|pattern| !pattern.is_wildcard());
        let channel = pattern.ok_or_else(|| no_channel(channel))?;
        let (rate, why, bytes_max) = (Rate::Each, "resume", CATCH_UP_BYTES);
        let request =
            HostRequest::CatchUp { channel, rate, from, why, bytes_max, with_hash: false };
        let HostResponse::CatchUp(caught_up) = self.request(request).await? else {
            return Ok(None);
        };
        let frames = caught_up.frames.iter().map(|it| parsed(&payload(&it.frame)));
        Ok(Some(Changes {
            epoch: caught_up.channel.epoch,
            frames: frames.collect::<Result<_, _>>()?,
            to: caught_up.to,
            head: caught_up.head,
            missed: match caught_up.verdict {
                Verdict::Fresh | Verdict::Resumed => None,
                Verdict::Refused(gap) => Some(gap.as_str()),
            },
        }))
    }

    async fn request(&self, request: HostRequest) -> Result<HostResponse, Refusal> {
        ask(self.hub.catch_up(request)).await
    }
}

async fn ask<T>(answer: impl Future<Output = Result<T, HubStopped>>) -> Result<T, Refusal> {
    let answer = timeout(ANSWER_WITHIN, answer).await.ok().and_then(Result::ok);
    answer.ok_or_else(Refusal::unavailable)
}

pub(crate) fn no_channel(name: &str) -> Refusal {
    Refusal::not_found(format!("There is no channel {name:?}."))
}

fn parsed(text: &Bytes) -> Result<Value, Refusal> {
    serde_json::from_slice(text).map_err(|_| Refusal::unavailable())
}
