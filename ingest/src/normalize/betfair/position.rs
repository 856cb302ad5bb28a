//! How far a connection has come, in Betfair's own tokens.
//!
//! A position exists only where everything before it is complete, not in the middle of a segmented
//! message. A connection that breaks there needs an image, because the changes of the missing
//! segments are unknown.

use crate::decode::betfair::{ChangeType, MarketMessage, Segment};

/// The most bytes of a stored token. A connection with longer ones begins with an image each time.
/// Recorded ones have up to 24.
const CLK_BYTES_MAX: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Position {
    initial_clk: String,
    clk: String,
    in_segments: bool,
}

impl Position {
    /// What is to be given back to Betfair (`initialClk`, `clk`) to go on from here.
    pub(super) fn resume(&self) -> Option<[&str; 2]> {
        let is_whole = !self.in_segments && !self.initial_clk.is_empty() && !self.clk.is_empty();
        is_whole.then_some([&self.initial_clk, &self.clk])
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn note(&mut self, message: &MarketMessage<'_>) {
        if begins_image(message) {
            self.forget();
        }
        for (stored, token) in
            [(&mut self.initial_clk, &message.initial_clk), (&mut self.clk, &message.clk)]
        {
            let Some(token) = token else { continue };
            stored.clear();
            // A truncated token is useless: a longer one is not stored.
            stored.push_str(if token.len() > CLK_BYTES_MAX { "" } else { token });
        }
        match message.segment {
            Some(Segment::Start) => self.in_segments = true,
            Some(Segment::End) => self.in_segments = false,
            Some(Segment::Middle) | None => {}
        }
    }
}

/// Whether what was known until now is replaced by what comes with this message.
pub(super) fn begins_image(message: &MarketMessage<'_>) -> bool {
    message.ct == ChangeType::SubImage && matches!(message.segment, None | Some(Segment::Start))
}

/// Whether an image or a resume is complete with this message.
pub(super) fn completes(message: &MarketMessage<'_>) -> bool {
    matches!(message.ct, ChangeType::SubImage | ChangeType::ResubDelta)
        && matches!(message.segment, None | Some(Segment::End))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::betfair::decode;

    /// Notes messages, and gives the position after each of them.
    fn check(messages: &[(&str, Option<[&str; 2]>)]) {
        let mut position = Position::default();
        for (message, expected) in messages {
            let line = format!(r#"{{"op":"mcm",{message}}}"#);
            position.note(&decode(line.as_bytes()).expect("it is JSON").expect("of markets"));
            assert_eq!(position.resume(), *expected, "after {line}");
        }
    }

    #[test]
    fn tokens_of_complete_messages_advance_the_position() {
        check(&[
            (r#""ct":"SUB_IMAGE","initialClk":"i","clk":"a""#, Some(["i", "a"])),
            (r#""clk":"b""#, Some(["i", "b"])),
            (r#""mc":[]"#, Some(["i", "b"])),
            (r#""ct":"HEARTBEAT","clk":"c""#, Some(["i", "c"])),
            (r#""ct":"RESUB_DELTA","initialClk":"j","clk":"d""#, Some(["j", "d"])),
            (r#""ct":"SUB_IMAGE","clk":"e""#, None),
        ]);
    }

    #[test]
    fn segments_of_an_image_have_no_position() {
        check(&[
            (r#""ct":"SUB_IMAGE","segmentType":"SEG_START","initialClk":"i","clk":"a""#, None),
            (r#""ct":"SUB_IMAGE","segmentType":"SEG""#, None),
            (r#""ct":"HEARTBEAT","clk":"b""#, None),
            (r#""ct":"SUB_IMAGE","segmentType":"SEG_END","clk":"c""#, Some(["i", "c"])),
            (r#""segmentType":"SEG_START""#, None),
            (r#""segmentType":"SEG_END","clk":"d""#, Some(["i", "d"])),
        ]);
    }

    #[test]
    fn token_over_the_limit_is_dropped() {
        let endless = "x".repeat(CLK_BYTES_MAX + 1);
        let image = r#""ct":"SUB_IMAGE","initialClk":"i","clk":"a""#;
        check(&[(image, Some(["i", "a"])), (&format!(r#""clk":"{endless}""#), None)]);
    }
}
