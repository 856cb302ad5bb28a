//! A recorded stream that a [`Caller`] is given as Betfair would: an image, or what it has missed,
//! and then each message as it was.
//!
//! A position is the number of messages that were published before it, and its token says so.

use std::{io, ops::Range};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Caller, cache::Cache};

/// The token of the first image. It is constant, so that positions survive a restart.
pub(crate) const INITIAL: &str = "initial/+=";

pub(crate) struct Stream {
    messages: Vec<Message>,
}

struct Message {
    pt: i64,
    is_image: bool,
    /// Market changes, in their original text.
    changes: Vec<String>,
}

#[derive(Deserialize)]
struct RecordedMessage<'a> {
    pt: i64,
    ct: Option<&'a str>,
    #[serde(borrow, default)]
    mc: Vec<&'a RawValue>,
}

impl Stream {
    /// Reads lines as recorders write them.
    pub(crate) fn new<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let message = |line: &str| {
            let RecordedMessage { pt, ct, mc } =
                serde_json::from_str(line).expect("a market message");
            let changes = mc.into_iter().map(|change| change.get().to_owned()).collect();
            Message { pt, is_image: ct == Some("SUB_IMAGE"), changes }
        };
        Self { messages: lines.into_iter().map(message).collect() }
    }

    /// The number of messages.
    pub(crate) fn end(&self) -> usize {
        self.messages.len()
    }

    /// The token of a position.
    pub(crate) fn clk(position: usize) -> String {
        format!("at+{position}/=")
    }

    /// The position from which a subscription resumes; `None` if it requests an image.
    pub(crate) fn resumed(subscription: &Value) -> Option<usize> {
        let clk = subscription["clk"].as_str()?;
        assert_eq!(subscription["initialClk"], INITIAL, "it goes with clk");
        clk.strip_prefix("at+")?.strip_suffix("/=")?.parse().ok()
    }

    /// Responds to a subscription, so that the caller is at the position `at` of the stream. An
    /// image has this many segments, if it has as many markets. If the stream begins with an image,
    /// its first position is after that image. Returns the resulting position.
    pub(crate) async fn catch_up(
        &self,
        caller: &mut Caller,
        subscription: &Value,
        at: usize,
        segments: usize,
    ) -> io::Result<usize> {
        let id = &subscription["id"];
        if let Some(from) = Self::resumed(subscription) {
            caller.send(&self.missed(id, from..at)).await?;
            return Ok(at);
        }
        let at = at.max(usize::from(self.messages.first().is_some_and(|first| first.is_image)));
        for line in self.image(id, at, segments) {
            caller.send(&line).await?;
        }
        Ok(at)
    }

    /// Sends these messages one by one.
    pub(crate) async fn play(
        &self,
        caller: &mut Caller,
        subscription: &Value,
        range: Range<usize>,
    ) -> io::Result<()> {
        for index in range {
            caller.send(&self.message(&subscription["id"], index)).await?;
        }
        Ok(())
    }

    /// Message number `index`, from 0, as an update.
    pub(crate) fn message(&self, id: &Value, index: usize) -> String {
        let message = &self.messages[index];
        let ct = if message.is_image { r#""ct":"SUB_IMAGE","# } else { "" };
        let (clk, pt, mc) = (Self::clk(index + 1), message.pt, message.changes.join(","));
        format!(r#"{{"op":"mcm","id":{id},{ct}"clk":"{clk}","pt":{pt},"mc":[{mc}]}}"#)
    }

    /// Sends a heartbeat for a position, or announces that messages are late.
    pub(crate) fn heartbeat(id: &Value, at: usize, is_late: bool) -> String {
        let (clk, status) = (Self::clk(at), if is_late { r#""status":503,"# } else { "" });
        format!(r#"{{"op":"mcm","id":{id},"clk":"{clk}",{status}"pt":0,"ct":"HEARTBEAT"}}"#)
    }

    /// Everything published in between, in one message. Betfair merges it; applied one by one the
    /// result is the same.
    fn missed(&self, id: &Value, range: Range<usize>) -> String {
        let (clk, pt) = (Self::clk(range.end), self.pt(range.end));
        let changes = self.messages[range].iter().flat_map(|message| &message.changes);
        let mc = changes.map(String::as_str).collect::<Vec<_>>().join(",");
        format!(
            r#"{{"op":"mcm","id":{id},"ct":"RESUB_DELTA","clk":"{clk}","heartbeatMs":500,"conflateMs":0,"pt":{pt},"mc":[{mc}]}}"#
        )
    }

    /// The image at a position, as lines.
    pub(crate) fn image(&self, id: &Value, at: usize, segments: usize) -> Vec<String> {
        let changes = match at {
            1 if self.messages[0].is_image => self.messages[0].changes.clone(),
            _ => self.cache(at).image(),
        };
        let (clk, pt) = (Self::clk(at), self.pt(at));
        let per_segment = changes.len().div_ceil(segments).max(1);
        let parts: Vec<_> = changes.chunks(per_segment).collect();
        let last = parts.len().saturating_sub(1);
        let line = |(index, part): (usize, &[String])| {
            let (segment, tokens) = match index {
                0 if last == 0 => ("", format!(r#""initialClk":"{INITIAL}","clk":"{clk}","#)),
                0 => (r#""segmentType":"SEG_START","#, format!(r#""initialClk":"{INITIAL}","#)),
                _ if index == last => (r#""segmentType":"SEG_END","#, format!(r#""clk":"{clk}","#)),
                _ => (r#""segmentType":"SEG","#, String::new()),
            };
            let mc = part.join(",");
            format!(
                r#"{{"op":"mcm","id":{id},{tokens}"conflateMs":0,"heartbeatMs":500,"pt":{pt},"ct":"SUB_IMAGE",{segment}"mc":[{mc}]}}"#
            )
        };
        // An image without markets is still an image.
        let parts = if parts.is_empty() { vec![&[][..]] } else { parts };
        parts.into_iter().enumerate().map(line).collect()
    }

    fn cache(&self, at: usize) -> Cache {
        let mut cache = Cache::default();
        for message in &self.messages[..at] {
            for change in &message.changes {
                cache.apply(change, message.is_image);
            }
        }
        cache
    }

    /// When the last message before a position was published, in milliseconds since 1970.
    pub(crate) fn pt(&self, at: usize) -> i64 {
        self.messages.get(at.saturating_sub(1)).map_or(0, |message| message.pt)
    }
}
