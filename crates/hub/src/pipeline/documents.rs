//! Readers of whole documents. They wait until a channel has reached a sequence, and until a document that takes long to
//! render is due: one rendering serves all who wait for it, and readers cannot occupy the writer.

use std::time::Duration;

use base::work::Payer;
use fanout::{
    ChannelId, Micros, Seq,
    catch_up::{Cost, HostRequest, Requester},
};
use rustc_hash::FxHashMap;
use tokio::sync::oneshot;

use super::waiting::{Reader, ReaderNumber};
use crate::{
    catch_up::{ChannelImage, WorkBudget},
    channels::Subject,
    commit::Answer,
    hub::Hub,
};

/// Maximum readers that wait for a sequence, and those of one payer. Beyond it the oldest is answered with the current
/// image.
const PENDING_MAX: usize = 1024;
const PENDING_MAX_BY_PAYER: usize = 64;

/// Maximum readers that wait until a document is due. Beyond it they are answered at once.
const WAITING_MAX: usize = 100_000;

/// Documents that take no longer than this to render are rendered whenever a reader asks.
const CHEAP: Duration = Duration::from_millis(1);

/// A document that takes longer is not rendered again for so many times as long as it took.
const PAUSES: u32 = 9;

/// Who gets an image, with the processor time that it took.
pub(super) type ImageReply = oneshot::Sender<(Option<ChannelImage>, Duration)>;

/// A reader that waits until a channel has reached a sequence.
pub(super) struct PendingImage {
    pub(super) channel: String,
    pub(super) at_least: Seq,
    /// Until what the log had when it came is here, a channel that is not here may exist. 0: it does not.
    pub(super) number: ReaderNumber,
    pub(super) payer: Payer,
    pub(super) reply: ImageReply,
}

/// What a reader wants.
pub(super) enum DocumentRequest {
    Image { channel: String, reply: ImageReply },
    Response { request: HostRequest, reader: Reader },
}

/// The waiting readers.
pub(super) struct DocumentReaders {
    pending: Vec<PendingImage>,
    /// Documents that took long to render.
    dear: FxHashMap<Subject, DearDocument>,
    waiting: usize,
    /// The processor time of the thread.
    thread_time: fn() -> Duration,
}

struct DearDocument {
    /// When it may be rendered again.
    due: Micros,
    waiting: Vec<DocumentRequest>,
}

impl DocumentReaders {
    pub(super) fn new(thread_time: fn() -> Duration) -> Self {
        Self { pending: Vec::new(), dear: FxHashMap::default(), waiting: 0, thread_time }
    }

    /// Adds a reader. Returns the one that gives up its place, if there are too many.
    pub(super) fn add_pending(&mut self, pending: PendingImage) -> Option<DocumentRequest> {
        self.pending.retain(|pending| !pending.reply.is_closed());
        let payer = pending.payer;
        let of_payer = self.pending.iter().filter(|it| it.payer == payer);
        let oldest = if payer != Payer::Hub && of_payer.count() >= PENDING_MAX_BY_PAYER {
            self.pending.iter().position(|it| it.payer == payer)
        } else {
            (self.pending.len() >= PENDING_MAX).then_some(0)
        };
        let oldest = oldest.map(|index| DocumentRequest::from(self.pending.remove(index)));
        self.pending.push(pending);
        oldest
    }

    /// Takes the readers whose channel has reached their sequence, or does not exist. Renders nothing. `included`: the log's
    /// state when readers up to this one came is here; `None` if this node knows of all channels itself.
    pub(super) fn take_reached(
        &mut self,
        hub: &Hub,
        included: Option<ReaderNumber>,
    ) -> Vec<DocumentRequest> {
        self.pending.retain(|pending| !pending.reply.is_closed());
        let reached = self.pending.extract_if(.., |pending| {
            let waits = match hub.head(&pending.channel) {
                Some(head) => head < pending.at_least,
                // It may have opened on another node.
                None => included.is_some_and(|included| pending.number > included),
            };
            !waits
        });
        reached.map(DocumentRequest::from).collect()
    }

    /// Lets a request wait if it needs a document that is not due. Otherwise it is to be answered now.
    pub(super) fn admit(
        &mut self,
        hub: &Hub,
        request: DocumentRequest,
        now: Micros,
    ) -> Option<DocumentRequest> {
        let Some(subject) = request.renders(hub) else { return Some(request) };
        let Some(document) = self.dear.get_mut(&subject) else { return Some(request) };
        if document.due <= now || self.waiting >= WAITING_MAX {
            return Some(request);
        }
        document.waiting.push(request);
        self.waiting += 1;
        None
    }

    /// When the next document is due that a reader waits for.
    pub(super) fn due(&self) -> Option<Micros> {
        let awaited = self.dear.values().filter(|document| !document.waiting.is_empty());
        awaited.map(|document| document.due).min()
    }

    /// Takes the readers of documents that are due. They are to be answered in one turn: the first one's rendering is that of
    /// all others.
    pub(super) fn take_due(&mut self, now: Micros) -> Vec<DocumentRequest> {
        let due = self.dear.extract_if(|_, document| document.due <= now);
        let due: Vec<DocumentRequest> = due.flat_map(|(_, document)| document.waiting).collect();
        self.waiting -= due.len();
        due
    }

    /// Answers a request within a budget of bytes. Returns what it cost, too.
    pub(super) fn answer(
        &mut self,
        hub: &mut Hub,
        request: DocumentRequest,
        bytes_max: usize,
        now: Micros,
    ) -> (Answer, Cost) {
        let subject = request.renders(hub);
        let begun = (self.thread_time)();
        let mut work = WorkBudget::up_to(bytes_max);
        let used = || (self.thread_time)().saturating_sub(begun);
        let (answer, cost) = match request {
            DocumentRequest::Image { channel, reply } => {
                let image = hub.image_of(&channel);
                let bytes = image.as_ref().filter(|_| subject.is_some());
                let bytes = bytes.map_or(0, |image| image.frame.len());
                let cost = Cost { bytes, used: used() };
                (Answer::Image(ChannelId::new(channel), reply, (image, cost.used)), cost)
            }
            DocumentRequest::Response { request, reader } => {
                let response = hub.answer_within(&request, &mut work);
                let cost = Cost { bytes: work.spent, used: used() };
                (reader.answer(response, cost), cost)
            }
        };
        if let Some(subject) = subject.filter(|_| cost.used > CHEAP) {
            let pause = Micros::try_from((cost.used * PAUSES).as_micros()).unwrap_or(Micros::MAX);
            let new = || DearDocument { due: now, waiting: Vec::new() };
            let document = self.dear.entry(subject).or_insert_with(new);
            // Those who wait are answered when they were to be, whoever else is meanwhile.
            if document.waiting.is_empty() {
                document.due = now.saturating_add(pause);
            }
        }
        (answer, cost)
    }
}

impl From<PendingImage> for DocumentRequest {
    fn from(PendingImage { channel, reply, .. }: PendingImage) -> Self {
        Self::Image { channel, reply }
    }
}

impl DocumentRequest {
    /// The connection that it is for, if any.
    pub(super) fn requester(&self) -> Option<Requester> {
        if let Self::Response { reader, .. } = self { reader.requester() } else { None }
    }

    /// The document that must be rendered for it, if nobody has since its last change.
    fn renders(&self, hub: &Hub) -> Option<Subject> {
        match self {
            Self::Image { channel, .. } => hub.unrendered(channel),
            Self::Response { request, .. } => hub.renders(request),
        }
    }
}

#[cfg(test)]
mod tests;
