//! Where we stand in each channel of another hub, and what must be said to get on.
//!
//! Pure: frames in, commands out. A subscription is complete when a `beat` names as many channels as
//! the hub said that it covers, and we have brought each of them to where the beat has it.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::frame::{Frame, Limits};

/// The other hub's limit where it does not tell one.
const COMMAND_BYTES: usize = 16_384;
/// A channel may come and go between the count and the images, and the count is then never reached:
/// after so many beats that find nothing missing, nothing is.
const BEATS_ENOUGH: u32 = 3;

/// What a frame leads to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Taken {
    /// The interpreter is to see it.
    pub(super) interpret: bool,
    /// Commands to be sent.
    pub(super) send: Vec<String>,
    /// Channels that exist no longer although nobody said so.
    pub(super) gone: Vec<String>,
    /// A subscription is refused for good: what, and why.
    pub(super) refused: Option<String>,
}

#[derive(Debug)]
pub(super) struct Positions {
    every_ms: u64,
    subscriptions: Vec<Subscription>,
    all: HashMap<String, Position>,
    /// Channels that were subscribed to anew on their own, and have not come yet.
    asked: HashSet<String>,
    /// Of a command that carries positions.
    command_bytes: usize,
    /// What the parts of a beat have told that has more of them.
    heads: HashMap<String, u64>,
    complete: bool,
    beats: u32,
}

#[derive(Debug)]
struct Subscription {
    /// A channel or a pattern.
    ch: String,
    /// How many channels are still to come to be complete; `None` until the hub has answered.
    covers: Option<usize>,
    /// There is no such channel now; it is asked for again with each beat.
    is_missing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    epoch: String,
    seq: u64,
}

impl Positions {
    pub(super) fn new(channels: Vec<String>, every_ms: u64) -> Self {
        let subscription = |ch| Subscription { ch, covers: None, is_missing: false };
        Self {
            every_ms,
            subscriptions: channels.into_iter().map(subscription).collect(),
            all: HashMap::new(),
            asked: HashSet::new(),
            command_bytes: COMMAND_BYTES,
            heads: HashMap::new(),
            complete: false,
            beats: 0,
        }
    }

    /// Whether all that is subscribed to has come.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// A connection is made, and knows nothing of the one before.
    pub(super) fn connected(&mut self) {
        self.asked.clear();
        self.heads.clear();
        self.complete = false;
        self.beats = 0;
        for subscription in &mut self.subscriptions {
            subscription.covers = None;
            subscription.is_missing = false;
        }
    }

    /// What a channel said last could not be used: the next beat finds it missing.
    pub(super) fn distrust(&mut self, ch: &str) {
        self.all.remove(ch);
        self.complete = false;
    }

    pub(super) fn take(&mut self, frame: &Frame) -> Taken {
        match frame.kind.as_str() {
            "hello" => self.hello(frame),
            "subscribed" => self.subscribed(frame),
            "image" => self.image(frame),
            "update" => self.update(frame),
            "unsubscribed" if frame.why.is_some() => self.gone(frame),
            "beat" => self.beat(frame),
            "error" => self.error(frame),
            _ => Taken::default(),
        }
    }

    fn hello(&mut self, frame: &Frame) -> Taken {
        let Limits { command_bytes, from_bytes } = frame.limits;
        self.command_bytes = from_bytes.or(command_bytes).unwrap_or(COMMAND_BYTES);
        let mut told = HashSet::new();
        let all = 0..self.subscriptions.len();
        let whole: Vec<String> = all.map(|place| self.subscribe(place, &mut told)).collect();
        // What found no room in a command is resumed on its own, before a pattern brings its image.
        let rest: Vec<String> = self
            .all
            .keys()
            .filter(|ch| !told.contains(*ch) && self.is_covered(ch))
            .cloned()
            .collect();
        let mut send: Vec<String> = rest.iter().flat_map(|ch| self.ask(ch)).collect();
        send.extend(whole);
        Taken { interpret: true, send, ..Taken::default() }
    }

    fn subscribed(&mut self, frame: &Frame) -> Taken {
        if let Some(ch) = frame.ch.as_ref().filter(|_| frame.resumed == Some(true)) {
            self.asked.remove(ch);
        }
        if let Some(subscription) = self.of(frame.id) {
            subscription.covers = Some(frame.channels.unwrap_or(1));
            subscription.is_missing = false;
        }
        Taken::default()
    }

    fn image(&mut self, frame: &Frame) -> Taken {
        let Frame { ch: Some(ch), epoch: Some(epoch), seq: Some(seq), .. } = frame else {
            return Taken::default();
        };
        self.asked.remove(ch);
        self.all.insert(ch.clone(), Position { epoch: epoch.clone(), seq: *seq });
        Taken { interpret: true, ..Taken::default() }
    }

    fn update(&mut self, frame: &Frame) -> Taken {
        let Frame { ch: Some(ch), seq: Some(seq), prev: Some(prev), .. } = frame else {
            return Taken::default();
        };
        match self.all.get_mut(ch) {
            Some(position) if *seq <= position.seq => Taken::default(),
            Some(position) if *prev <= position.seq => {
                position.seq = *seq;
                Taken { interpret: true, ..Taken::default() }
            }
            _ => Taken { send: self.ask(ch), ..Taken::default() },
        }
    }

    fn gone(&mut self, frame: &Frame) -> Taken {
        let Some(ch) = &frame.ch else { return Taken::default() };
        self.all.remove(ch);
        self.asked.remove(ch);
        for subscription in self.subscriptions.iter_mut().filter(|it| covers(&it.ch, ch)) {
            subscription.covers = subscription.covers.map(|covers| covers.saturating_sub(1));
        }
        Taken { interpret: true, ..Taken::default() }
    }

    fn beat(&mut self, frame: &Frame) -> Taken {
        let mut taken = Taken { interpret: true, ..Taken::default() };
        for (ch, head) in &frame.heads {
            if self.all.get(ch).is_none_or(|position| position.seq < *head) {
                taken.send.extend(self.ask(ch));
            }
        }
        let missing = (0..self.subscriptions.len()).filter(|it| self.subscriptions[*it].is_missing);
        for place in missing.collect::<Vec<_>>() {
            taken.send.push(self.subscribe(place, &mut HashSet::new()));
        }
        self.heads.extend(frame.heads.iter().map(|(ch, head)| (ch.clone(), *head)));
        if frame.more {
            return taken;
        }
        let heads = std::mem::take(&mut self.heads);
        if !self.complete && self.asked.is_empty() {
            self.beats += 1;
            self.complete = self.has_all(&heads);
            if self.complete {
                taken.gone = self.forget_but(&heads);
            }
        }
        taken
    }

    /// Whether a pattern covers the channel; one that is subscribed to by name resumes by that.
    fn is_covered(&self, ch: &str) -> bool {
        self.subscriptions.iter().all(|it| it.ch != ch)
            && self.subscriptions.iter().any(|it| covers(&it.ch, ch))
    }

    fn has_all(&self, heads: &HashMap<String, u64>) -> bool {
        let enough = self.beats >= BEATS_ENOUGH;
        self.subscriptions.iter().all(|subscription| {
            let come = || heads.keys().filter(|ch| covers(&subscription.ch, ch)).count();
            subscription.covers.is_some_and(|covers| enough || come() >= covers)
        })
    }

    /// What ended while we were away.
    fn forget_but(&mut self, heads: &HashMap<String, u64>) -> Vec<String> {
        let gone: Vec<_> = self.all.keys().filter(|ch| !heads.contains_key(*ch)).cloned().collect();
        self.all.retain(|ch, _| heads.contains_key(ch));
        gone
    }

    fn error(&mut self, frame: &Frame) -> Taken {
        let code = frame.code.as_deref().unwrap_or_default();
        let ch = frame.ch.as_deref().unwrap_or_default();
        let mut taken = Taken::default();
        match (code, self.of(frame.id)) {
            ("not_tracked", Some(subscription)) => {
                subscription.covers = Some(0);
                subscription.is_missing = true;
            }
            ("not_tracked", None) => {
                self.asked.remove(ch);
                taken.gone.extend(self.all.remove(ch).map(|_| ch.to_owned()));
            }
            ("bad_channel" | "bad_command" | "limit", Some(subscription)) => {
                taken.refused = Some(format!("{}: {code}", subscription.ch));
            }
            _ => tracing::warn!(code, ch, "the upstream hub says that something is wrong"),
        }
        taken
    }

    /// The subscription that a command's id names; those of single channels have none.
    fn of(&mut self, id: Option<u64>) -> Option<&mut Subscription> {
        let place = usize::try_from(id?.checked_sub(1)?).ok()?;
        self.subscriptions.get_mut(place)
    }

    /// Subscribes to a single channel again, from where we stand; once until it has come.
    fn ask(&mut self, ch: &str) -> Vec<String> {
        self.complete = false;
        if !self.asked.insert(ch.to_owned()) {
            return Vec::new();
        }
        let mut command = json!({"op": "subscribe", "ch": ch, "every_ms": self.every_ms});
        if let Some(position) = self.all.get(ch) {
            command["from"] = position.json();
        }
        vec![command.to_string()]
    }

    /// Subscribes from where we stand, as far as that has room in a command: what has not comes as
    /// an image. `told` are the channels that another subscription has told of.
    fn subscribe(&self, place: usize, told: &mut HashSet<String>) -> String {
        let ch = &self.subscriptions[place].ch;
        let id = place + 1;
        let mut command = json!({"op": "subscribe", "id": id, "ch": ch, "every_ms": self.every_ms});
        if let Some(position) = self.all.get(ch) {
            command["from"] = position.json();
        } else {
            let room = self.command_bytes.saturating_sub(command.to_string().len() + 16);
            let from = self.from(ch, room, told);
            if !from.is_empty() {
                command["from"] = Value::Object(from);
            }
        }
        command.to_string()
    }

    fn from(&self, pattern: &str, room: usize, told: &mut HashSet<String>) -> Map<String, Value> {
        let mut from = Map::new();
        let mut bytes = 0;
        for (ch, position) in self.all.iter().filter(|(ch, _)| covers(pattern, ch)) {
            let position = position.json();
            // Quotes, colon and comma.
            bytes += ch.len() + position.to_string().len() + 4;
            if bytes > room {
                break;
            }
            if told.insert(ch.clone()) {
                from.insert(ch.clone(), position);
            }
        }
        from
    }
}

impl Position {
    fn json(&self) -> Value {
        json!({"epoch": self.epoch, "seq": self.seq})
    }
}

/// Whether a channel is the one named, or matches the pattern: `*` is any one whole segment.
fn covers(pattern: &str, ch: &str) -> bool {
    let mut segments = ch.split('/');
    let all = pattern
        .split('/')
        .all(|wanted| segments.next().is_some_and(|segment| wanted == "*" || wanted == segment));
    all && segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(positions: &mut Positions, frame: &str) -> Taken {
        positions.take(&serde_json::from_str(frame).unwrap())
    }

    /// A connection that follows two matches by a pattern, at 10 and 20.
    fn following() -> Positions {
        let mut positions = Positions::new(vec!["football/*".to_owned()], 0);
        positions.connected();
        join(&mut positions);
        positions
    }

    fn join(positions: &mut Positions) {
        take(positions, r#"{"type":"subscribed","id":1,"ch":"football/*","channels":2}"#);
        for (ch, seq) in [("football/1", 10), ("football/2", 20)] {
            let image =
                format!(r#"{{"type":"image","ch":"{ch}","epoch":"e","seq":{seq},"data":{{}}}}"#);
            assert!(take(positions, &image).interpret);
        }
        let beat = r#"{"type":"beat","now":1,"heads":{"football/1":10,"football/2":20}}"#;
        assert_eq!(take(positions, beat).send, [] as [&str; 0]);
        assert!(positions.is_complete());
    }

    #[test]
    fn it_subscribes_when_greeted_and_is_complete_when_a_beat_confirms_all_channels() {
        let mut positions = Positions::new(vec!["football/*".to_owned(), "feeds".to_owned()], 250);
        positions.connected();
        let taken = take(&mut positions, r#"{"type":"hello","beat_ms":5000,"limits":{}}"#);
        let expected = [
            r#"{"ch":"football/*","every_ms":250,"id":1,"op":"subscribe"}"#,
            r#"{"ch":"feeds","every_ms":250,"id":2,"op":"subscribe"}"#,
        ];
        assert_eq!(taken.send, expected);
        let mut check = |frame: &str, complete: bool| {
            take(&mut positions, frame);
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
    fn updates_lead_on_and_what_is_known_is_skipped() {
        let mut positions = following();
        let mut check = |prev: u64, seq: u64, interpret: bool| {
            let update =
                format!(r#"{{"type":"update","ch":"football/1","seq":{seq},"prev":{prev}}}"#);
            let expected = Taken { interpret, ..Taken::default() };
            assert_eq!(take(&mut positions, &update), expected, "{update}");
        };
        check(9, 10, false);
        check(10, 11, true);
        check(8, 13, true);
        check(12, 13, false);
    }

    #[test]
    fn what_is_missing_is_asked_for_once_from_where_we_stand() {
        let mut positions = following();
        let hole = r#"{"type":"update","ch":"football/1","seq":13,"prev":12}"#;
        let taken = take(&mut positions, hole);
        let asked =
            r#"{"ch":"football/1","every_ms":0,"from":{"epoch":"e","seq":10},"op":"subscribe"}"#;
        assert_eq!((taken.send, taken.interpret), (vec![asked.to_owned()], false));
        assert_eq!(take(&mut positions, hole), Taken::default());
        assert!(!positions.is_complete());
        let resumed = r#"{"type":"subscribed","id":null,"ch":"football/1","epoch":"e","seq":13,"resumed":true}"#;
        take(&mut positions, resumed);
        assert!(
            take(&mut positions, r#"{"type":"update","ch":"football/1","seq":13,"prev":10}"#)
                .interpret
        );
        let beat = r#"{"type":"beat","heads":{"football/1":13,"football/2":20}}"#;
        take(&mut positions, beat);
        assert!(positions.is_complete());
    }

    #[test]
    fn a_head_that_is_ahead_of_us_is_asked_for() {
        let mut positions = following();
        let beat = r#"{"type":"beat","heads":{"football/1":11,"football/2":20}}"#;
        let taken = take(&mut positions, beat);
        assert_eq!(taken.send.len(), 1, "{taken:?}");
        assert!(!positions.is_complete());
        // An unusable document: it is not known any more, and asked for without a position.
        let mut positions = following();
        positions.distrust("football/2");
        let beat = r#"{"type":"beat","heads":{"football/1":10,"football/2":20}}"#;
        let taken = take(&mut positions, beat);
        assert_eq!(taken.send, [r#"{"ch":"football/2","every_ms":0,"op":"subscribe"}"#]);
    }

    #[test]
    fn after_a_cut_it_resumes_and_forgets_what_ended_meanwhile() {
        let mut positions = following();
        positions.connected();
        assert!(!positions.is_complete());
        let taken = take(&mut positions, r#"{"type":"hello"}"#);
        let command: Value = serde_json::from_str(&taken.send[0]).unwrap();
        let expected = json!({
            "football/1": {"epoch": "e", "seq": 10},
            "football/2": {"epoch": "e", "seq": 20},
        });
        assert_eq!(command["from"], expected);
        take(&mut positions, r#"{"type":"subscribed","id":1,"ch":"football/*","channels":1}"#);
        let taken = take(&mut positions, r#"{"type":"beat","heads":{"football/2":20}}"#);
        assert_eq!(taken.gone, ["football/1"]);
        assert!(positions.is_complete());
    }

    #[test]
    fn a_command_is_never_longer_than_the_hub_takes() {
        let mut positions = Positions::new(vec!["football/*".to_owned()], 0);
        for match_id in 0..1000 {
            let frame =
                format!(r#"{{"type":"image","ch":"football/{match_id}","epoch":"e","seq":1}}"#);
            take(&mut positions, &frame);
        }
        let taken = take(&mut positions, r#"{"type":"hello","limits":{"command_bytes":2000}}"#);
        let (whole, rest) = taken.send.split_last().expect("it subscribes");
        assert!((1900..=2000).contains(&whole.len()), "{}", whole.len());
        let whole: Value = serde_json::from_str(whole).unwrap();
        let from = whole["from"].as_object().expect("positions").len();
        assert_eq!(rest.len() + from, 1000, "each channel resumes, by name or by the pattern");
        let taken = take(&mut positions, r#"{"type":"hello","limits":{"from_bytes":262144}}"#);
        assert_eq!(taken.send.len(), 1, "there is room for all");
    }

    #[test]
    fn a_beat_in_parts_is_one_beat() {
        let mut positions = following();
        positions.connected();
        take(&mut positions, r#"{"type":"subscribed","id":1,"ch":"football/*","channels":2}"#);
        let part = r#"{"type":"beat","heads":{"football/1":10},"more":true}"#;
        assert_eq!(take(&mut positions, part).gone, Vec::<String>::new());
        assert!(!positions.is_complete(), "a part is not the whole");
        let taken = take(&mut positions, r#"{"type":"beat","heads":{"football/2":20}}"#);
        assert_eq!(taken.gone, Vec::<String>::new(), "the first part told of it");
        assert!(positions.is_complete());
    }

    #[test]
    fn a_count_that_is_never_reached_does_not_hold_it_up_for_ever() {
        let mut positions = following();
        positions.connected();
        take(&mut positions, r#"{"type":"subscribed","id":1,"ch":"football/*","channels":3}"#);
        let beat = r#"{"type":"beat","heads":{"football/1":10,"football/2":20}}"#;
        for complete in [false, false, true] {
            take(&mut positions, beat);
            assert_eq!(positions.is_complete(), complete);
        }
        // One that is said to be gone is not waited for.
        positions.connected();
        take(&mut positions, r#"{"type":"subscribed","id":1,"ch":"football/*","channels":3}"#);
        take(&mut positions, r#"{"type":"unsubscribed","ch":"football/3","why":"gone"}"#);
        take(&mut positions, beat);
        assert!(positions.is_complete());
    }

    #[test]
    fn a_channel_that_is_not_there_yet_is_asked_for_with_each_beat() {
        let mut positions = Positions::new(vec!["football/7".to_owned()], 0);
        let error =
            r#"{"type":"error","id":1,"ch":"football/7","code":"not_tracked","retry":true}"#;
        assert_eq!(take(&mut positions, error), Taken::default());
        let taken = take(&mut positions, r#"{"type":"beat","heads":{}}"#);
        assert_eq!(taken.send, [r#"{"ch":"football/7","every_ms":0,"id":1,"op":"subscribe"}"#]);
        let error = r#"{"type":"error","id":1,"ch":"football/7","code":"limit","retry":false}"#;
        assert_eq!(take(&mut positions, error).refused.as_deref(), Some("football/7: limit"));
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
