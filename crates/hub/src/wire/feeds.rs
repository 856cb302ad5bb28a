//! The health of each source: the `feeds` channel.

use crate::{
    document::Object,
    hub::feeds::{FeedState, Source},
};

/// A complete source. In a patch, absent values are deleted.
pub fn source(sources: &mut Object, source: &Source, patch: bool) {
    let out = sources.object(&source.name);
    if !patch {
        *out = Object::default();
    }
    out.set("state", source.state.as_str());
    out.set("kind", source.kind);
    if patch {
        out.set_or_null("why", source.why.as_ref());
    } else {
        out.set_some("why", source.why.as_ref());
    }
    out.set_some("since", source.since);
    out.set_some("last", source.last);
    out.set("messages", source.messages);
    out.set("price_changes", source.price_changes);
    out.set("quarantined", source.quarantined);
    out.set("ended", source.ended);
}

impl FeedState {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Late => "late",
            Self::Down => "down",
            Self::Recovering => "recovering",
        }
    }
}
