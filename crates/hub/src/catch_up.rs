//! Brings a reader from its position to the head of a channel: from the tail if it reaches back far
//! enough, else with the image. Knows no client.

use bytes::Bytes;
use fanout::{
    ChannelId, Epoch, Pattern, Position, Seq,
    catch_up::{
        CatchUp, CatchUpFrame, DocumentHash, Gap, HostRequest, HostResponse, Located, Verdict,
        check,
    },
    channel::Channel,
    encode::text_frame,
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use sha2::{Digest, Sha256};

use crate::{
    canonical::canonical,
    channels::{ChannelEntry, Subject},
    dialect::stream::{self, SeqRange},
    hub::{
        Hub,
        sequence::{Sequence, Stamp, TailStep},
    },
    patch::Patch,
};

/// A channel's image, encoded once per sequence number and shared by all readers.
#[derive(Debug, Clone)]
pub struct ChannelImage {
    pub epoch: Epoch,
    pub seq: Seq,
    /// The `image` frame, with its WebSocket header.
    pub frame: Bytes,
}

/// The cost of answering a question, in bytes of merged patches and rendered frames: bounds a turn
/// and is charged to the client.
#[derive(Debug, Clone, Copy)]
pub struct WorkBudget {
    pub spent: usize,
    /// Once this much is spent, an answer ends at the next frame, and its reader requests the rest.
    pub max: usize,
}

impl WorkBudget {
    #[must_use]
    pub fn up_to(max: usize) -> Self {
        Self { spent: 0, max }
    }

    fn is_spent(&self) -> bool {
        self.spent >= self.max
    }
}

/// So many channels a hub may be behind another one.
pub(crate) const EPOCHS_AHEAD_MAX: u32 = 1 << 16;

/// The cost of matching one channel's name against a pattern.
const MATCH_WORK: usize = 32;

impl Hub {
    /// Answers a request of the fan-out, without a limit on the work.
    pub fn answer(&mut self, question: &HostRequest) -> HostResponse {
        self.answer_within(question, &mut WorkBudget::up_to(usize::MAX))
    }

    /// Answers a question of the fan-out. A reader far behind gets a part of what leads to the head,
    /// and requests again.
    pub fn answer_within(&mut self, question: &HostRequest, work: &mut WorkBudget) -> HostResponse {
        match question {
            HostRequest::MatchChannels { pattern, .. } => {
                work.spent += self.channels.len() * MATCH_WORK;
                HostResponse::Channels(self.channels_matching(pattern))
            }
            HostRequest::Locate { channels } => {
                work.spent += channels.len() * MATCH_WORK;
                let located = channels.iter().map(|(name, from)| self.locate(name, *from));
                HostResponse::Located(located.collect())
            }
            HostRequest::StartGroup { channel, companion, from, bytes_max } => {
                // The writer has opened it and logged that; other users of a hub have not.
                if let Some(open) = self.legacy_to_open(channel, companion.as_ref()) {
                    self.take(&open, &mut Vec::new());
                }
                let answer = self.begin(channel, companion.as_ref(), *from, *bytes_max);
                work.spent += rendered(&answer);
                answer
            }
            HostRequest::CatchUp { channel, from, why, bytes_max, .. }
                if Self::is_legacy(channel.as_str()) =>
            {
                let answer = self.catch_up_legacy(channel.as_str(), *from, why, *bytes_max);
                work.spent += rendered(&answer);
                answer
            }
            HostRequest::CatchUp { channel, rate, from, why, bytes_max, with_hash } => {
                let Some(subject) = self.channels.subject(channel.as_str()) else {
                    return HostResponse::NotTracked;
                };
                let caught_up = self.catch_up(subject, *from, why, *bytes_max, work);
                let lease = self.channel_mut(subject).and_then(|it| it.tiers.lease(*rate));
                match caught_up {
                    Some(caught_up) => {
                        let hash = with_hash.then(|| self.hash(subject, work)).flatten();
                        HostResponse::CatchUp(CatchUp { lease, hash, ..caught_up })
                    }
                    None => HostResponse::NotTracked,
                }
            }
        }
    }

    /// Whether this hub lacks a channel or changes that the reader may have seen on another node of a cluster.
    #[must_use]
    pub fn lacks(&self, request: &HostRequest) -> bool {
        match request {
            HostRequest::CatchUp { channel, from, .. } => self.lacks_of(channel.as_str(), *from),
            HostRequest::StartGroup { channel, from, .. } => self.lacks_of(channel.as_str(), *from),
            HostRequest::MatchChannels { has, .. } => {
                has.iter().any(|(channel, from)| self.lacks_of(channel.as_str(), Some(*from)))
            }
            HostRequest::Locate { channels } => {
                channels.iter().any(|(name, from)| self.lacks_of(name.as_str(), *from))
            }
        }
    }

    /// The sequence that a channel has reached; `None` if there is no such channel.
    #[must_use]
    pub fn head(&self, channel: &str) -> Option<Seq> {
        Some(self.channel(self.channels.subject(channel)?)?.sequence.head())
    }

    /// The document that must be rendered to answer a request, if any: nobody has asked for it since its last change.
    pub(crate) fn renders(&self, request: &HostRequest) -> Option<Subject> {
        let HostRequest::CatchUp { channel, from, with_hash, .. } = request else { return None };
        let subject = self.unrendered(channel.as_str())?;
        let entry = self.channel(subject)?;
        let is_hashed = || matches!(&entry.hash, Some((seq, _)) if *seq == entry.sequence.head());
        let wants_image = from.is_none_or(|from| verify(entry, from).is_err());
        (wants_image || *with_hash && !is_hashed()).then_some(subject)
    }

    /// A channel whose image has not been rendered since its last change.
    pub(crate) fn unrendered(&self, channel: &str) -> Option<Subject> {
        let subject = self.channels.subject(channel)?;
        let entry = self.channel(subject)?;
        let is_rendered = matches!(&entry.image, Some((seq, _)) if *seq == entry.sequence.head());
        (!is_rendered).then_some(subject)
    }

    fn lacks_of(&self, channel: &str, from: Option<Position>) -> bool {
        // Channels that open later count up from this one. After a loss of records all are others, which nobody counts up to.
        let opens_later = |epoch: Epoch| {
            (1..EPOCHS_AHEAD_MAX).contains(&epoch.0.wrapping_sub(self.epoch_of_matches().0))
        };
        if from.and_then(|from| from.epoch).is_some_and(opens_later) {
            return true;
        }
        let head = if Self::is_legacy(channel) {
            if self.relayed_match(channel).is_none() {
                return true;
            }
            self.legacy_head(channel)
        } else {
            let subject = self.channels.subject(channel);
            let Some(entry) = subject.and_then(|subject| self.channel(subject)) else {
                return true;
            };
            Some((entry.sequence.channel.epoch, entry.sequence.head()))
        };
        // One of the older sockets that is not open is opened first.
        let (Some((epoch, head)), Some(from)) = (head, from) else { return false };
        from.epoch == Some(epoch) && from.seq > head
    }

    /// Where a channel stands, and whether a reader can resume at its position.
    fn locate(&self, name: &ChannelId, from: Option<Position>) -> Option<Located> {
        let entry = self.channel(self.channels.subject(name.as_str())?)?;
        let verdict = match from.map(|from| verify(entry, from)) {
            None => Verdict::Fresh,
            Some(Ok(_)) => Verdict::Resumed,
            Some(Err(gap)) => Verdict::Refused(gap),
        };
        let sequence = &entry.sequence;
        Some(Located { channel: sequence.channel.clone(), head: sequence.head(), verdict })
    }

    /// The channels that match a pattern, by name.
    fn channels_matching(&self, pattern: &Pattern) -> Vec<Channel> {
        let matching = self.all_channels().map(|entry| &entry.sequence.channel);
        let mut found: Vec<Channel> =
            matching.filter(|channel| pattern.matches(&channel.name)).cloned().collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    fn catch_up(
        &mut self,
        subject: Subject,
        from: Option<Position>,
        why: &str,
        bytes_max: usize,
        work: &mut WorkBudget,
    ) -> Option<CatchUp> {
        let entry = self.channel_mut(subject)?;
        let verdict = from.map(|from| verify(entry, from));
        if let Some(Ok(from)) = verdict {
            let (frames, to) = since(&mut entry.sequence, from, why, bytes_max, work);
            let head = entry.sequence.head();
            let channel = entry.sequence.channel.clone();
            return Some(CatchUp {
                channel,
                head,
                verdict: Verdict::Resumed,
                frames,
                to,
                lease: None,
                hash: None,
            });
        }
        let channel = entry.sequence.channel.clone();
        let was_there = entry.image.is_some();
        let image = self.shared_image(subject)?;
        work.spent += if was_there { 0 } else { image.frame.len() };
        Some(CatchUp {
            channel,
            head: image.seq,
            verdict: match verdict {
                Some(Err(gap)) => Verdict::Refused(gap),
                _ => Verdict::Fresh,
            },
            frames: vec![CatchUpFrame { frame: image.frame, to: image.seq }],
            to: image.seq,
            lease: None,
            hash: None,
        })
    }

    /// The hash of a channel's document. Costs as much as an image of its own.
    fn hash(&mut self, subject: Subject, work: &mut WorkBudget) -> Option<DocumentHash> {
        let image = self.shared_image(subject)?;
        let entry = self.channel_mut(subject)?;
        if let Some((seq, hash)) = &entry.hash
            && *seq == image.seq
        {
            return Some(hash.clone());
        }
        work.spent += image.frame.len();
        let hash = document_hash(image.frame);
        entry.hash = Some((image.seq, hash.clone()));
        Some(hash)
    }

    /// The image of a channel by its name.
    pub fn image_of(&mut self, channel: &str) -> Option<ChannelImage> {
        let subject = self.channels.subject(channel)?;
        self.shared_image(subject)
    }

    /// The images of all channels of the match with this channel.
    pub fn images_of_match(&mut self, name: &str) -> Vec<(ChannelId, ChannelImage)> {
        let id = self.channels.subject(name).and_then(Subject::match_id);
        let entries = id.into_iter().flat_map(|id| self.channels_of_match(id));
        let channels: Vec<(Subject, ChannelId)> =
            entries.map(|entry| (entry.subject, entry.sequence.channel.name.clone())).collect();
        let images = channels.into_iter().filter_map(|(subject, name)| {
            let image = self.shared_image(subject)?;
            Some((name, image))
        });
        images.collect()
    }

    fn shared_image(&mut self, subject: Subject) -> Option<ChannelImage> {
        let entry = self.channel(subject)?;
        let (epoch, head) = (entry.sequence.channel.epoch, entry.sequence.head());
        if let Some((seq, frame)) = &entry.image
            && *seq == head
        {
            return Some(ChannelImage { epoch, seq: head, frame: frame.clone() });
        }
        let name = entry.sequence.channel.name.clone();
        let stamp = entry.stamp;
        let data = self.image(subject)?;
        let frame = text_frame(|out| stream::image(out, &name, epoch, head, stamp, &data));
        self.channel_mut(subject)?.image = Some((head, frame.clone()));
        Some(ChannelImage { epoch, seq: head, frame })
    }
}

/// The hash of the document in an `image` frame.
pub(crate) fn document_hash(frame: Bytes) -> DocumentHash {
    DocumentHash::new(frame, |image| hash_of_image(image).into())
}

/// The SHA-256 of the document in an `image` frame, in canonical form (RFC 8785), in hexadecimal digits.
///
/// # Panics
///
/// If the text is none that the hub renders.
fn hash_of_image(text: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Image<'a> {
        #[serde(borrow)]
        data: &'a RawValue,
    }
    let image: Image<'_> = serde_json::from_slice(text).expect("an image is JSON with a document");
    hexadecimal(&canonical(image.data.get()))
}

/// The SHA-256 of a document in canonical form (RFC 8785), in hexadecimal digits.
pub(crate) fn hash_of(document: &Value) -> String {
    let form = serde_json_canonicalizer::to_vec(document);
    hexadecimal(&form.expect("a JSON value has a canonical form"))
}

fn hexadecimal(canonical: &[u8]) -> String {
    Sha256::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn verify(entry: &ChannelEntry, from: Position) -> Result<Seq, Gap> {
    let sequence = &entry.sequence;
    check(from, sequence.channel.epoch, sequence.oldest(), sequence.head())
}

/// Bytes of the frames of an answer.
fn rendered(answer: &HostResponse) -> usize {
    match answer {
        HostResponse::CatchUp(caught_up) | HostResponse::GroupStarted(caught_up, _) => {
            caught_up.frames.iter().map(|forward| forward.frame.len()).sum()
        }
        HostResponse::NotTracked
        | HostResponse::Channels(_)
        | HostResponse::Located(_)
        | HostResponse::UnknownCompanion => 0,
    }
}

/// The updates after `from` in as few frames as possible: events stay separate and in order, and
/// values are merged only between them. Stops at the first frame that reaches `bytes_max` or
/// exhausts the work budget.
fn since(
    sequence: &mut Sequence,
    from: Seq,
    why: &str,
    bytes_max: usize,
    work: &mut WorkBudget,
) -> (Vec<CatchUpFrame>, Seq) {
    let channel = sequence.channel.name.clone();
    let mut frames = Vec::new();
    let (mut bytes, mut to) = (0, from);
    let mut next = step(sequence, to, work);
    while let Some(first) = next.take() {
        let mut builder = FrameBuilder::new(to, first);
        // If the work budget is exhausted, the reader continues with a request from here.
        while !work.is_spent() {
            next = step(sequence, builder.last, work);
            let Some(step) = &next else { break };
            if !builder.extend(step) {
                break;
            }
            next = None;
        }
        let frame = text_frame(|out| builder.write(out, &channel, why));
        bytes += frame.len();
        work.spent += frame.len();
        to = builder.last;
        frames.push(CatchUpFrame { frame, to });
        if bytes >= bytes_max || work.is_spent() {
            break;
        }
    }
    (frames, to)
}

fn step(sequence: &mut Sequence, from: Seq, work: &mut WorkBudget) -> Option<TailStep> {
    if from >= sequence.head() {
        return None;
    }
    let step = sequence.step(from, &mut work.spent)?;
    work.spent += step.weight();
    Some(step)
}

/// Builds one frame from several updates.
struct FrameBuilder {
    prev: Seq,
    /// The last update in it.
    last: Seq,
    stamp: Stamp,
    first: TailStep,
    /// The merged patch, if there are several updates.
    merged: Option<Patch>,
}

impl FrameBuilder {
    fn new(prev: Seq, first: TailStep) -> Self {
        Self { prev, last: first.seq(), stamp: first.stamp(), first, merged: None }
    }

    /// Merges the next update into the frame, if possible. Events are never merged.
    fn extend(&mut self, next: &TailStep) -> bool {
        if !self.first.events().is_empty() || !next.events().is_empty() {
            return false;
        }
        let mut merged = self.merged.take().unwrap_or_else(|| self.first.patch().clone());
        let composes = merged.merge(next.patch()).is_ok();
        self.merged = Some(merged);
        if composes {
            (self.last, self.stamp) = (next.seq(), next.stamp());
        }
        composes
    }

    fn write(&self, out: &mut Vec<u8>, channel: &ChannelId, why: &str) {
        let span = SeqRange { channel, prev: self.prev, seq: self.last };
        let patch = self.merged.as_ref().unwrap_or_else(|| self.first.patch());
        let why = (self.last - self.prev > 1).then_some(why);
        stream::update(out, &span, self.stamp, patch, self.first.events(), why);
    }
}
