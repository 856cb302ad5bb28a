//! The hub's own stream protocol: frames that carry documents.

use std::{io::Write as _, sync::Arc};

use fanout::{ChannelId, Epoch, Seq, channel::Channel, encode::Encode};

use crate::{
    document::{Node, Object},
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
    write(out, format_args!(r#"{{"type":"update","ch":"{channel}","seq":{seq},"prev":{prev},"#));
    if let Some(why) = why {
        write(out, format_args!(r#""n":{},"why":"{why}","#, seq - prev));
    }
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

/// The snapshot of a new channel.
#[derive(Debug)]
pub struct BaseImageFrame {
    pub channel: Channel,
    pub data: Object,
}

impl Encode for BaseImageFrame {
    fn encode(&self, out: &mut Vec<u8>) {
        let Channel { name, epoch, .. } = &self.channel;
        image(out, name, *epoch, 0, None, &self.data);
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
    write(out, format_args!(r#"{{"type":"image","ch":"{channel}","epoch":"{epoch}","seq":{seq},"#));
    at(out, stamp);
    out.extend_from_slice(br#","data":"#);
    data.write(out);
    out.push(b'}');
}

fn at(out: &mut Vec<u8>, stamp: Option<Stamp>) {
    let Some(Stamp { source, received, published }) = stamp else {
        return write(out, format_args!(r#""at":{{"src":null,"in":null,"pub":null}}"#));
    };
    write(out, format_args!(r#""at":{{"src":"#));
    match source {
        Some(source) => write(out, format_args!("{source}")),
        None => write(out, format_args!("null")),
    }
    write(out, format_args!(r#","in":{received},"pub":{published}}}"#));
}

fn write(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to memory does not fail");
}
