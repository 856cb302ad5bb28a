//! The query layer's view of matches, under the path that handlers import.

pub(super) use history::query::View;
