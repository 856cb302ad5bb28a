//! What clients say to the fan-out: followers nothing, except for the request that their path stands for; and those
//! of the echo, messages that come back.

use bytes::Bytes;
use fanout::{
    ChannelId,
    dialect::{HostDialect, HostedCommand, Notice},
    encode::{binary_frame, text_frame},
};

/// Of followers. The first message is the one that the server makes of the path; what a client sends after it is
/// ignored, since it follows one channel at most.
#[derive(Debug)]
pub(crate) struct Follower;

impl HostDialect for Follower {
    fn name(&self) -> &'static str {
        "follower"
    }

    fn groups_max(&self) -> usize {
        1
    }

    fn parse(&self, text: &str) -> Result<HostedCommand, Bytes> {
        let channel = ChannelId::new(text);
        Ok(HostedCommand::Follow { channel, companion: None, from: None })
    }

    fn render(&self, _notice: Notice<'_>) -> Option<Bytes> {
        None
    }
}

/// Of the echo.
#[derive(Debug)]
pub(crate) struct Echo;

impl HostDialect for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn groups_max(&self) -> usize {
        0
    }

    fn parse(&self, text: &str) -> Result<HostedCommand, Bytes> {
        Ok(HostedCommand::Reply(text_frame(|out| out.extend_from_slice(text.as_bytes()))))
    }

    fn render(&self, notice: Notice<'_>) -> Option<Bytes> {
        if let Notice::BinaryMessage { payload } = notice {
            Some(binary_frame(payload))
        } else {
            None
        }
    }
}
