//! Everything that the hub has published, as its log has it: the order that all clients must agree with.
//!
//! Records are added in order, also those of a log that was read before it was damaged: clients may have
//! seen them. Channel and epoch identify a numbering, so the same number with other content is an error.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use fanout::{Micros, Seq};
use log::{
    RecordNumber,
    record::{Output, Record},
};
use serde_json::Value;

use super::{
    document::{self, Digest, difference},
    report::{Report, Rule},
};
use crate::client::Heads;

/// What the names of channels of the older sockets begin with.
const LIVE_MARK: char = '~';

/// All channels by name.
#[derive(Debug, Default)]
pub(crate) struct LogContent {
    channels: BTreeMap<Arc<str>, Vec<Numbering>>,
    /// The last record.
    pub(crate) last: RecordNumber,
    at: Micros,
    /// The last records that survived a damage of the log.
    breaks: Vec<RecordNumber>,
    /// Older records were damaged, so that the hub may have begun with shorter tails.
    pub(crate) has_short_tails: bool,
    /// What was published until this time, each client had time to read.
    pub(crate) settled_at: Micros,
    /// In a cluster, when records were made, and when the stream had them. Between the two its servers may elect a
    /// leader.
    pub(crate) seen: Vec<(Micros, Micros)>,
    pub(crate) counts: Counts,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    pub(crate) updates: u64,
    pub(crate) events: u64,
    /// Channels that ended.
    pub(crate) closed: u64,
}

/// One channel in one epoch.
#[derive(Debug)]
pub(crate) struct Numbering {
    pub(crate) epoch: String,
    pub(crate) closed: Option<RecordNumber>,
    /// After a damage of the log: the head of what survived. The next numbering continues there, or later
    /// if there is a snapshot of a later state.
    survived: Option<Seq>,
    /// The sequence and the document before the first update.
    base: Seq,
    first: Value,
    first_digest: Digest,
    updates: Vec<LoggedUpdate>,
    /// The document now.
    document: Value,
    digest: Digest,
    eids: BTreeSet<String>,
}

#[derive(Debug)]
pub(crate) struct LoggedUpdate {
    record: RecordNumber,
    at: Micros,
    pub(crate) payload: Bytes,
    /// Of the document after it.
    digest: Digest,
    pub(crate) events: usize,
}

impl LogContent {
    /// Adds the next record.
    pub(crate) fn add(&mut self, record: &Record, report: &mut Report) {
        if record.number <= self.last || record.at < self.at {
            report.add(
                Rule::Log,
                "log",
                format_args!(
                    "record {} at {} follows record {} at {}",
                    record.number, record.at, self.last, self.at
                ),
            );
        }
        (self.last, self.at) = (record.number, record.at);
        self.counts.records += 1;
        for output in &record.outputs {
            if let Err(problem) = self.add_output(record, output) {
                let (number, channel) = (record.number, output.channel());
                report.add(Rule::Log, "log", format_args!("record {number}: {channel}: {problem}"));
            }
        }
    }

    fn add_output(&mut self, record: &Record, output: &Output) -> Result<(), String> {
        let name = output.channel().as_str();
        match output {
            Output::Opened { epoch, seq, payload, .. } => {
                let epoch = epoch.to_string();
                let all = self.channels.entry(name.into()).or_default();
                if let Some(last) = all.last()
                    && last.closed.is_none()
                    && last.survived.is_none()
                {
                    return Err(format!("opened in {epoch} while it is open in {}", last.epoch));
                }
                if all.iter().any(|it| it.epoch == epoch) && !is_live(name) {
                    return Err(format!("opened in {epoch} again"));
                }
                let first = if is_live(name) {
                    Value::Null
                } else {
                    let image = parse(payload)?;
                    expect(&image, "epoch", &epoch)?;
                    if image["seq"] != *seq {
                        return Err(format!("opened at {seq} with an image at {}", image["seq"]));
                    }
                    image.get("data").cloned().ok_or("an image without data")?
                };
                all.push(Numbering::new(epoch, *seq, first));
                Ok(())
            }
            Output::Published { epoch, prev, seq, payload, has_events, .. } => {
                let events = self.numbering(name, &epoch.to_string(), *prev)?.add(
                    record,
                    *prev,
                    *seq,
                    payload,
                    is_live(name),
                )?;
                if (events > 0) && !has_events {
                    return Err(format!("update {seq} has events and is not marked so"));
                }
                self.counts.updates += 1;
                self.counts.events += events as u64;
                Ok(())
            }
            Output::Closed { epoch, .. } => {
                self.counts.closed += 1;
                let epoch = epoch.to_string();
                let last = self.channels.get(name).and_then(|all| all.last());
                if last.is_some_and(|last| last.survived.is_some() && last.epoch != epoch) {
                    // After records were lost: nothing was published in its new epoch.
                    return Ok(());
                }
                self.numbering(name, &epoch, 0)?.closed = Some(record.number);
                Ok(())
            }
        }
    }

    /// The open numbering of a channel. After a damage of the log it may be a new one without a record
    /// that opened it.
    fn numbering(&mut self, name: &str, epoch: &str, prev: Seq) -> Result<&mut Numbering, String> {
        let all = self.channels.entry(name.into()).or_default();
        if is_live(name) {
            // They are made when somebody follows the match, and nothing says so but their first frame.
            if all.last().is_none_or(|last| last.epoch != epoch) {
                all.push(Numbering::new(epoch.to_owned(), prev, Value::Null));
            }
            return Ok(all.last_mut().expect("there is one"));
        }
        let last = all.last().ok_or("it was never opened")?;
        if last.survived.is_some() {
            if last.epoch == epoch {
                return Err(format!("continues in {epoch} after records were lost"));
            }
            if all.iter().any(|it| it.epoch == epoch) {
                return Err(format!("returns to {epoch}"));
            }
            let before = all.iter().rev().find(|it| it.can_continue_at(prev));
            let document = before.map(|it| it.document_at(prev));
            let document = document.ok_or_else(|| {
                let outlines: Vec<String> = all.iter().map(Numbering::outline).collect();
                format!(
                    "continues at {prev} in {epoch}, where it never was: {}",
                    outlines.join("; ")
                )
            })?;
            all.push(Numbering::new(epoch.to_owned(), prev, document));
        } else if last.epoch != epoch {
            return Err(format!("is open in {}, and an update is of {epoch}", last.epoch));
        } else if last.closed.is_some() {
            return Err("a change after its end".to_owned());
        }
        Ok(all.last_mut().expect("checked or added above"))
    }

    /// The log was damaged: of what was added, only the records up to this one remain. All channels must
    /// have other epochs from now on. They continue with what these records say, or with a snapshot of a
    /// later state.
    pub(crate) fn lose_after(&mut self, record: RecordNumber) {
        self.breaks.push(record);
        let numberings = self.channels.values_mut().flatten();
        let is_open = |numbering: &&mut Numbering| {
            numbering.survived.is_none() && numbering.closed.is_none_or(|closed| closed > record)
        };
        for open in numberings.filter(is_open) {
            open.closed = None;
            let kept = open.updates.iter().take_while(|it| it.record <= record).count();
            open.survived = Some(open.base + kept as Seq);
        }
    }

    /// Another log takes the place of this one: it has the records up to this one, and goes on after it in other epochs.
    pub(crate) fn replace_after(&mut self, record: RecordNumber) {
        self.lose_after(record);
        self.last = record;
    }

    pub(crate) fn was_damaged(&self) -> bool {
        !self.breaks.is_empty()
    }

    /// Checks that a record that is read again is as it was.
    pub(crate) fn check_again(&self, record: &Record, report: &mut Report) {
        for output in &record.outputs {
            let Output::Published { channel, epoch, seq, payload, .. } = output else { continue };
            let stored = self.find(channel.as_str(), &epoch.to_string());
            let stored = stored.and_then(|stored| stored.update(*seq));
            if stored.is_none_or(|stored| stored.payload != *payload) {
                report.add(
                    Rule::Log,
                    "log",
                    format_args!(
                        "record {}: {channel}: update {seq} of {epoch} is not what it was",
                        record.number
                    ),
                );
            }
        }
    }

    pub(crate) fn find(&self, channel: &str, epoch: &str) -> Option<&Numbering> {
        // The newest first: epochs of the older sockets can return.
        self.channels.get(channel)?.iter().rev().find(|it| it.epoch == epoch)
    }

    /// The numbering of an epoch in which nothing was published: what survived a damage, in a new epoch.
    pub(crate) fn continues(&self, channel: &str, seq: Seq, digest: Digest) -> bool {
        let all = self.channels.get(channel).into_iter().flatten();
        let mut continued = all.filter(|it| it.can_continue_at(seq));
        continued.any(|it| it.digest_at(seq) == Some(digest))
    }

    /// Why the numbering of a channel ended, if the log says so.
    pub(crate) fn has_ended(&self, channel: &str, epoch: &str) -> bool {
        match self.find(channel, epoch) {
            Some(numbering) => numbering.closed.is_some() || numbering.survived.is_some(),
            // Nothing was published in it.
            None => self.was_damaged(),
        }
    }

    /// Whether a channel, or the match that it is about, ended at any time.
    pub(crate) fn was_ever_over(&self, channel: &str) -> bool {
        let mut all = self.channels.get(channel).into_iter().flatten();
        let is_over = |it: &Numbering| it.closed.is_some() || it.document["life"] == "ended";
        self.was_damaged() || all.any(is_over)
    }

    /// All events of a channel.
    pub(crate) fn events(&self, channel: &str) -> impl Iterator<Item = Value> {
        let updates = self.channels.get(channel).into_iter().flatten().flat_map(|it| &it.updates);
        updates.filter(|update| update.events > 0).flat_map(|update| {
            let frame: Value = serde_json::from_slice(&update.payload).expect("checked when added");
            frame["events"].as_array().cloned().unwrap_or_default()
        })
    }

    /// The last position of each channel that is open.
    pub(crate) fn heads(&self) -> Heads {
        let open = self.current().filter(|(_, numbering)| numbering.is_open());
        open.map(|(name, it)| (name.to_owned(), (it.epoch.clone(), it.head()))).collect()
    }

    /// What was made until this time had been published at `time`.
    pub(crate) fn published_at(&self, time: Micros) -> Micros {
        if self.seen.is_empty() {
            return time;
        }
        let count = self.seen.partition_point(|(_, seen)| *seen <= time);
        self.seen[..count].last().map_or(Micros::MIN, |(made, _)| *made)
    }

    /// All numberings, each with the name of its channel.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Numbering)> {
        self.channels.iter().flat_map(|(name, all)| all.iter().map(|it| (&**name, it)))
    }

    /// The channels, each with its current numbering.
    pub(crate) fn current(&self) -> impl Iterator<Item = (&str, &Numbering)> {
        self.channels.iter().filter_map(|(name, all)| Some((&**name, all.last()?)))
    }
}

/// The name of a match's channel for the older sockets.
pub(crate) fn live_channel(sport: &str, id: u64, book: Option<&str>) -> String {
    let book = book.map_or(String::new(), |book| format!("/{book}"));
    format!("{LIVE_MARK}{sport}/{id}{book}")
}

fn is_live(channel: &str) -> bool {
    channel.starts_with(LIVE_MARK)
}

fn parse(payload: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(payload).map_err(|problem| format!("its payload is no JSON: {problem}"))
}

fn expect(frame: &Value, field: &str, expected: &str) -> Result<(), String> {
    if frame[field] == expected {
        return Ok(());
    }
    Err(format!("its payload has {field} {}, and the log {expected}", frame[field]))
}

impl Numbering {
    fn new(epoch: String, base: Seq, first: Value) -> Self {
        let digest = document::digest(&first);
        Self {
            epoch,
            closed: None,
            survived: None,
            base,
            document: first.clone(),
            first,
            first_digest: digest,
            updates: Vec::new(),
            digest,
            eids: BTreeSet::new(),
        }
    }

    /// Adds an update, and returns the number of its events.
    fn add(
        &mut self,
        record: &Record,
        prev: Seq,
        seq: Seq,
        payload: &Bytes,
        is_live: bool,
    ) -> Result<usize, String> {
        let head = self.head();
        let mut events = 0;
        if prev != head || seq != prev + 1 {
            return Err(format!("an update from {prev} to {seq} at {head}"));
        }
        let frame = parse(payload)?;
        if frame["seq"] != seq {
            return Err(format!("the payload of update {seq} has seq {}", frame["seq"]));
        }
        if !is_live {
            if frame["type"] != "update" || frame["prev"] != prev || frame.get("n").is_some() {
                return Err(format!("update {seq} has another payload: {frame}"));
            }
            let change = document::merge(&mut self.document, &frame["patch"]);
            self.digest = self.digest.wrapping_add(change);
            let eids = frame["events"].as_array().into_iter().flatten();
            for event in eids {
                events += 1;
                let eid = event["eid"].as_str().unwrap_or_default();
                if !self.eids.insert(eid.to_owned()) {
                    return Err(format!("update {seq} has the event {eid} again"));
                }
            }
        }
        let (number, at) = (record.number, record.at);
        let payload = payload.clone();
        self.updates.push(LoggedUpdate {
            record: number,
            at,
            payload,
            digest: self.digest,
            events,
        });
        Ok(events)
    }

    /// What happened to it, for people.
    fn outline(&self) -> String {
        let Self { epoch, base, closed, survived, .. } = self;
        let records = self.updates.first().zip(self.updates.last());
        let records = records.map(|(first, last)| (first.record, last.record));
        let head = self.head();
        format!(
            "{epoch} from {base} to {head} in {records:?}, closed {closed:?}, survived {survived:?}"
        )
    }

    pub(crate) fn head(&self) -> Seq {
        self.base + self.updates.len() as Seq
    }

    /// Whether the numbering after a damage of the log can begin with this sequence.
    fn can_continue_at(&self, seq: Seq) -> bool {
        self.survived.is_some_and(|survived| (survived..=self.head()).contains(&seq))
    }

    /// The last update that was made at this time or earlier.
    pub(crate) fn head_at(&self, time: Micros) -> Seq {
        self.base + self.updates.partition_point(|it| it.at <= time) as Seq
    }

    /// The document now.
    pub(crate) fn document(&self) -> &Value {
        &self.document
    }

    pub(crate) fn is_open(&self) -> bool {
        self.closed.is_none() && self.survived.is_none()
    }

    pub(crate) fn update(&self, seq: Seq) -> Option<&LoggedUpdate> {
        let index = seq.checked_sub(self.base + 1)?;
        self.updates.get(usize::try_from(index).ok()?)
    }

    /// The updates after `from` up to `to`.
    pub(crate) fn updates(&self, from: Seq, to: Seq) -> &[LoggedUpdate] {
        let index = |seq: Seq| usize::try_from(seq.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.updates.get(index(from)..index(to)).unwrap_or_default()
    }

    /// The digest of the document at a sequence.
    pub(crate) fn digest_at(&self, seq: Seq) -> Option<Digest> {
        if seq == self.base { Some(self.first_digest) } else { Some(self.update(seq)?.digest) }
    }

    /// The document at a sequence.
    pub(crate) fn document_at(&self, seq: Seq) -> Value {
        let mut documents = self.documents();
        documents.at(seq).clone()
    }

    /// Calls a function with each update's time, the document after it, and its patch.
    pub(crate) fn each_document(&self, mut each: impl FnMut(Micros, &Value, &Value)) {
        let mut document = self.first.clone();
        for update in &self.updates {
            let frame: Value = serde_json::from_slice(&update.payload).expect("checked when added");
            document::merge(&mut document, &frame["patch"]);
            each(update.at, &document, &frame["patch"]);
        }
    }

    /// Its documents, in order.
    pub(crate) fn documents(&self) -> Documents<'_> {
        Documents { numbering: self, seq: self.base, document: self.first.clone() }
    }

    /// How a document differs from the one at a sequence, for people.
    pub(crate) fn difference(&self, seq: Seq, document: &Value) -> String {
        let difference = difference(&self.document_at(seq), document);
        difference.unwrap_or_else(|| "in nothing that can be shown".to_owned())
    }
}

/// The documents of a numbering, one after the other.
#[derive(Debug)]
pub(crate) struct Documents<'a> {
    numbering: &'a Numbering,
    seq: Seq,
    document: Value,
}

impl Documents<'_> {
    /// The document at a sequence that is not before the last one asked for.
    pub(crate) fn at(&mut self, seq: Seq) -> &Value {
        for update in self.numbering.updates(self.seq, seq) {
            let frame: Value = serde_json::from_slice(&update.payload).expect("checked when added");
            document::merge(&mut self.document, &frame["patch"]);
        }
        self.seq = self.seq.max(seq);
        &self.document
    }
}
