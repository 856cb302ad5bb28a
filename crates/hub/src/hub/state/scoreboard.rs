//! A match with a scoreboard: CS2, darts, hockey, basketball.
//!
//! Each fact is the whole scoreboard; what differs from the one before is what changed.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Pair, Scoreboard, ScoreboardStatus};

use super::{Life, MatchClock, MatchDelta, Moment};

#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub struct Scores {
    /// `None` until a feed reports the play.
    pub board: Option<Scoreboard>,
    pub clock: Option<MatchClock>,
    /// How often an earlier event was revoked.
    corrections: u32,
    /// The last score; zeros before the first.
    score: Pair<u32>,
    /// The events of the last score, and of the end.
    last_score: Option<Arc<str>>,
    last_finish: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreboardPart {
    Status,
    Score,
    /// A part of the match, counted from 1.
    Part(usize),
    PartGone(usize),
    Period,
    Clock,
    Winner,
}

/// An event with an id that is unique within the match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScoreboardEvent {
    Score {
        eid: Arc<str>,
        score: Pair<u32>,
    },
    Finish {
        eid: Arc<str>,
    },
    /// Revokes an earlier event: the score was lowered, or the match continues.
    Correct {
        eid: Arc<str>,
        corrected: Arc<str>,
    },
}

impl Scores {
    /// The score of a match that has begun, as a source stated it: without a statement there is none, not 0-0.
    #[must_use]
    pub fn reported_score(&self) -> Option<Pair<u32>> {
        self.board.as_ref().and_then(score_of)
    }

    pub(super) fn apply(&mut self, board: &Scoreboard, moment: Moment, delta: &mut MatchDelta) {
        let parts = &mut delta.scoreboard;
        self.clock(board, moment, parts);
        let before = self.board.replace(board.clone());
        if before.as_ref() == Some(board) {
            return;
        }
        let before = before.as_ref();
        let is_new = before.is_none();
        let differs = |same: bool, part| (is_new || !same).then_some(part);
        let same =
            |eq: fn(&Scoreboard, &Scoreboard) -> bool| before.is_some_and(|it| eq(it, board));
        parts.extend(differs(same(|a, b| a.status == b.status), ScoreboardPart::Status));
        parts.extend(differs(same(|a, b| score_of(a) == score_of(b)), ScoreboardPart::Score));
        parts.extend(differs(same(|a, b| a.period == b.period), ScoreboardPart::Period));
        parts.extend(differs(same(|a, b| a.winner == b.winner), ScoreboardPart::Winner));
        parts_of_the_match(before.map_or(&[], |it| &it.periods), &board.periods, parts);
        if let Some(score) = score_of(board) {
            self.score(score, &mut delta.scoreboard_events);
        }
        self.finish(before.map(|it| it.status), board.status, &mut delta.scoreboard_events);
    }

    fn clock(&mut self, board: &Scoreboard, moment: Moment, parts: &mut Vec<ScoreboardPart>) {
        let clock = board.clock.map(|clock| MatchClock {
            at: moment.best(),
            second: clock.second,
            running: clock.running,
        });
        let agrees = match (self.clock, clock) {
            (Some(anchor), Some(new)) => anchor.agrees(new) || anchor.agrees_backwards(new),
            (None, None) => true,
            _ => false,
        };
        if !agrees {
            self.clock = clock;
            parts.push(ScoreboardPart::Clock);
        }
    }

    fn score(&mut self, score: Pair<u32>, events: &mut Vec<ScoreboardEvent>) {
        let before = std::mem::replace(&mut self.score, score);
        let [home, away] = score;
        if home < before[0] || away < before[1] {
            self.correct(self.last_score.clone(), events);
        } else if score != before {
            let eid = self.named(&format!("score-{home}-{away}"));
            self.last_score = Some(Arc::clone(&eid));
            events.push(ScoreboardEvent::Score { eid, score });
        }
    }

    fn finish(
        &mut self,
        before: Option<ScoreboardStatus>,
        after: ScoreboardStatus,
        events: &mut Vec<ScoreboardEvent>,
    ) {
        let was = before.is_some_and(|status| life(status) == Life::Ended);
        let is = life(after) == Life::Ended;
        if is && !was {
            let eid = self.named("finish");
            self.last_finish = Some(Arc::clone(&eid));
            events.push(ScoreboardEvent::Finish { eid });
        } else if was && !is {
            let corrected = self.last_finish.clone();
            self.correct(corrected, events);
        }
    }

    fn correct(&mut self, corrected: Option<Arc<str>>, events: &mut Vec<ScoreboardEvent>) {
        self.corrections += 1;
        let Some(corrected) = corrected else { return };
        let eid = format!("correct-{}", self.corrections).into();
        events.push(ScoreboardEvent::Correct { eid, corrected });
    }

    /// An event id. After a correction the same event may happen again, under another id.
    fn named(&self, name: &str) -> Arc<str> {
        match self.corrections {
            0 => name.into(),
            corrections => format!("{name}-{corrections}").into(),
        }
    }
}

fn score_of(board: &Scoreboard) -> Option<Pair<u32>> {
    board.score.filter(|_| board.status.has_begun())
}

fn parts_of_the_match(before: &[Pair<u32>], after: &[Pair<u32>], parts: &mut Vec<ScoreboardPart>) {
    for (index, score) in after.iter().enumerate() {
        if before.get(index) != Some(score) {
            parts.push(ScoreboardPart::Part(index + 1));
        }
    }
    parts.extend((after.len()..before.len()).map(|index| ScoreboardPart::PartGone(index + 1)));
}

pub(super) fn life(status: ScoreboardStatus) -> Life {
    match status {
        ScoreboardStatus::NotStarted | ScoreboardStatus::Postponed => Life::Prematch,
        ScoreboardStatus::Live => Life::Live,
        ScoreboardStatus::Interrupted => Life::Suspended,
        ScoreboardStatus::Finished | ScoreboardStatus::Abandoned | ScoreboardStatus::Cancelled => {
            Life::Ended
        }
    }
}
