//! What feeds the hub: recordings and the simulator, played; live feeds, followed; and what is pushed.

pub mod follow;
pub mod live;
mod player;

pub use self::player::{Playback, PlaybackPace, Stopped};
