//! How followers of one channel get its frames: whole or in part, as they are or compressed.
//!
//! Followers with the same view share one encoding in each shard.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;

use crate::{
    catch_up::CatchUpFrame,
    channel::{Publication, Seq},
    deflate::Deflater,
    encode::{deflated_text_frame, payload, text_frame},
    pick::Pick,
};

/// A form in which followers get the frames of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    /// The part that they pick; `None`: everything.
    pub(crate) pick: Option<Arc<Pick>>,
    /// Their connections take compressed frames (RFC 7692).
    pub(crate) deflates: bool,
}

/// Renders frames for views. Each shard has one.
#[derive(Debug, Default)]
pub struct Renderer {
    deflater: Option<Box<Deflater>>,
    /// The last frames that caught readers up, as they were rendered: after a loss of the network, many readers need the
    /// same ones.
    recent: VecDeque<RecentFrame>,
    recent_bytes: usize,
}

#[derive(Debug)]
struct RecentFrame {
    view: View,
    frame: Bytes,
    prev: Option<Seq>,
    keep: bool,
    rendered: Option<Bytes>,
}

/// What [`Renderer`] keeps of recent frames.
const RECENT_FRAMES_MAX: usize = 64;
const RECENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Smaller payloads are sent as they are: little would be saved.
const DEFLATE_FROM_BYTES: usize = 512;

impl View {
    /// Whether frames are sent as the host renders them.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.pick.is_none() && !self.deflates
    }
}

impl Renderer {
    /// A publication for the followers of a view, whose last frame led to `prev`; `None` if it changes nothing of what
    /// they pick, unless it is to be kept.
    pub(crate) fn publication(
        &mut self,
        view: &View,
        publication: &Publication,
        prev: Seq,
        keep: bool,
    ) -> Option<Bytes> {
        match &view.pick {
            None => Some(publication.deflated(|frame| self.deflate(frame)).clone()),
            Some(pick) => {
                let payload = payload(publication.frame());
                let selected = pick.select(&payload, Some(prev), keep)?;
                Some(self.finish(view, &selected))
            }
        }
    }

    /// Frames of the host that lead a reader on from `from`, for its view. The last one stays even if nothing of it is
    /// selected, so that the reader knows how far it has come.
    pub(crate) fn catch_up(
        &mut self,
        view: &View,
        frames: Vec<CatchUpFrame>,
        from: Option<Seq>,
    ) -> Vec<CatchUpFrame> {
        if view.is_plain() {
            return frames;
        }
        let last = frames.len().saturating_sub(1);
        let mut prev = from;
        let mut rendered = Vec::with_capacity(frames.len());
        for (at, CatchUpFrame { frame, to }) in frames.into_iter().enumerate() {
            if let Some(frame) = self.frame(view, frame, prev, at == last) {
                rendered.push(CatchUpFrame { frame, to });
                prev = Some(to);
            }
        }
        rendered
    }

    /// One frame of the host, for a view.
    pub(crate) fn frame(
        &mut self,
        view: &View,
        frame: Bytes,
        prev: Option<Seq>,
        keep: bool,
    ) -> Option<Bytes> {
        if view.is_plain() {
            return Some(frame);
        }
        let is_it = |recent: &&RecentFrame| {
            let is_same =
                recent.frame.as_ptr() == frame.as_ptr() && recent.frame.len() == frame.len();
            is_same && (recent.prev, recent.keep) == (prev, keep) && recent.view == *view
        };
        if let Some(recent) = self.recent.iter().find(is_it) {
            return recent.rendered.clone();
        }
        let rendered = match &view.pick {
            None => Some(self.deflate(&frame)),
            Some(pick) => pick
                .select(&payload(&frame), prev, keep)
                .map(|selected| self.finish(view, &selected)),
        };
        self.remember(RecentFrame {
            view: view.clone(),
            frame,
            prev,
            keep,
            rendered: rendered.clone(),
        });
        rendered
    }

    fn finish(&mut self, view: &View, payload: &[u8]) -> Bytes {
        let frame = text_frame(|out| out.extend_from_slice(payload));
        if view.deflates { self.deflate(&frame) } else { frame }
    }

    fn remember(&mut self, recent: RecentFrame) {
        self.recent_bytes += recent.bytes();
        self.recent.push_back(recent);
        while self.recent.len() > RECENT_FRAMES_MAX || self.recent_bytes > RECENT_BYTES_MAX {
            let oldest = self.recent.pop_front().expect("there is at least one");
            self.recent_bytes -= oldest.bytes();
        }
    }

    /// The frame with its payload compressed, unless that saves nothing.
    fn deflate(&mut self, frame: &Bytes) -> Bytes {
        let payload = payload(frame);
        if payload.len() < DEFLATE_FROM_BYTES {
            return frame.clone();
        }
        let deflated = self.deflater.get_or_insert_default().deflate(&payload);
        if deflated.len() < payload.len() { deflated_text_frame(deflated) } else { frame.clone() }
    }
}

impl RecentFrame {
    fn bytes(&self) -> usize {
        self.frame.len() + self.rendered.as_ref().map_or(0, Bytes::len)
    }
}
