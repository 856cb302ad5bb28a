//! The part of a document that a subscription picks: `pick` and `events`.
//!
//! A pick is a list of JSON Pointers (RFC 6901) in which `*` stands for any one member. It applies to images and to
//! merge patches alike: both keep the members that a pointer leads to, and the header of the document. So a client that
//! applies the picked patches to the picked image has the picked document.

use std::{borrow::Cow, collections::BTreeMap, fmt, mem};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use crate::channel::Seq;

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

    fn includes(&self, event: &Value) -> bool {
        let Self::Kinds(kinds) = self else { return true };
        let Some(kind) = event.get("kind").and_then(Value::as_str) else { return false };
        ALWAYS.contains(&kind) || kinds.iter().any(|own| **own == *kind)
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

/// The selected part of a value that these nodes lead to, if there is any. A value that is no object has no members
/// to choose from, so it is taken whole. `null`, which deletes in a patch, is one of those.
fn project(value: &Value, nodes: &[&Node]) -> Option<Value> {
    let members = match value {
        Value::Object(members) if !nodes.iter().any(|node| node.ends) => members,
        value => return Some(value.clone()),
    };
    let mut selected = Map::new();
    let mut next: Vec<&Node> = Vec::new();
    for (name, value) in members {
        next.clear();
        for node in nodes {
            next.extend(node.members.get(&**name).into_iter().chain(node.any.as_deref()));
        }
        if !next.is_empty()
            && let Some(value) = project(value, &next)
        {
            selected.insert(name.clone(), value);
        }
    }
    (!selected.is_empty()).then_some(Value::Object(selected))
}

/// Removes members that are objects without members.
fn prune(value: &mut Value) {
    if let Value::Object(members) = value {
        members.values_mut().for_each(prune);
        members.retain(|_, value| value.as_object().is_none_or(|it| !it.is_empty()));
    }
}

/// The members of a frame, in their order.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
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
            let changed = match &**name {
                "prev" => prev.map(Value::from),
                "data" => Some(self.paths_of(value).unwrap_or_else(|| Value::Object(Map::new()))),
                "patch" => match self.paths_of(value) {
                    Some(patch) => Some(patch),
                    None => continue,
                },
                "events" => match self.events_of(value) {
                    Some(events) => Some(events),
                    None => continue,
                },
                _ => None,
            };
            is_empty &= !matches!(&**name, "patch" | "events");
            match changed {
                Some(value) => write_member(&mut out, name, &value),
                None => write_member(&mut out, name, value),
            }
        }
        if is_empty && !keep {
            return None;
        }
        if is_empty {
            write_member(&mut out, "patch", &Map::new());
        }
        out.push(b'}');
        Some(out)
    }

    /// An image of the document whose hash proves this pick: without members that are empty objects, because
    /// patches cannot tell them from absent ones.
    pub(crate) fn image_to_hash(&self, payload: &[u8]) -> Vec<u8> {
        #[derive(Deserialize)]
        struct Image {
            data: Value,
        }
        let Some(paths) = &self.paths else { return payload.to_vec() };
        let image: Image = serde_json::from_slice(payload).expect("an image has a document");
        let mut data = project(&image.data, &[&paths.root]).unwrap_or_default();
        prune(&mut data);
        let data = if data.is_null() { Value::Object(Map::new()) } else { data };
        serde_json::to_vec(&Map::from_iter([("data".to_owned(), data)])).expect("keys are strings")
    }

    fn paths_of(&self, value: &RawValue) -> Option<Value> {
        let value: Value = serde_json::from_str(value.get()).expect("it was parsed before");
        match &self.paths {
            Some(paths) => project(&value, &[&paths.root]),
            None => Some(value),
        }
    }

    fn events_of(&self, value: &RawValue) -> Option<Value> {
        let mut events: Value = serde_json::from_str(value.get()).expect("it was parsed before");
        let list = events.as_array_mut()?;
        *list = mem::take(list).into_iter().filter(|it| self.events.includes(it)).collect();
        (!list.is_empty()).then_some(events)
    }
}

fn write_member(out: &mut Vec<u8>, name: &str, value: &impl serde::Serialize) {
    if out.len() > 1 {
        out.push(b',');
    }
    serde_json::to_writer(&mut *out, name).expect("a vector takes it");
    out.push(b':');
    serde_json::to_writer(out, value).expect("a vector takes it");
}
