//! The settings of what is kept.

mod archive;
mod predictions;

pub use self::{archive::ArchiveConfig, predictions::PredictionsConfig};
