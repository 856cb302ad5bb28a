//! The part of a document that a subscription picks: `pick` and `events`.
//!
//! A pick is a list of JSON Pointers (RFC 6901) in which `*` stands for any one member. It applies to images and to
//! merge patches alike: both keep the members that a pointer leads to, and the header of the document. So a client that
//! applies the picked patches to the picked image has the picked document.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    channel::Seq,
    members::{Members, write_name},
};

/// Pointers of a pick, and kinds of events, in one subscription.
const ENTRIES_MAX: usize = 16;

/// The longest pointer or kind, in bytes.
const ENTRY_BYTES_MAX: usize = 200;

/// The members of a document that belong to every pick: whether it is fresh, and whether its prices may be used.
const HEADER: [&str; 5] = ["life", "feed", "stale_after_ms", "match_seq", "suspended"];

/// The kinds of events that always come: they take back what was said before.
const ALWAYS: [&str; 4] = ["suspend", "resume", "retract", "correct"];

/// What a subscription picks of each document and its changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// `None`: the whole document.
    pub(crate) paths: Option<Paths>,
    pub(crate) events: EventChoice,
}

/// Which events a subscription gets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum EventChoice {
    #[default]
    All,
    /// These kinds, and those that always come.
    Kinds(Box<[Box<str>]>),
}

/// A list of pointers into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths {
    /// As the client wrote them.
    pub(crate) pointers: Box<[Box<str>]>,
    root: Node,
}

/// A place in documents that pointers lead to or through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Node {
    /// A pointer ends here: everything below is selected.
    ends: bool,
    members: BTreeMap<Box<str>, Self>,
    /// Any member.
    any: Option<Box<Self>>,
}

/// `pick` or `events` is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl Paths {
    /// Reads the `pick` of a command. `null` stands for the whole document.
    pub(crate) fn parse(value: &Value) -> Result<Option<Self>, Malformed> {
        let malformed = Malformed("pick is an array of 1 to 16 JSON pointers, such as /score");
        let pointers = match value {
            Value::Null => return Ok(None),
            value => texts(value).filter(|it| !it.is_empty()).ok_or(malformed)?,
        };
        let mut root = Node::default();
        for name in HEADER {
            root.add(&[Cow::Borrowed(name)]);
        }
        for pointer in &pointers {
            let segments = segments(pointer).ok_or(malformed)?;
            root.add(&segments);
        }
        Ok(Some(Self { pointers, root }))
    }
}

impl Pick {
    /// A description for the operator: the pointers and the kinds of events.
    pub(crate) fn describe(&self) -> String {
        let pointers = self.paths.iter().flat_map(|paths| paths.pointers.iter());
        let mut words: Vec<String> = pointers.map(|pointer| String::from(&**pointer)).collect();
        if let Some(events) = self.events.to_json() {
            words.push(format!("events {events}"));
        }
        words.join(" ")
    }
}

impl EventChoice {
    /// Reads the `events` of a command.
    pub(crate) fn parse(value: &Value) -> Result<Self, Malformed> {
        match value {
            Value::Bool(true) => Ok(Self::All),
            Value::Bool(false) => Ok(Self::Kinds(Box::default())),
            value => texts(value)
                .map(Self::Kinds)
                .ok_or(Malformed("events is true, false or an array of at most 16 kinds")),
        }
    }

    /// As the `subscribed` frame confirms it.
    pub(crate) fn to_json(&self) -> Option<Value> {
        match self {
            Self::All => None,
            Self::Kinds(kinds) if kinds.is_empty() => Some(Value::Bool(false)),
            Self::Kinds(kinds) => Some(kinds.iter().map(|kind| Value::from(&**kind)).collect()),
        }
    }

    fn includes(&self, event: &RawValue) -> bool {
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(borrow)]
            kind: Cow<'a, str>,
        }
        let Self::Kinds(kinds) = self else { return true };
        let Ok(Kind { kind }) = serde_json::from_str(event.get()) else { return false };
        ALWAYS.contains(&&*kind) || kinds.iter().any(|allowed| **allowed == *kind)
    }
}

/// The strings of an array that is not too long.
fn texts(value: &Value) -> Option<Box<[Box<str>]>> {
    let list = value.as_array().filter(|list| list.len() <= ENTRIES_MAX)?;
    let text = |it: &Value| Some(it.as_str().filter(|it| it.len() <= ENTRY_BYTES_MAX)?.into());
    list.iter().map(text).collect()
}

/// The segments of a JSON Pointer, without their escapes; `None` if it is malformed.
fn segments(pointer: &str) -> Option<Vec<Cow<'_, str>>> {
    let rest = pointer.strip_prefix('/')?;
    let unescape = |segment| {
        let mut parts = str::split(segment, '~');
        let mut text = Cow::Borrowed(parts.next()?);
        for part in parts {
            let character = match part.as_bytes().first() {
                Some(b'0') => '~',
                Some(b'1') => '/',
                _ => return None,
            };
            text.to_mut().push(character);
            text.to_mut().push_str(&part[1..]);
        }
        Some(text)
    };
    rest.split('/').map(unescape).collect()
}

impl Node {
    fn add(&mut self, segments: &[Cow<'_, str>]) {
        let Some((first, rest)) = segments.split_first() else { return self.ends = true };
        let next = match &**first {
            "*" => &mut **self.any.get_or_insert_default(),
            name => self.members.entry(name.into()).or_default(),
        };
        next.add(rest);
    }
}

/// Writes the selected part of a value that these nodes lead to; false if there is none. A value that is no object has no
/// members to choose from, so it is taken whole. `null`, which deletes in a patch, is one of those.
///
/// What is selected is copied, and what is not is only passed over.
fn project(value: &RawValue, nodes: &[&Node], out: &mut Vec<u8>) -> bool {
    let text = value.get();
    if !text.starts_with('{') || nodes.iter().any(|node| node.ends) {
        out.extend_from_slice(text.as_bytes());
        return true;
    }
    let Members(members) = serde_json::from_str(text).expect("it was parsed before");
    let start = out.len();
    out.push(b'{');
    let mut next: Vec<&Node> = Vec::new();
    for (name, value) in &members {
        next.clear();
        for node in nodes {
            next.extend(node.members.get(&**name).into_iter().chain(node.any.as_deref()));
        }
        let before = out.len();
        if !next.is_empty() {
            write_name(out, name);
            if !project(value, &next, out) {
                out.truncate(before);
            }
        }
    }
    if out.len() == start + 1 {
        out.truncate(start);
        return false;
    }
    out.push(b'}');
    true
}

/// Removes members that are objects without members.
fn prune(value: &mut Value) {
    if let Value::Object(members) = value {
        members.values_mut().for_each(prune);
        members.retain(|_, value| value.as_object().is_none_or(|it| !it.is_empty()));
    }
}

impl Pick {
    /// What both pick, unless it is everything.
    pub(crate) fn new(paths: Option<Paths>, events: EventChoice) -> Option<Self> {
        let is_everything = paths.is_none() && events == EventChoice::All;
        (!is_everything).then_some(Self { paths, events })
    }

    /// The selected part of an image or an update. `prev`: what an update states as its `prev`. `None` if nothing of an
    /// update is selected; with `keep` it then has an empty patch, so that it still leads to its `seq`.
    pub(crate) fn select(&self, payload: &[u8], prev: Option<Seq>, keep: bool) -> Option<Vec<u8>> {
        let Ok(Members(members)) = serde_json::from_slice(payload) else {
            debug_assert!(false, "a frame of the host is a JSON object");
            return Some(payload.to_vec());
        };
        let is_update = members.iter().any(|(name, _)| name == "prev");
        let mut is_empty = is_update;
        let mut out = Vec::with_capacity(256);
        out.push(b'{');
        for (name, value) in &members {
            let before = out.len();
            write_name(&mut out, name);
            let is_selected = match &**name {
                "prev" => {
                    match prev {
                        Some(prev) => out.extend_from_slice(prev.to_string().as_bytes()),
                        None => out.extend_from_slice(value.get().as_bytes()),
                    }
                    true
                }
                "data" => {
                    if !self.write_paths(value, &mut out) {
                        out.extend_from_slice(b"{}");
                    }
                    true
                }
                "patch" => self.write_paths(value, &mut out),
                "events" => self.write_events(value, &mut out),
                _ => {
                    out.extend_from_slice(value.get().as_bytes());
                    true
                }
            };
            if is_selected {
                is_empty &= !matches!(&**name, "patch" | "events");
            } else {
                out.truncate(before);
            }
        }
        if is_empty && !keep {
            return None;
        }
        if is_empty {
            write_name(&mut out, "patch");
            out.extend_from_slice(b"{}");
        }
        out.push(b'}');
        Some(out)
    }

    /// An image of the document whose hash proves this pick: without members that are empty objects, because
    /// patches cannot tell them from absent ones.
    pub(crate) fn image_to_hash(&self, payload: &[u8]) -> Vec<u8> {
        #[derive(Deserialize)]
        struct Image<'a> {
            #[serde(borrow)]
            data: &'a RawValue,
        }
        let Some(paths) = &self.paths else { return payload.to_vec() };
        let image: Image<'_> = serde_json::from_slice(payload).expect("an image has a document");
        let mut picked = Vec::new();
        let mut data = match project(image.data, &[&paths.root], &mut picked) {
            true => serde_json::from_slice(&picked).expect("a part of a document is JSON"),
            false => Value::Object(Map::new()),
        };
        prune(&mut data);
        serde_json::to_vec(&Map::from_iter([("data".to_owned(), data)])).expect("keys are strings")
    }

    /// Writes the picked part of a document or a patch; false if there is none.
    fn write_paths(&self, value: &RawValue, out: &mut Vec<u8>) -> bool {
        match &self.paths {
            Some(paths) => project(value, &[&paths.root], out),
            None => {
                out.extend_from_slice(value.get().as_bytes());
                true
            }
        }
    }

    /// Writes the picked events; false if there are none.
    fn write_events(&self, value: &RawValue, out: &mut Vec<u8>) -> bool {
        let events: Vec<&RawValue> =
            serde_json::from_str(value.get()).expect("events are an array");
        let mut picked = events.into_iter().filter(|event| self.events.includes(event)).peekable();
        if picked.peek().is_none() {
            return false;
        }
        let mut separator = b'[';
        for event in picked {
            out.push(separator);
            out.extend_from_slice(event.get().as_bytes());
            separator = b',';
        }
        out.push(b']');
        true
    }
}
