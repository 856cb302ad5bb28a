//! The positions in the channels of another hub, and the commands that keep them up to date.
//!
//! Pure: frames in, commands out. A subscription is complete when a `beat` names as many channels as
//! the hub reported as covered, and each of them has reached the position in the beat.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::frame::{FrameHeader, SessionLimits};

/// The other hub's limit if `hello` gives none.
const COMMAND_BYTES: usize = 16_384;
/// A channel may open and close between the count and the images, and the count is then never
/// reached. After this many beats without a gap the subscription counts as complete.
const BEATS_ENOUGH: u32 = 3;

/// The effect of a frame.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FrameEffect {
    /// The frame is to be interpreted.
    pub(super) interpret: bool,
    /// Commands to send.
    pub(super) commands: Vec<String>,
    /// Channels that ended without an `unsubscribed` frame.
    pub(super) removed: Vec<String>,
    /// A subscription was refused permanently: its channel and the error code.
    pub(super) refused: Option<String>,
}

#[derive(Debug)]
pub(super) struct ChannelPositions {
    every_ms: u64,
    subscriptions: Vec<ChannelSubscription>,
    all: HashMap<String, ChannelPosition>,
    /// Channels that were resubscribed on their own and have not arrived yet.
    resubscribed: HashSet<String>,
    /// The longest command with positions, in bytes.
    command_bytes: usize,
    /// The heads from the parts of a beat that is not complete yet.
    heads: HashMap<String, u64>,
    complete: bool,
    beats: u32,
}

#[derive(Debug)]
struct ChannelSubscription {
    /// A channel or a pattern.
    ch: String,
    /// How many channels it covers; `None` until the hub has replied.
    covers: Option<usize>,
    /// The channel does not exist now; the subscription is retried with each beat.
    is_missing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ChannelPosition {
    epoch: String,
    seq: u64,
}

impl ChannelPositions {
    pub(super) fn new(channels: Vec<String>, every_ms: u64) -> Self {
        let subscription = |ch| ChannelSubscription { ch, covers: None, is_missing: false };
        Self {
            every_ms,
            subscriptions: channels.into_iter().map(subscription).collect(),
            all: HashMap::new(),
            resubscribed: HashSet::new(),
            command_bytes: COMMAND_BYTES,
            heads: HashMap::new(),
            complete: false,
            beats: 0,
        }
    }

    /// Whether every subscription is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Resets the state of the connection, but not the positions.
    pub(super) fn connected(&mut self) {
        self.resubscribed.clear();
        self.heads.clear();
        self.complete = false;
        self.beats = 0;
        for subscription in &mut self.subscriptions {
            subscription.covers = None;
            subscription.is_missing = false;
        }
    }

    /// Drops the position of a channel whose last frame could not be used, so that the next beat
    /// resubscribes it.
    pub(super) fn invalidate(&mut self, ch: &str) {
        self.all.remove(ch);
        self.complete = false;
    }

    pub(super) fn handle(&mut self, frame: &FrameHeader) -> FrameEffect {
        match frame.kind.as_str() {
            "hello" => self.hello(frame),
            "subscribed" => self.subscribed(frame),
            "image" => self.image(frame),
            "update" => self.update(frame),
            "unsubscribed" if frame.why.is_some() => self.unsubscribed(frame),
            "beat" => self.beat(frame),
            "error" => self.error(frame),
            _ => FrameEffect::default(),
        }
    }

    fn hello(&mut self, frame: &FrameHeader) -> FrameEffect {
        let SessionLimits { command_bytes, from_bytes } = frame.limits;
        self.command_bytes = from_bytes.or(command_bytes).unwrap_or(COMMAND_BYTES);
        let mut resumed = HashSet::new();
        let all = 0..self.subscriptions.len();
        let whole: Vec<String> = all.map(|index| self.subscribe(index, &mut resumed)).collect();
        // Positions that do not fit into a command are resumed on their own, before the pattern would
        // send an image.
        let rest: Vec<String> = self
            .all
            .keys()
            .filter(|ch| !resumed.contains(*ch) && self.is_covered(ch))
            .cloned()
            .collect();
        let mut commands: Vec<String> = rest.iter().flat_map(|ch| self.resubscribe(ch)).collect();
        commands.extend(whole);
        FrameEffect { interpret: true, commands, ..FrameEffect::default() }
    }

    fn subscribed(&mut self, frame: &FrameHeader) -> FrameEffect {
        if let Some(ch) = frame.ch.as_ref().filter(|_| frame.resumed == Some(true)) {
            self.resubscribed.remove(ch);
        }
        if let Some(subscription) = self.subscription(frame.id) {
            subscription.covers = Some(frame.channels.unwrap_or(1));
            subscription.is_missing = false;
        }
        FrameEffect::default()
    }

    fn image(&mut self, frame: &FrameHeader) -> FrameEffect {
        let FrameHeader { ch: Some(ch), epoch: Some(epoch), seq: Some(seq), .. } = frame else {
            return FrameEffect::default();
        };
        self.resubscribed.remove(ch);
        self.all.insert(ch.clone(), ChannelPosition { epoch: epoch.clone(), seq: *seq });
        FrameEffect { interpret: true, ..FrameEffect::default() }
    }

    fn update(&mut self, frame: &FrameHeader) -> FrameEffect {
        let FrameHeader { ch: Some(ch), seq: Some(seq), prev: Some(prev), .. } = frame else {
            return FrameEffect::default();
        };
        match self.all.get_mut(ch) {
            Some(position) if *seq <= position.seq => FrameEffect::default(),
            Some(position) if *prev <= position.seq => {
                position.seq = *seq;
                FrameEffect { interpret: true, ..FrameEffect::default() }
            }
            _ => FrameEffect { commands: self.resubscribe(ch), ..FrameEffect::default() },
        }
    }

    fn unsubscribed(&mut self, frame: &FrameHeader) -> FrameEffect {
        let Some(ch) = &frame.ch else { return FrameEffect::default() };
        self.all.remove(ch);
        self.resubscribed.remove(ch);
        for subscription in self.subscriptions.iter_mut().filter(|it| covers(&it.ch, ch)) {
            subscription.covers = subscription.covers.map(|covers| covers.saturating_sub(1));
        }
        FrameEffect { interpret: true, ..FrameEffect::default() }
    }

    fn beat(&mut self, frame: &FrameHeader) -> FrameEffect {
        let mut effect = FrameEffect { interpret: true, ..FrameEffect::default() };
        for (ch, head) in &frame.heads {
            if self.all.get(ch).is_none_or(|position| position.seq < *head) {
                effect.commands.extend(self.resubscribe(ch));
            }
        }
        let missing = (0..self.subscriptions.len()).filter(|it| self.subscriptions[*it].is_missing);
        for index in missing.collect::<Vec<_>>() {
            effect.commands.push(self.subscribe(index, &mut HashSet::new()));
        }
        self.heads.extend(frame.heads.iter().map(|(ch, head)| (ch.clone(), *head)));
        if frame.more {
            return effect;
        }
        let heads = std::mem::take(&mut self.heads);
        if !self.complete && self.resubscribed.is_empty() {
            self.beats += 1;
            self.complete = self.has_all(&heads);
            if self.complete {
                effect.removed = self.forget_all_but(&heads);
            }
        }
        effect
    }

    /// Whether only a pattern covers the channel; one that is subscribed to by name resumes by it.
    fn is_covered(&self, ch: &str) -> bool {
        self.subscriptions.iter().all(|it| it.ch != ch)
            && self.subscriptions.iter().any(|it| covers(&it.ch, ch))
    }

    fn has_all(&self, heads: &HashMap<String, u64>) -> bool {
        let enough = self.beats >= BEATS_ENOUGH;
        self.subscriptions.iter().all(|subscription| {
            let arrived = || heads.keys().filter(|ch| covers(&subscription.ch, ch)).count();
            subscription.covers.is_some_and(|covers| enough || arrived() >= covers)
        })
    }

    /// Removes and returns the channels that ended while disconnected.
    fn forget_all_but(&mut self, heads: &HashMap<String, u64>) -> Vec<String> {
        let removed: Vec<_> =
            self.all.keys().filter(|ch| !heads.contains_key(*ch)).cloned().collect();
        self.all.retain(|ch, _| heads.contains_key(ch));
        removed
    }

    fn error(&mut self, frame: &FrameHeader) -> FrameEffect {
        let code = frame.code.as_deref().unwrap_or_default();
        let ch = frame.ch.as_deref().unwrap_or_default();
        let mut effect = FrameEffect::default();
        match (code, self.subscription(frame.id)) {
            ("not_tracked", Some(subscription)) => {
                subscription.covers = Some(0);
                subscription.is_missing = true;
            }
            ("not_tracked", None) => {
                self.resubscribed.remove(ch);
                effect.removed.extend(self.all.remove(ch).map(|_| ch.to_owned()));
            }
            ("bad_channel" | "bad_command" | "limit", Some(subscription)) => {
                effect.refused = Some(format!("{}: {code}", subscription.ch));
            }
            _ => tracing::warn!(code, ch, "error frame from the upstream hub"),
        }
        effect
    }

    /// The subscription with the id of a command; resubscriptions of single channels have no id.
    fn subscription(&mut self, id: Option<u64>) -> Option<&mut ChannelSubscription> {
        let index = usize::try_from(id?.checked_sub(1)?).ok()?;
        self.subscriptions.get_mut(index)
    }

    /// Resubscribes to a single channel from its position; at most once until it arrives.
    fn resubscribe(&mut self, ch: &str) -> Vec<String> {
        self.complete = false;
        if !self.resubscribed.insert(ch.to_owned()) {
            return Vec::new();
        }
        let mut command = json!({"op": "subscribe", "ch": ch, "every_ms": self.every_ms});
        if let Some(position) = self.all.get(ch) {
            command["from"] = position.json();
        }
        vec![command.to_string()]
    }

    /// Subscribes from the known positions, as many as fit into a command; the others arrive as
    /// images. `resumed` holds the channels that another subscription already resumes.
    fn subscribe(&self, index: usize, resumed: &mut HashSet<String>) -> String {
        let ch = &self.subscriptions[index].ch;
        let id = index + 1;
        let mut command = json!({"op": "subscribe", "id": id, "ch": ch, "every_ms": self.every_ms});
        if let Some(position) = self.all.get(ch) {
            command["from"] = position.json();
        } else {
            let room = self.command_bytes.saturating_sub(command.to_string().len() + 16);
            let from = self.from(ch, room, resumed);
            if !from.is_empty() {
                command["from"] = Value::Object(from);
            }
        }
        command.to_string()
    }

    fn from(
        &self,
        pattern: &str,
        room: usize,
        resumed: &mut HashSet<String>,
    ) -> Map<String, Value> {
        let mut from = Map::new();
        let mut bytes = 0;
        for (ch, position) in self.all.iter().filter(|(ch, _)| covers(pattern, ch)) {
            let position = position.json();
            // Quotes, colon and comma.
            bytes += ch.len() + position.to_string().len() + 4;
            if bytes > room {
                break;
            }
            if resumed.insert(ch.clone()) {
                from.insert(ch.clone(), position);
            }
        }
        from
    }
}

impl ChannelPosition {
    fn json(&self) -> Value {
        json!({"epoch": self.epoch, "seq": self.seq})
    }
}

/// Whether the channel equals or matches the pattern, in which `*` is exactly one segment.
fn covers(pattern: &str, ch: &str) -> bool {
    let mut segments = ch.split('/');
    let all = pattern.split('/').all(|expected| {
        segments.next().is_some_and(|segment| expected == "*" || expected == segment)
    });
    all && segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(positions: &mut ChannelPositions, frame: &str) -> FrameEffect {
        positions.handle(&serde_json::from_str(frame).unwrap())
    }

    /// A connection with two matches subscribed by a pattern, at 10 and 20.
    fn following() -> ChannelPositions {
        let mut positions = ChannelPositions::new(vec!["football/*".to_owned()], 0);
        positions.connected();
        join(&mut positions);
        positions
    }

    fn join(positions: &mut ChannelPositions) {
        handle(positions, r#"{"type":"subscribed","id":1,"ch":"football/*","channels":2}"#);
        for (ch, seq) in [("football/1", 10), ("football/2", 20)] {
            let image =
                format!(r#"{{"type":"image","ch":"{ch}","epoch":"e","seq":{seq},"data":{{}}}}"#);
            assert!(handle(positions, &image).interpret);
        }
        let beat = r#"{"type":"beat","now":1,"heads":{"football/1":10,"football/2":20}}"#;
        assert_eq!(handle(positions, beat).commands, [] as [&str; 0]);
        assert!(positions.is_complete());
    }

    #[test]
    fn hello_subscribes_and_a_beat_that_confirms_all_channels_completes() {
        let mut positions =
            ChannelPositions::new(vec!["football/*".to_owned(), "feeds".to_owned()], 250);
        positions.connected();
        let effect = handle(&mut positions, r#"{"type":"hello","beat_ms":5000,"limits":{}}"#);
        let expected = [
            r#"{"ch":"football/*","every_ms":250,"id":1,"op":"subscribe"}"#,
            r#"{"ch":"feeds","every_ms":250,"id":2,"op":"subscribe"}"#,
        ];
        assert_eq!(effect.commands, expected);
        let mut check = |frame: &str, complete: bool| {
            handle(&mut positions, frame);
            assert_eq!(positions.is_complete(), complete, "{frame}");
        };
        check(r#"{"type":"subscribed","id":1,"ch":"football/*","channels":1}"#, false);
        check(
            r#"{"type":"subscribed","id":2,"ch":"feeds","epoch":"f","seq":3,"resumed":false}"#,
            false,
        );
        check(r#"{"type":"image","ch":"football/1","epoch":"e","seq":10}"#, false);
        check(r#"{"type":"beat","heads":{"football/1":10}}"#, false);
        check(r#"{"type":"image","ch":"feeds","epoch":"f","seq":3}"#, false);
        check(r#"{"type":"beat","heads":{"football/1":10,"feeds":3}}"#, true);
    }

    #[test]
    fn updates_advance_the_position_and_old_ones_are_skipped() {
        let mut positions = following();
        let mut check = |prev: u64, seq: u64, interpret: bool| {
            let update =
                format!(r#"{{"type":"update","ch":"football/1","seq":{seq},"prev":{prev}}}"#);
            let expected = FrameEffect { interpret, ..FrameEffect::default() };
            assert_eq!(handle(&mut positions, &update), expected, "{update}");
        };
        check(9, 10, false);
        check(10, 11, true);
        check(8, 13, true);
        check(12, 13, false);
    }

    #[test]
    fn a_gap_is_resubscribed_once_from_the_position() {
        let mut positions = following();
        let hole = r#"{"type":"update","ch":"football/1","seq":13,"prev":12}"#;
        let effect = handle(&mut positions, hole);
        let command =
            r#"{"ch":"football/1","every_ms":0,"from":{"epoch":"e","seq":10},"op":"subscribe"}"#;
        assert_eq!((effect.commands, effect.interpret), (vec![command.to_owned()], false));
        assert_eq!(handle(&mut positions, hole), FrameEffect::default());
        assert!(!positions.is_complete());
        let resumed = r#"{"type":"subscribed","id":null,"ch":"football/1","epoch":"e","seq":13,"resumed":true}"#;
        handle(&mut positions, resumed);
        assert!(
            handle(&mut positions, r#"{"type":"update","ch":"football/1","seq":13,"prev":10}"#)
                .interpret
        );
        let beat = r#"{"type":"beat","heads":{"football/1":13,"football/2":20}}"#;
        handle(&mut positions, beat);
        assert!(positions.is_complete());
    }

    #[test]
    fn a_head_beyond_the_position_is_resubscribed() {
        let mut positions = following();
        let beat = r#"{"type":"beat","heads":{"football/1":11,"football/2":20}}"#;
        let effect = handle(&mut positions, beat);
        assert_eq!(effect.commands.len(), 1, "{effect:?}");
        assert!(!positions.is_complete());
        // An unusable document: its position is dropped, and it is resubscribed without one.
        let mut positions = following();
        positions.invalidate("football/2");
        let beat = r#"{"type":"beat","heads":{"football/1":10,"football/2":20}}"#;
        let effect = handle(&mut positions, beat);
        assert_eq!(effect.commands, [r#"{"ch":"football/2","every_ms":0,"op":"subscribe"}"#]);
    }

    #[test]
    fn after_a_disconnect_it_resumes_and_removes_ended_channels() {
        let mut positions = following();
        positions.connected();
        assert!(!positions.is_complete());
        let effect = handle(&mut positions, r#"{"type":"hello"}"#);
        let command: Value = serde_json::from_str(&effect.commands[0]).unwrap();
        let expected = json!({
            "football/1": {"epoch": "e", "seq": 10},
            "football/2": {"epoch": "e", "seq": 20},
        });
        assert_eq!(command["from"], expected);
        handle(&mut positions, r#"{"type":"subscribed","id":1,"ch":"football/*","channels":1}"#);
        let effect = handle(&mut positions, r#"{"type":"beat","heads":{"football/2":20}}"#);
        assert_eq!(effect.removed, ["football/1"]);
        assert!(positions.is_complete());
    }

    #[test]
    fn a_command_is_never_longer_than_the_hub_takes() {
        let mut positions = ChannelPositions::new(vec!["football/*".to_owned()], 0);
        for match_id in 0..1000 {
            let frame =
                format!(r#"{{"type":"image","ch":"football/{match_id}","epoch":"e","seq":1}}"#);
            handle(&mut positions, &frame);
        }
        let effect = handle(&mut positions, r#"{"type":"hello","limits":{"command_bytes":2000}}"#);
        let (whole, rest) = effect.commands.split_last().expect("it subscribes");
        assert!((1900..=2000).contains(&whole.len()), "{}", whole.len());
        let whole: Value = serde_json::from_str(whole).unwrap();
        let from = whole["from"].as_object().expect("positions").len();
        assert_eq!(rest.len() + from, 1000, "each channel resumes, by name or by the pattern");
        let effect = handle(&mut positions, r#"{"type":"hello","limits":{"from_bytes":262144}}"#);
        assert_eq!(effect.commands.len(), 1, "there is room for all");
    }

    #[test]
    fn a_beat_in_parts_is_one_beat() {
        let mut positions = following();
        positions.connected();
        handle(&mut positions, r#"{"type":"subscribed","id":1,"ch":"football/*","channels":2}"#);
        let part = r#"{"type":"beat","heads":{"football/1":10},"more":true}"#;
        assert_eq!(handle(&mut positions, part).removed, Vec::<String>::new());
        assert!(!positions.is_complete(), "a part is not the whole");
        let effect = handle(&mut positions, r#"{"type":"beat","heads":{"football/2":20}}"#);
        assert_eq!(effect.removed, Vec::<String>::new(), "the first part contained it");
        assert!(positions.is_complete());
    }

    #[test]
    fn a_count_that_is_never_reached_does_not_block_completion() {
        let mut positions = following();
        positions.connected();
        handle(&mut positions, r#"{"type":"subscribed","id":1,"ch":"football/*","channels":3}"#);
        let beat = r#"{"type":"beat","heads":{"football/1":10,"football/2":20}}"#;
        for complete in [false, false, true] {
            handle(&mut positions, beat);
            assert_eq!(positions.is_complete(), complete);
        }
        // A channel that is reported gone is not waited for.
        positions.connected();
        handle(&mut positions, r#"{"type":"subscribed","id":1,"ch":"football/*","channels":3}"#);
        handle(&mut positions, r#"{"type":"unsubscribed","ch":"football/3","why":"gone"}"#);
        handle(&mut positions, beat);
        assert!(positions.is_complete());
    }

    #[test]
    fn a_missing_channel_is_retried_with_each_beat() {
        let mut positions = ChannelPositions::new(vec!["football/7".to_owned()], 0);
        let error =
            r#"{"type":"error","id":1,"ch":"football/7","code":"not_tracked","retry":true}"#;
        assert_eq!(handle(&mut positions, error), FrameEffect::default());
        let effect = handle(&mut positions, r#"{"type":"beat","heads":{}}"#);
        assert_eq!(
            effect.commands,
            [r#"{"ch":"football/7","every_ms":0,"id":1,"op":"subscribe"}"#]
        );
        let error = r#"{"type":"error","id":1,"ch":"football/7","code":"limit","retry":false}"#;
        assert_eq!(handle(&mut positions, error).refused.as_deref(), Some("football/7: limit"));
    }

    #[test]
    fn patterns_cover_whole_segments() {
        let check = |pattern: &str, ch: &str, expected: bool| {
            assert_eq!(covers(pattern, ch), expected, "{pattern} {ch}");
        };
        check("football/*", "football/7", true);
        check("football/*", "football", false);
        check("football/*", "football/7/odds", false);
        check("*/*/odds/betfair", "tennis/3/odds/betfair", true);
        check("football/7", "football/77", false);
    }
}
