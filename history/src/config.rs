//! The settings of the archive and the predictions.

mod archive;
mod predictions;

pub use self::{archive::ArchiveConfig, predictions::PredictionsConfig};
