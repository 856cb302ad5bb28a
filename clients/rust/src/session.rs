//! The connection's state: its subscriptions, its open commands, and what each frame changes.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    channel::{Channel, Health},
    frame::{Frame, FrameLimits, UpdateOrder},
    merge_patch,
    request::{self, Limits, Request, covers, is_pattern},
};

/// Milliseconds of one local clock, which should not stand still while the machine sleeps.
pub type Millis = u64;

/// Close codes for reasons that another attempt cannot change. After every other code the session tries again.
pub const FINAL_CODES: [u16; 5] = [4401, 4402, 4404, 4410, 4413];

/// Until `hello` brings the real one.
const BEAT_MS: Millis = 5_000;
/// A shorter interval of beats would be no measure of silence, and a longer one no sign of life.
const BEAT_MS_MIN: Millis = 100;
const BEAT_MS_MAX: Millis = 600_000;
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

/// What a frame means for the documents of the driver that keeps them itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// The `data` of the frame replaces the document of its channel.
    Image,
    /// The `patch` of the frame applies to the document of its channel. Its events happened, unless they were known before.
    Update { has_new_events: bool },
    /// Something before the update is missing, and is requested. The update does not apply.
    Gap,
    /// These channels have ended: their documents are to be discarded.
    Ended(Vec<String>),
    /// The hub refused these names and patterns. One that is not followed itself is a channel of a pattern, and has ended.
    Refused(Vec<String>),
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
    every_ms: Millis,
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
            every_ms: 0,
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

    /// Asks for at most one update of values for each channel in that many milliseconds.
    #[must_use]
    pub fn with_every_ms(mut self, every_ms: Millis) -> Self {
        self.every_ms = every_ms;
        self
    }

    /// The channels with a document, those that are expected, and those that the hub refuses.
    #[must_use]
    pub fn channels(&self) -> &BTreeMap<String, Channel> {
        &self.channels
    }

    /// Whether the document of a channel can be trusted at this moment.
    #[must_use]
    pub fn health(&self, channel: &Channel, now: Millis) -> Health {
        channel.judge(now, self.is_open, self.hub_is_stale)
    }

    /// Whether the hub has answered all requests of this connection.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.is_open && self.asked.is_empty()
    }

    /// Whether each of these channels has arrived at its head on this connection.
    #[must_use]
    pub fn has_reached(&self, heads: &BTreeMap<String, u64>) -> bool {
        heads.iter().all(|(ch, head)| {
            self.channels.get(ch).is_some_and(|channel| channel.synced && channel.seq >= *head)
        })
    }

    /// Forgets the position of a channel, because the driver has no document of it any more. If an update or two beats name it,
    /// its image is requested. Returns whether it had a position.
    pub fn discard(&mut self, ch: &str) -> bool {
        let Some(Channel { epoch, refused, .. }) = self.channels.remove(ch) else { return false };
        if refused.is_some() {
            self.channels.insert(ch.to_owned(), Channel { refused, ..Channel::default() });
        }
        !epoch.is_empty()
    }

    /// Requests a name or pattern again so long after the last frame, although the hub refuses it.
    pub fn request_again(&mut self, name: &str, after: Millis) {
        self.retries.insert(name.to_owned(), self.last_frame_at.saturating_add(after));
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
        let frame = Frame::parse(text.as_bytes())?;
        // Before the position moves, so that no document stays behind its own.
        let (data, patch, events) = (parse(frame.data)?, parse(frame.patch)?, parse(frame.events)?);
        let effect = self.track(&frame, now)?;
        let ch = frame.ch.unwrap_or_default().into_owned();
        let Some(channel) = self.channels.get_mut(&ch) else { return Ok(()) };
        match (&effect, patch) {
            (Effect::Image, _) => channel.data = data.unwrap_or_default(),
            (Effect::Update { .. }, Some(patch)) => merge_patch(&mut channel.data, patch),
            (Effect::Update { .. }, None) => {}
            _ => return Ok(()),
        }
        let events = match (effect, events) {
            (Effect::Update { has_new_events: true }, Some(Value::Array(events))) => events,
            _ => Vec::new(),
        };
        self.outputs.push(Output::Changed { ch, events });
        Ok(())
    }

    /// Handles a frame as [`receive`](Self::receive) does, except for its document: for a driver that keeps documents itself. The
    /// channels then have no `data`.
    ///
    /// # Errors
    ///
    /// If the frame lacks a field. It then has no effect. A driver may keep the connection: what is missing is requested when
    /// beats show it.
    pub fn track(&mut self, frame: &Frame<'_>, now: Millis) -> Result<Effect, FrameError> {
        // Without `hello` other frames are no sign of a connection.
        if self.is_open || frame.kind == "hello" {
            self.last_frame_at = now;
            self.pinged = false;
        }
        let ch = frame.ch.as_deref().unwrap_or_default();
        match &*frame.kind {
            "hello" => self.hello(frame, now),
            "subscribed" => return self.subscribed(frame, now),
            "image" => return self.image(ch, frame, now),
            "update" => return self.update(ch, frame, now),
            "resync" => {
                if let Some(channel) = self.channels.get_mut(ch) {
                    channel.image_due = Some(frame.why.as_deref().unwrap_or_default().to_owned());
                    channel.synced = false;
                }
            }
            "beat" => self.beat(frame, now),
            "stale" => self.hub_is_stale = true,
            "unsubscribed" if frame.id.is_none() => {
                self.refuse(ch, "not_tracked", true, now);
                return Ok(Effect::Ended(vec![ch.to_owned()]));
            }
            "entitlement" => {
                for name in &frame.ended {
                    self.refuse(name, "not_entitled", false, now);
                }
                return Ok(Effect::Ended(frame.ended.clone()));
            }
            "error" => {
                let names = self.answered(frame.id);
                for name in &names {
                    self.refuse(name, frame.code.as_deref().unwrap_or_default(), frame.retry, now);
                }
                return Ok(refused(names));
            }
            "bye" => self.reconnect_after_ms = frame.reconnect_after_ms,
            _ => {}
        }
        Ok(Effect::None)
    }

    fn hello(&mut self, frame: &Frame<'_>, now: Millis) {
        if self.is_open {
            return;
        }
        self.is_open = true;
        self.opened_at = Some(now);
        self.beat_ms = frame.beat_ms.unwrap_or(BEAT_MS).clamp(BEAT_MS_MIN, BEAT_MS_MAX);
        let FrameLimits { channels, command_bytes, from_bytes } = frame.limits;
        self.limits = Limits {
            has_batch: frame.features.iter().any(|it| it == "batch"),
            from_bytes: from_bytes.or(command_bytes).unwrap_or(16_384),
            entries: channels.unwrap_or(1_000).max(1),
        };
        let everything: Vec<String> = self.follows.iter().cloned().collect();
        self.ask(&everything, now);
    }

    fn subscribed(&mut self, frame: &Frame<'_>, now: Millis) -> Result<Effect, FrameError> {
        let answers: Option<BTreeMap<String, &RawValue>> =
            required(frame, parse(frame.chs).ok(), "chs")?;
        let mut names = Vec::new();
        for name in self.answered(frame.id) {
            // A channel whose answer cannot be read is requested again, as one without an answer.
            let answer: Option<Frame<'_>> = match &answers {
                Some(answers) => parse(answers.get(&name).copied()).ok().flatten(),
                None => Some(frame.clone()),
            };
            match &answer {
                Some(answer) if answer.error.is_none() => self.confirmed(&name, answer, now),
                answer => {
                    let code = answer.as_ref().and_then(|it| it.error.as_deref());
                    let code = code.unwrap_or("not_tracked");
                    self.refuse(&name, code, code == "not_tracked", now);
                    names.push(name);
                }
            }
        }
        Ok(refused(names))
    }

    fn confirmed(&mut self, name: &str, answer: &Frame<'_>, now: Millis) {
        if is_pattern(name) {
            return;
        }
        let channel = self.channels.entry(name.to_owned()).or_default();
        channel.refused = None;
        if answer.resumed == Some(true) {
            channel.synced = true;
            channel.heard = now;
        } else {
            let why = answer.why.as_deref().unwrap_or("subscribed");
            channel.image_due = Some(why.to_owned());
        }
    }

    fn image(&mut self, ch: &str, frame: &Frame<'_>, now: Millis) -> Result<Effect, FrameError> {
        let seq = required(frame, frame.seq, "seq")?;
        required(frame, frame.data.filter(|data| data.get().starts_with('{')), "data")?;
        let epoch = required(frame, frame.epoch.as_deref(), "epoch")?;
        let Some(channel) = self.followed(ch) else { return Ok(Effect::None) };
        // An image may be older than what was there, and be overtaken again by updates that are known: their values are due,
        // their events are not.
        let continues = channel.epoch == epoch && channel.image_due.as_deref() != Some("ahead");
        channel.delivered = if continues { channel.delivered.max(seq) } else { seq };
        epoch.clone_into(&mut channel.epoch);
        channel.seq = seq;
        self.current(ch, now);
        Ok(Effect::Image)
    }

    fn update(&mut self, ch: &str, frame: &Frame<'_>, now: Millis) -> Result<Effect, FrameError> {
        let seq = required(frame, frame.seq, "seq")?;
        let prev = required(frame, frame.prev, "prev")?;
        let Some(channel) = self.followed(ch) else { return Ok(Effect::None) };
        match UpdateOrder::new(channel.seq, prev, seq) {
            // Updates that were on their way when an image was announced belong to a document that is given up.
            _ if channel.image_due.is_some() => Ok(Effect::None),
            // Without a document everything before the update is missing.
            order if channel.epoch.is_empty() || order == UpdateOrder::Gap => {
                self.missing(ch, now);
                Ok(Effect::Gap)
            }
            UpdateOrder::Next => {
                let has_new_events = seq > channel.delivered;
                channel.delivered = channel.delivered.max(seq);
                channel.seq = seq;
                self.current(ch, now);
                Ok(Effect::Update { has_new_events })
            }
            _ => Ok(Effect::None),
        }
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

    fn beat(&mut self, frame: &Frame<'_>, now: Millis) {
        self.hub_is_stale = false;
        // Values may be held back for as long as the rate says.
        let due = now.saturating_add(self.every_ms).saturating_add(self.beat_ms / 2);
        for (name, head) in &frame.heads {
            let Some(channel) = self.followed(name) else { continue };
            if channel.image_due.is_none() && !channel.epoch.is_empty() && *head <= channel.seq {
                channel.heard = now;
                channel.synced = true;
                channel.owed = None;
                continue;
            }
            // A beat may overtake values that are queued, so being behind once is no loss.
            match channel.owed {
                None => channel.owed = Some((*head, due)),
                Some((_, by)) if now >= by => {
                    channel.owed = None;
                    self.missing(name, now);
                }
                Some(_) => {}
            }
        }
    }

    /// The state of a channel, which is new if it has none; `None` if the channel is not followed.
    fn followed(&mut self, ch: &str) -> Option<&mut Channel> {
        if !self.channels.contains_key(ch) && self.covers(ch) {
            self.channels.insert(ch.to_owned(), Channel::default());
        }
        self.channels.get_mut(ch)
    }

    fn covers(&self, ch: &str) -> bool {
        self.follows.iter().any(|pattern| covers(pattern, ch))
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
        // The answer to an earlier request is not waited for any longer.
        self.asked.retain(|_, (names, _)| {
            names.retain(|it| it != name);
            !names.is_empty()
        });
        if self.follows.contains(name) {
            self.ask(&[name.to_owned()], now);
        } else {
            self.send(request::repair(name, &self.channels), now);
        }
    }

    /// The hub refuses or has ended a channel. One that is followed by name stays, as refused, and a pattern drops it.
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
                if self.every_ms > 0 {
                    command.insert("every_ms".to_owned(), self.every_ms.into());
                }
                self.asked.insert(id, (asks, now));
            }
            self.outputs.push(Output::Send(Value::Object(command).to_string()));
        }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The channels and patterns of the command that the frame with this id answers.
    fn answered(&mut self, id: Option<u64>) -> Vec<String> {
        id.and_then(|id| self.asked.remove(&id)).map(|(names, _)| names).unwrap_or_default()
    }
}

fn refused(names: Vec<String>) -> Effect {
    if names.is_empty() { Effect::None } else { Effect::Refused(names) }
}

fn parse<'a, T: Deserialize<'a>>(text: Option<&'a RawValue>) -> serde_json::Result<Option<T>> {
    text.map(|text| serde_json::from_str(text.get())).transpose()
}

fn required<T>(frame: &Frame<'_>, value: Option<T>, field: &'static str) -> Result<T, FrameError> {
    value.ok_or_else(|| FrameError::Lacks { kind: frame.kind.to_string(), field })
}
