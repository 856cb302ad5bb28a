//! What has happened of late in a match, for those who join later: a few things of each kind.

use std::collections::VecDeque;

use fanout::Micros;
use ingest::event::Ball;

use crate::{
    dialect::live::football::{self, Moved, Time},
    document::Object,
    hub::state::{Match, Play},
};

/// Things kept of each kind.
const KEPT_MAX: usize = 30;

/// Made with the first thing that happens, and kept for as long as the match is known.
#[derive(Debug, Default)]
pub(super) struct Recent {
    balls: u32,
    livedata: VecDeque<Moved>,
    /// Football: `action` frames; tennis: `score` frames.
    told: VecDeque<Object>,
}

impl Recent {
    /// Notes where the ball is now.
    pub(super) fn moved(&mut self, at: Micros, time: Time, ball: Ball) -> Moved {
        self.balls = self.balls.saturating_add(1);
        let moved = Moved { at, time, ball, number: self.balls };
        keep(&mut self.livedata, moved);
        moved
    }

    /// Notes a frame of what happened.
    pub(super) fn note(&mut self, frame: &Object) {
        keep(&mut self.told, frame.clone());
    }

    /// `livedata` of a snapshot, oldest first.
    pub(super) fn livedata(&self, state: &Match) -> Vec<Object> {
        match &state.play {
            Play::Football(_) => {
                let all = self.livedata.iter();
                all.map(|it| football::livedata(state, it.at, it.time, Some(it))).collect()
            }
            Play::Tennis(_) => self.told.iter().cloned().collect(),
            Play::Scoreboard(_) | Play::Race(_) | Play::None => Vec::new(),
        }
    }

    /// `history` of a snapshot, oldest first.
    pub(super) fn history(&self, state: &Match) -> Vec<Object> {
        if state.is_full() { self.told.iter().cloned().collect() } else { Vec::new() }
    }
}

fn keep<T>(all: &mut VecDeque<T>, one: T) {
    if all.len() == KEPT_MAX {
        all.pop_front();
    }
    all.push_back(one);
}
