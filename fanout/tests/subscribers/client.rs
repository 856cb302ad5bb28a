//! A client, and the socket between it and the shard.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    io::{self, Write},
    rc::Rc,
};

use fanout::Seq;

use super::host::{CHANNELS, is_event};

/// A socket that takes so many bytes, and the client at its other end.
#[derive(Debug, Default, Clone)]
pub(crate) struct Pipe(pub(crate) Rc<RefCell<Ends>>);

#[derive(Debug, Default)]
pub(crate) struct Ends {
    pub(crate) takes: usize,
    unread: Vec<u8>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Ends { takes, unread } = &mut *self.0.borrow_mut();
        let count = bytes.len().min(*takes);
        *takes -= count;
        unread.extend_from_slice(&bytes[..count]);
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What one client knows.
#[derive(Debug, Default)]
pub(crate) struct Client {
    pub(crate) pipe: Pipe,
    pub(crate) known: BTreeMap<u32, Seq>,
    /// Events that came, by channel.
    events: BTreeMap<u32, Vec<Seq>>,
    /// Where a channel's last image stood: events before it are not missed.
    images: BTreeMap<u32, Seq>,
    /// From the beginning, and without an end.
    pub(crate) follows_all: bool,
    /// Frames with data that came.
    pub(crate) data: u64,
    /// How many channels each part of a beat named, and whether another part follows.
    pub(crate) beats: Vec<(usize, bool)>,
    /// As many as the subscribers says that it delivered.
    pub(crate) delivered: u64,
}

impl Client {
    /// Frames of the test have fewer than 64 KiB.
    pub(crate) fn next_frame(&self) -> Option<String> {
        let unread = &mut self.pipe.0.borrow_mut().unread;
        let (header, length) = match *unread.get(1)? {
            126 => (4, usize::from(u16::from_be_bytes([*unread.get(2)?, *unread.get(3)?]))),
            short => (2, usize::from(short)),
        };
        if unread.len() < header + length {
            return None;
        }
        let frame: Vec<u8> = unread.drain(..header + length).collect();
        Some(String::from_utf8(frame[header..].to_vec()).expect("a text frame"))
    }

    pub(crate) fn check(&mut self, text: &str) {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |place: usize| words[place].parse::<Seq>().expect("a number");
        let channel = || u32::try_from(number(1)).expect("a small number");
        self.data += u64::from(!text.starts_with('{') || text.contains("\"resync\""));
        match words[0] {
            "image" => {
                self.known.insert(channel(), number(2));
                self.images.insert(channel(), number(2));
                self.events.entry(channel()).or_default().retain(|event| *event <= number(2));
            }
            "update" => {
                let (prev, seq) = (number(2), number(3));
                let known = self.known.get_mut(&channel()).expect("an update follows an image");
                assert!(prev <= *known, "a hole before {text}, at {known}");
                assert!(seq > *known, "{text} came again, at {known}");
                assert!(
                    prev + 1 == seq || !(prev + 1..=seq).any(is_event),
                    "{text} merges across an event"
                );
                *known = seq;
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

    /// A beat says where the frames before it lead to, neither more nor less.
    fn check_beat(&mut self, text: &str) {
        let frame: serde_json::Value = serde_json::from_str(text).expect("a frame of control");
        if let Some(heads) = frame["heads"].as_object() {
            self.beats.push((heads.len(), frame["more"] == true));
        }
        for (name, head) in frame["heads"].as_object().into_iter().flatten() {
            let channel = name[2..].parse::<u32>().expect("channels are numbered");
            assert_eq!(head.as_u64(), self.known.get(&channel).copied(), "{text}");
        }
    }

    /// What the last channel tells of has arrived before it.
    fn check_others(&self, text: &str) {
        for (other, head) in text.split(' ').filter_map(|word| word.split_once(':')) {
            let other = other.parse::<u32>().expect("a number");
            if other == CHANNELS - 1 {
                continue;
            }
            let head = head.parse::<Seq>().expect("a number");
            let known = self.known.get(&other).copied();
            assert!(known >= Some(head), "{text} came at {known:?} of {other}");
        }
    }

    /// Every event since the last image has come, once and in order.
    pub(crate) fn check_events(&self) {
        for (channel, head) in &self.known {
            let since = self.images.get(channel).copied().unwrap_or(0);
            let expected: Vec<Seq> = (since + 1..=*head).filter(|seq| is_event(*seq)).collect();
            let came = self.events.get(channel).cloned().unwrap_or_default();
            let came: Vec<Seq> = came.into_iter().filter(|seq| *seq > since).collect();
            assert_eq!(came, expected, "events of {channel} from {since} to {head}");
        }
    }
}
