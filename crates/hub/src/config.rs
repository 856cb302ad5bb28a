//! The settings of the hub.

mod hub;
mod signals;

pub use self::{
    hub::{FeedsConfig, HubConfig, IngestConfig},
    signals::SignalsConfig,
};
