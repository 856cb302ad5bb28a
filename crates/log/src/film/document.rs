//! The document of a channel, made from its recorded frames, for images that were never recorded.
//!
//! Values are kept as the text in which they were published, so that no digit changes. Only objects are
//! taken apart, because merge patches (RFC 7396) replace everything else as a whole.

use fanout::{
    ChannelId, Epoch, Seq,
    members::{Members, write_name},
    protocol,
};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) seq: Seq,
    /// The `at` of the last change.
    at: Box<str>,
    data: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    /// The members in order.
    Object(Vec<(Box<str>, Self)>),
    /// Anything else, as it is written.
    Other(Box<str>),
}

/// What an `image` or an `update` says of the document.
#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    at: &'a RawValue,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    patch: Option<&'a RawValue>,
}

impl Document {
    /// From an `image` frame.
    pub(super) fn from_image(seq: Seq, payload: &[u8]) -> Option<Self> {
        let frame: Frame<'_> = serde_json::from_slice(payload).ok()?;
        Some(Self { seq, at: frame.at.get().into(), data: Node::new(frame.data?)? })
    }

    /// Applies an `update` frame.
    pub(super) fn apply(&mut self, seq: Seq, payload: &[u8]) -> Option<()> {
        let frame: Frame<'_> = serde_json::from_slice(payload).ok()?;
        self.at = frame.at.get().into();
        if let Some(patch) = frame.patch {
            self.data.merge(patch)?;
        }
        self.seq = seq;
        Some(())
    }

    /// Its `image` frame.
    pub(super) fn image(&self, channel: &ChannelId, epoch: Epoch) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024);
        let write_at = |out: &mut Vec<u8>| out.extend_from_slice(self.at.as_bytes());
        protocol::image(&mut out, channel, (epoch, self.seq), write_at, |out| self.data.write(out));
        out
    }
}

impl Node {
    /// A value without its members that are null, which in a patch stand for absent ones.
    fn new(value: &RawValue) -> Option<Self> {
        let mut node = Self::Object(Vec::new());
        node.merge(value)?;
        Some(node)
    }

    /// Applies a merge patch. `None` if it is no JSON.
    fn merge(&mut self, patch: &RawValue) -> Option<()> {
        if !patch.get().starts_with('{') {
            *self = Self::Other(patch.get().into());
            return Some(());
        }
        let Members(patches) = serde_json::from_str(patch.get()).ok()?;
        if let Self::Other(_) = self {
            *self = Self::Object(Vec::new());
        }
        let Self::Object(target) = self else { return None };
        for (key, patch) in patches {
            let index = target.iter().position(|(name, _)| **name == *key);
            let is_null = patch.get() == "null";
            match index {
                Some(index) if is_null => drop(target.remove(index)),
                Some(index) => target[index].1.merge(patch)?,
                None if is_null => {}
                None => target.push((key.into(), Self::new(patch)?)),
            }
        }
        Some(())
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Other(text) => out.extend_from_slice(text.as_bytes()),
            Self::Object(members) => {
                out.push(b'{');
                for (name, node) in members {
                    write_name(out, name);
                    node.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value as Json, json};

    use super::*;

    fn frame(kind: &str, name: &str, value: &Json) -> Vec<u8> {
        json!({"type": kind, "at": {"src": null, "in": 1, "pub": 2}, name: value})
            .to_string()
            .into_bytes()
    }

    fn merged(target: &Json, patch: &Json) -> Json {
        let mut target = target.clone();
        facts::merge_patch(&mut target, patch);
        target
    }

    fn values() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            "[a-z\"\\\\,{}\\[\\]é]{0,6}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::btree_map("[a-d\"\\\\]{1,2}", inner, 0..5)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    fn objects() -> impl Strategy<Value = Json> {
        prop::collection::btree_map("[a-d]{1,2}", values(), 0..5)
            .prop_map(|members| Json::Object(members.into_iter().collect::<Map<_, _>>()))
    }

    proptest! {
        #[test]
        fn document_is_what_the_patches_make_of_the_image(
            image in objects(),
            patches in prop::collection::vec(objects(), 0..6),
        ) {
            // An image has no null.
            let mut expected = merged(&json!({}), &image);
            let payload = frame("image", "data", &expected);
            let mut document = Document::from_image(0, &payload).expect("an image");
            for (seq, patch) in (1..).zip(&patches) {
                expected = merged(&expected, patch);
                document.apply(seq, &frame("update", "patch", patch)).expect("an update");
            }
            let image = document.image(&ChannelId::new("a/1"), Epoch(7));
            let image: Json = serde_json::from_slice(&image).expect("an image is JSON");
            prop_assert_eq!(&image["data"], &expected);
            prop_assert_eq!(&image["seq"], &json!(patches.len()));
            prop_assert_eq!(&image["at"], &json!({"src": null, "in": 1, "pub": 2}));
        }

        #[test]
        fn reading_never_panics(text in "[\\[\\]{}:,\"\\\\a é]{0,40}") {
            let _document = Document::from_image(0, text.as_bytes());
        }
    }

    #[test]
    fn no_digit_changes() {
        let image = br#"{"type":"image","at":{"src":null,"in":1,"pub":1},"data":{"a":1.10,"b":"2.10","c":12345678901234567890123,"d":[1.0, 2]}}"#;
        let mut document = Document::from_image(4, image).expect("an image");
        let update =
            br#"{"type":"update","at":{"src":5,"in":6,"pub":7},"patch":{"b":"3.00","e":1e2}}"#;
        document.apply(5, update).expect("an update");
        let image = document.image(&ChannelId::new("a/1"), Epoch(1));
        assert_eq!(
            str::from_utf8(&image).expect("text"),
            r#"{"type":"image","ch":"a/1","epoch":"1","seq":5,"at":{"src":5,"in":6,"pub":7},"data":{"a":1.10,"b":"3.00","c":12345678901234567890123,"d":[1.0, 2],"e":1e2}}"#
        );
    }
}
