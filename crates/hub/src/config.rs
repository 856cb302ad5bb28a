//! The settings of the hub.

mod sections;
mod signals;

pub use self::{
    sections::{FeedsConfig, HubConfig, IngestConfig},
    signals::SignalsConfig,
};
