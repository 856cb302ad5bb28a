//! Stats Perform: a match event by event (MA3), with the names and passes that its summary (MA1)
//! adds; or the summary alone; or a list of either, match by match.

use std::{collections::VecDeque, io, path::Path, sync::Arc};

use super::{
    Format, OpenError, Opening, Step, content,
    events::{self, EventFeed},
    refused, stem,
};
use crate::{
    decode::statsperform::{self, Document},
    normalize::statsperform::{Normalizer, Summary},
};

/// The matches of a file that are left to be played.
pub(super) struct StatsPerformFeed(VecDeque<MatchFeed>);

enum MatchFeed {
    Events(EventFeed<Normalizer>),
    Summary(EventFeed<Summary>),
}

impl StatsPerformFeed {
    /// `is_summary`: the file has no events.
    pub(super) fn open(opening: &mut Opening<'_>, is_summary: bool) -> Result<Self, OpenError> {
        let whole = opening.document()?;
        let documents = statsperform::decode_all(&whole.bytes);
        let last = documents.len().saturating_sub(1);
        let is_list = last > 0;
        let is_xml = statsperform::is_xml(&whole.bytes);
        let (mut matches, mut last_error) = (VecDeque::new(), None);
        for (index, document) in documents.into_iter().enumerate() {
            // The documents of a list before the cut are whole.
            let cut = whole.cut.as_ref().filter(|_| index == last);
            let is_summary = is_summary || (is_list && !document.moments.is_empty());
            let is_summary = is_summary && document.events.is_empty();
            match open(opening, cut, is_xml, document, is_summary) {
                Ok(feed) => matches.push_back(feed),
                Err(OpenError::Unusable { source, .. }) if is_list => {
                    let file = opening.file();
                    opening.steps.push_back(refused(source.clone(), &file, 0, &[]));
                    last_error = Some(opening.unusable(source));
                }
                Err(error) => return Err(error),
            }
        }
        match last_error {
            Some(error) if matches.is_empty() => Err(error),
            _ if matches.is_empty() => Err(events::no_events(opening, None)),
            _ => Ok(Self(matches)),
        }
    }

    /// Plays the next event, or the end of a match; `false` after that.
    pub(super) fn read(&mut self, steps: &mut VecDeque<Step>) -> bool {
        while let Some(feed) = self.0.front_mut() {
            let read = match feed {
                MatchFeed::Events(feed) => feed.read(steps),
                MatchFeed::Summary(feed) => feed.read(steps),
            };
            if read {
                return true;
            }
            self.0.pop_front();
        }
        false
    }
}

fn open(
    opening: &mut Opening<'_>,
    cut: Option<&io::Error>,
    is_xml: bool,
    document: Document,
    is_summary: bool,
) -> Result<MatchFeed, OpenError> {
    if is_summary {
        let normalizer = Summary::new(&document);
        let Document { moments, broken, .. } = document;
        return EventFeed::new(opening, cut, moments, broken, normalizer).map(MatchFeed::Summary);
    }
    if document.events.is_empty() {
        return Err(events::no_events(opening, document.broken));
    }
    let end = if is_xml { "xml" } else { "json" };
    let summary = summary(opening, &document, end);
    let normalizer = Normalizer::new(&document, summary.as_ref());
    let Document { events, broken, .. } = document;
    EventFeed::new(opening, cut, events, broken, normalizer).map(MatchFeed::Events)
}

/// The provider's id of the match that a file is about, if its beginning says it.
pub(super) fn match_key(path: &Path) -> Option<Arc<str>> {
    statsperform::decode(&content::head(path).ok()?).info.map(|info| info.id)
}

/// The summary of the same match, named by the user or next to it: `X.ma1.json` goes with
/// `X.ma3.json`, and `X.ma1.xml` with `X.ma3.xml`.
fn summary(opening: &mut Opening<'_>, document: &Document, end: &str) -> Option<Document> {
    let key = document.info.as_ref().map(|info| info.id.clone());
    let companion = format!("{}.ma1.{end}", stem(opening.path));
    let read = |bytes: &[u8]| Ok(statsperform::decode_all(bytes));
    let of_match = |document: &Document| {
        document.info.as_ref().is_some_and(|info| key.as_ref().is_none_or(|key| *key == info.id))
    };
    opening.companions(Format::StatsPerform, &companion, read).flatten().find(of_match)
}
