//! Two hubs that get the same inputs: one that runs, and one that is saved and restored again and again.

use std::{collections::BTreeSet, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Batch, Fact, Id, Sport};
use fanout::{
    Change, ChannelId, Epoch, Micros, Pattern, Publication,
    catch_up::{CatchUp, HostRequest, HostResponse, Lease},
    channel::{Channel, ChannelInfo, Rate},
};
use record::ids::PublicIds;

use crate::{
    Epochs, Export, Hub, HubSettings, RestoreError,
    feeds::{FeedState, Health, SourceNumber, SourcePolicy},
    identity::{Identity, NumberedOrder},
    sequence::TailWindow,
};

pub(crate) const SETTINGS: HubSettings = HubSettings {
    window: TailWindow { bytes: usize::MAX, age_us: Micros::MAX },
    matches_max: 10_000,
    matches_max_per_source: usize::MAX,
    ended_keep_us: 600_000_000,
    stale_after_ms: 15_000,
    hold_us: 10_000_000,
};

pub(crate) const START: Micros = 1_788_220_800_000_000;

/// An input of a hub.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub(crate) enum Input {
    Batch(usize, Batch),
    Health(usize, FeedState),
    Order(NumberedOrder),
    Restart(usize),
    /// Nothing for this many microseconds.
    Silence(Micros),
    /// A reader of the older sockets subscribes to a match.
    Follow(Sport, Id),
}

pub(crate) struct Twin {
    kept: Side,
    restored: Side,
    ids: PublicIds,
    pub(crate) now: Micros,
    steps: u64,
    /// Whether the restored hub is a copy.
    is_copied: bool,
    /// Everything that was published for readers that take each change.
    pub(crate) frames: Vec<Arc<Publication>>,
}

struct Side {
    hub: Hub,
    followed: BTreeSet<(Sport, Id)>,
    leases: Vec<Lease>,
}

impl Side {
    /// What an input changes, as text and bytes that can be compared.
    fn apply(&mut self, input: &Input, now: Micros) -> Vec<Change> {
        let (hub, mut changes) = (&mut self.hub, Vec::new());
        match input {
            Input::Batch(source, batch) => {
                hub.apply(SourceNumber(*source), batch, now - 100, now, &mut changes);
            }
            Input::Health(source, feed) => {
                let why = (*feed != FeedState::Live).then(|| "told so".into());
                let health = Health { feed: *feed, why };
                hub.set_source_health(SourceNumber(*source), &health, now, &mut changes);
            }
            Input::Order(order) => hub.apply_order(order, now, &mut changes),
            Input::Restart(source) => hub.restart_source(SourceNumber(*source), now, &mut changes),
            Input::Silence(_) => hub.check_feeds(now, &mut changes),
            Input::Follow(sport, id) => {
                if self.follow(*sport, *id) {
                    self.followed.insert((*sport, *id));
                }
            }
        }
        changes
    }

    fn follow(&mut self, sport: Sport, id: Id) -> bool {
        let channel = ChannelId::new(format!("~{}/{id}", sport.as_str()));
        let request =
            HostRequest::StartGroup { channel, companion: None, from: None, bytes_max: 1 << 20 };
        let HostResponse::GroupStarted(CatchUp { lease, .. }, _) = self.hub.answer(&request) else {
            return false;
        };
        self.leases.extend(lease);
        true
    }
}

impl Twin {
    pub(crate) fn new(sources: usize) -> Self {
        let ids = PublicIds::default();
        let side = || {
            let epochs = Epochs { matches: Epoch(7), feeds: Epoch(8) };
            let hub = Hub::new(SETTINGS, epochs, Identity::default()).with_ids(ids.clone());
            let mut side = Side { hub, followed: BTreeSet::new(), leases: Vec::new() };
            for source in 0..sources {
                let deadline_us = (source == 1).then_some(20_000_000);
                let policy = SourcePolicy { deadline_us, ..SourcePolicy::default() };
                side.hub.source(format!("source {source}").into(), "simulator", policy);
            }
            side
        };
        let (kept, restored) = (side(), side());
        Self { kept, restored, ids, now: START, steps: 0, is_copied: false, frames: Vec::new() }
    }

    /// Gives both the input, and what is due by time; their outputs must be equal.
    #[track_caller]
    pub(crate) fn step(&mut self, input: &Input) {
        self.steps += 1;
        self.now += if let Input::Silence(us) = input { *us } else { 20_000 };
        let changes = self.kept.apply(input, self.now);
        let others = self.restored.apply(input, self.now);
        self.compare(&changes, &others);
        if self.steps.is_multiple_of(50) || matches!(input, Input::Silence(_)) {
            let (mut changes, mut others) = (Vec::new(), Vec::new());
            self.kept.hub.tick(self.now, &mut changes);
            self.restored.hub.tick(self.now, &mut others);
            self.compare(&changes, &others);
        }
        if self.steps.is_multiple_of(7) {
            self.export();
        }
    }

    #[track_caller]
    fn compare(&mut self, kept: &[Change], restored: &[Change]) {
        for (kept, restored) in kept.iter().zip(restored) {
            // Texts are made only of changes that differ: there are many.
            if !is_same(kept, restored) {
                assert_eq!(shown(kept), shown(restored));
            }
            if let Change::Published(Rate::Each, publication) = kept {
                self.frames.push(Arc::clone(publication));
            }
        }
        assert_eq!(kept.len(), restored.len(), "one publishes more than the other");
    }

    #[track_caller]
    fn export(&mut self) {
        let bytes = |export: Option<Export>| {
            let export = export?;
            let signals: Vec<_> = export.signals.iter().map(|it| borsh::to_vec(&**it)).collect();
            let signals = signals.into_iter().collect::<Result<Vec<_>, _>>().expect("in memory");
            let matches = borsh::to_vec(&(export.removed, export.matches));
            Some((export.at, matches.expect("in memory"), signals))
        };
        let kept = bytes(self.kept.hub.export(self.now));
        let restored = bytes(self.restored.hub.export(self.now));
        assert!(kept == restored, "the exports differ");
    }

    /// Saves and restores, or copies, in turn; the restored hub goes on from there.
    #[track_caller]
    pub(crate) fn save_and_restore(&mut self) {
        let bytes = self.saved();
        self.is_copied = !self.is_copied;
        if self.is_copied {
            let copy = self.kept.hub.without_readers();
            self.continue_as(copy, &bytes);
        } else {
            self.continue_with(&bytes);
        }
    }

    /// The restored hub goes on from these bytes.
    #[track_caller]
    pub(crate) fn continue_with(&mut self, bytes: &[u8]) {
        let hub = self.restore(bytes).expect("it was saved");
        self.continue_as(hub, bytes);
    }

    #[track_caller]
    fn continue_as(&mut self, hub: Hub, bytes: &[u8]) {
        let mut again = Vec::new();
        hub.save(&mut again);
        assert!(again == bytes, "a restored hub is saved as other bytes");
        self.restored.hub = hub;
        // Readers come back.
        self.restored.leases.clear();
        for (sport, id) in self.restored.followed.clone() {
            self.restored.follow(sport, id);
        }
    }

    /// The bytes of both, which are equal.
    #[track_caller]
    pub(crate) fn saved(&self) -> Vec<u8> {
        let (mut kept, mut restored) = (Vec::new(), Vec::new());
        self.kept.hub.save(&mut kept);
        self.restored.hub.save(&mut restored);
        assert!(kept == restored, "the states differ");
        kept
    }

    /// Gives the input to the hub that was never saved alone, and returns what it publishes.
    pub(crate) fn apply_to_kept(&mut self, input: &Input, now: Micros) -> Vec<Change> {
        self.kept.apply(input, now)
    }

    /// The hub that was never saved.
    pub(crate) fn kept(&mut self) -> &mut Hub {
        &mut self.kept.hub
    }

    pub(crate) fn restore(&self, bytes: &[u8]) -> Result<Hub, RestoreError> {
        Hub::restore(bytes, SETTINGS, self.ids.clone())
    }

    /// All documents are equal.
    #[track_caller]
    pub(crate) fn compare_images(&mut self) {
        let names = channels(&mut self.kept.hub);
        assert!(names == channels(&mut self.restored.hub), "the channels differ");
        for (_, name, _) in names {
            let kept = self.kept.hub.image_of(&name).map(|image| image.frame);
            assert_eq!(kept, self.restored.hub.image_of(&name).map(|image| image.frame));
        }
        let (sources, others) = (self.kept.hub.sources(), self.restored.hub.sources());
        assert_eq!(format!("{sources:?}"), format!("{others:?}"));
    }
}

/// The channels of a hub: number, name, epoch.
pub(crate) fn channels(hub: &mut Hub) -> Vec<(u32, String, Epoch)> {
    let mut all = Vec::new();
    for pattern in ["*", "*/*", "*/*/odds", "*/*/odds/*"] {
        let pattern = Pattern::parse(pattern).expect("well formed");
        let HostResponse::Channels(found) =
            hub.answer(&HostRequest::MatchChannels { pattern, has: Vec::new() })
        else {
            panic!("it asks for channels");
        };
        all.extend(found.into_iter().map(|it| (it.number, it.name.to_string(), it.epoch)));
    }
    all
}

fn is_same(kept: &Change, restored: &Change) -> bool {
    match (kept, restored) {
        (Change::Opened(kept), Change::Opened(restored)) => is_same_publication(kept, restored),
        (Change::Published(rate, kept), Change::Published(other, restored)) => {
            rate == other && is_same_publication(kept, restored)
        }
        (Change::Closed(kept), Change::Closed(restored)) => is_same_channel(kept, restored),
        _ => false,
    }
}

fn is_same_publication(kept: &Publication, restored: &Publication) -> bool {
    let about = |it: &Publication| (it.prev, it.seq, it.urgent, it.has_events, it.published);
    is_same_channel(&kept.channel, &restored.channel)
        && about(kept) == about(restored)
        && kept.frame() == restored.frame()
}

fn is_same_channel(kept: &Channel, restored: &Channel) -> bool {
    let ChannelInfo { number, name, epoch, deliver_last, needs } = &**kept;
    (number, name, epoch, deliver_last, needs)
        == (
            &restored.number,
            &restored.name,
            &restored.epoch,
            &restored.deliver_last,
            &restored.needs,
        )
}

fn shown(change: &Change) -> String {
    let channel = |it: &Channel| format!("{it:?}");
    match change {
        Change::Opened(it) => format!("opened {} {}", channel(&it.channel), text(it)),
        Change::Published(rate, it) => {
            let Publication { prev, seq, urgent, has_events, published, .. } = **it;
            let about = (rate, prev, seq, urgent, has_events, published);
            format!("{about:?} {} {}", channel(&it.channel), text(it))
        }
        Change::Closed(it) => format!("closed {}", channel(it)),
    }
}

/// The JSON text of a frame, after its WebSocket header.
pub(crate) fn payload(publication: &Publication) -> bytes::Bytes {
    let frame = publication.frame();
    let header = match frame[1] & 0x7f {
        126 => 4,
        127 => 10,
        _ => 2,
    };
    frame.slice(header..)
}

fn text(publication: &Publication) -> String {
    String::from_utf8(payload(publication).to_vec()).expect("frames are UTF-8")
}

/// How its ids differ.
pub(crate) const OTHER_PROVIDER: u64 = 0x2_0000_0000;

/// The same match as another provider reports it, under its own ids.
pub(crate) fn of_other_provider(batch: &Batch) -> Batch {
    let mut batch = batch.clone();
    batch.each_id(&mut |id| id.0 ^= OTHER_PROVIDER);
    for event in &mut batch.events {
        if let Fact::Fixture(fixture) = &mut event.fact {
            fixture.provider = "other".into();
            fixture.provider_key = format!("o{}", fixture.provider_key).into();
        }
    }
    batch
}
