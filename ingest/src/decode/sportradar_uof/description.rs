//! The descriptions of markets, as the REST interface returns them.

use super::{
    Element,
    message::{ITEMS_MAX, Notices},
    value::id,
};

/// The names of a market and its outcomes. They are templates: see [`crate::normalize::sportradar_uof`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarketDescription {
    /// Empty if the document has none, or too many.
    pub id: String,
    /// `{!goalnr} goal`.
    pub name: String,
    /// `all|score|regular_play`: which bet stops are about it.
    pub groups: String,
    /// Ids and names: `{$competitor1}`.
    pub outcomes: Vec<(String, String)>,
}

/// Adds an element of the document to what was read so far.
pub(super) fn read(
    descriptions: &mut Vec<MarketDescription>,
    parent: &str,
    element: &Element,
    notices: &mut Notices,
) {
    let name = || element.get("name").unwrap_or_default().to_owned();
    match (parent, element.name.as_str()) {
        ("market_descriptions", "market") => {
            let id = (descriptions.len() < ITEMS_MAX).then(|| id(element, notices)).flatten();
            // One without an id takes the outcomes that follow, which are not those of the market before.
            if id.is_some() || descriptions.last().is_none_or(|last| !last.id.is_empty()) {
                let (id, name) = (id.unwrap_or_default(), name());
                let groups = element.get("groups").unwrap_or_default().to_owned();
                descriptions.push(MarketDescription { id, name, groups, outcomes: Vec::new() });
            }
        }
        ("outcomes", "outcome") => {
            if let Some(description) = descriptions.last_mut()
                && description.outcomes.len() < ITEMS_MAX
                && let Some(id) = id(element, notices)
            {
                description.outcomes.push((id, name()));
            }
        }
        _ => {}
    }
}
