//! Results of a side before a match.

use crate::rest::Api;
use history::query::{self, View};
use record::{Key, MatchRecord};

pub(super) use history::query::SideMatch;

/// The results of a side before this match, the latest first.
pub(super) fn results(api: &Api, record: &MatchRecord, side: Key) -> Vec<SideMatch> {
    let view = View::now(&api.history, Some(record.summary.sport));
    query::earlier_results(&view, &record.summary, side)
}
