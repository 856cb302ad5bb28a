//! The control messages of the feed: `alive`, `snapshot_complete` and `product_down`.
//!
//! Only the root element is parsed, so that a large message costs no more than a small one.

use std::str::FromStr;

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

/// A message about the feed itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlMessage {
    /// `product` works; `timestamp`, in milliseconds, is by the provider's clock. If `subscribed` is
    /// false, some of its messages were missed.
    Alive { product: u32, timestamp: i64, subscribed: bool },
    /// The recovery with this id is complete.
    SnapshotComplete { product: u32, request_id: u32 },
    /// `product` is out of order: its markets are suspended.
    Down { product: u32 },
}

impl ControlMessage {
    /// `None` for every other message, and for one that lacks a required attribute.
    #[must_use]
    pub fn parse(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::from_reader(body);
        loop {
            match reader.read_event().ok()? {
                Event::Start(root) | Event::Empty(root) => return Self::from_root(&root),
                Event::Eof => return None,
                _ => {}
            }
        }
    }

    fn from_root(root: &BytesStart<'_>) -> Option<Self> {
        match root.name().as_ref() {
            "alive" => Some(Self::Alive {
                product: number(root, "product")?,
                timestamp: number(root, "timestamp")?,
                subscribed: number::<u8>(root, "subscribed")? != 0,
            }),
            "snapshot_complete" => Some(Self::SnapshotComplete {
                product: number(root, "product")?,
                request_id: number(root, "request_id")?,
            }),
            "product_down" => Some(Self::Down { product: number(root, "product")? }),
            _ => None,
        }
    }
}

fn number<T: FromStr>(root: &BytesStart<'_>, name: &str) -> Option<T> {
    let attribute = root.try_get_attribute(name).ok()??;
    attribute.value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_control_messages_are_parsed() {
        let check =
            |body: &str, expected| assert_eq!(ControlMessage::parse(body.as_bytes()), expected);
        let alive =
            |subscribed| Some(ControlMessage::Alive { product: 3, timestamp: 1234, subscribed });
        check(r#"<alive product="3" timestamp="1234" subscribed="1"/>"#, alive(true));
        check(
            "<?xml version=\"1.0\"?>\n<!-- a --><alive subscribed='0' timestamp='1234' product='3'></alive>",
            alive(false),
        );
        let complete = Some(ControlMessage::SnapshotComplete { product: 1, request_id: 7 });
        check(r#"<snapshot_complete request_id="7" timestamp="5" product="1"/>"#, complete);
        let down = Some(ControlMessage::Down { product: 1 });
        check(r#"<product_down product="1" timestamp="5"/>"#, down);
        check(r#"<product_down timestamp="5"/>"#, None);
        check(r#"<odds_change product="1" timestamp="5"><alive product="1"/></odds_change>"#, None);
        check(r#"<alive product="3" timestamp="soon" subscribed="1"/>"#, None);
        check(r#"<alive product="3" timestamp="1""#, None);
        check("", None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_not_a_control_message(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            tail in "[<>/!?\\[\\]a-z=\"' ]{0,40}",
        ) {
            prop_assert_eq!(ControlMessage::parse(&bytes), None);
            let alive = format!("<alive product=\"1\" timestamp=\"2\" {tail}");
            prop_assert_eq!(ControlMessage::parse(alive.as_bytes()), None);
        }
    }
}
