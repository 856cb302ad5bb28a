//! Joins parts of records.

use bytes::{Bytes, BytesMut};

use super::WholeMessage;
use crate::message::{Body, Message, Part, Records};

/// Joins the parts of records, which follow each other in the stream. Parts that are cut off by another message are
/// dropped: their leader was deposed before all of them were stored, so nobody has seen their records.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    begun: Option<Begun>,
}

/// Records of which some parts are missing.
#[derive(Debug)]
struct Begun {
    term: u64,
    node: String,
    /// What all parts have in common.
    common: Records,
    /// The last part.
    part: Part,
    bytes: BytesMut,
}

impl Joiner {
    /// Takes the next message of the stream. Returns it if it is whole, or all records if it is their last part.
    pub(super) fn push(&mut self, seq: u64, message: Message) -> Option<WholeMessage> {
        let Message { term, node, body } = message;
        let records = match body {
            Body::Records(records) if records.part != Part::WHOLE => records,
            body => {
                self.drop_parts();
                return Some(WholeMessage { seq, message: Message { term, node, body } });
            }
        };
        let (part, bytes) = (records.part, records.bytes.clone());
        let common = Records { part: Part::WHOLE, bytes: Bytes::new(), ..records };
        match &mut self.begun {
            Some(begun) if begun.is_continued_by(term, &node, &common, part) => {
                begun.part = part;
                begun.bytes.extend_from_slice(&bytes);
            }
            _ => {
                self.drop_parts();
                if part.index != 0 {
                    tracing::warn!(seq, "skipping a part of records without the parts before");
                    return None;
                }
                let bytes = BytesMut::from(&*bytes);
                self.begun = Some(Begun { term, node, common, part, bytes });
            }
        }
        let Begun { term, node, common, bytes, .. } = self.begun.take_if(|_| part.is_last())?;
        let body = Body::Records(Records { bytes: bytes.freeze(), ..common });
        Some(WholeMessage { seq, message: Message { term, node, body } })
    }

    fn drop_parts(&mut self) {
        if let Some(begun) = self.begun.take() {
            let first = begun.common.first;
            tracing::info!(first, "dropping parts of records that were cut off");
        }
    }
}

impl Begun {
    fn is_continued_by(&self, term: u64, node: &str, common: &Records, part: Part) -> bool {
        (self.term, &*self.node, &self.common) == (term, node, common)
            && self.part.count == part.count
            && self.part.index + 1 == part.index
    }
}

#[cfg(test)]
mod tests {
    use log::LogPosition;

    use super::*;

    fn records(first: u64, term: u64, bytes: &'static [u8]) -> Message {
        let end = LogPosition { number: first, chain: [7; 16], at: 0 };
        let (before, part, bytes) = ([6; 16], Part::WHOLE, Bytes::from_static(bytes));
        let body = Body::Records(Records { first, count: 1, before, end, part, bytes });
        Message { term, node: "a".to_owned(), body }
    }

    fn term(term: u64, number: u64) -> Message {
        let position = LogPosition { number, ..LogPosition::default() };
        let body = Body::Term { position, formats: crate::message::Formats::default() };
        Message { term, node: "b".to_owned(), body }
    }

    fn joined(messages: impl IntoIterator<Item = Message>) -> Vec<WholeMessage> {
        let mut joiner = Joiner::default();
        (1..).zip(messages).filter_map(|(seq, message)| joiner.push(seq, message)).collect()
    }

    #[test]
    fn parts_become_whole_records() {
        let whole = records(5, 1, b"abcdefgh");
        let parts = whole.parts(3).expect("there are three");
        assert_eq!(joined(parts), [WholeMessage { seq: 3, message: whole }]);
    }

    #[test]
    fn parts_that_a_term_cuts_off_are_dropped() {
        let mut messages = records(5, 1, b"abcdefgh").parts(3).expect("there are three");
        messages[2] = term(2, 4);
        let next = records(5, 2, b"other");
        messages.push(next.clone());
        let expected =
            [WholeMessage { seq: 3, message: term(2, 4) }, WholeMessage { seq: 4, message: next }];
        assert_eq!(joined(messages), expected);
    }

    #[test]
    fn parts_of_other_records_do_not_mix() {
        let (first, second) = (records(5, 1, b"abcdef"), records(5, 2, b"ABCDEF"));
        let [one, other] = [&first, &second].map(|it| it.parts(3).expect("there are two"));
        let mixed = [one[0].clone(), other[1].clone()];
        assert_eq!(joined(mixed), []);
        let restarted = [one[0].clone(), other[0].clone(), other[1].clone()];
        assert_eq!(joined(restarted), [WholeMessage { seq: 3, message: second }]);
    }

    #[test]
    fn part_without_the_parts_before_is_skipped() {
        let parts = records(5, 1, b"abcdefgh").parts(3).expect("there are three");
        assert_eq!(joined(parts[1..].to_vec()), []);
    }
}
