use std::{io, thread};

use fanout::{
    Classes, Epoch, Publication,
    channel::{Channel, ChannelInfo},
};
use log::{MemoryLog, RecordNumber, memory::Fault};

use super::*;
use crate::{ids::PublicIds, pipeline, push::tests::limits};

const EPOCH: Epoch = Epoch(7);

fn image(seq: u64) -> Option<ChannelImage> {
    Some(ChannelImage { epoch: EPOCH, seq, frame: bytes::Bytes::new() })
}

/// A turn that changes this channel from sequence 4 to 5.
fn turn_of(channel: &ChannelId) -> WriterOutput {
    let (number, name, epoch) = (1, channel.clone(), EPOCH);
    let info = ChannelInfo { number, name, epoch, deliver_last: false, needs: Classes::NONE };
    let publication = Publication::with_frame(Channel::from(info), 4, 5, bytes::Bytes::new());
    let changes = vec![Change::Published(Rate::Each, Arc::new(publication))];
    let turn = Turn { at: 1, inputs: vec![HubInput::Tick { now: 1 }], changes };
    WriterOutput::Turn(WriterTurn { turn, oldest: None, decisions: None, traced: Vec::new() })
}

/// A committer of this log, and the queues to it and from it.
fn committer_of(log: MemoryLog) -> (Committer, SyncSender<WriterOutput>, Receiver<FollowerInput>) {
    let (hub_handle, _) = pipeline::channel(1, 8, PublicIds::default());
    let (queue, follower) = sync_channel(8);
    let (writer, outputs) = sync_channel(8);
    let committer = Committer {
        outputs,
        held: VecDeque::new(),
        log: Box::new(log),
        fanout: Fanout::start(limits(), "test", Box::new(hub_handle)).expect("it starts"),
        watches: ChannelWatches::default(),
        follower: FollowerQueue {
            queue,
            waits: false,
            lag: FollowerLag::default(),
            is_late: Cell::default(),
        },
        withdrawals: Withdrawals::default(),
        state: LogState::default(),
    };
    (committer, writer, follower)
}

#[test]
fn readers_get_what_the_log_has_while_it_refuses_records() {
    let log = MemoryLog::new(1 << 20).expect("it has memory");
    let full = Some(Fault::Storage(io::ErrorKind::StorageFull));
    log.faults().script(vec![full; 100_000]);
    let (committer, writer, follower) = committer_of(log);
    let state = committer.state.clone();
    let [changed, other] = ["changed", "other"].map(ChannelId::new);
    let hand_over = |output| writer.send(output).expect("the committer runs");
    let ask = |channel: &ChannelId| {
        let (reply, answer) = oneshot::channel();
        let answered = (image(5), Duration::ZERO);
        hand_over(WriterOutput::Answers(vec![Answer::Image(channel.clone(), reply, answered)]));
        answer
    };
    let seq = |answer: oneshot::Receiver<(Option<ChannelImage>, Duration)>| {
        Some(answer.blocking_recv().ok()?.0?.seq)
    };
    hand_over(turn_of(&changed));
    // It came before the log refused the turn.
    let early = ask(&other);
    let committer = thread::spawn(move || committer.run());
    assert_eq!(seq(early), Some(5), "nothing of it is refused");
    let (reply, mut pushed) = oneshot::channel();
    hand_over(WriterOutput::Answers(vec![Answer::Pushed(reply, PushAnswer::default())]));
    let late = ask(&changed);
    let Ok(FollowerInput::Image { channel, end, reply }) = follower.recv() else {
        panic!("it asks the follower")
    };
    assert_eq!((channel, end), (changed.clone(), 0));
    reply.send(image(4)).expect("it waits");
    assert_eq!(seq(late), Some(4), "the change is not in the log");
    let refused = ask(&changed);
    drop(follower.recv());
    assert_eq!(seq(refused), None, "the follower has no image");
    assert_eq!(pushed.try_recv(), Err(oneshot::error::TryRecvError::Empty), "it is not logged");
    state.abandon();
    assert_eq!(committer.join().expect("no panic").end().number, 0);
    assert!(follower.try_recv().is_err(), "nothing was committed");
}

#[test]
fn what_was_held_is_committed_and_answered_in_its_order() {
    let log = MemoryLog::new(1 << 20).expect("it has memory");
    log.faults().script([Some(Fault::Storage(io::ErrorKind::StorageFull)), None]);
    let (committer, writer, follower) = committer_of(log);
    let state = committer.state.clone();
    let (reply, mut yielded) = oneshot::channel();
    let channel = ChannelId::new("changed");
    for output in
        [turn_of(&channel), WriterOutput::Answers(vec![Answer::Yielded(reply)]), turn_of(&channel)]
    {
        writer.send(output).expect("there is room");
    }
    drop(writer);
    assert_eq!(committer.run().end().number, 2);
    assert_eq!(yielded.try_recv(), Ok(()));
    let logged: Vec<RecordNumber> = follower
        .try_iter()
        .map(|input| match input {
            FollowerInput::Turn(turn) => turn.record.number,
            image @ FollowerInput::Image { .. } => panic!("{image:?}"),
        })
        .collect();
    assert_eq!(logged, [1, 2]);
    assert!(state.refused_since().is_none(), "the log is written again");
}
