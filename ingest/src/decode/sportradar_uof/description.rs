//! The descriptions of markets, as the REST interface returns them.

use super::{
    Element,
    message::{ITEMS_MAX, Notices},
    value::id,
};

/// The names of a market and its outcomes. They are templates: see [`crate::normalize::sportradar_uof`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarketDescription {
    pub id: String,
    /// `{!goalnr} goal`.
    pub name: String,
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
        ("market_descriptions", "market") if descriptions.len() < ITEMS_MAX => {
            if let Some(id) = id(element, notices) {
                descriptions.push(MarketDescription { id, name: name(), outcomes: Vec::new() });
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
