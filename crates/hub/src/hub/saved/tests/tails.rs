//! Frames of before a restart lead readers on as the updates themselves would have.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use fanout::{
    ChannelId, Epoch, Pattern, Position, Seq,
    catch_up::{HostRequest, HostResponse, Verdict},
    channel::Rate,
};

use super::{
    simulated::inputs,
    twin::{Input, Twin, channels, payload},
};
use crate::{
    Epochs, Hub, HubInput,
    sequence::{TailError, TailFrame},
};

/// The frames that lead a reader from a position to the head, after their WebSocket headers.
fn resumed(hub: &mut Hub, channel: &str, epoch: Epoch, from: Seq) -> (Verdict, Vec<Bytes>) {
    let from = Some(Position { epoch: Some(epoch), seq: from });
    let channel = Pattern::parse(channel).expect("well formed");
    let request = HostRequest::CatchUp {
        channel,
        rate: Rate::Each,
        from,
        why: "resume",
        bytes_max: 1 << 30,
        with_hash: false,
    };
    let HostResponse::CatchUp(caught_up) = hub.answer(&request) else { panic!("it is open") };
    assert_eq!(caught_up.to, caught_up.head);
    (caught_up.verdict, caught_up.frames.into_iter().map(|it| it.frame).collect())
}

/// A hub after a part of a day, which tests share that do not change it.
static PLAYED: LazyLock<Mutex<Twin>> = LazyLock::new(|| Mutex::new(played()));

fn shared() -> MutexGuard<'static, Twin> {
    PLAYED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn played() -> Twin {
    let mut twin = Twin::new(2);
    for input in inputs(5, 800).iter().filter(|it| !matches!(it, Input::Follow(..))) {
        twin.step(input);
    }
    twin
}

/// The same hub restored with its tails.
fn with_tails(twin: &Twin, skipped: fn(usize) -> usize) -> Hub {
    let mut hub = twin.restore(&twin.saved()).expect("it was saved");
    for frame in twin.frames.iter().skip(skipped(twin.frames.len())).rev() {
        let name = &frame.channel.name;
        let older = TailFrame { prev: frame.prev, seq: frame.seq, payload: payload(frame) };
        let restored = hub.restore_tail(name, frame.channel.epoch, [older]);
        // Channels that were closed since have no tail.
        assert!(matches!(restored, Ok(()) | Err(TailError::Unknown)), "{name}: {restored:?}");
    }
    hub
}

#[test]
fn every_position_leads_on_with_the_same_frames() {
    let mut twin = shared();
    let mut hub = with_tails(&twin, |_| 0);
    let mut frames = 0;
    for (_, name, epoch) in channels(&mut hub) {
        let head = hub.image_of(&name).expect("it is open").seq;
        for from in (0..head).step_by(1 + usize::try_from(head / 40).unwrap_or(0)) {
            let restored = resumed(&mut hub, &name, epoch, from);
            assert_eq!(restored.0, Verdict::Resumed, "{name} from {from}");
            assert_eq!(restored, resumed(twin.kept(), &name, epoch, from), "{name} from {from}");
            frames += restored.1.len();
        }
    }
    assert!(frames > 1_000, "{frames} frames were compared");
}

#[test]
fn single_updates_are_the_original_bytes() {
    let twin = shared();
    let mut hub = with_tails(&twin, |_| 0);
    let mut compared = 0;
    for frame in &twin.frames {
        let name = frame.channel.name.as_str();
        let is_head = hub.image_of(name).is_some_and(|image| image.seq == frame.seq);
        if is_head && hub.image_of(name).map(|it| it.epoch) == Some(frame.channel.epoch) {
            let (_, frames) = resumed(&mut hub, name, frame.channel.epoch, frame.prev);
            assert_eq!(frames, [frame.frame().clone()]);
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared} were compared");
}

#[test]
fn later_updates_are_merged_with_restored_ones() {
    let mut twin = played();
    let mut hub = with_tails(&twin, |_| 0);
    for input in inputs(5, 1_000).iter().skip(inputs(5, 800).len()) {
        let Input::Batch(source, batch) = input else { continue };
        twin.now += 20_000;
        let now = twin.now;
        for hub in [&mut hub, twin.kept()] {
            let source = crate::feeds::SourceNumber(*source);
            hub.apply(source, batch, now, now, &mut Vec::new());
        }
    }
    for (_, name, epoch) in channels(&mut hub) {
        let head = hub.image_of(&name).expect("it is open").seq;
        for from in (0..head).step_by(1 + usize::try_from(head / 20).unwrap_or(0)) {
            let restored = resumed(&mut hub, &name, epoch, from);
            assert_eq!(restored, resumed(twin.kept(), &name, epoch, from), "{name} from {from}");
        }
    }
}

#[test]
fn a_tail_begins_with_the_oldest_frame() {
    let twin = shared();
    let mut hub = with_tails(&twin, |frames| frames / 2);
    let mut of_window = 0;
    for (_, name, epoch) in channels(&mut hub) {
        let is_of_channel =
            |it: &&std::sync::Arc<fanout::Publication>| it.channel.name.as_str() == name;
        let first = twin
            .frames
            .iter()
            .skip(twin.frames.len() / 2)
            .find(is_of_channel)
            .map(|frame| frame.prev);
        if let Some(first) = first.filter(|first| *first > 0) {
            assert!(matches!(resumed(&mut hub, &name, epoch, first - 1).0, Verdict::Refused(_)));
            assert_eq!(resumed(&mut hub, &name, epoch, first).0, Verdict::Resumed);
            of_window += 1;
        }
    }
    assert!(of_window > 3, "{of_window}");
}

#[test]
fn wrong_frames_are_refused() {
    let mut twin = Twin::new(2);
    inputs(5, 300).iter().for_each(|input| twin.step(input));
    let mut hub = twin.restore(&twin.saved()).expect("it was saved");
    let frame = &twin.frames[twin.frames.len() - 1];
    let (name, epoch) = (&frame.channel.name, frame.channel.epoch);
    let mut put = |name: &ChannelId, epoch, prev, seq, text: &[u8]| {
        let payload = Bytes::copy_from_slice(text);
        hub.restore_tail(name, epoch, [TailFrame { prev, seq, payload }])
    };
    let (text, prev, seq) = (payload(frame), frame.prev, frame.seq);
    assert_eq!(put(&ChannelId::new("no/such"), epoch, prev, seq, &text), Err(TailError::Unknown));
    assert_eq!(put(name, Epoch(99), prev, seq, &text), Err(TailError::Unknown));
    assert_eq!(put(name, epoch, seq, seq + 1, &text), Err(TailError::OutOfOrder));
    assert_eq!(put(name, epoch, prev + 1, seq, &text), Err(TailError::OutOfOrder));
    assert_eq!(put(name, epoch, prev, seq, &text[..40]), Err(TailError::Malformed));
    assert_eq!(put(name, epoch, prev, seq, b"{}"), Err(TailError::Malformed));
    // The end of a frame is read late. A reader from before it gets the image.
    put(name, epoch, prev, seq, &text[..text.len() - 1]).expect("its beginning is right");
    let request = HostRequest::CatchUp {
        channel: Pattern::exactly(name),
        rate: Rate::Each,
        from: Some(Position { epoch: Some(epoch), seq: prev }),
        why: "resume",
        bytes_max: 1 << 30,
        with_hash: false,
    };
    let HostResponse::CatchUp(first) = hub.answer(&request) else { panic!("it is open") };
    assert_eq!((first.to, first.frames.len()), (prev, 0));
    assert!(matches!(resumed(&mut hub, name.as_str(), epoch, prev).0, Verdict::Refused(_)));
}

#[test]
fn other_epochs_begin_without_tails() {
    let mut hub = with_tails(&shared(), |_| 0);
    let before = channels(&mut hub);
    let epochs = Epochs { matches: Epoch(70), feeds: Epoch(80) };
    let mut changes = Vec::new();
    hub.take(&HubInput::BeginEpochs { epochs }, &mut changes);
    assert_eq!(changes.len(), before.len(), "each channel opens again");
    let after = channels(&mut hub);
    assert_eq!(before.len(), after.len());
    for (_, name, epoch) in after {
        let is_of_feeds = ["feeds", "signals"].contains(&&*name);
        assert_eq!(epoch, Epoch(if is_of_feeds { 80 } else { 70 }), "{name}");
        let head = hub.image_of(&name).expect("it is open").seq;
        assert_eq!(resumed(&mut hub, &name, epoch, head).0, Verdict::Resumed);
        assert!(matches!(resumed(&mut hub, &name, Epoch(7), head).0, Verdict::Refused(_)));
        if head > 0 {
            assert!(matches!(resumed(&mut hub, &name, epoch, head - 1).0, Verdict::Refused(_)));
        }
    }
}
