//! The subscribers of a shard against a model of its host: in any order of events, and however little
//! the clients read at a time, each client reaches the heads of its channels, without gaps or duplicates.

mod client;
mod host;
pub(crate) mod pipe;
mod world;

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use bytes::Bytes;
use fanout::{
    channel::Rate,
    protocol::StreamCommand,
    session::Session,
    subscribers::{Effect, SubscriberLimits, Subscribers},
};
use proptest::prelude::*;

use self::{
    host::{CHANNELS, Host},
    world::{CLIENTS, LIMITS, Step, World, step},
};

proptest! {
    /// A channel that reports on others never gets ahead of them.
    #[test]
    fn channel_that_is_delivered_last_comes_after_the_others(steps in prop::collection::vec(step(), 1..150)) {
        let mut world = World::new();
        for subscriber in 0..CLIENTS {
            world.command(subscriber, r#"{"op":"subscribe","ch":"c/*"}"#);
            world.clients[subscriber].follows_all = true;
        }
        for step in steps {
            if matches!(
                step,
                Step::Publish(_) | Step::Respond | Step::Turn | Step::Read(..) | Step::LosePublications
            ) {
                world.apply(step);
            }
        }
        world.settle();
        for client in &world.clients {
            prop_assert_eq!(&client.positions, &world.host.heads);
        }
    }

    #[test]
    fn client_reaches_the_head_of_its_channels(steps in prop::collection::vec(step(), 1..200)) {
        let mut world = World::new();
        for step in steps {
            world.apply(step);
        }
        world.settle();
        let before: Vec<_> = world.clients.iter().map(|client| client.positions.clone()).collect();
        for (subscriber, positions) in before.iter().enumerate() {
            let followed = world.session(subscriber).channels();
            prop_assert!(positions.len() >= followed, "a followed channel never arrived");
        }
        // All subscriptions are live: one more change of each channel arrives.
        for number in 0..CHANNELS {
            if world.host.heads.contains_key(&number) {
                world.publish(number);
            }
        }
        world.settle();
        for (subscriber, before) in before.iter().enumerate() {
            let positions = &world.clients[subscriber].positions;
            let moved: BTreeSet<&u32> = positions
                .iter()
                .filter(|(number, seq)| before.get(number) != Some(seq))
                .map(|(number, _)| number)
                .collect();
            prop_assert_eq!(moved.len(), world.session(subscriber).channels());
            for number in moved {
                prop_assert_eq!(positions[number], world.host.heads[number]);
            }
        }
    }
}

/// All channels of a batch get their frames after its answer.
#[test]
fn batch_is_answered_once_and_first() {
    let mut world = World::new();
    (0..2).for_each(|number| world.publish(number));
    world.clients[0].positions.insert(1, 1);
    let command = r#"{"op":"subscribe","id":1,"chs":["c/0","c/9","c/*",{"ch":"c/1","from":{"epoch":"7","seq":1}}]}"#;
    world.command(0, command);
    while world.session(0).is_waiting() {
        world.respond();
        world.read(0, usize::MAX);
    }
    world.settle();
    let [(answer, data_before)] = &world.clients[0].answers[..] else {
        panic!("it is answered once: {:?}", world.clients[0].answers)
    };
    assert_eq!(*data_before, 0, "frames came before the answer");
    assert_eq!(answer["chs"]["c/0"]["resumed"], false);
    assert_eq!(answer["chs"]["c/1"]["resumed"], true);
    assert_eq!(answer["chs"]["c/9"]["error"], "not_tracked");
    assert_eq!(answer["chs"]["c/*"]["channels"], 2);
    assert_eq!(world.session(0).channels(), 2);
    let command = r#"{"op":"unsubscribe","chs":["c/0","c/*","c/1"]}"#;
    world.command(0, command);
    assert_eq!(world.session(0).channels(), 0);
}

/// A reader at a slower rate gets what it lacks, and then the hash of the document that it has.
#[test]
fn hash_comes_after_what_leads_to_its_document() {
    let mut world = World::new();
    world.publish(0);
    world.command(0, r#"{"op":"subscribe","ch":"c/0","every_ms":250}"#);
    world.settle();
    world.publish(0);
    world.read(0, usize::MAX);
    assert_eq!(world.clients[0].positions[&0], 1, "the rate holds the change back");
    world.apply(Step::Hash(0, 0));
    world.respond();
    world.read(0, usize::MAX);
    assert_eq!(world.clients[0].positions[&0], 2);
    assert_eq!((world.clients[0].hashes, world.clients[0].proved), ((1, 1), 1));
    // Once a second.
    world.command(0, r#"{"op":"hash","id":"again","ch":"c/0"}"#);
    world.command(1, r#"{"op":"hash","id":"other","ch":"c/0"}"#);
    (0..2).for_each(|subscriber| world.read(subscriber, usize::MAX));
    let refusals = |subscriber: usize| world.clients[subscriber].refusals.clone();
    assert_eq!((refusals(0), refusals(1)), (vec!["limit".into()], vec!["bad_channel".into()]));
    world.settle();
}

/// Values of two channels are queued for a client that reads nothing; then one channel is suspended.
#[test]
fn suspension_goes_before_queued_frames() {
    let mut world = World::new();
    (0..2).for_each(|number| world.publish(number));
    for number in 0..2 {
        world.command(0, &format!(r#"{{"op":"subscribe","ch":"c/{number}"}}"#));
        world.respond();
    }
    world.read(0, usize::MAX);
    world.clients[0].pipe.0.borrow_mut().takes = 5;
    // 2 to 4 of both are queued, the first of them partly written; the eighth change of channel 0 suspends.
    for _ in 0..3 {
        (0..2).for_each(|number| world.publish(number));
        world.turn();
    }
    while world.host.heads[&0] < 8 {
        world.publish(0);
        world.turn();
    }
    (0..4).for_each(|_| world.respond());
    let mut order = Vec::new();
    for _ in 0..2000 {
        let before = world.clients[0].positions.clone();
        world.read(0, 1);
        let positions = &world.clients[0].positions;
        order.extend(
            positions
                .iter()
                .filter(|(number, seq)| before.get(number) != Some(seq))
                .map(|(number, seq)| (*number, *seq)),
        );
    }
    let suspended = order.iter().position(|it| *it == (0, 8)).expect("it came");
    let other = order.iter().position(|it| it.0 == 1).expect("it came");
    assert!(suspended < other, "the suspension waited: {order:?}");
    world.settle();
    assert_eq!(world.clients[0].positions, world.host.heads);
}

/// A client has read that an image comes in place of what it has missed. Before it reads the image, publications are lost,
/// and the channel is suspended, so that the queued image goes.
#[test]
fn image_that_was_announced_comes_whatever_happens_before_it() {
    let mut world = World::new();
    for number in 0..2 {
        (0..8).for_each(|_| world.publish(number));
        let subscribe = format!(r#"{{"op":"subscribe","ch":"c/{number}","on_slow":"resync"}}"#);
        world.command(0, &subscribe);
        world.respond();
    }
    world.read(0, usize::MAX);
    world.clients[0].pipe.0.borrow_mut().takes = 0;
    for _ in 8..15 {
        (0..2).for_each(|number| world.publish(number));
        world.turn();
    }
    for _ in 0..2000 {
        world.respond();
        world.read(0, 1);
        if world.clients[0].waits_for_image(0) {
            break;
        }
    }
    assert!(world.clients[0].waits_for_image(0), "it kept up");
    world.lose_publications();
    world.publish(0);
    world.turn();
    // The client finds an update in place of the image.
    world.settle();
    assert_eq!(world.clients[0].positions, world.host.heads);
}

/// A channel is suspended before each response to the reader's requests.
#[test]
fn reader_gets_its_image_however_often_the_channel_is_suspended() {
    let mut world = World::new();
    world.publish(0);
    world.command(0, r#"{"op":"subscribe","ch":"c/*"}"#);
    for _ in 0..3 {
        (0..8).for_each(|_| world.publish(0));
        world.respond();
        world.read(0, usize::MAX);
    }
    assert!(world.clients[0].positions.contains_key(&0), "no image arrived");
    world.settle();
    assert_eq!(world.clients[0].positions, world.host.heads);
}

/// The shard closes the client at the end of its turn. Until then there may be room for later changes.
#[test]
fn nothing_follows_a_change_that_was_left_out_before_a_close() {
    let mut world = World::new();
    (0..2).for_each(|number| world.publish(number));
    for number in 0..2 {
        world.command(0, &format!(r#"{{"op":"subscribe","ch":"c/{number}","on_slow":"close"}}"#));
        world.respond();
    }
    world.read(0, usize::MAX);
    world.clients[0].pipe.0.borrow_mut().takes = 0;
    while world.too_slow.is_empty() {
        (0..2).for_each(|number| world.publish(number));
        world.turn();
    }
    world.read(0, usize::MAX);
    for _ in 0..3 {
        (0..2).for_each(|number| world.publish(number));
        world.read(0, usize::MAX);
    }
    // The client has checked each frame.
    assert_ne!(world.clients[0].positions, world.host.heads);
}

/// The image after a resume from an epoch that has ended is queued. A suspension goes before it, so it is
/// made again: the position of the client is still one of the ended epoch.
#[test]
fn suspension_before_the_image_of_a_new_epoch_leaves_the_old_position() {
    let mut world = World::new();
    (0..6).for_each(|_| world.publish(0));
    let from = r#"{"op":"subscribe","ch":"c/*","from":{"c/0":{"epoch":"6","seq":2}}}"#;
    world.command(0, from);
    world.respond();
    world.read(0, usize::MAX);
    world.clients[0].pipe.0.borrow_mut().takes = 0;
    world.respond();
    world.turn();
    (0..2).for_each(|_| world.publish(0));
    world.turn();
    world.settle();
    assert_eq!(world.clients[0].positions, world.host.heads);
}

/// Many channels are found by hash, and their beat is split into parts.
#[test]
fn many_channels_are_followed_by_name_and_by_pattern() {
    const MANY: u32 = 700;
    let mut world = World::new();
    (0..MANY).for_each(|number| world.publish(number));
    for number in 0..MANY / 2 {
        world.command(0, &format!(r#"{{"op":"subscribe","ch":"c/{number}"}}"#));
        world.settle();
    }
    world.command(0, r#"{"op":"subscribe","ch":"c/*"}"#);
    world.settle();
    assert_eq!(world.clients[0].positions, world.host.heads);
    for number in 0..MANY / 2 {
        world.command(0, &format!(r#"{{"op":"unsubscribe","ch":"c/{number}"}}"#));
    }
    assert_eq!(world.session(0).channels(), MANY as usize, "the pattern still covers them");
    (0..MANY + 1).for_each(|number| world.publish(number));
    world.settle();
    assert_eq!(world.clients[0].positions, world.host.heads);
    world.clients[0].beats.clear();
    world.apply(Step::Beat(0));
    world.settle();
    assert_eq!(world.clients[0].beats, [(300, true), (300, true), (101, false)]);
    world.command(0, r#"{"op":"unsubscribe","ch":"c/*"}"#);
    assert_eq!(world.session(0).channels(), 0);
}

/// A client that keeps up gets one write for everything in a turn.
#[test]
fn turn_is_one_write() {
    #[derive(Default)]
    struct CountingSink {
        writes: usize,
        bytes: Bytes,
    }
    impl Write for CountingSink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            self.bytes = Bytes::copy_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut host = Host::default();
    host.heads.extend([(0, 0), (1, 0)]);
    let mut subscribers = Subscribers::new(SubscriberLimits { write_bytes: 1000, ..LIMITS });
    for number in 0..2 {
        let slot = subscribers.admit(Session::new(1), CountingSink::default());
        let subscribe = format!(r#"{{"op":"subscribe","ch":"c/{number}"}}"#);
        let subscribe = StreamCommand::parse(&subscribe).expect("a good command");
        subscribers.apply_command(slot, subscribe, 1);
        for (slot, effect) in subscribers.take_effects() {
            let Effect::Submit(request) = effect else { panic!("{effect:?}") };
            subscribers.apply_response(slot, host.respond(&request), 1);
        }
        subscribers.flush(1);
        subscribers.get_mut(slot).expect("it is there").sink = CountingSink::default();
    }
    for (number, seq) in [(0, 1), (1, 1), (0, 2), (0, 3)] {
        subscribers.publish(Rate::Each, host.update(number, seq - 1, seq), 1);
        if seq == 1 {
            // A new follower gets its first publication separately.
            subscribers.broadcast(1);
            subscribers.flush(1);
        }
    }
    subscribers.broadcast(1);
    let sink = |slot: usize| &subscribers.get(slot).expect("it is there").sink;
    assert_eq!((sink(0).writes, sink(1).writes), (2, 1));
    let both = [host.update(0, 1, 2).frame().clone(), host.update(0, 2, 3).frame().clone()];
    assert_eq!(sink(0).bytes, both.concat());
}
