//! `wait_for_change`: follows a match in any host, without a stream. Each call takes positions and returns
//! positions; the hub's tails connect one call to the next.

use std::{collections::BTreeMap, time::Duration};

use fanout::{Epoch, Position, Seq};
use futures_util::future::select_all;
use hub::watch::{ChannelWatch, Head};
use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
};
use rust_decimal::Decimal;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    channels::{Changes, Channels, no_channel},
    fit,
    refusal::Refusal,
};

/// Events of one answer, and their bytes. Beyond it an answer ends early, and its positions say where the
/// next one begins.
const EVENTS_MAX: usize = 40;
const EVENTS_BYTES_MAX: usize = 5 * 1024;

/// How long prices are collected before they are compared again.
const PRICES_EVERY: Duration = Duration::from_millis(250);

/// What to wait for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wait {
    /// The channels, and where the caller is in each.
    pub channels: Vec<(String, Option<Position>)>,
    pub until: Vec<Until>,
    /// How far a price must have moved, as a part of it.
    pub price_move: Option<Decimal>,
    pub timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    Event,
    Goal,
    Suspension,
    Price,
    End,
    Any,
}

impl Until {
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "event" => Self::Event,
            "goal" => Self::Goal,
            "suspension" => Self::Suspension,
            "price" => Self::Price,
            "end" => Self::End,
            "any" => Self::Any,
            _ => return None,
        })
    }

    /// Whether only changes with events or suspensions can fulfil it.
    fn is_rare(self) -> bool {
        !matches!(self, Self::Price | Self::Any)
    }
}

/// Reports to the client that a call is still waiting.
#[derive(Debug)]
pub(crate) struct Progress {
    pub peer: Peer<RoleServer>,
    /// Absent if the client did not ask for it.
    pub token: Option<ProgressToken>,
}

impl Progress {
    async fn report(&self, waited: Duration) {
        if let Some(token) = self.token.clone() {
            let progress = ProgressNotificationParam::new(token, waited.as_secs_f64());
            // The client may be gone; the call ends then by itself.
            self.peer.notify_progress(progress).await.ok();
        }
    }
}

/// What has happened.
#[derive(Debug, Default)]
struct WaitOutcome {
    reason: Option<String>,
    events: Vec<Value>,
    bytes: usize,
    /// The latest values of each channel, as one merge patch.
    values: BTreeMap<String, Value>,
    missed: BTreeMap<String, &'static str>,
    is_full: bool,
}

/// A channel that is followed.
#[derive(Debug)]
struct FollowedChannel {
    channel: String,
    watch: ChannelWatch,
    position: Option<Position>,
    /// The latest event that the watch has reported.
    last_event: Seq,
    is_closed: bool,
    /// The prices when the wait began, by their JSON pointer.
    prices: BTreeMap<String, Decimal>,
    /// Whether they are known. Those at the caller's position, which may be older, are not.
    has_prices: bool,
}

/// Waits for the first such change, and returns what a tool answers.
pub(crate) async fn wait(
    channels: &Channels,
    wait: Wait,
    progress: &Progress,
) -> Result<Value, Refusal> {
    let began = Instant::now();
    let deadline = began + wait.timeout;
    let mut followed = Vec::new();
    for (channel, position) in &wait.channels {
        followed.push(FollowedChannel {
            channel: channel.clone(),
            watch: channels.watch(channel),
            position: *position,
            last_event: 0,
            is_closed: false,
            prices: BTreeMap::new(),
            has_prices: false,
        });
    }
    let mut happened = WaitOutcome::default();
    let mut found_any = false;
    for followed in &mut followed {
        found_any |= followed.start(channels, &wait, &mut happened).await?;
    }
    if !found_any {
        return Err(no_channel(&wait.channels[0].0));
    }
    let only_rare = wait.until.iter().all(|until| until.is_rare());
    while happened.reason.is_none() && !happened.is_full && Instant::now() < deadline {
        let next_tick = Instant::now() + Duration::from_secs(5);
        tokio::select! {
            (head, index) = any_change(&mut followed) => {
                let one = &mut followed[index];
                one.is_closed = head.is_closed;
                let is_change = head.last_event > one.last_event || head.is_closed || one.has_restarted(head);
                one.last_event = head.last_event;
                if only_rare && !is_change {
                    continue;
                }
                one.catch_up(channels, &wait, &mut happened).await?;
                if !only_rare && happened.reason.is_none() {
                    sleep(PRICES_EVERY.min(deadline.saturating_duration_since(Instant::now()))).await;
                }
            }
            () = sleep_until(next_tick.min(deadline)) => {
                if Instant::now() < deadline {
                    progress.report(began.elapsed()).await;
                }
            }
        }
    }
    // At the timeout as well: the positions of the answer are those of its values.
    for followed in followed.iter_mut().filter(|it| !it.is_closed) {
        if !happened.is_full {
            followed.catch_up(channels, &wait, &mut happened).await?;
        }
    }
    Ok(happened.answer(&followed, &wait.until, began.elapsed()))
}

async fn any_change(followed: &mut [FollowedChannel]) -> (Head, usize) {
    let (head, index, _) =
        select_all(followed.iter_mut().map(|it| Box::pin(it.watch.changed()))).await;
    (head, index)
}

impl FollowedChannel {
    /// Catches up from the caller's position, or begins at the head. Returns whether there is such a channel.
    async fn start(
        &mut self,
        channels: &Channels,
        wait: &Wait,
        happened: &mut WaitOutcome,
    ) -> Result<bool, Refusal> {
        if self.position.is_some() {
            let exists = self.catch_up(channels, wait, happened).await?;
            if wait.price_move.is_some()
                && let Some(image) = channels.since(&self.channel, None).await?
            {
                self.note_prices(&image);
            }
            return Ok(exists);
        }
        let Some(image) = channels.since(&self.channel, None).await? else { return Ok(false) };
        self.position = Some(Position { epoch: Some(image.epoch), seq: image.to });
        self.note_prices(&image);
        Ok(true)
    }

    fn note_prices(&mut self, image: &Changes) {
        self.has_prices = true;
        self.prices.clear();
        for frame in &image.frames {
            prices(&frame["data"], &mut String::new(), &mut self.prices);
        }
    }

    fn has_restarted(&self, head: Head) -> bool {
        self.position.is_some_and(|position| position.epoch != Some(head.epoch))
    }

    /// Takes what has changed since its position. Returns whether the channel exists.
    async fn catch_up(
        &mut self,
        channels: &Channels,
        wait: &Wait,
        happened: &mut WaitOutcome,
    ) -> Result<bool, Refusal> {
        loop {
            let Some(changes) = channels.since(&self.channel, self.position).await? else {
                if self.position.is_some() && self.is_closed {
                    happened.fulfil(wait, Until::End, "end");
                }
                return Ok(false);
            };
            let (to, head) = (changes.to, changes.head);
            self.take(changes, wait, happened);
            if happened.is_full || to >= head {
                return Ok(true);
            }
        }
    }

    fn take(&mut self, changes: Changes, wait: &Wait, happened: &mut WaitOutcome) {
        let Changes { epoch, frames, to, missed, .. } = changes;
        if let Some(missed) = missed {
            happened.missed.insert(self.channel.clone(), missed);
            happened.reason.get_or_insert_with(|| "missed".to_owned());
        }
        for frame in frames {
            if happened.is_full {
                return;
            }
            let seq = frame["seq"].as_u64().unwrap_or(to);
            if frame["type"] == "update" {
                self.take_update(&frame, wait, happened);
            }
            self.position = Some(Position { epoch: Some(epoch), seq });
        }
        if !happened.is_full {
            self.position = Some(Position { epoch: Some(epoch), seq: to });
        }
    }

    fn take_update(&self, frame: &Value, wait: &Wait, happened: &mut WaitOutcome) {
        let (patch, seq) = (&frame["patch"], &frame["seq"]);
        happened.fulfil(wait, Until::Any, "any");
        for event in frame["events"].as_array().into_iter().flatten() {
            let kind = event["kind"].as_str().unwrap_or_default();
            if is_goal(kind) {
                happened.fulfil(wait, Until::Goal, "goal");
            }
            if kind == "suspend" {
                happened.fulfil(wait, Until::Suspension, "suspension");
            }
            if !self.channel.contains("/odds") {
                happened.fulfil(wait, Until::Event, "event");
            }
            let mut shown = json!({"channel": self.channel, "seq": seq});
            if let (Some(shown), Some(event)) = (shown.as_object_mut(), event.as_object()) {
                shown.extend(event.clone());
            }
            happened.add(shown);
        }
        let is_sick = patch["feed"].as_str().is_some_and(|feed| feed != "live");
        if patch["suspended"] == true || patch["life"] == "suspended" || is_sick {
            happened.fulfil(wait, Until::Suspension, "suspension");
        }
        if patch["life"] == "ended" {
            happened.fulfil(wait, Until::End, "end");
        }
        if wait.until.contains(&Until::Price) {
            let mut now = BTreeMap::new();
            prices(patch, &mut String::new(), &mut now);
            let has_moved = |(at, price): (&String, &Decimal)| match wait.price_move {
                None => true,
                // How far it moved since the caller's position is not known.
                Some(_) if !self.has_prices => true,
                Some(least) => self
                    .prices
                    .get(at)
                    .filter(|before| !before.is_zero())
                    .is_some_and(|before| ((price - before) / before).abs() >= least),
            };
            if now.iter().any(has_moved) {
                happened.fulfil(wait, Until::Price, "price");
            }
        }
        join_patch(happened.values.entry(self.channel.clone()).or_insert_with(|| json!({})), patch);
    }
}

impl WaitOutcome {
    fn fulfil(&mut self, wait: &Wait, until: Until, reason: &str) {
        if self.reason.is_none() && wait.until.contains(&until) {
            self.reason = Some(reason.to_owned());
        }
    }

    /// Adds an event. The frame of the last one that fits is complete: positions are those of frames.
    fn add(&mut self, event: Value) {
        self.bytes += fit::size(&event);
        self.events.push(event);
        if self.events.len() >= EVENTS_MAX || self.bytes >= EVENTS_BYTES_MAX {
            self.is_full = true;
        }
    }

    fn answer(self, followed: &[FollowedChannel], until: &[Until], waited: Duration) -> Value {
        let positions: Map<String, Value> = followed
            .iter()
            .filter_map(|subject| {
                let Position { epoch, seq } = subject.position?;
                let epoch = epoch.map(|epoch: Epoch| epoch.to_string())?;
                Some((subject.channel.clone(), json!({"epoch": epoch, "seq": seq})))
            })
            .collect();
        let mut answer = json!({
            "changed": self.reason.is_some() || self.is_full,
            "events": self.events,
            "positions": positions,
            "waited_ms": u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
        });
        let mut set = |name: &str, value: Value| answer[name] = value;
        if let Some(reason) = self.reason {
            set("reason", reason.into());
        }
        if !self.missed.is_empty() {
            set("missed", json!(self.missed));
        }
        if self.is_full {
            set("more", true.into());
        }
        let with_prices = until.iter().any(|until| !until.is_rare());
        let values = self.values.into_iter().map(|(channel, values)| {
            let values = summary(&channel, values, with_prices);
            (channel, values)
        });
        let values: Map<String, Value> = values
            .filter(|(_, values)| values.as_object().is_some_and(|it| !it.is_empty()))
            .collect();
        if !values.is_empty() {
            set("values", values.into());
        }
        answer
    }
}

/// Kinds of events that change the score.
fn is_goal(kind: &str) -> bool {
    matches!(
        kind,
        "goal" | "score" | "retract" | "correct" | "game" | "set" | "match" | "shootout" | "finish"
    )
}

/// The values of a patch that tell the state of play. Incidents are among the events. Prices are shown to those
/// who wait for them.
fn summary(channel: &str, mut values: Value, with_prices: bool) -> Value {
    let is_odds = channel.contains("/odds");
    if let Some(fields) = values.as_object_mut() {
        fields.retain(|name, _| match name.as_str() {
            "incidents" | "ball" | "stats" | "points" => false,
            "markets" => !is_odds || with_prices,
            _ => true,
        });
        if let Some(markets) = fields.get_mut("markets").and_then(Value::as_object_mut) {
            for market in markets.values_mut().filter_map(Value::as_object_mut) {
                market.remove("transitions");
            }
        }
    }
    values
}

/// Joins a JSON merge patch (RFC 7396) to an earlier one. Nulls stay: they are deletions that the caller must see.
fn join_patch(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (name, value) in patch {
                join_patch(target.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}

/// The prices in a document, by their JSON pointer.
fn prices(value: &Value, at: &mut String, found: &mut BTreeMap<String, Decimal>) {
    let Some(fields) = value.as_object() else { return };
    for (name, value) in fields {
        let before = at.len();
        at.push('/');
        at.push_str(name);
        if name == "price" {
            if let Some(price) = value.as_str().and_then(|text| text.parse().ok()) {
                found.insert(at.clone(), price);
            }
        } else {
            prices(value, at, found);
        }
        at.truncate(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_merge_and_keep_deletions() {
        let mut values = json!({"score": {"home": 0, "away": 0}, "clock": {"s": 5}});
        join_patch(&mut values, &json!({"score": {"home": 1}, "clock": null}));
        assert_eq!(values, json!({"score": {"home": 1, "away": 0}, "clock": null}));
    }

    #[test]
    fn prices_are_found_where_they_are() {
        let mut found = BTreeMap::new();
        let book = json!({"markets": {"1x2": {"selections": {"home": {"price": "2.10", "prev": "2.00"}}}}});
        prices(&book, &mut String::new(), &mut found);
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("/markets/1x2/selections/home/price".to_owned(), "2.10".parse().unwrap())]
        );
    }
}
