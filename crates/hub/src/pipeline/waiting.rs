//! Readers of a node that follows whose requests wait: for changes and channels that a client may have seen on another
//! node, and for channels of the older sockets, which only the leader opens.
//!
//! What another node has shown is in the log of the cluster. So a reader that lacks something waits until this node has
//! applied all that the log had after the reader came ([`DriverInput::CaughtUp`](super::DriverInput::CaughtUp)). What
//! is still missing then does not exist. No clock decides this: those of nodes differ.

use fanout::{
    Micros,
    catch_up::{Cost, HostRequest, HostResponse, Requester},
};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    commit::Answer,
    forward::{Forwarded, LeaderRequest, LegacyUse},
    hub::Hub,
};

/// How long a reader waits, in microseconds in which records of the leader arrive, until the leader has opened its
/// channel.
const LEADER_WITHIN_US: Micros = 2_000_000;

/// The leader is asked again so long after it was asked to open a channel, in microseconds: the one that was asked may
/// have ended.
const ASK_EVERY_US: Micros = 500_000;

/// How long a reader waits in all, in microseconds, if neither records arrive nor the log says where it ends.
const WAIT_MAX_US: Micros = 60_000_000;

/// Readers that wait at a time: more than a node has sockets, each of which has one request. Further ones are answered by
/// what this node has.
const WAITING_MAX: usize = 100_000;

/// How often a node tells the leader which channels of the older sockets have followers here, in microseconds. The
/// leader closes one that was without for six times as long.
const KEEP_EVERY_US: Micros = 10_000_000;

/// Such channels in one request.
const USES_AT_ONCE: usize = 1_000;

/// Who is answered.
pub(super) enum Reader {
    FanOut(Requester),
    /// A reader within the process.
    Process(oneshot::Sender<(HostResponse, Cost)>),
}

impl Reader {
    /// The connection that it is for, if any.
    pub(super) fn requester(&self) -> Option<Requester> {
        if let Self::FanOut(requester) = self { Some(*requester) } else { None }
    }

    pub(super) fn answer(self, response: HostResponse, cost: Cost) -> Answer {
        match self {
            Self::FanOut(requester) => Answer::FanOut(requester, response, cost),
            Self::Process(reply) => Answer::CaughtUp(reply, (response, cost)),
        }
    }
}

/// Counts the readers that have waited, in the order in which they came.
pub type ReaderNumber = u64;

/// What leads from a hub that follows to the one that leads.
#[derive(Debug, Clone)]
pub(super) struct LeaderLink {
    pub(super) requests: mpsc::Sender<LeaderRequest>,
    /// The last reader that began to wait. Who feeds the hub learns of it.
    pub(super) last: watch::Sender<ReaderNumber>,
}

/// The waiting readers, and the requests to the leader on their behalf.
pub(super) struct WaitingReaders {
    waiting: Vec<WaitingRequest>,
    link: LeaderLink,
    /// What the log had when the readers up to this one came is here.
    included: ReaderNumber,
    /// When records of the leader were applied last, or when the leader made them if that is earlier: while this node
    /// catches up, they do not show what the leader has now.
    followed_at: Micros,
    /// When the leader was last asked to open channels for readers that wait.
    asked_at: Micros,
    /// When the leader was last told which of these channels have followers here.
    kept_at: Micros,
}

/// A request that waits.
struct WaitingRequest {
    number: ReaderNumber,
    since: Micros,
    request: HostRequest,
    reader: Reader,
}

impl WaitingReaders {
    pub(super) fn new(link: LeaderLink) -> Self {
        let (waiting, included) = (Vec::new(), 0);
        Self { waiting, link, included, followed_at: 0, asked_at: 0, kept_at: 0 }
    }

    /// This node has all that the log had after the readers up to this one came.
    pub(super) fn note_included(&mut self, readers: ReaderNumber) {
        self.included = readers;
    }

    /// Records that the leader made at this time are applied.
    pub(super) fn note_followed(&mut self, at: Micros) {
        self.followed_at = at;
    }

    /// Tells the leader, when it is due, which channels of the older sockets have followers here.
    pub(super) fn keep_open(&mut self, hub: &Hub, now: Micros) {
        if now - self.kept_at >= KEEP_EVERY_US {
            self.kept_at = now;
            self.ask_leader(&hub.legacy_in_use());
        }
    }

    /// Lets a request wait if it should. Otherwise it is to be answered now.
    pub(super) fn admit(
        &mut self,
        hub: &Hub,
        now: Micros,
        request: HostRequest,
        reader: Reader,
    ) -> Option<(HostRequest, Reader)> {
        // The leader is about to close a channel of which it has heard nothing for a while.
        if let Some(first) = first_use(hub, &request) {
            self.ask_leader(&[first]);
        }
        let closed = closed(hub, &request);
        let waits = closed.is_some() || hub.lacks(&request);
        if !waits || self.waiting.len() >= WAITING_MAX {
            return Some((request, reader));
        }
        if let Some(closed) = closed {
            self.ask_leader(&[closed]);
        }
        let number = self.number();
        self.waiting.push(WaitingRequest { number, since: now, request, reader });
        None
    }

    /// Counts a reader that waits, here or elsewhere.
    pub(super) fn number(&self) -> ReaderNumber {
        self.link.last.send_modify(|last| *last += 1);
        *self.link.last.borrow()
    }

    /// What the log had when the readers up to this one came is here.
    pub(super) fn included(&self) -> ReaderNumber {
        self.included
    }

    /// Takes the requests to answer, in the order in which they came: if this node has what the log had when they came, or
    /// if the leader did not open their channel in time.
    pub(super) fn end_waits(&mut self, hub: &Hub, now: Micros) -> Vec<(HostRequest, Reader)> {
        let asks = now - self.asked_at >= ASK_EVERY_US;
        let mut uses = Vec::new();
        let (followed_at, included) = (self.followed_at, self.included);
        let ended =
            self.waiting.extract_if(.., |WaitingRequest { number, since, request, .. }| {
                let closed = closed(hub, request);
                let waits = match &closed {
                    Some(_) => followed_at < *since + LEADER_WITHIN_US,
                    None => *number > included,
                };
                let waits = waits && now < *since + WAIT_MAX_US;
                if waits {
                    uses.extend(closed.filter(|_| asks && now - *since >= ASK_EVERY_US));
                }
                !waits
            });
        let ended = ended.map(|waiting| (waiting.request, waiting.reader)).collect();
        if !uses.is_empty() {
            self.asked_at = now;
            self.ask_leader(&uses);
        }
        ended
    }

    /// All requests that wait, in the order in which they came: this hub leads now.
    pub(super) fn into_requests(self) -> Vec<(HostRequest, Reader)> {
        self.waiting.into_iter().map(|waiting| (waiting.request, waiting.reader)).collect()
    }

    fn ask_leader(&self, uses: &[LegacyUse]) {
        for uses in uses.chunks(USES_AT_ONCE) {
            // The answer is the record of the leader that opens the channel.
            let (reply, _) = oneshot::channel();
            let request = LeaderRequest { request: Forwarded::Legacy(uses.to_vec()), reply };
            // If there is no room, the readers are asked again when they come back.
            self.link.requests.try_send(request).ok();
        }
    }
}

/// The channel of the older sockets that the request is for, if it is open and has no follower on this node yet.
fn first_use(hub: &Hub, request: &HostRequest) -> Option<LegacyUse> {
    let HostRequest::StartGroup { channel, companion, .. } = request else { return None };
    let is_first = hub.legacy_is_followed(channel) == Some(false);
    is_first.then(|| LegacyUse { channel: channel.as_str().into(), book: companion.clone() })
}

/// The channel of the older sockets that the request is for, if it is not open.
fn closed(hub: &Hub, request: &HostRequest) -> Option<LegacyUse> {
    let HostRequest::StartGroup { channel, companion, .. } = request else { return None };
    hub.legacy_to_open(channel, companion.as_ref())?;
    Some(LegacyUse { channel: channel.as_str().into(), book: companion.clone() })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use fanout::{ChannelId, Epoch, Pattern, Position, channel::Rate};

    use super::*;
    use crate::{
        catch_up::EPOCHS_AHEAD_MAX,
        hub::{Epochs, HubInput, HubSettings, feeds::SourcePolicy, sequence::TailWindow},
        identity::Identity,
        load_source::{Load, LoadSource},
    };

    const NOW: Micros = 1_788_220_800_000_000;
    const SECOND_US: Micros = 1_000_000;
    const EPOCH: Epoch = Epoch(900_000);
    const EPOCH_OF_MATCHES: Epoch = Epoch(7);

    /// A hub without a channel.
    fn hub() -> Hub {
        let settings = HubSettings {
            window: TailWindow { bytes: 1 << 20, age_us: 60 * SECOND_US },
            matches_max: 10,
            matches_max_per_source: 10,
            ended_keep_us: SECOND_US,
            stale_after_ms: 15_000,
            hold_us: 0,
        };
        Hub::new(settings, Epochs { matches: EPOCH_OF_MATCHES, feeds: EPOCH }, Identity::default())
    }

    /// Opens the channel `feeds`, at sequence 0.
    fn open_feeds(hub: &mut Hub) {
        hub.take(&HubInput::Tick { now: NOW }, &mut Vec::new());
    }

    /// A hub with a football match, and the name of its channel on the older sockets.
    fn hub_with_match() -> (Hub, ChannelId) {
        let mut hub = hub();
        let one = NonZeroU32::MIN;
        let source = hub.source("load".into(), "load", SourcePolicy::default());
        for mut batch in LoadSource::new(Load { rate: one, channels: one }).introductions(NOW) {
            hub.ids().number_batch(&mut batch);
            assert_eq!(hub.apply(source, &batch, NOW, NOW, &mut Vec::new()), []);
        }
        let names = hub.all_channels().map(|entry| entry.sequence.channel.name.to_string());
        let names: Vec<String> = names.collect();
        let id = names.iter().find_map(|name| name.strip_prefix("football/")?.parse::<u64>().ok());
        (hub, ChannelId::new(format!("~football/{}", id.expect("a match"))))
    }

    fn open(hub: &mut Hub, channel: &ChannelId) {
        let open = hub.legacy_to_open(channel, None).expect("it is closed");
        hub.take(&open, &mut Vec::new());
    }

    struct Readers {
        waiting: WaitingReaders,
        last: watch::Receiver<ReaderNumber>,
        leader: mpsc::Receiver<LeaderRequest>,
    }

    impl Readers {
        fn new() -> Self {
            let (sender, last) = watch::channel(0);
            let (requests, leader) = mpsc::channel(1);
            let waiting = WaitingReaders::new(LeaderLink { requests, last: sender });
            Self { waiting, last, leader }
        }

        /// Whether a request of a reader must wait.
        fn waits(&mut self, hub: &Hub, request: HostRequest) -> bool {
            let reader = Reader::Process(oneshot::channel().0);
            self.waiting.admit(hub, NOW, request, reader).is_none()
        }

        /// How many wait no longer, a moment before they would be answered in any case.
        fn due(&mut self, hub: &Hub) -> usize {
            self.waiting.end_waits(hub, NOW + WAIT_MAX_US - 1).len()
        }
    }

    fn follow_all(has: &str) -> HostRequest {
        let pattern = Pattern::parse("*").expect("well formed");
        let from = Position { epoch: Some(EPOCH), seq: 9 };
        HostRequest::MatchChannels { pattern, has: vec![(ChannelId::new(has), from)] }
    }

    fn catch_up(channel: &str, seq: u64) -> HostRequest {
        HostRequest::CatchUp {
            channel: Pattern::parse(channel).expect("well formed"),
            rate: Rate::Each,
            from: Some(Position { epoch: Some(EPOCH), seq }),
            why: "resume",
            bytes_max: 1_000,
            with_hash: false,
        }
    }

    /// A node that is behind does not know a channel that another node has shown. However the clocks of the nodes
    /// differ, it must not say that the pattern does not cover it: its later image would take the client back.
    #[test]
    fn reader_waits_for_a_channel_until_the_node_has_what_the_log_had() {
        let (mut hub, mut readers) = (hub(), Readers::new());
        assert!(readers.waits(&hub, follow_all("feeds")));
        readers.waiting.note_followed(NOW + 30 * SECOND_US);
        assert_eq!(readers.due(&hub), 0, "records that the leader made later are here");
        open_feeds(&mut hub);
        readers.waiting.note_included(1);
        assert_eq!(readers.due(&hub), 1, "the channel is open");
    }

    #[test]
    fn reader_of_a_channel_that_does_not_exist_is_answered_when_that_is_known() {
        let (hub, mut readers) = (hub(), Readers::new());
        assert!(readers.waits(&hub, follow_all("football/1")));
        assert!(readers.waits(&hub, catch_up("football/2", 3)));
        assert_eq!(*readers.last.borrow(), 2, "the node learns who waits");
        readers.waiting.note_included(1);
        assert_eq!(readers.due(&hub), 1, "the other one came after the log was asked");
        readers.waiting.note_included(2);
        assert_eq!(readers.due(&hub), 1);
    }

    #[test]
    fn reader_waits_for_changes_that_it_has_seen() {
        let (mut hub, mut readers) = (hub(), Readers::new());
        open_feeds(&mut hub);
        assert!(!readers.waits(&hub, catch_up("feeds", 0)));
        assert!(readers.waits(&hub, catch_up("feeds", 9)));
        assert!(readers.waits(&hub, follow_all("feeds")), "the pattern has them too");
        assert_eq!(readers.due(&hub), 0);
        // The log has lost it.
        readers.waiting.note_included(2);
        assert_eq!(readers.due(&hub), 2);
    }

    /// The leader closes a channel that nobody has followed for a minute, and hears of followers here every ten seconds only.
    #[test]
    fn leader_is_notified_at_once_of_the_first_follower_of_an_older_socket() {
        let ((mut hub, channel), mut readers) = (hub_with_match(), Readers::new());
        open(&mut hub, &channel);
        let start = || HostRequest::StartGroup {
            channel: channel.clone(),
            companion: None,
            from: None,
            bytes_max: 1_000,
        };
        assert!(!readers.waits(&hub, start()));
        let asked = readers.leader.try_recv().map(|it| it.request);
        let of_channel = LegacyUse { channel: channel.as_str().into(), book: None };
        assert_eq!(asked, Ok(Forwarded::Legacy(vec![of_channel])));
        let first = hub.answer(&start());
        assert!(!readers.waits(&hub, start()));
        assert!(readers.leader.try_recv().is_err(), "it has a follower: {first:?}");
    }

    /// A node that led before, and leads again, knows nothing of the followers of the time between.
    #[test]
    fn new_leader_closes_no_channel_before_others_could_say_who_follows_it() {
        let (mut hub, channel) = hub_with_match();
        open(&mut hub, &channel);
        let id = hub.relayed_match(channel.as_str());
        let idle = |hub: &mut Hub, at: Micros| hub.idle_legacy(at).first().copied();
        assert_eq!(idle(&mut hub, NOW), None);
        hub.forget_idle_times();
        assert_eq!(idle(&mut hub, NOW + 61 * SECOND_US), None);
        assert_eq!(idle(&mut hub, NOW + 122 * SECOND_US), id);
    }

    /// Another source has taken over a book: its channel was closed and opens again in a later epoch.
    #[test]
    fn reader_waits_for_an_epoch_that_the_node_has_not_reached() {
        let (mut hub, mut readers) = (hub(), Readers::new());
        open_feeds(&mut hub);
        let request = |ahead: u32| {
            let epoch = Some(Epoch(EPOCH_OF_MATCHES.0 + ahead));
            let HostRequest::CatchUp { channel, rate, why, bytes_max, with_hash, .. } =
                catch_up("feeds", 0)
            else {
                panic!("a request for a channel");
            };
            let from = Some(Position { epoch, seq: 0 });
            HostRequest::CatchUp { channel, rate, from, why, bytes_max, with_hash }
        };
        assert!(readers.waits(&hub, request(1)));
        assert!(!readers.waits(&hub, request(0)), "it is over");
        assert!(!readers.waits(&hub, request(EPOCHS_AHEAD_MAX)), "of another generation");
    }

    #[test]
    fn readers_are_answered_when_the_node_leads_or_the_log_is_away_for_long() {
        let (hub, mut readers) = (hub(), Readers::new());
        assert!(readers.waits(&hub, follow_all("football/1")));
        assert_eq!(readers.due(&hub), 0);
        assert_eq!(readers.waiting.end_waits(&hub, NOW + WAIT_MAX_US).len(), 1);
        assert!(readers.waits(&hub, follow_all("football/1")));
        assert_eq!(readers.waiting.into_requests().len(), 1, "it leads");
    }
}
