//! Rate-limited readers, together with readers of every change.

use std::collections::BTreeMap;

use facts::event::{Batch, Event, Fact, Id, MarketStatus, Sport};
use fanout::{
    Change, Micros, Pattern,
    catch_up::{HostRequest, HostResponse, Lease},
    channel::Rate,
};
use hub::{
    ApplyError, Hub,
    feeds::{FeedState, Health},
};
use proptest::{prelude::*, sample::Index};
use serde_json::Value;

use crate::{
    bench::{Bench, SETTINGS},
    facts::batches,
    json::{difference, merge, parse},
    rules::{fixture, market},
};

/// A reader that follows a channel at a rate.
struct RateLimitedReader {
    _lease: Lease,
    /// Where it joined, and its current position.
    joined: usize,
    seq: u64,
    data: Value,
    events: Vec<Value>,
}

/// By channel and rate.
type RateLimitedReaders = BTreeMap<(String, Rate), RateLimitedReader>;

fn join(hub: &mut Hub, channel: &str, rate: Rate) -> RateLimitedReader {
    let channel = Pattern::parse(channel).expect("a channel's name is well formed");
    let question = HostRequest::CatchUp {
        channel,
        rate,
        from: None,
        why: "rate",
        bytes_max: usize::MAX,
        with_hash: false,
    };
    let HostResponse::CatchUp(caught_up) = hub.answer(&question) else { panic!("it is tracked") };
    let image = parse(&caught_up.frames[0].frame);
    RateLimitedReader {
        _lease: caught_up.lease.expect("a rate has a lease"),
        joined: usize::try_from(caught_up.head).expect("a small number"),
        seq: caught_up.head,
        data: image["data"].clone(),
        events: Vec::new(),
    }
}

impl RateLimitedReader {
    fn take(&mut self, frame: &Value) {
        let number = |field: &str| frame[field].as_u64().expect("it is numbered");
        let (prev, seq) = (number("prev"), number("seq"));
        if seq <= self.seq {
            return;
        }
        assert!(prev <= self.seq, "a hole between {} and {prev}", self.seq);
        assert_eq!(frame["n"].as_u64().unwrap_or(1), seq - prev);
        assert_eq!(frame["why"] == "rate", seq - prev > 1);
        self.seq = seq;
        merge(&mut self.data, &frame["patch"]);
        self.events.extend(frame["events"].as_array().into_iter().flatten().cloned());
    }
}

/// Delivers what the tiers release.
fn read(modests: &mut RateLimitedReaders, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Published(rate, publication) if *rate != Rate::Each => {
                let key = (publication.channel.name.to_string(), *rate);
                if let Some(modest) = modests.get_mut(&key) {
                    modest.take(&parse(publication.frame()));
                }
            }
            Change::Closed(channel) => {
                modests.retain(|(name, _), _| name != channel.name.as_str());
            }
            Change::Opened(_) | Change::Published(..) => {}
        }
    }
}

fn flush(bench: &mut Bench, modests: &mut RateLimitedReaders, later: Micros) {
    bench.now += later;
    let mut changes = Vec::new();
    bench.hub.flush_tiers(bench.now, &mut changes);
    read(modests, &changes);
}

proptest! {
    /// At any rate and from any position: the same document, and every event once and in order.
    #[test]
    fn rate_limited_updates_add_up_to_the_image(
        batches in batches(40),
        joins in prop::collection::vec((any::<Index>(), any::<Index>(), 1..7_usize), 1..30),
        pauses in prop::collection::vec(0..300_000_i64, 40),
    ) {
        let mut bench = Bench::new(SETTINGS);
        let mut modests = RateLimitedReaders::new();
        for (number, batch) in batches.iter().enumerate() {
            let (changes, _): (_, Vec<ApplyError>) = bench.apply(batch);
            read(&mut modests, &changes);
            let names: Vec<String> = bench.readers.keys().cloned().collect();
            for (when, which, rate) in &joins {
                if when.index(batches.len()) == number && !names.is_empty() {
                    let (name, rate) = (which.get(&names).clone(), Rate::ALL[*rate]);
                    let modest = join(&mut bench.hub, &name, rate);
                    modests.insert((name, rate), modest);
                }
            }
            flush(&mut bench, &mut modests, pauses[number % pauses.len()]);
        }
        flush(&mut bench, &mut modests, 5_000_000);
        prop_assert_eq!(bench.hub.tiers_due(), None);
        for ((name, rate), modest) in &modests {
            let reader = &bench.readers[name];
            prop_assert_eq!(modest.seq, reader.frames.len() as u64, "{} {:?}", name, rate);
            prop_assert_eq!(difference(&modest.data, &reader.data), None, "{} {:?}", name, rate);
            prop_assert_eq!(&modest.events, &reader.events_after(modest.joined), "{} {:?}", name, rate);
        }
    }
}

/// A reader that sees on `feeds` that a source has ended has received all its changes.
#[test]
fn end_of_a_source_releases_held_updates() {
    let mut bench = Bench::new(SETTINGS);
    let starting_at = |minute: Micros| {
        let mut fixture = fixture(1);
        let Fact::Fixture(it) = &mut fixture.fact else { panic!("it is a fixture") };
        it.start = Some(minute);
        Batch { events: vec![fixture], ..Batch::default() }
    };
    bench.apply(&starting_at(1));
    let mut modests = RateLimitedReaders::new();
    let key = ("football/1".to_owned(), Rate::Ms5000);
    modests.insert(key.clone(), join(&mut bench.hub, &key.0, key.1));
    for minute in 2..5 {
        let (changes, _) = bench.apply(&starting_at(minute));
        read(&mut modests, &changes);
    }
    assert_eq!(modests[&key].data["start"], 2);
    let mut changes = Vec::new();
    bench.hub.end_source(bench.source, bench.now, &mut changes);
    read(&mut modests, &changes);
    assert_eq!(
        (&modests[&key].data["start"], &modests[&key].data["feed"]),
        (&4.into(), &"down".into())
    );
    let name = |change: &Change| match change {
        Change::Published(_, publication) => publication.channel.name.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(changes.last().map(name).as_deref(), Some("feeds"));
}

/// What is published on which channels, and whether it preempts queued frames.
fn urgent(changes: &[Change]) -> BTreeMap<&str, bool> {
    let urgent = |change| match change {
        &Change::Published(Rate::Each, ref it) => Some((it.channel.name.as_str(), it.urgent)),
        _ => None,
    };
    changes.iter().filter_map(urgent).collect()
}

#[test]
fn only_suspensions_are_urgent() {
    let mut bench = Bench::new(SETTINGS);
    let book = "football/1/odds/betfair";
    let mut check = |events: Vec<Event>, expected: &[(&str, bool)]| {
        let batch = Batch { events, ..Batch::default() };
        let (changes, errors) = bench.apply(&batch);
        assert_eq!(errors, []);
        assert_eq!(urgent(&changes), expected.iter().copied().collect(), "{batch:?}");
    };
    let board = ("football", false);
    let now_open = vec![fixture(1), market(1, "a", MarketStatus::Open)];
    check(now_open, &[board, ("football/1", false), (book, false)]);
    check(vec![market(1, "b", MarketStatus::Open)], &[(book, false)]);
    // One of two: the book itself is open.
    check(vec![market(1, "a", MarketStatus::Suspended)], &[(book, true)]);
    check(vec![market(1, "b", MarketStatus::Suspended)], &[(book, true)]);
    check(vec![market(1, "b", MarketStatus::Open)], &[(book, false)]);
    check(vec![market(1, "a", MarketStatus::Closed)], &[(book, false)]);
    let mut changes = Vec::new();
    let down = Health { feed: FeedState::Down, why: None };
    bench.hub.set_source_health(bench.source, &down, bench.now, &mut changes);
    let expected = [
        ("feeds", false),
        ("signals", false),
        ("football", true),
        ("football/1", true),
        (book, true),
    ];
    assert_eq!(urgent(&changes), expected.into_iter().collect());
}

/// An interrupted tennis match is itself suspended.
#[test]
fn interruption_is_urgent() {
    use facts::event::{TennisFact, TennisStatus};
    let mut bench = Bench::new(SETTINGS);
    let status = |status| {
        let fact = Fact::Tennis(TennisFact::Status(status));
        Event { sport: Sport::Tennis, match_id: Id(1), fact }
    };
    let fixture = Event { sport: Sport::Tennis, ..fixture(1) };
    let events = vec![fixture, status(TennisStatus::Live)];
    bench.apply(&Batch { events, ..Batch::default() });
    let events = vec![status(TennisStatus::Interrupted)];
    let (changes, _) = bench.apply(&Batch { events, ..Batch::default() });
    assert!(urgent(&changes)["tennis/1"]);
}
