//! The sources that play recordings and the simulator, and the history of the states of all sources.

mod player;
mod speed;
pub mod states;

pub use self::{
    player::{
        InterruptError, Interruption, InterruptionKind, Playback, PlaybackControl, PlaybackHandle,
        PlaybackOrders, PlaybackPace, Stopped,
    },
    speed::{Speed, WrongSpeed},
};
