use proptest::prelude::*;

use super::*;
use crate::channel::Epoch;

const BUDGET: Budget = Budget { bytes: 100, frame_bytes: 0, age_us: 1000 };

fn origin(channel: u32, before: Seq) -> FrameOrigin {
    FrameOrigin { channel, before: Some(position(before)), is_resync: false }
}

fn position(seq: Seq) -> Position {
    Position { epoch: Some(Epoch(7)), seq }
}

/// Writes this many bytes, then blocks. Returns what was written.
fn take(outbox: &mut Outbox, mut bytes: usize) -> Vec<u8> {
    let mut sent = Vec::new();
    let written = outbox.write(usize::MAX, |slices| {
        let all: Vec<u8> = slices.iter().flat_map(|s| s.iter().copied()).collect();
        let count = bytes.min(all.len());
        bytes -= count;
        sent.extend_from_slice(&all[..count]);
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    });
    written.expect("only blocks");
    sent
}

proptest! {
    /// However little a socket accepts at a time, the bytes come out complete and in order, and the
    /// queue never exceeds its budget by more than one frame.
    #[test]
    fn bytes_come_out_in_order(
        frames in prop::collection::vec(1_usize..40, 0..60),
        takes in prop::collection::vec(0_usize..50, 1..60),
    ) {
        let mut outbox = Outbox::default();
        let (mut sent, mut accepted) = (Vec::new(), Vec::new());
        let mut takes = takes.into_iter().cycle();
        for (number, length) in frames.into_iter().enumerate() {
            let frame = vec![u8::try_from(number).expect("few frames"); length];
            if outbox.push(Bytes::from(frame.clone()), origin(1, 0), BUDGET, 0).is_ok() {
                accepted.extend(frame);
            }
            prop_assert!(outbox.bytes() <= 140);
            sent.extend(take(&mut outbox, takes.next().expect("a cycle has no end")));
        }
        sent.extend(take(&mut outbox, usize::MAX));
        prop_assert_eq!(sent, accepted);
    }

    /// Partly written frames are not withdrawn, frames that go first split no other frame, and
    /// everything else comes out complete and in order.
    #[test]
    fn priority_frames_never_split_a_frame(
        steps in prop::collection::vec((0_u32..3, 1_usize..20, 0_usize..40), 1..60),
    ) {
        let mut outbox = Outbox::default();
        let mut sent = Vec::new();
        for (number, (channel, length, taken)) in steps.into_iter().enumerate() {
            let mark = u8::try_from(number).expect("few frames");
            // A frame is its length and so many marks.
            let mut frame = vec![mark; length + 1];
            frame[0] = u8::try_from(length).expect("short frames");
            let frame = Bytes::from(frame);
            if length % 3 == 0 {
                outbox.push_replay(frame, 1);
                if taken % 7 == 0 {
                    outbox.withdraw_replay(1);
                }
            } else if channel == 0 {
                let before = outbox.bytes();
                let position = outbox.withdraw(1, true);
                prop_assert_eq!(position.is_some(), outbox.bytes() < before);
                outbox.add_first(9, vec![(frame, None)], 0);
            } else {
                outbox.add(frame, Some(origin(channel, number as u64)), 0);
            }
            sent.extend(take(&mut outbox, taken));
        }
        sent.extend(take(&mut outbox, usize::MAX));
        prop_assert_eq!((outbox.bytes(), outbox.is_empty()), (0, true));
        let mut rest = &sent[..];
        while let Some((length, after)) = rest.split_first() {
            let (marks, after) = after.split_at(usize::from(*length));
            prop_assert!(marks.windows(2).all(|pair| pair[0] == pair[1]), "a frame was split");
            rest = after;
        }
    }
}

#[test]
fn live_frames_go_before_replays_but_split_none_of_their_frames() {
    let mut outbox = Outbox::default();
    for mark in [b"aaaa", b"bbbb", b"cccc"] {
        outbox.push_replay(Bytes::from_static(mark), 1);
    }
    outbox.push_replay_end(Bytes::from_static(b"end"), 2);
    let mut sent = take(&mut outbox, 2);
    outbox.add(Bytes::from_static(b"LIVE"), Some(origin(1, 0)), 0);
    assert!(!outbox.allows_direct_writes());
    sent.extend(take(&mut outbox, 4));
    // The first frame of the replay is partly written no longer, but the live one is.
    outbox.withdraw_replay(1);
    outbox.push_reply(Bytes::from_static(b"reply"), 0);
    sent.extend(take(&mut outbox, usize::MAX));
    assert_eq!(str::from_utf8(&sent), Ok("aaaaLIVEreplyend"));
    assert_eq!(outbox.take_delivered(), 2, "neither replies nor ends are data");
    assert_eq!((outbox.is_empty(), outbox.replay_cost(BUDGET)), (true, 0));
}

/// However many frames of replays wait, and for however long, live frames are accepted.
#[test]
fn replays_count_in_neither_cost_nor_age_of_live_frames() {
    let mut outbox = Outbox::default();
    for _ in 0..50 {
        outbox.push_replay(Bytes::from_static(&[0; 10]), 1);
    }
    // Also the one that is partly written.
    take(&mut outbox, 5);
    assert_eq!((outbox.cost(BUDGET), outbox.replay_cost(BUDGET)), (0, 495));
    assert_eq!(outbox.age(5_000), 0);
    for before in 0..10 {
        let frame = Bytes::from_static(&[0; 10]);
        assert_eq!(outbox.push(frame, origin(1, before), BUDGET, 5_000), Ok(()));
    }
    let frame = Bytes::from_static(&[0; 10]);
    assert_eq!(outbox.push(frame, origin(1, 10), BUDGET, 5_000), Err(Full));
    outbox.withdraw_all_replays();
    assert_eq!(outbox.replay_cost(BUDGET), 5, "the rest of the first must be sent");
}

#[test]
fn frame_larger_than_the_budget_passes_when_alone() {
    let mut outbox = Outbox::default();
    assert_eq!(outbox.push(Bytes::from_static(&[0; 500]), origin(1, 0), BUDGET, 0), Ok(()));
    assert_eq!(outbox.push(Bytes::from_static(&[0; 1]), origin(1, 1), BUDGET, 0), Err(Full));
}

/// The queue never uses more memory than the budget allows, however short its frames are.
#[test]
fn short_frames_are_charged_their_real_cost() {
    let budget = Budget { bytes: 64 * 1024, frame_bytes: FRAME_BYTES, age_us: 1000 };
    for length in [0, 2, 100, 5_000] {
        let mut outbox = Outbox::default();
        while !outbox.is_over(budget) {
            outbox.push_reply(crate::encode::pong_frame(&vec![b'x'; length]), 0);
        }
        let queue = outbox.frames.capacity() * size_of::<QueuedFrame>();
        // In addition to its bytes, a short frame has what the allocator adds.
        let payload = outbox.frames.iter().map(|queued| queued.frame.len() + 32);
        let held = queue + payload.sum::<usize>();
        assert!(held <= budget.bytes + length + 512, "{held} bytes held at {length} a frame");
        assert!(held >= budget.bytes / 4, "{held} bytes held at {length} a frame");
        assert!(outbox.push(Bytes::from_static(b"x"), origin(1, 0), budget, 0).is_err());
        take(&mut outbox, usize::MAX);
        assert_eq!((outbox.cost(budget), outbox.frames.capacity()), (0, 0));
    }
}

#[test]
fn budget_limits_age_too() {
    let mut outbox = Outbox::default();
    assert_eq!(outbox.push(Bytes::from_static(&[0; 5]), origin(1, 0), BUDGET, 0), Ok(()));
    assert_eq!(outbox.push(Bytes::from_static(&[0; 5]), origin(1, 1), BUDGET, 1000), Ok(()));
    assert_eq!(outbox.push(Bytes::from_static(&[0; 5]), origin(1, 2), BUDGET, 1001), Err(Full));
}

#[test]
fn withdraw_returns_the_position_before_the_first_removed_frame() {
    let mut outbox = Outbox::default();
    for before in 3..6 {
        outbox.add(Bytes::from_static(&[0; 10]), Some(origin(1, before)), 0);
        outbox.add(Bytes::from_static(&[0; 10]), Some(origin(2, before)), 0);
    }
    // The first frame of channel 1 is partly written, so it stays.
    take(&mut outbox, 1);
    let withdrawn = Withdrawal { before: Some(position(4)), needs_image: false };
    assert_eq!(outbox.withdraw(1, false), Some(withdrawn));
    assert_eq!(outbox.bytes(), 9 + 30);
    assert_eq!(outbox.withdraw(1, false), None);
}

#[test]
fn write_stops_at_its_cap() {
    let mut outbox = Outbox::default();
    for _ in 0..5 {
        outbox.add(Bytes::from_static(&[0; 100]), None, 0);
    }
    let written = outbox.write(150, |slices| Ok(slices[0].len())).expect("no error");
    assert_eq!((written, outbox.bytes()), (WriteOutcome::Cap, 300));
}
