//! A model of the hub, as far as subscribers can observe it.

use std::{collections::BTreeMap, sync::Arc};

use fanout::{
    ChannelId, Epoch, Position, Publication, Seq,
    catch_up::{
        CatchUp, CatchUpFrame, DocumentHash, Gap, HostRequest, HostResponse, Lease, Located,
        Verdict, check,
    },
    channel::{Channel, ChannelInfo, Rate},
    encode::{Encode, text_frame},
};

pub(crate) const CHANNELS: u32 = 3;
const TAIL: Seq = 12;
const EPOCH: Epoch = Epoch(7);
pub(crate) const SLOW_RATE: Rate = Rate::Ms250;

/// Every fourth change of a channel is an event, and every eighth a suspension.
pub(crate) fn is_event(seq: Seq) -> bool {
    seq.is_multiple_of(4)
}

fn is_urgent(seq: Seq) -> bool {
    seq.is_multiple_of(8)
}

/// What stands for the hash of a channel's document.
pub(crate) fn document_hash(number: u32, seq: Seq) -> String {
    format!("{number}@{seq}")
}

/// A payload that contains its position: `update 2 5 6` is channel 2 from 5 to 6.
#[derive(Debug)]
pub(crate) struct Payload(pub(crate) String);

impl Encode for Payload {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

/// A head for each channel, a short tail, and one slower rate at which values between two events are
/// merged.
#[derive(Default)]
pub(crate) struct Host {
    pub(crate) heads: BTreeMap<u32, Seq>,
    /// The position of a channel at the slower rate, once a client has requested it.
    tiers: BTreeMap<u32, Seq>,
    lease: Lease,
}

impl Host {
    pub(crate) fn channel(number: u32) -> Channel {
        let name = ChannelId::new(format!("c/{number}"));
        // Each change of the last channel reports on all changes of the others before it.
        ChannelInfo {
            number,
            name,
            epoch: EPOCH,
            deliver_last: number == CHANNELS - 1,
            needs: fanout::Classes::NONE,
        }
        .into()
    }

    pub(crate) fn update(&self, number: u32, prev: Seq, seq: Seq) -> Arc<Publication> {
        let body = Payload(format!("update {number} {prev} {seq}{}", self.others()));
        let publication = Publication::new(Self::channel(number), prev, seq, Box::new(body));
        Arc::new(publication.urgent(is_urgent(seq)))
    }

    /// The publications of one change of a channel.
    pub(crate) fn publish(&mut self, number: u32) -> Vec<(Rate, Arc<Publication>)> {
        let head = self.heads.entry(number).or_default();
        *head += 1;
        let head = *head;
        let mut all = vec![(Rate::Each, self.update(number, head - 1, head))];
        if is_event(head) && self.tiers.contains_key(&number) {
            all.extend(self.flush_tier(number, head - 1));
            all.extend(self.flush_tier(number, head));
        }
        all
    }

    /// Brings the followers at the slower rate up to `to`.
    pub(crate) fn flush_tier(&mut self, number: u32, to: Seq) -> Option<(Rate, Arc<Publication>)> {
        let prev = *self.tiers.get(&number)?;
        (prev < to).then(|| {
            self.tiers.insert(number, to);
            (SLOW_RATE, self.update(number, prev, to))
        })
    }

    /// The heads of all channels, for the channel that reports on others: ` 0:5 1:7`.
    fn others(&self) -> String {
        self.heads.iter().map(|(number, head)| format!(" {number}:{head}")).collect()
    }

    pub(crate) fn respond(&mut self, request: &HostRequest) -> HostResponse {
        match request {
            HostRequest::MatchChannels { pattern, .. } => {
                let all = self.heads.keys().map(|number| Self::channel(*number));
                HostResponse::Channels(
                    all.filter(|channel| pattern.matches(&channel.name)).collect(),
                )
            }
            HostRequest::Locate { channels } => {
                let locate = |(name, from): &(ChannelId, Option<Position>)| {
                    let number = name.as_str()[2..].parse().expect("channels are numbered");
                    let head = self.heads.get(&number).copied()?;
                    let from = from.map(|it| check(it, EPOCH, head.saturating_sub(TAIL), head));
                    let verdict = match from {
                        None => Verdict::Fresh,
                        Some(Ok(_)) => Verdict::Resumed,
                        Some(Err(gap)) => Verdict::Refused(gap),
                    };
                    Some(Located { channel: Self::channel(number), head, verdict })
                };
                HostResponse::Located(channels.iter().map(locate).collect())
            }
            HostRequest::StartGroup { .. } => unreachable!("a request of another dialect"),
            HostRequest::CatchUp { channel, rate, from, bytes_max, with_hash, .. } => {
                let number = channel.as_str()[2..].parse().expect("channels are numbered");
                let Some(head) = self.heads.get(&number).copied() else {
                    return HostResponse::NotTracked;
                };
                if *rate == SLOW_RATE {
                    self.tiers.entry(number).or_insert(head);
                }
                let from = from.map(|from| check(from, EPOCH, head.saturating_sub(TAIL), head));
                let caught_up = self.catch_up(number, head, from, *bytes_max);
                let hash = caught_up.hash.clone().filter(|_| *with_hash);
                HostResponse::CatchUp(CatchUp { hash, ..caught_up })
            }
        }
    }

    /// Values are merged between two events.
    fn catch_up(
        &self,
        number: u32,
        head: Seq,
        from: Option<Result<Seq, Gap>>,
        bytes_max: usize,
    ) -> CatchUp {
        let text = |text: String| text_frame(|out| out.extend_from_slice(text.as_bytes()));
        let image = || {
            let frame = text(format!("image {number} {head}{}", self.others()));
            vec![CatchUpFrame { frame, to: head }]
        };
        let (verdict, frames, to) = match from {
            None => (Verdict::Fresh, image(), head),
            Some(Err(gap)) => (Verdict::Refused(gap), image(), head),
            Some(Ok(from)) => {
                let (mut frames, mut to, mut bytes) = (Vec::new(), from, 0);
                while to < head && bytes < bytes_max {
                    let prev = to;
                    to += 1;
                    while !is_event(to) && to < head && !is_event(to + 1) {
                        to += 1;
                    }
                    let frame = text(format!("update {number} {prev} {to}{}", self.others()));
                    bytes += frame.len();
                    frames.push(CatchUpFrame { frame, to });
                }
                (Verdict::Resumed, frames, to)
            }
        };
        let (channel, lease) = (Self::channel(number), Some(self.lease.clone()));
        let document = text(document_hash(number, head));
        let hash = DocumentHash::new(document, |text| String::from_utf8_lossy(text).into());
        let hash = Some(hash);
        CatchUp { channel, head, verdict, frames, to, lease, hash }
    }
}
