//! The settings of the archive, the predictions and the tables.

mod archive;
pub mod competitions;
mod predictions;

pub use self::{
    archive::ArchiveConfig,
    competitions::{CompetitionConfig, CompetitionsConfig, Deduction},
    predictions::PredictionsConfig,
};
