//! The pitch, from the side that has the ball.

use facts::event::Situation;

/// Open play, by thirds of the pitch and the depth of the penalty area, which is 16.5 of 105
/// metres. `x` is in tenths of a percent from the own goal line.
pub(in crate::normalize) fn open_play(x: u16) -> Situation {
    match x {
        ..=333 => Situation::Safe,
        334..=666 => Situation::Possession,
        667..=842 => Situation::Attack,
        _ => Situation::Dangerous,
    }
}
