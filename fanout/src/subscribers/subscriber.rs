//! One of the audience: its outbox, its session, its socket, and how it is getting on.

use std::mem;

use bytes::Buf;

use crate::{
    Micros,
    outbox::{Of, Outbox},
    run::{Run, Set},
    session::Session,
};

/// One connection, as far as publications are concerned.
#[derive(Debug)]
pub struct Member<S> {
    /// The topics of the run that it has been found to follow.
    pub(super) set: Set,
    /// The socket took no more when it was last written to, and has not said since that it would.
    pub(super) blocked: bool,
    /// Noted as ready.
    pub(super) noted: bool,
    /// No command is taken until its outbox has room again.
    pub(super) held: bool,
    pub outbox: Outbox,
    pub session: Session,
    pub sink: S,
    /// When the socket last took a part of what waited for it.
    pub(super) progressed: Micros,
}

impl<S> Member<S> {
    /// Whether it can be written to directly.
    pub(super) fn keeps_up(&self) -> bool {
        self.outbox.is_empty() && !self.session.is_behind()
    }

    /// Queues what the socket did not take of a run's frames.
    pub(super) fn keep_rest(
        &mut self,
        run: &Run,
        frames: &[usize],
        mut written: usize,
        now: Micros,
    ) {
        for place in frames {
            let frame = run.frame(*place);
            let mut bytes = frame.bytes.clone();
            if written >= bytes.len() {
                written -= bytes.len();
                self.outbox.passed(1);
                continue;
            }
            if written > 0 {
                bytes.advance(mem::take(&mut written));
                self.outbox.begin(bytes, now);
            } else {
                let publication = &frame.publication;
                let of = Of { channel: publication.channel.number, before: Some(publication.prev) };
                self.outbox.add(bytes, Some(of), now);
            }
        }
    }

    /// For how long the socket has taken nothing of what waits for it, in microseconds.
    #[must_use]
    pub fn stalled(&self, now: Micros) -> Micros {
        if self.blocked { (now - self.progressed).min(self.outbox.age(now)) } else { 0 }
    }

    /// Whether it does not get things as they come.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        !self.keeps_up()
    }
}
