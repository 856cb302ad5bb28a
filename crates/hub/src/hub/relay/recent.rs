//! The latest frames of a match, for readers that join later.

use std::collections::VecDeque;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::Ball;
use fanout::Micros;

use crate::{
    dialect::live::football::{self, BallMove, MatchTime},
    document::Object,
    hub::state::{Match, Play},
};

/// Maximum number of frames of each kind.
const FRAMES_MAX: usize = 30;

/// Created with the first frame, and stored as long as the match.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct RecentFrames {
    balls: u32,
    livedata: VecDeque<BallMove>,
    /// Football: `action` frames; tennis: `score` frames.
    frames: VecDeque<Object>,
}

impl RecentFrames {
    /// Records a position of the ball.
    pub(super) fn moved(&mut self, at: Micros, time: MatchTime, ball: Ball) -> BallMove {
        self.balls = self.balls.saturating_add(1);
        let moved = BallMove { at, time, ball, number: self.balls };
        keep(&mut self.livedata, moved);
        moved
    }

    /// Records a frame of an event.
    pub(super) fn note(&mut self, frame: &Object) {
        keep(&mut self.frames, frame.clone());
    }

    /// `livedata` of a snapshot, oldest first.
    pub(super) fn livedata(&self, state: &Match) -> Vec<Object> {
        match &state.play {
            Play::Football(_) => {
                let all = self.livedata.iter();
                all.map(|it| football::livedata(state, it.at, it.time, Some(it))).collect()
            }
            Play::Tennis(_) => self.frames.iter().cloned().collect(),
            Play::Scoreboard(_) | Play::Race(_) | Play::None => Vec::new(),
        }
    }

    /// `history` of a snapshot, oldest first.
    pub(super) fn history(&self, state: &Match) -> Vec<Object> {
        if state.is_full() { self.frames.iter().cloned().collect() } else { Vec::new() }
    }
}

fn keep<T>(all: &mut VecDeque<T>, one: T) {
    if all.len() == FRAMES_MAX {
        all.pop_front();
    }
    all.push_back(one);
}
