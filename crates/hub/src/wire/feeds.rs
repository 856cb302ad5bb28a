//! The health of each source: the `feeds` channel.

use super::{
    DocumentHeader,
    values::{self, Map, Text, Timestamp},
};
use crate::{document::Object, hub::feeds};

wire! {
    /// The health of each source: the document of `feeds`.
    document Feeds {
        #[schemars(flatten)] header: @shared DocumentHeader,
        /// The sources by name: `simulator`, a live or pushing source's own name, or the format and file of a recording.
        sources: Map<Source>,
    }

    /// The health of a source.
    document Source {
        /// The state of the source.
        state: values::FeedState,
        /// `simulator`, `steady`, `push`, or the format of a live source or a recording.
        kind: Text,
        /// When its last message was received.
        last: Option<Timestamp>,
        /// Applied messages.
        messages: u64,
        /// Price changes in them: rungs of ladders and last traded prices.
        price_changes: u64,
        /// Messages, or parts of them, that were rejected.
        quarantined: u64,
        /// Whether a recording has been played to its end.
        ended: bool,
        /// Why it is not `live`, for people.
        why: Option<Text>,
        /// When it entered this state.
        since: Option<Timestamp>,
    }
}

/// A complete source. In a patch, absent values are deleted.
pub fn source(sources: &mut Object, source: &feeds::Source, patch: bool) {
    let out = sources.object(&source.name);
    if !patch {
        *out = Object::default();
    }
    out.put(Source::state(), source.state);
    out.put(Source::kind(), source.kind);
    out.put_optional(Source::why(), source.why.as_ref(), patch);
    out.put_some(Source::since(), source.since);
    out.put_some(Source::last(), source.last);
    out.put(Source::messages(), source.messages);
    out.put(Source::price_changes(), source.price_changes);
    out.put(Source::quarantined(), source.quarantined);
    out.put(Source::ended(), source.ended);
}
