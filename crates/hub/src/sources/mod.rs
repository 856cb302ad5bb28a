//! The sources of the hub: playback of recordings and the simulator, and live feeds.

pub mod follow;
pub mod live;
mod player;
pub mod positions;
mod speed;
pub mod states;

pub use self::{
    player::{
        InterruptError, Interruption, InterruptionKind, Playback, PlaybackControl, PlaybackHandle,
        PlaybackOrders, PlaybackPace, Stopped,
    },
    speed::{Speed, WrongSpeed},
};
