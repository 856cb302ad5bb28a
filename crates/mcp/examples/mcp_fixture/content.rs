//! The samples that tools, resources and prompts share.

use rmcp::model::{ContentBlock, ResourceContents};

pub(crate) const PNG: &str = "image/png";

/// One red pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

/// Two milliseconds of silence.
const SILENCE: &str =
    "UklGRjQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YRAAAACAgICAgICAgICAgICAgICA";

pub(crate) fn image() -> ContentBlock {
    ContentBlock::image(PIXEL, PNG)
}

pub(crate) fn audio() -> ContentBlock {
    ContentBlock::audio(SILENCE, "audio/wav")
}

pub(crate) fn resource(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime_type))
}
