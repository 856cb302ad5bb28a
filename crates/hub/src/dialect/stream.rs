//! The hub's own stream protocol: frames that carry documents.

use std::sync::Arc;

use bytes::Bytes;
use fanout::{
    ChannelId, Epoch, Micros, Seq,
    channel::{Channel, ChannelInfo},
    encode::Encode,
    protocol,
};

use crate::{
    document::{Node, NotOurs, Object, Reader, text},
    hub::sequence::{self, Stamp},
    patch::Patch,
};

/// An `update` frame of one change, as live subscribers get it.
#[derive(Debug)]
pub struct UpdateFrame {
    pub channel: ChannelId,
    pub prev: Seq,
    pub update: Arc<sequence::Update>,
}

impl Encode for UpdateFrame {
    fn encode(&self, out: &mut Vec<u8>) {
        let sequence::Update { seq, stamp, patch, events } = &*self.update;
        update(
            out,
            &SeqRange { channel: &self.channel, prev: self.prev, seq: *seq },
            *stamp,
            patch,
            events,
            None,
        );
    }
}

/// An `update` frame of several changes, for subscribers that requested a lower rate.
#[derive(Debug)]
pub struct MergedFrame {
    pub channel: ChannelId,
    pub prev: Seq,
    pub seq: Seq,
    /// The timestamps of the last change.
    pub stamp: Stamp,
    pub patch: Patch,
}

impl Encode for MergedFrame {
    fn encode(&self, out: &mut Vec<u8>) {
        let Self { channel, prev, seq, stamp, patch } = self;
        update(
            out,
            &SeqRange { channel, prev: *prev, seq: *seq },
            *stamp,
            patch,
            &[],
            Some("rate"),
        );
    }
}

/// The changes of a channel that an `update` frame covers: those after `prev`, up to `seq`.
#[derive(Debug)]
pub struct SeqRange<'a> {
    pub channel: &'a ChannelId,
    pub prev: Seq,
    pub seq: Seq,
}

/// Appends an `update` frame. It contains `why` if it covers several changes.
pub fn update(
    out: &mut Vec<u8>,
    span: &SeqRange<'_>,
    stamp: Stamp,
    patch: &Patch,
    events: &[Node],
    why: Option<&str>,
) {
    let SeqRange { channel, prev, seq } = span;
    out.extend_from_slice(br#"{"type":"update","ch":""#);
    out.extend_from_slice(channel.as_str().as_bytes());
    number(out, r#"","seq":"#, *seq);
    number(out, r#","prev":"#, *prev);
    if let Some(why) = why {
        number(out, r#","n":"#, seq - prev);
        out.extend_from_slice(br#","why":""#);
        out.extend_from_slice(why.as_bytes());
        out.push(b'"');
    }
    out.extend_from_slice(br#","at":"#);
    at(out, Some(stamp));
    if !patch.is_empty() {
        out.extend_from_slice(br#","patch":"#);
        patch.write(out);
    }
    if !events.is_empty() {
        out.extend_from_slice(br#","events":["#);
        for (position, event) in events.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            event.write(out);
        }
        out.push(b']');
    }
    out.push(b'}');
}

/// An `update` frame of one change: JSON text, of which only the number and the time are read until its value is needed.
#[derive(Debug)]
pub(crate) struct FramedUpdate {
    pub(crate) seq: Seq,
    /// When it was published.
    pub(crate) published: Micros,
    frame: Box<[u8]>,
}

impl FramedUpdate {
    /// The frame of a change that was published at this time.
    pub(crate) fn new(seq: Seq, published: Micros, frame: &[u8]) -> Self {
        Self { seq, published, frame: frame.into() }
    }

    /// A frame that must be of this channel and this change.
    pub(crate) fn check(channel: &ChannelId, seq: Seq, frame: Bytes) -> Result<Self, NotOurs> {
        let stamp = Self::head(channel, seq, &mut Reader::new(&frame))?;
        // Without a copy if nobody else has it.
        Ok(Self { seq, published: stamp.published, frame: Vec::from(frame).into_boxed_slice() })
    }

    /// Reads what comes before the patch.
    fn head(channel: &ChannelId, seq: Seq, reader: &mut Reader<'_>) -> Result<Stamp, NotOurs> {
        let head = reader.take(br#"{"type":"update","ch":""#)
            && reader.take(channel.as_str().as_bytes())
            && reader.take(br#"","seq":"#)
            && reader.int().ok() == i64::try_from(seq).ok()
            && reader.take(br#","prev":"#)
            && reader.int().ok() == i64::try_from(seq - 1).ok()
            && reader.take(br#","at":{"src":"#);
        if !head {
            return Err(NotOurs);
        }
        let source = if reader.take(b"null") { None } else { Some(reader.int()?) };
        let received = reader.take(br#","in":"#).then(|| reader.int()).ok_or(NotOurs)??;
        let published = reader.take(br#","pub":"#).then(|| reader.int()).ok_or(NotOurs)??;
        reader.take(b"}").then_some(Stamp { source, received, published }).ok_or(NotOurs)
    }

    /// Reads the whole frame, which is of this channel.
    pub(crate) fn read(&self, channel: &ChannelId) -> Result<sequence::Update, NotOurs> {
        let mut reader = Reader::new(&self.frame);
        let stamp = Self::head(channel, self.seq, &mut reader)?;
        let has_patch = reader.take(br#","patch":"#);
        let patch = if has_patch { reader.object()? } else { Object::default() };
        let has_events = reader.take(br#","events":"#);
        let events = if has_events { reader.list()? } else { Vec::new() };
        let is_whole = reader.take(b"}") && reader.rest().is_empty();
        let update = sequence::Update { seq: self.seq, stamp, patch: patch.into(), events };
        is_whole.then_some(update).ok_or(NotOurs)
    }

    /// Bytes of its text.
    pub(crate) fn bytes(&self) -> usize {
        self.frame.len()
    }
}

/// The image with which a channel opens, or begins another epoch.
#[derive(Debug)]
pub struct FirstImageFrame {
    pub channel: Channel,
    pub seq: Seq,
    pub stamp: Option<Stamp>,
    pub data: Object,
}

impl Encode for FirstImageFrame {
    fn encode(&self, out: &mut Vec<u8>) {
        let ChannelInfo { name, epoch, .. } = &*self.channel;
        image(out, name, *epoch, self.seq, self.stamp, &self.data);
    }
}

/// Appends an `image` frame.
pub fn image(
    out: &mut Vec<u8>,
    channel: &ChannelId,
    epoch: Epoch,
    seq: Seq,
    stamp: Option<Stamp>,
    data: &Object,
) {
    protocol::image(out, channel, (epoch, seq), |out| at(out, stamp), |out| data.write(out));
}

/// Appends the times of a frame.
fn at(out: &mut Vec<u8>, stamp: Option<Stamp>) {
    time(out, r#"{"src":"#, stamp.and_then(|stamp| stamp.source));
    time(out, r#","in":"#, stamp.map(|stamp| stamp.received));
    time(out, r#","pub":"#, stamp.map(|stamp| stamp.published));
    out.push(b'}');
}

fn number(out: &mut Vec<u8>, before: &str, number: u64) {
    out.extend_from_slice(before.as_bytes());
    text::unsigned(out, number);
}

fn time(out: &mut Vec<u8>, before: &str, time: Option<Micros>) {
    out.extend_from_slice(before.as_bytes());
    match time {
        Some(time) => text::integer(out, time),
        None => out.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use facts::event::Batch;
    use fanout::{Change, channel::Rate};
    use ingest::recording::{Limits, Recording, Step};
    use simulator::Simulator;

    use super::*;
    use crate::{
        hub::{Epochs, Hub, HubSettings, feeds::SourcePolicy, sequence::TailWindow},
        identity::Identity,
    };

    const START: i64 = 1_788_220_800_000_000;

    /// Reads each frame of these batches and writes it again; returns their number.
    fn check(batches: impl Iterator<Item = Batch>) -> usize {
        let settings = HubSettings {
            window: TailWindow { bytes: 0, age_us: 0 },
            matches_max: 10_000,
            matches_max_per_source: 10_000,
            ended_keep_us: 1 << 60,
            stale_after_ms: 15_000,
            hold_us: 10_000_000,
        };
        let epochs = Epochs { matches: Epoch(7), feeds: Epoch(8) };
        let mut hub = Hub::new(settings, epochs, Identity::default());
        let source = hub.source("test".into(), "simulator", SourcePolicy::default());
        let (mut changes, mut frames) = (Vec::new(), 0);
        for (batch, now) in batches.zip(START..) {
            hub.apply(source, &batch, now - 1, now, &mut changes);
            hub.tick(now, &mut changes);
            for change in changes.drain(..) {
                let Change::Published(Rate::Each, publication) = change else { continue };
                let frame = publication.frame();
                let header = match frame[1] & 0x7f {
                    126 => 4,
                    127 => 10,
                    _ => 2,
                };
                let (name, payload) = (&publication.channel.name, frame.slice(header..));
                let framed = FramedUpdate::check(name, publication.seq, payload.clone()).unwrap();
                assert_eq!(Some(framed.published), publication.published);
                let sequence::Update { seq, stamp, patch, events } = framed.read(name).unwrap();
                let (mut again, prev) = (Vec::new(), publication.prev);
                let span = SeqRange { channel: name, prev, seq };
                update(&mut again, &span, stamp, &patch, &events, None);
                assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&payload));
                frames += 1;
            }
        }
        frames
    }

    #[test]
    fn every_frame_of_a_day_is_written_as_it_was_read() {
        let batches = Simulator::new(11, START).take(8_000).map(|timed| timed.batch);
        assert!(check(batches) > 8_000);
    }

    #[test]
    fn every_frame_of_a_recording_is_written_as_it_was_read() {
        let feeds = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/feeds"));
        if !feeds.is_dir() {
            return database::testing::skipped("shared recordings are not here");
        }
        for file in [
            "betfair-stream/football-200-markets.live.bz2",
            "betfair-stream/racing-1.241629436.live.jsonl.gz",
            "wyscout/2058017.events.json.gz",
            "slam-pointbypoint/2023-usopen-4601.points.csv.gz",
        ] {
            let path = feeds.join(file);
            let recording = Recording::open(&path, &[], START, &Limits::default()).unwrap();
            let batches = recording.filter_map(|step| match step {
                Step::Batch(timed) => Some(timed.batch),
                Step::Refused(_) => None,
            });
            assert!(check(batches.take(1_500)) > 100, "{file}");
        }
    }

    #[test]
    fn frames_with_anything_else_are_refused() {
        let name = ChannelId::new("football/1");
        let read = |rest: &str| {
            let head = r#"{"type":"update","ch":"football/1","seq":2,"prev":1,"at":{"src":null,"in":5,"pub":6}"#;
            let frame = Bytes::from(format!("{head}{rest}"));
            FramedUpdate::check(&name, 2, frame).and_then(|framed| framed.read(&name))
        };
        for right in [r#","patch":{"a":{"b":"1.90","c":null}}}"#, r#","events":[{"x":-3}]}"#, "}"] {
            read(right).unwrap();
        }
        let deep = format!(r#","patch":{}1{}}}"#, r#"{"a":"#.repeat(40), "}".repeat(40));
        for wrong in [
            "",
            "}}",
            r#","patch":{"a":1e3}}"#,
            r#","patch":{"a":01}}"#,
            r#","patch":{"a" :1}}"#,
            r#","patch":{"a":"\u0041"}}"#,
            r#","patch":{"a":tru}}"#,
            r#","patch":{"a":1"#,
            &deep,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
