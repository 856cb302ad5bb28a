//! The commands that subscribe and resume, each within the hub's limits.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::channel::Channel;

/// More than `id` and `every_ms` take.
const OPTIONS_BYTES: usize = 48;

/// What the hub allows, from `hello`.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) has_batch: bool,
    pub(crate) from_bytes: usize,
    pub(crate) entries: usize,
}

/// A command without its id, and the names and patterns that it asks for.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) command: Map<String, Value>,
    pub(crate) asks: Vec<String>,
}

/// Subscribes to these names and patterns, each from its position.
pub(crate) fn subscribe(
    wanted: &[String],
    channels: &BTreeMap<String, Channel>,
    limits: &Limits,
) -> Vec<Request> {
    let (patterns, names): (Vec<&String>, Vec<&String>) =
        wanted.iter().partition(|it| is_pattern(it));
    // Names first: what they resume continues unchanged when a pattern covers it as well.
    let mut requests = if limits.has_batch && names.len() > 1 {
        batches(&names, channels, limits)
    } else {
        names.iter().map(|name| by_name(name, channels)).collect()
    };
    for pattern in patterns {
        requests.extend(by_pattern(pattern, wanted, channels, limits));
    }
    requests
}

/// Resumes one channel of a pattern by its name, and gives it back to the pattern.
pub(crate) fn repair(name: &str, channels: &BTreeMap<String, Channel>) -> [Request; 2] {
    [by_name(name, channels), unsubscribe(name)]
}

fn by_name(name: &str, channels: &BTreeMap<String, Channel>) -> Request {
    let mut command = fields(json!({"op": "subscribe", "ch": name}));
    command.extend(from(name, channels).map(|from| ("from".to_owned(), from)));
    Request { command, asks: vec![name.to_owned()] }
}

fn from(name: &str, channels: &BTreeMap<String, Channel>) -> Option<Value> {
    channels.get(name)?.position().map(|(epoch, seq)| json!({"epoch": epoch, "seq": seq}))
}

fn unsubscribe(name: &str) -> Request {
    Request { command: fields(json!({"op": "unsubscribe", "ch": name})), asks: Vec::new() }
}

/// As few commands with `chs` as the limits allow.
fn batches(
    names: &[&String],
    channels: &BTreeMap<String, Channel>,
    limits: &Limits,
) -> Vec<Request> {
    let empty = json!({"op": "subscribe", "id": "", "chs": []}).to_string().len() + OPTIONS_BYTES;
    let mut requests = Vec::new();
    let (mut entries, mut asks, mut size) = (Vec::new(), Vec::new(), empty);
    for name in names {
        let entry = match from(name, channels) {
            Some(from) => json!({"ch": name, "from": from}),
            None => json!(name),
        };
        let more = entry.to_string().len() + 1;
        let is_full = size + more > limits.from_bytes || entries.len() >= limits.entries;
        if is_full && !entries.is_empty() {
            requests.push(batch(&mut entries, &mut asks));
            size = empty;
        }
        size += more;
        entries.push(entry);
        asks.push((*name).clone());
    }
    requests.push(batch(&mut entries, &mut asks));
    requests
}

fn batch(entries: &mut Vec<Value>, asks: &mut Vec<String>) -> Request {
    let command = fields(json!({"op": "subscribe", "chs": std::mem::take(entries)}));
    Request { command, asks: std::mem::take(asks) }
}

/// Resumes all channels of a pattern. Those whose positions find no room in its command are resumed by name before it, and given
/// back to it afterwards, so that no event is lost however many there are.
fn by_pattern(
    pattern: &str,
    wanted: &[String],
    channels: &BTreeMap<String, Channel>,
    limits: &Limits,
) -> Vec<Request> {
    let mut command = fields(json!({"op": "subscribe", "ch": pattern}));
    let empty = json!({"op": "subscribe", "id": "", "ch": pattern, "from": {}}).to_string().len();
    let room = limits.from_bytes.saturating_sub(empty + OPTIONS_BYTES);
    let positions = channels.iter().filter_map(|(name, channel)| {
        // One that is followed by name as well resumes by its own command, and one of several patterns by that of the first.
        let first = wanted.iter().find(|it| covers(it, name));
        let is_resumed = first.is_some_and(|it| it == pattern) && !wanted.contains(name);
        let (epoch, seq) = channel.position().filter(|_| is_resumed)?;
        Some((name.as_str(), epoch, seq))
    });
    let (from, rest) = resume_from(pattern, positions, room);
    command.extend(from.map(|from| ("from".to_owned(), from)));
    let mut requests: Vec<Request> = rest.iter().map(|name| by_name(name, channels)).collect();
    requests.push(Request { command, asks: vec![pattern.to_owned()] });
    requests.extend(rest.iter().map(|name| unsubscribe(name)));
    requests
}

/// `from` of a `subscribe` to a name or a pattern: the position of the channel, or those of the channels that the pattern
/// covers, in at most so many bytes. `positions` are channels with epoch and sequence. Returns also the channels that found no
/// room.
#[must_use]
pub fn resume_from<'a>(
    wanted: &str,
    positions: impl IntoIterator<Item = (&'a str, &'a str, u64)>,
    bytes: usize,
) -> (Option<Value>, Vec<&'a str>) {
    let (mut from, mut rest, mut size) = (Map::new(), Vec::new(), 0);
    for (ch, epoch, seq) in positions {
        if !covers(wanted, ch) {
            continue;
        }
        let position = json!({"epoch": epoch, "seq": seq});
        if ch == wanted {
            return (Some(position), Vec::new());
        }
        size += position.to_string().len() + ch.len() + 4;
        if size > bytes {
            rest.push(ch);
        } else {
            from.insert(ch.to_owned(), position);
        }
    }
    ((!from.is_empty()).then_some(Value::Object(from)), rest)
}

/// Whether a name contains `*` for a segment.
pub(crate) fn is_pattern(name: &str) -> bool {
    name.contains('*')
}

/// Whether a name or pattern covers a channel. `*` is exactly one segment.
#[must_use]
pub fn covers(pattern: &str, name: &str) -> bool {
    let (mut parts, mut segments) = (pattern.split('/'), name.split('/'));
    loop {
        match (parts.next(), segments.next()) {
            (None, None) => return true,
            (Some(part), Some(segment)) if part == "*" || part == segment => {}
            _ => return false,
        }
    }
}

fn fields(command: Value) -> Map<String, Value> {
    match command {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel_at(seq: u64) -> Channel {
        Channel { epoch: "e".to_owned(), seq, ..Channel::default() }
    }

    #[test]
    fn pattern_covers_whole_segments() {
        assert!(covers("football/*", "football/7") && covers("*/*/odds/*", "a/b/odds/c"));
        assert!(covers("football/*/odds/*", "football/7/odds/steady"));
        assert!(!covers("football/*", "football") && !covers("football/*", "football/7/odds"));
        assert!(!covers("football/*/odds", "football/7"));
    }

    #[test]
    fn each_channel_is_resumed_by_one_command() {
        let names = ["football/7", "football/7/odds", "football/8/odds"];
        let channels: BTreeMap<String, Channel> =
            names.iter().map(|name| ((*name).to_owned(), channel_at(1))).collect();
        let wanted = ["*/*/odds", "football/*", "football/*/odds", "football/8/odds"];
        let limits = Limits { has_batch: true, from_bytes: 16_384, entries: 100 };
        let requests = subscribe(&wanted.map(str::to_owned), &channels, &limits);
        let position = json!({"epoch": "e", "seq": 1});
        let expected = [
            json!({"op": "subscribe", "ch": "football/8/odds", "from": position}),
            json!({"op": "subscribe", "ch": "*/*/odds", "from": {"football/7/odds": position}}),
            json!({"op": "subscribe", "ch": "football/*", "from": {"football/7": position}}),
            json!({"op": "subscribe", "ch": "football/*/odds"}),
        ];
        let commands: Vec<_> = requests.into_iter().map(|it| Value::Object(it.command)).collect();
        assert_eq!(commands, expected);
    }

    #[test]
    fn positions_without_room_are_resumed_by_name_and_given_back() {
        let channels: BTreeMap<String, Channel> =
            (0..9).map(|n| (format!("football/{n}"), channel_at(n))).collect();
        let limits = Limits { has_batch: true, from_bytes: 250, entries: 100 };
        let requests = subscribe(&["football/*".to_owned()], &channels, &limits);
        let resumed: usize = requests
            .iter()
            .map(|it| it.command["op"] == "subscribe" && it.command["ch"] != "football/*")
            .map(usize::from)
            .sum();
        let pattern = requests.iter().find(|it| it.command["ch"] == "football/*").expect("one");
        let within = pattern.command["from"].as_object().expect("positions").len();
        assert_eq!((resumed + within, requests.len()), (9, 1 + 2 * resumed));
        assert!(resumed > 0 && within > 0);
        assert!(Value::from(pattern.command.clone()).to_string().len() + OPTIONS_BYTES <= 250);
    }
}
