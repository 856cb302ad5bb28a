//! The channels of another hub, and when all of them are here.
//!
//! Pure: frames and the time in, commands out. Subscriptions, positions and gaps are those of the
//! [`Session`]. This module decides what only a source does: a subscription is complete when a `beat`
//! names as many channels as the hub reported as covered, and each of them has reached the position
//! in the beat; and some refusals are final.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Display,
    mem,
};

use client::{Effect, Frame, FrameError, Millis, Output, Session, covers};

/// A channel may open and close between the count and the images, and the count is then never
/// reached. After this many beats without a gap the subscription counts as complete.
const BEATS_ENOUGH: u32 = 3;

/// After this time a channel is requested again for which the other hub had no room.
const ROOM_WITHIN_MS: Millis = 60_000;

/// The effect of a frame.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FrameEffect {
    /// The frame is to be interpreted.
    pub(super) interpret: bool,
    /// Commands to send.
    pub(super) commands: Vec<String>,
    /// Channels that ended without a frame of their own, some of them while disconnected.
    pub(super) removed: Vec<String>,
    /// A subscription was refused permanently: its channel and the error code.
    pub(super) refused: Option<String>,
}

#[derive(Debug)]
pub(super) struct ChannelPositions {
    /// The channels and patterns to follow.
    follows: Vec<String>,
    session: Session,
    /// How many channels each pattern covers, if the hub has replied.
    counts: HashMap<String, u64>,
    /// Whether a channel or a pattern was refused, so that this connection never is complete.
    is_refused: bool,
    /// The heads from the parts of a beat that is not complete yet.
    heads: BTreeMap<String, u64>,
    /// Whether a part of that beat was ahead of the positions, or may be missing.
    is_behind: bool,
    complete: bool,
    /// Beats without a gap since all commands were answered, up to the one that completed.
    beats: u32,
}

impl ChannelPositions {
    pub(super) fn new(follows: Vec<String>, every_ms: Millis) -> Self {
        Self {
            session: Session::new(follows.iter().cloned()).with_every_ms(every_ms),
            follows,
            counts: HashMap::new(),
            is_refused: false,
            heads: BTreeMap::new(),
            is_behind: false,
            complete: false,
            beats: 0,
        }
    }

    /// Whether every subscription is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Resets the state of the connection, but not the positions.
    pub(super) fn connected(&mut self, now: Millis) {
        self.session.ended(None, now, 0.0);
        self.session.connecting(now);
        self.counts.clear();
        self.is_refused = false;
        self.heads.clear();
        self.is_behind = false;
        self.complete = false;
        self.beats = 0;
    }

    /// Drops the position of a channel whose last frame could not be used, so that its next update or
    /// the next beats resubscribe it.
    pub(super) fn invalidate(&mut self, ch: &str) {
        self.session.discard(ch);
        self.complete = false;
    }

    /// Leaves out a frame. The session requests what is missing when the next beats show it.
    pub(super) fn skip(&mut self, error: &dyn Display) {
        base::log_limited!(warn, %error, "left out a frame of the upstream hub");
        self.is_behind = true;
        self.complete = false;
    }

    pub(super) fn handle(
        &mut self,
        frame: &Frame<'_>,
        now: Millis,
    ) -> Result<FrameEffect, FrameError> {
        let mut effect = FrameEffect::default();
        match self.session.track(frame, now) {
            Ok(Effect::Image | Effect::Update { .. }) => effect.interpret = true,
            Ok(Effect::Gap) => self.complete = false,
            Ok(Effect::Ended(channels)) => self.handle_end(frame, channels, &mut effect),
            Ok(Effect::Refused(names)) => self.handle_refusal(frame, names, &mut effect),
            Ok(Effect::None) => self.handle_other(frame, &mut effect),
            // Without this answer it would never be complete.
            Err(error) if frame.kind == "subscribed" => return Err(error),
            Err(error) => self.skip(&error),
        }
        self.session.tick(now)?;
        let send = |output| match output {
            Output::Send(command) => Some(command),
            Output::Changed { .. } => None,
        };
        effect.commands = self.session.outputs().into_iter().filter_map(send).collect();
        Ok(effect)
    }

    fn handle_end(&mut self, frame: &Frame<'_>, channels: Vec<String>, effect: &mut FrameEffect) {
        // The frame names the first 1,000; the next beats show which others have ended.
        self.complete &= frame.channels <= Some(channels.len() as u64);
        for ch in &channels {
            self.session.discard(ch);
            self.heads.remove(ch);
            for (pattern, count) in &mut self.counts {
                if covers(pattern, ch) {
                    *count = count.saturating_sub(1);
                }
            }
        }
        // Interpreted as it came, so that it is recorded as it came.
        effect.interpret = frame.kind == "unsubscribed";
        if !effect.interpret {
            effect.removed = channels;
        }
    }

    fn handle_refusal(&mut self, frame: &Frame<'_>, names: Vec<String>, effect: &mut FrameEffect) {
        for name in names {
            if !self.follows.contains(&name) {
                effect.removed.push(name);
                continue;
            }
            let refused = self.session.channels().get(&name).and_then(|it| it.refused.as_deref());
            match frame.code.as_deref().or(refused).unwrap_or_default() {
                "not_tracked" => {
                    self.counts.insert(name, 0);
                }
                // There was room for all other channels, so they are not given up.
                "limit" if self.beats > 0 => {
                    base::log_limited!(warn, ch = name.as_str(), "no room at the upstream hub");
                    self.session.request_again(&name, ROOM_WITHIN_MS);
                    self.counts.insert(name, 0);
                }
                code @ ("bad_channel" | "bad_command" | "limit") => {
                    effect.refused = Some(format!("{name}: {code}"));
                }
                code => {
                    tracing::warn!(code, ch = name.as_str(), "error frame from the upstream hub");
                    self.is_refused = true;
                }
            }
        }
    }

    fn handle_other(&mut self, frame: &Frame<'_>, effect: &mut FrameEffect) {
        match &*frame.kind {
            "hello" => effect.interpret = true,
            "subscribed" => {
                if let (Some(ch), Some(channels)) = (&frame.ch, frame.channels)
                    && self.follows.iter().any(|it| it == ch)
                {
                    self.counts.insert(ch.to_string(), channels);
                }
            }
            "beat" => {
                effect.interpret = true;
                effect.removed = self.beat(frame);
            }
            "error" => {
                let (code, ch) = (frame.code.as_deref(), frame.ch.as_deref());
                tracing::warn!(code, ch, "error frame from the upstream hub");
            }
            _ => {}
        }
    }

    /// Returns the channels that ended while disconnected, if the subscriptions are complete now.
    fn beat(&mut self, frame: &Frame<'_>) -> Vec<String> {
        // Each part on its own: a channel may end before the last one.
        self.is_behind |= !self.session.has_reached(&frame.heads);
        self.heads.extend(frame.heads.iter().map(|(ch, head)| (ch.clone(), *head)));
        if frame.more {
            return Vec::new();
        }
        let heads = mem::take(&mut self.heads);
        if mem::take(&mut self.is_behind) {
            self.complete = false;
        } else if !self.complete && !self.is_refused && self.session.is_answered() {
            self.beats += 1;
            self.complete = self.has_all(&heads);
            if self.complete {
                return self.forget_all_but(&heads);
            }
        }
        Vec::new()
    }

    fn has_all(&self, heads: &BTreeMap<String, u64>) -> bool {
        let enough = self.beats >= BEATS_ENOUGH;
        self.follows.iter().all(|name| {
            let arrived = || heads.keys().filter(|ch| covers(name, ch)).count() as u64;
            let expected = self.counts.get(name).copied().unwrap_or(1);
            enough || arrived() >= expected
        })
    }

    /// Removes the channels that ended while disconnected, and returns those with a position.
    fn forget_all_but(&mut self, heads: &BTreeMap<String, u64>) -> Vec<String> {
        let channels = self.session.channels().keys();
        let mut removed: Vec<String> =
            channels.filter(|ch| !heads.contains_key(*ch)).cloned().collect();
        removed.retain(|ch| self.session.discard(ch));
        removed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const BEAT_MS: Millis = 5_000;

    /// The source at a moment.
    struct Source {
        positions: ChannelPositions,
        now: Millis,
    }

    impl Source {
        fn new(channels: &[&str], every_ms: Millis) -> Self {
            let channels = channels.iter().map(|ch| (*ch).to_owned()).collect();
            Self { positions: ChannelPositions::new(channels, every_ms), now: 0 }
        }

        /// Handles a frame, a beat later.
        fn handle(&mut self, frame: &Value) -> FrameEffect {
            self.now += BEAT_MS;
            let text = frame.to_string();
            let frame = Frame::parse(text.as_bytes()).unwrap();
            self.positions.handle(&frame, self.now).unwrap()
        }

        /// Opens a connection, and returns its commands.
        fn open(&mut self, limits: &Value) -> Vec<Value> {
            self.positions.connected(self.now);
            assert!(!self.is_complete());
            let hello = json!({"type": "hello", "beat_ms": BEAT_MS, "limits": limits});
            let effect = self.handle(&hello);
            assert!(effect.interpret);
            parse(&effect.commands)
        }

        /// Answers a command with a number of channels.
        fn answer(&mut self, command: &Value, channels: u64) {
            let (id, ch) = (&command["id"], &command["ch"]);
            self.handle(&json!({"type": "subscribed", "id": id, "ch": ch, "channels": channels}));
        }

        fn image(&mut self, ch: &str, seq: u64) {
            let image = json!({"type": "image", "ch": ch, "epoch": "e", "seq": seq, "data": {}});
            assert!(self.handle(&image).interpret);
        }

        fn update(&mut self, prev: u64, seq: u64) -> FrameEffect {
            self.handle(&json!({"type": "update", "ch": "football/1", "seq": seq, "prev": prev}))
        }

        fn beat(&mut self, heads: &Value) -> FrameEffect {
            self.handle(&json!({"type": "beat", "now": 1, "heads": heads}))
        }

        fn is_complete(&self) -> bool {
            self.positions.is_complete()
        }
    }

    fn parse(commands: &[String]) -> Vec<Value> {
        commands.iter().map(|command| serde_json::from_str(command).unwrap()).collect()
    }

    /// A connection with two matches subscribed by a pattern, at 10 and 20.
    fn following() -> Source {
        let mut source = Source::new(&["football/*"], 0);
        let commands = source.open(&json!({}));
        source.answer(&commands[0], 2);
        source.image("football/1", 10);
        source.image("football/2", 20);
        assert_eq!(source.beat(&both()).commands, [] as [&str; 0]);
        assert!(source.is_complete());
        source
    }

    fn both() -> Value {
        json!({"football/1": 10, "football/2": 20})
    }

    #[test]
    fn hello_subscribes_and_a_beat_that_confirms_all_channels_completes() {
        let mut source = Source::new(&["football/*", "feeds"], 250);
        let commands = source.open(&json!({}));
        let names: Vec<_> =
            commands.iter().map(|it| (it["ch"].as_str(), it["every_ms"].as_u64())).collect();
        assert_eq!(names, [(Some("feeds"), Some(250)), (Some("football/*"), Some(250))]);
        source.answer(&commands[1], 1);
        source.image("football/1", 10);
        source.beat(&json!({"football/1": 10}));
        assert!(!source.is_complete(), "feeds has no answer");
        let id = &commands[0]["id"];
        let answer = json!({"type": "subscribed", "id": id, "ch": "feeds", "epoch": "e", "seq": 3, "resumed": false});
        source.handle(&answer);
        source.beat(&json!({"football/1": 10, "feeds": 3}));
        assert!(!source.is_complete(), "feeds has no image");
        source.image("feeds", 3);
        source.beat(&json!({"football/1": 10, "feeds": 3}));
        assert!(source.is_complete());
    }

    #[test]
    fn only_updates_that_lead_on_are_interpreted() {
        let mut source = following();
        let found =
            [(9, 10), (10, 11), (8, 13), (12, 13)].map(|(prev, seq)| source.update(prev, seq));
        assert_eq!(found.map(|effect| effect.interpret), [false, true, true, false]);
        assert!(source.is_complete());
    }

    #[test]
    fn a_gap_is_repaired_from_the_position() {
        let mut source = following();
        let effect = source.update(12, 13);
        let commands = parse(&effect.commands);
        assert!(!effect.interpret && !source.is_complete());
        assert_eq!(commands[0]["from"], json!({"epoch": "e", "seq": 10}));
        assert_eq!(source.update(12, 13), FrameEffect::default(), "it is requested once");
        let resumed = json!({"type": "subscribed", "id": commands[0]["id"], "ch": "football/1", "epoch": "e", "seq": 13, "resumed": true});
        source.handle(&resumed);
        assert!(source.update(10, 13).interpret);
        source.beat(&json!({"football/1": 13, "football/2": 20}));
        assert!(source.is_complete());
    }

    #[test]
    fn a_head_beyond_the_position_is_requested_by_the_second_beat() {
        let ahead = json!({"football/1": 11, "football/2": 20});
        let mut source = following();
        assert_eq!(source.beat(&ahead).commands, [] as [&str; 0]);
        assert!(!source.is_complete());
        let commands = parse(&source.beat(&ahead).commands);
        assert_eq!(commands[0]["from"], json!({"epoch": "e", "seq": 10}));
        // An unusable document: it is requested without a position.
        let mut source = following();
        source.positions.invalidate("football/2");
        assert!(!source.is_complete());
        source.beat(&both());
        let commands = parse(&source.beat(&both()).commands);
        assert_eq!(
            (&commands[0]["ch"], &commands[0]["from"]),
            (&json!("football/2"), &Value::Null)
        );
        source.answer(&commands[0], 1);
        source.image("football/2", 20);
        source.beat(&both());
        assert!(source.is_complete());
    }

    #[test]
    fn after_a_disconnect_it_resumes_and_removes_ended_channels() {
        let mut source = following();
        let commands = source.open(&json!({}));
        let expected = json!({
            "football/1": {"epoch": "e", "seq": 10},
            "football/2": {"epoch": "e", "seq": 20},
        });
        assert_eq!(commands[0]["from"], expected);
        source.answer(&commands[0], 1);
        assert_eq!(source.beat(&json!({"football/2": 20})).removed, ["football/1"]);
        assert!(source.is_complete());
    }

    #[test]
    fn channels_of_an_add_on_that_ends_are_removed() {
        let mut source = following();
        let entitlement = json!({"type": "entitlement", "addons": [], "ended": ["football/2"]});
        assert_eq!(source.handle(&entitlement).removed, ["football/2"]);
        assert!(source.is_complete());
        let gone = json!({"type": "unsubscribed", "ch": "football/1", "why": "gone"});
        let expected = FrameEffect { interpret: true, ..FrameEffect::default() };
        assert_eq!(source.handle(&gone), expected, "it is recorded as it came");
    }

    #[test]
    fn beats_show_which_channels_of_an_add_on_were_not_named() {
        let mut source = following();
        source.handle(&json!({"type": "entitlement", "ended": ["football/2"], "channels": 2}));
        assert!(!source.is_complete());
        source.beat(&json!({}));
        assert_eq!(source.beat(&json!({})).removed, ["football/1"]);
        assert!(source.is_complete());
    }

    #[test]
    fn a_frame_that_lacks_a_field_is_left_out_and_requested() {
        let mut source = following();
        let update = json!({"type": "update", "ch": "football/1", "seq": 11});
        assert_eq!(source.handle(&update), FrameEffect::default());
        assert!(!source.is_complete());
        let ahead = json!({"football/1": 11, "football/2": 20});
        source.beat(&ahead);
        let commands = parse(&source.beat(&ahead).commands);
        assert_eq!(commands[0]["from"], json!({"epoch": "e", "seq": 10}));
        source.answer(&commands[0], 1);
        source.image("football/1", 11);
        source.beat(&ahead);
        assert!(source.is_complete());
    }

    #[test]
    fn a_beat_of_which_a_part_may_be_missing_completes_nothing() {
        let mut source = following();
        source.positions.skip(&"a frame that cannot be read");
        for complete in [false, true] {
            let effect = source.beat(&both());
            assert_eq!((effect.removed.len(), source.is_complete()), (0, complete));
        }
    }

    #[test]
    fn a_channel_that_only_a_beat_named_is_discarded_and_not_reported() {
        let mut source = following();
        source.beat(&json!({"football/1": 10, "football/2": 20, "football/3": 5}));
        assert!(!source.is_complete());
        assert_eq!(source.beat(&both()).removed, [] as [&str; 0]);
        assert!(source.is_complete());
        assert!(!source.positions.session.channels().contains_key("football/3"));
    }

    #[test]
    fn an_answer_about_another_pattern_is_not_counted() {
        let mut source = following();
        source.answer(&json!({"id": 99, "ch": "tennis/*"}), 5);
        assert_eq!(source.positions.counts, HashMap::from([("football/*".to_owned(), 2)]));
    }

    #[test]
    fn a_command_is_never_longer_than_the_hub_takes() {
        let mut source = Source::new(&["football/*"], 250);
        source.open(&json!({}));
        for match_id in 0..1000 {
            source.image(&format!("football/{match_id}"), 1);
        }
        let commands = source.open(&json!({"command_bytes": 2000}));
        let whole = commands.iter().find(|it| it["ch"] == "football/*").expect("it subscribes");
        assert!((1850..=2000).contains(&whole.to_string().len()), "{whole}");
        let from = whole["from"].as_object().expect("positions").len();
        let by_name = commands.iter().filter(|it| it["op"] == "subscribe").count() - 1;
        assert_eq!(by_name + from, 1000, "each channel resumes, by name or by the pattern");
        assert_eq!(source.open(&json!({"from_bytes": 262_144})).len(), 1, "there is room for all");
    }

    #[test]
    fn a_beat_in_parts_is_one_beat() {
        let mut source = following();
        let commands = source.open(&json!({}));
        source.answer(&commands[0], 2);
        let part = json!({"type": "beat", "heads": {"football/1": 10}, "more": true});
        assert_eq!(source.handle(&part).removed, Vec::<String>::new());
        assert!(!source.is_complete(), "a part is not the whole");
        let effect = source.beat(&json!({"football/2": 20}));
        assert_eq!(effect.removed, Vec::<String>::new(), "the first part contained it");
        assert!(source.is_complete());
    }

    #[test]
    fn each_part_of_a_beat_is_compared_when_it_comes() {
        let mut source = following();
        let part = |head: u64| json!({"type": "beat", "heads": {"football/1": head}, "more": true});
        source.handle(&part(10));
        source.handle(&json!({"type": "unsubscribed", "ch": "football/1", "why": "gone"}));
        source.beat(&json!({"football/2": 20}));
        assert!(source.is_complete(), "the channel was not behind");
        let mut source = following();
        source.handle(&part(11));
        source.beat(&json!({"football/2": 20}));
        assert!(!source.is_complete(), "the first part is ahead");
    }

    #[test]
    fn a_count_that_is_never_reached_does_not_block_completion() {
        let mut source = following();
        let commands = source.open(&json!({}));
        source.answer(&commands[0], 3);
        for complete in [false, false, true] {
            source.beat(&both());
            assert_eq!(source.is_complete(), complete);
        }
        // A channel that is reported gone is not waited for.
        let commands = source.open(&json!({}));
        source.answer(&commands[0], 3);
        source.handle(&json!({"type": "unsubscribed", "ch": "football/3", "why": "gone"}));
        source.beat(&both());
        assert!(source.is_complete());
    }

    #[test]
    fn a_missing_channel_is_retried_and_a_limit_is_final_until_all_is_complete_and_then_later() {
        let mut source = Source::new(&["football/7"], 0);
        let commands = source.open(&json!({}));
        let refused = |command: &Value, code: &str| {
            let id = &command["id"];
            json!({"type": "error", "id": id, "ch": "football/7", "code": code, "retry": code == "not_tracked"})
        };
        assert_eq!(source.handle(&refused(&commands[0], "not_tracked")), FrameEffect::default());
        let effect = source.beat(&json!({}));
        assert!(source.is_complete(), "there is nothing to wait for");
        let commands = parse(&effect.commands);
        assert_eq!(commands[0]["ch"], "football/7");
        assert_eq!(source.handle(&refused(&commands[0], "limit")), FrameEffect::default());
        assert!(source.is_complete(), "the other channels stay");
        let refused_at = source.now;
        let effect = (0..20).map(|_| source.beat(&json!({}))).find(|it| !it.commands.is_empty());
        let commands = parse(&effect.expect("it is requested again").commands);
        assert_eq!(commands[0]["ch"], "football/7");
        assert_eq!(source.now - refused_at, ROOM_WITHIN_MS);
        source.handle(&json!({"type": "subscribed", "id": commands[0]["id"], "ch": "football/7"}));
        source.image("football/7", 1);
        source.beat(&json!({"football/7": 1}));
        assert!(source.is_complete(), "there is room now");
        let commands = source.open(&json!({}));
        let effect = source.handle(&refused(&commands[0], "limit"));
        assert_eq!(effect.refused.as_deref(), Some("football/7: limit"));
    }
}
