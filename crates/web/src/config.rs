//! The settings of everything HTTP, and of the sockets.

mod fanout;
mod images;
mod server;

pub use self::{
    fanout::FanoutConfig,
    images::ImagesConfig,
    server::{AcmeConfig, ServerConfig, TlsConfig},
};
