//! Brings readers from where they stand to where a channel is: from the tail where it reaches back
//! far enough, else with the image. Knows no client.

use bytes::Bytes;
use fanout::{
    Position, Seq,
    catch_up::{Answer, CaughtUp, Forward, Gap, Question, Verdict, check},
    encode::text_frame,
    live,
};

use crate::{
    channels::{Entry, Subject},
    dialect::stream::{self, Span},
    document::Object,
    hub::{
        Hub,
        sequence::{Stamp, Update},
    },
};

/// A channel's image, encoded once for each sequence and shared by all who want it.
#[derive(Debug, Clone)]
pub struct Image {
    pub epoch: fanout::Epoch,
    pub seq: Seq,
    /// The `image` frame, with its WebSocket header.
    pub frame: Bytes,
}

impl Hub {
    /// Answers a question of the fan-out.
    pub fn answer(&mut self, question: &Question) -> Answer {
        match question {
            Question::Match { pattern } => Answer::Matched(self.channels.matching(pattern)),
            Question::Begin { channel, book, from, bytes_max } => {
                self.begin(channel, book.as_ref(), *from, *bytes_max)
            }
            Question::CatchUp { channel, from, why, bytes_max, .. }
                if live::Name::of(channel.as_str()).is_some() =>
            {
                self.bring_forward(channel.as_str(), *from, why, *bytes_max)
            }
            Question::CatchUp { channel, rate, from, why, bytes_max } => {
                let Some(subject) = self.channels.subject(channel.as_str()) else {
                    return Answer::NotTracked;
                };
                let caught_up = self.catch_up(subject, *from, why, *bytes_max);
                let lease = self.channels.get_mut(subject).and_then(|it| it.lanes.lease(*rate));
                match caught_up {
                    Some(caught_up) => Answer::CaughtUp(CaughtUp { lease, ..caught_up }),
                    None => Answer::NotTracked,
                }
            }
        }
    }

    fn catch_up(
        &mut self,
        subject: Subject,
        from: Option<Position>,
        why: &str,
        bytes_max: usize,
    ) -> Option<CaughtUp> {
        let entry = self.channels.get(subject)?;
        let verdict = from.map(|from| verify(entry, from));
        if let Some(Ok(from)) = verdict {
            let (frames, to) = since(entry, from, why, bytes_max);
            let head = entry.sequence.head();
            let channel = entry.sequence.channel.clone();
            return Some(CaughtUp {
                channel,
                head,
                verdict: Verdict::Resumed,
                frames,
                to,
                lease: None,
            });
        }
        let channel = entry.sequence.channel.clone();
        let image = self.shared_image(subject)?;
        Some(CaughtUp {
            channel,
            head: image.seq,
            verdict: match verdict {
                Some(Err(gap)) => Verdict::Refused(gap),
                _ => Verdict::Fresh,
            },
            frames: vec![Forward { frame: image.frame, to: image.seq }],
            to: image.seq,
            lease: None,
        })
    }

    /// The image of a channel by its name.
    pub fn image_of(&mut self, channel: &str) -> Option<Image> {
        let subject = self.channels.subject(channel)?;
        self.shared_image(subject)
    }

    fn shared_image(&mut self, subject: Subject) -> Option<Image> {
        let entry = self.channels.get(subject)?;
        let (epoch, head) = (entry.sequence.channel.epoch, entry.sequence.head());
        if let Some((seq, frame)) = &entry.image
            && *seq == head
        {
            return Some(Image { epoch, seq: head, frame: frame.clone() });
        }
        let name = entry.sequence.channel.name.clone();
        let stamp = entry.stamp;
        let data = self.image(subject)?;
        let frame = text_frame(|out| stream::image(out, &name, epoch, head, stamp, &data));
        self.channels.get_mut(subject)?.image = Some((head, frame.clone()));
        Some(Image { epoch, seq: head, frame })
    }
}

fn verify(entry: &Entry, from: Position) -> Result<Seq, Gap> {
    let sequence = &entry.sequence;
    check(from, sequence.channel.epoch, sequence.oldest(), sequence.head())
}

/// The updates after `from` in as few frames as is right: events stand alone, in order, and values
/// are merged only between them. Stops at the first frame that reaches `bytes_max`.
fn since(entry: &Entry, from: Seq, why: &str, bytes_max: usize) -> (Vec<Forward>, Seq) {
    let channel = &entry.sequence.channel.name;
    let mut frames = Vec::new();
    let (mut bytes, mut to) = (0, from);
    let mut updates = entry.sequence.since(from).peekable();
    while let Some(first) = updates.next() {
        let mut run = Run::new(to, first);
        while let Some(next) = updates.next_if(|next| run.takes(next)) {
            run.extend(next);
        }
        let frame = text_frame(|out| run.write(out, channel, why));
        bytes += frame.len();
        to = run.seq;
        frames.push(Forward { frame, to });
        if bytes >= bytes_max {
            break;
        }
    }
    (frames, to)
}

/// Updates that become one frame.
struct Run<'a> {
    first: &'a Update,
    prev: Seq,
    seq: Seq,
    stamp: Stamp,
    /// The composed patch, where there is more than the first.
    merged: Option<Object>,
    next: Option<Object>,
}

impl<'a> Run<'a> {
    fn new(prev: Seq, first: &'a Update) -> Self {
        Self { first, prev, seq: first.seq, stamp: first.stamp, merged: None, next: None }
    }

    /// Whether the update may be merged into this run.
    fn takes(&mut self, update: &Update) -> bool {
        if !self.first.events.is_empty() || !update.events.is_empty() {
            return false;
        }
        let mut merged = self.merged.take().unwrap_or_else(|| self.first.patch.clone());
        let composes = merged.merge(&update.patch).is_ok();
        if composes {
            self.next = Some(merged);
        } else if self.seq > self.first.seq {
            self.merged = Some(merged);
        }
        composes
    }

    fn extend(&mut self, update: &Update) {
        self.merged = self.next.take();
        self.seq = update.seq;
        self.stamp = update.stamp;
    }

    fn write(&self, out: &mut Vec<u8>, channel: &fanout::ChannelId, why: &str) {
        let span = Span { channel, prev: self.prev, seq: self.seq };
        let patch = self.merged.as_ref().unwrap_or(&self.first.patch);
        let why = (self.seq - self.prev > 1).then_some(why);
        stream::update(out, &span, self.stamp, patch, &self.first.events, why);
    }
}
