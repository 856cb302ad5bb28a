//! The settings of the hub and its sources.

mod sections;
mod signals;
pub mod sources;

pub use self::{
    sections::{FeedsConfig, HubConfig, IngestConfig},
    signals::SignalsConfig,
};
