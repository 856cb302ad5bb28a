//! What a client of `/stream/v1` saw, against the log.
//!
//! The document of a client is never built: at each position it was equal to the log's, so it is known by
//! its position. Merged updates are collected as claims, and checked channel by channel afterwards.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use fanout::Seq;
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::{
    document,
    published::{LogContent, Numbering},
    report::{Report, Rule},
};
use crate::history::{Entry, History};

/// Merged updates and images, each with the clients' position before it. The same frame at the same
/// position is checked once.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    by_channel: BTreeMap<(Arc<str>, String), BTreeMap<Claim, String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Claim {
    /// The position of the client before it.
    have: Seq,
    seq: Seq,
    frame: Arc<str>,
}

/// A channel as a client has it.
#[derive(Debug, Clone)]
struct ClientChannel {
    epoch: String,
    seq: Seq,
    /// Something was wrong with it, which is reported once.
    is_broken: bool,
}

/// Checks one client.
pub(crate) fn check(history: &History, log: &LogContent, claims: &mut Claims, report: &mut Report) {
    let mut check = Check {
        history,
        index: 0,
        log,
        claims,
        report,
        followed: FxHashMap::default(),
        resuming: BTreeMap::new(),
        announced: BTreeSet::new(),
        subscribed: BTreeSet::new(),
        confirmed: BTreeSet::new(),
        beat: BTreeSet::new(),
    };
    for (index, entry) in history.entries.iter().enumerate() {
        check.index = index;
        match entry {
            Entry::Connected => check.connected(),
            Entry::Sent(text) => check.sent(text),
            Entry::Received(text) => check.received(text),
            Entry::Settled => check.settled(),
            Entry::Closed(_) | Entry::ImageRequest(_) | Entry::WaitCall(_) => {}
        }
    }
}

/// Entries that are shown with a gap, and characters of each.
const SHOWN_ENTRIES: usize = 8;
const SHOWN_CHARS: usize = 200;

struct Check<'a> {
    history: &'a History,
    /// The index of the current entry.
    index: usize,
    log: &'a LogContent,
    claims: &'a mut Claims,
    report: &'a mut Report,
    followed: FxHashMap<Arc<str>, ClientChannel>,
    /// Positions that the client has sent on this connection.
    resuming: BTreeMap<String, (String, Seq)>,
    /// Channels whose image has been announced: with `"resumed":false`, by a `resync`, or because the
    /// client did not send a position.
    announced: BTreeSet<String>,
    /// Channels that were delivered on this connection.
    subscribed: BTreeSet<Arc<str>>,
    /// Channels of the last complete beat.
    confirmed: BTreeSet<Arc<str>>,
    /// Channels of the beat of which the last frame has not come.
    beat: BTreeSet<Arc<str>>,
}

impl Check<'_> {
    fn find(&mut self, rule: Rule, what: impl std::fmt::Display) {
        self.report.add(rule, &self.history.client, what);
    }

    /// Reports what is wrong with a channel, and expects nothing of it until the next image.
    fn broken(&mut self, channel: &str, rule: Rule, what: impl std::fmt::Display) {
        self.find(rule, format_args!("{channel}: {what}"));
        if let Some(followed) = self.followed.get_mut(channel) {
            followed.is_broken = true;
        }
    }

    /// What the client did and saw of a channel just before, for people.
    fn before(&self, channel: &str) -> String {
        let quoted = format!("\"{channel}\"");
        let shown = |entry: &Entry| match entry {
            Entry::Received(text) if !text.contains(&quoted) => None,
            Entry::Received(text) | Entry::Sent(text) => {
                Some(text.chars().take(SHOWN_CHARS).collect::<String>())
            }
            other => Some(format!("{other:?}")),
        };
        let entries = self.history.entries[..self.index].iter().rev();
        let mut last: Vec<String> = entries.filter_map(shown).take(SHOWN_ENTRIES).collect();
        last.reverse();
        last.join("\n        ")
    }

    fn connected(&mut self) {
        self.resuming.clear();
        self.announced.clear();
        self.subscribed.clear();
        self.beat.clear();
        self.confirmed.clear();
    }

    fn sent(&mut self, text: &str) {
        let command: Value = serde_json::from_str(text).unwrap_or_default();
        let Some(channel) = command["ch"].as_str().filter(|_| command["op"] == "subscribe") else {
            return;
        };
        let position = |it: &Value| Some((it["epoch"].as_str()?.to_owned(), it["seq"].as_u64()?));
        let positions = match &command["from"] {
            Value::Object(all) if channel.contains('*') => {
                all.iter().filter_map(|(name, it)| Some((name.clone(), position(it)?))).collect()
            }
            from => position(from)
                .map(|from| (channel.to_owned(), from))
                .into_iter()
                .collect::<Vec<_>>(),
        };
        for (name, (epoch, seq)) in positions {
            if let Some(state) = self.followed.get(&*name).filter(|it| !it.is_broken) {
                let (epoch_before, seq_before) = (state.epoch.clone(), state.seq);
                if (&epoch_before, seq_before) != (&epoch, seq) {
                    // Then the test's own clients are wrong.
                    self.find(
                        Rule::Unexpected,
                        format_args!(
                            "{name}: the client sends {epoch} {seq}, and is at {epoch_before} {seq_before}"
                        ),
                    );
                }
            }
            self.resuming.insert(name, (epoch, seq));
        }
    }

    fn received(&mut self, text: &Arc<str>) {
        self.report.counts.frames += 1;
        if let Some(update) = UpdateHead::scan(text) {
            self.update(&update, text);
            return;
        }
        let frame: Value = match serde_json::from_str(text) {
            Ok(frame) => frame,
            Err(problem) => {
                return self.find(Rule::Unexpected, format_args!("{problem} in {text}"));
            }
        };
        let channel = frame["ch"].as_str().unwrap_or_default().to_owned();
        match frame["type"].as_str().unwrap_or_default() {
            "image" => self.image(&channel, &frame, text),
            "update" => {
                self.find(Rule::Unexpected, format_args!("an update of another form: {text}"))
            }
            "subscribed" => self.subscribed(&channel, &frame),
            "resync" => self.resync(&channel, &frame),
            "beat" => self.beat(&frame),
            "unsubscribed" => self.unsubscribed(&channel, &frame),
            "error" if frame["code"] == "not_tracked" => self.not_tracked(&channel, &frame),
            "hello" | "pong" | "bye" | "lag" | "stale" => {}
            _ => self.find(Rule::Unexpected, text),
        }
    }

    fn update(&mut self, update: &UpdateHead<'_>, text: &Arc<str>) {
        let UpdateHead { channel, prev, seq, merged } = *update;
        let log = self.log;
        let Some(followed) = self.followed.get(channel) else {
            return self
                .find(Rule::Unexpected, format_args!("{channel}: an update before its image"));
        };
        if followed.is_broken {
            return;
        }
        let (epoch, have) = (followed.epoch.clone(), followed.seq);
        if self.announced.contains(channel) {
            return self.broken(
                channel,
                Rule::Unexpected,
                format_args!("update {seq} in place of the image"),
            );
        }
        if prev > have {
            let before = self.before(channel);
            return self.broken(
                channel,
                Rule::Gap,
                format_args!("update {prev} to {seq} at {have}; before it\n        {before}"),
            );
        }
        if seq <= have {
            return self.broken(channel, Rule::Back, format_args!("update {seq} again, at {have}"));
        }
        if merged.unwrap_or(1) != seq - prev {
            let what = format_args!("update {prev} to {seq} says that it is {merged:?} changes");
            return self.broken(channel, Rule::Unexpected, what);
        }
        let Some(numbering) = log.find(channel, &epoch) else {
            return self.broken(channel, Rule::NotInLog, format_args!("update {seq} of {epoch}"));
        };
        let Some(logged) = numbering.update(seq) else {
            let what =
                format_args!("update {seq} of {epoch}, and the log ends at {}", numbering.head());
            return self.broken(channel, Rule::NotInLog, what);
        };
        if merged.is_none() {
            if logged.payload != text.as_bytes() {
                let logged = String::from_utf8_lossy(&logged.payload).into_owned();
                let rule = one_change_rule(text, &logged);
                return self.broken(
                    channel,
                    rule,
                    format_args!("update {seq} is {text}, in the log {logged}"),
                );
            }
            self.report.counts.events += logged.events as u64;
        } else {
            self.report.counts.merged += 1;
            let claim = Claim { have, seq, frame: Arc::clone(text) };
            self.claims.put(channel, &epoch, claim, &self.history.client);
        }
        self.followed.get_mut(channel).expect("it was found above").seq = seq;
        if !self.subscribed.contains(channel) {
            self.subscribed.insert(channel.into());
        }
    }

    fn image(&mut self, channel: &str, frame: &Value, text: &Arc<str>) {
        self.report.counts.images += 1;
        let log = self.log;
        let (Some(epoch), Some(seq)) = (frame["epoch"].as_str(), frame["seq"].as_u64()) else {
            return self.find(Rule::Unexpected, text);
        };
        let announced = self.announced.remove(channel);
        let state = self.followed.get(channel).cloned();
        if let Some(state) = &state {
            if state.epoch == epoch {
                if seq < state.seq {
                    let what = format_args!("{channel}: an image at {seq} after {}", state.seq);
                    self.find(Rule::Back, what);
                } else if !announced && !state.is_broken {
                    let what = format_args!(
                        "{channel}: an image at {seq} in place of the updates since {}",
                        state.seq
                    );
                    self.find(Rule::Image, what);
                }
            } else {
                self.report.counts.epochs += 1;
                self.check_epoch(channel, &state.epoch, epoch);
            }
        }
        let followed = ClientChannel { epoch: epoch.to_owned(), seq, is_broken: false };
        let channel: Arc<str> = channel.into();
        self.followed.insert(Arc::clone(&channel), followed);
        self.subscribed.insert(Arc::clone(&channel));
        self.resuming.remove(&*channel);
        if let Some(problem) = check_image(log, &channel, frame) {
            self.broken(&channel, problem.0, problem.1);
        }
    }

    /// The epoch of a channel changed for a client.
    fn check_epoch(&mut self, channel: &str, was: &str, now: &str) {
        if !self.log.has_ended(channel, was) {
            let what =
                format_args!("{channel}: from {was} to {now}, and the log says nothing of an end");
            self.find(Rule::Epoch, what);
        }
    }

    fn subscribed(&mut self, channel: &str, frame: &Value) {
        if channel.contains('*') || frame.get("id").is_none() {
            return;
        }
        let resumed = frame["resumed"] == true;
        let Some((epoch, seq)) = self.resuming.get(channel).cloned() else {
            if !resumed {
                self.announced.insert(channel.to_owned());
            }
            return;
        };
        self.report.counts.resumes += 1;
        let now = frame["epoch"].as_str().unwrap_or_default().to_owned();
        if resumed {
            self.subscribed.insert(channel.into());
            if now != epoch {
                self.broken(channel, Rule::Epoch, format_args!("resumed in {now} from {epoch}"));
            }
            if frame["seq"].as_u64() < Some(seq) {
                let what = format_args!("resumed at {} from {seq}", frame["seq"]);
                self.broken(channel, Rule::Back, what);
            }
            return;
        }
        self.announced.insert(channel.to_owned());
        if now == epoch {
            let is_out_of_tail = self.log.has_short_tails && frame["why"] == "window";
            if !is_out_of_tail {
                let what = format_args!("{channel}: {epoch} {seq} is not resumed: {frame}");
                self.find(Rule::Image, what);
            }
        } else {
            self.check_epoch(channel, &epoch, &now);
        }
    }

    fn resync(&mut self, channel: &str, frame: &Value) {
        self.report.counts.resyncs += 1;
        self.announced.insert(channel.to_owned());
        let Some(state) = self.followed.get(channel).cloned() else { return };
        match frame["why"].as_str().unwrap_or_default() {
            "slow" if self.history.may_skip => {}
            "gap" | "slow" if self.log.has_short_tails => {}
            "epoch" => {
                if !self.log.has_ended(channel, &state.epoch) {
                    self.find(
                        Rule::Epoch,
                        format_args!("{frame}: the log says nothing of an end of {}", state.epoch),
                    );
                }
            }
            _ => self.find(Rule::Resync, format_args!("{frame} at {} {}", state.epoch, state.seq)),
        }
    }

    fn beat(&mut self, frame: &Value) {
        let heads = frame["heads"].as_object();
        for (channel, head) in heads.into_iter().flatten() {
            let Some(state) = self.followed.get(&**channel) else {
                self.find(Rule::Beat, format_args!("{channel}: at {head} without an image"));
                continue;
            };
            let (seq, is_broken) = (state.seq, state.is_broken);
            let name = Arc::from(channel.as_str());
            self.beat.insert(Arc::clone(&name));
            self.subscribed.insert(name);
            if head.as_u64() != Some(seq) && !is_broken && !self.announced.contains(channel) {
                self.broken(
                    channel,
                    Rule::Beat,
                    format_args!("a beat at {head}, and the client is at {seq}"),
                );
            }
        }
        if frame["more"] == true {
            return;
        }
        // A channel that a beat has listed is in each later beat, until the client gets `unsubscribed`.
        let beat = std::mem::take(&mut self.beat);
        let lost: Vec<_> = self.confirmed.difference(&beat).cloned().collect();
        for channel in lost {
            self.find(Rule::Beat, format_args!("{channel}: no longer in a beat"));
        }
        self.confirmed = beat;
    }

    fn unsubscribed(&mut self, channel: &str, frame: &Value) {
        self.subscribed.remove(channel);
        self.announced.remove(channel);
        self.resuming.remove(channel);
        if frame["why"] == "gone" {
            self.gone(channel, frame);
        }
    }

    fn not_tracked(&mut self, channel: &str, frame: &Value) {
        self.announced.remove(channel);
        self.resuming.remove(channel);
        self.gone(channel, frame);
    }

    /// A channel is no longer there.
    fn gone(&mut self, channel: &str, frame: &Value) {
        self.confirmed.remove(channel);
        self.beat.remove(channel);
        if let Some(state) = self.followed.remove(channel)
            && !self.log.has_ended(channel, &state.epoch)
        {
            self.find(
                Rule::Epoch,
                format_args!("{frame}: the log says nothing of an end of {}", state.epoch),
            );
        }
    }

    /// The client has had time to read everything.
    fn settled(&mut self) {
        for (channel, (epoch, seq)) in std::mem::take(&mut self.resuming) {
            let is_answered = self.subscribed.contains(&*channel);
            if !is_answered && !self.log.has_ended(&channel, &epoch) {
                let what = format_args!("{channel}: nothing came after {epoch} {seq} was sent");
                self.find(Rule::Incomplete, what);
            }
        }
        for channel in self.subscribed.clone() {
            let Some(state) = self.followed.get(&channel).cloned() else { continue };
            let Some(numbering) = self.log.find(&channel, &state.epoch) else { continue };
            // A channel that is updated at each moment is never settled.
            let expected = numbering.head_at(self.log.settled_at);
            if !state.is_broken && state.seq < expected {
                let what = format_args!(
                    "{channel}: at {} in the end, and the log at {expected}",
                    state.seq
                );
                self.find(Rule::Incomplete, what);
            }
        }
    }
}

/// Which rule is broken by an update of one change that differs from the log's.
fn one_change_rule(text: &str, logged: &str) -> Rule {
    let events = |text: &str| -> Value {
        serde_json::from_str::<Value>(text).map_or(Value::Null, |mut frame| frame["events"].take())
    };
    if events(text) == events(logged) { Rule::Bytes } else { Rule::Events }
}

/// What is wrong with an image.
pub(crate) fn check_image(
    log: &LogContent,
    channel: &str,
    frame: &Value,
) -> Option<(Rule, String)> {
    let (epoch, seq) = (frame["epoch"].as_str()?, frame["seq"].as_u64()?);
    let (data, digest) = (&frame["data"], document::digest(&frame["data"]));
    match log.find(channel, epoch) {
        Some(numbering) => match numbering.digest_at(seq) {
            Some(expected) if expected == digest => None,
            Some(_) => {
                let difference = numbering.difference(seq, data);
                Some((Rule::Document, format!("its image at {epoch} {seq} differs {difference}")))
            }
            None => {
                let head = numbering.head();
                Some((
                    Rule::NotInLog,
                    format!("an image at {epoch} {seq}, and the log ends at {head}"),
                ))
            }
        },
        None if log.continues(channel, seq, digest) => None,
        None => Some((Rule::NotInLog, format!("an image of {epoch}, which the log does not have"))),
    }
}

impl Claims {
    fn put(&mut self, channel: &str, epoch: &str, claim: Claim, client: &str) {
        let key = (Arc::from(channel), epoch.to_owned());
        let claims = self.by_channel.entry(key).or_default();
        claims.entry(claim).or_insert_with(|| client.to_owned());
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (key, claims) in other.by_channel {
            self.by_channel.entry(key).or_default().extend(claims);
        }
    }

    /// Checks all of them.
    pub(crate) fn check(&self, log: &LogContent, report: &mut Report) {
        for ((channel, epoch), claims) in &self.by_channel {
            let numbering = log.find(channel, epoch).expect("found when it was claimed");
            let mut documents = numbering.documents();
            // By the position before them, so that each document is made once.
            for (claim, client) in claims {
                let before = documents.at(claim.have);
                if let Some((rule, what)) = claim.check(numbering, before) {
                    report.add(rule, client, format_args!("{channel}: {what}"));
                }
            }
        }
    }
}

impl Claim {
    fn check(&self, numbering: &Numbering, before: &Value) -> Option<(Rule, String)> {
        let Self { have, seq, frame: text } = self;
        let frame: Value = match serde_json::from_str(text) {
            Ok(frame) => frame,
            Err(problem) => return Some((Rule::Unexpected, format!("{problem} in {text}"))),
        };
        let merged = numbering.updates(*have, *seq);
        let events: usize = merged.iter().map(|it| it.events).sum();
        if events > 0 || frame.get("events").is_some() {
            let what = format!("the update from {have} to {seq} merges {events} events: {text}");
            return Some((Rule::Events, what));
        }
        let last = numbering.update(*seq).expect("found when it was claimed");
        let last: Value = serde_json::from_slice(&last.payload).expect("checked when it was added");
        if frame["at"] != last["at"] {
            let what = format!(
                "the update from {have} to {seq} has the times {}, and its last change {}",
                frame["at"], last["at"]
            );
            return Some((Rule::Document, what));
        }
        let change = document::digest_change(before, &frame["patch"]);
        let digest = document::digest(before).wrapping_add(change);
        if numbering.digest_at(*seq) == Some(digest) {
            return None;
        }
        let mut after = before.clone();
        document::merge(&mut after, &frame["patch"]);
        let difference = numbering.difference(*seq, &after);
        Some((
            Rule::Document,
            format!("after the update from {have} to {seq} it differs {difference}: {text}"),
        ))
    }
}

/// The beginning of an update, in the order in which the hub writes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpdateHead<'a> {
    pub(crate) channel: &'a str,
    pub(crate) prev: Seq,
    pub(crate) seq: Seq,
    /// How many changes it stands for, if they are several.
    pub(crate) merged: Option<u64>,
}

impl<'a> UpdateHead<'a> {
    pub(crate) fn scan(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix(r#"{"type":"update","ch":""#)?;
        let (channel, rest) = rest.split_once('"')?;
        let (seq, rest) = number(rest.strip_prefix(r#","seq":"#)?)?;
        let (prev, rest) = number(rest.strip_prefix(r#","prev":"#)?)?;
        let merged = rest.strip_prefix(r#","n":"#).and_then(number).map(|(merged, _)| merged);
        Some(Self { channel, prev, seq, merged })
    }
}

fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit())?;
    Some((text[..end].parse().ok()?, &text[end..]))
}
