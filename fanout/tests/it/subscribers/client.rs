//! A client of the shard.

use std::collections::{BTreeMap, BTreeSet};

use fanout::Seq;

use super::{
    host::{CHANNELS, document_hash, is_event},
    pipe::Pipe,
    world::STAMP_OFFSET,
};

/// What one client has received.
#[derive(Debug, Default)]
pub(crate) struct Client {
    pub(crate) pipe: Pipe,
    pub(crate) positions: BTreeMap<u32, Seq>,
    /// Received events, by channel.
    events: BTreeMap<u32, Vec<Seq>>,
    /// The sequence of each channel's last image: events before it are not missed.
    images: BTreeMap<u32, Seq>,
    /// The channels of which a `resync` frame has announced an image.
    announced: BTreeSet<u32>,
    /// It follows all channels from the start to the end.
    pub(crate) follows_all: bool,
    /// Received data frames.
    pub(crate) data: u64,
    /// How many channels each part of a beat contained, and whether another part follows.
    pub(crate) beats: Vec<(usize, bool)>,
    /// The answers to batches, each with the number of data frames before it.
    pub(crate) answers: Vec<(serde_json::Value, u64)>,
    /// The codes of its errors.
    pub(crate) refusals: Vec<String>,
    /// How many `hash` commands it has sent, and how many were answered.
    pub(crate) hashes: (u64, u64),
    /// How many of them were the hash of the document that the client had.
    pub(crate) proved: u64,
    /// Data frames that the shard counted as delivered.
    pub(crate) delivered: u64,
}

impl Client {
    pub(crate) fn next_frame(&self) -> Option<String> {
        let (_, payload) = self.pipe.next_frame()?;
        Some(String::from_utf8(payload).expect("a text frame"))
    }

    pub(crate) fn check(&mut self, text: &str) {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |index: usize| words[index].parse::<Seq>().expect("a number");
        let channel = || u32::try_from(number(1)).expect("a small number");
        self.data += u64::from(!text.starts_with('{') || text.contains("\"type\":\"resync\""));
        match words[0] {
            "image" => {
                self.announced.remove(&channel());
                self.positions.insert(channel(), number(2));
                self.images.insert(channel(), number(2));
                self.events.entry(channel()).or_default().retain(|event| *event <= number(2));
            }
            "update" => {
                let (prev, seq) = (number(2), number(3));
                assert!(!self.announced.contains(&channel()), "{text} came in place of an image");
                let position =
                    self.positions.get_mut(&channel()).expect("an update follows an image");
                assert!(prev <= *position, "a hole before {text}, at {position}");
                assert!(seq > *position, "{text} came again, at {position}");
                assert!(
                    prev + 1 == seq || !(prev + 1..=seq).any(is_event),
                    "{text} merges across an event"
                );
                *position = seq;
                if is_event(seq) {
                    self.events.entry(channel()).or_default().push(seq);
                }
            }
            _ => self.check_beat(text),
        }
        if self.follows_all && ["image 2", "update 2"].iter().any(|it| text.starts_with(it)) {
            self.check_others(text);
        }
    }

    /// Whether a `resync` frame has announced the image of a channel.
    pub(crate) fn waits_for_image(&self, channel: u32) -> bool {
        self.announced.contains(&channel)
    }

    /// A beat contains exactly the positions after the frames before it.
    fn check_beat(&mut self, text: &str) {
        let frame: serde_json::Value = serde_json::from_str(text).expect("a control frame");
        if let Some(code) = frame["code"].as_str() {
            self.refusals.push(code.to_owned());
        }
        match frame["type"].as_str() {
            Some("resync") => {
                let name = frame["ch"].as_str().expect("it is of a channel");
                let is_new = self.announced.insert(name[2..].parse().expect("a number"));
                assert!(is_new, "{text} came again before the image");
            }
            // None of its tests unsubscribes while it waits for an image of another channel.
            Some("unsubscribed") => self.announced.clear(),
            _ => {}
        }
        if frame["id"] == "hash" {
            self.hashes.1 += 1;
        }
        if frame["type"] == "hash" {
            let channel = frame["ch"].as_str().and_then(|name| name[2..].parse().ok());
            let (channel, seq) = (channel.expect("a number"), frame["seq"].as_u64());
            assert_eq!(frame["sha256"], document_hash(channel, seq.expect("a number")), "{text}");
            // A suspension may overtake the answer, or withdraw frames before it.
            self.proved += u64::from(self.positions.get(&channel).copied() == seq);
        }
        if frame["type"] == "subscribed" && frame["chs"].is_object() {
            self.answers.push((frame.clone(), self.data));
        }
        if let Some(heads) = frame["heads"].as_object() {
            self.beats.push((heads.len(), frame["more"] == true));
            assert!(frame["now"].as_i64() > Some(STAMP_OFFSET), "{text} has no time of day");
        }
        for (name, head) in frame["heads"].as_object().into_iter().flatten() {
            let channel = name[2..].parse::<u32>().expect("channels are numbered");
            assert_eq!(head.as_u64(), self.positions.get(&channel).copied(), "{text}");
        }
    }

    /// The changes that the last channel reports on have arrived before it.
    fn check_others(&self, text: &str) {
        for (other, head) in text.split(' ').filter_map(|word| word.split_once(':')) {
            let other = other.parse::<u32>().expect("a number");
            if other == CHANNELS - 1 {
                continue;
            }
            let head = head.parse::<Seq>().expect("a number");
            let position = self.positions.get(&other).copied();
            assert!(position >= Some(head), "{text} came at {position:?} of {other}");
        }
    }

    /// Every event since the last image has arrived, once and in order.
    pub(crate) fn check_events(&self) {
        for (channel, head) in &self.positions {
            let since = self.images.get(channel).copied().unwrap_or(0);
            let expected: Vec<Seq> = (since + 1..=*head).filter(|seq| is_event(*seq)).collect();
            let came = self.events.get(channel).cloned().unwrap_or_default();
            let came: Vec<Seq> = came.into_iter().filter(|seq| *seq > since).collect();
            assert_eq!(came, expected, "events of {channel} from {since} to {head}");
        }
    }
}
