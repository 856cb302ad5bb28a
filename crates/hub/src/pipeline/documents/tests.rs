use std::{cell::Cell, num::NonZeroU32};

use fanout::{
    Epoch, Pattern, Position,
    catch_up::{HostResponse, Verdict},
    channel::Rate,
};

use super::*;
use crate::{
    hub::{
        Epochs, HubSettings,
        feeds::{SourceNumber, SourcePolicy},
        sequence::TailWindow,
    },
    identity::Identity,
    load_source::{Load, LoadSource},
};

const NOW: Micros = 1_788_220_800_000_000;
const SECOND_US: Micros = 1_000_000;
/// What each rendering takes by the clock of these tests.
const RENDERING: Duration = Duration::from_millis(30);
const PAUSE_US: Micros = 270_000;
const NO_LIMIT: usize = usize::MAX;
const BOARD: &str = "football";

thread_local! {
    static THREAD_TIME: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Goes on at each look: all that is measured takes a rendering.
fn dear() -> Duration {
    THREAD_TIME.set(THREAD_TIME.get() + RENDERING);
    THREAD_TIME.get()
}

fn cheap() -> Duration {
    Duration::ZERO
}

type ImageReceiver = oneshot::Receiver<(Option<ChannelImage>, Duration)>;

/// A hub with matches of football, and its board.
struct World {
    hub: Hub,
    source: SourceNumber,
    matches: NonZeroU32,
    readers: DocumentReaders,
}

impl World {
    fn new(thread_time: fn() -> Duration) -> Self {
        let settings = HubSettings {
            window: TailWindow { bytes: 1 << 20, age_us: 60 * SECOND_US },
            matches_max: 200,
            matches_max_per_source: 200,
            ended_keep_us: SECOND_US,
            stale_after_ms: 15_000,
            hold_us: 0,
        };
        let epochs = Epochs { matches: Epoch(7), feeds: Epoch(900_000) };
        let mut hub = Hub::new(settings, epochs, Identity::default());
        let source = hub.source("load".into(), "load", SourcePolicy::default());
        let readers = DocumentReaders::new(thread_time);
        let mut world = Self { hub, source, matches: NonZeroU32::MIN, readers };
        world.change();
        world
    }

    /// Adds a match to the board.
    fn change(&mut self) {
        self.matches = self.matches.saturating_add(1);
        let load = LoadSource::new(Load { rate: NonZeroU32::MIN, channels: self.matches });
        let mut batch = load.introductions(NOW).last().expect("one for each match");
        self.hub.ids().number_batch(&mut batch);
        let before = self.hub.head(BOARD);
        assert_eq!(self.hub.apply(self.source, &batch, NOW, NOW, &mut Vec::new()), []);
        assert!(self.hub.head(BOARD) > before, "the board has changed");
    }

    fn head(&self) -> Seq {
        self.hub.head(BOARD).expect("it exists")
    }

    fn epoch(&mut self) -> Option<Epoch> {
        Some(self.hub.image_of(BOARD)?.epoch)
    }

    /// A reader of an image that waits for a sequence.
    fn pending(&mut self, at_least: Seq) -> ImageReceiver {
        self.pending_of(BOARD, at_least, 0, Payer::Hub)
    }

    fn pending_of(
        &mut self,
        channel: &str,
        at_least: Seq,
        number: ReaderNumber,
        payer: Payer,
    ) -> ImageReceiver {
        let (reply, image) = oneshot::channel();
        let channel = channel.to_owned();
        let pending = PendingImage { channel, at_least, number, payer, reply };
        if let Some(oldest) = self.readers.add_pending(pending) {
            self.answer(oldest, NOW);
        }
        image
    }

    /// Answers those that may be answered. Returns how many renderings that took.
    fn serve(&mut self, now: Micros) -> usize {
        let due = self.readers.take_due(now);
        let reached = self.readers.take_reached(&self.hub, None);
        let admitted: Vec<DocumentRequest> = reached
            .into_iter()
            .filter_map(|request| self.readers.admit(&self.hub, request, now))
            .collect();
        due.into_iter().chain(admitted).map(|request| self.answer(request, now).0).sum()
    }

    /// Answers a request. Returns whether its document was rendered, and what it cost.
    fn answer(&mut self, request: DocumentRequest, now: Micros) -> (usize, Cost) {
        let renders = usize::from(request.renders(&self.hub).is_some());
        let (answer, cost) = self.readers.answer(&mut self.hub, request, NO_LIMIT, now);
        match answer {
            // The requester may be gone.
            Answer::Image(_, reply, image) => drop(reply.send(image)),
            Answer::CaughtUp(reply, response) => drop(reply.send(response)),
            answer => panic!("{answer:?}"),
        }
        (renders, cost)
    }
}

fn hash_request() -> (DocumentRequest, oneshot::Receiver<(HostResponse, Cost)>) {
    let (reply, response) = oneshot::channel();
    let request = HostRequest::CatchUp {
        channel: Pattern::parse(BOARD).expect("well formed"),
        rate: Rate::Each,
        from: None,
        why: "rate",
        bytes_max: 0,
        with_hash: true,
    };
    (DocumentRequest::Response { request, reader: Reader::Process(reply) }, response)
}

/// Finding 2 of the trial: one waiting request made each turn render the board.
#[test]
fn reader_that_waits_for_a_sequence_renders_nothing() {
    let mut world = World::new(cheap);
    let mut far = world.pending(u64::MAX);
    for turn in 0..100 {
        assert_eq!(world.serve(NOW + turn), 0);
    }
    assert!(world.hub.unrendered(BOARD).is_some(), "nobody has rendered it");
    assert!(far.try_recv().is_err(), "it still waits");
}

#[test]
fn all_who_wait_for_a_sequence_share_one_rendering() {
    let mut world = World::new(cheap);
    let before = world.head();
    let mut all: Vec<_> = (0..600).map(|_| world.pending(before + 1)).collect();
    let mut satisfied = world.pending(before);
    assert_eq!(world.serve(NOW), 1);
    let image = satisfied.try_recv().expect("it is answered").0.expect("the board");
    assert_eq!(image.seq, before);
    world.change();
    assert_eq!(world.serve(NOW), 1, "one for 600 readers");
    let head = world.head();
    for reader in &mut all {
        let image = reader.try_recv().expect("it is answered").0.expect("the board");
        assert_eq!(image.seq, head);
    }
}

/// Beyond their number, those that came first get what there is. The others go on waiting.
#[test]
fn only_the_oldest_of_too_many_waiting_readers_are_answered_early() {
    let mut world = World::new(cheap);
    let mut others: Vec<_> = (0..PENDING_MAX).map(|_| world.pending(u64::MAX)).collect();
    let mut last = world.pending(u64::MAX);
    let answered = |reader: &mut ImageReceiver| reader.try_recv().is_ok();
    assert!(answered(&mut others[0]) && !others[1..].iter_mut().any(answered));
    assert!(!answered(&mut last));
}

/// One account that lets many requests wait ends its own.
#[test]
fn waiting_readers_of_one_payer_displace_each_other() {
    let mut world = World::new(cheap);
    let mut other = world.pending_of(BOARD, u64::MAX, 0, Payer::Account(2));
    let mut readers: Vec<_> = (0..PENDING_MAX * 2)
        .map(|_| world.pending_of(BOARD, u64::MAX, 0, Payer::Account(1)))
        .collect();
    assert!(other.try_recv().is_err(), "it waits");
    let answered = readers.iter_mut().map(|reader| reader.try_recv().is_ok());
    let waiting = answered.filter(|answered| !answered).count();
    assert_eq!(waiting, PENDING_MAX_BY_PAYER);
}

#[test]
fn dropped_readers_and_unknown_channels_cost_nothing() {
    let mut world = World::new(cheap);
    drop(world.pending(0));
    let mut image = world.pending_of("football/404", 9, 0, Payer::Hub);
    assert_eq!(world.serve(NOW), 0);
    assert!(image.try_recv().expect("it is answered").0.is_none());
}

/// A node that follows may not have the channel yet.
#[test]
fn reader_of_an_unknown_channel_waits_until_the_node_has_what_the_log_had() {
    let mut world = World::new(cheap);
    let _image = world.pending_of("football/404", 0, 5, Payer::Hub);
    assert_eq!(world.readers.take_reached(&world.hub, Some(4)).len(), 0);
    assert_eq!(world.readers.take_reached(&world.hub, Some(5)).len(), 1);
}

/// Finding 3 d of the trial: 90 sockets hash a board that changes all the time. It is rendered a tenth of the time at most,
/// and each hash is that of the head.
#[test]
fn dear_document_is_rendered_at_intervals_for_all_who_wait() {
    let mut world = World::new(dear);
    let (mut rendered, mut responses) = (0, Vec::new());
    for step in 0..100 {
        let now = NOW + step * 10_000;
        world.change();
        for request in world.readers.take_due(now) {
            rendered += world.answer(request, now).0;
        }
        let (request, response) = hash_request();
        responses.push(response);
        if let Some(request) = world.readers.admit(&world.hub, request, now) {
            rendered += world.answer(request, now).0;
        }
        let head = world.head();
        responses.retain_mut(|response| {
            let Ok((HostResponse::CatchUp(caught_up), _)) = response.try_recv() else {
                return true;
            };
            let frame = fanout::encode::payload(&caught_up.frames[0].frame);
            let image: serde_json::Value = serde_json::from_slice(&frame).expect("JSON");
            let hash = caught_up.hash.expect("it was asked for");
            assert_eq!((caught_up.head, caught_up.verdict), (head, Verdict::Fresh));
            assert_eq!(hash.whole(), crate::catch_up::hash_of(&image["data"]));
            false
        });
    }
    assert_eq!(rendered, 4, "in a second, at 0, 270, 540 and 810 ms");
    let due = world.readers.due().expect("somebody waits");
    assert_eq!(due, NOW + 4 * PAUSE_US);
    assert!(world.readers.take_due(due - 1).is_empty());
    let waiting = world.readers.take_due(due);
    let renderings: Vec<usize> =
        waiting.into_iter().map(|request| world.answer(request, due).0).collect();
    assert_eq!(renderings.iter().sum::<usize>(), 1, "{renderings:?}");
    assert!(responses.iter_mut().all(|response| response.try_recv().is_ok()));
    assert_eq!(world.readers.waiting, 0);
}

/// Requests that come when a document is due, before those who wait for it are looked at, do not make them wait again.
#[test]
fn reader_that_is_answered_at_once_delays_nobody_who_waits() {
    let mut world = World::new(dear);
    let (first, _response) = hash_request();
    world.answer(first, NOW);
    world.change();
    let (waits, mut waiting) = hash_request();
    assert!(world.readers.admit(&world.hub, waits, NOW + 1).is_none());
    for _ in 0..3 {
        let (request, _response) = hash_request();
        let admitted = world.readers.admit(&world.hub, request, NOW + PAUSE_US);
        world.answer(admitted.expect("it is due"), NOW + PAUSE_US);
        world.change();
    }
    assert_eq!(world.readers.due(), Some(NOW + PAUSE_US));
    assert_eq!(world.serve(NOW + PAUSE_US), 1);
    assert!(waiting.try_recv().is_ok());
    assert_eq!(world.readers.due(), None);
}

/// Waiting is for what must be rendered: a reader that resumes, and one of a document that has not changed, do not wait.
#[test]
fn reader_that_needs_no_rendering_is_answered_at_once() {
    let mut world = World::new(dear);
    let (request, mut first) = hash_request();
    let (rendered, cost) = world.answer(request, NOW);
    assert_eq!((rendered, cost.used), (1, RENDERING));
    assert_eq!(first.try_recv().expect("it is answered").1, cost, "the reader learns of it");
    let (same, _response) = hash_request();
    assert!(world.readers.admit(&world.hub, same, NOW + 1).is_some(), "it is shared");
    let (before, epoch) = (world.head(), world.epoch());
    world.change();
    let (other, _response) = hash_request();
    assert!(world.readers.admit(&world.hub, other, NOW + 1).is_none());
    let (reply, _response) = oneshot::channel();
    let request = HostRequest::CatchUp {
        channel: Pattern::parse(BOARD).expect("well formed"),
        rate: Rate::Each,
        from: Some(Position { epoch, seq: before }),
        why: "resume",
        bytes_max: 1_000,
        with_hash: false,
    };
    let resumes = DocumentRequest::Response { request, reader: Reader::Process(reply) };
    assert!(world.readers.admit(&world.hub, resumes, NOW + 1).is_some());
}

#[test]
fn cheap_documents_are_never_waited_for() {
    let mut world = World::new(cheap);
    for step in 0..10 {
        world.change();
        let (request, _response) = hash_request();
        let request = world.readers.admit(&world.hub, request, NOW + step);
        assert_eq!(world.answer(request.expect("it is due"), NOW + step).0, 1);
    }
    assert_eq!(world.readers.due(), None);
}
