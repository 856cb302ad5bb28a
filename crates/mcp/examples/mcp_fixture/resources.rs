//! Resources, and a template of more.

use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use serde_json::json;

use crate::content::{PIXEL, PNG};

/// The resources, in the order of the list. A scenario reads the first.
pub(crate) fn all() -> Vec<Resource> {
    vec![
        Resource::new("test://static-text", "static-text")
            .with_description("A text that never changes")
            .with_mime_type("text/plain"),
        Resource::new("test://static-binary", "static-binary")
            .with_description("An image that never changes")
            .with_mime_type(PNG),
        Resource::new("test://watched-resource", "watched-resource")
            .with_description("A text to which clients subscribe")
            .with_mime_type("text/plain"),
    ]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "template")
            .with_description("The data of an id")
            .with_mime_type("application/json"),
    ]
}

/// Reads a resource.
///
/// # Errors
///
/// If there is none with that URI.
pub(crate) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let contents = match uri {
        "test://static-text" => {
            ResourceContents::text("This is the content of the static text resource.", uri)
        }
        "test://static-binary" => ResourceContents::blob(PIXEL, uri).with_mime_type(PNG),
        "test://watched-resource" => ResourceContents::text("Watched resource content.", uri),
        _ => {
            let id = template_id(uri).ok_or_else(|| {
                ErrorData::resource_not_found("resource not found", Some(json!({ "uri": uri })))
            })?;
            let data = json!({
                "id": id,
                "templateTest": true,
                "data": format!("Data for ID: {id}"),
            });
            ResourceContents::text(data.to_string(), uri).with_mime_type("application/json")
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// The id in a URI of the template: one part of the path, and not empty.
fn template_id(uri: &str) -> Option<&str> {
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}
