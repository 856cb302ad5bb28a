//! What readers may be shown while the log refuses records.
//!
//! The writer's answers contain the changes that the log refuses. Of channels without such changes they are what the log
//! has too. Of the others the follower has the image as of the end of the log, from which new readers start.

use std::sync::mpsc::RecvTimeoutError;

use fanout::{
    Change, ChannelId,
    catch_up::{CatchUp, CatchUpFrame, HostResponse, Located, Verdict},
};
use rustc_hash::FxHashSet;

use crate::{
    catch_up::{ChannelImage, document_hash},
    hub::Hub,
    turn::Turn,
};

/// Changes that the log does not have yet.
#[derive(Debug, Default)]
pub(super) struct UnloggedChanges {
    changed: FxHashSet<ChannelId>,
    opened: FxHashSet<ChannelId>,
    has_closed: bool,
}

impl UnloggedChanges {
    pub(super) fn add(&mut self, turn: &Turn) {
        for change in &turn.changes {
            let channel = match change {
                Change::Published(_, publication) => &publication.channel,
                Change::Opened(image) => &image.channel,
                Change::Closed(channel) => channel,
            };
            self.changed.insert(channel.name.clone());
            self.opened.extend(matches!(change, Change::Opened(_)).then(|| channel.name.clone()));
            self.has_closed |= matches!(change, Change::Closed(_));
        }
    }

    /// Whether this channel has changes that the log does not have.
    pub(super) fn has(&self, channel: &ChannelId) -> bool {
        self.changed.contains(channel)
    }

    /// The response without these changes; if there is none, the response as it is as an error. `image_of`: the image of a
    /// channel at the end of the log.
    pub(super) fn response(
        &self,
        response: HostResponse,
        image_of: impl Fn(&ChannelId) -> Result<Option<ChannelImage>, RecvTimeoutError>,
    ) -> Result<HostResponse, HostResponse> {
        match response {
            // Frames of the older sockets are rendered from other channels.
            HostResponse::CatchUp(start) if !Hub::is_legacy(start.channel.name.as_str()) => {
                if !self.has(&start.channel.name) {
                    return Ok(HostResponse::CatchUp(start));
                }
                // A reader that resumes has a document already. One at a rate would miss the change, which is not
                // published at rates that nobody had when it was made.
                let wants_image = start.verdict != Verdict::Resumed && start.lease.is_none();
                match image_of(&start.channel.name) {
                    Ok(Some(image)) if wants_image && image.epoch == start.channel.epoch => {
                        let ChannelImage { seq, frame, .. } = image;
                        let hash = start.hash.as_ref().map(|_| document_hash(frame.clone()));
                        let frames = vec![CatchUpFrame { frame, to: seq }];
                        let start = CatchUp { head: seq, frames, to: seq, hash, ..start };
                        Ok(HostResponse::CatchUp(start))
                    }
                    Ok(None) => Ok(HostResponse::NotTracked),
                    _ => Err(HostResponse::CatchUp(start)),
                }
            }
            // Other responses do not say which channels they lack.
            response if self.has_closed => Err(response),
            HostResponse::Located(mut located) => {
                for entry in &mut located {
                    let changed = entry.as_mut().filter(|it| self.has(&it.channel.name));
                    let Some(Located { channel, head, .. }) = changed else { continue };
                    match image_of(&channel.name) {
                        Ok(Some(image)) if image.epoch == channel.epoch => *head = image.seq,
                        Ok(None) => *entry = None,
                        _ => return Err(HostResponse::Located(located)),
                    }
                }
                Ok(HostResponse::Located(located))
            }
            HostResponse::Channels(mut channels) => {
                channels.retain(|channel| !self.opened.contains(&channel.name));
                Ok(HostResponse::Channels(channels))
            }
            HostResponse::NotTracked | HostResponse::UnknownCompanion => Ok(response),
            HostResponse::CatchUp(_) | HostResponse::GroupStarted(..) => Err(response),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use fanout::{
        Classes, Epoch, Publication,
        channel::{Channel, ChannelInfo, Rate},
        encode::text_frame,
    };

    use super::*;

    const EPOCH: Epoch = Epoch(7);

    /// The last change of each channel that the log has, and the one after it.
    const LOGGED: u64 = 4;
    const UNLOGGED: u64 = 5;

    fn channel(name: &str) -> Channel {
        let name = ChannelId::new(name);
        let needs = Classes::NONE;
        Channel::from(ChannelInfo { number: 1, name, epoch: EPOCH, deliver_last: false, needs })
    }

    fn publication(name: &str) -> Arc<Publication> {
        Arc::new(Publication::with_frame(channel(name), LOGGED, UNLOGGED, Bytes::new()))
    }

    fn frame(seq: u64) -> Bytes {
        text_frame(|out| out.extend(format!(r#"{{"data":{{"seq":{seq}}}}}"#).bytes()))
    }

    fn turn(changes: impl Into<Vec<Change>>) -> Turn {
        Turn { at: 1, inputs: Vec::new(), changes: changes.into() }
    }

    /// `changed` has changed, and `opened` has opened.
    fn unlogged() -> UnloggedChanges {
        let mut unlogged = UnloggedChanges::default();
        let changed = Change::Published(Rate::Each, publication("changed"));
        unlogged.add(&turn([changed, Change::Opened(publication("opened"))]));
        unlogged
    }

    /// The answer of the writer, which has the change that the log refuses.
    fn caught_up(name: &str, verdict: Verdict) -> HostResponse {
        HostResponse::CatchUp(CatchUp {
            channel: channel(name),
            head: UNLOGGED,
            verdict,
            frames: vec![CatchUpFrame { frame: frame(UNLOGGED), to: UNLOGGED }],
            to: UNLOGGED,
            lease: None,
            hash: Some(document_hash(frame(UNLOGGED))),
        })
    }

    fn located(name: &str) -> Option<Located> {
        Some(Located { channel: channel(name), head: UNLOGGED, verdict: Verdict::Fresh })
    }

    fn image_of(name: &ChannelId) -> Result<Option<ChannelImage>, RecvTimeoutError> {
        let image = ChannelImage { epoch: EPOCH, seq: LOGGED, frame: frame(LOGGED) };
        Ok((name.as_str() != "opened").then_some(image))
    }

    /// The head of a channel in the response; `None` if the response must wait.
    fn head(unlogged: &UnloggedChanges, response: HostResponse) -> Option<u64> {
        match unlogged.response(response, image_of).ok()? {
            HostResponse::CatchUp(caught_up) => {
                let frames: Vec<&Bytes> = caught_up.frames.iter().map(|it| &it.frame).collect();
                assert_eq!(frames, [&frame(caught_up.head)]);
                assert_eq!(caught_up.to, caught_up.head);
                let hash = caught_up.hash.expect("it was requested");
                assert_eq!(hash.whole(), document_hash(frame(caught_up.head)).whole());
                Some(caught_up.head)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reader_starts_with_the_last_logged_image_while_the_log_refuses_records() {
        let unlogged = unlogged();
        for verdict in [Verdict::Fresh, Verdict::Refused(fanout::catch_up::Gap::Window)] {
            assert_eq!(head(&unlogged, caught_up("changed", verdict)), Some(LOGGED));
        }
        assert_eq!(head(&unlogged, caught_up("other", Verdict::Fresh)), Some(UNLOGGED));
        assert_eq!(head(&unlogged, caught_up("other", Verdict::Resumed)), Some(UNLOGGED));
        // It would get the refused change.
        assert_eq!(head(&unlogged, caught_up("changed", Verdict::Resumed)), None);
        let opened = unlogged.response(caught_up("opened", Verdict::Fresh), image_of);
        assert!(matches!(opened, Ok(HostResponse::NotTracked)), "{opened:?}");
    }

    #[test]
    fn no_response_has_a_channel_or_a_head_that_is_not_logged() {
        let mut unlogged = unlogged();
        let names = || ["changed", "other", "opened"];
        let channels = || HostResponse::Channels(names().map(channel).into());
        let of_batch = || HostResponse::Located(names().map(located).into());
        let Ok(HostResponse::Channels(shown)) = unlogged.response(channels(), image_of) else {
            panic!("it need not wait")
        };
        let shown: Vec<&str> = shown.iter().map(|channel| channel.name.as_str()).collect();
        assert_eq!(shown, ["changed", "other"]);
        let Ok(HostResponse::Located(shown)) = unlogged.response(of_batch(), image_of) else {
            panic!("it need not wait")
        };
        let heads: Vec<Option<u64>> = shown.iter().map(|it| Some(it.as_ref()?.head)).collect();
        assert_eq!(heads, [Some(LOGGED), Some(UNLOGGED), None]);
        // The log still has a channel that is missing in the response.
        unlogged.add(&turn([Change::Closed(channel("closed"))]));
        for response in [channels(), of_batch(), HostResponse::NotTracked] {
            assert!(unlogged.response(response, image_of).is_err());
        }
        assert_eq!(head(&unlogged, caught_up("changed", Verdict::Fresh)), Some(LOGGED));
    }

    #[test]
    fn reader_waits_if_the_follower_does_not_respond() {
        let late = |_: &ChannelId| Err(RecvTimeoutError::Timeout);
        let response = unlogged().response(caught_up("changed", Verdict::Fresh), late);
        assert!(matches!(response, Err(HostResponse::CatchUp(_))), "{response:?}");
    }
}
