//! Messages of the Sportradar Unified Odds Feed: XML, one root each, over AMQP or as the answer of
//! its REST interface.
//!
//! Format: the UOF pages of docs.betradar.com. Attributes are found by name and elements by what
//! they stand in; unknown ones are passed over. Ignored: probabilities and cash-out, `favourite`,
//! market metadata, odds generation properties, `extended_specifiers`, void reasons, venues, channels and the rest
//! of what a fixture says.

mod control;
mod description;
mod fixture;
mod message;
mod status;
mod value;
mod xml;

use self::xml::Element;
pub use self::{
    control::ControlMessage,
    description::MarketDescription,
    fixture::{Competitor, UofFixture},
    message::{Kind, Market, Message, Range, UofOutcome},
    status::{Clock, PeriodScore, Status},
};
use crate::error::{DecodeError, RefusalKind, Result};

/// Notices stored per message: enough to see what is wrong with it.
pub const NOTICES_MAX: usize = 100;

/// Reads a message. Where it is cut or broken in its middle, the markets before that are used.
///
/// # Errors
///
/// If it is not XML in UTF-8 with a root that is known, or lacks the event that it must name.
pub fn decode(bytes: &[u8]) -> Result<Message> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes)
        .map_err(|_| DecodeError::new(RefusalKind::Syntax, "text is not UTF-8"))?;
    let (mut message, mut notices) = (None::<Message>, Vec::new());
    let (mut refused, mut roots) = (None, 0_u32);
    let end = xml::walk(text, &mut notices, |path, element, notices| {
        roots = roots.saturating_add(u32::from(path.is_empty()));
        if roots > 1 {
            return;
        }
        if let Some(message) = &mut message {
            message.element(path, element, notices);
        } else if path.is_empty() {
            match Message::of_root(element, notices) {
                Ok(begun) => message = Some(begun),
                Err(error) => refused = Some(error),
            }
        }
    });
    if roots > 1 {
        let reason = format!("{roots} messages where one is expected: the first is used");
        notices.insert(0, DecodeError::new(RefusalKind::Syntax, reason));
    }
    let none = || DecodeError::new(RefusalKind::Syntax, "there is no element");
    let cut = end.as_ref().map(|(error, _)| error.clone());
    let mut message = message.ok_or_else(|| refused.or(cut).unwrap_or_else(none))?;
    if let Some((error, open)) = end {
        message.cut(&open);
        notices.push(error);
    }
    notices.truncate(NOTICES_MAX);
    message.notices = notices;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn market_key_ignores_the_order_of_specifiers() {
        let text = r#"<odds_change product="1" event_id="sr:match:1" timestamp="5"><odds>
            <market specifiers="b=2|a=1" id="18" status="-1"><outcome odds="2.10" id="12"/></market>
            <market id="1"/></odds></odds_change>"#;
        let message = decode(text.as_bytes()).unwrap();
        let keys: Vec<_> = message.markets.iter().map(Market::key).collect();
        assert_eq!(keys, ["18/a=1|b=2", "1"]);
        assert_eq!(message.markets[0].status, Some(-1));
        assert_eq!(message.markets[0].outcomes[0].odds.unwrap().to_string(), "2.1");
        assert_eq!(message.markets[0].specifier("b"), Some("2"));
    }

    #[test]
    fn truncated_market_is_left_out() {
        let text = r#"<odds_change event_id="sr:match:1"><odds><market id="1"/><market id="2"><outcome id="1" odds="2"/>"#;
        let message = decode(text.as_bytes()).unwrap();
        assert_eq!(message.markets.len(), 1);
        assert_eq!(message.notices[0].kind, RefusalKind::Truncated);
    }

    #[test]
    fn first_of_several_messages_is_used() {
        let text =
            r#"<bet_stop event_id="a"/><odds_change event_id="b"><market id="1"/></odds_change>"#;
        let message = decode(text.as_bytes()).unwrap();
        assert_eq!((message.event.as_deref(), message.markets.len()), (Some("a"), 0));
        let reason = "2 messages where one is expected: the first is used";
        assert_eq!(message.notices[0].reason, reason);
    }

    #[test]
    fn invalid_messages_are_refused() {
        let check = |text: &str, reason: &str| {
            assert_eq!(decode(text.as_bytes()).unwrap_err().reason, reason, "{text}");
        };
        check("<html><body/></html>", "html is no message of the feed");
        check(r#"<cashout event_id="e"/>"#, "cashout, with probabilities, has no use here");
        check("<odds_change product='1'/>", "odds_change names no event");
        check("", "there is no element");
    }

    #[test]
    fn invalid_values_are_dropped_alone() {
        let text = r#"<odds_change event_id="e" timestamp="soon"><odds><market id="1"><outcome id="1" odds="two"/><outcome odds="2"/></market><market/></odds></odds_change>"#;
        let message = decode(text.as_bytes()).unwrap();
        let reasons: Vec<_> = message.notices.iter().map(|it| it.reason.as_str()).collect();
        let expected = [
            "timestamp \"soon\" of odds_change is no number",
            "odds \"two\" of outcome is no number",
            "an outcome has no id",
            "a market has no id",
        ];
        assert_eq!(reasons, expected);
        assert_eq!(message.markets[0].outcomes.len(), 1);
    }
}
