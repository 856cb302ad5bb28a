//! The connection's state: its subscriptions, its open commands, and what each frame changes.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
};

use serde_json::{Map, Value, json};

use crate::{
    channel::{Channel, Health},
    merge_patch,
    request::{self, Limits, Request, covers, is_pattern},
};

/// Milliseconds of one local clock, which should not stand still while the machine sleeps.
pub type Millis = u64;

/// Close codes for reasons that another attempt cannot change. After every other code the session tries again.
pub const FINAL_CODES: [u16; 5] = [4401, 4402, 4404, 4410, 4413];

/// Until `hello` brings the real one.
const BEAT_MS: Millis = 5_000;
/// A shorter interval of beats would be no measure of silence.
const BEAT_MS_MIN: Millis = 100;
/// From opening the socket to `hello`.
const CONNECT_MS_MAX: Millis = 15_000;
/// The first wait before another attempt, doubled with each attempt up to the largest.
const BACKOFF_MS: Millis = 500;
const BACKOFF_MS_MAX: Millis = 30_000;
/// A connection that opens and ends at once must not reset the waits.
const HEALTHY_AFTER_MS: Millis = 60_000;

/// What the driver has to do, or what has changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send this text message.
    Send(String),
    /// The document of this channel changed, and these events happened, each handed out once.
    Changed { ch: String, events: Vec<Value> },
}

/// Why a connection has to be given up.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("a frame is not JSON")]
    NotJson(#[from] serde_json::Error),
    #[error("a frame of type {kind:?} lacks {field:?}")]
    Lacks { kind: String, field: &'static str },
    #[error("the connection fell silent")]
    Silent,
}

/// The client's half of the protocol.
#[derive(Debug)]
pub struct Session {
    follows: BTreeSet<String>,
    channels: BTreeMap<String, Channel>,
    outputs: Vec<Output>,
    is_open: bool,
    opened_at: Option<Millis>,
    last_frame_at: Millis,
    pinged: bool,
    attempt: u32,
    beat_ms: Millis,
    limits: Limits,
    reconnect_after_ms: Option<Millis>,
    hub_is_stale: bool,
    next_id: u64,
    /// What the commands under way ask for, and when they were sent.
    asked: HashMap<u64, (Vec<String>, Millis)>,
    /// Names that the hub refused for now, and when to ask again.
    retries: BTreeMap<String, Millis>,
}

impl Session {
    /// Follows these names and patterns.
    pub fn new(follows: impl IntoIterator<Item = String>) -> Self {
        let limits = Limits { has_batch: false, from_bytes: 16_384, entries: 1_000 };
        Self {
            follows: follows.into_iter().collect(),
            channels: BTreeMap::new(),
            outputs: Vec::new(),
            is_open: false,
            opened_at: None,
            last_frame_at: 0,
            pinged: false,
            attempt: 0,
            beat_ms: BEAT_MS,
            limits,
            reconnect_after_ms: None,
            hub_is_stale: false,
            next_id: 1,
            asked: HashMap::new(),
            retries: BTreeMap::new(),
        }
    }

    /// The channels with a document, and those that the hub refuses.
    #[must_use]
    pub fn channels(&self) -> &BTreeMap<String, Channel> {
        &self.channels
    }

    /// Whether the document of a channel can be trusted at this moment.
    #[must_use]
    pub fn health(&self, channel: &Channel, now: Millis) -> Health {
        channel.judge(now, self.is_open, self.hub_is_stale)
    }

    /// Returns what has to be performed, in order, and forgets it.
    pub fn outputs(&mut self) -> Vec<Output> {
        mem::take(&mut self.outputs)
    }

    /// The moment by which [`tick`](Self::tick) has to be called while there is a connection.
    #[must_use]
    pub fn deadline(&self) -> Millis {
        if !self.is_open {
            return self.last_frame_at + CONNECT_MS_MAX;
        }
        let beats = if self.pinged { 3 } else { 2 };
        let silence = self.last_frame_at + beats * self.beat_ms;
        self.retries.values().copied().fold(silence, Millis::min)
    }

    /// A connection is being opened.
    pub fn connecting(&mut self, now: Millis) {
        self.last_frame_at = now;
        self.pinged = false;
        self.reconnect_after_ms = None;
    }

    /// The connection has ended, with this close code if there was one, or was given up. Returns the milliseconds after which to open
    /// the next one; `None` if no attempt can succeed. `random` is from 0 to 1, so that clients that were lost together do not return
    /// together.
    pub fn ended(&mut self, code: Option<u16>, now: Millis, random: f64) -> Option<Millis> {
        if self.opened_at.take().is_some_and(|at| now >= at + HEALTHY_AFTER_MS) {
            self.attempt = 0;
        }
        self.is_open = false;
        self.hub_is_stale = false;
        self.asked.clear();
        self.retries.clear();
        for channel in self.channels.values_mut() {
            channel.synced = false;
            channel.image_due = None;
            channel.owed = None;
        }
        if code.is_some_and(|code| FINAL_CODES.contains(&code)) {
            return None;
        }
        let ceiling = (BACKOFF_MS << self.attempt.min(16)).min(BACKOFF_MS_MAX);
        // Counted even if the hub named the time, so that a refusal after it waits longer.
        self.attempt += 1;
        // At most 30,000, so that nothing is cut off.
        let random_delay = (ceiling as f64 * random.clamp(0.0, 1.0)) as Millis;
        Some(self.reconnect_after_ms.take().unwrap_or(random_delay))
    }

    /// Handles what depends on time.
    ///
    /// # Errors
    ///
    /// If the connection fell silent: whatever the network says, it is dead.
    pub fn tick(&mut self, now: Millis) -> Result<(), FrameError> {
        if now < self.deadline() {
            return Ok(());
        }
        let silent = now - self.last_frame_at;
        if !self.is_open || silent >= 3 * self.beat_ms {
            return Err(FrameError::Silent);
        }
        if silent >= 2 * self.beat_ms && !self.pinged {
            self.pinged = true;
            let id = self.id();
            self.outputs.push(Output::Send(json!({"op": "ping", "id": id}).to_string()));
        }
        let due: Vec<String> = self
            .retries
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(name, _)| name.clone())
            .collect();
        self.retries.retain(|_, at| *at > now);
        if !due.is_empty() {
            self.ask(&due, now);
        }
        Ok(())
    }

    /// Handles a text message of the hub. Frames of unknown types are ignored.
    ///
    /// # Errors
    ///
    /// If the hub does not follow the protocol. Its later frames cannot be trusted either.
    pub fn receive(&mut self, text: &str, now: Millis) -> Result<(), FrameError> {
        let mut frame: Map<String, Value> = serde_json::from_str(text)?;
        self.last_frame_at = now;
        self.pinged = false;
        let kind = frame.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind.as_str() {
            "hello" => self.hello(&frame, now),
            "subscribed" => self.subscribed(&frame, now),
            "image" => self.image(&mut frame, now)?,
            "update" => self.update(&mut frame, now)?,
            "resync" => {
                if let Some(channel) = self.channels.get_mut(text_of(&frame, "ch")) {
                    channel.image_due = Some(text_of(&frame, "why").to_owned());
                    channel.synced = false;
                }
            }
            "beat" => self.beat(&frame, now),
            "stale" => self.hub_is_stale = true,
            "unsubscribed" if !has(&frame, "id") => {
                self.gone(text_of(&frame, "ch"), "not_tracked", true, now);
            }
            "entitlement" => {
                let ended = frame.get("ended").and_then(Value::as_array).into_iter().flatten();
                let ended: Vec<&str> = ended.filter_map(Value::as_str).collect();
                for name in ended {
                    self.gone(name, "not_entitled", false, now);
                }
            }
            "error" => {
                let retry = frame.get("retry").and_then(Value::as_bool).unwrap_or_default();
                for name in self.answered(&frame) {
                    self.refuse(&name, text_of(&frame, "code"), retry, now);
                }
            }
            "bye" => {
                self.reconnect_after_ms = frame.get("reconnect_after_ms").and_then(Value::as_u64);
            }
            _ => {}
        }
        Ok(())
    }

    fn hello(&mut self, frame: &Map<String, Value>, now: Millis) {
        if self.is_open {
            return;
        }
        self.is_open = true;
        self.opened_at = Some(now);
        self.beat_ms = number(frame, "beat_ms").unwrap_or(BEAT_MS).max(BEAT_MS_MIN);
        let limits = frame.get("limits").and_then(Value::as_object);
        let limit =
            |name| limits.and_then(|it| number(it, name)).and_then(|it| usize::try_from(it).ok());
        let features = frame.get("features").and_then(Value::as_array).into_iter().flatten();
        self.limits = Limits {
            has_batch: features.into_iter().any(|it| it == "batch"),
            from_bytes: limit("from_bytes").or_else(|| limit("command_bytes")).unwrap_or(16_384),
            entries: limit("channels").unwrap_or(1_000).max(1),
        };
        let everything: Vec<String> = self.follows.iter().cloned().collect();
        self.ask(&everything, now);
    }

    fn subscribed(&mut self, frame: &Map<String, Value>, now: Millis) {
        let answers = frame.get("chs").and_then(Value::as_object);
        for name in self.answered(frame) {
            let answer = match answers {
                Some(answers) => answers.get(&name).and_then(Value::as_object),
                None => Some(frame),
            };
            match answer {
                Some(answer) if !has(answer, "error") => self.confirmed(&name, answer, now),
                answer => {
                    let code = answer.map_or("not_tracked", |it| text_of(it, "error"));
                    self.refuse(&name, code, code == "not_tracked", now);
                }
            }
        }
    }

    fn confirmed(&mut self, name: &str, answer: &Map<String, Value>, now: Millis) {
        if is_pattern(name) {
            return;
        }
        let channel = self.channels.entry(name.to_owned()).or_default();
        channel.refused = None;
        if answer.get("resumed") == Some(&Value::Bool(true)) {
            channel.synced = true;
            channel.heard = now;
        } else {
            let why = answer.get("why").and_then(Value::as_str).unwrap_or("subscribed");
            channel.image_due = Some(why.to_owned());
        }
    }

    fn image(&mut self, frame: &mut Map<String, Value>, now: Millis) -> Result<(), FrameError> {
        let (seq, data) = (required(frame, "image", "seq")?, frame.remove("data"));
        let Some(data @ Value::Object(_)) = data else {
            return Err(FrameError::Lacks { kind: "image".to_owned(), field: "data" });
        };
        let (ch, epoch) = (text_of(frame, "ch").to_owned(), text_of(frame, "epoch"));
        if !self.follows.iter().any(|pattern| covers(pattern, &ch)) {
            return Ok(());
        }
        let channel = self.channels.entry(ch.clone()).or_default();
        // An image may be older than what was there, and be overtaken again by updates that are known: their values are due,
        // their events are not.
        let continues = channel.epoch == epoch && channel.image_due.as_deref() != Some("ahead");
        channel.delivered = if continues { channel.delivered.max(seq) } else { seq };
        epoch.clone_into(&mut channel.epoch);
        channel.seq = seq;
        channel.data = data;
        self.current(&ch, now);
        self.outputs.push(Output::Changed { ch, events: Vec::new() });
        Ok(())
    }

    fn update(&mut self, frame: &mut Map<String, Value>, now: Millis) -> Result<(), FrameError> {
        let (seq, prev) = (required(frame, "update", "seq")?, required(frame, "update", "prev")?);
        let ch = text_of(frame, "ch").to_owned();
        let Some(channel) = self.channels.get_mut(&ch) else { return Ok(()) };
        // Updates that were on their way when an image was announced belong to a document that is given up.
        if channel.data.is_null() || channel.image_due.is_some() || seq <= channel.seq {
            return Ok(());
        }
        if prev > channel.seq {
            self.missing(&ch, now);
            return Ok(());
        }
        if let Some(patch) = frame.remove("patch") {
            merge_patch(&mut channel.data, patch);
        }
        let events = match frame.remove("events") {
            Some(Value::Array(events)) if seq > channel.delivered => events,
            _ => Vec::new(),
        };
        channel.delivered = channel.delivered.max(seq);
        channel.seq = seq;
        self.current(&ch, now);
        self.outputs.push(Output::Changed { ch, events });
        Ok(())
    }

    /// The document is the newest as of now: a frame has just written it.
    fn current(&mut self, ch: &str, now: Millis) {
        self.hub_is_stale = false;
        let Some(channel) = self.channels.get_mut(ch) else { return };
        channel.image_due = None;
        channel.synced = true;
        channel.refused = None;
        channel.heard = now;
        channel.doubts = 0;
        channel.owed = channel.owed.filter(|(seq, _)| *seq > channel.seq);
    }

    fn beat(&mut self, frame: &Map<String, Value>, now: Millis) {
        self.hub_is_stale = false;
        let heads = frame.get("heads").and_then(Value::as_object);
        for (name, head) in heads.into_iter().flatten() {
            let (Some(channel), Some(head)) = (self.channels.get_mut(name), head.as_u64()) else {
                continue;
            };
            if channel.image_due.is_none() && !channel.data.is_null() && head <= channel.seq {
                channel.heard = now;
                channel.synced = true;
                channel.owed = None;
                continue;
            }
            // A beat may overtake values that are queued, so being behind once is no loss.
            match channel.owed {
                None => channel.owed = Some((head, now + self.beat_ms / 2)),
                Some((_, by)) if now >= by => {
                    channel.owed = None;
                    self.missing(name, now);
                }
                Some(_) => {}
            }
        }
    }

    /// Something is missing. Requests it from the current position; if that has failed, requests the image.
    fn missing(&mut self, name: &str, now: Millis) {
        let Some(channel) = self.channels.get_mut(name) else { return };
        channel.synced = false;
        // While a request is under way, more such updates are expected: they cross it on the wire.
        let patience = 3 * self.beat_ms;
        let is_asked = |(names, at): &(Vec<String>, Millis)| {
            now < at + patience && names.iter().any(|it| it == name)
        };
        if self.asked.values().any(is_asked) {
            return;
        }
        channel.doubts += 1;
        if self.follows.contains(name) {
            self.ask(&[name.to_owned()], now);
        } else {
            self.send(request::repair(name, &self.channels), now);
        }
    }

    /// The hub has ended a channel. One that is followed by name stays, as refused, and a pattern drops it.
    fn gone(&mut self, name: &str, code: &str, retry: bool, now: Millis) {
        if self.follows.contains(name) {
            self.refuse(name, code, retry, now);
        } else {
            self.channels.remove(name);
        }
    }

    fn refuse(&mut self, name: &str, code: &str, retry: bool, now: Millis) {
        if retry && self.follows.contains(name) {
            self.retries.insert(name.to_owned(), now + self.beat_ms);
        }
        if self.follows.contains(name) && !is_pattern(name) {
            self.channels.entry(name.to_owned()).or_default().refused = Some(code.to_owned());
        } else if !is_pattern(name) {
            self.channels.remove(name);
        }
    }

    fn ask(&mut self, names: &[String], now: Millis) {
        let requests = request::subscribe(names, &self.channels, &self.limits);
        self.send(requests, now);
    }

    fn send(&mut self, requests: impl IntoIterator<Item = Request>, now: Millis) {
        for Request { mut command, asks } in requests {
            let id = self.id();
            command.insert("id".to_owned(), id.into());
            if !asks.is_empty() {
                self.asked.insert(id, (asks, now));
            }
            self.outputs.push(Output::Send(Value::Object(command).to_string()));
        }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The channels and patterns of the command that this frame answers.
    fn answered(&mut self, frame: &Map<String, Value>) -> Vec<String> {
        let id = number(frame, "id");
        id.and_then(|id| self.asked.remove(&id)).map(|(names, _)| names).unwrap_or_default()
    }
}

fn text_of<'a>(frame: &'a Map<String, Value>, name: &str) -> &'a str {
    frame.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(frame: &Map<String, Value>, name: &str) -> Option<u64> {
    frame.get(name).and_then(Value::as_u64)
}

fn has(frame: &Map<String, Value>, name: &str) -> bool {
    frame.get(name).is_some_and(|value| !value.is_null())
}

fn required(
    frame: &Map<String, Value>,
    kind: &str,
    field: &'static str,
) -> Result<u64, FrameError> {
    number(frame, field).ok_or_else(|| FrameError::Lacks { kind: kind.to_owned(), field })
}
