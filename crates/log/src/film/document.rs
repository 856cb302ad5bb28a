//! The document of a channel, made from its recorded frames, for images that were never recorded.
//!
//! Values are kept as the text in which they were published, so that no digit changes. Only objects are
//! taken apart, because merge patches (RFC 7396) replace everything else as a whole.

use std::io::Write as _;

use fanout::{ChannelId, Epoch, Seq};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) seq: Seq,
    /// The `at` of the last change.
    at: Box<str>,
    data: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    /// The members in order, with their keys as they are written, including the quotes.
    Object(Vec<(Box<str>, Self)>),
    /// Anything else, as it is written.
    Other(Box<str>),
}

/// A value of a text that is being read.
#[derive(Debug)]
enum Value<'a> {
    Object(Vec<(&'a str, Self)>),
    Other(&'a str),
}

impl Document {
    /// From an `image` frame.
    pub(super) fn from_image(seq: Seq, payload: &[u8]) -> Option<Self> {
        let frame = Fields::parse(payload)?;
        let data = Node::from_value(frame.find("\"data\"")?);
        Some(Self { seq, at: frame.at()?, data })
    }

    /// Applies an `update` frame.
    pub(super) fn apply(&mut self, seq: Seq, payload: &[u8]) -> Option<()> {
        let frame = Fields::parse(payload)?;
        self.at = frame.at()?;
        if let Some(patch) = frame.find("\"patch\"") {
            self.data.merge(patch);
        }
        self.seq = seq;
        Some(())
    }

    /// Its `image` frame.
    pub(super) fn image(&self, channel: &ChannelId, epoch: Epoch) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024);
        write!(
            out,
            r#"{{"type":"image","ch":"{channel}","epoch":"{epoch}","seq":{},"at":{},"data":"#,
            self.seq, self.at
        )
        .expect("writing to memory does not fail");
        self.data.write(&mut out);
        out.push(b'}');
        out
    }
}

impl Node {
    /// A value without its members that are null, which in a patch stand for absent ones.
    fn from_value(value: &Value<'_>) -> Self {
        match value {
            Value::Other(text) => Self::Other((*text).into()),
            Value::Object(members) => {
                let members = members.iter().filter(|(_, value)| !value.is_null());
                Self::Object(
                    members.map(|(key, value)| ((*key).into(), Self::from_value(value))).collect(),
                )
            }
        }
    }

    fn merge(&mut self, patch: &Value<'_>) {
        let (Self::Object(target), Value::Object(patches)) = (&mut *self, patch) else {
            *self = Self::from_value(patch);
            return;
        };
        for (key, patch) in patches {
            let index = target.iter().position(|(name, _)| **name == **key);
            match index {
                Some(index) if patch.is_null() => drop(target.remove(index)),
                Some(index) => target[index].1.merge(patch),
                None if patch.is_null() => {}
                None => target.push(((*key).into(), Self::from_value(patch))),
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Other(text) => out.extend_from_slice(text.as_bytes()),
            Self::Object(members) => {
                out.push(b'{');
                for (index, (key, node)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(key.as_bytes());
                    out.push(b':');
                    node.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

impl Value<'_> {
    fn is_null(&self) -> bool {
        matches!(self, Self::Other("null"))
    }
}

/// The members of a frame.
struct Fields<'a>(Vec<(&'a str, Value<'a>)>);

impl<'a> Fields<'a> {
    fn parse(payload: &'a [u8]) -> Option<Self> {
        let mut parser = Parser { text: str::from_utf8(payload).ok()?, at: 0 };
        match parser.value(0)? {
            Value::Object(members) => Some(Self(members)),
            Value::Other(_) => None,
        }
    }

    fn find(&self, key: &str) -> Option<&Value<'a>> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The text of `at`. Its members stay even if they are null.
    fn at(&self) -> Option<Box<str>> {
        match self.find("\"at\"")? {
            Value::Other(text) => Some((*text).into()),
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| match value {
                    Value::Other(text) => Some(format!("{key}:{text}")),
                    Value::Object(_) => None,
                });
                let members: Vec<String> = members.collect::<Option<_>>()?;
                Some(format!("{{{}}}", members.join(",")).into())
            }
        }
    }
}

/// Finds the values of a JSON text. The texts come from the hub and were valid when they were written: what
/// is not an object is skipped, not checked.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// Deeper than any document of the hub.
const DEPTH_MAX: usize = 64;

impl<'a> Parser<'a> {
    fn value(&mut self, depth: usize) -> Option<Value<'a>> {
        self.skip_space();
        match self.peek()? {
            b'{' if depth < DEPTH_MAX => self.object(depth),
            b'{' => None,
            _ => self.other().map(Value::Other),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.skip_space();
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Some(Value::Object(members));
                }
                b',' => self.at += 1,
                b'"' => {
                    let start = self.at;
                    self.string()?;
                    let key = &self.text[start..self.at];
                    self.skip_space();
                    if self.peek()? != b':' {
                        return None;
                    }
                    self.at += 1;
                    members.push((key, self.value(depth + 1)?));
                }
                _ => return None,
            }
        }
    }

    /// A string, a number, a word or an array.
    fn other(&mut self) -> Option<&'a str> {
        let (start, mut depth) = (self.at, 0_usize);
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.string()?;
                    if depth == 0 {
                        break;
                    }
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' if depth == 0 => break,
                b']' | b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        break;
                    }
                }
                b',' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => break,
                _ => {}
            }
            self.at += 1;
        }
        (self.at > start && depth == 0).then(|| &self.text[start..self.at])
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
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
        let Json::Object(patch) = patch else { return patch.clone() };
        let mut members = target.as_object().cloned().unwrap_or_default();
        for (key, patch) in patch {
            if patch.is_null() {
                members.remove(key);
            } else {
                let target = members.get(key).cloned().unwrap_or_default();
                members.insert(key.clone(), merged(&target, patch));
            }
        }
        Json::Object(members)
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
